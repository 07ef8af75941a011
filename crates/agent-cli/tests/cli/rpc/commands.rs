//! Every command once, and what it gives.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Client, error};
use crate::env::{SAMPLE, SMALL};
use crate::run::{Runs, TWICE};

/// Answers, and summaries of what comes before them.
const LONG: &str = r#"{"script":1,"name":"long","window":4000,"settings":{"compaction":{"keepRecentTokens":100,"reserveTokens":500}}}
{"answer":{"text":"One."}}
{"answer":{"text":"Two."}}
{"answer":{"text":"Three."}}
{"answer":{"text":"Four."}}
{"summary":{"text":"What was said before."}}
{"summary":{"text":"What was said on the branch."}}
{"summary":{"text":"What the next one must know."}}
"#;

/// The second answer lets wait for ten minutes.
pub const WAITS: &str = r#"{"script":1,"name":"waits","window":16000}
{"answer":{"text":"Hello."}}
{"answer":{"text":"Much later.","pause_ms":600000}}
{"answer":{"text":"After all."}}
"#;

fn words() -> String {
    "lorem ipsum dolor ".repeat(150)
}

/// Returns the texts of the messages of the user and the model.
fn said(client: &mut Client) -> String {
    let context = client.call("get_context", json!({}));
    let messages = context["messages"].as_array().expect("a list").iter();
    let lines = messages
        .filter(|message| message["role"] != "system")
        .map(|message| {
            let text: String = message["text"]
                .as_str()
                .unwrap_or_default()
                .chars()
                .take(30)
                .collect();
            format!("{}: {text}\n", message["role"].as_str().unwrap_or_default())
        });
    lines.collect()
}

#[test]
fn a_prompt_is_kept_and_answered_under_one_id() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    assert_eq!(client.event("session_start")["entries"], 0);
    let kept = client.call("prompt", json!({ "text": "hi" }));
    assert_eq!(client.event("queued")["id"], kept["message_id"]);
    assert_eq!(client.event("message")["entry_id"], kept["message_id"]);
    assert_eq!(client.event("answer")["text"], "Hello.");
    client.event("idle");
    let (code, _, said) = client.end();
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_snapshot!(runs.said(&runs.session()), @"
    user: hi
    assistant: Hello.
    ");
}

