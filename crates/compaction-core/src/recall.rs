//! Recall: finding again what a compaction took out of the context, on any branch.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;
use session_model::{
    BodyError, Entry, EntryBody, EntryId, EntryIndex, EntryKind, SessionContext, SessionPath,
    Timestamp,
};

/// What is looked for.
pub enum Query<'a> {
    /// Words, ranked: rarer ones count more, beginnings of words more than what is inside them.
    Words(&'a str),
    /// A pattern: returns where it matches in a text. Newest matches come first.
    Pattern(&'a dyn Fn(&str) -> Matches),
}

/// Where a pattern matches in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matches {
    /// The first place; none when nothing matches.
    pub first: Option<Range<usize>>,
    /// How many places were counted.
    pub count: usize,
    /// True when there may be more: the text was not looked through to its end.
    pub in_part: bool,
}

/// Where an entry stands for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The model sees it.
    InContext,
    /// It is on the path, but a compaction or an edit took it out of the context.
    OutOfContext,
    /// It is on another branch.
    OtherBranch,
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recalled {
    /// The entry.
    pub entry_id: EntryId,
    /// Who says it: a role, or the type of an entry that is no message.
    pub role: String,
    /// When it was written, if the session says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Where it stands.
    pub place: Place,
    /// How well it fits; comparable within one search only.
    pub score: f64,
    /// How many places in it match.
    pub matches: usize,
    /// The best place, with what stands around it.
    pub excerpt: String,
}

/// Everything that was found, best first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recall {
    /// The best entries.
    pub found: Vec<Recalled>,
    /// How many entries match in all.
    pub matching: usize,
    /// How many entries were read.
    pub searched: usize,
    /// How many could not be read.
    pub unreadable: usize,
    /// True when a text was not looked through to its end: there may be more than was found and counted.
    pub in_part: bool,
}

/// What bounds a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallLimits {
    /// The most entries that are returned.
    pub entries: usize,
    /// The most characters of one excerpt.
    pub excerpt: usize,
}

impl Default for RecallLimits {
    fn default() -> Self {
        Self {
            entries: 10,
            excerpt: 240,
        }
    }
}

/// What becomes of an entry that a search comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// It is searched.
    Search,
    /// It is passed over.
    Skip,
    /// The search ends, without an answer.
    Stop,
}

/// The most words of a query that count.
const MOST_WORDS: usize = 32;

/// Returns the text of an entry that can be searched and read, and who says it; `None` for entries that say nothing.
pub fn recall_text(entry: &Entry) -> Option<(String, String)> {
    let text = match &entry.body {
        EntryBody::Compaction(compaction) => {
            return Some(("compaction".to_owned(), compaction.summary.clone()));
        }
        EntryBody::BranchSummary(branch) => {
            return Some(("branch_summary".to_owned(), branch.summary.clone()));
        }
        _ => entry.messages().pop()?,
    };
    Some((text.role().to_owned(), text.display_text()))
}

struct Candidate {
    index: EntryIndex,
    /// For each word of the query how much of it is in the entry.
    weights: Vec<f64>,
    length: f64,
    matches: usize,
    /// The first place of a pattern.
    first: usize,
}

