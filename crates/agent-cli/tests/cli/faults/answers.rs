//! Answers of a service that say that it failed, and answers of a model that are no summary.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};
use test_support::{Reply, streams};

use crate::faults::{Bench, SUMMARY, WIRES, timed};

/// Returns an error as OpenAI gives it.
fn error(status: u16, kind: &str, message: &str) -> Reply {
    Reply::json(
        status,
        &json!({"error": {"message": message, "type": kind, "param": null, "code": null}}),
    )
}

#[test]
fn status_429_with_retry_after() {
    let bench = Bench::replying(vec![
        error(429, "rate_limit_error", "Slow down.").header("retry-after", "1"),
        streams::chat_stream(SUMMARY),
    ]);
    let (output, took) = timed(|| bench.succeeds(&["--set", "http.attempts=2"]));
    assert!(took >= Duration::from_secs(1), "{took:?}");
    assert_snapshot!(output.stderr, @"note: test/alpha: Slow down. (status 429); again in [DELAY]");
    let model = &output.json()["model"];
    assert_eq!(
        (&model["requests_sent"], &model["retries"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(bench.bodies()[0], bench.bodies()[1]);
}

#[test]
fn status_429_without_retry_after() {
    let bench = Bench::replying(vec![
        error(429, "rate_limit_error", "Slow down."),
        streams::chat_stream(SUMMARY),
    ]);
    let output = bench.succeeds(&["--set", "http.attempts=2"]);
    assert_snapshot!(output.stderr, @"note: test/alpha: Slow down. (status 429); again in [DELAY]");
    assert_eq!(bench.count(), 2);
}

/// A service that asks for more patience than the budget has is not waited for.
#[test]
fn status_429_with_a_long_retry_after() {
    let reply = error(429, "rate_limit_error", "Slow down.").header("retry-after", "600");
    let bench = Bench::replying(vec![reply]);
    let said = bench.fails(&[
        "--set",
        "http.attempts=5",
        "--set",
        "http.retryBudgetSeconds=2",
    ]);
    assert_snapshot!(said, @"
    [rate_limited]
    warning: test/alpha (summary): Slow down.
    error: Compaction failed: test/alpha: Slow down. (status 429); try again, name another --model, or use --fallback extractive; nothing was changed
    ");
    assert_eq!(bench.count(), 1);
}

#[test]
fn status_529() {
    let body =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let reply = Reply::json(529, &body).header("request-id", "req_011");
    let bench = Bench::replying(vec![reply]).on("messages");
    assert_snapshot!(bench.fails(&[]), @"
    [overloaded]
    warning: test/alpha (summary): Overloaded
    error: Compaction failed: test/alpha: Overloaded (status 529) (request req_011); try again, name another --model, or use --fallback extractive; nothing was changed
    ");
}

#[test]
fn status_500_with_a_page() {
    let page = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>b{color:red}</style></head>\
        <body><center><h1>502 Bad Gateway</h1></center><script>alert(1)</script><hr>nginx</body></html>";
    let bench = Bench::replying(vec![Reply::text(500, "text/html", page)]);
    let said = bench.fails(&[]);
    assert!(!said.contains(['<', '>', '{']), "{said}");
    assert_snapshot!(said, @"
    [overloaded]
    warning: test/alpha (summary): 502 Bad Gateway 502 Bad Gateway nginx
    error: Compaction failed: test/alpha: 502 Bad Gateway 502 Bad Gateway nginx (status 500); try again, name another --model, or use --fallback extractive; nothing was changed
    ");
}

#[test]
fn status_401() {
    let message = "Incorrect API key provided.";
    let bench = Bench::replying(vec![error(401, "invalid_request_error", message)]);
    assert_snapshot!(bench.fails(&["--set", "http.attempts=5"]), @"
    [auth]
    warning: test/alpha (summary): Incorrect API key provided; check the key in TEST_KEY
    error: Compaction failed: test/alpha: Incorrect API key provided; check the key in TEST_KEY (status 401); nothing was changed
    ");
    assert_eq!(bench.count(), 1);
}

/// What the user can mend is an error although the rules may stand in.
#[test]
fn a_wrong_key_is_no_reason_for_the_rules() {
    let bench = Bench::replying(vec![error(
        401,
        "invalid_request_error",
        "Incorrect API key.",
    )]);
    let mut command = bench.asked(&["compact", "s.jsonl", "--in-place", "--json"]);
    let said = bench.fails_as(&mut command, 5, "provider");
    assert!(said.starts_with("[auth]\n"), "{said}");
    // Who asks for the rules gets them.
    let output = bench.succeeds(&["--fallback", "extractive"]);
    assert_eq!(output.json()["model"]["failed"][0]["kind"], "auth");
    assert_eq!(
        bench.compaction()["details"]["summarizer"]["by"],
        "extractive"
    );
}

#[test]
fn status_404() {
    let bench = Bench::replying(vec![error(
        404,
        "not_found",
        "The model `alpha` does not exist.",
    )]);
    assert_snapshot!(bench.fails(&[]), @"
    [invalid_request]
    warning: test/alpha (summary): The model `alpha` does not exist; name another model of test, or check providers.test.baseUrl
    error: Compaction failed: test/alpha: The model `alpha` does not exist; name another model of test, or check providers.test.baseUrl (status 404); nothing was changed
    ");
}

/// Too many bytes are asked for in smaller pieces, and not for ever.
#[test]
fn status_413() {
    let page = "<html><body><h1>413 Request Entity Too Large</h1></body></html>";
    let bench = Bench::replying(vec![Reply::text(413, "text/html", page)]);
    let said = bench.fails(&[]);
    assert!(said.starts_with("[payload_too_large]\n"), "{said}");
    assert!(!said.contains('<'), "{said}");
    assert!((2..=7).contains(&bench.count()), "{}", bench.count());
}

#[test]
fn a_web_page_at_the_base_url() {
    let page = "<!doctype html><html><body>Welcome</body></html>";
    for (wire, _) in WIRES {
        let bench =
            Bench::replying(vec![Reply::text(200, "text/html; charset=utf-8", page)]).on(wire);
        assert_eq!(
            bench.fails(&["--set", "http.attempts=5"]),
            "[invalid_request]\nwarning: test/alpha (summary): a web page answered, not a model service; check the base URL\n\
             error: Compaction failed: test/alpha: a web page answered, not a model service; check the base URL (status 200); \
             check model, address and wire; nothing was changed\n"
        );
        assert_eq!(bench.count(), 1);
    }
}

#[test]
fn an_error_inside_the_stream() {
    let event = json!({"error": {"message": "The engine is overloaded.", "type": "server_error"}});
    let bench = Bench::replying(vec![streams::sse_reply(&[&event.to_string()])]);
    assert_snapshot!(bench.fails(&[]), @"
    [overloaded]
    warning: test/alpha (summary): The engine is overloaded.
    error: Compaction failed: test/alpha: The engine is overloaded; try again, name another --model, or use --fallback extractive; nothing was changed
    ");
}

#[test]
fn empty_summary() {
    for text in ["", "  \n", "<think>I wonder"] {
        let bench = Bench::replying(vec![streams::chat_stream(text)]);
        let said = bench.fails(&[]);
        assert_eq!(
            said,
            "[no_summary]\nnote: the summary is empty; asking once more\n\
             warning: test/alpha (summary): the summary is empty\n\
             error: Compaction failed: the summary is empty; name another --model, or use --fallback extractive; \
             nothing was changed\n",
            "{text:?}"
        );
        assert_eq!(bench.count(), 2);
    }
}

#[test]
fn empty_summary_once() {
    let replies = vec![streams::chat_stream(""), streams::chat_stream(SUMMARY)];
    let bench = Bench::replying(replies);
    let output = bench.succeeds(&[]);
    assert_snapshot!(output.stderr, @"note: the summary is empty; asking once more");
    assert_eq!(bench.prose(), SUMMARY);
}

/// A session of which some 5,000 tokens are summarized.
const MANY: &str = "u:2000 a:1500 u:1000 a:600 u:600 a:100";

#[test]
fn a_summary_that_says_almost_nothing_is_asked_for_once_more_and_then_refused() {
    let few = || streams::chat_stream("Done.");
    let bench = Bench::replying(vec![few()]).with_session(MANY);
    let said = bench.fails(&[]);
    assert!(said.starts_with("[no_summary]\n"), "{said}");
    assert!(said.contains("are needed; asking once more\n"), "{said}");
    assert_eq!(bench.count(), 2);
    let bench = Bench::replying(vec![few(), streams::chat_stream(SUMMARY)]).with_session(MANY);
    bench.succeeds(&[]);
    assert_eq!(bench.prose(), SUMMARY);
    // The next model is asked where there is one.
    let replies = vec![few(), few(), streams::chat_stream(SUMMARY)];
    let bench = Bench::replying(replies).with_session(MANY);
    let bench = bench.asking(&["test/alpha", "test/beta"]);
    bench.succeeds(&[]);
    assert_eq!(bench.compaction()["details"]["summarizer"]["model"], "beta");
}

#[test]
fn a_short_summary_of_a_short_conversation_is_kept() {
    let bench = Bench::replying(vec![streams::chat_stream("The work is done.")]);
    bench.succeeds(&[]);
    assert_eq!(bench.prose(), "The work is done.");
}

#[test]
fn a_tool_call_instead_of_a_summary() {
    let arguments = json!({"path": "src/lib.rs"});
    let calls = [
        ("chat", streams::chat_tool_call("read", &arguments)),
        (
            "responses",
            streams::responses_tool_call("read", &arguments),
        ),
        ("messages", streams::messages_tool_call("read", &arguments)),
    ];
    for (wire, call) in calls {
        let bench = Bench::replying(vec![call]).on(wire);
        assert_eq!(
            bench.fails(&[]),
            "[no_summary]\nnote: the summarizer called a tool instead of writing a summary; asking once more\n\
             warning: test/alpha (summary): the summarizer called a tool instead of writing a summary\n\
             error: Compaction failed: the summarizer called a tool instead of writing a summary; name another --model, \
             or use --fallback extractive; nothing was changed\n",
            "{wire}"
        );
        assert_eq!(bench.count(), 2, "{wire}");
    }
}

/// Returns the output cap of a request on any wire.
fn cap(body: &Value) -> u64 {
    let keys = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let cap = keys.iter().find_map(|key| body[key].as_u64());
    cap.expect("an output cap")
}

#[test]
fn an_answer_that_its_cap_cut_off() {
    let usage = || Some(streams::chat_usage(20, 0, 5));
    let cut_off = [
        (
            "chat",
            streams::chat_stream_with(&["## Go"], "length", usage()),
        ),
        (
            "responses",
            streams::responses_stream_with(
                &["## Go"],
                "incomplete",
                streams::responses_usage(20, 0, 5),
            ),
        ),
        (
            "messages",
            streams::messages_stream_with(&["## Go"], "max_tokens", (20, 0, 5)),
        ),
    ];
    for ((wire, cut), (_, whole)) in cut_off.into_iter().zip(WIRES) {
        let bench = Bench::replying(vec![cut.clone(), whole(SUMMARY)]).on(wire);
        let output = bench.succeeds(&[]);
        assert_eq!(
            output.stderr, "note: the summary was cut off by its output cap; asking once more\n",
            "{wire}"
        );
        assert_eq!(bench.prose(), SUMMARY, "{wire}");
        let bodies = bench.bodies();
        assert_eq!(cap(&bodies[1]), 2 * cap(&bodies[0]), "{wire}");

        let bench = Bench::replying(vec![cut]).on(wire);
        let said = bench.fails(&[]);
        assert!(said.starts_with("[no_summary]\n"), "{wire}: {said}");
        assert_eq!(bench.count(), 2, "{wire}");
    }
}

#[test]
fn what_a_model_wrote_is_accounted_for() {
    for (wire, stream) in WIRES {
        let bench = Bench::replying(vec![stream(SUMMARY)]).on(wire);
        let output = bench.succeeds(&[]);
        assert_eq!(output.stderr, "", "{wire}");
        let details = &bench.compaction()["details"];
        let summarizer = json!({"by": "model", "provider": "test", "model": "alpha"});
        assert_eq!(details["summarizer"], summarizer, "{wire}");
        assert_eq!(
            (&details["usage"]["input"], &details["usage"]["output"]),
            (&json!(20), &json!(5)),
            "{wire}"
        );
        let model = &output.json()["model"];
        assert_eq!(model["answered_by"], "test/alpha", "{wire}");
        assert_eq!(model["failed"], json!([]), "{wire}");
    }
}
