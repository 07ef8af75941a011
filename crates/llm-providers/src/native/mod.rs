//! Native compaction: a provider's own form of a compacted history, kept and replayed verbatim.

mod openai;
mod send;
#[cfg(test)]
mod tests;
mod trim;

use serde::{Deserialize, Serialize};
use session_model::Usage;
use session_model::json::RawJson;

use crate::provider::Request;

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

/// A history in a provider's own items, as `preserveData.openaiRemoteCompaction` keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NativeHistory {
    /// The provider that made it.
    pub provider: String,
    /// The model that made it.
    pub model: String,
    /// The items, verbatim and in order.
    pub replacement_history: Vec<RawJson>,
    /// The opaque item among them, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_item: Option<RawJson>,
}

impl NativeHistory {
    /// Returns true when the items may be sent to this model: the provider is the one that made them, and the
    /// model is of the same family: the ids are equal but for a trailing date or `-latest`. Nobody else can read the
    /// opaque item.
    pub fn replays_on(&self, provider: &str, model: &str) -> bool {
        self.provider == provider && model_family(&self.model) == model_family(model)
    }
}

/// Returns the family of a model id: the id without a trailing `-latest`, `-YYYY-MM-DD` or `-YYYYMMDD`.
///
/// An alias and the dated versions that it stands for are one model for its provider, and a session that began
/// with one may go on with the other. Everything else in an id (`-mini`, `-codex`, another number) names another
/// model, of which nobody promises that it reads the same opaque items.
pub(crate) fn model_family(model: &str) -> &str {
    if let Some(family) = model.strip_suffix("-latest") {
        return family;
    }
    for form in ["-0000-00-00", "-00000000"] {
        let Some(at) = model.len().checked_sub(form.len()) else {
            continue;
        };
        let Some((family, tail)) = model.split_at_checked(at) else {
            continue;
        };
        let fits = |(form, byte): (u8, u8)| match form {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        };
        if !family.is_empty() && form.bytes().zip(tail.bytes()).all(fits) {
            return family;
        }
    }
    model
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
