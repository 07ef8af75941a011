//! The search: entries that may match are read, counted and ranked, and the best are shown.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

use memchr::memmem;
use session_model::{EntryId, EntryIndex, SessionContext, SessionPath, SessionTree};

use crate::entry_text::{Author, EntryText, Gate, call_of, call_text, entry_text};
use crate::excerpt::excerpts;
use crate::filter::{Place, Places, RecallRole, speaks};
use crate::near::{MOST_BYTES, MOST_ENTRIES, Vocabulary};
use crate::prefilter::{AtHand, Prefilter, Signs};
use crate::rank::{Candidate, Group, group, rank};
use crate::terms::{self, Terms, fold};
use crate::{Query, Recall, RecallRequest, Recalled};
use session_facts::{FileAction, file_call};

/// The part of the best entry's score that an entry must have to be shown, unless it is among the first.
const LEAST_SCORE: f64 = 0.4;
const FIRST: usize = 3;

/// How many entries are read to know how long texts are on the average.
const SAMPLES: usize = 256;

/// A search of one session.
pub struct RecallSearch<'a> {
    path: &'a SessionPath<'a>,
    request: &'a RecallRequest<'a>,
    terms: Terms,
    prefilter: Prefilter,
    places: Places,
    /// The entries that say something.
    rows: Vec<EntryIndex>,
}

/// What was found in one part of a session.
#[derive(Debug, Default)]
pub struct Scan {
    candidates: Vec<Candidate>,
    searched: usize,
    unreadable: usize,
    /// The length of all texts, where all were read.
    bytes: usize,
    excluded: bool,
    in_part: bool,
}

impl<'a> RecallSearch<'a> {
    /// Returns a search through the tree of `path`, on all branches; `context` is the context of `path`.
    pub fn new(
        path: &'a SessionPath<'a>,
        context: &SessionContext,
        request: &'a RecallRequest<'a>,
    ) -> Self {
        let terms = match request.query {
            Query::Words(text) => Terms::of(text),
            Query::Pattern(_) => Terms::default(),
        };
        let tree = path.tree();
        Self {
            path,
            request,
            prefilter: Prefilter::of(&terms),
            terms,
            places: Places::of(path, context, request.filters.branch),
            rows: tree
                .indices()
                .filter(|index| speaks(tree.kind(*index)))
                .collect(),
        }
    }

    /// Returns `count` parts of the session, of about the same length in bytes.
    pub fn parts(&self, count: usize) -> Vec<Range<usize>> {
        let tree = self.path.tree();
        let end = |row: &EntryIndex| tree.span(*row).end();
        let last = self.rows.last().map_or(0, end);
        let cuts = (0..=count).map(|number| match number == count {
            true => self.rows.len(),
            false => {
                let until = last / (count as u64) * (number as u64);
                self.rows.partition_point(|row| end(row) <= until)
            }
        });
        let cuts: Vec<usize> = cuts.collect();
        cuts.windows(2)
            .map(|pair| pair[0]..pair[1].max(pair[0]))
            .collect()
    }

    /// Searches one part; `None` when `stop` said so.
    pub fn scan(&self, part: Range<usize>, stop: &dyn Fn() -> bool) -> Option<Scan> {
        let mut scan = Scan::default();
        let tree = self.path.tree();
        let all = self
            .prefilter
            .each(tree, &self.rows[part], &mut |index, signs, at_hand| {
                if stop() {
                    return false;
                }
                self.visit(index, signs, at_hand, &mut scan);
                true
            });
        all.then_some(scan)
    }

    /// Ranks what was found; `None` when `stop` said so.
    pub fn finish(&self, scans: Vec<Scan>, stop: &dyn Fn() -> bool) -> Option<Recall> {
        let mut all = Scan::default();
        let candidates = scans.iter().map(|scan| scan.candidates.len());
        all.candidates.reserve_exact(candidates.sum());
        for scan in scans {
            all.candidates.extend(scan.candidates);
            all.searched += scan.searched;
            all.unreadable += scan.unreadable;
            all.bytes += scan.bytes;
            all.excluded |= scan.excluded;
            all.in_part |= scan.in_part;
        }
        let mut recall = Recall {
            searched: all.searched,
            unreadable: all.unreadable,
            excluded: all.excluded,
            in_part: all.in_part,
            place: self.request.filters.place,
            ..Recall::default()
        };
        if recall.excluded {
            return Some(recall);
        }
        let average = match self.request.filters.reads() || self.terms.terms.is_empty() {
            true => all.bytes as f64 / (all.searched.max(1) as f64),
            false => self.average_length(),
        };
        let wanted = |place| self.is_wanted(place);
        let has = |term: usize| all.candidates.iter().any(|it| it.weights[term].1 > 0.0);
        let terms = self.terms.terms.iter().enumerate();
        recall.missing = terms
            .filter(|(number, _)| !has(*number))
            .map(|(_, term)| term.text.clone())
            .collect();
        let ranked = rank(all.candidates, &self.terms, all.searched, average, &wanted);
        recall.matching = ranked.found.len();
        recall.elsewhere = ranked.elsewhere;
        if ranked.found.is_empty() {
            if recall.elsewhere == 0 {
                recall.near = self.near(&mut recall, stop)?;
            }
            recall.fit(&mut |_| Vec::new(), self.request);
            return Some(recall);
        }
        let most = self.request.entries;
        let mut groups = group(ranked.found, most, |candidate| self.file_read(candidate));
        // What fits words far less than the best is counted, not shown; who asks by a pattern means each match.
        let best = groups.first().filter(|_| !self.terms.terms.is_empty());
        let least = best.map_or(0.0, |best| best.score * LEAST_SCORE);
        let worth = groups.iter().take_while(|group| group.score >= least);
        groups.truncate(worth.count().max(FIRST).min(self.request.entries));
        let texts: Vec<(EntryText, Vec<terms::Place>)> = groups
            .iter()
            .filter_map(|group| self.text_and_places(group.newest.index))
            .collect();
        if stop() {
            return None;
        }
        let best = groups.first().map_or(1.0, |best| best.score);
        let mut build = |width: usize| {
            let shown = groups.iter().zip(&texts);
            shown
                .map(|(group, (text, places))| {
                    let width = width_of(width, group.score / best, text.author);
                    self.recalled(group, text, places, width)
                })
                .collect()
        };
        recall.fit(&mut build, self.request);
        Some(recall)
    }

