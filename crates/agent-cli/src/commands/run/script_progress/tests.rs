//! What of a script's user is left to be done.

use insta::assert_snapshot;
use llm_script::ScriptDelivery;

use super::*;

/// Returns what is left of `due` after `traces`, both in words; what is said stands as it is.
fn left(due: &str, traces: &str) -> String {
    let action = |word: &str| match word {
        "compact" => ScriptAction::Compact { focus: None },
        "handoff" => ScriptAction::Handoff { focus: None },
        "navigate" => ScriptAction::Navigate {
            back: 1,
            summarize: false,
            focus: None,
        },
        "label" => ScriptAction::Label {
            back: 1,
            text: String::new(),
        },
        "abort" => ScriptAction::Abort,
        text => ScriptAction::Say {
            text: text.to_owned(),
            delivery: ScriptDelivery::Prompt,
        },
    };
    let deed = |word: &str| match word {
        "compact" => Trace::Compacted,
        "handoff" => Trace::HandedOff,
        "navigate" => Trace::Moved,
        "label" => Trace::Labelled,
        text => Trace::message(text),
    };
    let given = ScriptProgress {
        traces: traces.split_whitespace().map(deed).collect(),
        ..ScriptProgress::default()
    };
    let words: Vec<&str> = due.split_whitespace().collect();
    let left = given.left_of(words.iter().copied().map(action).collect());
    words[words.len() - left.len()..].join(" ")
}

#[test]
fn what_the_session_shows_is_done() {
    let all = "compact handoff navigate label one";
    assert_snapshot!(left(all, all), @"");
    assert_snapshot!(left(all, "compact handoff"), @"navigate label one");
    assert_snapshot!(left(all, ""), @"compact handoff navigate label one");
    assert_snapshot!(left("one two", "else one"), @"two");
    assert_snapshot!(left("one one", "one"), @"one");
}

#[test]
fn nothing_is_passed_over_that_may_be_left() {
    assert_snapshot!(left("one two", "two"), @"one two");
    assert_snapshot!(left("one compact", "compact"), @"one compact");
    assert_snapshot!(left("handoff compact", "compact"), @"handoff compact");
    assert_snapshot!(left("one two", "two one"), @"two");
}

#[test]
fn what_leaves_no_trace_was_done_before_the_next_message() {
    assert_snapshot!(left("abort", ""), @"");
    assert_snapshot!(left("abort one", ""), @"one");
    assert_snapshot!(left("one abort", ""), @"one abort");
    assert_snapshot!(left("compact one", "one"), @"");
    assert_snapshot!(left("compact one label", "one"), @"label");
    assert_snapshot!(left("compact abort label one two", "label one"), @"two");
}
