//! The written form of an extractive summary: the sections that the prompts ask of a model, filled with facts in the
//! order of what they tell, as far as there is room.
//!
//! **Invariants.** The text is never larger than its cap. What was said stands in quotes or on one line of a list, with
//! our own tags neutralised, so that it cannot imitate a section.

use std::collections::BTreeMap;

use session_model::{AgentMessage, EntryId};

use crate::ledger::{HANDOFF_MESSAGE, LedgerItem, LedgerKind, without_ledger};
use session_facts::{SourceMessage, cut_middle, last_steps, neutralise, one_line};
use session_model::tokens::{TokenCount, TokenCounter};

use super::log::Log;

/// Opens the line that says how the summary was made.
const MADE: &str = "Made by code, without a model (extractive)";
/// Opens the quote of a summary by another writer.
const EARLIER: &str = "Earlier summary:";
/// The longest fact on a line, in characters.
const LINE: usize = 420;
/// The part of the room, in percent, within which choices that no line of the log states come before it.
const CHOICES: u64 = 25;
/// What a level of the log weighs: messages, answers and commits, choices, causes, ... Of one level the newest comes first.
const LEVEL: usize = 1000;
/// What is shorter may stand in other words by chance, in bytes.
const SAYS: usize = 16;
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
    Log,
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
            LedgerKind::Check => (Self::Done, 7 * LEVEL, 8),
            LedgerKind::Decision => (Self::Decisions, 4 * LEVEL, 1),
            LedgerKind::File => (Self::Done, 4 * LEVEL, 2),
            LedgerKind::Done | LedgerKind::Answer | LedgerKind::Cause | LedgerKind::TurnedDown => {
                (Self::Log, LEVEL, 1)
            }
            LedgerKind::Branch => (Self::Critical, 10, 8),
            LedgerKind::Figure => (Self::Critical, 7 * LEVEL, 1),
            LedgerKind::Message => (Self::Goal, 20, 4),
        }
    }

    const fn heading(self, form: Form) -> &'static str {
        match (form, self) {
            (Form::TurnPrefix, Self::Goal) => "## Original Request",
            (Form::TurnPrefix, Self::Log | Self::Done | Self::Doing) => "## Progress So Far",
            (Form::TurnPrefix, _) => "## Context Needed to Continue",
            (_, Self::Goal) => "## Goal",
            (_, Self::Rules) => "## Constraints & Preferences",
            (_, Self::Log) => "### Log (> quotes the user)",
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
    /// What it says, without its mark and its entry; where that is told already, it is not told again.
    says: Option<String>,
    /// For a choice or a figure its entry and its words.
    fact: Option<(String, String)>,
}

/// A summary that is being written.
pub(super) struct Prose<'a> {
    form: Form,
    cap: TokenCount,
    counter: &'a dyn TokenCounter,
    /// Whether it says how it was made.
    says_made: bool,
    pieces: Vec<Piece>,
    /// How many pieces say what others say.
    repeated: usize,
    /// How many facts of each kind there are.
    of_kind: BTreeMap<LedgerKind, usize>,
    /// What was said and what came of it, of each kind the newest first.
    log: Log,
}

impl<'a> Prose<'a> {
    pub(super) fn new(
        form: Form,
        cap: TokenCount,
        counter: &'a dyn TokenCounter,
        says_made: bool,
        log: Log,
    ) -> Self {
        Self {
            form,
            cap,
            counter,
            says_made,
            pieces: Vec::new(),
            repeated: 0,
            of_kind: BTreeMap::new(),
            log,
        }
    }

