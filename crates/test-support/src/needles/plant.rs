//! Needles put into the lines of a session, at the depths where they belong.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::draft::{Body, Draft, Part};
use super::names::Names;
use super::phrases_said::{decision, next_step, number, pin, rule};
use super::phrases_tools::{
    failed_call, finished_todo, modified_file, open_error, open_todo, read_file, resolved_error,
};
use super::phrases_turned::{rejected, superseded};
use super::{Needle, NeedleKind, Phrasings, blind};

/// A session with needles in it.
#[derive(Debug, Clone)]
pub struct Planted {
    /// Its lines, header first, each without a line break.
    pub lines: Vec<String>,
    /// The needles, in the order of the kinds.
    pub needles: Vec<Needle>,
}

impl Planted {
    /// Returns the session as a file has it.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn draft(kind: NeedleKind, names: &mut Names) -> Option<Draft> {
    Some(match kind {
        NeedleKind::Rule => rule(names),
        NeedleKind::Pin => pin(names),
        NeedleKind::ModifiedFile => modified_file(names),
        NeedleKind::OpenError => open_error(names),
        NeedleKind::NextStep => next_step(names),
        NeedleKind::Decision => decision(names),
        NeedleKind::Number => number(names),
        NeedleKind::ReadFile => read_file(names),
        NeedleKind::OpenTodo => open_todo(names),
        NeedleKind::Superseded => superseded(names),
        NeedleKind::ResolvedError => resolved_error(names),
        NeedleKind::FailedCall => failed_call(names),
        NeedleKind::Rejected => rejected(names),
        NeedleKind::FinishedTodo => finished_todo(names),
        NeedleKind::FinishedStep | NeedleKind::Distractor => return None,
    })
}

/// Returns a draft of the known set that says nothing that the session says already.
fn fresh(kind: NeedleKind, names: &mut Names, base: &str) -> Option<Draft> {
    loop {
        let made = draft(kind, names)?;
        let said = |literal: &String| {
            literal.contains(['_', '-', '/', ' ']) && base.contains(literal.as_str())
        };
        if kind == NeedleKind::Decision || !made.needle.literals.iter().any(said) {
            return Some(made);
        }
    }
}

/// Returns the session with `each` needles of every kind, spread evenly from its beginning to its end. The lines are
/// those of one session whose last line is the leaf; what was there stays as it was but for its parents.
///
/// # Panics
///
/// On lines that are no JSON: tests that plant into something else should fail.
pub fn plant(lines: &[String], phrasings: Phrasings, seed: u64, each: usize) -> Planted {
    let mut names = Names::new(seed);
    let base = lines.concat();
    let mut drafts: Vec<Draft> = Vec::new();
    for kind in NeedleKind::ALL {
        for number in 0..each {
            let made = match phrasings {
                Phrasings::Known => fresh(kind, &mut names, &base),
                Phrasings::Blind => blind::draft(kind, seed as usize * each + number),
            };
            let Some(mut made) = made else { break };
            let first = (number as f64 + names.rng.share()) / each.max(1) as f64;
            let mut depth = first;
            for part in &mut made.parts {
                part.depth = depth;
                depth = (depth + 0.03 + 0.25 * names.rng.share()).min(1.0);
            }
            drafts.push(made);
        }
    }
    Planter::new(lines, seed).put(drafts)
}

/// Returns the tool and its arguments for a todo list.
fn todos(items: &[(String, bool)], dialect: u64) -> (&'static str, Value) {
    let items = items.iter().map(|(task, done)| match dialect % 2 {
        0 => json!({"text": task, "status": if *done { "done" } else { "open" }}),
        _ => json!({"content": task, "status": if *done { "completed" } else { "pending" }}),
    });
    let items: Vec<Value> = items.collect();
    match dialect % 2 {
        0 => ("todo", json!({ "items": items })),
        _ => ("TodoWrite", json!({ "todos": items })),
    }
}

