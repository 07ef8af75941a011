//! OpenAI Chat Completions, and what the many compatible servers make of it.

mod decode;
mod encode;
mod messages;
mod metadata;

pub(crate) use decode::Decoder;
pub(crate) use encode::encode;

#[cfg(test)]
mod tests;
