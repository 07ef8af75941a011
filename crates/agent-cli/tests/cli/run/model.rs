//! A real model is asked, here one on loopback.

use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};
use test_support::{End, FaultServer, Received, Reply, streams};

use super::Runs;
use crate::env::Output;

const KEY: &str = "sk-planted-0123456789";

/// A folder, and a server that gives these replies in turn.
struct Asked {
    runs: Runs,
    server: FaultServer,
}

impl Asked {
    fn replying(replies: Vec<Reply>) -> Self {
        Self {
            runs: Runs::of(""),
            server: FaultServer::start(move |nth, _| replies[nth.min(replies.len() - 1)].clone()),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.runs.bare(arguments);
        command
            .args([
                "--model",
                "test/alpha",
                "--wire",
                "chat",
                "--window",
                "32000",
            ])
            .args([
                "--base-url",
                &self.server.url(),
                "--api-key-env",
                "TEST_KEY",
            ])
            .args(["--set", "http.attempts=2"])
            .env("TEST_KEY", KEY);
        command
    }

    /// Runs it; the key is nowhere afterwards.
    fn run(&self, arguments: &[&str]) -> Output {
        let mut output = self.runs.output(&mut self.command(arguments));
        for (name, bytes) in self.runs.files() {
            assert!(
                !String::from_utf8_lossy(&bytes).contains(KEY),
                "the key is in {name}"
            );
        }
        assert!(!output.to_string().contains(KEY), "{output}");
        output.stderr = output.stderr.replace(&self.server.url(), "[SERVER]");
        output
    }

    /// Returns the lines of the session that is kept.
    fn session(&self) -> Vec<Value> {
        let bytes = std::fs::read(self.runs.session()).expect("a session");
        let lines = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).expect("a line is JSON"))
            .collect()
    }

    fn bodies(&self) -> Vec<Value> {
        self.server.received().iter().map(Received::json).collect()
    }
}

