//! Anthropic Messages, and its native compaction.
//!
//! Native compaction is requested with the beta `compact-2026-01-12`: the answer is a block of type `compaction` with a
//! readable `content` (null when it failed) and an opaque `encrypted_content`. The block is sent back verbatim as a
//! block of the assistant; the service ignores everything before it.

mod conversation;
mod decode;
mod encode;

pub(crate) use conversation::replays_compaction;
pub(crate) use decode::Decoder;
pub(crate) use encode::{COMPACTION_BETA, MIN_TRIGGER, encode, encode_compact};

#[cfg(test)]
mod tests;
