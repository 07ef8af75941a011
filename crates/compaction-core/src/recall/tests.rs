//! Tests of the search: places, order, bounds.

use super::{best_place, excerpt, query_words, weigh};

#[test]
fn words_of_a_query_lose_punctuation_and_repeats() {
    assert_eq!(
        query_words("Why, why was `src/parse.rs` (parse_file) changed?"),
        ["why", "was", "src/parse.rs", "parse_file", "changed"]
    );
}

#[test]
fn beginnings_of_words_weigh_more() {
    assert_eq!(weigh("parse the parser, reparse", "parse"), (2.3, 3));
}

#[test]
fn the_best_place_has_most_words_close_by() {
    let text = format!("alpha {} alpha beta", "x ".repeat(400));
    let words = ["alpha".to_owned(), "beta".to_owned()];
    assert!(best_place(&text, &words) > 700);
}

#[test]
fn an_excerpt_is_one_bounded_line() {
    let text = "é ".repeat(500);
    let line = excerpt(&text, 501, 40);
    assert!(line.starts_with("... ") && line.ends_with(" ..."), "{line}");
    assert!(line.chars().count() <= 48, "{line}");
    assert_eq!(excerpt("a\nb", 0, 40), "a b");
}
