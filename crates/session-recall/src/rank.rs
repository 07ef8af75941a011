//! The order of what is found: BM25 over the texts of the session, weighed by author and place.

use std::collections::HashMap;

use session_model::EntryIndex;

use crate::entry_text::Author;
use crate::filter::Place;
use crate::terms::Terms;

/// The usual constants of BM25: how soon repetition stops to count, and how much length counts.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;

/// The part of the best entry's terms, by rarity, that an entry must hold to count as a match.
const LEAST_SHARE: f64 = 0.4;

/// A place that is weaker than this, a fragment inside a word, hardly counts as holding a term.
const WEAK: f64 = 0.2;
const WEAK_SHARE: f64 = 0.05;

/// An entry that may match.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// How good it is, once it is ranked.
    pub score: f64,
    pub index: EntryIndex,
    pub author: Author,
    pub place: Place,
    /// For each term the sum of the strengths of its places, and the greatest.
    pub weights: Vec<(f64, f64)>,
    /// It has the whole query verbatim.
    pub phrase: bool,
    /// How long its text is, in bytes.
    pub length: usize,
    /// How many places match.
    pub matches: usize,
    /// A hash of its text.
    pub hash: u64,
    /// The call that it answers, if it answers one.
    pub answers: Option<String>,
    /// The calls that it makes.
    pub calls: Vec<String>,
}

impl Candidate {
    /// Returns whether it has a term, other than by chance.
    pub fn holds(&self, term: usize) -> bool {
        self.weights[term].1 >= WEAK
    }

    /// Returns whether it has all the terms that another one has.
    pub fn covers(&self, other: &Self) -> bool {
        (0..other.weights.len()).all(|term| self.holds(term) || !other.holds(term))
    }
}

/// What matches, and how much the terms count.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    pub found: Vec<Candidate>,
    /// How much each term counts, by its rarity.
    pub weights: Vec<f64>,
    /// The term that the fewest entries hold.
    pub rarest: Option<usize>,
}

/// Ranks the candidates among `searched` entries whose texts have `average` bytes.
pub(super) fn rank(
    mut found: Vec<Candidate>,
    terms: &Terms,
    searched: usize,
    average: f64,
) -> Ranked {
    let all = terms.terms.len().max(1);
    let holders = |term: usize| -> f64 { found.iter().map(|it| it.weights[term].1).sum() };
    let holders: Vec<f64> = (0..all).map(holders).collect();
    let weight = |term: usize| {
        let others = (searched as f64 - holders[term]).max(0.0) + 0.5;
        let boost = terms.terms.get(term).map_or(1.0, |term| term.boost);
        boost * (1.0 + others / (holders[term] + 0.5)).ln()
    };
    let weights: Vec<f64> = (0..all).map(weight).collect();
    let held = (0..terms.terms.len()).filter(|term| found.iter().any(|it| it.holds(*term)));
    let rarest = held.min_by(|one, other| {
        let fewer = holders[*one].total_cmp(&holders[*other]);
        fewer.then(weights[*other].total_cmp(&weights[*one]))
    });
    let share = |candidate: &Candidate| -> f64 {
        let terms = candidate.weights.iter().zip(&weights);
        let shares = terms.map(|((_, best), weight)| match *best {
            0.0 => 0.0,
            best if best < WEAK => weight * WEAK_SHARE,
            _ => *weight,
        });
        shares.sum()
    };
    let least = LEAST_SHARE * found.iter().map(share).fold(0.0, f64::max);
    found.retain(|candidate| share(candidate) >= least);
    let all: f64 = weights.iter().sum();
    for candidate in &mut found {
        let length = candidate.length as f64 / average.max(1.0);
        let spread = SATURATION * (1.0 - LENGTH + LENGTH * length);
        let terms = candidate.weights.iter().zip(&weights);
        let sum: f64 = terms
            .map(|((weight, best), rarity)| {
                // Many weak places are no strong one.
                rarity * best * weight * (SATURATION + 1.0) / (weight + spread)
            })
            .sum();
        let verbatim = if candidate.phrase { all } else { 0.0 };
        candidate.score =
            (sum + verbatim) * of_author(candidate.author) * of_place(candidate.place);
    }
    Ranked {
        found,
        weights,
        rarest,
    }
}

/// What the user said weighs more than what the model said, and that more than what tools print.
const fn of_author(author: Author) -> f64 {
    match author {
        Author::User => 1.6,
        Author::Assistant => 1.1,
        Author::Summary | Author::Other => 0.8,
        Author::Tool => 0.7,
    }
}

/// What the model sees already is of little use to it.
const fn of_place(place: Place) -> f64 {
    match place {
        Place::OutOfContext => 1.0,
        Place::OtherBranch => 0.9,
        Place::InContext => 0.5,
    }
}

/// Several entries that say the same, of which the newest is shown.
#[derive(Debug)]
pub(super) struct Group {
    /// That of the best.
    pub score: f64,
    pub newest: Candidate,
    /// The others, the newest first.
    pub copies: Vec<EntryIndex>,
}

impl Group {
    /// Takes in another group.
    pub fn fold(&mut self, other: Self) {
        self.score = self.score.max(other.score);
        self.copies.extend(other.copies);
        let older = match other.newest.index > self.newest.index {
            true => std::mem::replace(&mut self.newest, other.newest),
            false => other.newest,
        };
        self.copies.push(older.index);
        self.copies.sort_unstable_by(|one, other| other.cmp(one));
    }
}

/// Returns the groups of entries of the same text, the best first.
pub(super) fn group(found: Vec<Candidate>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut by_text: HashMap<u64, usize> = HashMap::new();
    for candidate in found {
        let at = by_text.entry(candidate.hash).or_insert(groups.len());
        let group = Group {
            score: candidate.score,
            newest: candidate,
            copies: Vec::new(),
        };
        match groups.get_mut(*at) {
            Some(known) => known.fold(group),
            None => groups.push(group),
        }
    }
    groups.sort_unstable_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then(other.newest.index.cmp(&one.newest.index))
    });
    groups
}
