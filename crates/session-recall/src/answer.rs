//! Answers as text, within a budget of tokens.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use crate::excerpt::CUT;
use crate::filter::Place;
use crate::{Following, QUOTED, Recall, RecallRead, RecallRequest, Recalled, RecalledText};
use session_model::tokens::ScriptAware;
use session_model::{EntryId, TokenCount, TokenCounter};

/// The longest id, role or word that is shown, in characters: longer ones are damage or malice.
const LONGEST_NAME: usize = 80;

/// How much of a session's title is shown, in characters.
const TITLE: usize = 60;

const EXCLUDED: &str = "The session carries a marker that excludes it from searches.";

/// What the first lines of an answer take, and the head of each entry, in tokens.
const LEAD: u64 = 60;
const HEAD: u64 = 30;

/// How many bytes of an excerpt are counted on for one token at first, and what is tried after that, in percent.
const BYTES_PER_TOKEN: u64 = 4;
const WIDTHS: [u64; 4] = [100, 75, 55, 40];

/// What an entry takes that fits words, with what came of it, in tokens.
const ENTRY: u64 = 130;

/// The least bytes of an entry that are shown, and the most: who needs more reads the entry.
const LEAST_WIDTH: u64 = 80;
const MOST_WIDTH: u64 = 640;

impl RecallRequest<'_> {
    /// Returns how many entries there is room for, each with enough to be read.
    pub(super) fn readable(&self) -> usize {
        let most = self.tokens.0.saturating_sub(LEAD) / ENTRY;
        usize::try_from(most.max(1)).unwrap_or(usize::MAX)
    }
}

/// What is printed of entries, by session and id: of each the pieces, from one character to another.
pub type Printed = HashMap<(String, EntryId), Vec<Range<usize>>>;

impl Recall {
    /// Returns the answer as text, with nothing in it that the budget has no room for.
    pub fn to_text(&self, request: &RecallRequest<'_>) -> String {
        let hint = match self.found.is_empty() || request.hint.is_empty() {
            true => String::new(),
            false => format!(" {}.", request.hint),
        };
        let shown = self.shown(&mut Printed::new());
        format!("{QUOTED} {}{hint}{shown}", self.lead())
    }

    /// Returns what was found, each entry behind a blank line; what is printed is not printed again.
    pub fn shown(&self, printed: &mut Printed) -> String {
        let found = self.found.iter();
        found
            .map(|it| format!("\n\n{}", found_text(it, printed)))
            .collect()
    }

    /// Returns the counts, and what is missing.
    pub fn lead(&self) -> String {
        if self.excluded {
            return EXCLUDED.to_owned();
        }
        let searched = counted(self.searched);
        let searched = match self.unreadable {
            0 => searched,
            unreadable => format!("{searched} ({unreadable} could not be read)"),
        };
        let mut sentences = match self.matching {
            0 => vec![format!("Nothing in {searched} matches.")],
            matching => {
                let matching = match matching {
                    1 => "1 entry matches".to_owned(),
                    matching => format!("{} match", counted(matching)),
                };
                let shown = self.found.len();
                let order = match self.order {
                    "" => String::new(),
                    order => format!(", {order}"),
                };
                let mut found = format!("{matching}, {shown} shown{order}.");
                if self.unreadable > 0 {
                    found = format!("{found} {searched} searched.");
                }
                vec![found]
            }
        };
        if self.in_part {
            sentences.push("Very long texts were searched in part: there may be more.".to_owned());
        }
        if self.matching > 0 && !self.missing.is_empty() {
            sentences.push(format!("No entry has: {}.", words(&self.missing)));
        }
        if !self.near.is_empty() {
            let near = words(&self.near);
            sentences.push(format!("Close in the session: {near}."));
        }
        sentences.join(" ")
    }