#[test]
fn the_prompt_is_answered() {
    let asked = Asked::replying(vec![
        Reply::text(503, "text/plain", "later"),
        streams::chat_stream("Hello."),
    ]);
    let output = asked.run(&[
        "-p",
        "hi",
        "--tools",
        "read",
        "--system-prompt",
        "Be short.",
    ]);
    // How long is waited is drawn by lot.
    let waits = regex::Regex::new(r"again in \S+ s").expect("a pattern");
    let text = waits
        .replace_all(&output.to_string(), "again in [DELAY]")
        .into_owned();
    assert_snapshot!(text, @"
    exit 0
    --- stdout
    Hello.
    --- stderr
    test/alpha, window 32.0k, in [DIR], session [SESSION]
    > hi
    note: test/alpha: later (status 503); again in [DELAY], for 300 s at most
    [N] read, [N] written
    to continue: agent-cli --resume [SESSION] --model test/alpha --base-url [SERVER] --wire chat --api-key-env TEST_KEY --window 32000 --set 'http.attempts=2' -p ...
    ");
    let body = &asked.bodies()[1];
    assert_eq!(body["messages"][1]["content"], "hi");
    assert!(
        body["messages"][0].to_string().contains("Be short."),
        "{body}"
    );
    let tools = body["tools"].as_array().expect("tools").iter();
    let tools: Vec<_> = tools.map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(tools, ["read"]);
}

#[test]
fn commands_run_only_where_that_is_allowed() {
    let asked = || {
        Asked::replying(vec![
            streams::chat_tool_call("bash", &json!({ "command": "echo ran > ran" })),
            streams::chat_stream("Done."),
        ])
    };
    let careful = asked();
    let output = careful.run(&["-p", "go"]);
    assert!(!careful.runs.env.path("ran").exists());
    let told: Vec<&str> = output
        .stderr
        .lines()
        .filter(|line| line.starts_with("  "))
        .collect();
    assert_snapshot!(told.join("\n"), @"
    bash echo ran > ran
      x bash needs approval and no user can be asked; the user can allow it for a
        run, or for good in tools.policies
    ");
    let allowed = asked();
    assert_eq!(
        allowed.run(&["-p", "go", "--allow", "bash"]).success(),
        "Done.\n"
    );
    assert!(allowed.runs.env.path("ran").exists());
}

#[test]
fn a_model_that_refuses() {
    let asked = Asked::replying(vec![Reply::text(401, "text/plain", "who are you")]);
    assert_snapshot!(asked.run(&["-p", "hi"]), @"
    exit 5
    --- stderr
    test/alpha, window 32.0k, in [DIR], session [SESSION]
    > hi
    error: test/alpha: who are you; check the key in TEST_KEY (status 401)
    to continue: agent-cli --resume [SESSION] --model test/alpha --base-url [SERVER] --wire chat --api-key-env TEST_KEY --window 32000 --set 'http.attempts=2'
    ");
}

#[test]
fn a_level_of_thinking_is_sent_or_refused_with_a_reason() {
    let asked = Asked::replying(vec![streams::chat_stream("Hello.")]);
    assert_snapshot!(asked.run(&["-p", "hi", "--thinking", "high"]), @"
    exit 2
    --- stderr
    error: no field for a thinking level is known of test; leave out the level, or set providers.test.compat.reasoningField
    ");
    assert_snapshot!(asked.run(&["-p", "hi", "--set", "thinking=high"]), @"
    exit 0
    --- stdout
    Hello.
    --- stderr
    note: no field for a thinking level is known of test; leave out the level, or set providers.test.compat.reasoningField; the level of the settings is not sent
    test/alpha, window 32.0k, in [DIR], session [SESSION]
    > hi
    [N] read, [N] written
    to continue: agent-cli --resume [SESSION] --model test/alpha --base-url [SERVER] --wire chat --api-key-env TEST_KEY --window 32000 --set 'thinking=high' --set 'http.attempts=2' -p ...
    ");
    assert_eq!(asked.bodies()[0]["reasoning_effort"], Value::Null);
}

#[test]
fn a_stream_that_broke_off_is_recorded_as_incomplete_usage() {
    let broken = match streams::chat_stream("Hel") {
        Reply::Chunks {
            status,
            headers,
            chunks,
            ..
        } => Reply::Chunks {
            status,
            headers,
            chunks: chunks.into_iter().take(1).collect(),
            end: End::Abort,
        },
        other => panic!("no stream: {other:?}"),
    };
    let asked = Asked::replying(vec![broken, streams::chat_stream("Hello.")]);
    let output = asked.run(&["-p", "hi"]);
    assert_eq!(output.success(), "Hello.\n");
    let answer = asked.session().pop().expect("an answer");
    assert_eq!(answer["message"]["usage"]["incomplete"], true, "{answer}");
}

#[test]
fn a_session_goes_on_with_its_own_model_or_not_at_all() {
    let asked = Asked::replying(vec![streams::chat_stream("Hello.")]);
    asked.run(&["-p", "hi"]);
    let before = asked.session();
    let url = asked.server.url();
    let other = [
        format!("providers.lab.baseUrl={url}"),
        "models.\"lab/beta\".window=32000".to_owned(),
        "model=lab/beta".to_owned(),
    ];
    let resumed = |more: &[&str]| {
        let mut command = asked.runs.bare(&["-p", "more", "--continue"]);
        for set in other.iter().map(String::as_str).chain(more.iter().copied()) {
            command.args(["--set", set]);
        }
        asked.runs.output(&mut command)
    };
    let refused = resumed(&[]);
    assert_snapshot!(refused, @"
    exit 2
    --- stderr
    error: the session's model test/alpha cannot be asked: no provider test; add it to the settings under providers, or give --base-url; or continue with another: --model PROVIDER/MODEL, or session.fallbackModel in the settings
    ");
    assert_eq!(asked.session(), before);
    assert_eq!(asked.server.received().len(), 1);
    let output = resumed(&["session.fallbackModel=lab/beta"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "Hello.\n"));
    assert!(
        output
            .stderr
            .starts_with("note: the session's model test/alpha cannot be asked"),
        "{output}"
    );
    assert_eq!(asked.bodies()[1]["model"], "beta");
}
