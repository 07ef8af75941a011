//! Answers as text, within a budget of tokens.

use crate::{QUOTED, Recall, RecallRead, RecallRequest, Recalled, RecalledText};
use session_model::tokens::ScriptAware;
use session_model::{TokenCount, TokenCounter};

/// The longest id, role or word that is shown, in characters: longer ones are damage or malice.
const LONGEST_NAME: usize = 80;

/// What the first lines of an answer take, and the head of each entry, in tokens.
const LEAD: u64 = 60;
const HEAD: u64 = 30;

/// How many bytes of an excerpt are counted on for one token at first, and what is tried after that, in percent.
const BYTES_PER_TOKEN: u64 = 4;
const WIDTHS: [u64; 4] = [100, 75, 55, 40];

/// The least bytes of an entry that are shown, and the most: who needs more reads the entry.
const LEAST_WIDTH: u64 = 80;
const MOST_WIDTH: u64 = 640;

impl Recall {
    /// Returns the answer as text, with nothing in it that the budget has no room for.
    pub fn to_text(&self, request: &RecallRequest<'_>) -> String {
        let mut text = format!("{QUOTED} {}", self.lead(request));
        for found in &self.found {
            text.push_str("\n\n");
            text.push_str(&self.entry(found));
        }
        text
    }

    /// Returns the counts, what is missing, and what to do next.
    fn lead(&self, request: &RecallRequest<'_>) -> String {
        if self.excluded {
            return "The session carries a marker that excludes it from searches.".to_owned();
        }
        let place = self
            .place
            .map_or(String::new(), |place| format!(" {}", place.name()));
        let mut searched = format!("{}{place}", counted(self.searched));
        if self.unreadable > 0 {
            searched.push_str(&format!(" ({} could not be read)", self.unreadable));
        }
        let mut sentences = match self.matching {
            0 => vec![format!("Nothing in {searched} matches.")],
            matching => {
                let matching = match matching {
                    1 => "1 entry matches".to_owned(),
                    matching => format!("{} match", counted(matching)),
                };
                let shown = self.found.len();
                vec![format!("{matching}, {shown} shown; {searched} searched.")]
            }
        };
        if self.elsewhere > 0 {
            let anywhere = request.hints.anywhere;
            sentences.push(format!("{} match elsewhere: {anywhere}.", self.elsewhere));
        }
        if self.in_part {
            sentences.push("Very long texts were searched in part: there may be more.".to_owned());
        }
        if self.matching > 0 && !self.missing.is_empty() {
            sentences.push(format!("No entry has: {}.", words(&self.missing)));
        }
        if !self.near.is_empty() {
            let near = words(&self.near);
            sentences.push(format!("Close words in the session: {near}."));
        }
        if !self.found.is_empty() && !request.hints.read.is_empty() {
            sentences.push(format!("{}.", request.hints.read));
        }
        sentences.join(" ")
    }

    fn entry(&self, found: &Recalled) -> String {
        let place = self.place.is_none().then_some(found.place.name());
        let mut head = head(&found.entry_id, &found.role, found.call.as_deref());
        let date = found.timestamp.as_deref().map(short_date);
        head.extend(date.into_iter().chain(place.map(str::to_owned)));
        // What is shown whole needs neither its length nor a place to read on from.
        let shown = found.excerpts.iter().map(|it| it.text.chars().count());
        let is_whole = shown.max() >= Some(found.total_chars);
        if !is_whole {
            head.push(format!("{} chars", found.total_chars));
        }
        if found.copies > 0 {
            head.push(format!("{} older copies folded", found.copies));
        }
        if let Some(session) = &found.session {
            head.push(format!(
                "in {}",
                session_model::text::first_line(session, 200)
            ));
        }
        let mut text = head.join(", ");
        for excerpt in &found.excerpts {
            if !is_whole && excerpt.offset > 0 {
                text.push_str(&format!("\n(offset {})", excerpt.offset));
            }
            text.push('\n');
            text.push_str(&quoted(&excerpt.text));
        }
        text
    }

    /// Takes in what `build` returns for a number of bytes an entry, as much as there is room for.
    pub(super) fn fit(
        &mut self,
        build: &mut dyn FnMut(usize) -> Vec<Recalled>,
        request: &RecallRequest<'_>,
    ) {
        let count = |this: &Self| ScriptAware.text(&this.to_text(request));
        let entries = self.matching.clamp(1, request.entries.max(1)) as u64;
        let each = request.tokens.0.saturating_sub(LEAD) / entries;
        let tokens = TokenCount(each.saturating_sub(HEAD));
        for percent in WIDTHS {
            let width = tokens.scaled(BYTES_PER_TOKEN * percent, 100);
            let width = width.0.clamp(LEAST_WIDTH, MOST_WIDTH);
            self.found = build(usize::try_from(width).unwrap_or(usize::MAX));
            if count(self) <= request.tokens {
                return;
            }
        }
        self.shorten(request);
    }

