//! Strategies that generate sessions: valid ones of every entry type, and damaged ones.

use proptest::prelude::*;
use serde_json::{Value, json};

/// One step of a generated session.
#[derive(Debug, Clone)]
enum Step {
    User(usize),
    Answer(usize),
    /// An answer with so many calls; each result's size, and whether it failed or is missing.
    Tools(Vec<(usize, ResultKind)>),
    Bash(usize, bool),
    Note(usize),
    Metadata(u8),
    System(usize),
    /// Goes back by so many entries and leaves a summary of this size.
    Branch(usize, usize),
    /// Keeps this share (of 255) of the path since the boundary before.
    Compaction(u8, usize),
    /// Edits an entry so far back; takes it out, or replaces it.
    Edit(usize, bool),
    Reset,
    /// An unknown entry type.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
enum ResultKind {
    Fine,
    Failed,
    Missing,
}

fn size() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..40_usize, 3 => 40..400_usize, 1 => 400..6000_usize]
}

fn result_kind() -> impl Strategy<Value = ResultKind> {
    prop_oneof![
        10 => Just(ResultKind::Fine),
        2 => Just(ResultKind::Failed),
        1 => Just(ResultKind::Missing),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => size().prop_map(Step::User),
        6 => size().prop_map(Step::Answer),
        10 => prop::collection::vec((size(), result_kind()), 1..4).prop_map(Step::Tools),
        1 => (size(), any::<bool>()).prop_map(|(size, hidden)| Step::Bash(size, hidden)),
        1 => size().prop_map(Step::Note),
        3 => (0..6_u8).prop_map(Step::Metadata),
        1 => size().prop_map(Step::System),
        1 => (1..20_usize, size()).prop_map(|(back, size)| Step::Branch(back, size)),
        1 => (any::<u8>(), size()).prop_map(|(share, size)| Step::Compaction(share, size)),
        1 => (1..12_usize, any::<bool>()).prop_map(|(back, omit)| Step::Edit(back, omit)),
        1 => Just(Step::Reset),
        1 => Just(Step::Unknown),
    ]
}

/// Returns a strategy for the lines of valid sessions of version 3, header first.
pub fn any_session() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(step(), 0..60).prop_map(|steps| lines(&steps))
}

/// Returns a strategy for the text of valid sessions of version 3.
pub fn any_session_text() -> impl Strategy<Value = String> {
    any_session().prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
}

/// The kinds of damage that [`damaged_session`] does.
pub const DAMAGE_KINDS: [&str; 10] = [
    "cut in the middle of the last line",
    "no newline at the end",
    "a line overwritten in the middle",
    "a byte-order mark",
    "CR LF",
    "blank lines",
    "a line twice",
    "a line missing",
    "a forward parent",
    "bytes that are no text",
];

/// Returns a strategy for the bytes of damaged sessions, with the kind of damage.
pub fn damaged_session() -> impl Strategy<Value = (usize, Vec<u8>)> {
    (
        any_session(),
        0..DAMAGE_KINDS.len(),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(lines, kind, place)| {
            let at = place.index(lines.len());
            (kind, damage(&lines, kind, at))
        })
}

fn damage(lines: &[String], kind: usize, at: usize) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = lines.iter().map(|line| line.clone().into_bytes()).collect();
    let mut ending: &[u8] = b"\n";
    let mut text = Vec::new();
    match kind {
        2 => {
            let middle = lines[at].len() / 2;
            lines[at].truncate(middle);
        }
        3 => text.extend_from_slice(b"\xEF\xBB\xBF"),
        4 => ending = b"\r\n",
        5 => lines.insert(at, b"  ".to_vec()),
        6 => lines.push(lines[at].clone()),
        7 if lines.len() > 1 => drop(lines.remove(at.max(1).min(lines.len() - 1))),
        8 if lines.len() > 2 => {
            let last: Value = serde_json::from_slice(&lines[lines.len() - 1]).unwrap_or_default();
            let mut entry: Value = serde_json::from_slice(&lines[1]).unwrap_or_default();
            entry["parentId"] = last["id"].clone();
            lines[1] = entry.to_string().into_bytes();
        }
        9 => {
            let middle = lines[at].len() / 2;
            lines[at].splice(middle..middle, [0xFF, 0xC3]);
        }
        _ => {}
    }
    for line in &lines {
        text.extend_from_slice(line);
        text.extend_from_slice(ending);
    }
    match kind {
        0 => text.truncate(text.len() - text.len().min(at + 2)),
        1 => drop(text.pop()),
        _ => {}
    }
    text
}

