//! Lists of phrases in the languages of users and models. Each language is one file of `data/`, with its phrases by the
//! name of their list; a further language needs no code but its line in [`LANGUAGES`].

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};

/// The phrases of each language, by the names of lists, and the words that programs and tools are told by.
static LANGUAGES: LazyLock<Vec<BTreeMap<&str, Vec<&str>>>> = LazyLock::new(|| {
    let files = [
        include_str!("../data/en.json"),
        include_str!("../data/de.json"),
        include_str!("../data/fr.json"),
        include_str!("../data/es.json"),
        include_str!("../data/pt.json"),
        include_str!("../data/ru.json"),
        include_str!("../data/cjk.json"),
        include_str!("../data/programs.json"),
    ];
    let languages = files.into_iter().map(serde_json::from_str);
    languages.map(Result::unwrap_or_default).collect()
});

/// A list of phrases in all languages, in the order of the languages.
pub struct Phrases {
    name: &'static str,
    phrases: OnceLock<Vec<&'static str>>,
    /// Finds all of them in one pass, and the same whatever the case of ASCII letters.
    finder: OnceLock<Option<AhoCorasick>>,
    any_case: OnceLock<Option<AhoCorasick>>,
}

impl Phrases {
    /// Returns the list of this name.
    pub const fn named(name: &'static str) -> Self {
        Self {
            name,
            phrases: OnceLock::new(),
            finder: OnceLock::new(),
            any_case: OnceLock::new(),
        }
    }

    fn finder(&self, any_case: bool) -> Option<&AhoCorasick> {
        let cell = if any_case {
            &self.any_case
        } else {
            &self.finder
        };
        let finder = cell.get_or_init(|| {
            let mut builder = AhoCorasick::builder();
            builder.match_kind(MatchKind::LeftmostFirst);
            builder.ascii_case_insensitive(any_case);
            builder.start_kind(StartKind::Both);
            builder.build(self.iter()).ok()
        });
        finder.as_ref()
    }

    /// Returns whether one of them is in a text.
    pub fn is_in(&self, text: &str) -> bool {
        self.finder(false).is_some_and(|it| it.is_match(text))
    }

    /// Returns the same, whatever the case of the ASCII letters in the text.
    pub fn is_in_any_case(&self, text: &str) -> bool {
        self.finder(true).is_some_and(|it| it.is_match(text))
    }

    /// Returns how many are in a text, at most `most`.
    pub fn count_in(&self, text: &str, most: usize) -> usize {
        let finder = self.finder(false);
        finder.map_or(0, |it| it.find_iter(text).take(most).count())
    }

    /// Returns whether a text begins with one of them.
    pub fn opens(&self, text: &str) -> bool {
        let start = Input::new(text).anchored(Anchored::Yes);
        self.finder(false)
            .is_some_and(|it| it.find(start).is_some())
    }

    /// Returns where the first of them is in a text.
    pub fn first_in(&self, text: &str) -> Option<usize> {
        Some(self.finder(false)?.find(text)?.start())
    }
}

impl Deref for Phrases {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        self.phrases.get_or_init(|| {
            let lists = LANGUAGES.iter().filter_map(|lists| lists.get(self.name));
            lists.flatten().copied().collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LANGUAGES;

    #[test]
    fn every_file_of_phrases_can_be_read() {
        assert!(LANGUAGES.iter().all(|lists| !lists.is_empty()));
    }

    /// English has all lists that other languages fill, those of scripts without spaces aside.
    #[test]
    fn names_of_lists_are_written_alike() {
        let languages = LANGUAGES.len() - 1;
        for lists in LANGUAGES.iter().take(languages) {
            for name in lists.keys() {
                let known = LANGUAGES[0].contains_key(name);
                let own = name.contains("cjk");
                assert!(known || own, "{name}");
            }
        }
    }
}
