//! Native compaction: what is kept and replayed verbatim, and what stands in when it fails.

use insta::assert_snapshot;
use serde_json::{Value, json};
use test_support::{Reply, streams};

use crate::env::SAMPLE;
use crate::faults::{Bench, SUMMARY};

/// An item as a service gives it, with fields that nobody knows.
fn item(state: &str) -> Value {
    json!({"id": "cmp_1", "type": "compaction", "encrypted_content": state, "zz": {"b": 1, "a": [2.50, null]}})
}

/// Returns the streamed answer with these items.
fn in_band(items: &[Value]) -> Reply {
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
    ];
    for (place, item) in items.iter().enumerate() {
        events.push(
            json!({"type": "response.output_item.done", "output_index": place, "item": item}),
        );
    }
    events.push(json!({"type": "response.completed", "response": {
        "id": "resp_1", "status": "completed", "output": items, "usage": streams::responses_usage(900, 0, 40)}}));
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    streams::sse_reply(&events)
}

/// Returns the document of a standalone compaction with this output.
fn standalone(output: &[Value]) -> Reply {
    Reply::json(
        200,
        &json!({"id": "resp_1", "object": "response.compaction", "output": output, "usage": streams::responses_usage(900, 0, 40)}),
    )
}

fn kept() -> Value {
    json!({"type": "message", "role": "user", "id": "msg_0", "zz": 1, "content": [{"type": "input_text", "text": "Keep this."}]})
}

/// The history of a bench whose session has calls, on the Responses wire.
fn bench(replies: Vec<Reply>) -> Bench {
    Bench::replying(replies)
        .on("responses")
        .with_session(SAMPLE)
}

fn history(bench: &Bench) -> Value {
    bench.compaction()["preserveData"]["openaiRemoteCompaction"].clone()
}

/// Checks what stands beside a native history.
fn accounted(bench: &Bench) {
    let details = &bench.compaction()["details"];
    let summarizer =
        json!({"by": "native", "provider": "test", "model": "alpha", "readable": false});
    assert_eq!(details["summarizer"], summarizer);
    assert_eq!(
        (&details["usage"]["input"], &details["usage"]["output"]),
        (&json!(900), &json!(40))
    );
    let summary = bench.compaction()["summary"].clone();
    assert!(summary.as_str().is_some_and(|summary| !summary.is_empty()));
}

#[test]
fn a_standalone_history_is_kept_verbatim_and_replayed() {
    let output = [kept(), item("opaque==")];
    let bench = bench(vec![standalone(&output), standalone(&[item("second")])]);
    let run = bench.succeeds(&["--native", "standalone"]);
    assert_eq!(run.json()["model"]["way"], "native standalone");
    assert_eq!(bench.server.received()[0].path, "/responses/compact");
    let history = history(&bench);
    assert_eq!(
        (&history["provider"], &history["model"]),
        (&json!("test"), &json!("alpha"))
    );
    assert_eq!(history["replacementHistory"], json!(output));
    assert_eq!(history["compactionItem"], output[1]);
    let text = String::from_utf8(bench.env.read("s.jsonl")).expect("a session is text");
    assert!(text.contains(&item("opaque==").to_string()), "{text}");
    accounted(&bench);

    // The same model gets its items back, before anything else.
    grow(&bench);
    bench.succeeds(&["--native", "standalone"]);
    let bodies = bench.bodies();
    let input = bodies[1]["input"].as_array().expect("items");
    assert_eq!(input[..2], output, "{input:?}");
    let later = input[2..].iter().map(Value::to_string).collect::<String>();
    assert!(!later.contains("compaction"), "{later}");
}

#[test]
fn an_in_band_history_is_kept_verbatim_and_replayed() {
    let bench = bench(vec![
        in_band(&[item("opaque==")]),
        in_band(&[item("second")]),
    ]);
    bench.succeeds(&["--native", "in-band"]);
    let sent = &bench.bodies()[0];
    let sent = sent["input"].as_array().expect("items");
    assert_eq!(sent.last(), Some(&json!({"type": "compaction_trigger"})));
    let history = history(&bench);
    assert_eq!(history["compactionItem"], item("opaque=="));
    let items = history["replacementHistory"]
        .as_array()
        .expect("items")
        .clone();
    assert_eq!(items.last(), Some(&item("opaque==")));
    accounted(&bench);

    grow(&bench);
    bench.succeeds(&["--native", "in-band"]);
    let bodies = bench.bodies();
    let input = bodies[1]["input"].as_array().expect("items");
    assert_eq!(input[..items.len()], items[..]);
}

