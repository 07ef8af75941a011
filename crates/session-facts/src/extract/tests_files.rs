//! Files in a record: one of many spellings is listed once, and what was taken away since is said to be.

use super::removals::{Removal, removals};
use crate::extract::tests::record;
use crate::source::SourceMessage;
use crate::tests_messages::{calls, edits, runs, source, user};

fn files(messages: &[SourceMessage]) -> Vec<String> {
    let files = record(messages, "/p").files.into_iter();
    files
        .map(|file| format!("{}: {}", file.path, file.work))
        .collect()
}

fn writes(id: &str, path: &str) -> [SourceMessage; 2] {
    let arguments = serde_json::json!({ "path": path, "content": "one\ntwo\n" });
    let [_, result] = edits(id, path, "x");
    [calls(id, "write", &arguments.to_string()), result]
}

/// Returns what is listed when two files were written and a command ran.
fn after(command: &str, output: &str, is_error: bool) -> Vec<String> {
    let mut messages = vec![user("u", "Go.")];
    messages.extend(writes("w1", "src/a.rs"));
    messages.extend(writes("w2", "src/deep/b.rs"));
    messages.extend(runs("r", command, output, is_error));
    files(&messages)
}

#[test]
fn spellings_of_one_file_are_one_file() {
    let mut messages = vec![user("u", "Go.")];
    messages.extend(writes("w", "/p/src/a.rs"));
    messages.extend(edits("e1", "./src/a.rs", "fn one() {}"));
    messages.extend(edits("e2", "src/../src/a.rs", "fn two() {}"));
    assert_eq!(
        files(&messages),
        ["./src/a.rs: written, 2 lines; 2 edits; newest: fn two() {}"]
    );
    messages.extend(edits("e3", "src/a.rs", "fn three() {}"));
    let record = record(&messages, "/p");
    assert_eq!(record.files[0].path, "src/a.rs");
    assert_eq!(record.files[0].names.len(), 4);
}

#[test]
fn what_a_command_took_away_is_deleted() {
    let both = [
        "src/a.rs: written, 2 lines",
        "src/deep/b.rs: written, 2 lines",
    ];
    let one = ["src/deep/b.rs: written, 2 lines", "src/a.rs: deleted"];
    for command in [
        "rm src/a.rs",
        "git rm -f ./src/a.rs",
        "cd /p/src && rm -- 'a.rs'",
        "cargo test && rm /p/src/a.rs",
        "unlink \"src/a.rs\"",
    ] {
        assert_eq!(after(command, "", false), one, "{command}");
    }
    for command in [
        "rm -rf src",
        "rm -r ./src/",
        "git rm -r -q src/a.rs src/deep",
        "rm -rf /p",
    ] {
        let deleted = ["src/a.rs: deleted", "src/deep/b.rs: deleted"];
        assert_eq!(after(command, "", false), deleted, "{command}");
    }
    for command in [
        "rm src/c.rs",
        "rm -rf sr",
        "git rm --cached src/a.rs",
        "rm src/*.rs",
        "rm \"$X/src/a.rs\"",
        "rm src/a.rs || true",
        "echo rm src/a.rs",
        "cd src && rm src/a.rs",
        "rm 'src/a.rs",
    ] {
        assert_eq!(after(command, "", false), both, "{command}");
    }
}

