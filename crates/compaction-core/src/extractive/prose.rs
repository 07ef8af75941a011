//! The written form of an extractive summary: the sections that the prompts ask of a model, filled with facts in the
//! order of what they tell, as far as there is room.
//!
//! **Invariants.** The text is never larger than its cap. What was said stands in quotes or on one line of a list, with
//! our own tags neutralised, so that it cannot imitate a section.

use std::collections::BTreeMap;

use session_model::{AgentMessage, EntryId};

use crate::extract::{
    cut_middle, first_sentence, last_steps, names_something, neutralise, one_line, own_words,
};
use crate::ledger::{LedgerItem, LedgerKind, without_ledger};
use crate::source::{HANDOFF_MESSAGE, SourceMessage};
use crate::tokens::{TokenCount, TokenCounter};

/// Opens the line that says how the summary was made.
const MADE: &str = "Made by code, without a model (extractive)";
/// Opens the quote of a summary by another writer.
const EARLIER: &str = "Earlier summary:";
/// The longest fact on a line, in characters.
const LINE: usize = 420;
/// The longest message of the user that is only listed, and of a request that the ledger has, in characters.
const MESSAGE: usize = 160;
const REQUEST: usize = 140;
/// A first sentence that is shorter is a greeting, behind which more is shown; in characters.
const GREETING: usize = 12;
/// What each further sentence of an answer weighs, and what a sentence does that names nothing.
const FURTHER: usize = 8;
const NAMELESS: usize = 24;
/// How many places an answer has.
const ANSWER: usize = 64;

/// Returns a request in a few words.
pub(super) fn asked(words: &str) -> String {
    let first = first_sentence(words);
    match first.chars().count() < GREETING {
        true => one_line(words, REQUEST),
        false => one_line(&first, REQUEST),
    }
}

/// Which sections a summary has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Older history.
    History,
    /// The start of a turn whose end is kept.
    TurnPrefix,
    /// A branch that was left.
    Branch,
}

/// A section, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Goal,
    Rules,
    Done,
    Doing,
    Blocked,
    Decisions,
    Next,
    Critical,
}

impl Section {
    /// Returns the section of a fact, and its weight: what weighs least gets room first, and each further one of its
    /// kind weighs so much more.
    const fn of(kind: LedgerKind) -> (Self, usize, usize) {
        match kind {
            LedgerKind::Pin | LedgerKind::FirstMessage | LedgerKind::LatestMessage => {
                (Self::Goal, 0, 1)
            }
            LedgerKind::Rule => (Self::Rules, 4, 1),
            LedgerKind::Todo => (Self::Doing, 2, 1),
            LedgerKind::Failure => (Self::Blocked, 2, 4),
            LedgerKind::NextStep => (Self::Next, 3, 4),
            LedgerKind::Check => (Self::Done, 14, 8),
            LedgerKind::Decision => (Self::Decisions, 10, 3),
            LedgerKind::File => (Self::Done, 10, 2),
            LedgerKind::Done => (Self::Done, 12, 3),
            LedgerKind::Answer => (Self::Done, 12, 1),
            LedgerKind::Finding => (Self::Critical, 12, 1),
            LedgerKind::Cause => (Self::Critical, 10, 1),
            LedgerKind::TurnedDown => (Self::Decisions, 16, 3),
            LedgerKind::Branch => (Self::Critical, 10, 8),
            LedgerKind::Figure => (Self::Critical, 20, 3),
            LedgerKind::Message => (Self::Critical, 20, 4),
        }
    }

    const fn heading(self, form: Form) -> &'static str {
        match (form, self) {
            (Form::TurnPrefix, Self::Goal) => "## Original Request",
            (Form::TurnPrefix, Self::Done | Self::Doing) => "## Progress So Far",
            (Form::TurnPrefix, _) => "## Context Needed to Continue",
            (_, Self::Goal) => "## Goal",
            (_, Self::Rules) => "## Constraints & Preferences",
            (_, Self::Done) => "### Done",
            (_, Self::Doing) => "### In Progress",
            (_, Self::Blocked) => "### Blocked",
            (_, Self::Decisions) => "## Key Decisions",
            (_, Self::Next) => "## Next Steps",
            (_, Self::Critical) => "## Critical Context",
        }
    }
}

