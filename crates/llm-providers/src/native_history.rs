//! A compacted history in a provider's own items, kept and replayed verbatim.

use serde::{Deserialize, Serialize};
use session_model::Compaction;
use session_model::json::RawJson;

/// The key in a compaction's `preserveData` of a native history of the Responses protocol, as peers use it.
pub(crate) const RESPONSES_KEY: &str = "openaiRemoteCompaction";
/// The key of a native history of the Messages protocol.
pub(crate) const MESSAGES_KEY: &str = "anthropicCompaction";

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
    /// Returns the native history that a compaction carries under `key` of its `preserveData`, if it carries one that
    /// can be read.
    pub fn of(compaction: &Compaction, key: &str) -> Option<Self> {
        let data = compaction.preserve_data.as_ref()?;
        let raw = session_model::json::member(data.get(), key)?;
        let history: Self = serde_json::from_str(raw).ok()?;
        (!history.replacement_history.is_empty()).then_some(history)
    }

    /// Returns true when the items may be sent to this model: the provider is the one that made them, and the model is
    /// of the same family: the ids are equal but for a trailing date or `-latest`. No other model can read the opaque
    /// item.
    pub fn replays_on(&self, provider: &str, model: &str) -> bool {
        is_replayed_on(&self.provider, &self.model, provider, model)
    }
}

/// Returns true when `model` of `provider` reads the native history that `maker` of `made_by` makes.
pub fn is_replayed_on(made_by: &str, maker: &str, provider: &str, model: &str) -> bool {
    made_by == provider && model_family(maker) == model_family(model)
}

/// Returns the family of a model id: the id without a trailing `-latest`, `-YYYY-MM-DD` or `-YYYYMMDD`.
///
/// An alias and its dated versions are one model for its provider, and a session that began with one may continue with
/// the other. Everything else in an id (`-mini`, `-codex`, another number) names another model, for which no provider
/// promises that it reads the same opaque items.
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
