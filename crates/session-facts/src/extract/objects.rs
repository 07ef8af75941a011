//! What a step is about, and whether something that is said or done later is about the same.
//!
//! Words count by how much they tell apart: names of code most, words of the matter less, words for what is done to
//! anything ("add", "test", "page") least. Beginnings of words are compared, as a report inflects the words of a plan.

use std::collections::BTreeSet;
use std::ops::Bound::{Included, Unbounded};
use std::sync::LazyLock;

use super::figures::is_filler_of_any_kind;
use super::names::Names;
use super::quantity::is_small;
use super::text::is_cjk;
use crate::phrases::Phrases;

/// How much of a word is compared, and the fewest letters of a beginning that stands for a longer word.
const STEM: usize = 6;
const BEGINNING: usize = 4;
/// What a word of the matter counts, and a name of code in addition.
const WORD: usize = 2;
const NAME: usize = 4;
/// How many words tell what a text without names says.
const LEAST: usize = 3;
/// The most words of a text that are compared.
const WORDS: usize = 256;

/// Words for what is done to anything, and for things that every project has.
static COMMON: Phrases = Phrases::named("steps.common");
/// The same where words are not parted by spaces.
static COMMON_CJK: Phrases = Phrases::named("steps.common_cjk");

/// Words that say that something is to be done, and when.
static PLANNING: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    static WORDS: Phrases = Phrases::named("steps.planning");
    WORDS.iter().copied().collect()
});

/// Returns whether words only say that something is to be done: "what is left".
pub(super) fn is_only_planning(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.all(|word| word.is_empty() || PLANNING.contains(word) || is_filler_of_any_kind(word))
}

/// How surely what is said later reports something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    /// It says that something is done.
    Done,
    /// It is a deed: a command that passed, a file that was written.
    Deed,
    /// It says how something is.
    State,
}

/// What a text is about.
#[derive(Debug, Clone, Default)]
pub(super) struct Objects {
    words: BTreeSet<String>,
    common: BTreeSet<String>,
    /// Short words and numbers: they tell nothing by themselves, but may be what a plan names.
    short: BTreeSet<String>,
    names: Names,
}

impl Objects {
    /// Returns what a sentence is about.
    pub(super) fn of(text: &str) -> Self {
        let mut objects = Self::of_words(text);
        objects.names = Names::of(text);
        objects
    }

    fn of_words(text: &str) -> Self {
        static COMMON_STEMS: LazyLock<BTreeSet<String>> =
            LazyLock::new(|| COMMON.iter().map(|word| stem(word)).collect());
        let mut objects = Self::default();
        let parts = text.split(|c: char| !c.is_alphanumeric());
        for part in parts.filter(|part| !part.is_empty()).take(WORDS) {
            if part.chars().any(is_cjk) {
                objects.add_cjk(part);
                continue;
            }
            let letters = part.chars().count();
            let marked = part.chars().all(|c| c.is_uppercase() || c.is_numeric());
            let part = part.to_lowercase();
            let telling = letters > 3 || letters > 1 && marked;
            if !telling || !part.chars().any(char::is_alphabetic) {
                objects.short.insert(part);
            } else if !is_filler_of_any_kind(&part) && !PLANNING.contains(part.as_str()) {
                let stem = stem(&part);
                match COMMON_STEMS.contains(&stem) {
                    true => objects.common.insert(stem),
                    false => objects.words.insert(stem),
                };
            }
        }
        objects
    }

    /// Adds pairs of characters that follow each other; kana that inflect are none.
    fn add_cjk(&mut self, part: &str) {
        let tells = |c: char| is_cjk(c) && !('\u{3040}'..='\u{309f}').contains(&c);
        for run in part.split(|c: char| !tells(c)) {
            let letters: Vec<char> = run.chars().take(WORDS).collect();
            for pair in letters.windows(2) {
                let pair: String = pair.iter().collect();
                if COMMON_CJK.contains(&pair.as_str()) {
                    self.common.insert(pair);
                } else {
                    self.words.insert(pair);
                }
            }
        }
        // "API" in a run of such characters.
        let latin = part.split(|c: char| !c.is_ascii_alphanumeric());
        let latin =
            latin.filter(|word| word.len() >= 3 && !word.bytes().all(|b| b.is_ascii_digit()));
        self.words
            .extend(latin.map(|word| stem(&word.to_lowercase())));
    }

