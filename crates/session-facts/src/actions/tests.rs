//! What calls did, by their arguments and results.

use std::sync::Arc;

use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    AssistantMessage, Block, Content, EntryId, StopReason, ToolCall, ToolResultMessage,
};

use super::*;

/// A tool, its arguments, and its result with the mark of an error.
type Call<'a> = (&'a str, serde_json::Value, Option<(&'a str, bool)>);

/// Writes what these calls did.
fn check(calls: &[Call<'_>], want: &[&str]) {
    let mut messages = Vec::new();
    let mut add = |message| {
        let entry_id = EntryId::new(&format!("e{}", messages.len()));
        let message = Arc::new(message);
        messages.push(SourceMessage { entry_id, message });
    };
    for (name, arguments, result) in calls {
        add(AgentMessage::Assistant(AssistantMessage {
            content: Content::Blocks(vec![Block::ToolCall(ToolCall {
                id: "1".to_owned(),
                name: (*name).to_owned(),
                arguments: RawJson::of(arguments).ok(),
                signature: None,
            })]),
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            usage: None,
            stop_reason: StopReason::ToolUse,
            error_message: None,
            timestamp: None,
        }));
        if let Some((text, is_error)) = result {
            add(AgentMessage::ToolResult(ToolResultMessage {
                tool_call_id: "1".to_owned(),
                tool_name: (*name).to_owned(),
                content: Content::Text((*text).to_owned()),
                is_error: *is_error,
                timestamp: None,
                nested_calls: None,
            }));
        }
    }
    let found = actions(&messages);
    let open = failing(&found);
    let shown = found.iter().enumerate().map(|(at, action)| {
        let what = match &action.kind {
            ActionKind::File { action, path } => format!("{} {path}", action.name()),
            ActionKind::Command(run) => format!("{:?} {}", run.role, run.text),
            ActionKind::Commit { hash, subject } => {
                format!("commit {hash} {subject}")
            }
        };
        let outcome = match &action.outcome {
            Outcome::Ended { .. } => String::new(),
            Outcome::Failed { line } => format!(" ! {line}"),
            Outcome::Unknown => " ?".to_owned(),
        };
        let open = if open.contains(&at) { " (open)" } else { "" };
        format!("{what}{outcome}{open}")
    });
    assert_eq!(shown.collect::<Vec<_>>(), want);
}

#[test]
fn a_commit_message_is_no_test_run() {
    let command = "git commit -m \"fix parser; cargo test passes now & docs\"";
    check(
        &[(
            "bash",
            json!({ "command": command }),
            Some(("[main abc1234] fix parser; cargo", false)),
        )],
        &[
            "Other git commit -m \"fix parser; cargo test passes now & docs\"",
            "commit abc1234 fix parser; cargo",
        ],
    );
    check(
        &[(
            "bash",
            json!({ "command": "git commit -qm 'Add it'" }),
            Some(("", false)),
        )],
        &["Other git commit -qm 'Add it'"],
    );
}

#[test]
fn what_is_private_is_in_no_command_commit_or_reason() {
    let call = |command: &str, output, is_error| {
        (
            "bash",
            json!({ "command": command }),
            Some((output, is_error)),
        )
    };
    check(
        &[
            call(
                "deploy --token '<private>a</private>'",
                "error: <private>b</private> bad",
                true,
            ),
            call(
                "git commit -m x",
                "[main abc1234] <private>c</private> it",
                false,
            ),
        ],
        &[
            "Other deploy --token '[private]' ! error: [private] bad (open)",
            "Other git commit -m x",
            "commit abc1234 [private] it",
        ],
    );
}

#[test]
fn a_run_in_another_folder_settles_nothing() {
    let run = |command: &str, cwd: Option<&str>, is_error| {
        let arguments = json!({ "command": command, "cwd": cwd });
        ("bash", arguments, Some(("Tests  3", is_error)))
    };
    check(
        &[
            run("cd a && npm test", None, true),
            run("(cd b && npm test)", None, false),
            run("pushd c; make test", None, true),
            run("pushd d; make test", None, false),
            run("cargo test", Some("/w/e"), true),
            run("cargo test", Some("/w"), false),
        ],
        &[
            "Tests cd a && npm test ! Tests  3 (open)",
            "Tests (cd b && npm test)",
            "Tests pushd c; make test ! Tests  3 (open)",
            "Tests pushd d; make test",
            "Tests cargo test ! Tests  3 (open)",
            "Tests cargo test",
        ],
    );
}

#[test]
fn a_run_that_passes_settles_the_same_command_however_its_output_is_cut() {
    let run = |command: &str, output, is_error| {
        (
            "bash",
            json!({ "command": command }),
            Some((output, is_error)),
        )
    };
    check(
        &[
            run(
                "npx vitest run 2>&1 | tail -5",
                "Tests  3 failed | 2 passed",
                false,
            ),
            run("RUST_LOG=debug cargo test", "error: test failed", true),
            run("npx vitest run", "Tests  5 passed", false),
            run("grep x a.rs", "", true),
        ],
        &[
            "Tests npx vitest run 2>&1 | tail -5 ! Tests  3 failed | 2 passed",
            "Tests RUST_LOG=debug cargo test ! error: test failed (open)",
            "Tests npx vitest run",
            "Looks grep x a.rs ! ",
        ],
    );
}

#[test]
fn files_count_where_the_call_did_not_fail() {
    check(
        &[
            (
                "edit",
                json!({"path": "a.rs", "old_text": "x", "new_text": "y"}),
                Some(("ok", false)),
            ),
            (
                "edit",
                json!({"path": "b.rs", "old_text": "x", "new_text": "y"}),
                Some(("not found", true)),
            ),
            (
                "bash",
                json!({"command": "rm -f src/a.rs 2>/dev/null", "cwd": "w"}),
                Some(("", false)),
            ),
            (
                "exec",
                json!({"input": "tools.exec_command({cmd:\"cargo test\"})"}),
                None,
            ),
            ("read", json!({"path": "c.rs"}), Some(("text", false))),
        ],
        &[
            "edit a.rs",
            "edit b.rs ! not found",
            "Other rm -f src/a.rs 2>/dev/null",
            "delete w/src/a.rs",
            "Tests cargo test ?",
        ],
    );
}
