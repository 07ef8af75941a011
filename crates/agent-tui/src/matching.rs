//! Which names match what is typed.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// Returns the places of the names that match, the best first; all in their order where nothing is looked for.
pub fn ranked(query: &str, names: &[impl AsRef<str>]) -> Vec<usize> {
    if query.is_empty() {
        return (0..names.len()).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut found: Vec<(u32, usize)> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let name = name.as_ref();
        let score = pattern.score(Utf32Str::new(name, &mut buffer), &mut matcher);
        // What begins so comes first.
        let begins = u32::from(name.starts_with(query)) * 1_000;
        found.extend(score.map(|score| (score + begins, place)));
    }
    found.sort_by_key(|(score, place)| (std::cmp::Reverse(*score), *place));
    found.into_iter().map(|(_, place)| place).collect()
}

#[cfg(test)]
mod tests {
    use super::ranked;

    #[test]
    fn names_that_begin_as_typed_come_first() {
        let names = ["recall", "context", "compact", "cost"];
        assert_eq!(ranked("rec", &names)[0], 0);
        assert_eq!(ranked("cpt", &names), [2]);
        assert_eq!(ranked("", &names), [0, 1, 2, 3]);
    }
}