/// Writes the lines of a session anew, with more between them.
struct Planter<'a> {
    lines: &'a [String],
    /// Lines in front of which something may stand, with the bytes before each.
    gaps: Vec<(usize, usize)>,
    /// Lines of the path to the leaf.
    path: BTreeSet<usize>,
    bytes: usize,
    ids: BTreeSet<String>,
    seed: u64,
    made: u64,
    todos: Vec<(String, bool)>,
    out: Vec<String>,
    /// The last entry of the path so far, and its line as a value's timestamp.
    leaf: Option<String>,
    timestamp: Value,
    call: (String, String),
}

fn value(line: &str) -> Value {
    match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => panic!("cannot plant into {line}: {error}"),
    }
}

impl<'a> Planter<'a> {
    fn new(lines: &'a [String], seed: u64) -> Self {
        let values: Vec<Value> = lines.iter().map(|line| value(line)).collect();
        let place_of: BTreeMap<&str, usize> = values
            .iter()
            .enumerate()
            .skip(1)
            .filter_map(|(place, value)| Some((value["id"].as_str()?, place)))
            .collect();
        let mut path = BTreeSet::new();
        let mut at = Some(lines.len() - 1).filter(|last| *last > 0);
        while let Some(place) = at {
            path.insert(place);
            let parent = values[place]["parentId"].as_str();
            at = parent.and_then(|parent| place_of.get(parent).copied());
        }
        let mut gaps = Vec::new();
        let (mut bytes, mut users, mut waiting) = (0, 0, 0_usize);
        for &place in &path {
            let message = &values[place]["message"];
            let role = message["role"].as_str().unwrap_or_default();
            if matches!(role, "user" | "assistant") {
                // Nothing comes before the first request, nor between a call and its results.
                if users > 0 && waiting == 0 {
                    gaps.push((place, bytes));
                }
                let blocks = message["content"].as_array().into_iter().flatten();
                let calls = blocks.filter(|block| block["type"] == "toolCall");
                waiting = calls.count();
            } else if role == "toolResult" {
                waiting = waiting.saturating_sub(1);
            }
            users += usize::from(role == "user");
            bytes += lines[place].len();
        }
        if waiting == 0 {
            gaps.push((lines.len(), bytes));
        }
        Self {
            lines,
            gaps,
            path,
            bytes,
            ids: place_of.keys().map(|id| (*id).to_owned()).collect(),
            seed,
            made: 0,
            todos: Vec::new(),
            out: Vec::new(),
            leaf: None,
            timestamp: Value::Null,
            call: (String::new(), String::new()),
        }
    }

    fn put(mut self, drafts: Vec<Draft>) -> Planted {
        let mut needles = Vec::new();
        // (gap, order of planting) -> which needle, which part
        let mut events: BTreeMap<(usize, u64, usize), (usize, usize, Part)> = BTreeMap::new();
        for (number, draft) in drafts.into_iter().enumerate() {
            let mut last = 0;
            for (index, part) in draft.parts.into_iter().enumerate() {
                let wanted = (part.depth * self.bytes as f64) as usize;
                let gap = self.gaps.partition_point(|(_, before)| *before < wanted);
                let gap = gap.min(self.gaps.len() - 1).max(last);
                last = gap;
                let order = (number as u64).wrapping_mul(0x9e37_79b9) % 1009;
                let order = order + 2000 * index as u64;
                events.insert((gap, order, number), (number, index, part));
            }
            needles.push((draft.needle, draft.carries));
        }
        let mut events = events.into_iter().peekable();
        for (place, line) in self.lines.iter().enumerate() {
            let mut moved = false;
            while let Some(((gap, ..), _)) = events.peek()
                && self.gaps[*gap].0 == place
            {
                if let Some((_, (number, index, part))) = events.next() {
                    self.part(&mut needles[number], index, &part);
                    moved = true;
                }
            }
            self.line(place, line, moved);
        }
        for (_, (number, index, part)) in events {
            self.part(&mut needles[number], index, &part);
        }
        Planted {
            lines: self.out,
            needles: needles.into_iter().map(|(needle, _)| needle).collect(),
        }
    }

