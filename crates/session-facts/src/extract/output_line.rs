//! One line of what a command printed: how much it tells of what went wrong, and what it counts.
//!
//! The wording of programs differs, the shape of their lines does not: a place, a kind of error, and words that set
//! what is against what should be.

use super::error_shapes::{
    Level, bare, behind_place, exit_code_in, has_code, has_level_inside, level_of, mentions,
    names_error, names_file, names_program, opens_as_error, several_words, without_time,
};
use crate::phrases::Phrases;

/// How much of a line is looked at, in bytes.
const SEEN: usize = 600;
/// From this score on a line says what went wrong; below it, it says that or where.
pub(super) const TELLS: i32 = 4;

/// Words for things that are not as they should be.
static CONTRAST: Phrases = Phrases::named("signals.contrast");
/// Words of which lines consist that only sum up.
static SUMMING: Phrases = Phrases::named("signals.summing");
/// Words for what failed, as they stand next to a number.
static COUNTED: Phrases = Phrases::named("signals.counted");

/// A line of output.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputLine<'a> {
    /// The line without what only adorns it.
    text: &'a str,
    /// What stands behind the time, the place and the level that it begins with.
    message: &'a str,
    /// True where it begins with a file and a line.
    placed: bool,
    /// True where a cross marks it.
    crossed: bool,
    /// True where it is ticked off.
    ticked: bool,
    /// True for a line of a log: it begins with a time.
    timed: bool,
    /// True for a heading between two rules.
    banner: bool,
    level: Level,
}

