//! pi: the same lines, without what it cannot read and the types that only oh-my-pi knows.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use serde_json::{Value, json};
use session_model::json::{Members, RawJson};
use session_model::{
    AgentMessage, Block, CustomDraft, EntryBody, EntryDraft, EntryId, EntryIndex, EntryKind,
    HeaderDraft, Leaf, SessionTree, Stamp, Timestamp, ToolCall,
};

use super::{ExportError, ExportReport, Target};
use crate::emitter::{INTERRUPTED, LEAF_ENTRY};

/// Types of oh-my-pi that mean nothing to pi, the boundary aside.
const UNKNOWN_TO_PI: [&str; 8] = [
    "title",
    "title_change",
    "model_usage",
    "service_tier_change",
    "mode_change",
    "session_init",
    "ttsr_injection",
    "credential_pin",
];

pub(super) fn export(
    tree: &SessionTree,
    leaf: Leaf,
    out: &mut dyn Write,
) -> Result<ExportReport, ExportError> {
    let header = tree.header();
    // Where the header is lost, the first entry gives the id and the time.
    let first = tree.indices().find_map(|index| tree.entry(index).ok());
    let id = header.map(|header| header.id.clone());
    let id = id.or_else(|| Some(first.as_ref()?.id.to_string()));
    let id = id.unwrap_or_else(|| "unknown".to_owned());
    let begun = header.and_then(|header| Timestamp::parse(&header.timestamp));
    let begun = begun.or_else(|| first?.timestamp);
    let begun = begun.unwrap_or(Timestamp::from_millis(0));
    let mut report = ExportReport::new(Target::Pi, id.clone());
    let line = HeaderDraft {
        id,
        timestamp: begun,
        cwd: header.map_or_else(String::new, |header| header.cwd.clone()),
        // A path, or an id that pi does not know.
        parent_session: None,
    };
    writeln!(out, "{}", line.line())?;
    let (calls, results) = calls_and_results(tree);
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    let mut fresh = fresh_ids(tree);
    // The id under which the children of each entry stand.
    let mut stands: Vec<Option<String>> = vec![None; tree.len()];
    let mut last = None;
    for index in tree.parents_first() {
        let above = tree.parent(index);
        let parent = above.and_then(|above| stands[above.as_usize()].clone());
        let Some(kept) = kept(tree, index, &calls, &results, &mut report)? else {
            let is_boundary = tree.kind(index) == EntryKind::ResetBoundary;
            stands[index.as_usize()] = parent.filter(|_| !is_boundary);
            continue;
        };
        if let Some(first) = places.get(&kept.digest()) {
            report.lose("entry that is written twice");
            stands[index.as_usize()] = stands[*first].clone();
            continue;
        }
        places.insert(kept.digest(), index.as_usize());
        report.wrote(&kept.kind);
        let is_same = match &parent {
            Some(parent) => {
                let is_above = above.is_some_and(|above| tree.id(above) == parent);
                is_above && !tree.is_orphan(index)
            }
            None => kept.line.contains(r#""parentId":null"#),
        };
        match is_same {
            true => writeln!(out, "{}", kept.line)?,
            false => writeln!(out, "{}", with_parent(&kept.line, parent.as_deref()))?,
        }
        let mut below = tree.id(index).to_owned();
        for call in kept.open {
            let at = tree.entry(index).ok().and_then(|entry| entry.timestamp);
            let id = fresh.next().unwrap_or_default();
            writeln!(
                out,
                "{}",
                interrupted(&call, &id, &below, at.unwrap_or(begun))
            )?;
            report.wrote("message");
            below = id;
        }
        last = Some(below.clone());
        stands[index.as_usize()] = Some(below);
    }
    if !report.written.contains_key("message") {
        return Err(ExportError::Empty);
    }
    let leaf = match leaf {
        Leaf::At(index) => stands[index.as_usize()].clone(),
        Leaf::Root => None,
    };
    if leaf != last {
        let at = last
            .as_ref()
            .and_then(|last| tree.entry(tree.find(last)?).ok()?.timestamp);
        let data = json!({ "reason": "export", "from": last });
        let draft = EntryDraft::Custom(CustomDraft {
            custom_type: LEAF_ENTRY.to_owned(),
            data: RawJson::of(&data).ok(),
        });
        let stamp = Stamp {
            id: EntryId::new(&fresh.next().unwrap_or_default()),
            parent: leaf.as_deref().map(EntryId::new),
            timestamp: at.unwrap_or(begun),
            part_of: None,
        };
        writeln!(out, "{}", draft.stamp(&stamp))?;
        report.wrote("custom");
    }
    Ok(report)
}

/// Returns the ids of all calls, and of those that have results.
fn calls_and_results(tree: &SessionTree) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut calls, mut results) = (BTreeSet::new(), BTreeSet::new());
    let messages = tree.indices();
    let messages = messages.filter(|index| tree.kind(*index) == EntryKind::Message);
    for entry in messages.filter_map(|index| tree.entry(index).ok()) {
        let EntryBody::Message(message) = &entry.body else {
            continue;
        };
        if let AgentMessage::ToolResult(result) = &**message {
            results.insert(result.tool_call_id.clone());
        }
        let content = message.content();
        let own = content.iter().flat_map(|content| content.tool_calls());
        calls.extend(own.map(|call| call.id.clone()));
    }
    (calls, results)
}

