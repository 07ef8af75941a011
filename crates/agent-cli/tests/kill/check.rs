//! What must hold after every kill.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use session_model::{
    AgentMessage, ContextRules, DiagnosticKind, EntryBody, RoleOrder, build_context, check_pairs,
};
use session_store::{SessionFile, SessionLock};

use crate::rng::Rng;
use crate::run::{Came, Life};
use crate::script::PROMPT;

/// What was there after the kills before.
#[derive(Default)]
pub struct After {
    /// What the user said has been taken in.
    pub is_prompt_kept: bool,
    /// The bytes of the session.
    bytes: Vec<u8>,
    /// The lines that were cut off, counted from 0.
    torn: BTreeSet<usize>,
    /// The reasons of compactions that made room for an answer that failed.
    recovered: BTreeSet<String>,
}

/// Returns what a kill has broken.
pub fn check_after_kill(life: &Life, came: &Came, after: &mut After) -> Result<(), String> {
    let path = life.session();
    let pending = fs::read_to_string(life.pending()).unwrap_or_default();
    let bytes = fs::read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    check_told(came, &text, &pending)?;
    check_recoveries(came, after)?;
    let was_kept = after.is_prompt_kept;
    after.is_prompt_kept = text.contains(PROMPT) || pending.contains(PROMPT);
    if was_kept && !after.is_prompt_kept {
        return Err("the prompt is lost".to_owned());
    }
    if let Some(holder) = SessionLock::holder(&path) {
        return Err(format!("process {holder} holds the lock still"));
    }
    if !path.exists() {
        return match after.bytes.is_empty() {
            true => Ok(()),
            false => Err("the session is gone".to_owned()),
        };
    }
    if !bytes.starts_with(&after.bytes) {
        return Err("what was there before is changed".to_owned());
    }
    check_lines(&bytes, after)?;
    check_session(&path, after)?;
    after.bytes = bytes;
    Ok(())
}

/// What the program has told is on the disk.
fn check_told(came: &Came, text: &str, pending: &str) -> Result<(), String> {
    for event in &came.events {
        let id = match event["type"].as_str() {
            Some("queued") => event["id"].as_str(),
            Some("message" | "answer") => event["entry_id"].as_str(),
            Some("auto_compaction_end") => event["result"]["entry_id"].as_str(),
            _ => None,
        };
        if let Some(id) = id
            && !text.contains(id)
            && !pending.contains(id)
        {
            return Err(format!("told but not there: {event}"));
        }
    }
    Ok(())
}

/// Room that was made for an answer is not made again.
fn check_recoveries(came: &Came, after: &mut After) -> Result<(), String> {
    for event in &came.events {
        let Some(reason @ ("overflow" | "incomplete")) = event["reason"].as_str() else {
            continue;
        };
        if event["type"] == "auto_compaction_start" && after.recovered.contains(reason) {
            return Err(format!("recovers twice: {event}"));
        }
        if event["result"].is_object() {
            after.recovered.insert(reason.to_owned());
        }
    }
    Ok(())
}

/// Every line is whole but those at which the program was killed.
fn check_lines(bytes: &[u8], after: &mut After) -> Result<(), String> {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let last = lines.len() - 1;
    for (place, line) in lines.iter().enumerate() {
        if serde_json::from_slice::<Value>(line).is_ok() || after.torn.contains(&place) {
            continue;
        }
        match place == last {
            true if line.is_empty() => {}
            true => drop(after.torn.insert(place)),
            false => return Err(format!("line {} is damaged", place + 1)),
        }
    }
    Ok(())
}

fn check_session(path: &Path, after: &After) -> Result<(), String> {
    let session = SessionFile::open(path).map_err(|error| error.to_string())?;
    let tree = session.tree();
    let torn = |kind: &DiagnosticKind| {
        let damaged = matches!(
            kind,
            DiagnosticKind::DamagedLine | DiagnosticKind::DamagedBody | DiagnosticKind::TornTail
        );
        damaged && !after.torn.is_empty()
    };
    let mut users = 0;
    let (mut calls, mut results) = (BTreeSet::new(), BTreeSet::new());
    for entry in tree.indices().filter_map(|index| tree.entry(index).ok()) {
        let EntryBody::Message(message) = &entry.body else {
            continue;
        };
        for call in message.tool_calls() {
            if !calls.insert(call.id.clone()) {
                return Err(format!(
                    "the answer with the call {} is there twice",
                    call.id
                ));
            }
        }
        match &**message {
            AgentMessage::User(_) => users += 1,
            AgentMessage::ToolResult(result) => {
                let call = &result.tool_call_id;
                if !calls.contains(call) || !results.insert(call.clone()) {
                    return Err(format!(
                        "a result of {call} without its call, or a second one"
                    ));
                }
            }
            _ => {}
        }
    }
    if users != 1 {
        return Err(format!("{users} messages of the user"));
    }
    let path = tree.path(tree.leaf());
    let context = build_context(&path, ContextRules::Own);
    let (messages, _) = context.to_llm(RoleOrder::Any);
    let said = session.decoded.diagnostics.iter();
    let mut said = said.chain(&context.diagnostics);
    if let Some(said) = said.find(|said| !torn(&said.kind)) {
        return Err(format!("{said:?}"));
    }
    match check_pairs(&messages, RoleOrder::Any).first() {
        Some(unpaired) => Err(format!("{unpaired:?}")),
        None if messages.is_empty() => Err("an empty context".to_owned()),
        None => Ok(()),
    }
}

/// Cuts off a part of the last line, as a machine may that stops before all is on its disk. What the user said was
/// forced to the disk before it was told, so it stays.
pub fn tear(life: &Life, after: &mut After, rng: &mut Rng) {
    let whole = after.bytes.strip_suffix(b"\n").unwrap_or(&after.bytes);
    let begin = whole.iter().rposition(|byte| *byte == b'\n').unwrap_or(0) + 1;
    let line = &whole[begin.min(whole.len())..];
    if line.len() < 2
        || line
            .windows(PROMPT.len())
            .any(|part| part == PROMPT.as_bytes())
    {
        return;
    }
    // From one byte of the line up to all but the line feed.
    let left = begin + 1 + rng.below(line.len() as u64) as usize;
    after.bytes.truncate(left);
    let number = after.bytes.iter().filter(|byte| **byte == b'\n').count();
    after.torn.insert(number);
    // It may have been the compaction that is cut off.
    after.recovered.clear();
    fs::write(life.session(), &after.bytes).expect("the session can be cut");
}

/// Returns the texts of all answers of a session, in order.
pub fn answers(session: &Path) -> Vec<String> {
    let session = SessionFile::open(session).expect("a session");
    let tree = session.tree();
    let entries = tree.indices().filter_map(|index| tree.entry(index).ok());
    let answers = entries.filter_map(|entry| match &entry.body {
        EntryBody::Message(message) => match &**message {
            AgentMessage::Assistant(answer) => Some(answer.content.joined_text("")),
            _ => None,
        },
        _ => None,
    });
    answers.collect()
}