    /// Returns whether what is told about `later` settles what is planned here.
    pub(super) fn is_settled_by(&self, later: &Self, tells: Tells) -> bool {
        // A command names files that no plan does.
        if tells != Tells::Deed && self.names.differ(&later.names) {
            return false;
        }
        let count = |own: &BTreeSet<String>| own.iter().filter(|word| later.has(word)).count();
        let (words, common) = (count(&self.words), count(&self.common));
        let named = self.names.meet(&later.names);
        let all = self.words.len() * WORD + self.common.len();
        let shared = words * WORD + common + if named { NAME } else { 0 };
        let least = if self.words.is_empty() { 1 } else { WORD };
        shared >= least
            && match tells {
                Tells::Done => shared * 5 >= all,
                Tells::Deed => (named || words > 0) && shared * 2 >= all,
                Tells::State => (named || words > 0) && shared * 4 >= all,
            }
    }

    /// Returns whether one word of the matter is in both.
    pub(super) fn touches(&self, later: &Self) -> bool {
        self.words.iter().any(|word| later.has(word)) || self.names.meet(&later.names)
    }

    /// Returns whether both have a short word that tells something: "ci".
    pub(super) fn touches_briefly(&self, later: &Self) -> bool {
        let tells = |word: &&String| word.chars().all(char::is_alphabetic) && !is_small(word);
        let mut shared = self.short.intersection(&later.short);
        shared.any(|word| tells(&word) && word.len() > 1)
    }

    /// Returns whether both name the same things in mostly the same words.
    pub(super) fn same(&self, other: &Self) -> bool {
        let shared = self.words.intersection(&other.words).count();
        shared > 0
            && shared * 5 >= self.words.union(&other.words).count() * 4
            && !self.names.differ(&other.names)
    }

    /// Returns whether a text about this says `fact`: it has all names and numbers, and all words but one in `spare`.
    pub(super) fn says(&self, fact: &Self, spare: usize) -> bool {
        let number = |word: &&String| word.contains(|c: char| c.is_ascii_digit());
        let (words, common) = (fact.words.iter(), fact.common.iter());
        let shared = words.chain(common).filter(|word| self.has(word)).count();
        let all = fact.words.len() + fact.common.len();
        (all >= LEAST || !fact.names.is_empty())
            && self.names.has_all(&fact.names)
            && fact
                .short
                .iter()
                .filter(number)
                .all(|number| self.short.contains(number))
            && all - shared <= all / spare
    }

    /// Returns whether it has the word, a longer form of it, or its beginning.
    fn has(&self, word: &str) -> bool {
        let begins = |set: &BTreeSet<String>| {
            let longer = set.range::<str, _>((Included(word), Unbounded)).next();
            let length = word.chars().count();
            longer.is_some_and(|it| it == word || length >= BEGINNING && it.starts_with(word))
        };
        begins(&self.words)
            || begins(&self.common)
            || self.short.contains(word)
            || word.char_indices().skip(BEGINNING).any(|(at, _)| {
                self.words.contains(&word[..at]) || self.common.contains(&word[..at])
            })
    }
}

/// Returns the beginning of a word, without the ending of a plural.
fn stem(word: &str) -> String {
    let word = match word.len() > 3 && word.is_ascii() && !word.ends_with("ss") {
        true => word.strip_suffix('s').unwrap_or(word),
        false => word,
    };
    // "bumping", "bumped"
    let bare = word.strip_suffix("ing").or(word.strip_suffix("ed"));
    let bare = bare.filter(|bare| bare.len() >= BEGINNING && bare.is_ascii());
    let stem = bare.unwrap_or(word).chars().take(STEM).collect::<String>();
    // "retry", "retries"
    match stem.strip_suffix('y') {
        Some(stem) => format!("{stem}i"),
        None => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::{Objects, Tells};

    #[track_caller]
    fn settles(step: &str, later: &str, tells: Tells) -> bool {
        Objects::of(step).is_settled_by(&Objects::of(later), tells)
    }

    #[test]
    fn a_report_is_about_a_step_in_other_forms_of_its_words() {
        let step = "We should rotate the staging certificates.";
        assert!(settles(step, "rotated the staging certs", Tells::Done));
        assert!(!settles(step, "The staging host is slow.", Tells::Deed));
        let step = "Next: port `color.c`";
        assert!(settles(step, "ported `color.c`", Tells::Done));
        assert!(!settles(step, "ported `shape.c`", Tells::Done));
    }

    #[test]
    fn pairs_of_characters_are_compared_where_words_are_not_parted() {
        assert!(settles(
            "下一步：给订单列表加分页。",
            "订单列表的分页已经完成。",
            Tells::Done
        ));
        assert!(!settles(
            "下一步：给订单列表加分页。",
            "登录页修复了。",
            Tells::Done
        ));
    }
}
