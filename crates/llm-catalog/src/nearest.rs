//! Suggestions for a misspelt name.

/// The number of suggested names.
pub(super) const MOST: usize = 3;

/// Returns the names nearest to `asked`, three at most, best first: names that hold it, then names within a few edits.
pub fn nearest<'a>(asked: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let asked = asked.to_lowercase();
    // Short names are near to many.
    let limit = asked.chars().count() / 3;
    let mut found: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let edits = strsim::osa_distance(&asked, &lower);
            let holds = asked.chars().count() >= 2 && lower.contains(&asked);
            (holds || edits <= limit).then_some((if holds { 0 } else { edits }, name))
        })
        .collect();
    found.sort_unstable();
    let names = found
        .into_iter()
        .take(MOST)
        .map(|(_, name)| name.to_owned());
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_come_first() {
        let names = [
            "gpt-6.2-sol",
            "gpt-6.1-sol",
            "gpt-5.4-mini",
            "claude-opus-5-5",
        ];
        assert_eq!(
            nearest("gpt-6.2-sool", names),
            ["gpt-6.2-sol", "gpt-6.1-sol"]
        );
        assert_eq!(nearest("Opus", names), ["claude-opus-5-5"]);
        assert!(nearest("llama", names).is_empty());
        assert!(nearest("lab", ["xai", "zai"]).is_empty());
    }
}
