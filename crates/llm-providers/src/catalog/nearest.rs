//! What somebody who misspelt a name may have meant.

/// How many names are suggested.
pub(super) const MOST: usize = 3;

/// Returns the names nearest to `asked`, best first: names that hold it, then names within a few edits.
pub(super) fn nearest<'a>(asked: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let asked = asked.to_lowercase();
    let limit = (asked.chars().count() / 3).max(2);
    let mut found: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let edits = edit_distance(&asked, &lower);
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

/// Returns how many characters must be put in, taken out or replaced to make `one` of `other`.
fn edit_distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, left) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, right) in other.iter().enumerate() {
            let replaced = corner + usize::from(left != *right);
            corner = row[column + 1];
            row[column + 1] = replaced.min(corner + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::{edit_distance, nearest};

    #[test]
    fn edits_are_counted() {
        let counted = [
            ("", ""),
            ("", "abc"),
            ("abc", ""),
            ("kitten", "sitting"),
            ("abc", "acb"),
        ]
        .map(|(one, other)| edit_distance(one, other));
        assert_eq!(counted, [0, 3, 3, 3, 2]);
    }

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
    }
}