/// An entry that pi can use.
struct Kept {
    line: String,
    kind: String,
    /// The calls in it that have no result.
    open: Vec<ToolCall>,
}

impl Kept {
    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.line.hash(&mut hasher);
        hasher.finish()
    }
}

/// Returns an entry, unless pi cannot use it.
fn kept(
    tree: &SessionTree,
    index: EntryIndex,
    calls: &BTreeSet<String>,
    results: &BTreeSet<String>,
    report: &mut ExportReport,
) -> Result<Option<Kept>, ExportError> {
    let Ok(entry) = tree.entry(index) else {
        return Ok(None);
    };
    let kind = match &entry.body {
        EntryBody::Unknown(kind) => kind.as_str(),
        body => body.kind().name(),
    };
    if matches!(entry.body, EntryBody::ResetBoundary) {
        report.lose("boundary; what follows it begins anew");
        return Ok(None);
    }
    if UNKNOWN_TO_PI.contains(&kind) {
        report.lose(&format!("entry of type {kind}"));
        return Ok(None);
    }
    let mut open = Vec::new();
    if let EntryBody::Message(message) = &entry.body {
        let blocks = message
            .content()
            .map_or(&[][..], |content| content.blocks());
        let is_gone = |block: &&Block| matches!(block, Block::Image(image) if !image.has_bytes());
        for _ in blocks.iter().filter(is_gone) {
            report.lose("image whose bytes are in another file");
        }
        match &**message {
            AgentMessage::Other { .. } => report.lose("message of a role that is not known"),
            AgentMessage::ToolResult(result) if !calls.contains(&result.tool_call_id) => {
                report.lose("result without its call");
                return Ok(None);
            }
            AgentMessage::Assistant(answer) => {
                let own = answer.content.tool_calls();
                open.extend(own.filter(|call| !results.contains(&call.id)).cloned());
            }
            _ => {}
        }
    }
    let Ok(line) = String::from_utf8(tree.raw_line(index)?) else {
        report.lose("entry with bytes that are not text");
        return Ok(None);
    };
    Ok(Some(Kept {
        line: line.trim().to_owned(),
        kind: kind.to_owned(),
        open,
    }))
}

/// Returns the line that says that a call was interrupted.
fn interrupted(call: &ToolCall, id: &str, parent: &str, at: Timestamp) -> Value {
    json!({
        "type": "message",
        "id": id,
        "parentId": parent,
        "timestamp": at.to_string(),
        "message": {
            "role": "toolResult",
            "toolCallId": call.id,
            "toolName": call.name,
            "content": [{ "type": "text", "text": INTERRUPTED }],
            "isError": true,
            "timestamp": at.as_millis(),
        },
    })
}

/// Returns a line with another parent.
fn with_parent(line: &str, parent: Option<&str>) -> String {
    let object = Members::parse(line).unwrap_or_default();
    let members = object.iter().filter(|(name, _)| *name != "parentId");
    let members = members.map(|(name, raw)| format!("{}:{raw}", Value::from(name)));
    let parent = format!("\"parentId\":{}", json!(parent));
    let members: Vec<String> = members.chain([parent]).collect();
    format!("{{{}}}", members.join(","))
}

/// Returns ids that no entry has.
fn fresh_ids(tree: &SessionTree) -> impl Iterator<Item = String> {
    let ids = (tree.len() + 1..).map(|number| format!("{number:08x}"));
    ids.filter(|id| tree.find(id).is_none())
}