/// A piece of a section.
struct Piece {
    section: Section,
    /// What comes first in its section.
    place: usize,
    weight: usize,
    text: String,
}

/// A summary that is being written.
pub(super) struct Prose<'a> {
    form: Form,
    cap: TokenCount,
    counter: &'a dyn TokenCounter,
    /// Whether it says how it was made.
    says_made: bool,
    pieces: Vec<Piece>,
    /// How many facts of each kind there are.
    of_kind: BTreeMap<LedgerKind, usize>,
    /// The answer that was added last, how many there were before it, and how much of it was added.
    answer: Option<(EntryId, usize, usize)>,
}

impl<'a> Prose<'a> {
    pub(super) fn new(
        form: Form,
        cap: TokenCount,
        counter: &'a dyn TokenCounter,
        says_made: bool,
    ) -> Self {
        Self {
            form,
            cap,
            counter,
            says_made,
            pieces: Vec::new(),
            of_kind: BTreeMap::new(),
            answer: None,
        }
    }

    fn add(&mut self, section: Section, (place, weight): (usize, usize), text: String) {
        self.pieces.push(Piece {
            section,
            place,
            weight,
            text,
        });
    }

    /// Returns about how many characters a part of the cap holds.
    fn room(&self, part: u64) -> usize {
        usize::try_from(self.cap.0.saturating_mul(4) / part).unwrap_or(usize::MAX)
    }

    /// Adds the summary that it builds on. Facts are read anew from their entries; what another wrote is quoted.
    pub(super) fn carried(&mut self, summary: Option<String>) {
        let Some(summary) = summary else {
            return;
        };
        let text = match summary.contains(MADE) {
            true => quoted_in(&summary),
            false => summary.trim().to_owned(),
        };
        if !text.is_empty() {
            let text = cut_middle(&neutralise(&text), "", self.room(2));
            self.add(Section::Critical, (1, 6), quote(EARLIER, &text));
        }
    }

    /// Adds the sentences that speak of what to watch for.
    pub(super) fn focus(&mut self, words: &str, lines: Vec<(EntryId, String)>) {
        let lines = lines.into_iter().enumerate();
        for (at, (id, text)) in lines {
            if at == 0 {
                let heading = format!("\nFocus ({}):\n", one_line(words, 120));
                self.add(Section::Critical, (2, 5), heading);
            }
            let text = format!("- {text} ({})\n", shown(&id));
            self.add(Section::Critical, (3 + at, 5 + at), text);
        }
    }

    /// Adds what was done last, where results are still to come.
    pub(super) fn last_steps(&mut self, messages: &[SourceMessage]) {
        if let Some((source, steps)) = last_steps(messages) {
            let id = shown(&source.entry_id);
            let text = format!("- Last steps ({id}): {}\n", one_line(&steps, 300));
            self.add(Section::Doing, (usize::MAX, 1), text);
        }
    }

    /// Adds in a few words what the user asked for, where the ledger has all of it.
    pub(super) fn request(&mut self, label: &str, item: &LedgerItem) {
        let text = asked(&own_words(&item.text));
        if !text.is_empty() {
            let text = quote(&format!("{label} ({}):", shown(&item.entry_id)), &text);
            self.add(Section::Goal, (self.pieces.len(), 3), text);
        }
    }