#[test]
fn a_prompt_waits_while_the_agent_is_busy_and_can_be_taken_back() {
    let runs = Runs::of(WAITS);
    let mut client = Client::start(&runs, &[]);
    client.prompt("hi");
    client.call("prompt", json!({ "text": "and then?" }));
    client.event("turn_start");
    let first = client.call("prompt", json!({ "text": "wait" }));
    let second = client.call("follow_up", json!({ "text": "no" }));
    let state = client.call("get_state", json!({}));
    assert_eq!(state["state"], "asking");
    assert_eq!(state["in_turn"], true);
    let queue = state["queue"].as_array().expect("a list");
    let queue: Vec<&str> = queue
        .iter()
        .filter_map(|one| one["text"].as_str())
        .collect();
    assert_eq!(queue, ["wait", "no"]);
    let taken = client.call("take_back", second.clone());
    assert_eq!(taken["text"], "no");
    assert_snapshot!(client.refused("take_back", json!({ "message_id": "none" })), @"refused: no message none waits to be sent; it may be sent already");
    // What is stopped leaves what waits where it is.
    assert_eq!(client.call("abort", json!({}))["running"], true);
    let state = client.call("get_state", json!({}));
    assert_eq!(state["state"], "idle");
    assert_eq!(state["queue"][0]["id"], first["message_id"]);
    assert_eq!(client.call("abort", json!({}))["running"], false);
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn what_an_earlier_run_left_goes_on_when_it_is_asked_to() {
    let runs = Runs::of(WAITS);
    let mut client = Client::start(&runs, &[]);
    client.prompt("hi");
    client.call("prompt", json!({ "text": "and then?" }));
    client.event("turn_start");
    client.end_input();
    assert_eq!(client.end().0, Some(0));
    runs.env.write("script.jsonl", TWICE);
    let mut client = Client::start(&runs, &["--continue"]);
    assert_eq!(client.call("get_state", json!({}))["state"], "idle");
    assert_eq!(client.call("resume", json!({}))["running"], true);
    assert_eq!(client.event("answer")["text"], "Hello again.");
    client.event("idle");
    assert_eq!(client.call("resume", json!({}))["running"], false);
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn a_compaction_gives_what_its_event_has() {
    let runs = Runs::of(LONG);
    let mut client = Client::start(&runs, &[]);
    assert_snapshot!(client.refused("compact", json!({})), @"nothing_to_do: Nothing to compact (session too small)");
    client.prompt(&words());
    client.prompt(&words());
    client.prompt("go on");
    let plan = client.call("get_plan", json!({ "focus": "the words" }));
    let given = client.call("compact", json!({ "focus": "the words" }));
    // The one that was refused has an end as well.
    client.event("compaction_end");
    let event = client.event("compaction_end");
    assert_eq!(given["result"], event["result"]);
    assert_eq!(
        given["result"]["first_kept_entry_id"],
        plan["first_kept_entry_id"]
    );
    assert_eq!(
        given["result"]["summary"]
            .as_str()
            .map(|text| text.contains("said before")),
        Some(true)
    );
    let undone = client.call("undo", json!({}));
    assert_eq!(undone["kind"], "compaction");
    assert_eq!(undone["undone"], given["result"]["entry_id"]);
    assert!(said(&mut client).starts_with("user: lorem ipsum"));
    let redone = client.call("redo", json!({}));
    assert_eq!(redone["redone"], given["result"]["entry_id"]);
    assert_snapshot!(client.refused("redo", json!({})), @"nothing_to_do: nothing was undone on the path");
    let other = client.call("redo", json!({ "strategy": "extractive" }));
    assert_eq!(other["result"]["summarizer"], "extractive");
    client.call("undo", json!({}));
    assert_snapshot!(client.refused("undo", json!({})), @"nothing_to_do: no compaction, pruning or change of branch on the path");
    let extractive = client.call("compact", json!({ "strategy": "extractive" }));
    assert_eq!(extractive["result"]["summarizer"], "extractive");
    assert_snapshot!(client.refused("compact", json!({ "strategy": "off" })), @"nothing_to_do: compaction.strategy is off; set another to compact");
    assert_eq!(client.end().0, Some(0));
}

/// Starts a session that is worth compacting, and whose model never answers: the connection waits for somebody to take
/// it.
pub fn start_silent(runs: &Runs) -> (Client, std::net::TcpListener) {
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address");
    runs.env.session("s.jsonl", SAMPLE);
    let url = format!("http://{address}/v1");
    let mut options = vec!["rpc", "--session", "s.jsonl", "--cwd", "."];
    options.extend(["--model", "llama.cpp/local", "--base-url", &url]);
    options.extend(SMALL);
    (Client::of(runs, &options), server)
}

#[test]
fn a_compaction_that_is_aborted_is_answered_as_cancelled() {
    let runs = Runs::of("");
    let (mut client, _server) = start_silent(&runs);
    let before = client.call("get_state", json!({}));
    let compact = client.send("compact", json!({}));
    client.event("compaction_start");
    // Later requests are answered before it is over.
    assert_eq!(client.call("get_state", json!({}))["state"], "compacting");
    assert_snapshot!(client.refused("compact", json!({})), @"refused: a compaction is running already");
    assert_snapshot!(client.refused("navigate_tree", json!({ "entry_id": null })), @"refused: the agent is busy; stop it first");
    assert_snapshot!(client.refused("fork", json!({})), @"refused: the agent is busy; stop it first");
    assert_eq!(client.call("abort_compaction", json!({}))["running"], true);
    assert_snapshot!(error(&client.response(compact)), @"cancelled: Compaction cancelled");
    let after = client.call("get_state", json!({}));
    for member in ["leaf", "entries", "context", "state"] {
        assert_eq!(before[member], after[member], "{member}");
    }
    assert_eq!(client.call("abort_compaction", json!({}))["running"], false);
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn automatic_compaction_is_switched() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    assert_eq!(client.call("get_state", json!({}))["auto_compaction"], true);
    assert_eq!(
        client.call("set_auto_compaction", json!({ "enabled": false })),
        json!({})
    );
    assert_eq!(
        client.call("get_state", json!({}))["auto_compaction"],
        false
    );
    client.end();
    let mut client = Client::start(&runs, &["--set", "compaction.strategy=off"]);
    assert_snapshot!(client.refused("set_auto_compaction", json!({ "enabled": true })), @"refused: compaction.strategy is off; set another to compact");
    assert_snapshot!(client.refused("get_plan", json!({})), @"refused: compaction.strategy is off; name another with --strategy or --set compaction.strategy=context-full");
}

#[test]
fn the_leaf_moves_with_and_without_a_summary() {
    let runs = Runs::of(LONG);
    let mut client = Client::start(&runs, &[]);
    let first = client.call("prompt", json!({ "text": "first" }));
    client.event("idle");
    client.prompt("second");
    let first = &first["message_id"];
    let moved = client.call(
        "navigate_tree",
        json!({ "entry_id": first, "summarize": true, "label": "here" }),
    );
    let event = client.event("navigated");
    for member in ["leaf", "from", "summary_entry_id", "editor_text"] {
        assert_eq!(moved[member], event[member], "{member}");
    }
    assert_eq!(moved["editor_text"], "first");
    assert_snapshot!(said(&mut client), @"branchSummary: Before coming back here, the s");
    assert_eq!(client.call("undo", json!({}))["kind"], "branch");
    assert_snapshot!(said(&mut client), @"
    user: first
    assistant: One.
    user: second
    assistant: Two.
    ");
    client.call("navigate_tree", json!({ "entry_id": null }));
    assert_eq!(said(&mut client), "");
    assert_snapshot!(client.refused("navigate_tree", json!({ "entry_id": "none" })), @"failed: no entry none in this session");
    let tree = client.call("get_tree", json!({}));
    let entries = tree["entries"].as_array().expect("a list");
    assert!(
        entries.iter().any(|entry| entry["label"] == "here"),
        "{tree}"
    );
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn an_entry_gets_a_label_and_loses_it() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    let kept = client.call("prompt", json!({ "text": "hi" }));
    client.event("idle");
    let id = kept["message_id"].clone();
    let label_of = |client: &mut Client| {
        let tree = client.call("get_tree", json!({}));
        let entries = tree["entries"].as_array().expect("a list").clone();
        let entry = entries.into_iter().find(|entry| entry["id"] == id);
        entry.expect("the entry")["label"].take()
    };
    client.call("label", json!({ "entry_id": id, "label": "a place" }));
    assert_eq!(client.event("labelled")["label"], "a place");
    assert_eq!(label_of(&mut client), "a place");
    client.call("label", json!({ "entry_id": id, "label": null }));
    assert_eq!(label_of(&mut client), Value::Null);
    assert_snapshot!(client.refused("label", json!({ "entry_id": "none", "label": "x" })), @"refused: no entry none in this session");
}

#[test]
fn a_fork_goes_on_and_leaves_the_session_as_it_is() {
    let runs = Runs::of(LONG);
    let mut client = Client::start(&runs, &[]);
    assert_snapshot!(client.refused("fork", json!({})), @"refused: the session has no file yet; fork it once a model has answered");
    client.prompt("first");
    let leaf = client.call("get_state", json!({}))["leaf"].take();
    client.prompt("second");
    let before = runs.session();
    let bytes = std::fs::read(&before).expect("the session");
    assert_snapshot!(client.refused("fork", json!({ "entry_id": "none" })), @"refused: no entry none in this session");
    let forked = client.call("fork", json!({ "entry_id": leaf }));
    assert_eq!(
        client.event("session_switch")["session_id"],
        forked["session_id"]
    );
    assert_eq!(forked["leaf"], leaf);
    client.prompt("another second");
    assert_snapshot!(said(&mut client), @"
    user: first
    assistant: One.
    user: another second
    assistant: Three.
    ");
    assert_eq!(client.end().0, Some(0));
    assert_eq!(std::fs::read(&before).expect("the session"), bytes);
    assert_eq!(runs.sessions().len(), 2);
}

#[test]
fn a_handoff_goes_on_in_a_new_session() {
    let runs = Runs::of(LONG);
    let mut client = Client::start(&runs, &[]);
    client.prompt("first");
    let before = client.call("get_state", json!({}))["session_id"].take();
    let given = client.call("handoff", json!({ "focus": "what is left" }));
    assert_ne!(given["session_id"], before);
    assert_eq!(given["result"]["strategy"], "handoff");
    assert_eq!(
        client.call("get_state", json!({}))["session_id"],
        given["session_id"]
    );
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn another_model_answers_from_the_next_request_on() {
    let runs = Runs::of(TWICE);
    let other = TWICE
        .replace("twice", "other")
        .replace("Hello", "Good day")
        .replace("16000", "8000");
    runs.env.write("other.jsonl", other);
    let mut client = Client::start(&runs, &[]);
    client.prompt("hi");
    let set = client.call("set_model", json!({ "model": "scripted:other.jsonl" }));
    assert_eq!(
        set,
        json!({ "model": "scripted/other", "window": 8000, "from": "scripted/twice" })
    );
    client.prompt("hi");
    assert_eq!(
        client.wait(|line| line["type"] == "answer" && line["text"] != "Hello.")["text"],
        "Good day."
    );
    let state = client.call("get_state", json!({}));
    assert_eq!(
        (&state["model"], &state["window"]),
        (&json!("scripted/other"), &json!(8000))
    );
    assert_snapshot!(client.refused("set_model", json!({ "model": "scripted:none.jsonl" })), @"invalid (model): cannot read the script none.jsonl: there is no such file");
    #[cfg(unix)]
    assert_snapshot!(client.refused("set_model", json!({ "model": "scripted:/dev/null" })), @"invalid (model): cannot read the script /dev/null: it is not a regular file; name one");
    assert_snapshot!(client.refused("set_model", json!({ "model": "nobody/nothing" })), @"invalid (model): no provider nobody; add it to the settings under providers, or give --base-url");
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn a_model_that_was_chosen_in_a_turn_is_remembered_though_nothing_is_said() {
    let runs = Runs::of(WAITS);
    runs.env
        .write("other.jsonl", WAITS.replace("waits", "other"));
    let mut client = Client::start(&runs, &[]);
    client.prompt("hi");
    client.call("prompt", json!({ "text": "and then?" }));
    client.event("turn_start");
    client.call("set_model", json!({ "model": "scripted:other.jsonl" }));
    assert_eq!(client.end().0, Some(0));
    let session = std::fs::read_to_string(runs.session()).expect("a session");
    let mut changes = session.lines().filter(|line| line.contains("model_change"));
    let last: Value = serde_json::from_str(changes.next_back().expect("one")).expect("JSON");
    assert_eq!(last["modelId"], "other");
}

#[test]
fn only_the_events_that_were_chosen_are_told() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    client.event("session_start");
    let chosen = json!({ "events": ["answer", "idle"] });
    assert_eq!(client.call("subscribe", chosen.clone()), chosen);
    client.call("prompt", json!({ "text": "hi" }));
    client.event("answer");
    client.event("idle");
    client.call("subscribe", json!({ "events": [] }));
    client.call("prompt", json!({ "text": "hi" }));
    let (code, left, _) = client.end();
    assert_eq!(code, Some(0));
    assert_eq!(left, Vec::<Value>::new());
}

#[test]
fn pins_are_listed_before_the_first_answer() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    let none = client.call("pins", json!({}));
    assert_eq!(
        (&none["pins"], &none["used_tokens"]),
        (&json!([]), &json!(0))
    );
    let pinned = client.call("pin", json!({ "text": "never push to main" }));
    let listed = client.call("pins", json!({}));
    assert_eq!(listed["pins"][0]["entry_id"], pinned["entry_id"]);
    assert_eq!(listed["budget_tokens"], none["budget_tokens"]);
    client.prompt("hi");
    assert_eq!(client.call("pins", json!({})), listed);
}

#[test]
fn pins_are_set_listed_and_taken_off() {
    let runs = Runs::of(TWICE);
    let mut client = Client::start(&runs, &[]);
    client.prompt("hi");
    let pinned = client.call("pin", json!({ "text": "never push to main" }));
    assert_eq!(client.event("pinned")["entry_id"], pinned["entry_id"]);
    let listed = client.call("pins", json!({}));
    assert_eq!(listed["pins"][0]["text"], "never push to main");
    assert_eq!(listed["used_tokens"], pinned["tokens"]);
    let id = pinned["entry_id"].clone();
    let unpinned = client.call("unpin", json!({ "entry_id": id }));
    assert_eq!(unpinned["used_tokens"], 0);
    assert_eq!(client.event("unpinned")["entry_id"], id);
    let said = [
        client.refused("unpin", json!({ "entry_id": id })),
        client.refused("pin", json!({ "entry_id": "nope" })),
        client.refused("pin", json!({ "text": "" })),
        client.refused("pin", json!({})),
        client.refused("pin", json!({ "text": "a", "entry_id": "b" })),
        client.refused("redo", json!({ "leave_later": true })),
        client.refused("redo", json!({ "focus": "tests" })),
        client.refused("redo", json!({ "strategy": "handoff" })),
    ];
    let id = id.as_str().expect("an id");
    assert_snapshot!(said.join("\n").replace(id, "ID"), @"
    nothing_to_do: entry ID is not pinned; list the pins to see what is
    refused: no entry nope in this session; agent-cli tree lists the ids
    refused: the text to pin is empty; say what to keep
    invalid (entry_id): name an entry, or give a text
    invalid (text): an entry_id and a text are two pins; pin one at a time
    invalid (leave_later): it goes with a strategy
    invalid (focus): it goes with a strategy
    refused: a handoff takes the place of nothing; undo, then hand off
    ");
    assert_eq!(client.end().0, Some(0));
}
