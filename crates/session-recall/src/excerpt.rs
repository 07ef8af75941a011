//! Excerpts: what stands around the best places of a text, with its line breaks.

use std::ops::Range;

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

/// The most places of one term that are compared.
const MOST_PLACES: usize = 100;

/// What stands where a text is cut.
pub(super) const CUT: &str = "\u{2026}";

/// Returns at most `most` excerpts of about `width` bytes around the best places, in their order, and about `end` bytes of
/// the end; `weights` says how much each term counts. The best one has the term that counts most in its middle. Without
/// places it is the beginning.
pub(super) fn excerpts(
    text: &str,
    places: &[Place],
    weights: &[f64],
    [width, end]: [usize; 2],
    most: usize,
) -> Vec<Excerpt> {
    let weight = |term: usize| weights.get(term).copied().unwrap_or(1.0);
    let terms = places.iter().map(|place| place.term);
    let main = terms.max_by(|one, other| weight(*one).total_cmp(&weight(*other)));
    let Some(main) = main.filter(|_| text.len() > width + end) else {
        return vec![piece(text, 0, word_end(text, width + end))];
    };
    let mut counts = vec![0; weights.len().max(main + 1)];
    let mut windows: Vec<(bool, f64, [usize; 3])> = Vec::new();
    for place in places {
        counts[place.term] += 1;
        if counts[place.term] > MOST_PLACES {
            continue;
        }
        let from = place.start.saturating_sub(width / 4);
        let until = place.start + width * 2 / 3;
        let first = places.partition_point(|it| it.start < from);
        let near = places[first..].iter().take_while(|it| it.start < until);
        let mut best: Vec<(usize, f64)> = Vec::new();
        let (mut start, mut end, mut middle) = (place.start, place.end, place.start);
        for it in near.filter(|it| it.end <= until) {
            let value = it.strength * weight(it.term);
            match best.iter_mut().find(|(term, _)| *term == it.term) {
                Some((_, most)) => *most = most.max(value),
                None => {
                    best.push((it.term, value));
                    (start, end) = (start.min(it.start), end.max(it.end));
                    if it.term == main {
                        middle = it.start;
                    }
                }
            }
        }
        let value = best.iter().map(|(_, value)| value).sum();
        let has_main = best.iter().any(|(term, _)| *term == main);
        windows.push((has_main, value, [start, middle, end]));
    }
    windows.sort_by(|one, other| {
        let by_value = other.1.total_cmp(&one.1).then(one.2[0].cmp(&other.2[0]));
        other.0.cmp(&one.0).then(by_value)
    });
    let least = windows.first().map_or(0.0, |best| best.1 / 2.0);
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for (_, value, [start, middle, end]) in windows {
        let (start, end) = window(text, start..end, middle, width);
        let is_apart = taken.iter().all(|(from, to)| end <= *from || *to <= start);
        if taken.len() < most && value >= least && is_apart {
            taken.push((start, end));
        }
    }
    if end > 0 {
        let from = text.ceil_char_boundary(text.len() - end);
        taken.push((first_word(text, from, text.len()), text.len()));
    }
    taken.sort_unstable();
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    for (start, end) in taken {
        match pieces.last_mut() {
            Some(before) if start <= before.1.saturating_add(NEAR) => before.1 = before.1.max(end),
            _ => pieces.push((start, end)),
        }
    }
    let pieces = pieces.into_iter();
    pieces.map(|(start, end)| piece(text, start, end)).collect()
}

/// Returns the beginning of a text, in about `width` bytes.
pub(super) fn start(text: &str, width: usize) -> String {
    let end = word_end(text, width);
    let cut = if end < text.len() { CUT } else { "" };
    format!("{}{cut}", text[..end].trim_end())
}

/// Returns the beginning and the end of a text, in about `width` bytes.
pub(super) fn both_ends(text: &str, width: usize) -> String {
    if text.len() <= width {
        return text.to_owned();
    }
    let begin = &text[..word_end(text, width / 3)];
    let from = text.ceil_char_boundary(text.len() - width * 2 / 3);
    let end = &text[first_word(text, from, text.len())..];
    format!("{}{CUT}\n{CUT}{}", begin.trim_end(), end.trim_start())
}

