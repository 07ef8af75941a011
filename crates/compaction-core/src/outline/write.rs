//! The written form of an outline, at the largest level that fits its budget.

use serde::Serialize;
use session_model::EntryId;
use session_model::tokens::{TokenCount, TokenCounter};

use super::allot::{is_in_form, level_for, shown_at};
use super::{Body, Outline, Piece, PieceKind};
use crate::pins::{fitting, pin_cost};
use crate::prompts;

/// By how much the first estimate of a level may exceed the budget, in percent: it is brought down from there.
const ABOVE: u64 = 115;
/// The length of the beginning of a cut text before any of its end is shown, in characters.
const HEAD: usize = 160;
/// The distance that a cut may move to the end of a word, in bytes.
const WORD: usize = 24;
/// The tag that would end the frame in which a summary reaches a model. Such a tag is left out.
const FRAME_END: &str = "</summary";
/// The longest id that is shown.
const ID: usize = 64;

/// The limit of an outline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutlineBudget {
    /// Tokens of everything but pins.
    pub tokens: TokenCount,
    /// Tokens of all pins together.
    pub pins: TokenCount,
}

/// The form of an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// True for a complete summary, with answers.
    pub with_answers: bool,
    /// With the ids of entries: not for a reader that cannot look them up.
    pub with_ids: bool,
}

/// The shown part of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct OutlineCounts {
    /// Messages of the user that are shown whole.
    pub requests_whole: usize,
    /// Messages of the user that are shown in part.
    pub requests_cut: usize,
    /// Messages of the user that are not shown.
    pub requests_left_out: usize,
    /// Answers that are shown, in full or in part.
    pub answers: usize,
    /// Commands whose last run failed.
    pub failing: usize,
    /// Open todos.
    pub todos: usize,
    /// Pins.
    pub pins: usize,
}

/// An outline as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutlineText {
    /// The text; empty if there is nothing to show.
    pub text: String,
    /// The shown part of each kind.
    pub counts: OutlineCounts,
    /// The pinned entries in it.
    pub pinned: Vec<EntryId>,
    /// Pinned entries that exceed the budget for pins.
    pub pins_left_out: Vec<EntryId>,
    /// Tokens of the pins in it.
    pub pin_tokens: TokenCount,
}

impl Outline {
    /// Returns the outline within a budget.
    pub(crate) fn write(
        &self,
        form: Form,
        budget: OutlineBudget,
        counter: &dyn TokenCounter,
    ) -> OutlineText {
        let mut written = OutlineText::default();
        let pins = self.write_pins(form, budget.pins, counter, &mut written);
        if budget.tokens == TokenCount::ZERO {
            written.text = pins;
            return written;
        }
        let above = budget.tokens.scaled(ABOVE, 100);
        let mut level = level_for(&self.pieces, form.with_answers, above.0);
        loop {
            let (text, counts) = self.at_level(form, level);
            if counter.text(&text) <= budget.tokens || level == 0 {
                let fits = counter.text(&text) <= budget.tokens;
                let pins_in_it = written.counts.pins;
                if fits {
                    written.counts = counts;
                    written.text = joined(&pins, text);
                } else {
                    written.text = pins;
                }
                written.counts.pins = pins_in_it;
                return written;
            }
            level -= 1;
        }
    }

    /// Returns the outline as a complete summary, with a line that says so.
    pub(crate) fn summary(
        &self,
        form: Form,
        budget: OutlineBudget,
        counter: &dyn TokenCounter,
    ) -> String {
        let lead = match form.with_ids {
            true => prompts::outline_lead(),
            false => prompts::outline_lead_handoff(),
        };
        let budget = OutlineBudget {
            tokens: budget.tokens.saturating_sub(counter.text(&lead)),
            ..budget
        };
        match self.write(form, budget, counter).text {
            text if text.is_empty() => {
                format!("{lead}\n\n(Nothing was said, and no file was changed.)")
            }
            text => format!("{lead}\n\n{text}"),
        }
    }

