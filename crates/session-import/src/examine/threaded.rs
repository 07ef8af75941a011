//! Claude Code and qwen-code: records that name their parents.

use session_model::json::Members;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};
use session_model::{DiagnosticKind, Severity};

use super::{At, Edit, Examined, Findings, INTERRUPTED, Step, UNPAIRED};
use crate::error::ImportError;
use crate::export::uuid;
use crate::input::Input;

/// How the records of a program are written.
pub(super) struct Dialect {
    /// The list in a message that has its parts.
    parts: &'static str,
    /// A later record with the uuid of another is a part of that one.
    joins_uuids: bool,
    /// The longest image that the service takes, in characters of base64.
    longest_image: usize,
    read_part: fn(&Members<'_>) -> Part,
    /// Returns the record that says that a call was interrupted.
    interrupted: fn(&Head, &str) -> Value,
}

pub(super) const CLAUDE: Dialect = Dialect {
    parts: "content",
    joins_uuids: false,
    longest_image: 5 * 1024 * 1024,
    read_part: claude_part,
    interrupted: claude_interrupted,
};

pub(super) const QWEN: Dialect = Dialect {
    parts: "parts",
    joins_uuids: true,
    longest_image: 20 * 1024 * 1024,
    read_part: qwen_part,
    interrupted: qwen_interrupted,
};

/// What a part of a message is.
enum Part {
    Call(String),
    /// A result, with the lengths of the images in it and their places.
    Result(Option<String>, Vec<(usize, usize)>),
    Image(usize),
    Other,
}

/// What is kept of a record.
struct Head {
    line: At,
    uuid: String,
    parent: Option<String>,
    session: String,
    at: String,
    cwd: String,
    calls: Vec<String>,
    results: Vec<(usize, Option<String>)>,
    is_message: bool,
}

pub(super) fn examine(dialect: &Dialect, input: &Input) -> Result<Examined, ImportError> {
    let mut findings = Findings::default();
    let mut heads: Vec<Head> = Vec::new();
    let (mut uuids, mut known) = (BTreeSet::new(), BTreeSet::new());
    findings.records(input, |line, record, _, findings| {
        let Some(uuid) = record.filled("uuid") else {
            return;
        };
        let is_new = uuids.insert(uuid.clone());
        let (is_repeated, severity, text) = match dialect.joins_uuids {
            true => {
                let mut hasher = DefaultHasher::new();
                ["message", "timestamp"].map(|key| record.raw(key)).hash(&mut hasher);
                let text = "a second record with the same uuid and content; the agent joins them, and the model reads it twice";
                (!known.insert((uuid.clone(), hasher.finish())), Severity::Warning, text)
            }
            false => {
                let text = "a second record with the same uuid; the file grows with each compaction, and tools that sum it up count it twice";
                (!is_new, Severity::Note, text)
            }
        };
        if is_repeated {
            findings.add(severity, DiagnosticKind::DuplicateId, line, text);
            findings.edit(line, Edit::Drop);
            return;
        }
        heads.push(head(dialect, line, uuid, record, findings));
    })?;
    if !heads.iter().any(|head| head.is_message) {
        let text = "no message of the user and no answer; the agent has nothing to resume";
        findings.add(
            Severity::Warning,
            DiagnosticKind::NotResumable,
            (1, 0),
            text,
        );
    }
    parents(&heads, &uuids, &mut findings);
    pair(dialect, &heads, &mut findings);
    Ok(findings.done())
}

fn head(
    dialect: &Dialect,
    line: At,
    uuid: String,
    record: &Members<'_>,
    findings: &mut Findings,
) -> Head {
    let message = record.object("message").unwrap_or_default();
    let text = |key| record.text(key).unwrap_or_default();
    let mut head = Head {
        line,
        uuid,
        parent: record.filled("parentUuid"),
        session: text("sessionId"),
        at: text("timestamp"),
        cwd: text("cwd"),
        calls: Vec::new(),
        results: Vec::new(),
        is_message: matches!(text("type").as_str(), "user" | "assistant"),
    };
    let mut image = |length: usize, path: Vec<Step>| {
        if length <= dialect.longest_image {
            return;
        }
        let text = format!(
            "an image of {length} characters of base64, {} is the most; the service refuses every request that has it",
            dialect.longest_image
        );
        findings.add(Severity::Error, DiagnosticKind::OversizedImage, line, &text);
        let note = format!("[An image of {length} characters was removed: it is too large.]");
        let text = match dialect.joins_uuids {
            true => json!({ "text": note }),
            false => json!({ "type": "text", "text": note }),
        };
        findings.edit(line, Edit::Replace(path, text));
    };
    let path = |place| {
        vec![
            Step::Key("message"),
            Step::Key(dialect.parts),
            Step::Item(place),
        ]
    };
    for (place, part) in message.objects(dialect.parts).iter().enumerate() {
        match (dialect.read_part)(part) {
            Part::Call(id) => head.calls.push(id),
            Part::Result(id, images) => {
                head.results.push((place, id));
                for (inner, length) in images {
                    let mut path = path(place);
                    path.extend([Step::Key("content"), Step::Item(inner)]);
                    image(length, path);
                }
            }
            Part::Image(length) => image(length, path(place)),
            Part::Other => {}
        }
    }
    head
}

/// Finds parents that are not there.
fn parents(heads: &[Head], uuids: &BTreeSet<String>, findings: &mut Findings) {
    let mut before: Option<&str> = None;
    for head in heads {
        if let Some(parent) = head
            .parent
            .as_ref()
            .filter(|parent| !uuids.contains(*parent))
        {
            let text = format!(
                "its parent {parent} is not in the file; when the agent resumes, the conversation begins here"
            );
            findings.add(
                Severity::Warning,
                DiagnosticKind::MissingParent,
                head.line,
                &text,
            );
            findings.edit(head.line, Edit::Set("parentUuid", json!(before)));
        }
        before = Some(&head.uuid);
    }
}

/// Finds calls and results without their other half.
fn pair(dialect: &Dialect, heads: &[Head], findings: &mut Findings) {
    // How many calls and results have each id: it need not be unique.
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for id in heads.iter().flat_map(|head| &head.calls) {
        *calls.entry(id).or_default() += 1;
    }
    let mut answered: BTreeMap<&str, usize> = BTreeMap::new();
    let unpaired = DiagnosticKind::UnpairedToolCall;
    for head in heads {
        for (place, id) in &head.results {
            let Some(id) = id.as_deref() else { continue };
            let results = answered.entry(id).or_default();
            *results += 1;
            let what = match calls.get(id) {
                Some(calls) if *results <= *calls => continue,
                Some(_) => "a second result of one call",
                None => "a result without its call",
            };
            let text = format!("{what} ({id}); {UNPAIRED}");
            findings.add(Severity::Warning, unpaired, head.line, &text);
            let path = vec![
                Step::Key("message"),
                Step::Key(dialect.parts),
                Step::Item(*place),
            ];
            let note = format!(
                "[The result of the call {id}, which is not in this session, was removed.]"
            );
            let text = match dialect.joins_uuids {
                true => json!({ "text": note }),
                false => json!({ "type": "text", "text": note }),
            };
            findings.edit(head.line, Edit::Replace(path, text));
        }
    }
    let mut children: BTreeMap<&str, Vec<&Head>> = BTreeMap::new();
    for head in heads {
        if let Some(parent) = &head.parent {
            children.entry(parent).or_default().push(head);
        }
    }
    for head in heads {
        let open = head
            .calls
            .iter()
            .filter(|call| !answered.contains_key(call.as_str()));
        let mut above = head.uuid.clone();
        for call in open {
            let text = format!("a call without a result ({call}); {UNPAIRED}");
            findings.add(Severity::Warning, unpaired, head.line, &text);
            let mut record = (dialect.interrupted)(head, call);
            let own = uuid(&["interrupted", &head.uuid, call]);
            record["parentUuid"] = json!(above);
            record["uuid"] = json!(own);
            findings.edit(head.line, Edit::After(record));
            above = own;
        }
        if above == head.uuid {
            continue;
        }
        // What followed the call follows its result now.
        let below = children
            .get(head.uuid.as_str())
            .map_or(&[][..], Vec::as_slice);
        for child in below
            .iter()
            .filter(|child| child.results.is_empty() && child.calls.is_empty())
        {
            findings.edit(child.line, Edit::Set("parentUuid", json!(above)));
        }
    }
}

fn claude_part(part: &Members<'_>) -> Part {
    let length = |part: &Members<'_>| {
        let source = part.object("source").unwrap_or_default();
        source
            .raw("data")
            .map_or(0, |data| data.len().saturating_sub(2))
    };
    match part.text("type").as_deref() {
        Some("tool_use") => part.filled("id").map_or(Part::Other, Part::Call),
        Some("image") => Part::Image(length(part)),
        Some("tool_result") => {
            let inner = part.objects("content");
            let images = inner.iter().enumerate();
            let images = images.filter(|(_, part)| part.text("type").as_deref() == Some("image"));
            let images = images.map(|(place, part)| (place, length(part)));
            Part::Result(part.filled("tool_use_id"), images.collect())
        }
        _ => Part::Other,
    }
}

