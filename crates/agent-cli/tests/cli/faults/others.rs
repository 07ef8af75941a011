//! Branch summaries, handoffs and the remote endpoint.

use insta::assert_snapshot;
use serde_json::{Value, json};
use test_support::{FaultServer, Reply, streams};

use crate::env::SAMPLE;
use crate::faults::{Bench, KEY, SUMMARY};

const BRANCH: [&str; 8] = [
    "branch",
    "s.jsonl",
    "--to",
    "e2",
    "--summarize",
    "--json",
    "--set",
    "branchSummary.reserveTokens=1000",
];
const HANDOFF: [&str; 5] = ["handoff", "s.jsonl", "--out", "new.jsonl", "--json"];

fn strict<'a>(command: &[&'a str]) -> Vec<&'a str> {
    [command, &["--fallback", "none", "--set", "http.attempts=1"]].concat()
}

#[test]
fn a_branch_summary_by_a_model() {
    let bench = Bench::replying(vec![streams::chat_stream(SUMMARY)]).with_session(SAMPLE);
    let output = bench.run(&mut bench.asked(&[&BRANCH[..], &["--in-place"]].concat()));
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    let entry = bench.env.lines("s.jsonl").pop().expect("an entry");
    assert_eq!(entry["type"], "branch_summary", "{entry}");
    let summary = entry["summary"].as_str().unwrap_or_default();
    assert!(summary.contains(SUMMARY), "{summary}");
    assert_eq!(output.json()["model"]["answered_by"], "test/alpha");
    assert_eq!(bench.env.names(), ["s.jsonl"]);
}

#[test]
fn a_branch_summary_that_fails() {
    let reply = Reply::text(503, "text/plain", "no healthy upstream");
    let bench = Bench::replying(vec![reply]).with_session(SAMPLE);
    let in_place = strict(&[&BRANCH[..], &["--in-place"]].concat());
    assert_snapshot!(bench.fails_as(&mut bench.asked(&in_place), 5, "provider"), @"
    [overloaded]
    warning: test/alpha (summary): no healthy upstream
    error: Branch summary failed: test/alpha: no healthy upstream (status 503); try again, name another --model, or use --fallback extractive; nothing was changed
    ");
    let out = strict(&[&BRANCH[..], &["--out", "new.jsonl"]].concat());
    bench.fails_as(&mut bench.asked(&out), 5, "provider");
}

#[test]
fn a_handoff_by_a_model() {
    let bench = Bench::replying(vec![streams::chat_stream(SUMMARY)]).with_session(SAMPLE);
    let before = bench.env.read("s.jsonl");
    let output = bench.run(&mut bench.asked(&HANDOFF));
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    assert!(before == bench.env.read("s.jsonl"));
    let lines = bench.env.lines("new.jsonl");
    // The new session goes on with the same model.
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1]["type"], "model_change");
    let content = lines[2]["content"].as_str().unwrap_or_default();
    assert!(content.contains(SUMMARY), "{content}");
    assert_eq!(output.json()["model"]["answered_by"], "test/alpha");
    assert_eq!(bench.env.names(), ["new.jsonl", "s.jsonl"]);
}

