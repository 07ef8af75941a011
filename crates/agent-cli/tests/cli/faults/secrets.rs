//! The key goes into one header and nowhere else: not into what is printed, written or recorded.

use insta::assert_snapshot;
use serde_json::{Value, json};
use test_support::{FaultServer, Reply, streams};

use crate::env::Output;
use crate::faults::{Bench, KEY, SUMMARY, WIRES};

/// Checks that the key is in nothing that a run left.
fn clean(bench: &Bench, output: &Output, what: &str) {
    let key = KEY.as_bytes();
    let holds = |bytes: &[u8]| bytes.windows(key.len()).any(|window| window == key);
    assert!(!holds(output.stdout.as_bytes()), "{what}: {output}");
    assert!(!holds(output.stderr.as_bytes()), "{what}: {output}");
    for (name, bytes) in bench.env.listing() {
        assert!(!holds(&bytes.unwrap_or_default()), "{what}: {name}");
    }
}

fn recorded(bench: &Bench, name: &str) -> Vec<Value> {
    let text = String::from_utf8(bench.env.read(name)).expect("a record is text");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

/// Runs a compaction with a record; returns its output. The key was sent, and is nowhere else.
fn checked(bench: &Bench, options: &[&str], code: i32, what: &str) -> Output {
    let options = [&["--record", "record.jsonl"], options].concat();
    let output = bench.run(&mut bench.compact(&options));
    assert_eq!(output.code, Some(code), "{what}: {output}");
    let sent = &bench.server.received()[0];
    let sent = sent.header("authorization").or(sent.header("x-api-key"));
    assert!(sent.is_some_and(|sent| sent.ends_with(KEY)), "{what}");
    clean(bench, &output, what);
    output
}

#[test]
fn a_good_run() {
    for (wire, stream) in WIRES {
        let bench = Bench::replying(vec![stream(SUMMARY)]).on(wire);
        checked(&bench, &[], 0, wire);
    }
}

#[test]
fn an_error_that_echoes_the_key() {
    let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}."), "type": "invalid_request_error"}});
    for (wire, _) in WIRES {
        let reply = Reply::json(401, &body)
            .header("x-request-id", KEY)
            .header("x-echo", &format!("Bearer {KEY}"))
            .header("set-cookie", KEY);
        let bench = Bench::replying(vec![reply]).on(wire);
        let output = checked(&bench, &[], 5, wire);
        assert!(
            output.stderr.contains("Incorrect API key provided: [key]"),
            "{output}"
        );
    }
}

#[test]
fn a_page_and_a_redirect_that_echo_the_key() {
    let other = FaultServer::replaying(vec![Reply::Reset]);
    let place = format!("{}/{KEY}/v1", other.url());
    for reply in [
        Reply::text(
            502,
            "text/html",
            &format!("<html><title>{KEY}</title><p>{KEY}</p></html>"),
        ),
        Reply::text(500, "text/plain", KEY),
        Reply::text(307, "text/plain", KEY).header("location", &place),
        Reply::text(200, "application/json", &format!("{{\"{KEY}\":1}}")),
        streams::sse_reply(&[KEY]),
        streams::sse_reply(&[&json!({"error": {"message": KEY, "code": KEY}}).to_string()]),
    ] {
        let what = format!("{reply:?}");
        checked(&Bench::replying(vec![reply]), &[], 5, &what);
    }
    assert!(other.received().is_empty());
}

/// The key comes back in two chunks of the transport.
#[test]
fn an_error_that_echoes_the_key_in_two_chunks() {
    let body = json!({"error": {"message": format!("Bad key {KEY}!"), "type": "x"}}).to_string();
    let Reply::Chunks {
        headers,
        chunks,
        end,
        ..
    } = Reply::event_stream(vec![body.into()]).dripped(30, std::time::Duration::from_millis(20))
    else {
        unreachable!("a stream has chunks")
    };
    let bench = Bench::replying(vec![Reply::Chunks {
        status: 401,
        headers,
        chunks,
        end,
    }]);
    checked(&bench, &[], 5, "split");
}

/// The model writes the key into its summary, in one piece and in two: neither is stored.
#[test]
fn a_summary_that_echoes_the_key() {
    let (first, second) = KEY.split_at(9);
    let text = format!("## Goal\nCall the service with {KEY}.");
    let parted = [
        format!("## Goal\nCall the service with {first}"),
        format!("{second}."),
    ];
    let parted = parted.each_ref().map(String::as_str);
    let usage = || Some(streams::chat_usage(20, 0, 5));
    for (wire, replies) in [
        (
            "chat",
            [
                streams::chat_stream(&text),
                streams::chat_stream_with(&parted, "stop", usage()),
            ],
        ),
        (
            "responses",
            [
                streams::responses_stream(&text),
                streams::responses_stream_with(
                    &parted,
                    "completed",
                    streams::responses_usage(20, 0, 5),
                ),
            ],
        ),
        (
            "messages",
            [
                streams::messages_stream(&text),
                streams::messages_stream_with(&parted, "end_turn", (20, 0, 5)),
            ],
        ),
    ] {
        for reply in replies {
            let bench = Bench::replying(vec![reply]).on(wire);
            checked(&bench, &[], 0, wire);
            let summary = bench.prose();
            assert_eq!(
                summary, "## Goal\nCall the service with [secret removed].",
                "{wire}"
            );
        }
    }
}

#[test]
fn a_record_holds_requests_and_answers() {
    let bench = Bench::replying(vec![
        Reply::text(503, "text/plain", "no healthy upstream"),
        streams::chat_stream(SUMMARY),
    ]);
    checked(&bench, &["--set", "http.attempts=2"], 0, "record");
    let exchanges = recorded(&bench, "record.jsonl");
    assert_eq!(exchanges.len(), 2);
    assert_eq!(
        (&exchanges[0]["status"], &exchanges[1]["status"]),
        (&json!(503), &json!(200))
    );
    assert_eq!(exchanges[0]["request_body"], bench.bodies()[0]);
    assert_eq!(
        exchanges[0]["request_headers"]["authorization"],
        "[secret removed]"
    );
    assert_eq!(exchanges[0]["answer_body"], "no healthy upstream");
    let answer = exchanges[1]["answer_body"].as_str().unwrap_or_default();
    assert!(answer.ends_with("data: [DONE]\n\n"), "{answer}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let about = std::fs::metadata(bench.env.path("record.jsonl")).expect("the record");
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
    }
    let mut again = bench.compact(&["--record", "record.jsonl"]);
    assert_snapshot!(bench.fails_as(&mut again, 2, "usage"), @"error: record.jsonl exists; --record never overwrites, choose another name");
}
