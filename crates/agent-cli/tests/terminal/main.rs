//! The program in a pseudo terminal, as people use it.

mod safety;
mod screens;

use std::path::Path;

use serde_json::{Value, json};

use test_support::pty::{Pty, USUAL};

/// Starts the program in a terminal as most people have one.
fn start(folder: &Path, arguments: &[&str]) -> Pty {
    start_in(folder, arguments, USUAL, &[])
}

/// Does the same in a terminal of this size, columns first, with these variables.
fn start_in(
    folder: &Path,
    arguments: &[&str],
    cells: (u16, u16),
    variables: &[(&str, &str)],
) -> Pty {
    let program = env!("CARGO_BIN_EXE_agent-cli");
    Pty::start(program, arguments, folder, cells, variables)
}

fn script(folder: &Path, lines: &[Value]) -> String {
    let path = folder.join("script.jsonl");
    let header = json!({"script": 1, "name": "demo", "window": 16384, "max_output": 4096});
    let lines = std::iter::once(&header).chain(lines);
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).expect("a script");
    format!("scripted:{}", path.display())
}

#[test]
fn a_session_is_talked_to_compacted_and_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let call = json!({"name": "bash", "arguments": {"command": "echo from-$((40 + 2))"}});
    let provider = script(
        folder.path(),
        &[
            json!({"answer": {"text": "I run the **command**.", "calls": [call]}}),
            json!({"answer": {"text": "The command \u{1b}[31mhas run."}}),
            json!({"answer": {"text": "Many words follow here. ".repeat(1200)}}),
            json!({"answer": {"text": "That is all."}}),
            json!({"answer": {"text": "Resumed well."}}),
        ],
    );
    let settings = ["--set", "compaction.keepRecentTokens=1"];
    let arguments = [&["--provider", &provider][..], &settings].concat();
    let mut pty = start(folder.path(), &arguments);
    pty.wait_for("ask something");
    pty.send("run it\r");
    pty.wait_for("bash wants to run");
    // A question takes no keys in its first moment, in which they may have been meant for the editor.
    pty.send_until("\u{15}y\r", "exit 0|1 line|has run");
    pty.wait_for("has run");
    pty.wait_for("ask something");
    assert!(
        pty.transcript().contains("* bash echo from-$((40 + 2))"),
        "{}",
        pty.transcript()
    );
    pty.send("\u{15}tell more\r");
    pty.wait_for("Many words follow here.");
    pty.wait_for("ask something");
    pty.send("is that all?\r");
    pty.wait_for("That is all.");
    pty.wait_for("ask something");
    pty.send("/compact\r");
    pty.wait_for("Preview: compact now");
    pty.send("\r");
    pty.wait_for("-- compacted");
    pty.wait_for("/undo takes it back");
    pty.send("/undo\r");
    pty.wait_for("compaction taken back");
    // What is above the editor stays there in a terminal of another size.
    for rows in [30, 20] {
        pty.resize(rows, 64);
        pty.send("/cost\r");
        pty.wait_for("cost of this run");
        pty.wait_for("compaction taken back");
    }
    // So it does where the size changes while a view takes the whole screen.
    pty.send("/tree\r");
    pty.wait_for("YOU ARE HERE");
    pty.resize(12, 64);
    pty.wait_for("YOU ARE HERE");
    pty.resize(20, 64);
    pty.send("q");
    pty.wait_for("ask something");
    // The transcript stays in the terminal's own scrollback.
    let transcript = pty.transcript();
    for text in [
        "> run it",
        "I run the command.",
        "> tell more",
        "-- compacted",
    ] {
        assert!(transcript.contains(text), "{text}: {transcript}");
    }
    pty.send("\u{4}");
    assert_eq!(pty.exit_code(), 0);
    let last = pty.transcript();
    let resume = last
        .lines()
        .find(|line| line.contains("to continue: agent-cli --resume"));
    let resume = resume.unwrap_or_else(|| panic!("{last}"));
    let id = resume
        .split_whitespace()
        .skip_while(|word| *word != "--resume")
        .nth(1);
    let id = id.expect("an id");
    let mut pty = start(folder.path(), &[&["--resume", id], &arguments[..]].concat());
    pty.wait_for("ask something");
    pty.wait_for("That is all.");
    pty.send("and now\r");
    pty.wait_for("Resumed well.");
    pty.send("/quit\r");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn plain_lines_need_no_moving_cursor() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = script(
        folder.path(),
        &[json!({"answer": {"text": "Hello *there*."}})],
    );
    let mut pty = start(folder.path(), &["--plain", "--provider", &provider]);
    pty.wait_for("scripted/demo");
    pty.send("hi\r");
    pty.wait_for("Hello there.");
    // Ctrl-C where nothing runs ends it as ctrl-d does.
    pty.send("\u{3}");
    pty.wait_for("to continue: agent-cli --resume");
    assert_eq!(pty.exit_code(), 0);
    assert!(
        !pty.raw().contains('\u{1b}') || !pty.raw().contains("\u{1b}[6n"),
        "{:?}",
        pty.raw()
    );
}

