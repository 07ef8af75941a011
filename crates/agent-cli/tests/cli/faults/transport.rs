//! What happens to the connection and on the way: refused, broken, silent, slow, compressed, redirected.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;
use test_support::{Chunk, End, FaultServer, Reply, refused_url, streams};

use crate::faults::{Bench, KEY, LONG, SUMMARY, WIRES, timed};

#[test]
fn connection_refused() {
    let bench = Bench::replying(vec![Reply::Reset]).at(refused_url());
    assert_snapshot!(bench.fails(&[]), @"
    [unreachable]
    warning: test/alpha (summary): cannot connect to [SERVER]: tcp connect error: Connection refused (os error 111); check providers.test.baseUrl and the network
    error: Compaction failed: test/alpha: cannot connect to [SERVER]: tcp connect error: Connection refused (os error 111); check providers.test.baseUrl and the network; leave out --model for an extractive summary; nothing was changed
    ");
    assert_eq!(bench.count(), 0);
}

#[test]
fn no_file_is_left_by_a_failure() {
    let bench = Bench::replying(vec![Reply::Reset]);
    let options = [
        "compact",
        "s.jsonl",
        "--out",
        "new.jsonl",
        "--json",
        "--fallback",
        "none",
    ];
    let mut command = bench.asked(&options);
    command.args(["--set", "http.attempts=1"]);
    bench.fails_as(&mut command, 5, "provider");
}

#[test]
fn reset_before_the_answer() {
    let bench = Bench::replying(vec![Reply::Reset]);
    let said = bench.fails(&[]);
    assert!(said.starts_with("[interrupted]\n"), "{said}");
    assert!(
        said.contains("error: Compaction failed: test/alpha: the connection broke: "),
        "{said}"
    );
}

#[test]
fn reset_in_mid_stream() {
    let bench = Bench::replying(vec![streams::chat_stream(SUMMARY).cut(2, End::Reset)]);
    let said = bench.fails(&[]);
    assert!(said.starts_with("[interrupted]\n"), "{said}");
    assert!(
        said.contains("error: Compaction failed: test/alpha: the "),
        "{said}"
    );
}

#[test]
fn body_that_ends_in_mid_stream() {
    for (wire, stream) in WIRES {
        let bench = Bench::replying(vec![stream(SUMMARY).cut(3, End::Abort)]).on(wire);
        let said = bench.fails(&[]);
        assert!(said.starts_with("[interrupted]\n"), "{wire}: {said}");
    }
}

/// The body is whole, but the wire's closing event is missing.
#[test]
fn early_end_without_the_closing_event() {
    for (wire, stream) in WIRES {
        let bench = Bench::new(move |_, _| {
            let Reply::Chunks { chunks, .. } = stream(SUMMARY) else {
                unreachable!("a stream has chunks")
            };
            // Chat Completions closes with two: why it ended, and that it did.
            let kept = chunks.len() - if wire == "chat" { 3 } else { 1 };
            stream(SUMMARY).cut(kept, End::Close)
        });
        let said = bench.on(wire).fails(&[]);
        assert_eq!(
            said,
            "[interrupted]\nwarning: test/alpha (summary): the answer ended without its closing event\n\
             error: Compaction failed: test/alpha: the answer ended without its closing event; try again, \
             name another --model, or use --fallback extractive; nothing was changed\n",
            "{wire}"
        );
    }
}

/// One byte at a time: every character of more than one is cut, and so is every line.
#[test]
fn half_a_character_between_chunks() {
    let text = "Ziel: größer als 1 €, 目标 完成";
    for (wire, stream) in WIRES {
        let reply = stream(text).dripped(1, Duration::ZERO);
        let bench = Bench::replying(vec![reply]).on(wire);
        bench.succeeds(&[]);
        let summary = bench.prose();
        assert_eq!(summary, text, "{wire}");
    }
}

#[test]
fn slow_drip() {
    let reply = streams::chat_stream(SUMMARY).dripped(40, Duration::from_millis(5));
    let bench = Bench::replying(vec![reply]);
    bench.succeeds(&["--set", "http.idleTimeoutSeconds=10"]);
    assert_eq!(bench.prose(), SUMMARY);
}

#[test]
fn gzip() {
    for (wire, stream) in WIRES {
        let bench = Bench::replying(vec![stream(SUMMARY).gzipped()]).on(wire);
        bench.succeeds(&[]);
        assert_eq!(bench.prose(), SUMMARY, "{wire}");
    }
}

#[test]
fn silence_before_the_answer() {
    let bench = Bench::replying(vec![Reply::Silent(LONG)]);
    let (said, took) = timed(|| bench.fails(&["--set", "http.idleTimeoutSeconds=1"]));
    assert_snapshot!(said, @"
    [timeout]
    warning: test/alpha (summary): no answer within 1 s
    error: Compaction failed: test/alpha: no answer within 1 s; try again, name another --model, or use --fallback extractive; nothing was changed
    ");
    assert!(took < LONG / 2, "{took:?}");
    assert!(bench.server.wait_until_left(0, LONG));
}

#[test]
fn silence_in_mid_stream() {
    let reply = streams::chat_stream(SUMMARY).cut(2, End::Silence(LONG));
    let bench = Bench::replying(vec![reply]);
    let (said, took) = timed(|| bench.fails(&["--set", "http.idleTimeoutSeconds=1"]));
    assert_snapshot!(said, @"
    [timeout]
    warning: test/alpha (summary): the service fell silent for 1 s
    error: Compaction failed: test/alpha: the service fell silent for 1 s; try again, name another --model, or use --fallback extractive; nothing was changed
    ");
    assert!(took < LONG / 2, "{took:?}");
    assert!(bench.server.wait_until_left(0, LONG));
}

#[test]
fn an_answer_that_takes_too_long_although_it_never_falls_silent() {
    let reply = streams::chat_stream(SUMMARY).dripped(4, Duration::from_millis(50));
    let bench = Bench::replying(vec![reply]);
    let said = bench.fails(&["--set", "http.totalTimeoutSeconds=1"]);
    assert_snapshot!(said, @"
    [timeout]
    warning: test/alpha (summary): the answer took longer than 1 s
    error: Compaction failed: test/alpha: the answer took longer than 1 s; try again, name another --model, or use --fallback extractive; nothing was changed
    ");
    assert!(bench.server.wait_until_left(0, LONG));
}

#[test]
fn redirect_to_another_host() {
    let other = FaultServer::replaying(vec![streams::chat_stream(SUMMARY)]);
    for status in [301, 302, 307, 308] {
        let place = format!("{}/v1/chat/completions?key={KEY}", other.url());
        let reply = Reply::text(status, "text/plain", "").header("location", &place);
        let bench = Bench::replying(vec![reply]);
        let said = bench.fails(&[]).replace(&other.url(), "[OTHER]");
        assert_eq!(
            said,
            format!(
                "[invalid_request]\nwarning: test/alpha (summary): the service redirects to [OTHER]/v1/chat/completions; \
                 nothing was sent there; if it is right, name it as the base URL\n\
                 error: Compaction failed: test/alpha: the service redirects to [OTHER]/v1/chat/completions; \
                 nothing was sent there; if it is right, name it as the base URL (status {status}); \
                 check model, address and wire; nothing was changed\n"
            )
        );
        assert_eq!(bench.count(), 1);
    }
    assert!(other.received().is_empty());
}

#[test]
fn answer_that_is_no_http() {
    let bench = Bench::replying(vec![Reply::Raw(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec())]);
    let said = bench.fails(&[]);
    assert!(
        said.contains("error: Compaction failed: test/alpha: "),
        "{said}"
    );
}

/// The body of an error is cut off after a little; the client does not read on.
#[test]
fn error_body_of_200_megabytes() {
    let bytes = 200 << 20;
    let bench = Bench::replying(vec![streams::big_body(400, bytes)]);
    let (said, took) = timed(|| bench.fails(&[]));
    assert!(said.len() < 2_000, "{}", said.len());
    assert!(said.starts_with("[invalid_request]\n"), "{said}");
    assert!(took < LONG, "{took:?}");
    assert!(bench.server.wait_until_left(0, LONG));
    assert!(bench.server.written(0) < bytes / 4);
}

/// One event that does not end is given up long before it fills the memory.
#[test]
fn event_of_200_megabytes() {
    for (wire, _) in WIRES {
        let bytes = 200 << 20;
        let bench = Bench::replying(vec![streams::big_event(bytes)]).on(wire);
        let (said, took) = timed(|| bench.fails(&[]));
        assert!(said.starts_with("[malformed]\n"), "{wire}: {said}");
        assert!(said.len() < 2_000, "{wire}: {}", said.len());
        assert!(took < LONG, "{wire}: {took:?}");
        assert!(bench.server.wait_until_left(0, LONG), "{wire}");
        assert!(bench.server.written(0) < bytes, "{wire}");
    }
}

#[test]
fn invalid_json_in_the_stream() {
    for (wire, _) in WIRES {
        let bench =
            Bench::replying(vec![streams::sse_reply(&["{\"choices\":[", "[DONE]"])]).on(wire);
        let said = bench.fails(&[]);
        assert!(said.starts_with("[malformed]\n"), "{wire}: {said}");
        assert!(
            said.contains("error: Compaction failed: test/alpha: "),
            "{wire}: {said}"
        );
    }
}

#[test]
fn one_document_where_a_stream_was_asked_for() {
    let bench = Bench::replying(vec![Reply::json(200, &json!({"id": "x", "choices": []}))]);
    assert_snapshot!(bench.fails(&[]), @"
    [malformed]
    warning: test/alpha (summary): the service answered with one document although a stream was asked for
    error: Compaction failed: test/alpha: the service answered with one document although a stream was asked for (status 200); try again, name another --model, or use --fallback extractive; nothing was changed
    ");
}

/// Comments, empty events and blank lines keep connections open; they say nothing.
#[test]
fn comments_between_events_say_nothing() {
    let Reply::Chunks { chunks, .. } = streams::chat_stream(SUMMARY) else {
        unreachable!("a stream has chunks")
    };
    let comment = || Chunk::from(": OPENROUTER PROCESSING\n\n");
    let chunks = chunks.into_iter().flat_map(|chunk| [comment(), chunk]);
    let bench = Bench::replying(vec![Reply::event_stream(chunks.collect())]);
    bench.succeeds(&[]);
    assert_eq!(bench.prose(), SUMMARY);
}