    /// Adds what an answer told, the newest answer first: of each the first sentence stands by itself, and the others
    /// below it.
    fn answer(&mut self, item: &LedgerItem) {
        let (section, weight, _) = Section::of(item.kind);
        let (answer, told) = match self.answer.take() {
            Some((id, answer, told)) if id == item.entry_id => (answer, told + 1),
            Some((_, answer, _)) => (answer + 1, 0),
            None => (0, 0),
        };
        self.answer = Some((item.entry_id.clone(), answer, told));
        let text = one_line(&item.text, LINE);
        let text = match told {
            0 => format!("- {text} ({})\n", shown(&item.entry_id)),
            _ => format!("  - {text}\n"),
        };
        let place = usize::MAX / 4 - answer * ANSWER + told;
        let names = names_something(&item.text);
        let weight = weight + answer + FURTHER * told + if names { 0 } else { NAMELESS };
        self.add(section, (place, weight), text);
    }

    /// Adds a fact; of each kind the weightiest comes first. `remark` is what is said behind it.
    pub(super) fn fact(&mut self, item: &LedgerItem, remark: &str) {
        if matches!(item.kind, LedgerKind::Answer | LedgerKind::Finding) {
            return self.answer(item);
        }
        let before = self.of_kind.entry(item.kind).or_default();
        let at = *before;
        *before += 1;
        let (section, weight, step) = match (self.form, item.kind) {
            (Form::TurnPrefix, LedgerKind::Message) => Section::of(LedgerKind::LatestMessage),
            (_, kind) => Section::of(kind),
        };
        let id = shown(&item.entry_id);
        let line = |limit| one_line(&item.text, limit);
        let request = |label: &str, most: usize| {
            let text = cut_middle(&neutralise(&item.text), &id, most);
            quote(&format!("{label} ({id}):"), &(text + remark))
        };
        // Lists read from old to new, requests and what is done each by themselves.
        let newest_last = usize::MAX / 2 - at;
        let (place, text) = match item.kind {
            LedgerKind::FirstMessage => (0, request("First request", self.room(5))),
            LedgerKind::LatestMessage => (1, request("Latest request", self.room(5))),
            LedgerKind::Pin => (2, request("Pinned", self.room(5))),
            LedgerKind::Message => match one_line(&own_words(&item.text), MESSAGE) {
                words if words.is_empty() => return,
                words => (newest_last, format!("- The user: {words}{remark} ({id})\n")),
            },
            LedgerKind::Rule => (newest_last, format!("- \"{}\" ({id})\n", line(LINE))),
            LedgerKind::Todo => (at, format!("- [ ] {}\n", line(LINE))),
            LedgerKind::NextStep => (at, format!("- {} ({id})\n", line(LINE))),
            LedgerKind::Done => (newest_last, format!("- [x] {} ({id})\n", line(LINE))),
            LedgerKind::File => (newest_last, format!("- [x] {}\n", line(LINE))),
            LedgerKind::Branch => {
                let text = neutralise(&item.text);
                (
                    4 + at,
                    quote(&format!("A branch that was left ({id}):"), &text),
                )
            }
            LedgerKind::TurnedDown => (
                newest_last,
                format!("- Turned down by the user: {} ({id})\n", line(LINE)),
            ),
            LedgerKind::Failure
            | LedgerKind::Decision
            | LedgerKind::Figure
            | LedgerKind::Answer
            | LedgerKind::Finding
            | LedgerKind::Cause
            | LedgerKind::Check => (newest_last, format!("- {} ({id})\n", line(LINE))),
        };
        let order = match item.kind {
            LedgerKind::Check => place.saturating_add(usize::MAX / 4),
            _ => place,
        };
        self.add(section, (order, weight + step * at), text);
    }