/// Searches the entries of the tree of `path`, on all branches; `context` is the context of `path`. `visit` is asked
/// about every entry that can be read, before it is searched.
pub fn recall(
    path: &SessionPath<'_>,
    context: &SessionContext,
    query: &Query<'_>,
    limits: RecallLimits,
    visit: &mut dyn FnMut(EntryIndex, &Entry) -> Visit,
) -> Option<Recall> {
    let tree = path.tree();
    let words = match query {
        Query::Words(text) => query_words(text),
        Query::Pattern(_) => Vec::new(),
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut searched = 0_usize;
    let mut unreadable = 0;
    let mut in_part = false;
    let mut total_length = 0.0;
    for index in tree.indices() {
        let Ok(entry) = tree.entry(index) else {
            unreadable += 1;
            continue;
        };
        match visit(index, &entry) {
            Visit::Search => {}
            Visit::Skip => continue,
            Visit::Stop => return None,
        }
        let Some((_, text)) = recall_text(&entry) else {
            continue;
        };
        searched += 1;
        let length = text.len() as f64;
        total_length += length;
        let (weights, matches, first) = match query {
            Query::Words(_) => {
                let text = text.to_lowercase();
                let found: Vec<(f64, usize)> =
                    words.iter().map(|word| weigh(&text, word)).collect();
                let matches = found.iter().map(|(_, count)| count).sum();
                (
                    found.into_iter().map(|(weight, _)| weight).collect(),
                    matches,
                    0,
                )
            }
            Query::Pattern(find) => {
                let found = find(&text);
                in_part |= found.in_part;
                let first = found.first.map_or(0, |first| first.start);
                (Vec::new(), found.count, first)
            }
        };
        if matches > 0 {
            candidates.push(Candidate {
                index,
                weights,
                length,
                matches,
                first,
            });
        }
    }
    let matching = candidates.len();
    let average = total_length / (searched.max(1) as f64);
    let mut scored: Vec<(f64, Candidate)> = match query {
        Query::Words(_) => rank(candidates, searched, average),
        // The newest first.
        Query::Pattern(_) => candidates
            .into_iter()
            .map(|candidate| (candidate.index.as_usize() as f64, candidate))
            .collect(),
    };
    scored.sort_by(|one, other| {
        let newest = other.1.index.as_usize().cmp(&one.1.index.as_usize());
        other.0.total_cmp(&one.0).then(newest)
    });
    scored.truncate(limits.entries);
    let places = Places::of(path, context);
    let found = scored.into_iter().filter_map(|(score, candidate)| {
        let entry = tree.entry(candidate.index).ok()?;
        let (role, text) = recall_text(&entry)?;
        let at = match query {
            Query::Words(_) => best_place(&text, &words),
            Query::Pattern(_) => candidate.first,
        };
        Some(Recalled {
            entry_id: entry.id,
            role,
            timestamp: entry.timestamp.map(|at| at.to_string()),
            place: places.place(candidate.index),
            score,
            matches: candidate.matches,
            excerpt: excerpt(&text, at, limits.excerpt),
        })
    });
    Some(Recall {
        found: found.collect(),
        matching,
        searched,
        unreadable,
        in_part,
    })
}

/// Where the entries of a tree stand for the model.
struct Places {
    visible: BTreeSet<EntryIndex>,
    on_path: BTreeSet<EntryIndex>,
}

impl Places {
    fn of(path: &SessionPath<'_>, context: &SessionContext) -> Self {
        let seen = context
            .entries
            .iter()
            .filter(|projected| !projected.messages.is_empty() && !projected.omitted);
        Self {
            visible: seen.map(|projected| projected.index).collect(),
            on_path: path.entries().iter().copied().collect(),
        }
    }

    fn place(&self, index: EntryIndex) -> Place {
        match (self.visible.contains(&index), self.on_path.contains(&index)) {
            (true, _) => Place::InContext,
            (false, true) => Place::OutOfContext,
            (false, false) => Place::OtherBranch,
        }
    }
}

/// A piece of an entry that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecalledText {
    /// The entry.
    pub entry_id: EntryId,
    /// Who says it: a role, or the type of an entry that is no message.
    pub role: String,
    /// When it was written, if the session says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Where it stands.
    pub place: Place,
    /// The line of the session file that it is on.
    pub line: u64,
    /// Where the piece begins, in characters.
    pub offset: usize,
    /// How long the whole text is, in characters.
    pub total_chars: usize,
    /// Where the next piece begins; none when this is the last.
    pub next_offset: Option<usize>,
    /// The piece.
    pub text: String,
}

