//! Facts about what a later event settles, and about what only describes.

use crate::extract::tests::record;
use crate::tests_messages::{edits, runs, says, user};

#[test]
fn a_step_that_names_a_file_is_done_once_the_file_is_changed() {
    let ask = user(
        "u1",
        "Good so far. We still need to port over user-selector.ts later.",
    );
    let steps = |messages: &[_]| record(messages, "/p").steps().count();
    assert_eq!(steps(std::slice::from_ref(&ask)), 1);
    let [call, result] = edits("a1", "src/tui/user-selector.ts", "new");
    assert_eq!(steps(&[ask.clone(), call, result]), 0);
    let [call, result] = edits("a1", "src/tui/other.ts", "new");
    assert_eq!(steps(&[ask, call, result]), 1);
}

#[test]
fn a_command_that_was_stopped_did_not_fail() {
    let [call, result] = runs("a1", "sleep 5", "Command aborted", true);
    assert_eq!(
        record(&[user("u1", "wait"), call, result], "/p")
            .failures
            .len(),
        0
    );
}

#[test]
fn a_description_of_a_change_is_no_decision() {
    let text = "- Uses `Text` components instead of rendering raw strings\n- Padding lines are `a` instead of `b`";
    assert_eq!(
        record(&[user("u1", "go"), says("a1", text)], "/p")
            .decisions()
            .count(),
        0
    );
    let text = "I'll use Redis instead of Kafka because it is here already.";
    assert_eq!(
        record(&[user("u1", "go"), says("a1", text)], "/p")
            .decisions()
            .count(),
        1
    );
}

#[test]
fn names_and_values_on_lines_of_a_list_are_no_figures() {
    let text = "Done:\n- `mdLink`: `#b5bd68`\n- Teal: `#5f8787`\n- 100 ms\n- The importer now waits 30 s for the lock.";
    let record = record(&[user("u1", "go"), says("a1", text)], "/p");
    let figures: Vec<&str> = record
        .answered_figures()
        .map(|noted| noted.text.as_str())
        .collect();
    assert_eq!(figures, ["The importer now waits 30 s for the lock."]);
}

#[test]
fn an_answer_to_a_question_is_kept_with_it() {
    let messages = [
        user("u1", "Build it"),
        says("a1", "Built. Shall I delete the old one?"),
        user("u2", "yes"),
        says("a2", "Deleted."),
        user("u3", "continue"),
    ];
    let record = record(&messages, "/p");
    let asked: Vec<Option<&str>> = record
        .spoken
        .iter()
        .map(|said| said.answers.as_deref())
        .collect();
    assert_eq!(asked, [None, Some("Shall I delete the old one?"), None]);
}

#[test]
fn commits_are_done_with_their_subjects() {
    let [c1, r1] = runs(
        "a1",
        "git add . && git commit -m \"Drop the old shim\"",
        "[main 45ffe0a] Drop the old shim\n 2 files changed",
        false,
    );
    let [c2, r2] = runs("a2", "git commit -qm 'Port the parser'", "", false);
    let [c3, r3] = runs(
        "a3",
        "git commit -m 'Never made'",
        "error: gpg failed to sign\nexit code 128",
        true,
    );
    let messages = [
        user("u1", "Go. Later we still need to drop the old shim."),
        c1,
        r1,
        c2,
        r2,
        c3,
        r3,
    ];
    assert_eq!(record(&messages, "/p").steps().count(), 0);
    let done = record(&messages, "/p").done.into_iter();
    let done: Vec<String> = done.map(|noted| noted.text).collect();
    let made = [
        "commit 45ffe0a: Drop the old shim",
        "commit Port the parser",
    ];
    assert_eq!(done, made);
}

#[test]
fn a_box_that_is_ticked_in_a_file_settles_its_step() {
    let [call, result] = edits("a1", "TODO.md", "- [x] measure the import of archives");
    let messages = [
        user(
            "u1",
            "Later, we still need to measure the import of archives.",
        ),
        call,
        result,
    ];
    assert_eq!(record(&messages, "/p").steps().count(), 0);
}

#[test]
fn each_answer_leaves_what_it_came_to() {
    let [c1, r1] = runs("b1", "node why.js", "cache", false);
    let [c2, r2] = edits("b2", "src/theme.ts", "new");
    let messages = [
        user("u1", "Why does it crash?"),
        c1,
        r1,
        says(
            "a1",
            "Found it! The cache is never cleared when the theme changes. Shall I fix it?",
        ),
        user("u2", "Yes, please do that."),
        c2,
        r2,
        says(
            "a2",
            "Done! Themes are now reloaded as soon as their file changes.\n\n- `a`: b",
        ),
        user("u3", "How long is the timeout?"),
        says("a3", "The timeout is 30 s now."),
    ];
    let facts = record(&messages, "/p");
    let answers = facts.answers().rev();
    let answers: Vec<String> = answers.map(|(noted, _)| noted.text).collect();
    let outcomes = [
        "The cache is never cleared when the theme changes.",
        "Themes are now reloaded as soon as their file changes. `a`: b",
        "The timeout is 30 s now.",
    ];
    assert_eq!(answers, outcomes);
}

#[test]
fn a_report_is_settled_by_the_answer_that_tells_what_was_done() {
    let report = user(
        "u1",
        "The search crashes with \"TypeError: hits is undefined\" when the index is empty.",
    );
    let open = |messages: &[_]| record(messages, "/p").failures.len();
    assert_eq!(open(std::slice::from_ref(&report)), 1);
    let done = says(
        "a1",
        "I added a guard for empty pages to the reader, with a test.",
    );
    assert_eq!(open(&[report.clone(), done]), 0);
    let asks = says("a1", "I can see why. Shall I add a guard to the reader?");
    assert_eq!(open(&[report.clone(), asks.clone()]), 1);
    let works = user("u2", "Never mind, it works now.");
    assert_eq!(open(&[report, asks, works]), 0);
}

#[test]
fn a_refusal_is_kept_with_what_it_refuses() {
    let decided = |refusal| {
        let messages = [
            user("u1", "go"),
            says("a1", "I'll put a global mutex around the feed."),
            user("u2", refusal),
        ];
        let record = record(&messages, "/p");
        let texts = record.decisions().map(|noted| noted.text.clone());
        texts.collect::<Vec<String>>()
    };
    assert_eq!(
        decided("No, please don't do that, it serialized every request last time."),
        [
            "Rejected: I'll put a global mutex around the feed – No, please don't do that, it serialized every request last time."
        ]
    );
    // It says itself what it is about.
    assert_eq!(
        decided("No, I don't want a mutex there."),
        ["Rejected: No, I don't want a mutex there."]
    );
}

#[test]
fn a_name_that_ends_like_a_colour_is_no_figure() {
    let figures = |text| record(&[user("u1", text)], "/p").user_figures().count();
    assert_eq!(figures("Wire badge_feed66 into the health check."), 0);
    assert_eq!(figures("The links have the colour feed66."), 1);
}
