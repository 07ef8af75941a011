//! The words of a sentence, as the patterns of rules see them: a path or a name is one word, punctuation parts clauses.

use std::collections::BTreeSet;

/// A word, in lower case.
pub(super) struct Token<'a> {
    pub word: &'a str,
    /// True when it only joins clauses.
    pub joins: bool,
    /// True when punctuation stands before it.
    pub parted: bool,
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '\''
}

/// A stretch of characters that paths and names are made of, up to its last letter or digit. It is scanned a single
/// time, however many words it has.
#[derive(Default)]
struct Run {
    end: usize,
    /// Where it last has a character that only names have; a word up to there has it too.
    named: Option<usize>,
    /// Where the ending of a file name starts, at its dot.
    ending: Option<usize>,
}

impl Run {
    /// Returns the run that begins at `start`, which is a letter or digit.
    fn at(text: &str, start: usize) -> Self {
        let inner = |c: char| is_part(c) || matches!(c, '/' | '_' | '.' | '-' | ':' | '@');
        let run = text[start..]
            .split(|c| !inner(c))
            .next()
            .unwrap_or_default();
        let run = run.trim_end_matches(|c| !is_part(c));
        let named = run.rfind(['/', '_']).max(run.rfind("::"));
        let ending = run.rfind('.').filter(|dot| {
            let ending = &run[dot + 1..];
            (1..=5).contains(&ending.len())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        Self {
            end: start + run.len(),
            named: named.map(|at| start + at),
            ending: ending.map(|at| start + at),
        }
    }

    /// Returns the end of the word that begins at `start`: a path or a name as programs have them is one word.
    fn word_end(&self, text: &str, start: usize) -> usize {
        let is_name = self.named.is_some_and(|at| at >= start);
        let is_file = self.ending.is_some_and(|at| at > start + 1);
        match is_name || is_file {
            true => self.end,
            false => text[start..]
                .find(|c| !is_part(c))
                .map_or(text.len(), |length| start + length),
        }
    }
}

/// Returns the words of a sentence in lower case, each with whether it joins clauses.
pub(super) fn tokens<'a>(lower: &'a str, connectors: &BTreeSet<&'static str>) -> Vec<Token<'a>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut run = Run::default();
    let mut end = 0;
    while let Some(length) = lower[end..].find(is_part) {
        let start = end + length;
        let gap = &lower[end..start];
        let parted = gap.contains([',', '.', ':', ';', '(', '!', '?', '–', '—', '*', '，'])
            || gap.contains(" - ");
        if start >= run.end {
            run = Run::at(lower, start);
        }
        // An option of a program says nothing: "--always-pull".
        end = match gap.ends_with("--") {
            true => run.end,
            false => run.word_end(lower, start),
        };
        let word = lower[start..end].trim_matches('\'');
        let elided = word.strip_prefix("n'").filter(|verb| !verb.is_empty());
        if let Some(verb) = elided {
            tokens.push(Token {
                word: "n'",
                joins: false,
                parted,
            });
            tokens.push(Token {
                word: verb,
                joins: false,
                parted: false,
            });
        } else if !word.is_empty() {
            tokens.push(Token {
                word,
                joins: connectors.contains(word),
                parted,
            });
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

    use super::{Run, is_part, tokens};

    /// What `Run` must give for every word, found by reading the rest of the text for each of them.
    fn word_length(text: &str) -> usize {
        let plain = text.find(|c| !is_part(c)).unwrap_or(text.len());
        let inner = |c: char| is_part(c) || matches!(c, '/' | '_' | '.' | '-' | ':' | '@');
        let chunk = text.find(|c| !inner(c)).unwrap_or(text.len());
        let chunk = text[..chunk].trim_end_matches(|c| !is_part(c));
        let named = chunk.contains(['/', '_']) || chunk.contains("::");
        let file = chunk.rsplit_once('.').is_some_and(|(stem, ending)| {
            stem.len() > 1
                && (1..=5).contains(&ending.len())
                && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        match named || file {
            true => chunk.len(),
            false => plain,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_run_looked_at_once_gives_the_words_that_each_look_gives(
            text in "[ab1.:/_@' ,é-]{0,40}",
        ) {
            let mut run = Run::default();
            let mut end = 0;
            while let Some(length) = text[end..].find(is_part) {
                let start = end + length;
                if start >= run.end {
                    run = Run::at(&text, start);
                }
                end = run.word_end(&text, start);
                prop_assert_eq!(end - start, word_length(&text[start..]), "at {}", start);
            }
        }
    }

    /// Quadratic, these two would take minutes.
    #[test]
    fn a_megabyte_without_a_space_has_its_words() {
        let none = BTreeSet::new();
        let words = |text: &str| tokens(text, &none).len();
        assert_eq!(words(&"a:".repeat(500_000)), 500_000);
        assert_eq!(words(&"ab-c@d.".repeat(150_000)), 450_000);
    }
}
