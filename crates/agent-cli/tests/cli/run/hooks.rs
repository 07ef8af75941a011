//! Hooks that are programs, in runs of an agent.

use insta::assert_snapshot;
use serde_json::{Value, json};
use test_support::{FaultServer, streams};

use super::Runs;

/// A key whose variable does not tell by its name that it holds one.
const KEY: &str = "planted-0123456789-abcdef";

/// Writes hooks into the global settings.
fn set(runs: &Runs, hooks: &Value) {
    let settings = json!({ "hooks": hooks });
    runs.env.write("config/settings.json", settings.to_string());
}

fn hook(points: &[&str], command: &str) -> Value {
    json!({ "points": points, "command": command })
}

const READS: &str = r#"{"script":1,"name":"reads","window":16000}
{"answer":{"calls":[{"name":"read","arguments":{"path":"notes.txt"}}]}}
{"answer":{"text":"Done."}}
"#;

/// Returns the results of tools that a session holds.
fn results(runs: &Runs) -> Vec<String> {
    let session = runs.session();
    let lines = runs.env.lines(session.to_str().expect("a path"));
    let messages = lines.iter().map(|line| &line["message"]);
    let results = messages.filter(|message| message["role"] == "toolResult");
    results
        .map(|message| {
            message["content"][0]["text"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

#[test]
fn hooks_run_from_the_first_point_to_the_last() {
    let runs = Runs::of(READS);
    runs.env.write("notes.txt", "small");
    let points = hooks::HookPoint::ALL.map(hooks::HookPoint::name);
    let log = runs.env.path("log");
    set(
        &runs,
        &json!({ "log": hook(&points, &format!("echo $AGENT_CLI_HOOK >> '{}'", log.display())) }),
    );
    runs.play(&["-p", "look"]).success();
    let log = String::from_utf8(runs.env.read("log")).expect("text");
    let mut lines: Vec<&str> = log.lines().collect();
    // What hooks are told is told beside what they are asked.
    lines.sort_unstable();
    assert_snapshot!(lines.join("\n"), @"
    before_prompt
    session_shutdown
    session_start
    tool_call
    tool_result
    turn_end
    ");
}

#[test]
fn a_blocked_call_is_told_to_the_model() {
    let runs = Runs::of(READS);
    runs.env.write("notes.txt", "small");
    set(
        &runs,
        &json!({ "guard": hook(&["tool_call"], "echo 'not these notes' >&2; exit 2") }),
    );
    assert_snapshot!(runs.play(&["-p", "look"]), @"
    exit 0
    --- stdout
    Done.
    --- stderr
    scripted/reads, window 16.0k, in [DIR], session [SESSION]
    > look
      read notes.txt
        x hook guard cancelled this call: not these notes
    [N] read, [N] written
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl -p ...
    ");
    assert_snapshot!(results(&runs).join("\n"), @"hook guard cancelled this call: not these notes");
}

#[test]
fn what_a_hook_adds_is_in_the_session() {
    let runs = Runs::of(super::TWICE);
    set(
        &runs,
        &json!({ "memory": hook(&["before_prompt"], "echo '{\"context\": \"the release is on Friday\"}'") }),
    );
    runs.play(&["-p", "when"]).success();
    assert_snapshot!(runs.said(&runs.session()), @"
    custom: A program that the user has set up to watch this session adds this to the user's next message. It is background for that message, not something the user said:

    <hook-context>
    the release is on Friday
    </hook-context>
    user: when
    assistant: Hello.
    ");
}

#[test]
fn a_hook_that_fails_is_told_and_the_run_succeeds() {
    let failing =
        json!({ "broken": hook(&["before_prompt", "turn_end"], "echo oh no >&2; exit 3") });
    let runs = Runs::of(super::TWICE);
    set(&runs, &failing);
    assert_snapshot!(runs.play(&["-p", "hello"]), @"
    exit 0
    --- stdout
    Hello.
    --- stderr
    scripted/twice, window 16.0k, in [DIR], session [SESSION]
    warning: hook broken failed at before_prompt: exit code 3: oh no
    > hello
    warning: hook broken failed at turn_end: exit code 3: oh no
    [N] read, [N] written
    to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl -p ...
    ");
    let runs = Runs::of(super::TWICE);
    set(&runs, &failing);
    let output = runs.play(&["-p", "hello", "--mode", "json"]);
    assert_eq!(output.code, Some(0), "{output}");
    let events = output
        .stdout
        .lines()
        .map(|line| -> Value { serde_json::from_str(line).expect("an event") });
    let failed: Vec<Value> = events
        .filter(|event| event["type"] == "hook_failed")
        .collect();
    assert_eq!(failed.len(), 2, "{output}");
    assert_eq!(failed[0]["hook"], "broken");
    assert_eq!(failed[0]["point"], "before_prompt");
    assert_snapshot!(failed[0]["reason"].as_str().expect("words"), @"exit code 3: oh no");
}

#[test]
fn a_hook_that_cannot_be_used_is_refused_before_anything_is_made() {
    let runs = Runs::of(super::TWICE);
    set(&runs, &json!({ "guard": { "points": ["tool_call"] } }));
    assert_snapshot!(runs.refused(2, &["-p", "hello"]), @"error: hooks.guard: has no command; set command to a line for the shell, or to a program and its arguments");
}

#[test]
fn keys_reach_no_hook() {
    let server = FaultServer::start(|nth, _| match nth {
        0 => streams::chat_tool_call("read", &json!({ "path": "notes.txt" })),
        _ => streams::chat_stream("Done."),
    });
    let runs = Runs::of("");
    runs.env.write("notes.txt", format!("the key is {KEY}"));
    let points = hooks::HookPoint::ALL.map(hooks::HookPoint::name);
    let seen = runs.env.path("seen");
    let dump = format!("{{ env; cat; }} >> '{}'", seen.display());
    set(&runs, &json!({ "spy": hook(&points, &dump) }));
    let mut command = runs.bare(&["-p", "look", "--model", "test/alpha", "--wire", "chat"]);
    command
        .args(["--window", "32000", "--base-url", &server.url()])
        .args(["--api-key-env", "LAB_ACCESS"])
        .env("LAB_ACCESS", KEY)
        .env("OTHER_TOKEN", "planted-too-0123456789")
        .env("PLAIN", "seen by everybody");
    let output = runs.output(&mut command);
    assert_eq!(output.code, Some(0), "{output}");
    let seen = String::from_utf8(runs.env.read("seen")).expect("text");
    assert!(seen.contains("PLAIN=seen by everybody"), "{seen}");
    assert!(seen.contains("\"hook_point\":\"tool_result\""), "{seen}");
    assert!(!seen.contains(KEY), "{seen}");
    assert!(!seen.contains("planted-too"), "{seen}");
    let asked = server.received();
    let authorized = asked[0]
        .header("authorization")
        .unwrap_or_default()
        .contains(KEY);
    assert!(authorized, "the key goes to the model");
}

#[test]
fn a_hook_is_for_the_folder_that_it_names() {
    let runs = Runs::of(super::TWICE);
    std::fs::create_dir(runs.env.path("elsewhere")).expect("a folder");
    let log = |name: &str| format!("touch '{}'", runs.env.path(name).display());
    set(
        &runs,
        &json!({
            "here": { "points": ["turn_end"], "command": log("here"), "folder": runs.env.folder() },
            "elsewhere": { "points": ["turn_end"], "command": log("there"), "folder": runs.env.path("elsewhere") },
        }),
    );
    runs.play(&["-p", "hello"]).success();
    assert!(runs.env.path("here").exists());
    assert!(!runs.env.path("there").exists());
}
