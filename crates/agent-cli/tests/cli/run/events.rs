//! `--mode json`: every line an event, every event as the schema says.

use std::collections::{BTreeMap, BTreeSet};

use insta::assert_snapshot;
use serde_json::Value;

use super::text::everything;
use super::{Runs, TWICE};
use crate::env::Output;

/// Returns the events of a run.
fn events(output: &Output) -> Vec<Value> {
    let lines = output.stdout.lines();
    lines
        .map(|line| {
            let event: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
            assert!(event["type"].is_string(), "{line}");
            event
        })
        .collect()
}

/// Checks that an event has exactly the members that the schema names, each of a type that it allows.
fn check(schema: &Value, event: &Value) {
    let kinds = schema["oneOf"].as_array().expect("alternatives").iter();
    let mut kinds = kinds.filter(|kind| kind["properties"]["type"]["const"] == event["type"]);
    let kind = kinds
        .next()
        .unwrap_or_else(|| panic!("no such type: {event}"));
    assert!(kinds.next().is_none(), "{event}");
    check_node(schema, kind, event);
}

fn check_node(schema: &Value, node: &Value, value: &Value) {
    if let Some(name) = node["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").expect("a definition");
        return check_node(schema, &schema["$defs"][name], value);
    }
    if let Some(either) = node["anyOf"].as_array() {
        let fits = either
            .iter()
            .find(|node| node["type"] == "null" && value.is_null());
        let other = either.iter().find(|node| node["type"] != "null");
        return check_node(schema, fits.or(other).expect("an alternative"), value);
    }
    let is = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allowed: Vec<&str> = match &node["type"] {
        Value::String(one) => vec![one],
        Value::Array(some) => some.iter().filter_map(Value::as_str).collect(),
        // Any JSON.
        _ => return,
    };
    let fits = allowed.contains(&is) || is == "integer" && allowed.contains(&"number");
    assert!(fits, "{value} is no {allowed:?}");
    let Some(object) = value.as_object() else {
        return;
    };
    let names = |list: Vec<&str>| list.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    let has = names(object.keys().map(String::as_str).collect());
    let properties = node["properties"].as_object().expect("members");
    let required = node["required"].as_array().expect("a list").iter();
    assert_eq!(
        has,
        names(properties.keys().map(String::as_str).collect()),
        "{value}"
    );
    assert_eq!(
        has,
        names(required.filter_map(Value::as_str).collect()),
        "{value}"
    );
    for (name, value) in object {
        check_node(schema, &properties[name], value);
    }
}

/// Returns an event on one line: ids numbered in the order in which they came, without figures that depend on
/// wordings or on how long something takes.
fn line(event: &Value, ids: &mut BTreeMap<String, usize>) -> String {
    let mut line = event["type"].as_str().expect("a type").to_owned();
    for (name, value) in event.as_object().expect("an object") {
        let told = match (name.as_str(), value) {
            ("type", _) => continue,
            (
                "tokens" | "tokens_before" | "tokens_after" | "ledger_tokens" | "seconds"
                | "waited_seconds" | "usage" | "entries",
                _,
            )
            // Ids have more tokens or fewer, and leave room for more facts or less.
            | ("user_messages", Value::Object(_)) => "#".to_owned(),
            (
                "id"
                | "entry_id"
                | "leaf"
                | "from"
                | "summary_entry_id"
                | "first_kept_entry_id"
                | "session_id",
                Value::String(id),
            ) => {
                let next = ids.len() + 1;
                format!("<{}>", ids.entry(id.clone()).or_insert(next))
            }
            ("result", Value::Object(_)) => {
                let inner = line_of_result(value, ids);
                format!("{{{inner}}}")
            }
            ("path", Value::String(path)) => path.clone(),
            (_, Value::String(text)) if text.len() > 90 => {
                let cut: String = text.chars().take(40).collect();
                format!("{:?}", format!("{cut}..."))
            }
            (_, value) => value.to_string(),
        };
        line.push_str(&format!(" {name}={told}"));
    }
    line
}

fn line_of_result(result: &Value, ids: &mut BTreeMap<String, usize>) -> String {
    let mut event = result.clone();
    event["type"] = Value::from("result");
    line(&event, ids)
}

/// Plays with events to the end `code`; each is checked against the schema that is in the documentation.
fn told(runs: &Runs, code: i32, arguments: &[&str]) -> Vec<Value> {
    let mut command = runs.command(arguments);
    command.args(["--mode", "json"]);
    let output = runs.env.output(&mut command);
    assert_eq!(output.code, Some(code), "{output}");
    assert_eq!(output.stderr.is_empty(), code == 0, "{output}");
    let events = events(&output);
    let schema = include_str!("../../../../../docs/reference/events.schema.json");
    let schema: Value = serde_json::from_str(schema).expect("JSON");
    for event in &events {
        check(&schema, event);
    }
    events
}