struct Writer {
    lines: Vec<String>,
    /// Ids of the path to the leaf, with the role or type of each.
    path: Vec<(String, &'static str)>,
    number: u64,
    calls: u64,
}

impl Writer {
    fn push(&mut self, kind: &'static str, mut entry: Value) {
        self.number += 1;
        let id = format!("{:08x}", self.number * 0x9E37);
        entry["id"] = json!(id);
        entry["parentId"] = json!(self.path.last().map(|(id, _)| id));
        entry["timestamp"] = json!(format!(
            "2026-01-01T{:02}:{:02}:{:02}.000Z",
            self.number / 3600 % 24,
            self.number / 60 % 60,
            self.number % 60
        ));
        self.lines.push(entry.to_string());
        self.path.push((id, kind));
    }

    fn message(&mut self, kind: &'static str, mut message: Value) {
        message["timestamp"] = json!(1_767_225_600_000_u64 + self.number * 1000);
        self.push(kind, json!({"type":"message","message":message}));
    }

    fn text(&self, size: usize) -> String {
        let words = [
            "alpha ",
            "日本 ",
            "never ",
            "fn main() {}\n",
            "é→ ",
            "😀",
            "must ",
        ];
        let mut text = format!("<{}> ", self.number);
        let mut at = self.number as usize;
        while text.len() < size {
            text.push_str(words[at % words.len()]);
            at = at.wrapping_mul(31).wrapping_add(7);
        }
        text
    }
}

fn lines(steps: &[Step]) -> Vec<String> {
    let mut writer = Writer {
        lines: vec![
            json!({"type":"session","version":3,"id":"generated","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"})
                .to_string(),
        ],
        path: Vec::new(),
        number: 0,
        calls: 0,
    };
    for step in steps {
        write_step(&mut writer, step);
    }
    writer.lines
}

fn write_step(writer: &mut Writer, step: &Step) {
    match step {
        Step::User(size) => {
            let text = writer.text(*size);
            let content = match size % 2 {
                0 => json!(text),
                _ => {
                    json!([{"type":"text","text":text},{"type":"image","data":"AA==","mimeType":"image/png"}])
                }
            };
            writer.message("user", json!({"role":"user","content":content}));
        }
        Step::Answer(size) => {
            let text = writer.text(*size);
            let usage = match size % 3 {
                0 => Value::Null,
                _ => {
                    json!({"input":size,"output":size / 2,"cacheRead":size * 3,"cacheWrite":0,"totalTokens":0})
                }
            };
            let stop = ["stop", "length", "error", "aborted"][size % 4];
            writer.message("assistant", json!({"role":"assistant","content":[{"type":"thinking","thinking":text},{"type":"text","text":text}],"provider":"p","model":"m","api":"x","usage":usage,"stopReason":stop}));
        }
        Step::Tools(results) => write_tools(writer, results),
        Step::Bash(size, hidden) => {
            let text = writer.text(*size);
            writer.message("bash", json!({"role":"bashExecution","command":"ls","output":text,"exitCode":size % 2,"cancelled":false,"truncated":false,"excludeFromContext":hidden}));
        }
        Step::Note(size) => {
            let text = writer.text(*size);
            writer.push(
                "custom_message",
                json!({"type":"custom_message","customType":"note","content":text,"display":true}),
            );
        }
        Step::Metadata(which) => {
            let target = writer.path.first().map(|(id, _)| id.clone());
            writer.push("metadata", match which {
                0 => json!({"type":"model_change","provider":"p","modelId":"m2"}),
                1 => json!({"type":"thinking_level_change","thinkingLevel":"high"}),
                2 => json!({"type":"label","targetId":target,"label":"mark"}),
                3 => json!({"type":"session_info","name":"generated"}),
                4 => json!({"type":"custom","customType":"todo","data":{"n":1}}),
                _ => json!({"type":"usage","kind":"warm","provider":"p","model":"m","usage":{"input":1}}),
            });
        }
        Step::System(size) => {
            let text = writer.text(*size);
            writer.message(
                "system",
                json!({"role":"system","content":text,"sections":{"cwd":"/p"}}),
            );
        }
        Step::Branch(back, size) => {
            let Some((from, _)) = writer.path.last().cloned() else {
                return;
            };
            let keep = writer.path.len().saturating_sub(*back);
            writer.path.truncate(keep);
            let summary = writer.text(*size);
            writer.push("branch_summary", json!({"type":"branch_summary","fromId":from,"summary":summary,"details":{"readFiles":["r.rs"],"modifiedFiles":["m.rs"]}}));
        }
        Step::Compaction(share, size) => {
            if writer.path.is_empty() {
                return;
            }
            let boundary = writer
                .path
                .iter()
                .rposition(|(_, kind)| *kind == "compaction");
            let start = boundary.map_or(0, |at| at + 1).min(writer.path.len() - 1);
            let range = writer.path.len() - start;
            let kept = &writer.path[start + range * usize::from(*share) / 256].0;
            let kept = kept.clone();
            let summary = writer.text(*size);
            writer.push("compaction", json!({"type":"compaction","summary":summary,"firstKeptEntryId":kept,"tokensBefore":size,"details":{"readFiles":["a.rs"],"modifiedFiles":["b.rs"]}}));
        }
        Step::Edit(back, omit) => {
            let mut editable = writer.path.iter().rev().take(*back).filter(|(_, kind)| {
                matches!(
                    *kind,
                    "user" | "assistant" | "toolResult" | "custom_message"
                )
            });
            let Some((target, _)) = editable.next_back().cloned() else {
                return;
            };
            let replacement = match omit {
                true => Value::Null,
                false => json!({"content":[{"type":"text","text":"[elided]"}]}),
            };
            writer.push(
                "context_edit",
                json!({"type":"context_edit","targetId":target,"replacement":replacement}),
            );
        }
        Step::Reset => writer.push("reset", json!({"type":"reset_boundary"})),
        Step::Unknown => writer.push(
            "unknown",
            json!({"type":"from_the_future","payload":[1.50,{"k":null}]}),
        ),
    }
}

fn write_tools(writer: &mut Writer, results: &[(usize, ResultKind)]) {
    let tools = ["read", "write", "edit", "bash"];
    let mut calls = Vec::new();
    let mut answered = Vec::new();
    for (size, kind) in results {
        writer.calls += 1;
        let id = format!("call_{}", writer.calls);
        let tool = tools[size % tools.len()];
        calls.push(json!({"type":"toolCall","id":id,"name":tool,"arguments":{"path":format!("src/f{}.rs", size % 9),"n":1.0,"2":"two"}}));
        answered.push((id, tool, *size, *kind));
    }
    writer.message("assistant", json!({"role":"assistant","content":calls,"provider":"p","model":"m","api":"x","stopReason":"toolUse"}));
    for (id, tool, size, kind) in answered {
        let text = writer.text(size);
        let failed = match kind {
            ResultKind::Missing => continue,
            ResultKind::Failed => true,
            ResultKind::Fine => false,
        };
        writer.message("toolResult", json!({"role":"toolResult","toolCallId":id,"toolName":tool,"content":[{"type":"text","text":text}],"isError":failed}));
    }
}
