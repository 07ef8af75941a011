//! What a message speaks against: refusals, and what is named as not wanted.

use std::collections::BTreeSet;

use super::choice_words::REASONS;
use super::figures::Quantity;
use super::speech::spaced;

/// Returns whether a message of the user begins with a refusal.
pub(super) fn refuses(text: &str) -> bool {
    const REFUSALS: [&str; 16] = [
        " no ",
        " nope ",
        " nah ",
        " don't ",
        " do not ",
        " stop ",
        " revert ",
        " undo ",
        " wrong ",
        " that's wrong ",
        " not that ",
        " rather not ",
        " nein ",
        " non ",
        " nicht ",
        " wait no ",
    ];
    let opening: String = text.trim_start().chars().take(80).collect();
    let opening = spaced(&opening);
    REFUSALS.iter().any(|mark| opening.starts_with(mark))
        || text.trim_start().starts_with(['不', '别'])
}

/// What a rejected thing follows, where it is named.
const AGAINST: [&str; 26] = [
    " instead of ",
    " rather than ",
    " no longer ",
    " away from ",
    " switch from ",
    " switched from ",
    " switching from ",
    " drop ",
    " dropped ",
    " dropping ",
    " reverted ",
    " revert ",
    " rejected ",
    " abandoned ",
    " against ",
    " without ",
    " don't use ",
    " do not use ",
    " don't want ",
    " do not want ",
    " forget ",
    " scrap ",
    " skip ",
    " no ",
    " not ",
    " replace ",
];
/// How many words after it are looked at.
const AGAINST_WORDS: usize = 6;

/// Returns the telling words of what a sentence speaks against.
pub(super) fn turned_down(text: &str) -> BTreeSet<String> {
    let lower = spaced(text);
    let mut against = BTreeSet::new();
    for mark in AGAINST {
        for (at, _) in lower.match_indices(mark).take(8) {
            let rest = &lower[at + mark.len()..];
            let ends = REASONS
                .iter()
                .chain(&[" but ", " and ", " with ", " by ", " | "]);
            let end = ends.filter_map(|end| rest.find(end)).min();
            let words = rest[..end.unwrap_or(rest.len())]
                .split(' ')
                .take(AGAINST_WORDS);
            let words: Vec<_> = words.collect();
            against.extend(Quantity::of(&words.join(" ")).subjects);
        }
    }
    against
}