    /// Takes out what the budget has no room for.
    pub(super) fn shorten(&mut self, request: &RecallRequest<'_>) {
        let count = |this: &Self| ScriptAware.text(&this.to_text(request));
        while count(self) > request.tokens && self.shrink() {}
    }

    /// Takes something out; returns false when there is nothing more to take.
    fn shrink(&mut self) -> bool {
        let only = self.found.len() == 1;
        match self.found.last_mut() {
            Some(last) if last.excerpts.len() > 1 => drop(last.excerpts.pop()),
            Some(last) if only && last.excerpts.iter().any(|it| it.text.len() > 20) => {
                for excerpt in &mut last.excerpts {
                    let half = excerpt.text.floor_char_boundary(excerpt.text.len() / 2);
                    excerpt.text.truncate(half);
                }
            }
            Some(_) => drop(self.found.pop()),
            None => return self.missing.pop().is_some() || self.near.pop().is_some(),
        }
        true
    }
}

impl RecallRead {
    /// Returns the entries as text.
    pub fn to_text(&self) -> String {
        if self.excluded {
            return format!(
                "{QUOTED} The session carries a marker that excludes it from searches."
            );
        }
        let mut text = QUOTED.to_owned();
        for entry in &self.entries {
            text.push_str("\n\n");
            text.push_str(&read_text(entry));
        }
        if self.left_out > 0 {
            text.push_str(&format!("\n\n[{} without room]", counted(self.left_out)));
        }
        text
    }

    /// Shortens what is read until it fits.
    pub(super) fn fit(&mut self, tokens: TokenCount) {
        while ScriptAware.text(&self.to_text()) > tokens && self.shrink() {}
    }

    /// Takes something out; returns false when there is nothing more to take.
    fn shrink(&mut self) -> bool {
        let longest = self.entries.iter_mut().max_by_key(|entry| entry.text.len());
        match longest.filter(|entry| entry.text.len() > 40) {
            Some(entry) => entry.cut(entry.text.len() * 7 / 8),
            None => {
                let neighbour = self.entries.iter().rposition(|entry| entry.neighbour);
                let place = neighbour.or(self.entries.len().checked_sub(1));
                let Some(place) = place else { return false };
                self.entries.remove(place);
                self.left_out += 1;
            }
        }
        true
    }
}

fn read_text(entry: &RecalledText) -> String {
    let mut head = head(&entry.entry_id, &entry.role, entry.call.as_deref());
    head.extend(entry.timestamp.as_deref().map(short_date));
    head.push(entry.place.name().to_owned());
    head.push(format!("{} chars", entry.total_chars));
    if entry.offset > 0 {
        head.push(format!("from {}", entry.offset));
    }
    let mut text = head.join(", ");
    if let Some(reason) = &entry.unreadable {
        text.push_str(&format!("\n[cannot be read: {}]", clipped(reason)));
    }
    if entry.excluded {
        text.push_str("\n[excluded from searches]");
    }
    if !entry.text.is_empty() {
        text.push('\n');
        text.push_str(&quoted(&entry.text));
    }
    if let Some(next) = entry.next_offset {
        let left = entry.total_chars.saturating_sub(next);
        text.push_str(&format!("\n[{left} chars left; offset {next}]"));
    }
    text
}

/// Returns how the line begins that names an entry.
fn head(id: &str, role: &str, call: Option<&str>) -> Vec<String> {
    let what = match call {
        Some(call) => format!("result of {}", clipped(call)),
        None => clipped(role),
    };
    vec![format!("[{}] {what}", clipped(id))]
}

/// Returns a date to the minute: `2026-01-01 10:00`.
fn short_date(date: &str) -> String {
    date.get(..16).unwrap_or(date).replace('T', " ")
}

fn counted(entries: usize) -> String {
    match entries {
        1 => "1 entry".to_owned(),
        entries => format!("{entries} entries"),
    }
}

fn words(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| clipped(word)).collect();
    words.join(", ")
}

/// Returns a text in which no line looks like the head of an entry.
fn quoted(text: &str) -> String {
    let text = text.replace("\n[", "\n [");
    match text.starts_with('[') {
        true => format!(" {text}"),
        false => text,
    }
}

fn clipped(text: &str) -> String {
    session_model::text::first_line(text, LONGEST_NAME)
}
