//! Imports a fixture, checks what must hold for every import, and describes the session in short lines.

use std::collections::BTreeMap;

use session_import::{ImportReport, Input, Origin, detect, import, import_without_results};
use session_model::{
    AgentMessage, ContextRules, Decoded, EntryBody, RoleOrder, Usage, build_context, decode_bytes,
};

/// The bytes of a session of another program.
pub struct Fixture {
    pub bytes: Vec<u8>,
}

#[expect(clippy::disallowed_methods, reason = "tests read their fixtures")]
fn read(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the session that a fork of the fixtures is based on.
pub fn find(id: &str) -> Option<Input> {
    let is_parent = id == "01a2014c-49ee-7432-a739-4e557a4b21ff";
    is_parent.then(|| Input::of_bytes(read("codex-fork-parent.jsonl")))
}

impl Fixture {
    pub fn named(name: &str) -> Self {
        Self { bytes: read(name) }
    }

    /// Returns the lines and the report of an import.
    pub fn import(&self) -> (Vec<u8>, ImportReport) {
        let format = detect(&self.bytes).expect("a known format");
        let mut out = Vec::new();
        let input = Input::of_bytes(self.bytes.clone());
        let report = import(format, &input, &Origin::default(), &find, &mut out);
        (out, report.expect("it is imported"))
    }

    /// Returns the lines of an import that leaves results where they are, and these lines with the results read.
    pub fn import_in_two_steps(&self) -> (Vec<u8>, Vec<u8>) {
        let format = detect(&self.bytes).expect("a known format");
        let mut out = Vec::new();
        let input = Input::of_bytes(self.bytes.clone());
        let done = import_without_results(format, &input, &Origin::default(), &find, &mut out);
        let (_, results) = done.expect("it is imported");
        let mut whole = Vec::new();
        for line in out.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").expect("a line");
            match results.line(line) {
                Some(read) => {
                    let read = read.expect("it is there");
                    whole.extend(read);
                }
                None => whole.extend(line),
            }
            whole.push(b'\n');
        }
        (out, whole)
    }
}

/// Checks that the entries of two sessions have the same ids, parents, kinds and roles.
fn check_same_heads(one: &[u8], other: &[u8]) {
    let heads = |lines: &[u8]| {
        let tree = decode_bytes(lines.to_vec()).tree;
        let head = |index| {
            let parent = tree.parent(index).map(|parent| tree.id(parent).to_owned());
            (
                tree.id(index).to_owned(),
                parent,
                tree.kind(index),
                tree.role(index),
            )
        };
        tree.indices().map(head).collect::<Vec<_>>()
    };
    assert_eq!(heads(one), heads(other));
}

/// Imports a fixture twice, checks that the session is sound, and returns it in short lines.
pub fn check(fixture: &Fixture) -> String {
    let (lines, report) = fixture.import();
    assert!(lines == fixture.import().0, "a second import differs");
    let (short, whole) = fixture.import_in_two_steps();
    assert_eq!(
        String::from_utf8_lossy(&lines),
        String::from_utf8_lossy(&whole)
    );
    check_same_heads(&lines, &short);
    let decoded = decode_bytes(lines);
    check_sound(&decoded);
    assert_eq!(usage_of(&decoded), report.usage);
    let mut text = describe(&decoded);
    let mut row = |name: &str, counts: &BTreeMap<String, u64>| {
        if !counts.is_empty() {
            text.push_str(&format!("{name}: {counts:?}\n"));
        }
    };
    row("skipped", &report.skipped);
    row("losses", &report.losses);
    let usage = report.usage;
    text.push_str(&format!(
        "duplicates {}, interrupted {}, usage {}+{}+{}>{}\n",
        report.duplicates,
        report.interrupted_calls,
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.output
    ));
    for said in &report.diagnostics {
        text.push_str(&format!("{:?} {said}\n", said.severity));
    }
    text
}

