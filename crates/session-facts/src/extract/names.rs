//! Names of code in what is said: paths, identifiers, modules. They tell one thing from another that is said in the
//! same words.

use std::collections::BTreeSet;

/// How many names of a text are compared, and the longest that counts, in bytes.
const NAMES: usize = 32;
const LONGEST: usize = 200;

/// The names in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Returns the names in a text, each also by its last part: `flushes` for `parse::tests::flushes`.
    pub(super) fn of(text: &str) -> Self {
        let apart = |c: char| {
            c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ',' | ';' | '(' | ')' | '[' | ']')
        };
        let mut names = BTreeSet::new();
        let found = text.split(apart).map(bare).filter(|word| is_name(word));
        for name in found.take(NAMES) {
            let last = name.rsplit(['/', ':']).next().unwrap_or(name);
            if is_name(last) {
                names.insert(last.to_lowercase());
            }
            names.insert(name.to_lowercase());
        }
        Self(names)
    }

    /// Returns true where both texts name something, and nothing in common.
    pub(super) fn differ(&self, other: &Self) -> bool {
        !self.0.is_empty() && !other.0.is_empty() && self.0.is_disjoint(&other.0)
    }

    /// Returns true where a text names nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true where all that the other text names is named here.
    pub(super) fn has_all(&self, other: &Self) -> bool {
        other.0.is_subset(&self.0)
    }

    /// Returns true where both texts name the same thing.
    pub(super) fn meet(&self, other: &Self) -> bool {
        !self.0.is_disjoint(&other.0)
    }
}

/// Returns a word without the punctuation around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '/')))
        .trim_end_matches('/')
}

/// Returns true for what no word of a language looks like: parts joined by marks, or a number at the end of letters.
fn is_name(word: &str) -> bool {
    let joined = word.contains(['_', '/']) || word.contains("::");
    let dotted = word.split_once('.').is_some_and(|(name, end)| {
        name.chars().count() > 1 && end.starts_with(char::is_alphabetic)
    });
    let numbered = word.ends_with(|c: char| c.is_ascii_digit());
    word.len() <= LONGEST
        && word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '/'))
        && (joined || dotted || numbered)
}

/// Returns what a sentence names that can be looked up: paths, addresses, code, names as programs have them, numbers.
pub(super) fn looked_up(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split('`').skip(1).step_by(2);
    let words = text.split(|c: char| c.is_whitespace() || "`，。：；、（）".contains(c));
    let words = words.filter(|word| can_be_looked_up(word));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    code.filter(|code| !code.trim().is_empty()).chain(words)
}

/// Returns whether a sentence names something that can be looked up.
pub fn names_something(text: &str) -> bool {
    looked_up(text).next().is_some()
}

fn can_be_looked_up(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let inner = |mark: char| {
        let mut parts = word.split(mark);
        parts.clone().count() > 1 && parts.all(|part| part.chars().any(char::is_alphanumeric))
    };
    let letters = |part: &str| part.len() >= 2 && part.chars().all(|c| c.is_ascii_alphanumeric());
    let path = inner('/') && (word.matches('/').count() > 1 || word.contains(['.', '_', '-']));
    let ending = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        letters(ending)
            && ending.len() <= 6
            && stem.chars().any(char::is_alphabetic)
            && stem.len() > 1
    });
    let humps = {
        let pairs = word.as_bytes().windows(2);
        let mut humps =
            pairs.filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        humps.next().is_some()
    };
    path || inner('_')
        || ending
        || humps
        || word.contains("::")
        || word.contains("://")
        || has_digits(word)
}

/// Returns whether a word has digits that mean something: with letters, with a point inside, or three and more.
fn has_digits(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    digits > 0 && (letters || digits > 2 || word.contains(['.', ':']))
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_tell_things_apart_that_are_said_alike() {
        let step = Names::of("Next: drop the shim around mail_client7.");
        assert!(step.differ(&Names::of("drop the shim around `user_feed`")));
        assert!(!step.differ(&Names::of("the shim around mail_client7 is gone")));
        assert!(!step.differ(&Names::of("dropped the shim")));
    }

    #[test]
    fn a_name_is_met_by_its_last_part() {
        let report = Names::of("`parse::lines::tests::flushes_when_idle` is still red.");
        assert!(report.meet(&Names::of("`flushes_when_idle` is green")));
        assert!(!report.meet(&Names::of("`joins_when_idle` is green")));
        assert!(Names::of("src/a/mod.rs").meet(&Names::of("(see src/a/mod.rs)")));
    }

    #[test]
    fn words_and_figures_are_no_names() {
        assert_eq!(
            Names::of("It takes 30s, e.g. 4 of 5; not done."),
            Names::default()
        );
    }
}
