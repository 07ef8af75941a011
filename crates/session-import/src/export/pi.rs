//! pi: the same lines, without what it cannot read and the types that only oh-my-pi knows.

use std::io::Write;

use serde_json::{Value, json};
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Block, CustomDraft, EntryBody, EntryDraft, EntryId, EntryIndex, EntryKind,
    HeaderDraft, Leaf, SessionTree, Stamp, Timestamp,
};

use super::{ExportError, ExportReport, Target};
use crate::emitter::LEAF_ENTRY;
use crate::json::Object;

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
    let id = header.map_or("unknown", |header| header.id.as_str());
    let begun = header.and_then(|header| Timestamp::parse(&header.timestamp));
    let begun = begun.unwrap_or(Timestamp::from_millis(0));
    let mut report = ExportReport::new(Target::Pi, id.to_owned());
    let line = HeaderDraft {
        id: id.to_owned(),
        timestamp: begun,
        cwd: header.map_or_else(String::new, |header| header.cwd.clone()),
        // A path, or an id that pi does not know.
        parent_session: None,
    };
    writeln!(out, "{}", line.line())?;
    // The entry under which the children of each stand.
    let mut stands: Vec<Option<EntryIndex>> = Vec::with_capacity(tree.len());
    let mut last = None;
    for index in tree.indices() {
        let above = tree.parent(index);
        let parent = above.and_then(|above| stands[above.as_usize()]);
        match kept_line(tree, index, &mut report)? {
            Some(text) => {
                let is_same = parent == above && !tree.is_orphan(index);
                let parent = parent.map(|parent| tree.id(parent));
                match is_same {
                    true => writeln!(out, "{text}")?,
                    false => writeln!(out, "{}", with_parent(&text, parent))?,
                }
                stands.push(Some(index));
                last = Some(index);
            }
            None if tree.kind(index) == EntryKind::ResetBoundary => stands.push(None),
            None => stands.push(parent),
        }
    }
    if !report.written.contains_key("message") {
        return Err(ExportError::Empty);
    }
    let leaf = match leaf {
        Leaf::At(index) => stands[index.as_usize()],
        Leaf::Root => None,
    };
    if leaf != last {
        let at = last.and_then(|last| tree.entry(last).ok()?.timestamp);
        let id = |index: EntryIndex| EntryId::new(tree.id(index));
        let data = json!({ "reason": "export", "from": last.map(id) });
        let draft = EntryDraft::Custom(CustomDraft {
            custom_type: LEAF_ENTRY.to_owned(),
            data: RawJson::of(&data).ok(),
        });
        let stamp = Stamp {
            id: EntryId::new(&fresh_id(tree)),
            parent: leaf.map(id),
            timestamp: at.unwrap_or(begun),
            part_of: None,
        };
        writeln!(out, "{}", draft.stamp(&stamp))?;
        report.wrote("custom");
    }
    Ok(report)
}

/// Returns the line of an entry, unless pi cannot use it.
fn kept_line(
    tree: &SessionTree,
    index: EntryIndex,
    report: &mut ExportReport,
) -> Result<Option<String>, ExportError> {
    let Ok(entry) = tree.entry(index) else {
        report.lose("entry that cannot be read");
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
    if let EntryBody::Message(message) = &entry.body {
        let blocks = message
            .content()
            .map_or(&[][..], |content| content.blocks());
        let is_gone = |block: &&Block| matches!(block, Block::Image(image) if !image.has_bytes());
        for _ in blocks.iter().filter(is_gone) {
            report.lose("image whose bytes are in another file");
        }
        if let AgentMessage::Other { .. } = &**message {
            report.lose("message of a role that is not known");
        }
    }
    let Ok(line) = String::from_utf8(tree.raw_line(index)?) else {
        report.lose("entry with bytes that are no text");
        return Ok(None);
    };
    report.wrote(kind);
    Ok(Some(line.trim().to_owned()))
}

/// Returns a line with another parent.
fn with_parent(line: &str, parent: Option<&str>) -> String {
    let object = Object::parse(line).unwrap_or_default();
    let members = object.members().filter(|(name, _)| *name != "parentId");
    let members = members.map(|(name, raw)| format!("{}:{raw}", Value::from(name)));
    let parent = format!("\"parentId\":{}", json!(parent));
    let members: Vec<String> = members.chain([parent]).collect();
    format!("{{{}}}", members.join(","))
}

/// Returns an id that no entry has.
fn fresh_id(tree: &SessionTree) -> String {
    let mut number = tree.len() + 1;
    loop {
        let id = format!("{number:08x}");
        if tree.find(&id).is_none() {
            return id;
        }
        number += 1;
    }
}