    /// Takes in what `build` returns of `entries` entries for a number of bytes an entry, as much as there is room for.
    pub(super) fn fit(
        &mut self,
        build: &mut dyn FnMut(usize) -> Vec<Recalled>,
        entries: usize,
        request: &RecallRequest<'_>,
    ) {
        let count = |this: &Self| ScriptAware.text(&this.to_text(request));
        let entries = entries.max(1) as u64;
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
            Some(last) if last.followed_by.is_some() => last.followed_by = None,
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

fn found_text(found: &Recalled, printed: &mut Printed) -> String {
    let id = shown_id(&found.short_id, &found.entry_id);
    let session = found.session.as_ref();
    let session = session.map_or(String::new(), |session| session.id.clone());
    let known = printed.entry((session.clone(), found.entry_id.clone()));
    let is_known = matches!(known, Entry::Occupied(_));
    let known = known.or_default();
    let length = |text: &str| text.chars().count();
    // What is shown whole needs neither its length nor a character to read on from.
    let shown = found.excerpts.iter().map(|it| length(&it.text));
    let is_whole = shown.max() >= Some(found.total_chars);
    let mut text = match is_known {
        true => format!("[{}] above", clipped(id)),
        false => found_head(found, is_whole),
    };
    for excerpt in &found.excerpts {
        let at = excerpt.offset..excerpt.offset + length(&excerpt.text);
        if known
            .iter()
            .any(|it| it.start <= at.start && at.end <= it.end)
        {
            continue;
        }
        known.push(at.clone());
        let before = match at.start {
            0 => String::new(),
            _ if is_whole => String::new(),
            offset => format!("@{offset} {CUT}"),
        };
        let is_end = is_whole || at.end >= found.total_chars;
        let after = if is_end { "" } else { CUT };
        text.push_str(&format!("\n{before}{}{after}", quoted(&excerpt.text)));
    }
    if let Some(next) = &found.followed_by {
        match printed.entry((session, next.entry_id.clone())) {
            Entry::Occupied(_) if is_known => {}
            Entry::Occupied(_) => {
                let id = clipped(shown_id(&next.short_id, &next.entry_id));
                text.push_str(&format!("\n-> [{id}] above"));
            }
            Entry::Vacant(known) => {
                let end = next.text.find(CUT).unwrap_or(next.text.len());
                known.insert(Vec::new()).push(0..length(&next.text[..end]));
                text.push_str(&next_text(next));
            }
        }
    }
    text
}

fn found_head(found: &Recalled, is_whole: bool) -> String {
    let mut head = head(
        shown_id(&found.short_id, &found.entry_id),
        &found.role,
        found.call.as_deref(),
    );
    head.extend(found.timestamp.as_deref().map(short_date));
    head.extend(place(&found.subagent, found.place));
    if !is_whole {
        head.push(format!("{} chars", found.total_chars));
    }
    if let Some(newest) = found.copies.first() {
        let count = found.copies.len();
        head.push(format!(
            "{count} older copies folded, such as {}",
            clipped(newest)
        ));
    }
    if let Some(session) = &found.session {
        let title = session_model::text::first_line(&session.title, TITLE);
        let (agent, id) = (&session.agent, clipped(&session.id));
        head.push(format!("in {agent} session {id} \"{title}\""));
    }
    head.join(", ")
}

fn next_text(next: &Following) -> String {
    let id = clipped(shown_id(&next.short_id, &next.entry_id));
    let of = next.call.as_ref();
    let of = of.map_or(String::new(), |call| format!(" of {}", clipped(call)));
    let chars = next.total_chars;
    let chars = match next.text.chars().count() < chars {
        true => format!(", {chars} chars"),
        false => String::new(),
    };
    format!(
        "\n-> [{id}] {}{of}{chars}\n{}",
        next.role,
        quoted(&next.text)
    )
}

/// Returns the beginning of an id, where one is known.
fn shown_id<'a>(short: &'a str, id: &'a str) -> &'a str {
    if short.is_empty() { id } else { short }
}

/// A piece of an entry that is not cut further, in bytes: it is left out then.
const SHORT: usize = 400;

impl RecallRead {
    /// Returns the entries as text.
    pub fn to_text(&self) -> String {
        if self.excluded {
            return format!("{QUOTED} {EXCLUDED}");
        }
        let mut text = QUOTED.to_owned();
        for entry in &self.entries {
            text.push_str("\n\n");
            text.push_str(&read_text(entry));
        }
        if self.left_out > 0 {
            let ids = self.left_out_ids.join(", ");
            text.push_str(&format!(
                "\n\n[{} without room: {ids}]",
                counted(self.left_out)
            ));
        }
        for unknown in &self.unknown {
            text.push_str(&format!("\n\n[{unknown}]"));
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
        match longest.filter(|entry| entry.text.len() > SHORT) {
            Some(entry) if entry.end.is_some() => entry.end = None,
            Some(entry) => entry.cut(entry.text.len() * 7 / 8),
            None => return self.leave_one_out(),
        }
        true
    }

    /// Leaves the last entry out, neighbours first; returns false where there is none.
    pub(super) fn leave_one_out(&mut self) -> bool {
        let neighbour = self.entries.iter().rposition(|entry| entry.neighbour);
        let Some(place) = neighbour.or(self.entries.len().checked_sub(1)) else {
            return false;
        };
        let entry = self.entries.remove(place);
        self.left_out += 1;
        let id = shown_id(&entry.short_id, &entry.entry_id).to_owned();
        self.left_out_ids.insert(0, id);
        true
    }
}

fn read_text(entry: &RecalledText) -> String {
    let id = shown_id(&entry.short_id, &entry.entry_id);
    let mut head = head(id, &entry.role, entry.call.as_deref());
    head.extend(entry.timestamp.as_deref().map(short_date));
    head.extend(place(&entry.subagent, entry.place));
    head.push(format!("{} chars", entry.total_chars));
    if entry.offset > 0 {
        head.push(format!("from {}", entry.offset));
    }
    let mut text = head.join(", ");
    match &entry.unreadable {
        Some(reason) => text.push_str(&format!("\n[cannot be read: {}]", clipped(reason))),
        None if entry.excluded => text.push_str("\n[excluded from searches]"),
        None if entry.total_chars == 0 => text.push_str("\n[no text]"),
        None => {}
    }
    if !entry.text.is_empty() {
        text.push('\n');
        text.push_str(&quoted(&entry.text));
    }
    if let Some(next) = entry.next_offset {
        let end = entry.end.as_deref().unwrap_or_default();
        let left = entry.total_chars.saturating_sub(next + end.chars().count());
        let what = if end.is_empty() { "left" } else { "left out" };
        text.push_str(&format!("\n[{left} chars {what}: {}@{next}]", clipped(id)));
        if !end.is_empty() {
            text.push_str(&format!("\n{}", quoted(end)));
        }
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

/// Returns where an entry is; on the branch of a subagent that is named instead.
fn place(subagent: &Option<String>, place: Place) -> Option<String> {
    let subagent = subagent.as_deref().map(clipped);
    subagent.or(place.exception().map(str::to_owned))
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
    session_model::text::first_line(&session_model::without_private(text), LONGEST_NAME)
}