#[test]
fn a_handoff_that_fails() {
    let reply = streams::chat_stream("");
    let bench = Bench::replying(vec![reply]).with_session(SAMPLE);
    let said = bench.fails_as(&mut bench.asked(&strict(&HANDOFF)), 5, "provider");
    assert_snapshot!(said, @"
    [no_summary]
    note: the summary is empty; asking once more
    warning: test/alpha (summary): the summary is empty
    error: Handoff failed: the summary is empty; name another --model, or use --fallback extractive; nothing was changed
    ");
    assert_eq!(bench.count(), 2);
}

/// Returns the option that names an endpoint on a server.
fn endpoint(server: &FaultServer) -> String {
    format!(
        "compaction.remoteEndpoint={}/summarize?tenant=7",
        server.url()
    )
}

#[test]
fn a_remote_endpoint_that_answers() {
    let remote = FaultServer::replaying(vec![Reply::json(
        200,
        &json!({"summary": SUMMARY, "more": 1}),
    )]);
    let bench = Bench::replying(vec![Reply::Reset]);
    let options = [
        "--set",
        &endpoint(&remote),
        "--set",
        "compaction.remoteTokenEnv=TEST_TOKEN",
    ];
    let mut command = bench.compact(&options);
    let output = bench.run(command.env("TEST_TOKEN", "token-0123456789"));
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    assert_eq!(bench.prose(), SUMMARY);
    let place = format!("{}/summarize", remote.url());
    assert_eq!(
        bench.compaction()["details"]["summarizer"],
        json!({"by": "remote", "endpoint": place})
    );
    let request = &remote.received()[0];
    assert_eq!(
        request.header("authorization"),
        Some("Bearer token-0123456789")
    );
    assert_eq!(request.path, "/summarize?tenant=7");
    let body = request.json();
    let names: Vec<&String> = body.as_object().expect("an object").keys().collect();
    assert_eq!(names, ["maxTokens", "prompt", "systemPrompt"]);
    assert!(
        body["prompt"]
            .as_str()
            .is_some_and(|prompt| prompt.starts_with("<conversation>"))
    );
    // It takes the place of the model, whose key it never sees.
    assert_eq!(bench.count(), 0);
    assert!(!body.to_string().contains(KEY));
}

#[test]
fn a_remote_endpoint_that_fails() {
    let replies = [
        Reply::text(500, "text/plain", "out of order"),
        Reply::text(200, "application/json", "{\"summary\":"),
        Reply::json(200, &json!({"text": SUMMARY})),
        Reply::json(200, &json!({"summary": 5})),
        Reply::json(200, &json!({"summary": " "})),
        Reply::text(200, "text/html", "<html></html>"),
    ];
    for reply in replies {
        // The model is next.
        let remote = FaultServer::replaying(vec![reply]);
        let bench = Bench::replying(vec![streams::chat_stream(SUMMARY)]);
        let output = bench.succeeds(&["--set", &endpoint(&remote)]);
        assert!(output.stderr.contains("warning: remote/"), "{output}");
        assert_eq!(
            bench.compaction()["details"]["summarizer"]["by"],
            "model",
            "{output}"
        );

        // Without a model the rules are, unless the endpoint is the wrong one.
        let mut command = bench.env.command(crate::env::BINARY);
        bench.env.session("s.jsonl", crate::faults::PLAIN);
        command
            .args(["compact", "s.jsonl", "--in-place", "--json"])
            .args(crate::env::SMALL);
        command.args(["--set", &endpoint(&remote), "--set", "http.attempts=1"]);
        let output = bench.run(&mut command);
        match output.code {
            Some(0) => {
                let document = output.json();
                assert_eq!(
                    document["model"]["failed"][0]["candidate"],
                    format!("remote/{}/summarize", remote.url())
                );
                assert_eq!(
                    bench.compaction()["details"]["summarizer"],
                    json!({"by": "extractive"})
                );
            }
            _ => assert_eq!(
                output.json()["error"]["fault"],
                "invalid_request",
                "{output}"
            ),
        }
    }
}

#[test]
fn a_remote_endpoint_that_is_not_private() {
    let bench = Bench::replying(vec![Reply::Reset]);
    for (url, expected) in [
        (
            "http://summaries.example/x?key=1",
            "http://summaries.example/x is not encrypted and not on this machine",
        ),
        ("ftp://summaries.example/", "no URL"),
        ("summaries", "no URL"),
    ] {
        let option = format!("compaction.remoteEndpoint={url}");
        let said = bench.fails_as(&mut bench.compact(&["--set", &option]), 2, "usage");
        assert!(
            said.starts_with("error: compaction.remoteEndpoint: ") && said.contains(expected),
            "{said}"
        );
    }
    let named: Vec<Value> = bench.bodies();
    assert!(named.is_empty());
}
