//! Who is asked: several candidates, the rules after them, and choices that cannot be made.

use insta::assert_snapshot;
use serde_json::json;
use test_support::{Received, Reply, streams};

use crate::faults::{Bench, SUMMARY};

fn model_of(request: &Received) -> String {
    request.json()["model"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn the_second_candidate_answers() {
    let busy = Reply::text(503, "text/plain", "no healthy upstream");
    let quota = Reply::json(
        429,
        &json!({"error": {"message": "You exceeded your current quota.", "type": "insufficient_quota", "code": "insufficient_quota"}}),
    );
    for (reply, kind, status) in [(busy, "overloaded", 503), (quota, "quota", 429)] {
        let bench = Bench::new(move |_, request| match model_of(request).as_str() {
            "alpha" => reply.clone(),
            _ => streams::chat_stream(SUMMARY),
        });
        let bench = bench.asking(&["test/alpha", "test/beta"]);
        let output = bench.succeeds(&[]);
        assert!(
            output.stderr.starts_with("warning: test/alpha (summary): "),
            "{output}"
        );
        let summarizer = json!({"by": "model", "provider": "test", "model": "beta"});
        assert_eq!(bench.compaction()["details"]["summarizer"], summarizer);
        let model = &output.json()["model"];
        assert_eq!(model["answered_by"], "test/beta");
        let failed = &model["failed"][0];
        assert_eq!(
            (&failed["candidate"], &failed["kind"], &failed["status"]),
            (&json!("test/alpha"), &json!(kind), &json!(status))
        );
        assert_eq!(bench.count(), 2);
    }
}

#[test]
fn the_rules_write_when_all_fail() {
    let bench = Bench::replying(vec![Reply::text(503, "text/plain", "no healthy upstream")]);
    let bench = bench.asking(&["test/alpha", "test/beta"]);
    let output = bench.succeeds(&["--fallback", "extractive"]);
    assert_snapshot!(output.stderr, @"
    warning: test/alpha (summary): no healthy upstream
    warning: test/beta (summary): no healthy upstream
    ");
    let document = output.json();
    let failed: Vec<_> = document["model"]["failed"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(failed.len(), 2, "{output}");
    assert_eq!(document["model"]["answered_by"], json!(null));
    assert_eq!(
        bench.compaction()["details"]["summarizer"],
        json!({"by": "extractive"})
    );
}

#[test]
fn no_key() {
    let bench = Bench::replying(vec![Reply::Reset]);
    let mut command = bench.compact(&[]);
    let said = bench.fails_as(command.env_remove("TEST_KEY"), 2, "usage");
    assert_snapshot!(said, @"error: no key for test: set TEST_KEY, or name another variable with --api-key-env");
    assert_eq!(bench.count(), 0);
}

#[test]
fn a_key_with_a_line_break_in_it() {
    let bench = Bench::replying(vec![Reply::Reset]);
    let mut command = bench.compact(&[]);
    let said = bench.fails_as(
        command.env("TEST_KEY", "sk-planted\n0123456789"),
        2,
        "usage",
    );
    assert!(!said.contains("0123456789"), "{said}");
    assert_snapshot!(said, @"error: TEST_KEY holds a line break or another control character within the key; set it again");
    assert_eq!(bench.count(), 0);
}

/// Line breaks around a key come from files and are no part of it.
#[test]
fn a_key_with_a_line_break_after_it() {
    let bench = Bench::replying(vec![streams::chat_stream(SUMMARY)]);
    let mut command = bench.compact(&[]);
    let output = bench.run(command.env("TEST_KEY", "sk-planted-0123456789\n"));
    assert_eq!(output.code, Some(0), "{output}");
    let request = &bench.server.received()[0];
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-planted-0123456789")
    );
}

#[test]
fn an_unknown_model() {
    let bench = Bench::replying(vec![Reply::Reset]);
    let mut command = bench.env.command(crate::env::BINARY);
    command.args([
        "compact",
        "s.jsonl",
        "--in-place",
        "--json",
        "--model",
        "openai/gpt-6.2-soll",
    ]);
    command.args(["--record", "record.jsonl"]);
    assert_snapshot!(bench.fails_as(&mut command, 2, "usage"), @r#"error: openai has no model gpt-6.2-soll in the catalog; did you mean openai/gpt-6.2-sol or openai/gpt-6.1-sol or openai/gpt-5.6-sol; one that is not listed needs its window, models."openai/gpt-6.2-soll".window in the settings, or --window TOKENS"#);
}

#[test]
fn a_catalog_entry_with_a_bad_field() {
    let bench = Bench::replying(vec![Reply::Reset]);
    let mut command = bench.compact(&["--set", r#"models."test/alpha".windows=5"#]);
    assert_snapshot!(bench.fails_as(&mut command, 2, "usage"), @"error: settings (--set): models.test/alpha.windows is not a setting; did you mean models.test/alpha.window?");
    let mut command = bench.compact(&["--set", "providers.test.baseUrl=nowhere"]);
    assert_snapshot!(bench.fails_as(&mut command, 2, "usage"), @r#"error: settings (--set): providers.test.baseUrl: is "nowhere" (relative URL without a base); write http:// or https:// with a host, such as http://127.0.0.1:8000/v1"#);
}

#[test]
fn a_native_form_that_the_wire_does_not_have() {
    let bench = Bench::replying(vec![Reply::Reset]);
    let mut command = bench.compact(&["--native", "in-band", "--record", "record.jsonl"]);
    assert_snapshot!(bench.fails_as(&mut command, 2, "usage"), @"error: test/alpha has no such native compaction on its wire; use --native off, or --wire responses where the service speaks it");
}

/// A key goes over plain http to this machine only.
#[test]
fn a_key_over_plain_http() {
    let bench = Bench::replying(vec![Reply::Reset]).at("http://models.example:8000/v1".to_owned());
    assert_snapshot!(bench.fails_as(&mut bench.compact(&[]), 2, "usage"), @"error: test: the key would be sent unencrypted to [SERVER]; use https or a loopback address, or allow it with providers.test.allowInsecure next to baseUrl in the settings");
}

/// Asks both models of the example in the docs, of which the first is overloaded; returns the paths in their order.
fn asked_in_order(answering: (&str, &str)) -> Vec<String> {
    let bench = Bench::new(|_, request| match request.path.as_str() {
        "/v1/messages" => Reply::text(503, "text/plain", "no healthy upstream"),
        "/responses/compact" => Reply::text(404, "text/plain", "not found"),
        _ => streams::responses_stream(SUMMARY),
    });
    let session = String::from_utf8(bench.env.read("s.jsonl")).expect("a session is text");
    let (provider, model) = answering;
    let session = session
        .replace(
            r#""provider":"test""#,
            &format!(r#""provider":"{provider}""#),
        )
        .replace(r#""model":"test""#, &format!(r#""model":"{model}""#));
    assert!(session.contains(model), "{session}");
    bench.env.write("s.jsonl", session);
    let mut command = bench.env.command(crate::env::BINARY);
    command
        .args(["compact", "s.jsonl", "--in-place", "--json"])
        .args(crate::env::SMALL)
        .args(["--model", "anthropic/claude-sonnet-5-5"])
        .args(["--model", "openai/gpt-5.4"])
        .args(["--set", "http.attempts=1"]);
    for provider in ["anthropic", "openai"] {
        let url = bench.server.url();
        command
            .args(["--set", &format!("providers.{provider}.baseUrl={url}")])
            .args(["--set", &format!("providers.{provider}.apiKeyEnv=TEST_KEY")]);
    }
    let output = bench.run(command.env("TEST_KEY", crate::faults::KEY));
    assert_eq!(output.json()["model"]["answered_by"], "openai/gpt-5.4");
    let received = bench.server.received();
    received
        .iter()
        .map(|request| request.path.clone())
        .collect()
}

#[test]
fn models_are_asked_in_the_order_of_their_names() {
    assert_eq!(
        asked_in_order(("openai", "gpt-5.4"))[..2],
        ["/v1/messages", "/responses/compact"]
    );
    assert_eq!(
        asked_in_order(("anthropic", "claude-sonnet-5-5")),
        ["/v1/messages", "/responses"]
    );
}
