//! Tests of the search: places, order, bounds.

use session_model::{ContextRules, build_context, decode_bytes};
use test_support::session;

use super::{
    Matches, Query, Recall, RecallLimits, Visit, best_place, excerpt, query_words, recall, weigh,
};

/// Searches a session of forty messages, which end in the visit of this number.
fn search(query: &Query<'_>, limits: RecallLimits, visits: usize) -> Option<Recall> {
    let tree = decode_bytes(session(&"u:50 a:50 ".repeat(20)).into_bytes()).tree;
    let path = tree.path(tree.leaf());
    let context = build_context(&path, ContextRules::Own);
    let mut visited = 0;
    recall(&path, &context, query, limits, &mut |_, _| {
        visited += 1;
        match visited <= visits {
            true => Visit::Search,
            false => Visit::Stop,
        }
    })
}

#[test]
fn an_answer_is_bounded_and_counts_what_it_leaves_out() {
    let limits = RecallLimits {
        entries: 3,
        excerpt: 40,
    };
    let everywhere = |text: &str| Matches {
        first: Some(0..text.len().min(1)),
        count: 1,
        in_part: false,
    };
    let found = search(&Query::Pattern(&everywhere), limits, 100).expect("an answer");
    assert_eq!((found.found.len(), found.matching), (3, 40));
    // The newest first, each in few words.
    let ids = found.found.iter().map(|it| &*it.entry_id);
    assert_eq!(ids.collect::<Vec<_>>(), ["e40", "e39", "e38"]);
    let short = |it: &super::Recalled| it.excerpt.chars().count() <= 48;
    assert!(found.found.iter().all(short), "{found:?}");
    // Who does not want to wait is not kept waiting.
    assert_eq!(search(&Query::Pattern(&everywhere), limits, 20), None);
}

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
