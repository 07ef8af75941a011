//! The payload of each point.

use std::path::PathBuf;

use serde_json::{Value, json};
use session_model::{AgentMessage, build_context, decode_bytes};

use super::session::{bounded, message};
use super::{HookEvent, SampleSession};
use crate::event::{BeforeCompactEvent, BeforeTreeEvent, CompactingEvent};
use crate::point::HookPoint;

#[test]
fn every_point_has_an_example_of_its_own_in_snake_case() {
    let session = SampleSession::default();
    let samples = session.samples().unwrap();
    let context = session.context(PathBuf::from("/work"));
    for point in HookPoint::ALL {
        let event = samples.event(point).unwrap();
        assert_eq!(event.point(), point);
        let document = event.document(&context);
        assert_eq!(document.matches('\n').count(), 1, "{point}");
        let document: Value = serde_json::from_str(&document).unwrap();
        let payload = event.payload();
        let payload = payload.as_object().unwrap();
        assert!(!payload.is_empty());
        for (key, value) in payload {
            assert_eq!(document[key], *value);
            let plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
            assert!(key.chars().all(plain), "{key}");
        }
        assert_eq!(document.as_object().unwrap().len(), payload.len() + 4);
        assert_eq!(document["hook_point"], point.name());
        assert_eq!(document["cwd"], "/work");
    }
}

#[test]
fn a_session_without_a_file_has_no_path() {
    let session = SampleSession::default();
    let samples = session.samples().unwrap();
    let mut context = session.context(PathBuf::from("/work"));
    context.session_path = None;
    let event = samples.event(HookPoint::TurnEnd).unwrap();
    let document: Value = serde_json::from_str(&event.document(&context)).unwrap();
    assert_eq!(document["session_path"], Value::Null);
}

/// Returns the ids of the branch entries in the payload of a session's compaction, and how many it leaves out.
fn branch(notation: &str) -> (Vec<String>, Value) {
    let tree = decode_bytes(test_support::session(notation).into_bytes()).tree;
    let path = tree.path(tree.leaf());
    let mut options =
        compaction_core::PlanOptions::for_window(compaction_core::TokenCount(100_000));
    options.settings.compaction.keep_recent_tokens = compaction_core::TokenCount(20);
    let trigger = compaction_core::Trigger::Manual { focus: None };
    let plan = compaction_core::plan_compaction(&path, &trigger, &options).unwrap();
    let event = HookEvent::BeforeCompact(BeforeCompactEvent {
        plan: &plan,
        path: &path,
        custom_instructions: None,
        reason: "manual",
        will_retry: false,
    });
    let payload = event.payload();
    let entries = payload["branch_entries"].as_array().unwrap();
    let ids = entries
        .iter()
        .map(|entry| entry["id"].as_str().unwrap().to_owned());
    (ids.collect(), payload["branch_entries_left_out"].clone())
}

#[test]
fn branch_entries_begin_where_the_compaction_before_left_off() {
    let (ids, left_out) = branch("u:30 a:30 u:30 a:30");
    assert_eq!(ids, ["e1", "e2", "e3", "e4"]);
    assert_eq!(left_out, 0);
    let (ids, left_out) = branch("sys:30 u:30 a:30 u:30 a:30");
    assert_eq!(ids.len(), 5);
    assert_eq!(left_out, 0);
    let (ids, left_out) = branch("sys:5 u:30 a:30 u:30 a:30 k@e4:20 u:30 a:30 model u:30 a:30");
    let expected = ["e4", "e5", "e6", "e7", "e8", "e9", "e10", "e11"];
    assert_eq!(ids, expected);
    assert_eq!(left_out, 3);
}

#[test]
fn a_move_tells_the_entries_that_it_leaves_and_nulls_for_the_root() {
    let session = SampleSession::default();
    let samples = session.samples().unwrap();
    let Some(HookEvent::BeforeTree(event)) = samples.event(HookPoint::SessionBeforeTree) else {
        panic!("another event");
    };
    let payload = HookEvent::BeforeTree(event).payload();
    assert_eq!(payload["entries_to_summarize"], json!(["a5", "a6"]));
    assert_eq!(payload["entries"][0]["id"], "a5");
    assert_eq!(payload["common_ancestor"], "a4");
    let root = BeforeTreeEvent {
        target: session_model::Leaf::Root,
        ..event
    };
    assert_eq!(HookEvent::BeforeTree(root).payload()["target"], Value::Null);
}