    /// Copies a line; after something new its parent is another one.
    fn line(&mut self, place: usize, line: &str, moved: bool) {
        if !self.path.contains(&place) {
            self.out.push(line.to_owned());
            return;
        }
        let mut entry = value(line);
        if moved {
            entry["parentId"] = json!(self.leaf);
            self.out.push(entry.to_string());
        } else {
            self.out.push(line.to_owned());
        }
        self.leaf = entry["id"].as_str().map(str::to_owned);
        self.timestamp = entry["timestamp"].clone();
    }

    fn part(&mut self, (needle, carries): &mut (Needle, usize), index: usize, part: &Part) {
        for (place, body) in part.bodies.iter().enumerate() {
            let id = self.body(body);
            needle.last_entry_id.clone_from(&id);
            if index == 0 && place == *carries {
                needle.entry_id = id;
                let depth = 100.0 * part.depth;
                needle.depth = depth.round() as u8;
            }
        }
    }

    /// Writes an entry, with a result where it needs one, and returns its id.
    fn body(&mut self, body: &Body) -> String {
        let answer = |content: Value, stop: &str| json!({"role":"assistant","content":content,"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","stopReason":stop});
        match body {
            Body::User(text) => {
                self.message(&json!({"role":"user","content":[{"type":"text","text":text}]}))
            }
            Body::Answer(text) => {
                self.message(&answer(json!([{"type":"text","text":text}]), "stop"))
            }
            Body::Call {
                said,
                tool,
                arguments,
            } => {
                let number = self.seed.wrapping_mul(1_000_003).wrapping_add(self.made);
                self.call = (format!("toolu_n{number:015x}"), tool.clone());
                let call =
                    json!({"type":"toolCall","id":self.call.0,"name":tool,"arguments":arguments});
                let content = match said.is_empty() {
                    true => json!([call]),
                    false => json!([{"type":"text","text":said}, call]),
                };
                self.message(&answer(content, "toolUse"))
            }
            Body::Result { text, failed } => {
                let (call, tool) = self.call.clone();
                self.message(&json!({"role":"toolResult","toolCallId":call,"toolName":tool,"content":[{"type":"text","text":text}],"isError":failed}))
            }
            Body::PinBefore => {
                let target = self.leaf.clone();
                self.entry(json!({"type":"label","targetId":target,"label":"pin"}))
            }
            Body::PinText(text) => self
                .entry(json!({"type":"custom","customType":"agent-cli/pin","data":{"text":text}})),
            Body::Todo { task, done } => {
                match self.todos.iter_mut().find(|(known, _)| known == task) {
                    Some((_, state)) => *state = *done,
                    None => self.todos.push((task.clone(), *done)),
                }
                let (tool, arguments) = todos(&self.todos, self.seed);
                let said = String::new();
                let id = self.body(&Body::Call {
                    said,
                    tool: tool.to_owned(),
                    arguments,
                });
                let text = "The list is updated.".to_owned();
                self.body(&Body::Result {
                    text,
                    failed: false,
                });
                id
            }
        }
    }

    fn message(&mut self, message: &Value) -> String {
        self.entry(json!({"type":"message","message":message}))
    }

    fn entry(&mut self, mut entry: Value) -> String {
        let id = loop {
            self.made += 1;
            let number = (self.seed as u32)
                .wrapping_mul(7_919)
                .wrapping_add(self.made as u32);
            let id = format!("{:08x}", number.wrapping_mul(0x85eb_ca6b));
            if self.ids.insert(id.clone()) {
                break id;
            }
        };
        entry["id"] = json!(id);
        entry["parentId"] = json!(self.leaf);
        entry["timestamp"] = self.timestamp.clone();
        self.out.push(entry.to_string());
        self.leaf = Some(id.clone());
        id
    }
}
