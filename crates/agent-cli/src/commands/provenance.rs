//! Where a summary comes from, as its entry says: who wrote it, by which strategy, what it took, how it ended.

use serde_json::{Map, Value, json};
use session_model::json::RawJson;

/// The members, and the name of each in the details of the entry. Other programs write fewer.
const MEMBERS: [(&str, &str); 10] = [
    ("strategy", "strategy"),
    ("trigger", "trigger"),
    ("tokens_after", "estimatedTokensAfter"),
    ("cost_usd", "costUsd"),
    ("seconds", "seconds"),
    ("ended", "ended"),
    ("failed", "failed"),
    ("passed_over", "passedOver"),
    ("plan_hash", "planHash"),
    ("prompt_hash", "promptHash"),
];

/// Returns what the details of an entry say of its summary; null for what they do not say.
pub(super) fn of(details: Option<&RawJson>) -> Map<String, Value> {
    let details = details.map(RawJson::to_value).unwrap_or_default();
    let members = MEMBERS.map(|(name, key)| (name.to_owned(), details[key].clone()));
    let by = json!(author(&details["summarizer"]));
    members.into_iter().chain([("by".to_owned(), by)]).collect()
}

/// Returns who wrote it and what it took, in words.
pub(super) fn in_words(members: &Map<String, Value>) -> (String, String) {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let number = |name: &str| members.get(name).and_then(Value::as_f64);
    let how = [
        text("by").map(str::to_owned),
        text("strategy").map(|name| format!("strategy {name}")),
        text("trigger").map(str::to_owned),
    ];
    let took = [
        number("seconds").map(|seconds| format!("{seconds:.1} s")),
        number("cost_usd").map(|cost| format!("${cost:.4}")),
    ];
    let joined = |parts: &[Option<String>]| {
        let parts: Vec<&str> = parts.iter().flatten().map(String::as_str).collect();
        parts.join(", ")
    };
    (joined(&how), joined(&took))
}

/// Returns who wrote, as details name it.
fn author(summarizer: &Value) -> Option<String> {
    if let Some(name) = summarizer.as_str() {
        return Some(name.to_owned());
    }
    let text = |key: &str| summarizer[key].as_str();
    let model = || Some(format!("{}/{}", text("provider")?, text("model")?));
    match text("by")? {
        "model" => model(),
        "native" => Some(format!("{}, natively", model()?)),
        "remote" => text("endpoint").map(str::to_owned),
        "hook" => Some(
            format!("hook {}", text("name").unwrap_or_default())
                .trim()
                .to_owned(),
        ),
        other => Some(other.to_owned()),
    }
}
