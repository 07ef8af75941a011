//! Which name was meant.

/// Returns the candidate that is nearest to a name that was mistyped or begun, if one is near.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let name = name.to_lowercase();
    let allowed = name.chars().count().div_ceil(4).min(3);
    let ranked = candidates.into_iter().filter_map(|candidate| {
        let lower = candidate.to_lowercase();
        let distance = edit_distance(&name, &lower);
        match distance <= allowed {
            true => Some((distance, candidate)),
            // A name that was begun comes after every one that was mistyped.
            false if name.len() >= 4 && lower.starts_with(&name) => Some((allowed + 1, candidate)),
            false => None,
        }
    });
    let nearest = ranked.min_by_key(|(distance, _)| *distance);
    nearest.map(|(_, candidate)| candidate)
}

/// Returns how many characters must be added, taken away, replaced or swapped with their neighbour.
fn edit_distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    // The rows of the table for the prefixes of `one` that are two shorter, one shorter, and as long.
    let mut older: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut now = vec![row + 1];
        for (column, against) in other.iter().enumerate() {
            let replaced = before[column] + usize::from(letter != against);
            let mut least = replaced.min(before[column + 1] + 1).min(now[column] + 1);
            let swapped =
                row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *against;
            if swapped {
                least = least.min(older[column - 1] + 1);
            }
            now.push(least);
        }
        older = std::mem::replace(&mut before, now);
    }
    before.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{edit_distance, nearest};

    #[test]
    fn distances_count_what_is_typed_wrong() {
        for (one, other, want) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abc", "abd", 1),
            ("kitten", "sitting", 3),
            ("größe", "grösse", 2),
        ] {
            assert_eq!(edit_distance(one, other), want, "{one} {other}");
        }
    }

    #[test]
    fn the_nearest_name_is_meant() {
        let names = ["enabled", "reserveTokens", "keepRecentTokens", "model"];
        let meant = |name| nearest(name, names);
        assert_eq!(meant("keepRecentToken"), Some("keepRecentTokens"));
        assert_eq!(meant("keeprecenttokens"), Some("keepRecentTokens"));
        assert_eq!(meant("enbaled"), Some("enabled"));
        assert_eq!(meant("reserve"), Some("reserveTokens"));
        assert_eq!(meant("models"), Some("model"));
        assert_eq!(meant("colour"), None);
        assert_eq!(meant("x"), None);
        assert_eq!(meant(""), None);
    }
}
