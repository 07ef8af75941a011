//! Orders that hold on: what forbids, what says "always", "every" or "only", and what is said of a case to come.

use std::ops::Range;

use super::rule_clauses::Reading;
use super::rule_marks::Mark;

/// What an order says that holds on.
const HOLDS: [Mark; 3] = [Mark::Every, Mark::Always, Mark::Only];

/// Who does something in a clause, so that it is no order.
const SUBJECTS: [Mark; 4] = [Mark::I, Mark::You, Mark::We, Mark::It];

impl Reading<'_> {
    /// Returns whether a clause is an order that holds on. `rest` is the clause behind it.
    pub(super) fn orders(&self, clause: &Range<usize>, rest: Option<&Range<usize>>) -> bool {
        let opening = self.first(clause);
        let lead = self.lead(opening);
        if lead.is_some_and(|length| self.holds_from(opening + length, clause, rest)) {
            return true;
        }
        let first = opening + lead.unwrap_or(0);
        let after = |mark| self.marked.length(first, mark).map(|length| first + length);
        if self.is(first, Mark::When) {
            return self.orders_for_a_case(first, clause);
        }
        if let Some(next) = after(Mark::Dont) {
            // "don't run it" is about what was just said.
            let it = next + 1 < clause.end && self.is(next + 1, Mark::It);
            let same = it && clause.start == 0 && !self.has_any(next..clause.end, &HOLDS);
            return !same && self.acts(next, clause) && self.may_be_ordered(next, clause);
        }
        if let Some(next) = after(Mark::Always) {
            // "... and always covers the button", "at no point do I ..."
            let joined = clause.start > 0 && !self.marked.tokens[clause.start].parted;
            let does = self.word(next).ends_with('s') && !self.word(next).ends_with("ss");
            let told = joined && does || self.is(next + 1, Mark::I) || self.is_past(next);
            return self.acts(next, clause) && !told;
        }
        if let Some(next) = after(Mark::Only) {
            // "nothing may be ..."; what nobody can do is told.
            if self.is(next, Mark::May) && self.word(next) != "can" {
                return !self.faulty;
            }
            let next = next + self.marked.length(next, Mark::Always).unwrap_or(0);
            let orders = self.is_any(next, &[Mark::Verb, Mark::Use]);
            return orders && self.acts(next, clause) && !self.is_past(next);
        }
        if let Some(next) = after(Mark::No) {
            let near = next..(next + 3).min(clause.end);
            let happens = self.has_any(near, &[Mark::Be, Mark::Past])
                || self.has(clause.clone(), Mark::Fault);
            return !happens && self.acts(next, clause) && self.may_be_ordered(next, clause);
        }
        if after(Mark::Leave).is_some_and(|next| self.has(next..clause.end, Mark::Lasting)) {
            return true;
        }
        if let Some(next) = after(Mark::Stop) {
            return next < clause.end && self.word(next).ends_with("ing");
        }
        if let Some(next) = after(Mark::Keep) {
            let joined = rest.is_some_and(|rest| !self.marked.tokens[rest.start].parted);
            let words = clause.end.saturating_sub(next);
            let one = self.is(next, Mark::The) || self.word(next) == "it";
            return match words {
                0 => joined,
                1 => false,
                2 => !one && self.acts(next, clause),
                _ => one || self.acts(next, clause),
            };
        }
        if after(Mark::Use).is_some_and(|next| self.acts(next, clause)) {
            return true;
        }
        if let Some(next) = after(Mark::Verb).or(after(Mark::Use)) {
            let soon = next..(next + 2).min(clause.end);
            // "make the header always visible" is one change.
            let one = self.is(first, Mark::Makes) && self.is(next, Mark::The);
            let marks = if one { &HOLDS[..1] } else { &HOLDS };
            let holds = !self.is(next, Mark::It) && self.has_any(next..clause.end, marks);
            return holds
                || self.has_any(soon, &[Mark::Not, Mark::No])
                || next < clause.end && rest.is_some_and(|rest| self.contrasts(rest));
        }
        after(Mark::Wants).is_some_and(|next| self.wants(clause.start..next))
    }

    /// Returns how many words lead over to an order that holds on: "from now on", "before every".
    fn lead(&self, at: usize) -> Option<usize> {
        let joins = self.is_any(at, &[Mark::When, Mark::In]) && self.is(at + 1, Mark::Every);
        let lead = self.marked.length(at, Mark::Lead);
        lead.or(joins.then_some(2))
    }

    /// Returns whether an order follows such words, in their clause or behind it: "for every change: ..."
    fn holds_from(&self, at: usize, clause: &Range<usize>, rest: Option<&Range<usize>>) -> bool {
        let told = [Mark::It, Mark::I, Mark::The];
        let then = rest.map_or(at, |rest| self.first(rest));
        let every = !self.is(self.first(clause), Mark::Lead);
        !(self.is_any(at, &told) || self.is_any(then, &told) || every && self.faulty)
    }

    /// Returns whether a clause that opens with "when" is about any case, or ends in an order: "when you change a ...",
    /// "whatever happens don't ..."
    fn orders_for_a_case(&self, first: usize, clause: &Range<usize>) -> bool {
        let what = first + 3;
        let any = matches!(self.word(what), "a" | "an") || self.is(what, Mark::Every);
        let does = self.is_any(first + 2, &[Mark::Verb, Mark::Use]);
        let ordered = |mark| {
            let at = self.find(first + 2..clause.end, mark)?;
            let next = at + self.marked.length(at, mark)?;
            (!self.is_any(at - 1, &SUBJECTS) && self.acts(next, clause)).then_some(next)
        };
        self.is(first + 1, Mark::You) && does && any
            || ordered(Mark::Dont).is_some()
            || ordered(Mark::Only).is_some_and(|next| self.is(next, Mark::Verb))
    }

    /// Returns whether a short clause says what is not meant: "use tabs, not spaces".
    fn contrasts(&self, rest: &Range<usize>) -> bool {
        let marks = [Mark::Always, Mark::Not, Mark::No, Mark::Only];
        rest.len() <= 4 && self.is_any(self.first(rest), &marks)
    }

    /// Returns whether what the user wants holds on; `words` say that something is wanted.
    fn wants(&self, words: Range<usize>) -> bool {
        let (next, end) = (words.end, self.marked.tokens.len());
        let forbids = self.has(words, Mark::Dont) && !self.is(next, Mark::The);
        let ordered = self.is_any(next, &[Mark::Keep, Mark::Use, Mark::Always]);
        // "I want to ..." is about the user.
        next < end
            && self.word(next) != "to"
            && (forbids || ordered || self.has_any(next..end, &HOLDS))
    }

    /// Returns whether a verb behind "not" can be an order, where endings tell: in Spanish, Portuguese and Russian.
    fn may_be_ordered(&self, at: usize, clause: &Range<usize>) -> bool {
        const SPANISH: [&str; 10] = [
            "el", "la", "los", "las", "una", "lo", "del", "al", "me", "se",
        ];
        let word = self.word(at);
        let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
        match self.word(at - 1) {
            "no" => {
                let mut words = self.marked.tokens[clause.clone()].iter();
                ends(&["es", "as"]) || !words.any(|token| SPANISH.contains(&token.word))
            }
            "não" => !ends(&["o", "i", "u"]),
            "не" => ends(&["й", "и", "ь", "те"]),
            _ => true,
        }
    }
}