    /// Returns the pins that fit into their budget, the oldest first.
    fn write_pins(
        &self,
        form: Form,
        budget: TokenCount,
        counter: &dyn TokenCounter,
        written: &mut OutlineText,
    ) -> String {
        let costs = self.pins.iter().map(|pin| pin_cost(&pin.text, counter));
        let costs: Vec<TokenCount> = costs.collect();
        let fits = fitting(&costs, budget);
        let mut lines: Vec<String> = Vec::new();
        for ((pin, cost), fits) in self.pins.iter().zip(costs).zip(fits) {
            if !fits {
                written.pins_left_out.push(pin.entry_id.clone());
                continue;
            }
            written.counts.pins += 1;
            written.pin_tokens += cost;
            written.pinned.push(pin.entry_id.clone());
            let title = if pin.by_model {
                "pinned by the agent"
            } else {
                "pinned"
            };
            let mut text = self.heading(title, &pin.entry_id, form);
            push_quote(&mut text, &pin.text, usize::MAX, "");
            text.push('\n');
            lines.push(text);
        }
        written.pins_left_out.reverse();
        lines.reverse();
        if !written.pins_left_out.is_empty() {
            let ids = written.pins_left_out.iter().map(|id| self.shown_id(id));
            lines.push(format!(
                "[pins without room: {}]\n",
                ids.collect::<Vec<_>>().join(", ")
            ));
        }
        lines.concat()
    }

    /// Returns the text at a level.
    fn at_level(&self, form: Form, level: usize) -> (String, OutlineCounts) {
        let mut counts = OutlineCounts::default();
        let mut body = String::new();
        let mut lists = [String::new(), String::new()];
        for piece in self
            .pieces
            .iter()
            .filter(|piece| is_in_form(piece, form.with_answers))
        {
            let shown = shown_at(piece, level);
            let is_whole = shown >= piece.tokens;
            if shown == 0 && piece.tokens > 0 {
                counts.requests_left_out += usize::from(piece.kind == PieceKind::Request);
                continue;
            }
            match piece.kind {
                PieceKind::Request if is_whole => counts.requests_whole += 1,
                PieceKind::Request => counts.requests_cut += 1,
                PieceKind::Answer | PieceKind::OtherAnswer => counts.answers += 1,
                PieceKind::Failing => counts.failing += 1,
                PieceKind::Todo => counts.todos += 1,
                PieceKind::EarlierSummary
                | PieceKind::Handoff
                | PieceKind::Branch
                | PieceKind::Work => {}
            }
            match piece.kind {
                PieceKind::Failing => self.push_failing(&mut lists[0], piece, form),
                PieceKind::Todo => self.push_line(&mut lists[1], piece),
                _ => self.push_piece(&mut body, piece, shown, form),
            }
        }
        let [failing, todos] = lists;
        let mut text = String::new();
        if counts.requests_left_out > 0 {
            text.push_str(&format!(
                "[{} more messages of the user are not shown]\n",
                counts.requests_left_out
            ));
        }
        text.push_str(&body);
        for (heading, list) in [
            ("Commands whose last run failed:", failing),
            ("Open todos:", todos),
        ] {
            if !list.is_empty() {
                text.push_str(&format!("\n{heading}\n{list}"));
            }
        }
        (text.trim().to_owned(), counts)
    }

    fn push_line(&self, text: &mut String, piece: &Piece) {
        if let Body::Line(line) = &piece.body {
            text.push_str(line);
            text.push('\n');
        }
    }

    fn push_failing(&self, text: &mut String, piece: &Piece, form: Form) {
        if let Body::Line(line) = &piece.body {
            text.push_str(line);
            if form.with_ids {
                text.push_str(&format!(" [{}]", self.shown_id(&piece.entry_id)));
            }
            text.push('\n');
        }
    }

    /// Adds so many tokens of a piece.
    fn push_piece(&self, text: &mut String, piece: &Piece, shown: u64, form: Form) {
        let name = match piece.kind {
            PieceKind::EarlierSummary => "earlier summary",
            PieceKind::Handoff => "document of the session before",
            PieceKind::Branch => "a branch that was left",
            PieceKind::Request => "user",
            PieceKind::Answer | PieceKind::OtherAnswer => "agent",
            PieceKind::Work | PieceKind::Failing | PieceKind::Todo => "did",
        };
        match &piece.body {
            Body::Quote(words) => {
                begin(text, piece.kind == PieceKind::Request);
                text.push_str(&self.heading(name, &piece.entry_id, form));
                let characters = words.chars().count();
                let most = match shown >= piece.tokens {
                    true => usize::MAX,
                    false => share(characters, shown, piece.tokens),
                };
                let id = if form.with_ids {
                    self.shown_id(&piece.entry_id)
                } else {
                    String::new()
                };
                push_quote(text, words, most, &id);
            }
            Body::Items(items) => {
                let mut left = shown;
                let mut shown_items: Vec<&str> = Vec::new();
                for (item, tokens) in items {
                    if *tokens > left {
                        break;
                    }
                    left -= tokens;
                    shown_items.push(item);
                }
                let more = items.len() - shown_items.len();
                begin(text, false);
                text.push_str(&format!("{name}: {}", shown_items.join("; ")));
                if more > 0 {
                    text.push_str(&format!("; {more} more"));
                }
                text.push('\n');
            }
            Body::Line(line) => text.push_str(line),
        }
    }