#[test]
fn another_model_gets_the_readable_summary() {
    let first = bench(vec![
        standalone(&[kept(), item("opaque==")]),
        standalone(&[item("second")]),
    ]);
    first.succeeds(&["--native", "standalone"]);
    let summary = first.compaction()["summary"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    grow(&first);
    let second = first.asking(&["test/beta"]);
    second.succeeds(&["--native", "standalone"]);
    let bodies = second.bodies();
    let text = bodies[1].to_string();
    assert!(
        !text.contains("opaque==") && !text.contains("msg_0"),
        "{text}"
    );
    let line = summary
        .lines()
        .find(|line| line.len() > 20)
        .expect("a line of the summary");
    let spelled = Value::from(line).to_string();
    assert!(text.contains(spelled.trim_matches('"')), "{line}: {text}");
}

/// What the provider does not take back any more is dropped for the readable summary, and that is said.
#[test]
fn a_history_that_its_provider_refuses() {
    let refused = Reply::json(
        400,
        &json!({"error": {"message": "The encrypted content could not be verified.", "type": "invalid_request_error", "code": "invalid_encrypted_content"}}),
    );
    let bench = bench(vec![
        standalone(&[item("opaque==")]),
        refused,
        standalone(&[item("second")]),
    ]);
    bench.succeeds(&["--native", "standalone"]);
    grow(&bench);
    let output = bench.succeeds(&["--native", "standalone"]);
    assert_snapshot!(output.stderr, @"note: test/alpha: The encrypted content could not be verified. (status 400); the readable summary takes the place of the native history");
    assert!(!bench.bodies()[2].to_string().contains("opaque=="));
    assert_eq!(history(&bench)["compactionItem"], item("second"));
}

/// Falls to a summary in words by the same model, and says so.
fn falls_to_words(native: &Reply, form: &str) -> String {
    let bench = bench(vec![native.clone(), streams::responses_stream(SUMMARY)]);
    let output = bench.succeeds(&["--native", form]);
    assert_eq!(output.json()["model"]["way"], "summary", "{output}");
    let entry = bench.compaction();
    assert!(
        entry["summary"]
            .as_str()
            .is_some_and(|summary| summary.contains(SUMMARY)),
        "{entry}"
    );
    assert!(entry["preserveData"].is_null(), "{entry}");
    output.stderr
}

#[test]
fn no_compaction_item() {
    let message = json!({"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "Hello."}]});
    assert_snapshot!(falls_to_words(&in_band(std::slice::from_ref(&message)), "in-band"), @"warning: test/alpha (native in-band): the answer has 0 compaction items instead of one");
    assert_snapshot!(falls_to_words(&standalone(&[message]), "standalone"), @"warning: test/alpha (native standalone): the answer has 0 compaction items instead of one");
    assert_snapshot!(falls_to_words(&standalone(&[]), "standalone"), @"warning: test/alpha (native standalone): the answer has 0 compaction items instead of one");
}

#[test]
fn two_compaction_items() {
    let items = [item("one"), item("two")];
    assert_snapshot!(falls_to_words(&in_band(&items), "in-band"), @"warning: test/alpha (native in-band): the answer has 2 compaction items instead of one");
    assert_snapshot!(falls_to_words(&standalone(&items), "standalone"), @"warning: test/alpha (native standalone): the answer has 2 compaction items instead of one");
}

#[test]
fn native_answers_of_other_forms() {
    let not_found = Reply::json(
        404,
        &json!({"error": {"message": "Invalid URL (POST /responses/compact)", "type": "invalid_request_error"}}),
    );
    assert_snapshot!(falls_to_words(&not_found, "standalone"), @"warning: test/alpha (native standalone): Invalid URL (POST /responses/compact)");
    let no_output = Reply::json(200, &json!({"id": "x"}));
    assert_snapshot!(falls_to_words(&no_output, "standalone"), @"warning: test/alpha (native standalone): the answer is not a compacted history: no output");
    let no_json = Reply::text(200, "application/json", "{\"output\":[");
    assert_snapshot!(falls_to_words(&no_json, "standalone"), @"warning: test/alpha (native standalone): the answer is not a compacted history: no JSON object");
    assert_snapshot!(falls_to_words(&in_band(&[item("")]), "in-band"), @"warning: test/alpha (native in-band): the answer is not a compacted history: the compaction item is empty");
}

/// A history that is no smaller than what it replaces helps nothing.
#[test]
fn a_native_history_that_is_no_smaller() {
    let mut long = kept();
    long["content"][0]["text"] = json!("Keep all of this, every word of it. ".repeat(4_000));
    assert!(
        falls_to_words(&standalone(&[long, item("x")]), "standalone")
            .contains("the native history takes")
    );
}

/// Adds two turns after the compaction, so that there is something to compact again.
fn grow(bench: &Bench) {
    let mut parent = bench.compaction()["id"].clone();
    let mut text = String::from_utf8(bench.env.read("s.jsonl")).expect("a session is text");
    for number in 0..6 {
        let id = format!("grown{number}");
        let said = format!("More was said, part {number}. ").repeat(60);
        let message = match number % 2 {
            0 => json!({"role": "user", "content": said, "timestamp": 1_767_225_600_000_u64}),
            _ => {
                json!({"role": "assistant", "content": [{"type": "text", "text": said}], "stopReason": "stop",
                "provider": "test", "model": "alpha", "api": "openai-responses", "timestamp": 1_767_225_600_000_u64,
                "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0}})
            }
        };
        let entry = json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-02T00:00:00.000Z", "message": message});
        text.push_str(&format!("{entry}\n"));
        parent = json!(id);
    }
    bench.env.write("s.jsonl", text);
}
