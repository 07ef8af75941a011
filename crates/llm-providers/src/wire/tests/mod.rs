//! Shared code of the protocols' tests, and any conversation in every protocol.

mod forms;
pub(crate) mod samples;
