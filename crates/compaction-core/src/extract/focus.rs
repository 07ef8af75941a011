//! The search for sentences that speak of what the user asked to watch for.

use super::facts::{Focus, Item};
use super::text::{Sentence, one_line, words};

/// The search for sentences that speak of what the user asked to watch for.
pub(super) struct FocusSearch {
    words: String,
    wanted: Vec<String>,
    /// How many wanted words, the place, the sentence.
    found: Vec<(usize, usize, Item)>,
}

impl FocusSearch {
    /// Returns the search for `focus`.
    pub(super) fn new(focus: &str) -> Self {
        const FILLERS: [&str; 14] = [
            "with",
            "that",
            "about",
            "focus",
            "please",
            "keep",
            "especially",
            "important",
            "remember",
            "this",
            "from",
            "everything",
            "details",
            "summary",
        ];
        let long = |word: &String| {
            let length = word.chars().count();
            (length >= 4 || (!word.is_ascii() && length >= 2)) && !FILLERS.contains(&word.as_str())
        };
        let wanted = words(focus).into_iter().filter(long).collect();
        let words = one_line(focus, 120);
        Self {
            words,
            wanted,
            found: Vec::new(),
        }
    }

    /// Looks through one message.
    pub(super) fn look(&mut self, said: &[Sentence], id: &str) {
        if self.wanted.is_empty() {
            return;
        }
        for sentence in said {
            let lower = sentence.text.to_lowercase();
            let hits = self
                .wanted
                .iter()
                .filter(|word| lower.contains(word.as_str()))
                .count();
            if hits > 0 {
                let item = Item {
                    text: one_line(&sentence.text, 240),
                    id: id.to_owned(),
                };
                self.found.push((hits, self.found.len(), item));
            }
        }
    }

    /// Returns the best sentences, in the order in which they were said.
    pub(super) fn finish(mut self) -> Focus {
        self.found
            .sort_by_key(|(hits, place, _)| (std::cmp::Reverse(*hits), std::cmp::Reverse(*place)));
        self.found.truncate(40);
        self.found.sort_by_key(|(_, place, _)| *place);
        let lines = self.found.into_iter().map(|(_, _, item)| item).collect();
        Focus {
            words: self.words,
            lines,
        }
    }
}