#[test]
fn messages_are_told_as_files_spell_them() {
    let notation = "sys:2 u:2 call:c1:2 res:c1:2 b:2 x:2 s:2 k@e2:2";
    let text = test_support::session(notation);
    let tree = decode_bytes(text.into_bytes()).tree;
    let context = build_context(
        &tree.path(tree.leaf()),
        compaction_core::Profile::Own.context_rules(),
    );
    let messages: Vec<&AgentMessage> = context.messages().map(|(_, message)| &**message).collect();
    let event = HookEvent::Compacting(CompactingEvent {
        strategy: "context-full",
        messages: &messages,
    });
    let payload = event.payload();
    let told = payload["messages"].as_array().unwrap();
    assert_eq!(told.len(), messages.len());
    let roles: Vec<&str> = told
        .iter()
        .map(|said| said["role"].as_str().unwrap())
        .collect();
    insta::assert_snapshot!(roles.join(" "), @"system compactionSummary user assistant toolResult bashExecution custom branchSummary");
    let first = |role: &str| told.iter().find(|said| said["role"] == role).unwrap();
    insta::assert_snapshot!(first("assistant"), @r##"{"api":"test","content":[{"arguments":{"command":"#3 lorem"},"id":"c1","name":"bash","type":"toolCall"}],"model":"test","provider":"test","role":"assistant","stopReason":"toolUse","timestamp":1767225603000,"usage":{"cacheRead":0,"cacheWrite":0,"cost":{"cacheRead":0,"cacheWrite":0,"input":0,"output":0,"total":0},"input":0,"output":0,"totalTokens":0}}"##);
    insta::assert_snapshot!(first("compactionSummary"), @r##"{"role":"compactionSummary","summary":"#8 lorem","timestamp":1767225608000}"##);
}

#[test]
fn a_message_of_an_unknown_kind_is_told_as_its_text() {
    let line = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"oracle","content":"delphi"}}"#;
    let tree = decode_bytes(format!("{line}\n").into_bytes()).tree;
    let entry = tree.entry(tree.indices().next().unwrap()).unwrap();
    let told = message(&entry.messages()[0]);
    assert_eq!(told, json!({ "role": "oracle", "content": "delphi" }));
}

#[test]
fn a_message_without_a_time_is_told_without_one() {
    let line =
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi"}}"#;
    let tree = decode_bytes(format!("{line}\n").into_bytes()).tree;
    let entry = tree.entry(tree.indices().next().unwrap()).unwrap();
    let told = message(&entry.messages()[0]);
    assert_eq!(told, json!({ "role": "user", "content": "hi" }));
}

#[test]
fn a_long_output_is_told_to_a_bound() {
    let fits = "é".repeat(50_000);
    assert_eq!(bounded(&fits), fits);
    let long = format!("x{fits}é");
    let told = bounded(&long);
    assert!(told.ends_with("é\n[4 more bytes]"), "{} bytes", told.len());
    assert!(told.len() < 100_050);
}

#[cfg(feature = "schema")]
mod reference {
    use super::*;
    use crate::command::HookAnswer;
    use crate::payload::reference::points;

    #[test]
    fn it_has_every_point_every_member_and_an_example() {
        let described = points();
        let names: Vec<HookPoint> = described.iter().map(|point| point.point).collect();
        assert_eq!(names, HookPoint::ALL);
        for point in described {
            assert!(!point.meaning.is_empty(), "{}", point.point);
            let members = point.schema["properties"].as_object().unwrap();
            let example = point.example.as_object().unwrap();
            assert!(members.keys().eq(example.keys()), "{}", point.point);
        }
    }

    #[test]
    fn every_answer_in_it_is_understood_and_says_something() {
        let session = SampleSession::default();
        let samples = session.samples().unwrap();
        let mut count = 0;
        for point in points() {
            let event = samples.event(point.point).unwrap();
            for (answer, _) in point.answers {
                let read = HookAnswer::read(&event, answer.as_bytes()).unwrap();
                assert_ne!(read, HookAnswer::nothing(point.point), "{answer}");
                count += 1;
            }
        }
        assert!(count > 10);
    }
}