/// Returns at most `most` characters of the text of an entry, from `offset` on.
///
/// # Errors
///
/// [`BodyError`] when the entry cannot be read.
pub fn recall_entry(
    path: &SessionPath<'_>,
    context: &SessionContext,
    index: EntryIndex,
    offset: usize,
    most: usize,
) -> Result<RecalledText, BodyError> {
    let tree = path.tree();
    let entry = tree.entry(index)?;
    let (role, text) =
        recall_text(&entry).unwrap_or_else(|| (kind_name(tree.kind(index)), String::new()));
    let total = text.chars().count();
    let piece: String = text.chars().skip(offset).take(most).collect();
    let next = offset.saturating_add(piece.chars().count());
    Ok(RecalledText {
        entry_id: entry.id,
        role,
        timestamp: entry.timestamp.map(|at: Timestamp| at.to_string()),
        place: Places::of(path, context).place(index),
        line: tree.line(index),
        offset,
        total_chars: total,
        next_offset: (next < total).then_some(next),
        text: piece,
    })
}

fn kind_name(kind: EntryKind) -> String {
    format!("{kind:?}").to_lowercase()
}

/// Ranks by BM25 with its usual constants (k1 1.2, b 0.75).
fn rank(candidates: Vec<Candidate>, searched: usize, average: f64) -> Vec<(f64, Candidate)> {
    let words = candidates.first().map_or(0, |first| first.weights.len());
    let rarity: Vec<f64> = (0..words)
        .map(|word| {
            let holders = candidates
                .iter()
                .filter(|candidate| candidate.weights[word] > 0.0);
            let holders = holders.count() as f64;
            let others = searched as f64 - holders + 0.5;
            (1.0 + others / (holders + 0.5)).ln()
        })
        .collect();
    let scored = candidates.into_iter().map(|candidate| {
        let spread = 1.2 * (0.25 + 0.75 * candidate.length / average.max(1.0));
        let weights = candidate.weights.iter().zip(&rarity);
        let score = weights
            .map(|(weight, rarity)| rarity * weight * 2.2 / (weight + spread))
            .sum();
        (score, candidate)
    });
    scored.collect()
}

fn query_words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut words: Vec<String> = Vec::new();
    for word in lower.split(|character: char| character.is_whitespace()) {
        let word = word.trim_matches(|character: char| {
            !character.is_alphanumeric() && !matches!(character, '_' | '/' | '.' | '-')
        });
        if !word.is_empty() && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    words.truncate(MOST_WORDS);
    words
}

/// Returns how much of `word` is in a text (both in lower case), and in how many places.
fn weigh(text: &str, word: &str) -> (f64, usize) {
    let mut weight = 0.0;
    let mut count = 0;
    for (at, _) in text.match_indices(word) {
        weight += if starts_word(text, at) { 1.0 } else { 0.3 };
        count += 1;
    }
    (weight, count)
}

fn starts_word(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    before.is_none_or(|before| !before.is_alphanumeric())
}

/// Returns the place with the most different words of the query close by.
fn best_place(text: &str, words: &[String]) -> usize {
    let lower = text.to_lowercase();
    // Lower case can change lengths; then places are only near, and the excerpt begins between characters anyway.
    let mut places: Vec<(usize, usize)> = words
        .iter()
        .enumerate()
        .flat_map(|(word, text)| {
            lower
                .match_indices(text.as_str())
                .take(200)
                .map(move |(at, _)| (at, word))
        })
        .collect();
    places.sort_unstable();
    let mut best = (0, places.first().map_or(0, |place| place.0));
    for (first, (at, _)) in places.iter().enumerate() {
        let near = places[first..]
            .iter()
            .take_while(|(other, _)| other - at <= 200);
        let different: BTreeSet<usize> = near.map(|(_, word)| *word).collect();
        if different.len() > best.0 {
            best = (different.len(), *at);
        }
    }
    best.1.min(text.len())
}

/// Returns about `most` characters of `text` around `at`, on one line.
fn excerpt(text: &str, at: usize, most: usize) -> String {
    let at = text.floor_char_boundary(at);
    let start = text[..at]
        .char_indices()
        .rev()
        .nth(most / 4)
        .map_or(0, |(start, _)| start);
    let piece: String = text[start..].chars().take(most).collect();
    let mut line = piece.split_whitespace().collect::<Vec<_>>().join(" ");
    if start > 0 {
        line.insert_str(0, "... ");
    }
    if start + piece.len() < text.len() {
        line.push_str(" ...");
    }
    line
}

#[cfg(test)]
mod tests;