#[test]
fn a_session_that_another_process_has_open_is_not_offered() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = script(
        folder.path(),
        &[json!({"answer": {"text": "Hello there."}})],
    );
    let arguments = ["--plain", "--provider", &provider];
    let mut first = start(folder.path(), &arguments);
    first.wait_for("scripted/demo");
    first.send("hi\r");
    first.wait_for("Hello there.");
    let mut second = start(folder.path(), &arguments);
    second.wait_for("scripted/demo");
    second.send("/resume\r");
    second.wait_for("there is no other session");
}

#[test]
fn a_name_that_no_session_has_leaves_the_session_running() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = script(folder.path(), &[json!({"answer": {"text": "Still here."}})]);
    let mut pty = start(folder.path(), &["--no-session", "--provider", &provider]);
    pty.wait_for("ask something");
    pty.send("/resume zzz\r");
    pty.wait_for("no session is called zzz");
    pty.send("/resume codex:newest\r");
    pty.wait_for("no session of codex was found for this project");
    pty.send("hi\r");
    pty.wait_for("Still here.");
    pty.send("/quit\r");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_command_of_the_user_reaches_the_model_with_the_next_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = script(
        folder.path(),
        &[
            json!({"answer": {"text": "I see it."}}),
            json!({"answer": {"text": "Again."}}),
        ],
    );
    let mut pty = start(folder.path(), &["look at it now", "--provider", &provider]);
    pty.wait_for("I see it.");
    pty.send("!echo from-$((40 + 2))");
    // The turn may not have ended when its answer is on the screen.
    pty.send_until("\r", "from-42");
    pty.wait_for("ask something");
    pty.send("/tree\r");
    pty.wait_for("@ ! echo from-");
    pty.send("q");
    pty.wait_for("ask something");
    pty.send("/permissions\r");
    pty.wait_for("Allowed and denied for good");
    // Escape with a slash right behind it would be another key.
    pty.send("q");
    pty.wait_for("ask something");
    pty.send("/quit\r");
    assert_eq!(pty.exit_code(), 0);
    // A prompt of an earlier session is found in the next one.
    let mut pty = start(folder.path(), &["--provider", &provider]);
    pty.wait_for("ask something");
    pty.send_until("\u{12}", "Prompts of before");
    pty.wait_for("look at it now");
    pty.send("\r");
    pty.wait_for("> look at it now");
    pty.send("\u{3}\u{3}");
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn a_script_that_plays_the_user_runs_on_a_terminal_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let provider = script(
        folder.path(),
        &[
            json!({"user": {"say": "What is there?"}}),
            json!({"answer": {"text": "Nothing much."}}),
        ],
    );
    let mut pty = start(folder.path(), &["--provider", &provider]);
    pty.wait_for("Nothing much.");
    assert_eq!(pty.exit_code(), 0);
    assert!(
        pty.transcript().contains("agent-cli --resume"),
        "{}",
        pty.transcript()
    );
}