    fn heading(&self, name: &str, id: &EntryId, form: Form) -> String {
        match form.with_ids {
            true => format!("{name} [{}]\n", self.shown_id(id)),
            false => format!("{name}\n"),
        }
    }

    /// Returns an id as far as it can be shown without meaning something else.
    fn shown_id(&self, id: &EntryId) -> String {
        let short = self.short_ids.get(id).map_or(id.as_str(), String::as_str);
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        short.chars().filter(plain).take(ID).collect()
    }
}

fn joined(pins: &str, text: String) -> String {
    match (pins.is_empty(), text.is_empty()) {
        (true, _) => text,
        (false, true) => pins.trim_end().to_owned(),
        (false, false) => format!("{}\n\n{text}", pins.trim_end()),
    }
}

/// Returns `count * part / whole`.
fn share(count: usize, part: u64, whole: u64) -> usize {
    let TokenCount(share) = TokenCount(count as u64).scaled(part, whole);
    usize::try_from(share).unwrap_or(usize::MAX)
}

/// Adds the lines of a text, each after `> `; if it has more than `most` characters, the middle is left out, with a
/// mark that has its size and names the entry as `recall_read` takes it. Blank lines are skipped.
fn push_quote(text: &mut String, words: &str, most: usize, id: &str) {
    let characters = words.chars().count();
    if characters <= most {
        push_lines(text, words);
        return;
    }
    let tail = most.saturating_sub(HEAD) / 2;
    let head = most - tail;
    let head = end_of_word(words, head);
    let tail = start_of_word(words, characters - tail).max(head);
    push_lines(text, &words[..head]);
    let [from, left_out] = [&words[..head], &words[head..tail]].map(|text| text.chars().count());
    begin(text, false);
    match id.is_empty() {
        true => text.push_str(&format!("[... {left_out} characters left out]\n")),
        false => text.push_str(&format!(
            "[... {left_out} characters left out, entry {id}@{from}+{left_out}]\n"
        )),
    }
    if tail < words.len() {
        push_lines(text, &words[tail..]);
    }
}

/// Begins a line that is not a quote: after a quote a blank line separates it, because Markdown would make it a part of
/// the quote.
fn begin(text: &mut String, always_apart: bool) {
    let is_quote = |line: &str| line.starts_with("> ");
    if always_apart && !text.is_empty() || text.lines().next_back().is_some_and(is_quote) {
        text.push('\n');
    }
}

fn push_lines(text: &mut String, words: &str) {
    for line in words.split('\n').map(|line| line.trim_end_matches('\r')) {
        let mut rest = line;
        while let Some(at) = rest.to_ascii_lowercase().find(FRAME_END) {
            push_line(text, &rest[..at]);
            begin(text, false);
            text.push_str("[a tag left out]\n");
            let tag = &rest[at..];
            rest = &tag[tag.find('>').map_or(tag.len(), |end| end + 1)..];
        }
        push_line(text, rest);
    }
}

fn push_line(text: &mut String, line: &str) {
    if !line.trim().is_empty() {
        text.push_str("> ");
        text.push_str(line);
        text.push('\n');
    }
}

/// Returns the offset at which the first `count` characters end, moved back to a word end that is near.
fn end_of_word(words: &str, count: usize) -> usize {
    let at = words
        .char_indices()
        .nth(count)
        .map_or(words.len(), |(at, _)| at);
    let from = words.floor_char_boundary(at.saturating_sub(WORD));
    match words[from..at].rfind(char::is_whitespace) {
        Some(blank) if from + blank > 0 => from + blank,
        _ => at,
    }
}

/// Returns the offset of the character number `count`, moved forward to a word start that is near.
fn start_of_word(words: &str, count: usize) -> usize {
    let at = words
        .char_indices()
        .nth(count)
        .map_or(words.len(), |(at, _)| at);
    let to = words.ceil_char_boundary((at + WORD).min(words.len()));
    let mut blanks = words[at..to]
        .char_indices()
        .filter(|(_, letter)| letter.is_whitespace());
    match blanks.next() {
        Some((blank, letter)) if at + blank + letter.len_utf8() < words.len() => {
            at + blank + letter.len_utf8()
        }
        _ => at,
    }
}
