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

/// The form of native compaction that is requested.
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
    /// The provider's readable summary; most providers give none.
    pub readable: Option<String>,
    /// The billed usage.
    pub usage: Usage,
    /// The key of `preserveData` that keeps the history.
    pub key: &'static str,
    /// The number of items that had to be shortened to fit the window.
    pub shortened: usize,
}
