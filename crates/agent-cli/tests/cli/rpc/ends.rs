//! How it ends: by a request, with the input, without a reader, by a signal.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::commands::{WAITS, start_silent};
use super::{Client, error};
use crate::run::{Runs, TWICE, filtered};

/// Returns the types of lines; of responses the commands, and how they ended.
fn kinds(lines: &[Value]) -> String {
    let kinds = lines.iter().map(|line| match line["type"].as_str() {
        Some("response") if line["success"] == true => format!("{}: done\n", line["command"]),
        Some("response") => format!("{}: {}\n", line["command"], error(line)),
        kind => format!("{}\n", kind.unwrap_or_default()),
    });
    kinds.collect()
}

#[test]
fn close_is_answered_last() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    client.prompt("hi");
    let id = client.send("close", json!({}));
    let end = client.event("session_end");
    let response = client.response(id);
    assert_eq!(response["data"]["path"], end["path"]);
    let (code, left, said) = client.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_ne!(
        left.last().map(|line| line["type"].clone()),
        Some(json!("session_end"))
    );
}

#[test]
fn the_end_of_the_input_stops_what_runs() {
    let runs = Runs::of(WAITS);
    let mut client = Client::start(&runs, &[]);
    client.prompt("hi");
    client.seen.clear();
    client.call("prompt", json!({ "text": "and then?" }));
    client.event("turn_start");
    client.seen.clear();
    let (code, left, said) = client.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_snapshot!(kinds(&left), @"
    answer
    context
    turn_end
    session_end
    ");
    assert_snapshot!(runs.said(&runs.session()), @"
    user: hi
    assistant: Hello.
    user: and then?
    ");
}

#[test]
fn the_end_of_the_input_answers_what_was_asked() {
    let runs = Runs::of("");
    let (mut client, _server) = start_silent(&runs);
    let before = runs.env.read("s.jsonl");
    client.send("compact", json!({}));
    client.event("compaction_start");
    client.seen.clear();
    let (code, left, said) = client.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let responses: Vec<Value> = left
        .into_iter()
        .filter(|line| line["type"] == "response")
        .collect();
    assert_snapshot!(kinds(&responses), @r#""compact": cancelled: Compaction cancelled"#);
    assert_eq!(runs.env.read("s.jsonl"), before);
}

#[test]
fn a_request_in_the_last_line_counts_without_a_line_break() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    client.event("session_start");
    client.send_bytes(br#"{"id":1,"type":"get_state"}"#);
    let (code, left, _) = client.end();
    assert_eq!(code, Some(0));
    let response = left.iter().find(|line| line["type"] == "response");
    assert_eq!(response.expect("a response")["data"]["state"], "idle");
}

#[test]
fn the_end_in_the_middle_of_a_request_is_an_error_and_the_end() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    client.event("session_start");
    client.send_bytes(br#"{"id":1,"type":"prom"#);
    let (code, left, _) = client.end();
    assert_eq!(code, Some(0));
    assert_snapshot!(kinds(&left), @"
    null: malformed: line 1: this is not JSON: EOF while parsing a string at column 20
    session_end
    ");
    // Nothing was said, so nothing is kept.
    assert!(runs.sessions().is_empty());
}

#[test]
fn who_does_not_read_any_more_ends_the_session() {
    let runs = Runs::of(WAITS);
    let mut client = Client::start(&runs, &[]);
    client.prompt("hi");
    let (child, stdin) = client.close_output();
    let mut stdin = stdin.expect("the input is open");
    let asked = std::io::Write::write_all(
        &mut stdin,
        b"{\"type\":\"prompt\",\"text\":\"and then?\"}\n",
    );
    assert!(asked.is_ok());
    // The input stays open.
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0));
    drop(stdin);
    assert_snapshot!(runs.said(&runs.session()), @"
    user: hi
    assistant: Hello.
    user: and then?
    ");
}

#[test]
fn who_does_not_read_is_heard_all_the_same() {
    const REQUESTS: usize = 4000;
    let runs = Runs::of(WAITS);
    let mut client = Client::start(&runs, &[]);
    client.prompt("hi");
    // More than all the pipes hold, in both directions.
    let padding = " ".repeat(100);
    let asked = format!("{padding}{{\"type\":\"get_state\"}}\n").repeat(REQUESTS);
    client.send_bytes(asked.as_bytes());
    let (code, left, said) = client.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let responses = left.iter().filter(|line| line["type"] == "response");
    assert_eq!(responses.count(), REQUESTS);
}

#[cfg(unix)]
#[test]
fn ctrl_c_closes_the_session_and_says_how_to_go_on() {
    for signal in ["-INT", "-TERM"] {
        let runs = Runs::of(WAITS);
        let mut client = Client::start(&runs, &[]);
        client.prompt("hi");
        client.call("prompt", json!({ "text": "and then?" }));
        client.event("turn_start");
        let mut kill = std::process::Command::new("kill");
        let sent = kill.args([signal, &client.pid().to_string()]).status();
        assert!(sent.expect("the signal is sent").success());
        assert_eq!(client.event("turn_end")["end"], "aborted");
        client.event("session_end");
        let (code, _, said) = client.end();
        assert_eq!(code, Some(130), "{said}");
        assert!(
            said.contains("stopped; to continue: agent-cli --resume "),
            "{said}"
        );
    }
}

#[test]
fn what_cannot_begin_says_so_and_prints_nothing() {
    let runs = Runs::of(TWICE);
    let refused = |arguments: &[&str]| {
        let output = filtered(&runs.env.run(arguments));
        assert_eq!(output.stdout, "", "{output}");
        format!("{:?} {}", output.code, output.stderr)
    };
    assert_snapshot!(refused(&["rpc", "-p", "hi"]), @"Some(2) error: rpc takes prompts as requests and prints JSON lines; leave out -p, --mode, --plain and --json");
    assert_snapshot!(refused(&["rpc", "--mode", "json"]), @"Some(2) error: rpc takes prompts as requests and prints JSON lines; leave out -p, --mode, --plain and --json");
    assert_snapshot!(refused(&["rpc", "--provider", "scripted:none.jsonl"]), @"Some(2) error: cannot read the script none.jsonl: there is no such file");
    assert_snapshot!(refused(&["--no-session", "rpc"]), @"Some(2) error: options of a running session (-p, --model before a command, ...) and a command do not go together; put the options of a command behind its name");
}

#[test]
fn a_session_that_is_never_written_leaves_nothing() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &["--no-session"]);
    client.prompt("hi");
    assert_eq!(client.call("get_state", json!({}))["path"], json!(null));
    assert_snapshot!(client.refused("fork", json!({})), @"refused: the session is never written, so there is nothing to copy");
    assert_eq!(client.end().0, Some(0));
    assert!(runs.sessions().is_empty());
}
