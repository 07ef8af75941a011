//! The search: entries that may match are read, counted and ranked, and the best are shown.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;

use memchr::memmem;
use session_model::{Entry, EntryIndex, SessionContext, SessionPath, SessionTree};

use crate::entry_text::{Author, EntryText, Gate, entry_text, read_text};
use crate::excerpt::excerpts;
use crate::filter::{Kind, Place, places, speaks, subagent};
use crate::following::following;
use crate::near::{MOST_BYTES, MOST_ENTRIES, Vocabulary, near_files};
use crate::prefilter::{Prefilter, Signs};
use crate::rank::{Candidate, Group, group, rank};
use crate::shown::{Shown, drop_calls_of_results, recalled, width_of, with_short_ids};
use crate::terms::{self, Terms, fold};
use crate::{Query, Recall, RecallRequest, Recalled};
use session_facts::file_calls;

/// The part of the best entry's score that an entry must have to be shown, unless it is among the first.
const LEAST_SCORE: f64 = 0.4;
const FIRST: usize = 3;

/// The order of a list, with how the next one is asked for.
const OLDEST_FIRST: &str = "oldest first";
const NEWEST_OF_MORE: &str = "oldest first; before: the first ID lists earlier ones";

/// How much is shown of what came of an entry of a list, in bytes.
const LIST_NEXT: usize = 160;

/// How much around the best place is the same in what is folded, in bytes.
const AROUND: usize = 200;

/// How many entries are read to know how long texts are on the average.
const SAMPLES: usize = 256;