#[test]
fn a_failed_removal_changes_nothing() {
    let both = [
        "src/a.rs: written, 2 lines",
        "src/deep/b.rs: written, 2 lines",
    ];
    let refused = "rm: cannot remove 'src/a.rs': Permission denied";
    assert_eq!(after("rm src/a.rs", refused, true), both);
    assert_eq!(after("rm src/a.rs; echo ok", refused, false), both);
    assert_eq!(after("rm src/a.rs", "exited with code 1", false), both);
    let mut messages = vec![user("u", "Go.")];
    messages.extend(writes("w", "src/a.rs"));
    messages.push(calls("r", "bash", r#"{"command":"rm src/a.rs"}"#));
    assert_eq!(files(&messages), ["src/a.rs: written, 2 lines"]);
}

#[test]
fn what_was_moved_is_listed_where_it_is() {
    let moved = |to: &str| {
        vec![
            "src/deep/b.rs: written, 2 lines".to_owned(),
            format!("{to}: written, 2 lines; moved from src/a.rs"),
        ]
    };
    assert_eq!(after("mv src/a.rs src/c.rs", "", false), moved("src/c.rs"));
    assert_eq!(after("git mv src/a.rs lib/", "", false), moved("lib/a.rs"));
    assert_eq!(after("mv src/a.rs lib", "", false), moved("lib/a.rs"));
    assert_eq!(
        after("mv src lib", "", false),
        [
            "lib/a.rs: written, 2 lines; moved from src/a.rs",
            "lib/deep/b.rs: written, 2 lines; moved from src/deep/b.rs",
        ]
    );
    // What stood at the new name is gone.
    assert_eq!(
        after("mv src/a.rs src/deep/b.rs", "", false),
        ["src/deep/b.rs: written, 2 lines; moved from src/a.rs"]
    );
}

#[test]
fn work_goes_on_under_the_new_name() {
    let mut messages = vec![user("u", "Go.")];
    messages.extend(writes("w", "src/a.rs"));
    messages.extend(runs("m", "mv src/a.rs src/b.rs", "", false));
    messages.extend(edits("e", "/p/src/b.rs", "fn b() {}"));
    messages.extend(runs("n", "mv src/b.rs src/c.rs", "", false));
    assert_eq!(
        files(&messages),
        ["src/c.rs: written, 2 lines; 1 edit; newest: fn b() {}; moved from src/a.rs"]
    );
    messages.extend(runs("r", "rm -f src/c.rs", "", false));
    assert_eq!(files(&messages), ["src/c.rs: deleted; moved from src/a.rs"]);
    messages.extend(writes("w2", "src/c.rs"));
    assert_eq!(files(&messages), ["src/c.rs: written, 2 lines"]);
}

#[test]
fn what_the_user_removes_is_deleted_too() {
    let run = |exit_code| session_model::BashExecution {
        command: "rm src/a.rs".to_owned(),
        output: String::new(),
        exit_code,
        cancelled: false,
        truncated: false,
        full_output_path: None,
        exclude_from_context: false,
        timestamp: None,
    };
    let listed = |exit_code| {
        let mut messages = vec![user("u", "Go.")];
        messages.extend(writes("w", "src/a.rs"));
        let run = session_model::AgentMessage::BashExecution(run(exit_code));
        messages.push(source("b", run));
        files(&messages)
    };
    assert_eq!(listed(Some(0)), ["src/a.rs: deleted"]);
    assert_eq!(listed(Some(1)), ["src/a.rs: written, 2 lines"]);
}

#[test]
fn commands_are_taken_apart_as_a_shell_does() {
    let deleted = |path: &str| Removal::Deleted(path.to_owned());
    assert_eq!(
        removals("cd a/ && rm -v 'x y' z\\ w \"q\"; cd ../b\nrm k"),
        [
            deleted("a/x y"),
            deleted("a/z w"),
            deleted("a/q"),
            deleted("a/../b/k")
        ]
    );
    assert_eq!(removals("mv -t dir a b"), []);
    assert_eq!(removals("rm"), []);
    assert_eq!(removals("mv a"), []);
    assert_eq!(removals(&"rm a; ".repeat(20_000)), []);
}

#[test]
fn what_may_be_there_again_is_not_called_deleted() {
    let listed = |command: &str| {
        let mut messages = vec![user("u", "Go.")];
        messages.extend(writes("w", "src/a.rs"));
        messages.extend(runs("r", "rm src/a.rs", "", false));
        messages.extend(runs("s", command, "", false));
        let record = record(&messages, "/p");
        assert_eq!(
            record.files[0].brief == "deleted",
            record.files[0].work == "deleted",
            "{command}"
        );
        record.files[0].work.clone()
    };
    for command in [
        "git checkout -- src/a.rs",
        "git checkout HEAD~1 -- src",
        "git checkout .",
        "git restore src/a.rs",
        "git restore --staged --worktree src/a.rs",
        "git stash",
        "git stash pop",
        "git reset --hard HEAD",
    ] {
        let work = "deleted; git may have reverted it";
        assert_eq!(listed(command), work, "{command}");
    }
    for command in [
        "touch src/a.rs",
        "cp old/a.rs src/a.rs",
        "mv new.rs src/a.rs",
        "mv new src",
        "cd src && echo 'fn a() {}' > a.rs",
        "cat >src/a.rs <<'EOF'\nx > y\nEOF",
        "echo x | tee src/a.rs",
    ] {
        assert_eq!(listed(command), "deleted; there again since", "{command}");
    }
    for command in [
        "git checkout -b next",
        "git restore --staged src/a.rs",
        "git stash list",
        "git reset src/a.rs",
        "git checkout -- src/b.rs",
        "cp src/a.rs",
        "make 2>&1",
        "cat > b <<EOF\n> src/a.rs\nEOF",
        "rm src/a.rs",
    ] {
        assert_eq!(listed(command), "deleted", "{command}");
    }
}

#[test]
fn what_git_may_have_put_back_is_said_to_be_so_once() {
    assert_eq!(
        after("git checkout -- src/a.rs", "", false),
        [
            "src/a.rs: written, 2 lines; git may have reverted it",
            "src/deep/b.rs: written, 2 lines",
        ]
    );
    assert_eq!(
        after("mv other.rs src/a.rs", "", false)[0],
        "src/a.rs: written, 2 lines; replaced since"
    );
    let mut messages = vec![user("u", "Go.")];
    messages.extend(writes("w", "src/a.rs"));
    messages.extend(runs("r", "git reset --hard; git stash", "", false));
    messages.extend(edits("e", "src/a.rs", "fn one() {}"));
    let listed = ["src/a.rs: 1 edit; newest: fn one() {}"];
    assert_eq!(files(&messages), listed);
}

#[test]
fn the_folder_above_all_can_be_moved() {
    let mut messages = vec![user("u", "Go.")];
    messages.extend(writes("w", "a.rs"));
    messages.extend(runs("r", "mv . b", "", false));
    let moved = record(&messages, "")
        .files
        .into_iter()
        .map(|file| file.path);
    assert_eq!(moved.collect::<Vec<_>>(), ["b/a.rs"]);
}

#[test]
fn a_file_that_was_read_is_there() {
    let mut messages = vec![user("u", "Go.")];
    messages.extend(writes("w", "a.rs"));
    messages.extend(runs("r", "rm a.rs", "", false));
    let [_, result] = edits("x", "a.rs", "x");
    messages.extend([calls("x", "read", r#"{"path":"a.rs"}"#), result]);
    assert_eq!(files(&messages), ["a.rs: deleted; there again since"]);
}
