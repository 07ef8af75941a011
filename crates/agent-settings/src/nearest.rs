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
        let distance = strsim::osa_distance(&name, &lower);
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

#[cfg(test)]
mod tests {
    use super::nearest;

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
