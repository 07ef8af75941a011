//! Values of other agents' records: objects in texts, and usage.

use session_model::Usage;
use session_model::json::Members;
use session_model::json::RawJson;

/// Returns the raw value that a text spells, if it is an object.
pub(crate) fn raw_object(text: &str) -> Option<RawJson> {
    let is_object = text.trim_start().starts_with('{');
    RawJson::parse(text).ok().filter(|_| is_object)
}

/// Returns a value as raw JSON; what is serialized here always can be.
pub(crate) fn raw_of(value: &serde_json::Value) -> Option<RawJson> {
    RawJson::of(value).ok()
}

/// Returns usage where the prompt tokens of the source include those read from the cache.
pub(crate) fn inclusive_usage(prompt: u64, cached: u64, written: u64, output: u64) -> Usage {
    let input = prompt.saturating_sub(cached).saturating_sub(written);
    usage(input, output, cached, written)
}

/// Returns usage, whose prompt tokens include the cached ones.
pub(crate) fn cased_usage(usage: &Members<'_>) -> Usage {
    let [input, output, read, written] = [
        "inputTokens",
        "outputTokens",
        "cacheReadTokens",
        "cacheWriteTokens",
    ]
    .map(|key| usage.count(key).unwrap_or(0));
    inclusive_usage(input, read, written, output)
}

/// Returns usage of parts that do not overlap.
pub(crate) fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
    let parts = [input, output, cache_read, cache_write];
    Usage {
        input,
        output,
        cache_read,
        cache_write,
        total_tokens: parts.into_iter().fold(0, u64::saturating_add),
        incomplete: false,
    }
}