    /// Returns the text, at most the cap large.
    pub(super) fn text(mut self) -> String {
        self.pieces.sort_by_key(|piece| piece.weight);
        let made = self.render(&[]);
        let mut left = self.cap.saturating_sub(self.counter.text(&made));
        let mut headings: Vec<Section> = Vec::new();
        let mut chosen: Vec<usize> = Vec::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            let mut cost = self.counter.text(&piece.text);
            if !headings.contains(&piece.section) {
                cost += self.counter.text(piece.section.heading(self.form)) + TokenCount(2);
            }
            if cost > left {
                continue;
            }
            headings.push(piece.section);
            left = left.saturating_sub(cost);
            chosen.push(at);
        }
        // What is counted by pieces may be more as a whole.
        loop {
            let mut text = self.render(&chosen);
            if self.counter.text(&text) <= self.cap {
                return text;
            }
            if chosen.pop().is_none() {
                while self.counter.text(&text) > self.cap {
                    text.truncate(text.floor_char_boundary(text.len() * 9 / 10));
                }
                return text;
            }
        }
    }

    fn render(&self, chosen: &[usize]) -> String {
        let mut pieces: Vec<&Piece> = chosen.iter().map(|at| &self.pieces[*at]).collect();
        let headings = |piece: &Piece| match (self.form, piece.section) {
            (Form::TurnPrefix, Section::Goal | Section::Done | Section::Doing) => Section::Goal,
            (Form::TurnPrefix, _) => Section::Critical,
            (_, section) => section,
        };
        pieces.sort_by_key(|piece| (headings(piece), piece.section, piece.place));
        let mut text = String::new();
        let mut heading = "";
        let mut progress = false;
        for piece in pieces {
            let own = piece.section.heading(self.form);
            if own != heading {
                if own.starts_with("### ") && !progress {
                    progress = true;
                    start(&mut text, "## Progress");
                }
                start(&mut text, own);
                heading = own;
            }
            text.push_str(&piece.text);
        }
        let left = match self.pieces.len() - chosen.len() {
            0 => String::new(),
            left => format!(" {left} facts had no room here."),
        };
        let made = format!(
            "{MADE}; newer messages follow.{left} An id in parentheses names an entry of this session."
        );
        match self.form {
            Form::Branch => text.push_str(&format!("\n*{MADE}.{left}*\n")),
            Form::History | Form::TurnPrefix if self.says_made => {
                let own = Section::Critical.heading(self.form);
                if heading != own {
                    start(&mut text, own);
                }
                text.push_str(&format!("- {made}\n"));
            }
            Form::History | Form::TurnPrefix => {
                if text.is_empty() {
                    text.push_str("## Progress So Far\n(in the ledger below)\n");
                }
            }
        }
        text
    }
}

/// Starts a section.
fn start(text: &mut String, heading: &str) {
    let body = text.trim_end().len();
    text.truncate(body);
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(heading);
    text.push('\n');
}

/// Returns an id on one line.
fn shown(id: &EntryId) -> String {
    one_line(id, 200)
}

/// Returns a label and a quote under it, every line marked.
fn quote(label: &str, text: &str) -> String {
    let lines = text.split('\n').map(|line| match line {
        "" => ">\n".to_owned(),
        line => format!("> {line}\n"),
    });
    format!("{label}\n{}\n", lines.collect::<String>())
}

/// Returns what a summary of ours quotes of an earlier one by another writer.
fn quoted_in(summary: &str) -> String {
    let Some((_, after)) = summary.split_once(&format!("\n{EARLIER}\n")) else {
        return String::new();
    };
    let quoted = after.lines().take_while(|line| line.starts_with('>'));
    let lines = quoted.map(|line| line[1..].strip_prefix(' ').unwrap_or(&line[1..]));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the summary or the document of a handoff that is among messages.
pub(super) fn carried_of(messages: &[SourceMessage]) -> Option<String> {
    messages
        .iter()
        .rev()
        .find_map(|source| match &*source.message {
            AgentMessage::CompactionSummary(message) => Some(without_ledger(&message.summary)),
            AgentMessage::Custom(message) if message.custom_type == HANDOFF_MESSAGE => {
                Some(without_ledger(&message.content.joined_text("\n")))
            }
            _ => None,
        })
}
