//! Tests of the protocol: bodies, streams, and invariants.

mod bodies;
mod streams;
