//! Native compaction: a provider's own form of a compacted history, kept and replayed verbatim.

mod openai;
#[cfg(test)]
mod tests;
mod trim;

use serde::{Deserialize, Serialize};
use session_model::Usage;

use crate::native_history::NativeHistory;
use crate::request::Request;

pub(crate) use openai::{NativeError, decode_compact, in_band_answer};
pub use trim::{Trimmed, trim};

/// Which form of native compaction is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NativeForm {
    /// One unary request to `/responses/compact`.
    Standalone,
    /// A streamed `/responses` request that ends in a `compaction_trigger` item.
    InBand,
}

/// A conversation to be compacted natively.
#[derive(Debug, Clone)]
pub struct NativeRequest {
    /// The same request as a turn would send: system prompt, tools, history, cache key.
    pub request: Request,
    /// The form.
    pub form: NativeForm,
}

/// A natively compacted conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeAnswer {
    /// The history that replaces the one sent.
    pub history: NativeHistory,
    /// What the provider says in readable words about it; most say nothing.
    pub readable: Option<String>,
    /// What was billed.
    pub usage: Usage,
    /// The key of `preserveData` that keeps the history.
    pub key: &'static str,
    /// How many items had to be shortened before they fit the window.
    pub shortened: usize,
}
