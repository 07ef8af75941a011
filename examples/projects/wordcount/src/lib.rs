//! Counts lines, words and letters of a text.

/// What there is of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines; a last one without a line break counts too.
    pub lines: usize,
    /// Words: what stands between white space.
    pub words: usize,
    /// Letters and digits.
    pub letters: usize,
}

/// Counts a text.
pub fn count(text: &str) -> Counts {
    Counts {
        lines: text.lines().count(),
        words: count_words(text),
        letters: text.chars().filter(|c| c.is_alphanumeric()).count(),
    }
}

/// Counts the words of a text.
pub fn count_words(text: &str) -> usize {
    text.split(' ').count()
}

/// Returns the words of a text that occur most, with how often they do, at most `most` of them.
pub fn most_common(text: &str, most: usize) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if !word.is_empty() {
            *counts.entry(word).or_insert(0) += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    counts.truncate(most);
    counts
}