impl<'a> OutputLine<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        let line = &line[..line.floor_char_boundary(SEEN)];
        let text = without_time(bare(line));
        let (mut message, mut placed, mut level) = (text, false, Level::Unsaid);
        // `file:3: error: ...`, `[error] file:3: ...`, `12:4  error  ...`.
        for _ in 0..3 {
            if let Some((found, rest)) = level_of(message).filter(|_| level == Level::Unsaid) {
                (level, message) = (found, rest);
            } else if let Some(rest) = behind_place(message).filter(|_| !placed) {
                (placed, message) = (true, rest);
            } else {
                break;
            }
        }
        Self {
            text,
            message,
            placed,
            crossed: line.trim_start().starts_with(['×', '✗', '✘', '✖', '❌']),
            ticked: line.trim_start().starts_with(['✓', '✔', '√', '✅']),
            timed: text.len() < bare(line).len(),
            banner: ["__", "==", "--", "!!"].iter().any(|rule| {
                let line = line.trim();
                line.starts_with(rule) && line.ends_with(rule)
            }),
            level,
        }
    }

    /// Returns how much the line tells of what went wrong; nothing is 0.
    pub(super) fn score(self) -> i32 {
        let text = self.text;
        if self.message.is_empty() {
            return i32::from(self.placed || self.level == Level::Error);
        }
        if self.is_aside() {
            return 0;
        }
        let states = self.states();
        if self.sums_up() {
            return i32::from(states || mentions(text));
        }
        let spaced = format!(" {} ", text.to_lowercase());
        let contrasts = i32::try_from(CONTRAST.count_in(&spaced, 2)).unwrap_or_default();
        let mut score = contrasts * 2;
        score += if states { 5 } else { i32::from(mentions(text)) };
        score += i32::from(self.placed && several_words(self.message)) * 3;
        score += i32::from(self.crossed) * 3;
        score += i32::from(has_code(text)) * 2;
        score += i32::from(text.contains(['\'', '"', '`', '“', '‘']));
        score += i32::from(names_program(text));
        let lonely = !self.message.trim().contains(' ') && !self.heads();
        score -= i32::from(self.banner) * 4;
        score -= i32::from(lonely) * 2;
        score -= i32::from(self.level == Level::Warning) * 2;
        // A line of a table, of code or of numbers is told by no word of an error.
        score.max(i32::from(
            states || contrasts > 0 || mentions(text) || names_file(text),
        ))
    }

    /// Returns whether it begins with an error and what that is, maybe behind a place.
    pub(super) fn states(self) -> bool {
        let text = self.message;
        self.level == Level::Error && text.chars().any(char::is_alphabetic)
            || opens_as_error(self.text)
            || names_error(self.text)
            || names_error(text)
            || has_level_inside(self.text)
    }

    /// Returns whether it names an error and says more of it, the shape of the last line of a trace.
    pub(super) fn names_error(self) -> bool {
        names_error(self.text)
    }

    /// Returns whether what it announces is on the next line.
    pub(super) fn heads(self) -> bool {
        let ends = self.text.trim_end();
        ends.ends_with(':')
            || self.message.trim().is_empty() && self.level == Level::Error
            || ends.ends_with(']') && self.level == Level::Error && !self.message.contains(' ')
    }

    /// Returns whether it only sums up what was said before it, or says that something ended.
    pub(super) fn sums_up(self) -> bool {
        static CLOSING: Phrases = Phrases::named("signals.closing");
        let text = self.text;
        if CLOSING.opens(text) || exit_code_in(text).is_some() {
            return true;
        }
        let (mut known, mut unknown) = (0_usize, 0_usize);
        for token in text.split_whitespace() {
            // What is quoted is something to be told.
            unknown += usize::from(token.starts_with(['`', '\'', '"', '[']));
            // What names something is no word.
            if token.contains(['/', '\\', '`', '\'', '"']) || token.matches('.').count() > 1 {
                continue;
            }
            let token = token.split('=').next().unwrap_or_default();
            let parts = token.split(|c: char| !c.is_alphabetic());
            for word in parts.filter(|word| !word.is_empty()) {
                let lower = word.to_lowercase();
                match () {
                    () if SUMMING.opens(&lower) => known += 1,
                    // Small words tell nothing, but `not` and `no` do.
                    () if word.len() < 4 && !lower.starts_with("no") => {}
                    () => unknown += 1,
                }
            }
        }
        known > 0 && known >= unknown * 2
    }

    /// Returns whether it tells alone that what it is about failed: it states an error, names a place and the code of
    /// what is wrong there, or sums up that something did not succeed.
    pub(super) fn tells_failure(self) -> bool {
        let told = self.text.contains(':') || !self.sums_up();
        let coded = self.placed && self.level != Level::Warning && has_code(self.message);
        let negated = self.text.contains(" not ") || self.text.contains("n't ");
        let failed = self.sums_up() && negated && (mentions(self.text) || self.succeeds());
        let failed = failed || self.states() && told || coded && several_words(self.message);
        // What a program logs while it works may be an error and no failure.
        failed && !self.timed && !self.is_aside() && !self.message.is_empty()
    }

    /// Returns whether it is nothing but a time or a place.
    pub(super) fn is_empty(self) -> bool {
        self.message.is_empty() && self.level == Level::Unsaid
    }

    /// Returns whether it quotes something, and says of it what does not fit.
    pub(super) fn disputes(self) -> bool {
        let quotes = self.text.contains(['\'', '"', '`']) && self.text.contains(": ")
            || names_program(self.text);
        quotes && !self.is_aside() && self.level != Level::Warning && self.score() > TELLS
    }

    /// Returns whether it says that something succeeded.
    pub(super) fn succeeds(self) -> bool {
        static SUCCESS: Phrases = Phrases::named("signals.success");
        SUCCESS.is_in(self.text)
    }

    /// Returns whether it says something by the way.
    pub(super) fn is_aside(self) -> bool {
        self.level == Level::Aside || self.is_frame() || self.is_source() || self.passed()
    }

    /// Returns how many things failed where the line sums that up.
    pub(super) fn counted_failures(self) -> Option<u64> {
        if !(self.sums_up() || self.text.contains('=')) {
            return None;
        }
        let lower = self.text.to_lowercase();
        let separates = |c: char| !(c.is_alphanumeric() || matches!(c, '.' | '%' | '/' | '_'));
        let mut tokens: Vec<(&str, &str)> = Vec::new();
        for token in lower.split_inclusive(separates) {
            let word = token.trim_end_matches(separates).trim_end_matches('.');
            let mark = &token[token.trim_end_matches(separates).len()..];
            match tokens.last_mut() {
                // `Failures: 1`: the mark next to the word tells.
                Some((_, known)) if word.is_empty() && known.trim().is_empty() => *known = mark,
                _ if word.is_empty() => {}
                _ => tokens.push((word, mark)),
            }
        }
        let number = |at: usize| match tokens.get(at)?.0 {
            "no" => Some(0),
            token => token.parse::<u64>().ok(),
        };
        let is_counted = |word: &str| COUNTED.opens(word) && word.chars().all(char::is_alphabetic);
        // Problems are errors and warnings: where both are counted, the errors tell.
        let fails = |word: &str| word.starts_with("fail") || word.starts_with("error");
        let plain = tokens.iter().any(|(word, _)| fails(word));
        let mut most = None;
        for (at, (word, mark)) in tokens.iter().enumerate() {
            if !is_counted(word) || plain && !fails(word) {
                continue;
            }
            let after = || number(at + 1).filter(|_| matches!(*mark, ":" | "="));
            let before = at.checked_sub(1).and_then(number);
            // `1 tests failed`, `0 unexpected failures`.
            let further = || {
                let at = at.checked_sub(2)?;
                let between = tokens.get(at + 1)?.0;
                number(at).filter(|_| SUMMING.opens(between) && !is_counted(between))
            };
            let passed = || at.checked_sub(1).is_some_and(|at| tokens[at].0 == "passed");
            let count = after()
                .or(before)
                .or_else(|| further().filter(|_| !passed()));
            most = most.max(count);
        }
        most
    }

    /// Returns whether it is one step of many on a stack.
    fn is_frame(self) -> bool {
        let text = self.text;
        let at = text
            .strip_prefix("at ")
            .or_else(|| text.strip_prefix("from "));
        at.is_some_and(|rest| rest.contains(['(', ':', '/']))
            || text.starts_with("File \"")
            || text.starts_with("goroutine ")
            || text.contains(" +0x")
            || self.placed && self.message.starts_with("in ") && !self.message.contains(": ")
    }

    /// Returns whether it shows a line of a source or a step of many: `12 | code`, `[3/9] Compiling error.c`.
    fn is_source(self) -> bool {
        let text = self.text;
        let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let numbered = digits.len() < text.len() && digits.trim_start().starts_with(['|', '│']);
        let inner = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let step = inner.is_some_and(|(inner, _)| {
            inner.bytes().any(|c| c.is_ascii_digit())
                && inner
                    .chars()
                    .all(|c| c.is_ascii_digit() || " /%".contains(c))
        });
        numbered || step
    }

    /// Returns whether it says that something is as it should be.
    fn passed(self) -> bool {
        let text = self.text;
        let opens = ["ok ", "PASS", "passed "];
        let ends = ["... ok", "... ignored", " PASSED", "Passed", " ok"];
        self.ticked
            || opens.iter().any(|mark| text.starts_with(mark))
            || ends.iter().any(|end| text.ends_with(end))
    }
}