fn qwen_part(part: &Members<'_>) -> Part {
    if let Some(call) = part.object("functionCall") {
        return call.filled("id").map_or(Part::Other, Part::Call);
    }
    if let Some(response) = part.object("functionResponse") {
        return Part::Result(response.filled("id"), Vec::new());
    }
    match part.object("inlineData") {
        Some(data) => Part::Image(data.raw("data").map_or(0, str::len)),
        None => Part::Other,
    }
}

fn claude_interrupted(head: &Head, call: &str) -> Value {
    let result = json!({
        "type": "tool_result",
        "tool_use_id": call,
        "is_error": true,
        "content": INTERRUPTED,
    });
    json!({
        "type": "user",
        "sessionId": head.session,
        "timestamp": head.at,
        "cwd": head.cwd,
        "isSidechain": false,
        "userType": "external",
        "message": { "role": "user", "content": [result] },
        "sourceToolAssistantUUID": head.uuid,
    })
}

fn qwen_interrupted(head: &Head, call: &str) -> Value {
    let response = json!({ "id": call, "name": "", "response": { "error": INTERRUPTED } });
    json!({
        "type": "tool_result",
        "sessionId": head.session,
        "timestamp": head.at,
        "cwd": head.cwd,
        "message": { "role": "user", "parts": [{ "functionResponse": response }] },
    })
}
