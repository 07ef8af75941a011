//! Facts about what messages say and do.

use super::{FactIndex, rules_in, short_summary};
use crate::source::SourceMessage;
use crate::tests_messages::*;

/// Returns the facts of messages, no branch among them.
pub fn record(messages: &[SourceMessage], cwd: &str) -> FactIndex {
    super::record(messages, cwd, str::to_owned)
}

#[test]
fn rules_are_kept_byte_for_byte() {
    let said = "Fix v1.2.3 of foo.rs, see https://x.y/z. Never use `a. b`, e.g. in  lib.rs! Thanks.\n\
                Rules:\n- Short functions\n- 错误必须处理\n\n```\nnever from code\n```\n> never from a quote\n\
                <file name=\"x\">\nnever from a file\n</file>";
    let expected = [
        "Never use `a. b`, e.g. in  lib.rs!",
        "Short functions",
        "错误必须处理",
    ];
    assert_eq!(rules_in(said), expected);
}

#[test]
fn only_the_user_states_rules() {
    let [call, result] = runs("c1", "cat AGENTS.md", "You must never do this.", false);
    let messages = [
        user("a1", "Read it"),
        call,
        result,
        says("a2", "I must always do that."),
    ];
    assert!(record(&messages, "/p").rules.is_empty());
}

#[test]
fn looking_at_an_error_is_no_failure() {
    let mut messages = vec![user("a1", "Why?")];
    let printed = "error[E0308]\nexit code 1";
    messages.extend(runs("c1", "grep -rn 'error[E' log.txt", printed, true));
    let denied = "The user doesn't want to proceed with this";
    messages.extend(runs("c2", "git push", denied, true));
    assert!(record(&messages, "/p").failures.is_empty());
}

#[test]
fn failed_edits_are_not_done() {
    let bad = r#"{"path":"src/bad.rs","oldText":"a","newText":"b"}"#;
    let mut messages = vec![
        user("a1", "Edit"),
        calls("e1", "edit", bad),
        gives("e1r", "e1", "edit", "no match", true),
    ];
    messages.extend(edits("e2", "src/good.rs", "old\nfn good() {}"));
    messages.extend(edits("e3", "src/good.rs", "old\nfn better() {}"));
    let files = record(&messages, "/p").files;
    let files: Vec<String> = files
        .iter()
        .map(|it| format!("{}: {}", it.path, it.work))
        .collect();
    assert_eq!(files, ["src/good.rs: 2 edits; newest: fn better() {}"]);
}

#[test]
fn newest_todo_list_replaces_the_older() {
    let older = r#"{"todos":[{"content":"draft","status":"in_progress"},{"content":"drop me","status":"pending"}]}"#;
    let newer =
        r#"{"plan":[{"step":"draft","status":"completed"},{"step":"polish","status":"pending"}]}"#;
    let texts = |noted: &[super::notes::Noted]| -> Vec<String> {
        noted.iter().map(|noted| noted.text.clone()).collect()
    };
    let mut messages = vec![user("a1", "Write"), calls("t1", "TodoWrite", older)];
    assert_eq!(texts(&record(&messages, "/p").todos), ["draft", "drop me"]);
    messages.push(calls("t2", "update_plan", newer));
    let facts = record(&messages, "/p");
    assert_eq!(texts(&facts.todos), ["polish"]);
    assert_eq!(texts(&facts.done), ["draft"]);
}

#[test]
fn the_newest_run_of_a_check_is_its_state() {
    let checks = |messages: &[_]| -> Vec<String> {
        let facts = record(messages, "/p");
        facts.checks.into_iter().map(|noted| noted.text).collect()
    };
    let ended = "test result: ok. 40 passed; 0 failed\n\ntest result: ok. 2 passed; 0 failed";
    let mut messages = vec![user("u1", "Test it")];
    messages.extend(runs("c1", "cargo test", ended, false));
    messages.extend(runs("c2", "pytest -q", "==== 7 passed in 0.3s ====", false));
    messages.extend(runs("c3", "cargo build", "Finished", false));
    assert_eq!(
        checks(&messages),
        [
            "`cargo test` passed: 42 tests passed",
            "`pytest -q` passed: 7 passed in 0.3s",
            "`cargo build` passed",
        ]
    );
    messages.extend(runs("c4", "cargo test", "error: no\nexit code 101", true));
    assert_eq!(checks(&messages).len(), 2);
}

#[test]
fn a_goal_is_named_by_its_first_sentence() {
    let goal = "## Goal\nShip the importer. Then rest.\n\n## Next Steps\n- x";
    assert_eq!(short_summary(goal), "Ship the importer.");
    let quoted = "## Goal\nFirst request (a1):\n> Port the parser.\n>\n> Soon.\n";
    assert_eq!(short_summary(quoted), "Port the parser.");
    assert_eq!(short_summary("Build it. Now."), "Build it.");
    assert_eq!(short_summary("## Progress\n- [x] done"), "");
}

/// Anybody may have written the summary before.
#[test]
fn a_count_of_an_earlier_cut_ends_at_the_largest_number() {
    let most = usize::MAX;
    let (a, b) = ("a".repeat(90), "b".repeat(90));
    let cut = format!("{a}\n[... {most} characters left out]\n{b}");
    let shorter = super::text::cut_middle(&cut, "", 60);
    assert!(shorter.contains(&format!("[... {most} characters left out]")));
}