/// Checks that every line is read without a complaint, that calls have one result each, and that the context is one
/// that a model accepts.
pub fn check_sound(decoded: &Decoded) {
    assert!(decoded.diagnostics.is_empty(), "{:?}", decoded.diagnostics);
    let tree = &decoded.tree;
    let mut calls: BTreeMap<String, i64> = BTreeMap::new();
    for index in tree.indices() {
        let entry = tree.entry(index).expect("every body can be read");
        if let EntryBody::Message(message) = &entry.body {
            for call in message.tool_calls() {
                *calls.entry(call.id.clone()).or_default() += 1;
            }
            if let AgentMessage::ToolResult(result) = &**message {
                *calls.entry(result.tool_call_id.clone()).or_default() -= 1;
            }
        }
    }
    calls.retain(|_, open| *open != 0);
    assert!(calls.is_empty(), "calls without one result: {calls:?}");
    let context = build_context(&tree.path(tree.leaf()), ContextRules::Own);
    assert!(context.diagnostics.is_empty(), "{:?}", context.diagnostics);
    let (_, unpaired) = context.to_llm(RoleOrder::Any);
    assert!(unpaired.is_empty(), "{unpaired:?}");
}

fn usage_of(decoded: &Decoded) -> Usage {
    let mut total = Usage::default();
    for index in decoded.tree.indices() {
        let entry = decoded.tree.entry(index).expect("every body can be read");
        let usage = match &entry.body {
            EntryBody::Usage { usage, .. } => Some(*usage),
            EntryBody::Message(message) => match &**message {
                AgentMessage::Assistant(answer) => answer.usage,
                _ => None,
            },
            _ => None,
        };
        total += usage.unwrap_or_default();
    }
    total
}

/// Returns a line for each entry: its id, its parent where that is not the entry before, what it is and says, and a
/// star where it is in the context.
pub fn describe(decoded: &Decoded) -> String {
    let tree = &decoded.tree;
    let context = build_context(&tree.path(tree.leaf()), ContextRules::Own);
    let seen: Vec<&str> = context.messages().map(|(id, _)| id.as_str()).collect();
    let header = tree.header().expect("a header");
    let mut text = format!("session {} in {:?}\n", header.id, header.cwd);
    let mut before = None;
    for index in tree.indices() {
        let entry = tree.entry(index).expect("every body can be read");
        let parent = match entry.parent == before {
            true => String::new(),
            false => format!(" ^{}", entry.parent.as_deref().unwrap_or("null")),
        };
        let star = if seen.contains(&entry.id.as_str()) {
            "*"
        } else {
            " "
        };
        text.push_str(&format!(
            "{star}{}{parent} {}\n",
            entry.id,
            what(&entry.body)
        ));
        before = Some(entry.id);
    }
    text
}

fn short(text: &str) -> String {
    session_model::text::first_line(text, 60)
}

fn what(body: &EntryBody) -> String {
    match body {
        EntryBody::Message(message) => {
            let more = match &**message {
                AgentMessage::ToolResult(result) if result.is_error => "!",
                _ => "",
            };
            format!(
                "{}{more} {}",
                message.role(),
                short(&message.display_text())
            )
        }
        EntryBody::CustomMessage(message) => {
            format!(
                "[{}] {}",
                message.custom_type,
                short(&message.content.joined_text(" "))
            )
        }
        EntryBody::Custom { custom_type, data } => {
            let data = data.as_ref().map_or("", |data| data.get());
            format!("({custom_type}) {}", short(data))
        }
        EntryBody::Compaction(compaction) => format!(
            "compaction keeps {} before {}: {}",
            compaction.first_kept,
            compaction.tokens_before,
            short(&compaction.summary)
        ),
        EntryBody::ContextEdit {
            target,
            replacement,
        } => {
            let content = replacement
                .as_ref()
                .map_or("nothing".to_owned(), |content| content.joined_text(" "));
            format!("edit {target} to {content}")
        }
        EntryBody::SessionInfo(name) => format!("name {name:?}"),
        EntryBody::ModelChange(model) => format!("model {}/{}", model.provider, model.model_id),
        EntryBody::ThinkingLevelChange(level) => format!("thinking {level}"),
        EntryBody::Usage { kind, usage } => format!("usage {kind} {}", usage.total_tokens),
        other => format!("{:?}", other.kind()),
    }
}
