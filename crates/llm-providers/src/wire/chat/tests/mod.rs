//! Tests of the wire: bodies, streams, and what always holds.

mod bodies;
mod streams;
