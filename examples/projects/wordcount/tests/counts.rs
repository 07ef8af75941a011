//! What is counted, and how.

use wordcount::{count, count_words, most_common, Counts};

#[test]
fn a_text_of_one_line() {
    assert_eq!(count("to be or"), Counts { lines: 1, words: 3, letters: 6 });
}

#[test]
fn words_stand_between_any_white_space() {
    assert_eq!(count_words("to  be\n\tor not\nto be\n"), 6);
    assert_eq!(count_words(""), 0);
}

#[test]
fn the_most_common_words_come_first() {
    let found = most_common("To be, or not to be: that", 2);
    assert_eq!(found, [("be".to_owned(), 2), ("to".to_owned(), 2)]);
}
