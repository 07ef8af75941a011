//! Edges that are easy to get wrong: lean servers, proxies, money, and what is checked before anything is asked.

use std::process::Command;

use serde_json::json;
use test_support::{FaultServer, Reply, streams};

use crate::faults::{Bench, KEY, SUMMARY};

#[test]
fn a_stream_that_is_done_without_a_reason_is_an_error() {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": SUMMARY}}]}).to_string();
    let bench = Bench::replying(vec![streams::sse_reply(&[&chunk, "[DONE]"])]);
    // It may have been cut off.
    let error = bench.fails(&[]);
    assert!(error.starts_with("[malformed]\n"), "{error}");
}

#[test]
fn servers_that_do_not_stream() {
    let chat = json!({
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": SUMMARY}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 70, "completion_tokens": 20, "total_tokens": 90},
    });
    let item = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SUMMARY}]});
    let responses = json!({"object": "response", "status": "completed", "output": [item]});
    for (wire, document) in [("chat", chat), ("responses", responses)] {
        let bench = Bench::replying(vec![Reply::json(200, &document)]).on(wire);
        let output = bench.succeeds(&[]);
        assert_eq!(
            output.json()["model"]["answered_by"],
            "test/alpha",
            "{wire}"
        );
    }
}

#[test]
fn a_server_on_this_machine_is_not_asked_through_a_proxy() {
    let proxy = FaultServer::replaying(vec![Reply::text(502, "text/plain", "a proxy")]);
    let bench = Bench::replying(vec![streams::chat_stream(SUMMARY)]);
    let mut command = bench.compact(&[]);
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env(variable, proxy.url());
    }
    let output = bench.run(&mut command);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(proxy.received().len(), 0);
}

#[test]
fn a_key_in_a_header_of_the_settings_is_removed_with_and_without_its_scheme() {
    let key = "HEADERKEY-0123456789";
    let body = format!("{{\"error\":{{\"message\":\"Bad credential: {key}\"}}}}");
    let bench = Bench::replying(vec![Reply::text(401, "application/json", &body)]);
    bench.env.write(
        "settings.json",
        json!({"providers": {"test": {
            "baseUrl": bench.server.url(),
            "headers": {"Authorization": format!("Bearer {key}")},
        }}, "models": {"test/alpha": {"window": 8000}}})
        .to_string(),
    );
    let mut command = bench.env.command(crate::env::BINARY);
    command
        .args([
            "compact",
            "s.jsonl",
            "--in-place",
            "--json",
            "--settings",
            "settings.json",
        ])
        .args([
            "--model",
            "test/alpha",
            "--native",
            "off",
            "--record",
            "record.jsonl",
        ])
        .args(["--set", "compaction.keepRecentTokens=300"]);
    let output = bench.run(&mut command);
    assert_eq!(output.code, Some(5), "{output}");
    let sent = bench.server.received();
    assert_eq!(
        sent[0].header("authorization"),
        Some(&*format!("Bearer {key}"))
    );
    let record = String::from_utf8(bench.env.read("record.jsonl")).expect("text");
    for text in [&output.stdout, &output.stderr, &record] {
        assert!(!text.contains(key), "{text}");
    }
}

#[test]
fn a_first_candidate_with_a_tiny_window_does_not_decide_for_the_others() {
    let bench = Bench::replying(vec![streams::chat_stream(SUMMARY)]);
    let url = bench.server.url();
    let mut command = bench.env.command(crate::env::BINARY);
    command
        .args(["compact", "s.jsonl", "--in-place", "--json"])
        .args([
            "--model",
            "test/tiny",
            "--model",
            "test/alpha",
            "--native",
            "off",
        ])
        .args(["--set", &format!("providers.test.baseUrl={url}")])
        .args(["--set", "models.test/tiny.window=400"])
        .args(["--set", "models.test/alpha.window=8000"])
        .args(["--set", "compaction.keepRecentTokens=300"]);
    let output = bench.run(&mut command);
    assert_eq!(output.code, Some(0), "{output}");
    let model = &output.json()["model"];
    assert_eq!(model["answered_by"], "test/alpha");
    assert_eq!(model["failed"][0]["kind"], "window");
}

#[test]
fn what_cannot_be_written_is_not_asked_for() {
    let bench = Bench::replying(vec![streams::chat_stream(SUMMARY)]);
    bench.env.write("there.jsonl", "mine");
    for (out, code, kind) in [
        ("there.jsonl", 2, "usage"),
        ("nowhere/x.jsonl", 1, "failure"),
    ] {
        for command in ["compact", "handoff"] {
            let mut command = bench.asked(&[command, "s.jsonl", "--json", "--out", out]);
            bench.fails_as(&mut command, code, kind);
        }
    }
    assert_eq!(bench.count(), 0);
}

