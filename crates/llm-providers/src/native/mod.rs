//! Native compaction: a provider's own form of a compacted history, kept and replayed verbatim.

use serde::{Deserialize, Serialize};
use session_model::Usage;
use session_model::json::RawJson;

use crate::provider::Request;

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
}

impl NativeHistory {
    /// stub
    pub fn replays_on(&self, provider: &str, model: &str) -> bool {
        self.provider == provider && self.model == model
    }
}
