//! One output item of an answer while it is being streamed.

use session_model::json::{Members, RawJson};
use session_model::{Block, TextBlock};

use crate::answer::Event;
use crate::wire::responses::{is_compaction, part_texts};

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Call,
    Compaction,
    /// Built-in tools and unknown kinds; they are ignored.
    Other,
}

impl Kind {
    pub(super) fn of(item: &Members<'_>) -> Self {
        match item.text("type").as_deref() {
            Some("message") => Self::Message,
            Some("reasoning") => Self::Reasoning,
            Some("function_call") => Self::Call,
            Some(kind) if is_compaction(kind) => Self::Compaction,
            _ => Self::Other,
        }
    }
}

/// An output item. Events find it by its id or place; servers leave out one or both.
#[derive(Debug)]
pub(super) struct OutputItemState {
    pub kind: Kind,
    /// The index of the call in the answer, for calls.
    pub number: usize,
    pub index: Option<u64>,
    pub id: Option<String>,
    /// True when an event has opened it, false while only pieces of it came.
    pub opened: bool,
    /// True when all of it is there.
    pub closed: bool,
    /// The text, the thinking, or the arguments so far.
    pub text: String,
    name: String,
    call_id: Option<String>,
    phase: Option<String>,
    /// The item as it was opened or, later, closed.
    item: Option<RawJson>,
    /// The part of the thinking that is being streamed.
    part: Option<(bool, u64)>,
    /// True when the call's name has been reported.
    named: bool,
}

impl OutputItemState {
    pub(super) fn new(kind: Kind, number: usize, index: Option<u64>, id: Option<String>) -> Self {
        Self {
            kind,
            number,
            index,
            id,
            opened: false,
            closed: false,
            text: String::new(),
            name: String::new(),
            call_id: None,
            phase: None,
            item: None,
            part: None,
            named: false,
        }
    }

    /// Takes the members of the opening event.
    pub(super) fn open(&mut self, item: &RawJson) -> Option<Event> {
        self.opened = true;
        self.describe(&Members::parse(item.get())?);
        self.item = Some(item.clone());
        self.name_call()
    }

    fn describe(&mut self, item: &Members<'_>) {
        self.id = item.text("id").or_else(|| self.id.take());
        self.phase = item.text("phase").or_else(|| self.phase.take());
        if self.kind == Kind::Call {
            self.call_id = item.text("call_id").or_else(|| self.call_id.take());
            self.name = item.text("name").unwrap_or_else(|| self.name.clone());
        }
    }

    /// Returns the first event of a call, as soon as its name is known.
    fn name_call(&mut self) -> Option<Event> {
        if self.kind != Kind::Call || self.named || self.name.is_empty() {
            return None;
        }
        self.named = true;
        Some(self.call_event(self.text.clone()))
    }

    fn call_event(&self, arguments: String) -> Event {
        Event::ToolCall {
            index: self.number,
            name: self.name.clone(),
            arguments,
        }
    }

    /// Takes a piece of text, thinking or arguments.
    pub(super) fn append(&mut self, piece: &str) -> Option<Event> {
        if piece.is_empty() {
            return None;
        }
        self.text.push_str(piece);
        match self.kind {
            Kind::Message => Some(Event::Text(piece.to_owned())),
            Kind::Reasoning => Some(Event::Thinking(piece.to_owned())),
            // Pieces of a call without a name wait for it.
            Kind::Call => self.named.then(|| self.call_event(piece.to_owned())),
            Kind::Compaction | Kind::Other => None,
        }
    }

    /// Begins part `part` of the thinking (`summary` selects one of the two kinds); a blank line separates parts.
    pub(super) fn begin_part(&mut self, summary: bool, part: Option<u64>) -> Option<Event> {
        let part = (
            summary,
            part.or(self.part.map(|(_, part)| part)).unwrap_or(0),
        );
        if self.part == Some(part) {
            return None;
        }
        let follows = !self.text.is_empty();
        self.part = Some(part);
        self.append(if follows { "\n\n" } else { "" })
    }

    /// Takes the whole text, or all arguments, of which pieces may have come already.
    pub(super) fn complete(&mut self, whole: &str) -> Option<Event> {
        if whole.is_empty() {
            return None;
        }
        if let Some(rest) = whole.strip_prefix(self.text.as_str()) {
            return self.append(rest);
        }
        whole.clone_into(&mut self.text);
        None
    }

    /// Takes the finished item.
    pub(super) fn close(&mut self, item: &RawJson) -> Vec<Event> {
        let Some(fields) = Members::parse(item.get()) else {
            return Vec::new();
        };
        self.describe(&fields);
        self.opened = true;
        self.closed = true;
        self.item = Some(item.clone());
        let named = self.name_call();
        let rest = match self.kind {
            Kind::Message => self.complete(&part_texts(&fields, "content").concat()),
            Kind::Reasoning => {
                let mut parts = part_texts(&fields, "summary");
                if parts.is_empty() {
                    parts = part_texts(&fields, "content");
                }
                self.complete(&parts.join("\n\n"))
            }
            Kind::Call => self.complete(&arguments(&fields)),
            Kind::Compaction | Kind::Other => None,
        };
        named.into_iter().chain(rest).collect()
    }

    /// Closes an item that only its opening event described.
    pub(super) fn close_early(&mut self) -> Vec<Event> {
        match self.item.clone() {
            Some(item) if !self.closed && self.text.is_empty() => self.close(&item),
            _ => Vec::new(),
        }
    }

    /// Returns the compaction item, verbatim.
    pub(super) fn native(&self) -> Option<RawJson> {
        let item = self.item.clone();
        item.filter(|_| self.kind == Kind::Compaction && self.closed)
    }

    /// Returns the block that a session keeps, or `None` when there is nothing to keep. `answer` is the answer's id.
    pub(super) fn block(self, answer: &str) -> Option<Block> {
        match self.kind {
            Kind::Message if self.text.is_empty() => None,
            Kind::Message => {
                let (id, phase) = (self.id, self.phase);
                let signature = id.map(|id| match phase {
                    Some(phase) => {
                        serde_json::json!({ "v": 1, "id": id, "phase": phase }).to_string()
                    }
                    None => id,
                });
                let text = self.text;
                Some(Block::Text(TextBlock { text, signature }))
            }
            Kind::Reasoning => {
                let item = self.item.filter(|_| self.closed);
                let signature = item.map(|item| item.get().to_owned());
                let empty = self.text.is_empty() && signature.is_none();
                (!empty).then(|| Block::thinking(self.text, signature))
            }
            Kind::Call => {
                let id = match (self.call_id, self.id) {
                    (Some(call), Some(item)) => format!("{call}|{item}"),
                    (Some(only), None) | (None, Some(only)) => only,
                    (None, None) => format!("call_{answer}_{}", self.number),
                };
                Some(Block::call(id, self.name, kept_arguments(&self.text)))
            }
            Kind::Compaction | Kind::Other => None,
        }
    }
}

/// Returns the arguments as text; some servers send them as an object.
fn arguments(item: &Members<'_>) -> String {
    let raw = item.raw("arguments").unwrap_or_default();
    item.text("arguments").unwrap_or_else(|| raw.to_owned())
}

/// Returns the arguments as JSON, as a JSON string when they are none, or `None` when there are not any.
fn kept_arguments(text: &str) -> Option<RawJson> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let parsed = RawJson::parse(text).or_else(|_| RawJson::of(text));
    parsed.ok()
}