    fn add(&mut self, section: Section, (place, weight): (usize, usize), text: String) {
        self.pieces.push(Piece {
            section,
            place,
            weight,
            text,
            says: None,
            fact: None,
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
            let text = cut_middle(&neutralise(&text), "", self.room(3));
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

    /// Adds a fact; of each kind the weightiest comes first. `remark` is what is said behind it, `at` the place of its
    /// entry.
    pub(super) fn fact(&mut self, item: &LedgerItem, remark: &str, at: usize) {
        let logged = match item.kind {
            LedgerKind::Message => self.form != Form::TurnPrefix,
            LedgerKind::Answer | LedgerKind::TurnedDown | LedgerKind::Cause | LedgerKind::Done => {
                true
            }
            _ => false,
        };
        if logged {
            self.log.add(item, remark, at);
            return;
        }
        let before = self.of_kind.entry(item.kind).or_default();
        let at = *before;
        *before += 1;
        let (section, weight, step) = Section::of(item.kind);
        let id = shown(&item.entry_id);
        let line = one_line(&item.text, LINE);
        let request = |label: &str| {
            let text = cut_middle(&neutralise(&item.text), &id, self.room(5));
            quote(&format!("{label} ({id}):"), &(text + remark))
        };
        // Lists read from old to new, requests and what is done each by themselves.
        let newest_last = usize::MAX / 2 - at;
        let (place, text) = match item.kind {
            LedgerKind::FirstMessage => (0, request("First request")),
            LedgerKind::LatestMessage => (1, request("Latest request")),
            LedgerKind::Message => (newest_last, request("Request")),
            LedgerKind::Pin => (2, request("Pinned")),
            LedgerKind::Rule => (newest_last, format!("- \"{line}\" ({id})\n")),
            LedgerKind::Todo => (at, format!("- [ ] {line}\n")),
            LedgerKind::NextStep => (at, format!("- {line} ({id})\n")),
            LedgerKind::File => (newest_last, format!("- [x] {line}\n")),
            LedgerKind::Branch => {
                let text = neutralise(&item.text);
                let label = format!("A branch that was left ({id}):");
                (4 + at, quote(&label, &text))
            }
            _ => (newest_last, format!("- {line} ({id})\n")),
        };
        let place = match item.kind {
            LedgerKind::Check => place.saturating_add(usize::MAX / 4),
            _ => place,
        };
        self.add(section, (place, weight + step * at), text);
        if let Some(piece) = self.pieces.last_mut() {
            let says = line.trim_end_matches('…').to_owned();
            if matches!(item.kind, LedgerKind::Decision | LedgerKind::Figure) {
                piece.fact = Some((id, says.clone()));
            }
            piece.says = Some(says);
        }
    }

    /// Lets the newest choices come before the log, as far as their share goes; returns what they take.
    fn share_choices(&mut self, share: TokenCount) -> TokenCount {
        let mut left = share;
        let counter = self.counter;
        let choices = self.pieces.iter_mut();
        for piece in choices.filter(|piece| piece.section == Section::Decisions) {
            let cost = counter.text(&piece.text);
            if cost > left {
                break;
            }
            left = left.saturating_sub(cost);
            piece.weight %= LEVEL;
        }
        share.saturating_sub(left)
    }

    /// Turns the lines of the log into pieces.
    fn write_log(&mut self, room: TokenCount) {
        let log = &mut self.log;
        self.pieces.retain(|piece| {
            let fact = piece.fact.as_ref();
            !fact.is_some_and(|(id, says)| log.keeps(id, says))
        });
        let choices = self.share_choices(room.scaled(CHOICES, 100));
        let others = self.pieces.iter().filter(|piece| piece.weight >= LEVEL);
        let others: TokenCount = others.map(|piece| self.counter.text(&piece.text)).sum();
        let room = room.saturating_sub(choices);
        let lines = std::mem::take(&mut self.log).written(room, others, self.counter);
        self.pieces.extend(lines.into_iter().map(|line| Piece {
            section: Section::Log,
            place: line.at,
            weight: line.level * LEVEL + line.newest.min(LEVEL - 1),
            text: line.text,
            says: line.says,
            fact: None,
        }));
    }

    /// Returns the text, at most the cap large.
    pub(super) fn text(mut self) -> String {
        let made = self.counter.text(&self.render(&[]));
        let first = self.pieces.iter().filter(|piece| piece.weight < LEVEL);
        let first: TokenCount = first.map(|piece| self.counter.text(&piece.text)).sum();
        self.write_log(self.cap.saturating_sub(made + first));
        self.pieces.sort_by_key(|piece| piece.weight);
        let mut left = self.cap.saturating_sub(made);
        let mut headings: Vec<Section> = Vec::new();
        let mut chosen: Vec<usize> = Vec::new();
        let mut told = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            let mut cost = self.counter.text(&piece.text);
            if !headings.contains(&piece.section) {
                cost += self.counter.text(piece.section.heading(self.form)) + TokenCount(2);
            }
            let says = piece.says.as_ref().filter(|says| says.len() >= SAYS);
            if says.is_some_and(|says| told.contains(says)) {
                self.repeated += 1;
                continue;
            }
            if cost > left {
                continue;
            }
            headings.push(piece.section);
            told.push_str(&piece.text);
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
            (Form::TurnPrefix, Section::Goal | Section::Log | Section::Done | Section::Doing) => {
                Section::Goal
            }
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
        let left = match self.pieces.len() - chosen.len() - self.repeated {
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
pub(super) fn shown(id: &EntryId) -> String {
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
