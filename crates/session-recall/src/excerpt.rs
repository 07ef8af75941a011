//! Excerpts: what stands around the best places of a text, with its line breaks.

use serde::Serialize;

use crate::terms::Place;

/// A piece of the text of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// Where it begins, in characters: reading goes on from here.
    pub offset: usize,
    /// The piece.
    pub text: String,
}

/// Excerpts that are not further apart, in bytes, are one.
const NEAR: usize = 24;

/// The most places that are compared.
const MOST_PLACES: usize = 400;

/// Returns at most `most` excerpts of about `width` bytes around the best places, in their order. Without places it is
/// the beginning.
pub(super) fn excerpts(text: &str, places: &[Place], width: usize, most: usize) -> Vec<Excerpt> {
    if text.len() <= width || places.is_empty() {
        return vec![piece(text, 0, text.floor_char_boundary(width))];
    }
    let places = &places[..places.len().min(MOST_PLACES)];
    let mut windows: Vec<(f64, usize, usize)> = Vec::new();
    for (number, place) in places.iter().enumerate() {
        let until = place.start + width * 3 / 4;
        let near = places[number..].iter().take_while(|it| it.end <= until);
        let mut best: Vec<(usize, f64)> = Vec::new();
        let mut last = place.end;
        for it in near {
            match best.iter_mut().find(|(term, _)| *term == it.term) {
                Some((_, strength)) => *strength = strength.max(it.strength),
                None => {
                    best.push((it.term, it.strength));
                    last = last.max(it.end);
                }
            }
        }
        let value = best.iter().map(|(_, strength)| strength).sum();
        windows.push((value, place.start, last));
    }
    windows.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let least = windows.first().map_or(0.0, |best| best.0 / 2.0);
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for (value, start, end) in windows {
        let (start, end) = window(text, start, end, width);
        let is_apart = taken.iter().all(|(from, to)| end <= *from || *to <= start);
        if taken.len() < most && value >= least && is_apart {
            taken.push((start, end));
        }
    }
    taken.sort_unstable();
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    for (start, end) in taken {
        match pieces.last_mut() {
            Some(before) if start <= before.1.saturating_add(NEAR) => before.1 = end,
            _ => pieces.push((start, end)),
        }
    }
    let pieces = pieces.into_iter();
    pieces.map(|(start, end)| piece(text, start, end)).collect()
}

/// Returns the window of about `width` bytes with `start` to `end` in its middle. It begins and ends with a line where
/// one does nearby.
fn window(text: &str, start: usize, end: usize, width: usize) -> (usize, usize) {
    let around = width.saturating_sub(end - start) / 2;
    let from = text.floor_char_boundary(start.saturating_sub(around));
    let to = text.ceil_char_boundary(end.saturating_add(around).min(text.len()));
    let from = match text[from..start].find('\n') {
        Some(line) if from > 0 => from + line + 1,
        _ => from,
    };
    let to = match text[end..to].rfind('\n') {
        Some(line) if to < text.len() => end + line,
        _ => to,
    };
    (from, to)
}

/// Returns the piece between two places, without white space at its ends.
fn piece(text: &str, from: usize, to: usize) -> Excerpt {
    let piece = &text[from..to];
    let begun = piece.trim_start_matches(['\n', '\r']);
    let from = to - begun.len();
    Excerpt {
        offset: text[..from].chars().count(),
        text: begun.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Excerpt, excerpts};
    use crate::terms::{Terms, fold};

    fn cut(text: &str, query: &str, width: usize, most: usize) -> Vec<Excerpt> {
        let places = Terms::of(query).places(text, &fold(text));
        excerpts(text, &places, width, most)
    }

    #[test]
    fn excerpts_stand_around_their_places_and_keep_lines() {
        let filler = "something else\n".repeat(40);
        let text =
            format!("{filler}before\nthe needle is here\nafter\n{filler}a needle again\n{filler}");
        let found = cut(&text, "needle", 60, 3);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].text.contains("before\nthe needle is here\nafter"));
        for excerpt in &found {
            let rest: String = text.chars().skip(excerpt.offset).collect();
            assert!(rest.starts_with(&excerpt.text), "{excerpt:?}");
            assert!(excerpt.text.len() <= 70, "{excerpt:?}");
        }
    }

    #[test]
    fn excerpts_that_meet_are_one() {
        let text = "many words follow here, ".repeat(40);
        let found = cut(&text, "words", 60, 3);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].text.len() > 100, "{found:?}");
    }

    #[test]
    fn the_place_with_most_terms_close_by_is_the_best() {
        let text = format!("alpha {} alpha beta {}", "x ".repeat(400), "y ".repeat(400));
        let found = cut(&text, "alpha beta", 80, 1);
        assert!(found[0].text.contains("alpha beta"), "{found:?}");
    }

    #[test]
    fn a_long_word_is_cut_between_characters() {
        let text = format!("{}needle{}", "é".repeat(50_000), "é".repeat(50_000));
        let found = cut(&text, "needle", 101, 3);
        assert_eq!(found.len(), 1);
        assert!(found[0].text.contains("needle") && found[0].text.len() <= 110);
        assert!((49_900..50_000).contains(&found[0].offset));
        assert_eq!(cut("short", "nothing", 100, 3)[0].text, "short");
    }
}
