//! What was found out before a file was changed, and which checks are told of.

use crate::extract::tests::record;
use crate::source::SourceMessage;
use crate::tests_messages::{runs, says, says_and_edits, user};

fn causes(messages: &[SourceMessage]) -> Vec<String> {
    let record = record(messages, "/p");
    record.causes().map(|cause| cause.text).collect()
}

const CAUSE: &str = "`flush_idle` hands out a copy and leaves `current` filled.";

#[test]
fn a_cause_is_told_with_what_failed_and_what_was_changed() {
    let mut messages = vec![user("u1", "Fix the idle flush.")];
    let printed = "error: left 1, right 2\n\nCommand exited with code 101";
    messages.extend(runs("c1", "cargo test idle", printed, true));
    let said = format!("The trace shows it. {CAUSE} Let me repair it:");
    messages.extend(says_and_edits("e1", &said, "src/lines.rs"));
    messages.extend(runs(
        "c2",
        "cargo test idle",
        "test result: ok. 3 passed",
        false,
    ));
    messages.push(says("a1", "It is green."));
    let told = format!(
        "`cargo test idle` failed (error: left 1, right 2): {CAUSE} [then changed: lines.rs]"
    );
    assert_eq!(causes(&messages), [told]);
}

#[test]
fn a_guess_that_nothing_followed_from_is_no_cause() {
    let mut messages = vec![user("u1", "Why is it slow?")];
    messages.extend(runs("c1", "cat src/a.rs", "fn a() {}", false));
    messages.push(says("a1", CAUSE));
    messages.push(user("u2", "Add a test for `reads_all`."));
    messages.extend(says_and_edits("e1", "Now the test:", "src/lines.rs"));
    assert_eq!(causes(&messages), [""; 0]);
}

#[test]
fn only_what_was_said_last_before_a_change_is_its_reason() {
    let mut messages = vec![user("u1", "Fix it.")];
    let first = "The reader `read_all` does not see the second file.";
    messages.extend(says_and_edits(
        "e1",
        &format!("{first} {CAUSE}"),
        "src/a.rs",
    ));
    messages.extend(says_and_edits("e2", "And the docs:", "src/b.rs"));
    assert_eq!(
        causes(&messages),
        [format!("{first} {CAUSE} [then changed: a.rs]")]
    );
}

#[test]
fn what_the_user_takes_back_is_no_cause_any_more() {
    let mut messages = vec![user("u1", "There are artifacts when I switch.")];
    let said = "The selector does not defer `setTheme` until it is drawn.";
    messages.extend(says_and_edits("e1", said, "src/select.ts"));
    messages.push(says("a1", "The theme is set once it is drawn."));
    assert_eq!(causes(&messages).len(), 1);
    messages.push(user("u2", "Please undo that, it was the logs."));
    assert_eq!(causes(&messages), [""; 0]);
}

#[test]
fn a_filtered_check_that_shows_no_result_is_not_said_to_pass() {
    let mut messages = vec![user("u1", "Check it.")];
    let printed = "src/a.ts(1,2): error TS2353: unknown property";
    messages.extend(runs("c1", "npx tsc | grep error", printed, false));
    assert!(record(&messages, "/p").checks.is_empty());
    messages.extend(runs(
        "c2",
        "cargo test 2>&1 | tail -1",
        "test result: ok. 3 passed",
        false,
    ));
    assert_eq!(record(&messages, "/p").checks.len(), 1);
}

#[test]
fn the_last_sentence_that_is_looked_at_may_say_most() {
    let mut said = "It is so. ".repeat(23);
    said.push_str("The `reader` fails because the header is missing in `a.rs`. And so on it goes.");
    let messages = says_and_edits("e1", &said, "src/select.ts");
    assert_eq!(causes(&messages).len(), 1);
}
