//! Tests of the bodies and of the streams.

mod bodies;
mod streams;
