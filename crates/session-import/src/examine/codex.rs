//! Codex: a log whose first record names it, and items whose calls and outputs belong together.

use std::collections::BTreeMap;

use serde_json::json;
use session_model::{DiagnosticKind, Severity};

use super::{At, Edit, Examined, Findings, INTERRUPTED};
use crate::codex::{is_call, is_output, unwrapped};
use crate::error::ImportError;
use crate::export::uuid;
use crate::input::Input;

/// What the first pass finds.
#[derive(Default)]
struct Found {
    first: Option<(At, String)>,
    has_items: bool,
    cwd: String,
    at: String,
    /// The line and the type of the first call with each id, and how many there are.
    calls: BTreeMap<String, (At, String, usize)>,
    outputs: Vec<(At, String)>,
}

pub(super) fn examine(input: &Input) -> Result<Examined, ImportError> {
    let mut findings = Findings::default();
    let mut found = Found::default();
    findings.records(input, |line, record, text, _| {
        let (kind, payload, _) = unwrapped(record, text);
        if found.at.is_empty() {
            found.at = record.text("timestamp").unwrap_or_default();
        }
        if found.cwd.is_empty() {
            found.cwd = payload.text("cwd").unwrap_or_default();
        }
        if kind == "response_item" {
            found.has_items = true;
            let item = payload.text("type").unwrap_or_default();
            let id = payload.filled("call_id");
            if let Some(id) = id.clone().filter(|_| is_output(&item)) {
                found.outputs.push((line, id));
            } else if let Some(id) = id.filter(|_| is_call(&item)) {
                found.calls.entry(id).or_insert((line, item, 0)).2 += 1;
            }
        }
        found.first.get_or_insert((line, kind));
    })?;
    let error = Severity::Error;
    match &found.first {
        Some((line, kind)) if kind != "session_meta" => {
            let kind = DiagnosticKind::NotResumable;
            let text = "the session does not begin with session_meta; Codex does not open it";
            findings.add(error, kind, *line, text);
            let at = &found.at;
            let meta = json!({
                "timestamp": at,
                "type": "session_meta",
                "payload": {
                    "id": uuid(&["codex repaired", at, &found.cwd]),
                    "timestamp": at,
                    "cwd": found.cwd,
                    "originator": "agent-cli",
                    "cli_version": "0.0.0",
                    "source": "cli",
                },
            });
            findings.edit(*line, Edit::Before(meta));
        }
        Some((line, _)) if !found.has_items => {
            let kind = DiagnosticKind::NotResumable;
            let text = "the session has no items; Codex has nothing to resume";
            findings.add(Severity::Warning, kind, *line, text);
        }
        Some(_) | None => {}
    }
    pair(&found, &mut findings);
    Ok(findings.done())
}

fn pair(found: &Found, findings: &mut Findings) {
    let unpaired = DiagnosticKind::UnpairedToolCall;
    let mut answered: BTreeMap<&str, usize> = BTreeMap::new();
    for (line, id) in &found.outputs {
        let outputs = answered.entry(id).or_default();
        *outputs += 1;
        let Some((_, _, calls)) = found.calls.get(id) else {
            let text = "an output without its call; Codex leaves it out when it resumes";
            findings.add(Severity::Warning, unpaired, *line, text);
            findings.edit(*line, Edit::Drop);
            continue;
        };
        if *outputs > *calls {
            let text = "a second output of one call; Codex leaves it out when it resumes";
            findings.add(Severity::Warning, unpaired, *line, text);
            findings.edit(*line, Edit::Drop);
        }
    }
    for (id, (line, kind, _)) in &found.calls {
        if answered.contains_key(id.as_str()) {
            continue;
        }
        let text = "a call without an output; Codex tells the model that it was aborted";
        findings.add(Severity::Warning, unpaired, *line, text);
        let output = match kind.as_str() {
            "custom_tool_call" => "custom_tool_call_output",
            "tool_search_call" => "tool_search_output",
            _ => "function_call_output",
        };
        let item = json!({ "type": output, "call_id": id, "output": INTERRUPTED });
        let line_after = json!({ "timestamp": found.at, "type": "response_item", "payload": item });
        findings.edit(*line, Edit::After(line_after));
    }
}
