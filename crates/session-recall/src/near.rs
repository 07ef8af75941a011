//! Near misses: words of the session that are close to what was looked for and not found.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::terms::{Terms, fold};

/// How many different words of a session are compared.
const MOST_WORDS: usize = 100_000;

/// About how many bytes of a session are read for its words, and how many entries: short lines may stand for long ones.
pub(super) const MOST_BYTES: u64 = 4 << 20;
pub(super) const MOST_ENTRIES: usize = 8192;

/// The shortest and the longest word that is close to another, in characters.
const SHORTEST: usize = 3;
const LONGEST: usize = 60;

/// How many terms are looked up, and how many close words are named.
const MOST_TERMS: usize = 6;
const MOST_NAMED: usize = 6;

/// The words of a session, folded, with how many there are.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    words: HashMap<String, usize, BuildHasherDefault<DefaultHasher>>,
}

impl Vocabulary {
    /// Takes the words of a text in.
    pub fn add(&mut self, text: &str) {
        let folded = fold(text);
        for word in folded.split(|c: char| !c.is_alphanumeric() && c != '_') {
            let length = word.len();
            if !(SHORTEST..=LONGEST).contains(&length) {
                continue;
            }
            if let Some(count) = self.words.get_mut(word) {
                *count += 1;
            } else if self.words.len() < MOST_WORDS {
                self.words.insert(word.to_owned(), 1);
            }
        }
    }

    /// Returns the words that are closest to the terms, the closest first.
    pub fn near(&self, terms: &Terms) -> Vec<String> {
        let mut near: Vec<(usize, usize, &str)> = Vec::new();
        for term in terms.terms.iter().take(MOST_TERMS) {
            let parts = term.text.split(|c: char| !c.is_alphanumeric() && c != '_');
            for part in parts.filter(|part| (SHORTEST..=LONGEST).contains(&part.len())) {
                for (word, count) in &self.words {
                    if let Some(distance) = distance(part, word) {
                        near.push((distance, usize::MAX - count, word));
                    }
                }
            }
        }
        near.sort_unstable();
        let mut named: Vec<String> = Vec::new();
        for (_, _, word) in near {
            if named.len() < MOST_NAMED && !named.iter().any(|known| known == word) {
                named.push(word.to_owned());
            }
        }
        named
    }
}

/// Returns the paths whose file names are closest to that of `file`, the closest first.
pub(super) fn near_files(file: &str, paths: BTreeSet<String>) -> Vec<String> {
    let name = |path: &str| fold(path.rsplit('/').next().unwrap_or(path));
    let wanted = name(file);
    let near = paths.into_iter();
    let near = near.filter_map(|path| Some((distance(&wanted, &name(&path))?, path)));
    let mut near: Vec<(usize, String)> = near.collect();
    near.sort_unstable();
    near.truncate(MOST_NAMED);
    near.into_iter().map(|(_, path)| path).collect()
}

/// Returns how far a word is from a term, or `None` where it is not close.
fn distance(term: &str, word: &str) -> Option<usize> {
    let most = match term.len() {
        0..=3 => 0,
        4..=6 => 1,
        _ => 2,
    };
    if term.len().abs_diff(word.len()) <= most {
        let distance = strsim::osa_distance(term, word);
        if distance <= most {
            return Some(distance);
        }
    }
    let common = term.bytes().zip(word.bytes()).take_while(|(a, b)| a == b);
    let common = common.count();
    (common >= 4 && common * 5 >= term.len() * 3 && common * 2 >= word.len()).then_some(3)
}

#[cfg(test)]
mod tests {
    use super::Vocabulary;
    use crate::terms::Terms;

    #[test]
    fn close_words_are_those_of_few_changes_and_of_one_beginning() {
        let mut words = Vocabulary::default();
        words.add("retry_delay Retries retryable backoff bakcoff zebra compact compaction");
        // One long word is no word.
        words.add(&"x".repeat(100_000));
        let near = |query: &str| words.near(&Terms::of(query));
        assert_eq!(near("backof"), ["backoff"]);
        assert_eq!(near("backoff"), ["backoff", "bakcoff"]);
        assert_eq!(near("compacting"), ["compaction", "compact"]);
        assert_eq!(near("zbera"), ["zebra"]);
        assert_eq!(near("giraffe"), [""; 0]);
        assert_eq!(near(&"x".repeat(100_000)), [""; 0]);
    }
}