#[test]
fn a_run_with_everything() {
    let runs = everything();
    let mut events = told(&runs, 0, &["-p", "What is in notes.txt?"]);
    // When exactly a message is kept that comes while tools run is not said.
    let place = |events: &[Value], kind: &str| {
        events
            .iter()
            .position(|event| event["type"] == kind && event["text"] == "be brief")
    };
    let queued = place(&events, "queued").expect("queued");
    assert!(Some(queued) < place(&events, "message"));
    let steer = events.remove(queued);
    assert_eq!(steer["delivery"], "steer");
    let mut ids = BTreeMap::new();
    let lines: Vec<String> = events.iter().map(|event| line(event, &mut ids)).collect();
    let text = lines.join("\n");
    let text = text.replace(&runs.env.path("tmp").display().to_string(), "[TMP]");
    let text = super::plain(&text);
    assert_snapshot!(text, @r###"
    session_start cwd="[DIR]/tmp/agent-cli-[COPY]" entries=# model="scripted/all" path=[DIR]/data/[FOLDER]/[STAMP]_[SESSION].jsonl session_id=<1> window=16000
    queued delivery="prompt" id=<2> text="What is in notes.txt?"
    message entry_id=<2> text="What is in notes.txt?"
    turn_start
    thinking_delta text="Hm."
    text_delta text="I look into the file."
    answer cost_usd=null entry_id=<3> error=null stop_reason="tool_use" text="I look into the file." tool_calls=2 usage=#
    context estimated=false threshold=13600 tokens=# window=16000
    tool_start arguments={"path":"notes.txt"} call_id="call_2_1" name="read"
    tool_end call_id="call_2_1" details={"first_line":1,"lines":202,"next_offset":null} is_error=false name="read" output="alpha\nfiller that is summarized\nfiller t..." seconds=# truncated=true
    tool_start arguments={"command":"printf 'a\\033[2Jb\\n'\necho two >&2\nexit 3"} call_id="call_2_2" name="bash"
    tool_end call_id="call_2_2" details={"exit_code":3,"full_output_path":null,"outcome":"exited","truncated":false} is_error=true name="bash" output="ab\ntwo\n[exit code 3]" seconds=# truncated=false
    message entry_id=<4> text="be brief"
    text_delta text="The notes say alpha.\nAnd beta."
    answer cost_usd=null entry_id=<5> error=null stop_reason="stop" text="The notes say alpha.\nAnd beta." tool_calls=0 usage=#
    context estimated=false threshold=13600 tokens=# window=16000
    turn_end end="done" error=null
    idle waiting=0
    queued delivery="prompt" id=<6> text="what else?"
    message entry_id=<6> text="what else?"
    turn_start
    text_delta text="Nothing else."
    answer cost_usd=null entry_id=<7> error=null stop_reason="stop" text="Nothing else." tool_calls=0 usage=#
    context estimated=false threshold=13600 tokens=# window=16000
    turn_end end="done" error=null
    idle waiting=0
    labelled entry_id=<6> label="the end"
    compaction_start reason="manual" strategy="context-full"
    compaction_progress notable=false text="asking scripted/all, part 1 of 2"
    compaction_progress notable=false text="26 characters"
    compaction_progress notable=false text="asking scripted/all, part 2 of 2"
    compaction_progress notable=false text="15 characters"
    compaction_end aborted=false error=null reason="manual" result={result cost_usd=null entry_id=<8> first_kept_entry_id=<5> kept_entries=3 ledger_tokens=# prepared=false seconds=# shortened_entries=0 strategy="context-full" summarized_entries=5 summarizer="scripted/all" summary="## Goal\nLook at the notes.\n\n---\n\n**Turn ..." tokens_after=# tokens_before=# user_messages=# waited_seconds=#} will_retry=false
    idle waiting=0
    compaction_progress notable=false text="asking scripted/all"
    compaction_progress notable=false text="28 characters"
    navigated cancelled=false editor_text="what else?" from=<8> leaf=<9> summary_entry_id=<9>
    idle waiting=0
    queued delivery="prompt" id=<10> text="and now?"
    message entry_id=<10> text="and now?"
    turn_start
    text_delta text="Now nothing is left."
    answer cost_usd=null entry_id=<11> error=null stop_reason="stop" text="Now nothing is left." tool_calls=0 usage=#
    context estimated=false threshold=13600 tokens=# window=16000
    turn_end end="done" error=null
    idle waiting=0
    compaction_start reason="manual" strategy="handoff"
    compaction_progress notable=false text="29 characters"
    session_switch from=<1> path=[DIR]/data/[FOLDER]/[STAMP]_[SESSION].jsonl session_id=<12>
    compaction_end aborted=false error=null reason="manual" result={result cost_usd=null entry_id=null first_kept_entry_id=null kept_entries=0 ledger_tokens=# prepared=false seconds=# shortened_entries=0 strategy="handoff" summarized_entries=11 summarizer="scripted/all" summary="## Goal\nGo on with the notes.\n\n<ledger>\n..." tokens_after=# tokens_before=# user_messages=null waited_seconds=#} will_retry=false
    idle waiting=0
    queued delivery="prompt" id=<13> text="go on"
    message entry_id=<13> text="go on"
    turn_start
    text_delta text="All done.\n\nReally.\n"
    answer cost_usd=null entry_id=<14> error=null stop_reason="stop" text="All done.\n\nReally.\n" tool_calls=0 usage=#
    context estimated=false threshold=13600 tokens=# window=16000
    turn_end end="done" error=null
    idle waiting=0
    session_end compactions={"automatic":0,"prepared":0,"waited_seconds":0.0} cost_usd=null entries=# path=[DIR]/data/[FOLDER]/[STAMP]_[SESSION].jsonl session_id=<12> usage=#
    "###);
}

#[test]
fn failures_are_events_too() {
    let runs = Runs::of(
        r#"{"script":1,"name":"fails","window":16000}
{"answer":{"text":"One."}}
{"user":{"compact":{"focus":null}}}
{"user":{"navigate":{"back":9}}}
{"user":{"say":"two"}}
{"error":{"kind":"quota","message":"no money"}}
{"user":{"say":"three"}}
{"answer":{"text":"","calls":[{"name":"read","arguments":{"path":"nope"}}]}}
{"answer":{"text":"Cut o","stop":"length"}}
"#,
    );
    let events = told(&runs, 5, &["-p", "one"]);
    let mut ids = BTreeMap::new();
    let lines = events.iter().map(|event| line(event, &mut ids));
    let lines: Vec<String> = lines.filter(|line| !line.starts_with("session_")).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    queued delivery="prompt" id=<2> text="one"
    message entry_id=<2> text="one"
    turn_start
    text_delta text="One."
    answer cost_usd=null entry_id=<3> error=null stop_reason="stop" text="One." tool_calls=0 usage=#
    context estimated=false threshold=13600 tokens=# window=16000
    turn_end end="done" error=null
    idle waiting=0
    compaction_start reason="manual" strategy="context-full"
    compaction_end aborted=false error="Nothing to compact (session too small)" reason="manual" result=null will_retry=false
    idle waiting=0
    error message="there are no 9 messages of the user to go back to"
    queued delivery="prompt" id=<4> text="two"
    message entry_id=<4> text="two"
    turn_start
    answer cost_usd=null entry_id=<5> error="scripted/fails: no money" stop_reason="error" text="" tool_calls=0 usage=#
    context estimated=false threshold=13600 tokens=# window=16000
    turn_end end="failed" error="scripted/fails: no money"
    idle waiting=0
    queued delivery="prompt" id=<6> text="three"
    message entry_id=<6> text="three"
    turn_start
    answer cost_usd=null entry_id=<7> error=null stop_reason="tool_use" text="" tool_calls=1 usage=#
    context estimated=false threshold=13600 tokens=# window=16000
    tool_start arguments={"path":"nope"} call_id="call_8_1" name="read"
    tool_end call_id="call_8_1" details=null is_error=true name="read" output="cannot read nope: does not exist" seconds=# truncated=false
    text_delta text="Cut o"
    answer cost_usd=null entry_id=<8> error=null stop_reason="length" text="Cut o" tool_calls=0 usage=#
    context estimated=false threshold=13600 tokens=# window=16000
    auto_compaction_start reason="incomplete" strategy="context-full"
    auto_compaction_end aborted=false error="Incomplete response recovery failed: Nothing to compact (session too small)" reason="incomplete" result=null will_retry=false
    turn_end end="failed" error="Incomplete response recovery failed: Nothing to compact (session too small)"
    idle waiting=0
    "#);
}

#[test]
fn a_large_context_is_compacted_on_the_way() {
    let text = "much text ".repeat(1200);
    let script = format!(
        "{{\"script\":1,\"name\":\"large\",\"window\":6000,\"settings\":{{\"compaction\":{{\"keepRecentTokens\":100}}}}}}\n\
         {{\"answer\":{{\"text\":\"{text}\"}}}}\n{{\"user\":{{\"say\":\"more\"}}}}\n{{\"answer\":{{\"text\":\"{text}\"}}}}\n\
         {{\"user\":{{\"say\":\"and more\"}}}}\n{{\"answer\":{{\"text\":\"Enough.\"}}}}\n"
    );
    let events = told(&Runs::of(&script), 0, &["-p", "talk", "--tools", "none"]);
    let of = |kind: &str| -> Vec<&Value> {
        events
            .iter()
            .filter(|event| event["type"] == kind)
            .collect()
    };
    let starts = of("auto_compaction_start");
    assert!(!starts.is_empty(), "{events:#?}");
    assert!(starts.iter().all(|start| start["reason"] == "threshold"));
    let ends = of("auto_compaction_end");
    assert_eq!(starts.len(), ends.len());
    assert!(
        ends.iter()
            .all(|end| end["result"]["summarizer"] == "extractive"),
        "{ends:#?}"
    );
}

#[test]
fn both_forms_at_once_are_refused() {
    let runs = Runs::of(TWICE);
    let output = runs.unchanged_by(|| runs.play(&["-p", "hi", "--mode", "json", "--json"]));
    assert_eq!(output.code, Some(2), "{output}");
    assert_snapshot!(output.stderr, @"error: --json prints one document at the end, --mode json every event as it happens; choose one");
}
