//! What the ledger keeps of a scan: rules said again, commands that passed or failed, calls without a result.

use session_model::{AgentMessage, BashExecution};

use super::fact_index::FactIndex;
use super::notes::{Change, Spoken};
use super::signals::{Known, Outcome, judge};
use crate::extract::tests::record;
use crate::source::SourceMessage;
use crate::tests_messages::{runs, source, user};

/// Returns the commands that failed and stayed so.
fn failures(messages: &[SourceMessage]) -> Vec<String> {
    let failures = record(messages, "/p").failures.into_iter();
    failures.map(|failure| failure.text).collect()
}

#[test]
fn a_rule_said_again_holds_again() {
    let rule = "Never wait longer than 5 seconds for a request.";
    let messages = [
        user("u1", rule),
        user("u2", "Never wait longer than 10 seconds for a request."),
        user("u3", rule),
    ];
    let record = record(&messages, "/p");
    let rules: Vec<_> = record
        .rules
        .iter()
        .map(|rule| (rule.place, rule.changed.as_ref().map(|change| change.place)))
        .collect();
    assert_eq!(rules, [(1, Some(2)), (2, None)]);
}

#[test]
fn what_is_printed_outvotes_no_known_success() {
    let log = "the child had exit code 3\nTraceback (most recent call last)\nnpm ERR! quoted";
    assert_eq!(judge(log, Known::NoError), Outcome::Passed);
    assert_eq!(judge(log, Known::Passed), Outcome::Passed);
    for ended in [
        "{log}\n\nExit code: 0",
        "Exit code: 0\nWall time: 1 s\nOutput:\n{log}",
    ] {
        let output = ended.replace("{log}", log);
        assert_eq!(judge(&output, Known::Nothing), Outcome::Passed, "{output}");
    }
    for output in [
        "ran\n\nCommand exited with code 2",
        "Exit code 2\nran",
        "ran\n(exit status: 2)",
    ] {
        let Outcome::Failed { exit, .. } = judge(output, Known::NoError) else {
            panic!("{output} passed");
        };
        assert_eq!(exit, Some(2));
    }
    let inside = "case one: exit code 3 is refused\nall good";
    assert_eq!(judge(inside, Known::Nothing), Outcome::Passed);
}

#[test]
fn where_failures_are_marked_the_others_passed() {
    let log = "Traceback (most recent call last)\nValueError: caught and shown";
    let mut messages = vec![user("u1", "Go.")];
    messages.extend(runs("c1", "python tool.py", log, false));
    assert_eq!(failures(&messages).len(), 1, "nothing is known");
    messages.extend(runs("c2", "make deploy", "no such target", true));
    assert_eq!(failures(&messages).len(), 1);
    // What is piped ends as the last of it does.
    messages.extend(runs("c3", "pytest 2>&1 | tail -5", log, false));
    assert_eq!(failures(&messages).len(), 2);
}

#[test]
fn a_command_of_the_user_that_exits_with_zero_passed() {
    let run = |exit_code| {
        let run = BashExecution {
            command: "./migrate".to_owned(),
            output: "Traceback (most recent call last)\nexit code 7".to_owned(),
            exit_code,
            cancelled: false,
            truncated: false,
            full_output_path: None,
            exclude_from_context: false,
            timestamp: None,
        };
        failures(&[source("b1", AgentMessage::BashExecution(run))]).len()
    };
    assert_eq!([run(Some(0)), run(Some(1)), run(None)], [0, 1, 1]);
}

#[test]
fn a_rule_said_again_is_told_where_it_was_said_last() {
    let rule = "Never push to main.";
    let messages = [
        user("u1", rule),
        user("u2", "Always sign the tag."),
        user("u3", rule),
    ];
    let rules = record(&messages, "/p").rules;
    let rules: Vec<(usize, &str)> = rules.iter().map(|it| (it.place, &*it.text)).collect();
    assert_eq!(rules, [(1, "Always sign the tag."), (2, rule)]);
}

#[test]
fn a_long_chain_of_changes_ends_in_the_last_one() {
    const LAST: usize = 100_000;
    let spoken = (0..LAST).map(|place| Spoken {
        place,
        text: String::new(),
        tiny: false,
        lasting: false,
        answers: None,
        changed: Some(Change {
            place: place + 1,
            value: None,
        }),
    });
    let record = FactIndex {
        spoken: spoken.collect(),
        ..FactIndex::default()
    };
    let changed = record.changed();
    assert_eq!(changed.len(), LAST);
    assert!(changed.values().all(|change| change.place == LAST));
}

/// Whatever one message says, each of it is held against lists of bounded length.
#[test]
fn lists_are_held_to_their_bounds_within_one_message() {
    let mut text = String::new();
    for number in 0..2000 {
        text.push_str(&format!(
            "- now {number} ms for the timeout of call a{number}b\n"
        ));
        text.push_str(&format!(
            "- We decided to use way{number} because it is simple.\n"
        ));
        text.push_str(&format!("- the file src/f{number}.rs has it\n"));
        text.push_str(&format!(
            "- don't forget to check page{number} and its index{number}\n"
        ));
    }
    let record = record(&[user("u1", &text[..120_000])], "/p");
    assert_eq!(record.user_figures().count(), super::fact_index::FIGURES);
    assert_eq!(record.decisions().count(), super::fact_index::DECISIONS);
    assert_eq!(record.steps().count(), super::steps::STEPS);
}

#[test]
fn failures_that_are_told_of_are_bounded() {
    let messages: Vec<_> = (0..100)
        .map(|number| {
            let text = format!("`make part{number}` fails on main since yesterday");
            user(&format!("u{number}"), &text)
        })
        .collect();
    let failures = failures(&messages);
    assert_eq!(failures.len(), 64);
    assert!(failures[63].contains("part99"), "{}", failures[63]);
}
