//! Where a summary comes from, written into its entry: who was asked, what it took, how it ended.
//!
//! The plan writes what it knows (strategy, hashes, tokens before and after); here is what the run adds.

use std::time::Duration;

use compaction_core::add_detail;
use serde::Serialize;
use serde_json::{Value, json};
use session_model::EntryDraft;
use session_model::json::RawJson;

use crate::ModelReport;

/// The most characters of a reason that an entry keeps.
const REASON: usize = 200;

/// Returns the place of the draft that a compaction is known by: the compaction itself, which what is brought back
/// follows, else the last.
pub fn main_place(drafts: &[EntryDraft]) -> Option<usize> {
    let is_compaction = |draft: &EntryDraft| matches!(draft, EntryDraft::Compaction(_));
    let compaction = drafts.iter().position(is_compaction);
    compaction.or_else(|| drafts.len().checked_sub(1))
}

/// Returns the entry with the summary among those that carry something out: edits stand before it, and what is brought
/// back behind it.
pub fn summary_draft(drafts: &mut [EntryDraft]) -> Option<&mut EntryDraft> {
    drafts.iter_mut().find(|draft| {
        matches!(
            draft,
            EntryDraft::Compaction(_) | EntryDraft::BranchSummary(_)
        )
    })
}

/// Writes what the summary took into the entry, in the spelling that entries have, so that its price is known later,
/// and how it ended: `complete` when the first choice wrote it, `extractive` when no model was asked, else `fallback`
/// with those that failed and the kind of each failure.
pub fn bill_in_details(draft: &mut EntryDraft, report: &ModelReport) {
    let (ended, failed) = match (&report.answered_by, report.failed.as_slice()) {
        (Some(_), []) => ("complete", Value::Null),
        (None, []) => ("extractive", Value::Null),
        (_, failed) => {
            let failed = failed.iter();
            let failed =
                failed.map(|failed| json!({ "name": failed.candidate, "kind": failed.kind }));
            ("fallback", Value::from(failed.collect::<Vec<_>>()))
        }
    };
    add_details(draft, &[("ended", json!(ended)), ("failed", failed)]);
    if report.answered_by.is_none() {
        return;
    }
    let usage = json!({
        "input": report.usage.input,
        "output": report.usage.output,
        "cacheRead": report.usage.cache_read,
        "cacheWrite": report.usage.cache_write,
        "totalTokens": report.usage.total_tokens,
    });
    let millis = Duration::from_secs_f64(report.seconds.max(0.0)).as_millis();
    let millis = u64::try_from(millis).unwrap_or(u64::MAX);
    add_details(
        draft,
        &[
            ("usage", usage),
            ("costUsd", json!(report.cost_usd)),
            ("summarizerMillis", json!(millis)),
        ],
    );
}

/// Writes how long it all took, from reading to writing.
pub fn seconds_in_details(draft: &mut EntryDraft, seconds: f64) {
    let millis = (seconds * 1000.0).round();
    add_details(draft, &[("seconds", json!(millis / 1000.0))]);
}

/// A strategy of a list that brought nothing, so that the next one was tried.
#[derive(Debug, Serialize)]
pub struct SkippedStrategy {
    strategy: &'static str,
    failed: bool,
    reason: String,
}

impl SkippedStrategy {
    /// Returns one with as much of the reason as is worth keeping; `failed` is false where there was nothing to do.
    pub fn new(strategy: &'static str, failed: bool, reason: &str) -> Self {
        Self {
            strategy,
            failed,
            reason: reason.chars().take(REASON).collect(),
        }
    }
}

/// Writes which strategies were passed over before the one that wrote; nothing where none was.
pub fn skipped_in_details(draft: &mut EntryDraft, passed: &[SkippedStrategy]) {
    if !passed.is_empty() {
        add_details(draft, &[("passedOver", json!(passed))]);
    }
}

/// Writes facts into the details of an entry, those that are null aside.
pub fn add_details(draft: &mut EntryDraft, facts: &[(&str, Value)]) {
    for (key, value) in facts.iter().filter(|(_, value)| !value.is_null()) {
        if let Ok(value) = RawJson::of(value) {
            add_detail(draft, key, &value);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use session_model::{Content, CustomMessageDraft, EntryDraft};

    use super::{bill_in_details, seconds_in_details};
    use crate::{Failed, ModelReport};

    fn details(report: &ModelReport) -> Value {
        let mut draft = EntryDraft::CustomMessage(CustomMessageDraft {
            custom_type: "t".to_owned(),
            content: Content::Text(String::new()),
            display: true,
            details: None,
        });
        bill_in_details(&mut draft, report);
        seconds_in_details(&mut draft, 1.23456);
        match draft {
            EntryDraft::CustomMessage(draft) => draft.details.map(|details| details.to_value()),
            _ => None,
        }
        .unwrap_or_default()
    }

    #[test]
    fn an_entry_says_how_its_summary_ended() {
        let failed = Failed {
            candidate: "a/b".to_owned(),
            way: "summary",
            kind: "rate_limit",
            message: "slow down".to_owned(),
            status: Some(429),
            request_id: None,
        };
        let rules = ModelReport::default();
        assert_eq!(
            details(&rules),
            json!({ "ended": "extractive", "seconds": 1.235 })
        );
        let fallen = ModelReport {
            failed: vec![failed],
            ..ModelReport::default()
        };
        let named = json!([{ "name": "a/b", "kind": "rate_limit" }]);
        assert_eq!(details(&fallen)["ended"], "fallback");
        assert_eq!(details(&fallen)["failed"], named);
        let second = ModelReport {
            answered_by: Some("c/d".to_owned()),
            ..fallen
        };
        assert_eq!(details(&second)["ended"], "fallback");
        assert_eq!(details(&second)["summarizerMillis"], 0);
        let complete = ModelReport {
            failed: Vec::new(),
            ..second
        };
        assert_eq!(details(&complete)["ended"], "complete");
        assert_eq!(details(&complete).get("failed"), None);
    }
}
