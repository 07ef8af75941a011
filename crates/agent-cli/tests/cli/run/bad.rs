//! Bad input: each a message that says what is wrong and what to do, the right exit code, and a folder that is as it
//! was.

use insta::assert_snapshot;

use super::{Runs, TWICE, checked};
use crate::commands::VERSION_1;
use crate::env::{BINARY, SAMPLE};

/// Runs the program without a script, which must refuse with `code` and change nothing.
fn refused(runs: &Runs, code: i32, arguments: &[&str]) -> String {
    let output = runs.unchanged_by(|| runs.run(arguments));
    checked(&output, code)
}

#[test]
fn settings_that_are_wrong() {
    let runs = Runs::of(TWICE);
    runs.env.write(
        "config/settings.json",
        "{\n  \"compaction\": {\n    \"enabled\": \"yes\"\n  }\n}\n",
    );
    assert_snapshot!(runs.refused(2, &["-p", "hi"]), @r#"error: settings [DIR]/config/settings.json, line 3: compaction.enabled is "yes", but must be true or false"#);
    runs.env
        .write("config/settings.json", "{\n  \"compactoin\": {}\n}\n");
    assert_snapshot!(runs.refused(2, &["-p", "hi"]), @"error: settings [DIR]/config/settings.json, line 2: compactoin is not a setting; did you mean compaction?");
    runs.env.write(
        "config/settings.json",
        "{\n  \"tools\": { \"enabled\": [\"axe\"] }\n}\n",
    );
    assert_snapshot!(runs.refused(2, &["-p", "hi"]), @"error: tools.enabled: there is no tool axe; choose from [TOOLS]; or none alone, for no tools");
}

#[test]
fn models_that_cannot_be_asked() {
    let runs = Runs::of(TWICE);
    assert_snapshot!(refused(&runs, 2, &["-p", "hi"]), @r#"error: no model: name one with --model PROVIDER/MODEL (agent-cli models lists them), set "model" in the settings, or play a script with --provider scripted:FILE"#);
    assert_snapshot!(refused(&runs, 2, &["-p", "hi", "--model", "nope/x"]), @"error: no provider nope; add it to the settings under providers, or give --base-url");
    assert_snapshot!(refused(&runs, 2, &["-p", "hi", "--model", "openai/gpt-5.4"]), @"error: no key for openai: set OPENAI_API_KEY, or name another variable with --api-key-env");
    assert_snapshot!(refused(&runs, 2, &["-p", "hi", "--model", "openai/gpt-5.4", "--api-key-env", "MY_KEY"]), @"error: no key for openai: set MY_KEY, or name another variable with --api-key-env");
    assert_snapshot!(refused(&runs, 2, &["-p", "hi", "--model", "gpt-5.4", "--window", "0"]), @"
    error: invalid value '0' for '--window <TOKENS>': must be a number of tokens, at least 1

    For more information, try '--help'.
    ");
}

/// A session of a model goes on with that model where none is named.
#[test]
fn the_model_of_the_session_is_asked_where_none_is_named() {
    let runs = Runs::of(TWICE);
    runs.env.session("s.jsonl", "u:5 a:5");
    let text = String::from_utf8(runs.env.read("s.jsonl")).expect("text");
    let change = "{\"type\":\"model_change\",\"id\":\"m\",\"parentId\":\"e2\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"provider\":\"openai\",\"modelId\":\"gpt-5.4\"}\n";
    runs.env.write("s.jsonl", text + change);
    let cwd = runs.env.folder().to_str().expect("a path");
    assert_snapshot!(refused(&runs, 2, &["--session", "s.jsonl", "-p", "hi", "--cwd", cwd]), @"error: the session's model openai/gpt-5.4 cannot be asked: no key for openai: set OPENAI_API_KEY, or name another variable with --api-key-env; or continue with another: --model PROVIDER/MODEL, or session.fallbackModel in the settings");
}

#[test]
fn scripts_that_cannot_be_played() {
    let runs = Runs::of(TWICE);
    let play = |name: &str| {
        let provider = format!("scripted:{name}");
        refused(&runs, 2, &["-p", "hi", "--provider", &provider])
    };
    assert_snapshot!(play("nope.jsonl"), @"error: cannot read the script nope.jsonl: there is no such file");
    assert_snapshot!(play("tmp"), @"error: cannot read the script tmp: it is a folder; name a script in it");
    assert_snapshot!(play(""), @"error: --provider scripted: names no script; say scripted:FILE");
    runs.env.write("binary.jsonl", b"\xff\xfe\0");
    assert_snapshot!(play("binary.jsonl"), @"error: cannot read the script binary.jsonl: it is not text");
    runs.env.write(
        "bad.jsonl",
        "{\"script\":1}\n\n{\"answer\":{\"txet\":\"A.\"}}\n",
    );
    assert_snapshot!(play("bad.jsonl"), @"error: script bad.jsonl, line 3: answer.txet: unknown field `txet`, expected one of `text`, `thinking`, `calls`, `stop`, `usage`, `pause_ms`");
    runs.env.write(
        "gone.jsonl",
        "{\"script\":1,\"workspace\":\"nowhere\"}\n{\"answer\":{\"text\":\"A.\"}}\n",
    );
    assert_snapshot!(play("gone.jsonl"), @"error: script gone.jsonl: its workspace nowhere is not a folder");
    runs.env.write(
        "file.jsonl",
        "{\"script\":1,\"workspace\":\"bad.jsonl\"}\n{\"answer\":{\"text\":\"A.\"}}\n",
    );
    assert_snapshot!(play("file.jsonl"), @"error: script file.jsonl: its workspace bad.jsonl is not a folder");
}

/// A copy that nobody would work in is not made.
#[test]
fn a_refusal_comes_before_the_copy() {
    let runs = Runs::of("{\"script\":1,\"workspace\":\"ws\"}\n{\"answer\":{\"text\":\"A.\"}}\n");
    runs.env.write("ws/a", "a");
    assert_snapshot!(runs.refused(2, &["-p", "hi", "--tools", "axe"]), @"error: --tools: there is no tool axe; choose from [TOOLS]; or none alone, for no tools");
    assert_snapshot!(runs.refused(2, &[]), @"error: say what to do: -p PROMPT runs a session; --help lists the commands over session files");
    runs.env
        .write("ws/.agent-cli/settings.json", "{\"http\":{\"attempts\":1}}");
    assert_snapshot!(runs.refused(2, &["-p", "hi"]), @"error: settings [DIR]/ws/.agent-cli/settings.json, line 1: a project may not set http; put it in the global file [DIR]/config/settings.json");
}

#[test]
fn options_that_cannot_be() {
    let runs = Runs::of(TWICE);
    assert_snapshot!(refused(&runs, 2, &[]), @"error: say what to do: -p PROMPT runs a session; --help lists the commands over session files");
    assert_snapshot!(runs.refused(2, &["-p", ""]), @"error: the prompt is empty; say what to do with -p TEXT");
    assert_snapshot!(runs.refused(2, &["-p", " \n\t"]), @"error: the prompt is empty; say what to do with -p TEXT");
    assert_snapshot!(runs.refused(2, &["-p", "hi", "--window", "0"]), @"
    error: invalid value '0' for '--window <TOKENS>': must be a number of tokens, at least 1

    For more information, try '--help'.
    ");
    assert_snapshot!(runs.refused(2, &["-p", "hi", "--tools", "read,axe"]), @"error: --tools: there is no tool axe; choose from [TOOLS]; or none alone, for no tools");
    assert_snapshot!(runs.refused(2, &["-p", "hi", "--allow", "axe"]), @"error: --allow axe: there is no such tool; choose from [TOOLS], or SERVER__TOOL or SERVER__* for those of a server");
    assert_snapshot!(runs.refused(2, &["-p", "hi", "--cwd", "nowhere"]), @"error: --cwd nowhere: there is no such folder; name one to work in");
    assert_snapshot!(runs.refused(2, &["-p", "hi", "--cwd", "script.jsonl"]), @"error: --cwd script.jsonl: there is no such folder; name one to work in");
    assert_snapshot!(refused(&runs, 2, &["-p", "hi", "inspect", "s.jsonl"]), @"error: options of a running session (-p, --model before a command, ...) and a command do not go together; put the options of a command behind its name");
    let both = runs.refused(2, &["-p", "hi", "-c", "--no-session"]);
    assert_snapshot!(both.lines().next().unwrap_or_default(), @"error: the argument '--continue' cannot be used with '--no-session'");
}

#[test]
fn files_that_are_no_sessions() {
    let runs = Runs::of(TWICE);
    runs.env
        .write("binary.jsonl", b"\x7fELF\x02\x01\x01\x00\x00\n\x00");
    runs.env.write("old.jsonl", VERSION_1);
    runs.env.write("text.jsonl", "no session\n");
    let session = |name: &str| runs.refused(4, &["--session", name, "-p", "hi"]);
    assert_snapshot!(session("tmp"), @"error: [DIR]/tmp: a directory; name a session file in it");
    assert_snapshot!(session("binary.jsonl"), @"error: [DIR]/binary.jsonl: a binary file, no session; sessions are JSON lines; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush");
    assert_snapshot!(session("text.jsonl"), @"error: [DIR]/text.jsonl: no session: not one line is a JSON object; name a session's .jsonl file; formats of other agents were tried too: Claude Code, Codex, qwen-code, gemini-cli, opencode export, Copilot CLI, Cline, goose, crush");
    let old = runs.unchanged_by(|| runs.play(&["--session", "old.jsonl", "-p", "hi"]));
    assert_snapshot!(old, @"
    exit 2
    --- stderr
    error: [DIR]/old.jsonl has version 1; run agent-cli migrate [DIR]/old.jsonl --in-place first
    ");
}

#[test]
fn a_working_folder_that_is_gone() {
    let runs = Runs::of(TWICE);
    std::fs::create_dir(runs.env.path("work")).expect("a folder");
    runs.play(&["--session", "s.jsonl", "--cwd", "work", "-p", "hi"])
        .success();
    std::fs::remove_dir(runs.env.path("work")).expect("removed");
    assert_snapshot!(runs.refused(4, &["--session", "s.jsonl", "-p", "more"]), @"error: [DIR]/s.jsonl: its working folder [DIR]/work is gone; if it was moved, name the new one with --cwd DIR, or --cwd . for this one");
    assert_snapshot!(runs.refused(4, &["--fork", "s.jsonl", "-p", "more"]), @"error: s.jsonl: its working folder [DIR]/work is gone; if it was moved, name the new one with --cwd DIR, or --cwd . for this one");
    let elsewhere = ["--session", "s.jsonl", "-p", "more", "--cwd", "tmp"];
    assert_eq!(runs.play(&elsewhere).success(), "Hello again.\n");
}

#[cfg(unix)]
#[test]
fn the_program_stands_in_a_folder_that_is_gone() {
    let runs = Runs::of(TWICE);
    let script = runs.env.path("script.jsonl");
    let run = |options: &str| {
        let line = format!(
            "mkdir gone && cd gone && rmdir ../gone && exec {BINARY} -p hi --provider scripted:{} {options}",
            script.display()
        );
        runs.output(&mut runs.around("sh", &["-c", &line]))
    };
    let output = runs.unchanged_by(|| run(""));
    assert_snapshot!(checked(&output, 2), @"error: the working folder is gone; change to another, or name one with --cwd DIR");
    let folder = runs.env.folder().display().to_string();
    assert_eq!(run(&format!("--cwd {folder}")).success(), "Hello.\n");
}

#[test]
fn a_session_without_anything() {
    let runs = Runs::of(TWICE);
    runs.env.session("s.jsonl", "");
    let cwd = runs.env.folder().to_str().expect("a path");
    assert_snapshot!(runs.refused(3, &["--session", "s.jsonl", "--cwd", cwd]), @"nothing to do: the session is empty; say what to do with -p TEXT");
}

#[cfg(unix)]
#[test]
fn a_full_disk() {
    let runs = Runs::of(TWICE);
    let limited = |blocks: usize, options: &str| {
        let line =
            format!("ulimit -f {blocks}; exec {BINARY} --provider scripted:script.jsonl {options}");
        runs.output(&mut runs.around("sh", &["-c", &line]))
    };
    // Not even the message can be kept.
    assert_snapshot!(limited(0, "-p hi"), @"
    exit 1
    --- stderr
    error: the message is not kept: cannot append to [DIR]/data/[FOLDER]/[STAMP]_[SESSION].pending.jsonl: File too large (os error 27); nothing was changed; raise the limit, or keep sessions elsewhere with --session-dir DIR
    ");
    assert_eq!(runs.sessions().len(), 0);
    // The message can be kept, what the session says first cannot.
    assert_snapshot!(limited(1, "-p hi"), @"
    exit 1
    --- stderr
    error: cannot write the session: cannot append to [DIR]/data/[FOLDER]/[STAMP]_[SESSION].pending.jsonl: the disk is full; nothing was changed; make room, or keep sessions elsewhere with --session-dir DIR; 1 message waits and is sent when you continue
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl
    ");
    assert_eq!(runs.sessions().len(), 0);
    // Nor can it go on yet.
    assert_eq!(limited(1, "-c").code, Some(1));
    // With room it goes on where it was.
    assert_eq!(runs.play(&["-c"]).success(), "Hello.\n");
}

/// The message can be kept, but it cannot be sent.
#[cfg(unix)]
#[test]
fn a_session_that_cannot_grow() {
    let script = format!(
        "{}\n{}\n",
        serde_json::json!({ "answer": { "text": "much text ".repeat(800) } }),
        r#"{"answer":{"text":"After all."}}"#
    );
    let runs = Runs::of(&script);
    runs.play(&["--session", "s.jsonl", "-p", "hi"]).success();
    let run = |options: &str| {
        let line = format!(
            "ulimit -f 4; trap '' XFSZ; exec {BINARY} --provider scripted:script.jsonl --session s.jsonl {options}"
        );
        runs.output(&mut runs.around("sh", &["-c", &line]))
    };
    assert_snapshot!(run("-p more"), @"
    exit 1
    --- stderr
    error: cannot write the session: cannot append to [DIR]/s.jsonl: File too large (os error 27); nothing was changed; raise the limit, or keep sessions elsewhere with --session-dir DIR; 1 message waits and is sent when you continue
    to continue: agent-cli --session [DIR]/s.jsonl --provider scripted:script.jsonl
    ");
    assert_snapshot!(run("--tools none"), @"
    exit 1
    --- stderr
    error: cannot write the session: cannot append to [DIR]/s.jsonl: File too large (os error 27); nothing was changed; raise the limit, or keep sessions elsewhere with --session-dir DIR; 1 message waits and is sent when you continue
    to continue: agent-cli --session [DIR]/s.jsonl --provider scripted:script.jsonl
    ");
    let output = runs.play(&["--session", "s.jsonl"]);
    assert_eq!(output.success(), "After all.\n");
}

/// A session that others may read but not write.
#[cfg(unix)]
#[test]
fn a_session_folder_that_is_read_only() {
    use std::os::unix::fs::PermissionsExt;
    let runs = Runs::of(TWICE);
    runs.env.session("folder/s.jsonl", SAMPLE);
    let folder = runs.env.path("folder");
    let allow = |mode| std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode));
    allow(0o555).expect("permissions can be set");
    if std::fs::write(folder.join("probe"), "").is_ok() {
        test_support::skip("permissions do not bind root");
        return;
    }
    let cwd = runs.env.folder().to_str().expect("a path");
    let there = runs.refused(
        1,
        &["--session", "folder/s.jsonl", "-p", "hi", "--cwd", cwd],
    );
    let new = runs.refused(1, &["--session", "folder/new.jsonl", "-p", "hi"]);
    allow(0o755).expect("permissions can be set");
    assert_snapshot!(there, @"error: cannot create the lock [DIR]/folder/s.jsonl.lock: permission denied; keep sessions elsewhere with --session-dir DIR, or change the permissions");
    assert_snapshot!(new, @"error: the message is not kept: cannot create the lock [DIR]/folder/new.jsonl.lock: permission denied; keep sessions elsewhere with --session-dir DIR, or change the permissions");
}

#[cfg(unix)]
#[test]
fn f12_scripts_and_settings_that_never_end_are_refused() {
    let runs = Runs::of(TWICE);
    let made = std::process::Command::new("mkfifo")
        .arg(runs.env.path("pipe"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    assert_snapshot!(refused(&runs, 2, &["-p", "hi", "--provider", "scripted:pipe"]), @"error: cannot read the script pipe: it is not a regular file; name one");
    assert_snapshot!(refused(&runs, 2, &["-p", "hi", "--provider", "scripted:/dev/zero"]), @"error: cannot read the script /dev/zero: it is not a regular file; name one");
    assert_snapshot!(runs.refused(2, &["-p", "hi", "--settings", "/dev/zero"]), @"error: settings /dev/zero, line 1: no JSON at column 1: unexpected token");
}
