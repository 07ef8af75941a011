//! Whether a sentence states a rule, told by its structure: who is addressed, who speaks, and for how long it holds.
//!
//! An order that forbids, or that says "always", "every" or "only", is a rule; so is what "you" and "we" must, may not
//! or never do, and a demand on all things of a kind. What one thing does ("the button never reacts"), what
//! somebody else says, a guess, a question, and what ends with the task is none. A demand that a person makes of the
//! team ("legal says we must not ...") is one, as whoever repeats it asks for it; what a document says is not.

use std::ops::Range;

use super::rule_marks::{Mark, Marked};

/// Who a clause within another one is about.
const PERSONS: [Mark; 4] = [Mark::I, Mark::You, Mark::We, Mark::It];

/// A sentence that is read for rules.
pub(super) struct Reading<'a> {
    /// Its words.
    pub(super) marked: Marked<'a>,
    /// Whether a heading for rules stands in front: "one constraint:".
    pub(super) headed: bool,
    /// Whether it tells of a fault.
    pub(super) faulty: bool,
    /// Whether it introduces something behind a colon.
    pub(super) introduces: bool,
    /// Whether a figure is in it.
    pub(super) figure: bool,
}

impl Reading<'_> {
    /// Returns whether the sentence states a rule.
    pub(super) fn states_rule(&self) -> bool {
        let clauses = self.clauses();
        let Some(opening) = clauses.first().map(|clause| self.first(clause)) else {
            return false;
        };
        // "warning: do not use ..." is printed, and "write a guide: ..." gives its text.
        let next = self.marked.tokens.get(opening + 1);
        let printed = self.is(opening, Mark::Fault) && next.is_some_and(|next| next.parted);
        let makes = self.is(opening, Mark::Makes);
        if self.asks(opening) || printed || makes && self.introduces {
            return false;
        }
        if self.headed {
            return true;
        }
        let once = self.has(0..self.marked.tokens.len(), Mark::Once);
        let mut told = false;
        for (at, clause) in clauses.iter().enumerate() {
            let source = self.source(clause);
            let story = at > 0
                && self.word(clause.start) == "that"
                && self.has(clauses[at - 1].clone(), Mark::Past);
            told = match source {
                Source::Demand => false,
                Source::Forbids => return true,
                Source::Others => true,
                Source::User => told && !self.is(clause.start, Mark::Concludes) || story,
            };
            let over = once && !self.has(clause.clone(), Mark::Always);
            if told || over || self.has(clause.clone(), Mark::Guess) {
                continue;
            }
            // What is to be written or made does what is said behind it: only orders count there.
            if self.has(clause.clone(), Mark::Plain)
                || self.orders(clause, clauses.get(at + 1))
                || !makes && self.requires(clause, &source)
            {
                return true;
            }
        }
        false
    }

    /// Returns whether a clause that is no order states what has to be.
    fn requires(&self, clause: &Range<usize>, source: &Source) -> bool {
        let demands = [Mark::Always, Mark::No, Mark::Not, Mark::All, Mark::Must];
        self.addresses(clause)
            || *source == Source::Demand && self.has_any(clause.clone(), &demands)
            || self.demands_of_all(clause)
    }

    /// Returns who speaks in a clause.
    fn source(&self, clause: &Range<usize>) -> Source {
        let paper = self.has(clause.clone(), Mark::Paper);
        if !paper && self.has(clause.clone(), Mark::Demands) {
            return Source::Demand;
        }
        // "from the docs"
        let opens = self.is(clause.start, Mark::In) && !self.is(clause.start, Mark::Lead);
        let said = self.find(clause.clone(), Mark::Says);
        let Some(said) = said else {
            return if paper && opens {
                Source::Others
            } else {
                Source::User
            };
        };
        let ours = self.is(self.first(clause), Mark::I)
            || said > 0 && self.is_any(said - 1, &[Mark::You, Mark::We]);
        match () {
            () if !paper && self.forbids_us(said, clause) => Source::Forbids,
            () if said > 0 && ours => Source::User,
            () => Source::Others,
        }
    }

    /// Returns whether what is said at `at` is what "we" must not do.
    fn forbids_us(&self, at: usize, clause: &Range<usize>) -> bool {
        let words = self.marked.tokens.len();
        let we = self.find(at + 1..words.min(at + 3), Mark::We);
        // "that" starts a clause.
        let end = match clause.contains(&(at + 1)) {
            true => clause.end,
            false => words,
        };
        we.is_some_and(|we| self.forbids(we + 1..(we + 3).min(end), &(we..end)))
    }

    /// Returns the clauses: what stands between punctuation and joining words, those at its front included.
    fn clauses(&self) -> Vec<Range<usize>> {
        let tokens = &self.marked.tokens;
        let starts = (0..tokens.len()).filter(|at| {
            let joined = tokens[*at].joins && (*at == 0 || !tokens[*at - 1].joins);
            *at == 0 || tokens[*at].parted || joined
        });
        let starts: Vec<usize> = starts.collect();
        let ends = starts.iter().skip(1).copied().chain([tokens.len()]);
        let clauses = starts.iter().copied().zip(ends);
        clauses.map(|(start, end)| start..end).collect()
    }

    /// Returns whether a sentence that begins at `at` is a question: "do we", "why".
    fn asks(&self, at: usize) -> bool {
        let verbs = [Mark::Must, Mark::May, Mark::MustNot, Mark::Dont, Mark::Be];
        let lengths = verbs
            .iter()
            .filter_map(|mark| self.marked.length(at, *mark));
        let inverted =
            |length| self.is_any(at + length, &PERSONS) || self.is(at + length, Mark::The);
        self.is(at, Mark::Asks) || lengths.max().is_some_and(inverted)
    }

    /// Returns whether a clause says what "you" or "we" must, may not, or never do.
    fn addresses(&self, clause: &Range<usize>) -> bool {
        let first = self.first(clause);
        let within = ["that", "sure", "dass", "que", "says", "repo", "project"];
        let mut starts = clause
            .clone()
            .filter(|at| *at == first || *at > 0 && within.contains(&self.word(at - 1)));
        starts.any(|at| {
            let you = self.marked.length(at, Mark::You);
            let we = self.marked.length(at, Mark::We).filter(|_| you.is_none());
            let length = you.or(we);
            length.is_some_and(|length| self.addressed(at + length, you.is_some(), clause))
        })
    }

    /// Returns whether what stands at `at`, behind "you" or "we", is what has to be done always or never.
    fn addressed(&self, at: usize, you: bool, clause: &Range<usize>) -> bool {
        let near = at..(at + 3).min(clause.end);
        // What only "we" can do is told.
        let able = !you && self.has(near.clone(), Mark::Only);
        if !able && self.forbids(near.clone(), clause) {
            return true;
        }
        // "wir benutzen keine ..."
        let does = self.is_any(at, &[Mark::Use, Mark::Verb]);
        if !you && does && !self.faulty && self.has_any(at..clause.end, &[Mark::Not, Mark::No]) {
            return true;
        }
        let behind = |at, mark| at + self.marked.length(at, mark).unwrap_or(1);
        // Neither what one need not do nor what one only has to do.
        let must = self
            .find(near.clone(), Mark::Must)
            .filter(|must| !self.is(at, Mark::Dont) && !self.is(must - 1, Mark::Only));
        if let Some(must) = must {
            let next = behind(must, Mark::Must);
            let habit = [Mark::Always, Mark::Only];
            let habit = habit
                .iter()
                .find_map(|mark| self.marked.length(next, *mark));
            let next = next + habit.unwrap_or(0);
            let holds = [Mark::Every, Mark::Always, Mark::Only];
            let strict = you && !matches!(self.word(must), "should" | "need");
            let orders = self.has_any(clause.clone(), &holds) || strict && self.is_order(next);
            if orders && self.acts(next, clause) {
                return true;
            }
        }
        [Mark::Dont, Mark::Always, Mark::Only].iter().any(|mark| {
            let Some(word) = self.find(near.clone(), *mark) else {
                return false;
            };
            let next = behind(word, *mark);
            // "you can always ..." allows, and what happened is no order.
            let told = self.is(word - 1, Mark::May)
                || self.faulty
                || (at..clause.end).any(|at| self.is_past(at));
            let orders = *mark == Mark::Dont || !told;
            orders && self.is_order(next) && self.acts(next, clause) && !self.is_past(next)
        })
    }

    /// Returns whether words near the subject forbid what follows them in the clause.
    fn forbids(&self, near: Range<usize>, clause: &Range<usize>) -> bool {
        if let Some(at) = self.find(near.clone(), Mark::MustNot) {
            let next = at + self.marked.length(at, Mark::MustNot).unwrap_or(1);
            return next >= clause.end || !self.is(next, Mark::Idle);
        }
        let nots = [Mark::Not, Mark::No, Mark::Only];
        let allows = self.find_any(near.clone(), &[Mark::May, Mark::Must]);
        allows.is_some_and(|at| {
            // "can never" is no order.
            let able = self.word(at) == "can" && self.is(at + 1, Mark::Always);
            let before = at > near.start && self.is(at - 1, Mark::Not);
            let not = self.find_any(at + 1..clause.end, &nots);
            !able && (before || not.is_some_and(|not| !self.is(not + 1, Mark::Idle)))
        })
    }

    /// Returns whether a clause demands something of things in general, or something lasting of one thing.
    fn demands_of_all(&self, clause: &Range<usize>) -> bool {
        let demands = [Mark::MustNot, Mark::Must, Mark::May];
        let first = self.first(clause);
        // "this service may not ..."
        let this = self.word(first) == "this"
            && !self.is_any(first + 1, &demands)
            && !self.is_any(first + 1, &[Mark::Be, Mark::Always]);
        let told = self.is_any(first, &PERSONS) || self.is(first, Mark::When);
        if told && !this {
            return false;
        }
        let all = self.is(first, Mark::All);
        let one = !all && (this || self.is(first, Mark::The));
        let part = first + 1 + usize::from(all || one)..clause.end;
        let Some(at) = self.find_any(part.clone(), &demands) else {
            return !self.faulty && self.is_lasting(part, all, one);
        };
        let can = self.word(at) == "can";
        if self.is(first, Mark::Only) && self.is(at, Mark::May) && !can {
            return true;
        }
        // "Tom swears we must ..."
        if self.is_any(at - 1, &PERSONS) {
            return false;
        }
        let should = self.word(at).starts_with("should");
        if self.is(at, Mark::MustNot) {
            return !(one && should);
        }
        if !self.is(at, Mark::Must) {
            // What one thing may not do is a guess in English.
            let possible = one && !this && self.word(at) == "may" && !self.is(at + 1, Mark::Only);
            return !possible && self.forbids(part, clause);
        }
        let next = at + self.marked.length(at, Mark::Must).unwrap_or(1);
        // "servers must have crashed"
        if self.word(next) == "have" && next + 1 < clause.end && self.is_past(next + 1) {
            return false;
        }
        let always = self.has(part, Mark::Always);
        let not = self.has_any(next..clause.end, &[Mark::Not, Mark::No, Mark::Only]);
        match () {
            () if one && self.has(next..clause.end, Mark::Lasting) => true,
            () if one => !should && (always || not || self.figure && !self.faulty),
            () if self.word(at).starts_with("need") => all || always,
            () => always || not || !should,
        }
    }

    /// Returns whether a clause without "must" states what holds on: "belongs to", "all dates are UTC".
    fn is_lasting(&self, part: Range<usize>, all: bool, one: bool) -> bool {
        let lasting = self.has(part.clone(), Mark::Lasting);
        let always = self.find(part.clone(), Mark::Always);
        let belongs = self.has(part.clone(), Mark::Belongs);
        if lasting && (all || belongs || always.is_some()) || belongs && !one {
            return true;
        }
        // "comments always in English", "all times in UTC"
        let place = always.is_some_and(|at| self.is(at + 1, Mark::In));
        let short = part.len() <= 6;
        let form = self.is(part.start, Mark::In) && self.is(part.start + 1, Mark::Form);
        if !one && place && short || all && form {
            return true;
        }
        let be = self.find(part.clone(), Mark::Be);
        be.filter(|be| be + 1 < part.end).is_some_and(|be| {
            let plural = self.word(be) != "is" && !one;
            all && self.is_any(be + 1, &[Mark::In, Mark::Form])
                || plural && self.is(be + 1, Mark::Always)
        })
    }

    /// Returns the first word of a clause that does more than join.
    pub(super) fn first(&self, clause: &Range<usize>) -> usize {
        let mut words = clause.clone();
        words
            .find(|at| !self.marked.tokens[*at].joins)
            .unwrap_or(clause.end)
    }

    /// Returns whether what stands at `at` may be ordered: it is in the part, and neither an idiom nor a subject.
    pub(super) fn acts(&self, at: usize, part: &Range<usize>) -> bool {
        at < part.end
            && !self.marked.tokens[at].parted
            && !self.is_any(at, &PERSONS)
            && !self.is_any(at, &[Mark::Idle, Mark::The, Mark::Be])
    }

    /// Returns whether a word is one that agents are told to do.
    fn is_order(&self, at: usize) -> bool {
        self.is_any(at, &[Mark::Verb, Mark::Use, Mark::Keep, Mark::Leave])
    }

    /// Returns whether a word tells what happened.
    pub(super) fn is_past(&self, at: usize) -> bool {
        let word = self.word(at);
        let russian = word.len() > 8 && ["л", "ла", "ли"].iter().any(|end| word.ends_with(end));
        word.len() > 4 && word.ends_with("ed") || russian || self.is(at, Mark::Past)
    }

    /// Returns a word, or nothing behind the last one.
    pub(super) fn word(&self, at: usize) -> &str {
        self.marked.tokens.get(at).map_or("", |token| token.word)
    }

    pub(super) fn is(&self, at: usize, mark: Mark) -> bool {
        self.marked.is(at, mark)
    }

    pub(super) fn is_any(&self, at: usize, marks: &[Mark]) -> bool {
        marks.iter().any(|mark| self.is(at, *mark))
    }

    pub(super) fn has(&self, part: Range<usize>, mark: Mark) -> bool {
        self.marked.has(part, mark)
    }

    pub(super) fn has_any(&self, part: Range<usize>, marks: &[Mark]) -> bool {
        marks.iter().any(|mark| self.has(part.clone(), *mark))
    }

    pub(super) fn find(&self, part: Range<usize>, mark: Mark) -> Option<usize> {
        self.marked.find(part, mark)
    }

    fn find_any(&self, part: Range<usize>, marks: &[Mark]) -> Option<usize> {
        marks.iter().find_map(|mark| self.find(part.clone(), *mark))
    }
}

/// Who speaks in a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The user.
    User,
    /// Somebody else, or a document.
    Others,
    /// Somebody who demands something of the team.
    Demand,
    /// Somebody who says what "we" must not do.
    Forbids,
}