#[test]
fn a_model_in_the_settings_is_not_needed_where_none_is_asked() {
    let bench = Bench::replying(vec![Reply::Reset]);
    let run = |arguments: &[&str]| {
        let mut command = bench.env.command(crate::env::BINARY);
        command
            .args(arguments)
            .args([
                "s.jsonl",
                "--dry-run",
                "--set",
                "compaction.model=openai/gpt-5.4",
            ])
            .args([
                "--set",
                "compaction.keepRecentTokens=300",
                "--window",
                "8000",
            ])
            .env_remove("OPENAI_API_KEY");
        bench.run(&mut command)
    };
    assert_eq!(run(&["branch", "--to", "e1"]).code, Some(0));
    let extractive = run(&["compact", "--strategy", "extractive"]);
    assert_eq!(extractive.code, Some(0), "{extractive}");
    let asked = run(&["compact"]);
    assert_eq!(asked.code, Some(2), "{asked}");
    assert!(asked.stderr.contains("OPENAI_API_KEY"), "{asked}");
}

/// Returns a compaction by a model whose tokens cost a thousandth of a dollar each.
fn priced(bench: &Bench) -> Command {
    let mut command = bench.compact(&[]);
    let url = bench.server.url();
    command
        .args(["--set", &format!("providers.test.baseUrl={url}")])
        .args([
            "--set",
            "models.test/alpha={\"window\":8000,\"prices\":[{\"input\":1000,\"output\":1000}]}",
        ]);
    command
}

#[test]
fn what_a_useless_answer_cost_is_counted() {
    let empty = streams::chat_stream_with(&[""], "stop", Some(streams::chat_usage(1000, 0, 10)));
    let good =
        streams::chat_stream_with(&[SUMMARY], "stop", Some(streams::chat_usage(1000, 0, 30)));
    let bench = Bench::replying(vec![empty, good]);
    let mut command = priced(&bench);
    let output = bench.run(&mut command);
    assert_eq!(output.code, Some(0), "{output}");
    let model = &output.json()["model"];
    assert_eq!(model["usage"]["input"], 2000);
    assert_eq!(model["usage"]["output"], 40);
    assert_eq!(model["cost_usd"], 2.04);
    assert_eq!(bench.compaction()["details"]["usage"]["input"], 2000);

    // A server that tells nothing is not free.
    let silent = Bench::replying(vec![streams::chat_stream_with(&[SUMMARY], "stop", None)]);
    let mut command = priced(&silent);
    let output = silent.run(&mut command);
    let model = &output.json()["model"];
    assert_eq!(
        (&model["cost_usd"], &model["cost_is_partial"]),
        (&json!(null), &json!(true))
    );
}

#[test]
fn a_failure_tells_in_json_what_was_asked() {
    let bench = Bench::replying(vec![Reply::text(503, "text/plain", "no healthy upstream")]);
    let output = bench.run(&mut bench.compact(&[]));
    let document = output.json();
    assert_eq!(document["model"]["requests_sent"], 1);
    assert_eq!(document["model"]["failed"][0]["kind"], "overloaded");
    assert!(!output.to_string().contains(KEY));
}

/// A key and an address that are given once belong to one provider.
#[test]
fn options_of_one_provider_do_not_reach_another() {
    let bench = Bench::replying(vec![Reply::Reset]);
    let bench = bench.asking(&["test/alpha", "openai/gpt-5.4"]);
    let said = bench.fails_as(&mut bench.compact(&[]), 2, "usage");
    assert!(said.contains("would also go to openai"), "{said}");
    assert_eq!(bench.count(), 0);
}

/// A service may refuse the history as messages; as text it can be read all the same.
#[test]
fn a_handoff_that_is_refused_as_messages_goes_as_text() {
    let refused = json!({"error": {"message": "tool_use blocks need tools", "type": "invalid_request_error"}});
    let replies = vec![Reply::json(400, &refused), streams::chat_stream(SUMMARY)];
    let bench = Bench::replying(replies);
    let arguments = ["handoff", "s.jsonl", "--json", "--out", "new.jsonl"];
    let output = bench.run(&mut bench.asked(&arguments));
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json()["model"]["answered_by"], "test/alpha");
    let roles: Vec<usize> = bench
        .bodies()
        .iter()
        .map(|body| body["messages"].as_array().map_or(0, Vec::len))
        .collect();
    assert!(roles[0] > 2 && roles[1] == 2, "{roles:?}");
}