    fn tree(&self) -> &'a SessionTree {
        self.path.tree()
    }

    fn gate(&self) -> Gate<'a> {
        Gate {
            clean: self.request.clean,
            only_words: self.request.filters.role == Some(RecallRole::User),
        }
    }

    fn is_wanted(&self, place: Place) -> bool {
        self.request
            .filters
            .place
            .is_none_or(|wanted| wanted == place)
    }

    /// Returns whether an entry passes all filters that need no reading.
    fn is_admitted(&self, index: EntryIndex) -> bool {
        self.request.except != Some(index) && self.places.is_on_branch(index)
    }

    /// Looks at an entry.
    fn visit(&self, index: EntryIndex, signs: Signs, at_hand: AtHand<'_>, scan: &mut Scan) {
        let filters = &self.request.filters;
        let place = self.places.place(index);
        let is_admitted = self.is_admitted(index);
        let counts = is_admitted && self.is_wanted(place);
        let must_read = is_admitted && (signs.term || filters.reads());
        // What is not read says something nearly always; what is read is counted below.
        scan.searched += usize::from(counts && !must_read);
        if !must_read && !signs.marker {
            return;
        }
        let tree = self.tree();
        let entry = match at_hand {
            AtHand::Nothing => tree.entry(index),
            AtHand::Line(line) => tree.entry_of_line(index, line),
            AtHand::Parts(stored, left_out) => tree.entry_of_parts(index, stored, left_out),
        };
        let Ok(entry) = entry else {
            scan.unreadable += usize::from(counts);
            return;
        };
        let Some(text) = entry_text(&entry, self.gate()) else {
            return;
        };
        scan.excluded |= text.is_excluded && text.author == Author::User;
        if !must_read || text.is_excluded || text.is_own || text.text.trim().is_empty() {
            return;
        }
        if filters.reads() && !filters.pass(self.path, index, &entry, &text) {
            return;
        }
        scan.searched += usize::from(counts);
        scan.bytes += if counts { text.text.len() } else { 0 };
        if let Some(candidate) = self.candidate(index, place, text, &mut scan.in_part) {
            scan.candidates.push(candidate);
        }
    }

    fn candidate(
        &self,
        index: EntryIndex,
        place: Place,
        text: EntryText,
        in_part: &mut bool,
    ) -> Option<Candidate> {
        let mut weights = vec![(0.0, 0.0); self.terms.terms.len()];
        let (matches, phrase) = match self.request.query {
            Query::Pattern(find) => {
                let found = find(&text.text);
                *in_part |= found.in_part;
                weights.push((found.count as f64, f64::from(u8::from(found.count > 0))));
                (found.count, false)
            }
            Query::Words(_) => {
                let folded = fold(&text.text);
                let places = self.terms.places(&text.text, &folded);
                for place in &places {
                    let (sum, best): &mut (f64, f64) = &mut weights[place.term];
                    *sum += place.strength;
                    *best = best.max(place.strength);
                }
                let phrase = self.terms.phrase.as_ref();
                let phrase = phrase.is_some_and(|phrase| {
                    memmem::find(folded.as_bytes(), phrase.as_bytes()).is_some()
                });
                (places.len(), phrase)
            }
        };
        (matches > 0).then(|| {
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            Candidate {
                score: 0.0,
                index,
                author: text.author,
                place,
                weights,
                phrase,
                length: text.text.len(),
                matches,
                hash: hasher.hash_one(text.text.trim()),
                answers: text.answers,
            }
        })
    }

    /// Returns how long the texts of entries are on the average, measured on some of them, evenly spread.
    fn average_length(&self) -> f64 {
        let counts = |index: &&EntryIndex| {
            self.is_admitted(**index) && self.is_wanted(self.places.place(**index))
        };
        let rows: Vec<&EntryIndex> = self.rows.iter().filter(counts).collect();
        let step = rows.len().div_ceil(SAMPLES).max(1);
        let entries = rows.iter().step_by(step);
        let texts = entries.filter_map(|index| self.text_of(**index));
        let (count, bytes) = texts.fold((0_usize, 0), |(count, bytes), text| {
            (count + 1, bytes + text.text.len())
        });
        bytes as f64 / (count.max(1) as f64)
    }

    /// Returns the text of an entry that may be searched.
    fn text_of(&self, index: EntryIndex) -> Option<EntryText> {
        let entry = self.tree().entry(index).ok()?;
        let text = entry_text(&entry, self.gate())?;
        let hidden = text.is_excluded || text.is_own || text.text.trim().is_empty();
        let filters = &self.request.filters;
        let passes = !filters.reads() || filters.pass(self.path, index, &entry, &text);
        (!hidden && passes).then_some(text)
    }

    /// Returns words that are close to those of the query, and counts what cannot be read.
    fn near(&self, recall: &mut Recall, stop: &dyn Fn() -> bool) -> Option<Vec<String>> {
        let mut words = Vocabulary::default();
        let mut unreadable = 0;
        let end = self
            .rows
            .last()
            .map_or(0, |last| self.tree().span(*last).end());
        // Of a long session, entries that are evenly spread.
        let step = usize::try_from(end.div_ceil(MOST_BYTES)).unwrap_or(1);
        let step = step.max(self.rows.len().div_ceil(MOST_ENTRIES)).max(1);
        let admitted = self.rows.iter().filter(|index| self.is_admitted(**index));
        for index in admitted.step_by(step) {
            if stop() {
                return None;
            }
            if self.tree().entry(*index).is_err() {
                unreadable += usize::from(self.is_wanted(self.places.place(*index)));
                continue;
            }
            if let Some(text) = self.text_of(*index) {
                words.add(&text.text);
            }
        }
        let unseen = unreadable - recall.unreadable.min(unreadable);
        recall.searched -= unseen.min(recall.searched);
        recall.unreadable += unseen;
        Some(words.near(&self.terms))
    }

    /// Returns the file that a result is the reading of.
    fn file_read(&self, candidate: &Candidate) -> Option<String> {
        let id = candidate.answers.as_ref()?;
        let call = call_of(self.tree(), candidate.index, id)?;
        let (action, path) = file_call(&call)?;
        (action == FileAction::Read).then_some(path)
    }

    fn text_and_places(&self, index: EntryIndex) -> Option<(EntryText, Vec<terms::Place>)> {
        let text = self.text_of(index)?;
        let places = match self.request.query {
            Query::Words(_) => self.terms.places(&text.text, &fold(&text.text)),
            Query::Pattern(find) => {
                let found = find(&text.text).places.into_iter();
                let found = found.map(|range| terms::Place {
                    start: range.start,
                    end: range.end,
                    term: 0,
                    strength: 1.0,
                });
                found.collect()
            }
        };
        Some((text, places))
    }

    /// Returns what is shown of an entry, in about `width` bytes.
    fn recalled(
        &self,
        group: &Group,
        text: &EntryText,
        places: &[terms::Place],
        width: usize,
    ) -> Recalled {
        let tree = self.tree();
        let index = group.newest.index;
        let most = (width / EXCERPT_BYTES).clamp(1, MOST_EXCERPTS);
        let timestamp = tree.entry(index).ok().and_then(|entry| entry.timestamp);
        Recalled {
            session: None,
            entry_id: EntryId::new(tree.id(index)),
            role: text.role.clone(),
            call: call_line(tree, index, text, self.gate()),
            timestamp: timestamp.map(|at| at.to_string()),
            place: group.newest.place,
            score: group.score,
            matches: group.newest.matches,
            copies: group.copies,
            total_chars: text.text.chars().count(),
            excerpts: excerpts(&text.text, places, width / most, most),
        }
    }
}

/// Returns how many bytes are shown of an entry whose score is this share of the best one's. Where the best leads, it is
/// most likely what is looked for, and the others are hints; what the user said is shown whole where it is short.
fn width_of(width: usize, share: f64, author: Author) -> usize {
    let least = match author {
        Author::User => SHORT_MESSAGE,
        _ => EXCERPT_BYTES * 3 / 4,
    };
    let part = (width as f64 * share * share) as usize;
    part.max(least.min(width))
}

/// How long a message of the user is that is shown whole wherever it is found, in bytes.
const SHORT_MESSAGE: usize = 280;

/// How long one of several excerpts is at least, in bytes, and how many there are of one entry.
const EXCERPT_BYTES: usize = 160;
const MOST_EXCERPTS: usize = 3;

/// Returns the call that an entry answers, as one line.
pub(super) fn call_line(
    tree: &SessionTree,
    index: EntryIndex,
    text: &EntryText,
    gate: Gate<'_>,
) -> Option<String> {
    let id = text.answers.as_ref()?;
    let call = match call_of(tree, index, id) {
        Some(call) => call_text(&call, gate),
        None => text.tools.first()?.clone(),
    };
    Some(session_model::text::first_line(&call, 100))
}