/// Returns where the words that begin in the first `width` bytes end, if one does nearby.
fn word_end(text: &str, width: usize) -> usize {
    let end = text.floor_char_boundary(width);
    last_word(text, text.floor_char_boundary(end / 2), end)
}

/// Returns where the last word that is whole before `to` ends, if one does behind `from`.
pub(super) fn last_word(text: &str, from: usize, to: usize) -> usize {
    let is_end = to == text.len() || text[to..].starts_with(char::is_whitespace);
    let blank = text[from..to].rfind(char::is_whitespace);
    blank.filter(|_| !is_end).map_or(to, |at| from + at)
}

/// Returns where the first word that is whole behind `from` begins, if one does before `to`.
pub(super) fn first_word(text: &str, from: usize, to: usize) -> usize {
    let is_start = text[..from]
        .chars()
        .next_back()
        .is_none_or(char::is_whitespace);
    let blank = text[from..to].find(char::is_whitespace);
    blank.filter(|_| !is_start).map_or(from, |at| from + at)
}

/// Returns the window of about `width` bytes that has all of `inner` and, as far as it can, `middle` in its middle. It
/// begins and ends with a line where that costs little, else with a word.
fn window(text: &str, inner: Range<usize>, middle: usize, width: usize) -> (usize, usize) {
    let Range { start, end } = inner;
    let least = end.saturating_sub(width).min(start);
    let from = middle.saturating_sub(width / 2).clamp(least, start);
    let from = text.floor_char_boundary(from.min(text.len().saturating_sub(width)));
    let to = text.ceil_char_boundary(from.saturating_add(width).clamp(end, text.len()));
    let little = width / 6;
    let line = text[from..start].find('\n').map(|line| from + line + 1);
    let from = match line.filter(|line| from > 0 && line - from <= little) {
        Some(line) => line,
        None => first_word(text, from, start),
    };
    let line = text[end..to].rfind('\n').map(|line| end + line);
    let to = match line.filter(|line| to < text.len() && to - line <= little) {
        Some(line) => line,
        None => last_word(text, end, to),
    };
    (from, to)
}

/// Returns the piece between two places, without white space at its ends.
fn piece(text: &str, from: usize, to: usize) -> Excerpt {
    let piece = &text[from..to];
    let is_line = text[..from].chars().next_back().is_none_or(|it| it == '\n');
    let begun = match is_line {
        true => piece.trim_start_matches(['\n', '\r']),
        false => piece.trim_start(),
    };
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
        excerpts(text, &places, &[], [width, 0], most)
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
    fn excerpts_end_at_words() {
        let text =
            "considerable amounts of wording around a needle in considerable haystacks ".repeat(9);
        for width in 30..120 {
            for excerpt in cut(&text, "needle", width, 2) {
                let words = excerpt.text.split_whitespace();
                let known = |word: &str| text.split_whitespace().any(|it| it == word);
                assert!(words.clone().all(known), "{width}: {excerpt:?}");
            }
            let ends = super::both_ends(&text, width).replace('\u{2026}', " ");
            assert!(
                ends.split_whitespace().all(|word| text.contains(word)),
                "{ends}"
            );
        }
    }

    #[test]
    fn the_term_that_counts_most_is_shown_however_often_another_occurs() {
        let lines: String = (1..=900).map(|n| format!("line {n}\n")).collect();
        let places = Terms::of("line 700").places(&lines, &fold(&lines));
        let found = excerpts(&lines, &places, &[0.1, 5.0], [60, 0], 1);
        assert!(found[0].text.contains("line 700\n"), "{found:?}");
    }

    #[test]
    fn the_rarest_term_is_in_the_middle_whatever_lines_are_near() {
        let long = "values that follow on one long line, ".repeat(20);
        let text = format!("{long}\nthe port is:\n8421 {long}");
        let places = Terms::of("the port").places(&text, &fold(&text));
        let found = excerpts(&text, &places, &[0.1, 5.0], [100, 0], 1);
        assert!(found[0].text.contains("port is:\n8421 values"), "{found:?}");
        let text = format!("zebra {long}walrus 77 {long}");
        let places = Terms::of("line walrus").places(&text, &fold(&text));
        let found = excerpts(&text, &places, &[1.0, 5.0], [120, 0], 1);
        let at = found[0].text.find("walrus").unwrap();
        assert!((40..80).contains(&at), "{found:?}");
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
