//! Requests that exceed the window of whoever is asked: smaller pieces, in a bounded number of requests.

use serde_json::json;
use test_support::{Received, Reply, streams};

use crate::faults::{Bench, SUMMARY, WIRES, prompt};

/// A long session: about 5000 tokens to be summarized.
const LONG_SESSION: &str = "u:600 a:600 u:600 a:600 u:600 a:600 u:600 a:600 u:600 a:100";

/// Refuses what has more bytes than `most`, as llama.cpp does.
fn window_of(most: usize) -> impl Fn(usize, &Received) -> Reply + Send + Sync + 'static {
    move |_, request| match request.body.len() > most {
        true => too_large(),
        false => streams::chat_stream(SUMMARY),
    }
}

fn too_large() -> Reply {
    let message =
        "request (5274 tokens) exceeds the available context size (4096 tokens), try increasing it";
    Reply::json(
        400,
        &json!({"error": {"code": 400, "message": message, "type": "exceed_context_size_error",
            "n_prompt_tokens": 5274, "n_ctx": 4096}}),
    )
}

/// The server's window is smaller than --window says: the second round is smaller, and its summary is stored.
#[test]
fn a_smaller_window_than_was_said() {
    let bench = Bench::new(window_of(16_000)).with_session(LONG_SESSION);
    let output = bench.succeeds(&["--set", "http.attempts=5"]);
    assert_eq!(
        output.stderr,
        "note: too large for the model's window; asking in smaller pieces\n"
    );
    assert_eq!(bench.prose(), SUMMARY);
    assert_eq!(output.json()["model"]["folds"], 1);
    let sizes: Vec<usize> = bench
        .server
        .received()
        .iter()
        .map(|request| request.body.len())
        .collect();
    assert!(sizes.len() > 2, "{sizes:?}");
    assert!(sizes[1..].iter().all(|size| *size < sizes[0]), "{sizes:?}");
    // Each part starts from the answer to the part before.
    let bodies = bench.bodies();
    assert!(
        prompt(&bodies[2]).contains(SUMMARY),
        "{}",
        prompt(&bodies[2])
    );
}

#[test]
fn overflow_that_never_ends() {
    for (wire, _) in WIRES {
        let bench = Bench::replying(vec![too_large()])
            .on(wire)
            .with_session(LONG_SESSION);
        let said = bench.fails(&["--set", "http.attempts=5"]);
        assert!(said.starts_with("[context_overflow]\n"), "{wire}: {said}");
        assert!(
            said.contains("error: Compaction failed: test/alpha: request (5274 tokens) exceeds"),
            "{wire}: {said}"
        );
        assert!(
            (2..=7).contains(&bench.count()),
            "{wire}: {}",
            bench.count()
        );
    }
}

/// The window of the settings may be too small: an answer that is there is not asked for again.
#[test]
fn answer_above_the_known_window_is_kept() {
    let bench = Bench::replying(vec![streams::chat_stream_with(
        &[SUMMARY],
        "stop",
        Some(streams::chat_usage(9_000, 0, 5)),
    )])
    .with_session(LONG_SESSION);
    let output = bench.succeeds(&[]);
    assert_eq!(output.json()["model"]["folds"], 0, "{output}");
    assert_eq!(bench.count(), 1);
}