/// A search of one session.
pub struct RecallSearch<'a> {
    path: &'a SessionPath<'a>,
    request: &'a RecallRequest<'a>,
    terms: Terms,
    prefilter: Prefilter,
    places: Vec<Place>,
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
            Query::Pattern(_) | Query::All => Terms::default(),
        };
        let tree = path.tree();
        Self {
            path,
            request,
            prefilter: Prefilter::of(&terms, request.access.outputs.is_some()),
            terms,
            places: places(path, context),
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
            .each(tree, &self.rows[part], &mut |index, signs, line| {
                if stop() {
                    return false;
                }
                self.visit(index, signs, line, &mut scan);
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
            ..Recall::default()
        };
        if recall.excluded {
            return Some(recall);
        }
        let average = match self.request.filters.reads() || self.terms.terms.is_empty() {
            true => all.bytes as f64 / (all.searched.max(1) as f64),
            false => self.average_length(),
        };
        let has = |term: usize| all.candidates.iter().any(|it| it.weights[term].1 > 0.0);
        let terms = self.terms.terms.iter().enumerate();
        recall.missing = terms
            .filter(|(number, _)| !has(*number))
            .map(|(_, term)| term.text.clone())
            .collect();
        let mut ranked = rank(all.candidates, &self.terms, all.searched, average);
        recall.matching = ranked.found.len();
        if ranked.found.is_empty() {
            recall.near = self.near(&mut recall, stop)?;
            recall.shorten(self.request);
            return Some(recall);
        }
        let by_time =
            self.request.filters.file.is_some() || matches!(self.request.query, Query::All);
        if by_time {
            ranked.found.iter_mut().for_each(|it| it.score = 1.0);
        }
        let mut groups = group(ranked.found);
        if let Some(rarest) = ranked.rarest.filter(|_| !by_time) {
            let first = groups.iter().position(|it| it.newest.holds(rarest));
            groups[..=first.unwrap_or(0)].rotate_right(1);
            let best = groups.iter().map(|group| group.score).fold(0.0, f64::max);
            groups[0].score = best;
        }
        // What fits words far less than the best is counted, not shown; a pattern means each match, a list each entry.
        let is_ranked = !self.terms.terms.is_empty() && !by_time;
        let best = groups.first().map_or(1.0, |best| best.score);
        let least = if is_ranked { best * LEAST_SCORE } else { 0.0 };
        let mut number = 0;
        groups.retain(|group| {
            number += 1;
            number <= FIRST || group.score >= least
        });
        let most = match is_ranked {
            true => self.request.entries.min(self.request.readable()),
            false => self.request.entries,
        };
        drop_calls_of_results(&mut groups, most);
        let mut shown: Vec<Shown> = Vec::new();
        for group in groups {
            if shown.len() == most || stop() {
                break;
            }
            let Some(it) = self.shown(group, &ranked.weights) else {
                continue;
            };
            let known = shown
                .iter_mut()
                .find(|known| is_ranked && known.is_like(&it));
            match known {
                Some(known) => known.fold(it),
                None => shown.push(it),
            }
        }
        let found: Vec<EntryIndex> = shown.iter().map(|it| it.group.newest.index).collect();
        for it in &mut shown {
            it.next.take_if(|next| found.contains(&next.index));
        }
        if stop() {
            return None;
        }
        let next = if is_ranked { usize::MAX } else { LIST_NEXT };
        let mut build = |width: usize| {
            let of = |it: &Shown| {
                let width = width_of(width, it.group.score / best, it.text.author);
                let widths = [width, width.min(next)];
                let found = recalled(self.path, self.gate(), it, &ranked.weights, widths);
                let subagent = subagent(self.tree(), &self.places, it.group.newest.index);
                Recalled { subagent, ..found }
            };
            with_short_ids(self.tree(), shown.iter().map(of).collect())
        };
        recall.order = match (&self.request.filters.file, self.request.query) {
            (Some(_), _) => "newest first",
            (None, Query::All) if shown.len() < recall.matching => NEWEST_OF_MORE,
            (None, Query::All) => OLDEST_FIRST,
            _ => "",
        };
        recall.fit(&mut build, shown.len(), self.request);
        // What there is no room for are the oldest all the same.
        if recall.order.starts_with(OLDEST_FIRST) {
            recall.found.reverse();
        }
        Some(recall)
    }

    fn tree(&self) -> &'a SessionTree {
        self.path.tree()
    }

    fn gate(&self) -> Gate<'a> {
        Gate {
            access: self.request.access,
            only_words: self.request.filters.kind == Some(Kind::User),
        }
    }

    /// Returns whether an entry passes the filters.
    fn passes(&self, index: EntryIndex, entry: &Entry, text: &EntryText) -> bool {
        let filters = &self.request.filters;
        let with_results = !matches!(self.request.query, Query::All);
        !filters.reads() || filters.pass(self.path, index, entry, text, with_results)
    }

    /// Looks at an entry.
    fn visit(&self, index: EntryIndex, signs: Signs, line: Option<&[u8]>, scan: &mut Scan) {
        let filters = &self.request.filters;
        let is_searched = self.request.except != Some(index);
        let must_read = is_searched && (signs.term || filters.reads());
        // What is not read says something nearly always; what is read is counted below.
        scan.searched += usize::from(is_searched && !must_read);
        if !must_read && !signs.marker {
            return;
        }
        let tree = self.tree();
        let read = match line {
            None => read_text(tree, index, self.gate()),
            Some(line) => tree.entry_of_line(index, line).map(|entry| {
                let text = entry_text(&entry, line, self.gate());
                (entry, text)
            }),
        };
        let Ok((entry, text)) = read else {
            scan.unreadable += usize::from(is_searched);
            return;
        };
        let Some(text) = text else { return };
        scan.excluded |= text.is_excluded && text.author == Author::User;
        if !must_read || text.is_excluded || text.is_own || text.text.trim().is_empty() {
            return;
        }
        if !self.passes(index, &entry, &text) {
            return;
        }
        scan.searched += 1;
        scan.bytes += text.text.len();
        scan.in_part |= text.in_part;
        let place = self.places[index.as_usize()];
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
            Query::All => {
                weights.push((1.0, 1.0));
                (1, false)
            }
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
        let terms = self.terms.terms.iter().zip(&weights);
        let has_all = terms
            .into_iter()
            .all(|(term, (_, best))| !term.is_required || *best > 0.0);
        (matches > 0 && has_all).then(|| {
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
                calls: text.calls.into_iter().map(|(_, id)| id).collect(),
            }
        })
    }

    /// Returns how long the texts of entries are on the average, measured on some of them, evenly spread.
    fn average_length(&self) -> f64 {
        let step = self.rows.len().div_ceil(SAMPLES).max(1);
        let entries = self.rows.iter().step_by(step);
        let texts = entries.filter_map(|index| self.text_of(*index));
        let (count, bytes) = texts.fold((0_usize, 0), |(count, bytes), text| {
            (count + 1, bytes + text.text.len())
        });
        bytes as f64 / (count.max(1) as f64)
    }

    /// Returns the text of an entry that may be searched.
    fn text_of(&self, index: EntryIndex) -> Option<EntryText> {
        let (entry, text) = read_text(self.tree(), index, self.gate()).ok()?;
        let text = text?;
        let hidden = text.is_excluded || text.is_own || text.text.trim().is_empty();
        (!hidden && self.passes(index, &entry, &text)).then_some(text)
    }

    /// Returns words or files that are close to those of the query, and counts what cannot be read.
    fn near(&self, recall: &mut Recall, stop: &dyn Fn() -> bool) -> Option<Vec<String>> {
        let mut words = Vocabulary::default();
        // Nothing is on the file that is named.
        let file = self.request.filters.file.as_ref();
        let file = file.filter(|_| recall.searched == 0);
        let mut paths = BTreeSet::new();
        let mut unreadable = 0;
        let end = self
            .rows
            .last()
            .map_or(0, |last| self.tree().span(*last).end());
        // Of a long session, entries that are evenly spread.
        let step = usize::try_from(end.div_ceil(MOST_BYTES)).unwrap_or(1);
        let step = step.max(self.rows.len().div_ceil(MOST_ENTRIES)).max(1);
        let searched = |index: &&EntryIndex| self.request.except != Some(**index);
        for index in self.rows.iter().filter(searched).step_by(step) {
            if stop() {
                return None;
            }
            let Ok(entry) = self.tree().entry(*index) else {
                unreadable += 1;
                continue;
            };
            if file.is_some() {
                let messages = entry.messages();
                let calls = messages.iter().flat_map(|message| message.tool_calls());
                paths.extend(calls.flat_map(file_calls).map(|(_, path)| path));
            } else if let Some(text) = self.text_of(*index) {
                words.add(&text.text);
            }
        }
        let unseen = unreadable - recall.unreadable.min(unreadable);
        recall.searched -= unseen.min(recall.searched);
        recall.unreadable += unseen;
        Some(match file {
            Some(file) => near_files(file, paths),
            None => words.near(&self.terms),
        })
    }

    /// Returns what may be shown of a group.
    fn shown(&self, group: Group, weights: &[f64]) -> Option<Shown> {
        let index = group.newest.index;
        let text = self.text_of(index)?;
        let (request, filters) = (self.request, &self.request.filters);
        let places = match request.query {
            Query::All => Vec::new(),
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
        let value = |place: &terms::Place| place.strength * weights.get(place.term).unwrap_or(&1.0);
        let mut best = places.first();
        for place in &places {
            best = best
                .filter(|best| value(best) >= value(place))
                .or(Some(place));
        }
        let best = best.map_or(0, |place| place.start);
        // Of what a period has, each entry is listed.
        let is_list = matches!(self.request.query, Query::All) && filters.file.is_none();
        let next = (!is_list).then(|| following(self.path, index, &text, best, request.access));
        let around = excerpts(&text.text, &places, weights, [AROUND, 0], 1);
        let around = around.first().map_or("", |it| &it.text);
        Some(Shown {
            group,
            next: next.flatten(),
            around: around.replace(|c: char| c.is_ascii_digit(), ""),
            text,
            places,
        })
    }
}
