//! What the tests of the wires share, and any conversation on every wire.

mod forms;
pub(crate) mod samples;
