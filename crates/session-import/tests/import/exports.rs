//! Exports: what each fixture becomes for other agents, and that it comes back with the same context.

use proptest::prelude::*;
use serde_json::{Value, json};
use session_import::{ExportReport, Format, Input, Origin, Target, detect, export, import};
use session_model::{
    AgentMessage, ContextRules, Decoded, EntryBody, RoleOrder, build_context, decode_bytes,
};

use crate::support::{Fixture, check_sound};

/// Every fixture.
const FIXTURES: [&str; 8] = [
    "claude-compaction.jsonl",
    "claude-branches.jsonl",
    "codex-legacy.jsonl",
    "codex-compaction.jsonl",
    "codex-fork-child.jsonl",
    "qwen-compression.jsonl",
    "gemini-journal.jsonl",
    "opencode-revert.json",
];

fn exported(target: Target, decoded: &Decoded) -> (Vec<u8>, ExportReport) {
    let mut out = Vec::new();
    let tree = &decoded.tree;
    let report = export(target, tree, tree.leaf(), &mut out).expect("it is exported");
    let mut again = Vec::new();
    export(target, tree, tree.leaf(), &mut again).expect("it is exported");
    assert!(out == again, "a second export differs");
    (out, report)
}

/// Returns the texts that the model is sent, results and calls among them, in short.
fn context(decoded: &Decoded) -> Vec<String> {
    let path = decoded.tree.path(decoded.tree.leaf());
    let context = build_context(&path, ContextRules::Own);
    let (messages, _) = context.to_llm(RoleOrder::Any);
    let texts = messages.iter().flat_map(|message| {
        let calls = message.content().tool_calls();
        let calls = calls.map(|call| format!("{}({})", call.name, call.arguments_text()));
        let texts = message.content().texts().map(str::to_owned);
        texts.chain(calls).collect::<Vec<_>>()
    });
    texts.filter(|text| !text.trim().is_empty()).collect()
}

#[test]
fn pi_gets_the_same_context_and_every_branch() {
    for name in FIXTURES {
        let (lines, _) = Fixture::named(name).import();
        let decoded = decode_bytes(lines);
        let (bytes, report) = exported(Target::Pi, &decoded);
        let again = decode_bytes(bytes);
        check_sound(&again);
        assert_eq!(context(&again), context(&decoded), "{name}");
        assert_eq!(
            again.tree.leaves().len(),
            decoded.tree.leaves().len(),
            "{name}"
        );
        assert!(report.losses.is_empty(), "{name}: {:?}", report.losses);
    }
}

#[test]
fn pi_gets_each_entry_once_and_calls_with_their_results() {
    let entry = |id: &str, parent: Option<&str>, message: serde_json::Value| {
        let at = "2026-01-01T00:00:00.000Z";
        serde_json::json!({ "type": "message", "id": id, "parentId": parent, "timestamp": at, "message": message })
    };
    let user = |text: &str| serde_json::json!({ "role": "user", "content": text, "timestamp": 1 });
    let call = |id: &str| {
        let call =
            serde_json::json!({ "type": "toolCall", "id": id, "name": "read", "arguments": {} });
        serde_json::json!({ "role": "assistant", "content": [call], "stopReason": "toolUse", "timestamp": 1 })
    };
    let result = |id: &str| {
        let text = serde_json::json!({ "type": "text", "text": format!("result of {id}") });
        serde_json::json!({ "role": "toolResult", "toolCallId": id, "toolName": "read", "content": [text], "isError": false, "timestamp": 1 })
    };
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    let entries = [
        entry("u1", None, user("one")),
        entry("a1", Some("u1"), call("c1")),
        entry("r1", Some("a1"), result("c1")),
        entry("r1", Some("a1"), result("c1")),
        entry("u2", Some("r1"), user("two")),
        entry("r2", Some("a2"), result("c2")),
        entry("u3", Some("r2"), user("three")),
        entry("a3", Some("u3"), call("c3")),
        entry("u4", Some("a3"), user("four")),
    ];
    let lines = entries.iter().map(|entry| format!("{entry}\n"));
    let text = format!("{header}\n{}{{\"type\":\"mess", lines.collect::<String>());
    let (bytes, report) = exported(Target::Pi, &decode_bytes(text.into_bytes()));
    let copy = decode_bytes(bytes);
    check_sound(&copy);
    insta::assert_snapshot!(context(&copy).join("\n"), @"
    one
    read({})
    result of c1
    two
    three
    read({})
    No result is recorded: the call was interrupted.
    four
    ");
    insta::assert_debug_snapshot!(report.losses, @r#"
    {
        "entry that cannot be read": 1,
        "entry that is written twice": 1,
        "result without its call": 1,
    }
    "#);
}

/// Returns a session of these entries, each with its id, its parent and its message.
fn session(entries: &[(&str, Option<&str>, serde_json::Value)]) -> Decoded {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    let lines = entries.iter().map(|(id, parent, message)| {
        serde_json::json!({
            "type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z", "message": message,
        })
    });
    let lines: String = lines.map(|line| format!("\n{line}")).collect();
    decode_bytes(format!("{header}{lines}\n").into_bytes())
}

#[test]
fn parents_that_are_written_later_come_before_their_children_for_pi() {
    let user = |text: &str| serde_json::json!({ "role": "user", "content": text, "timestamp": 1 });
    for entries in [
        [
            ("b", Some("a"), user("2")),
            ("a", None, user("1")),
            ("c", Some("b"), user("3")),
        ],
        // A ring is opened when the session is read.
        [
            ("a", Some("c"), user("1")),
            ("b", Some("a"), user("2")),
            ("c", Some("b"), user("3")),
        ],
    ] {
        let decoded = session(&entries);
        let (bytes, _) = exported(Target::Pi, &decoded);
        let again = decode_bytes(bytes);
        assert!(again.diagnostics.is_empty(), "{:?}", again.diagnostics);
        assert_eq!(context(&again), context(&decoded));
    }
}

#[test]
fn the_largest_figures_are_exported() {
    let answer = serde_json::json!({
        "role": "assistant", "content": "text", "stopReason": "stop", "timestamp": i64::MAX,
        "usage": { "input": u64::MAX, "output": u64::MAX, "cacheRead": u64::MAX, "cacheWrite": u64::MAX },
    });
    let decoded = session(&[("a", None, answer.clone()), ("b", Some("a"), answer)]);
    for target in [Target::Pi, Target::Codex, Target::Opencode] {
        let (bytes, _) = exported(target, &decoded);
        assert!(!bytes.is_empty());
    }
}

/// Imports what was exported again.
fn round(format: Format, bytes: Vec<u8>) -> Decoded {
    assert_eq!(detect(&bytes), Some(format));
    let mut lines = Vec::new();
    let input = Input::of_bytes(bytes);
    let report = import(format, &input, &Origin::default(), &|_| None, &mut lines);
    let report = report.expect("it is imported");
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    decode_bytes(lines)
}

#[test]
fn other_agents_get_every_text_of_the_context() {
    for (target, format) in [
        (Target::Claude, Format::ClaudeCode),
        (Target::Codex, Format::Codex),
        (Target::Opencode, Format::Opencode),
    ] {
        for name in FIXTURES {
            let (lines, _) = Fixture::named(name).import();
            let decoded = decode_bytes(lines);
            let (bytes, _) = exported(target, &decoded);
            let again = round(format, bytes);
            check_sound(&again);
            let found = context(&again).join("\n");
            for text in context(&decoded) {
                assert!(
                    found.contains(text.trim()),
                    "{name} for {format:?}: {text}\n{found}"
                );
            }
        }
    }
}

#[test]
fn what_codex_gets() {
    let (lines, _) = Fixture::named("claude-compaction.jsonl").import();
    let (bytes, report) = exported(Target::Codex, &decode_bytes(lines));
    insta::assert_snapshot!(String::from_utf8_lossy(&bytes), @r#"
    {"payload":{"cli_version":"0.171.0","cwd":"/workspace/project","id":"dac09ab6-1612-85e2-8505-5fc358ed4246","originator":"agent-cli","source":"cli","timestamp":"2026-11-22T03:00:01.000Z"},"timestamp":"2026-11-22T03:00:01.000Z","type":"session_meta"}
    {"payload":{"images":[],"message":"read both files","type":"user_message"},"timestamp":"2026-11-22T03:00:01.000Z","type":"event_msg"}
    {"payload":{"content":[{"text":"read both files","type":"input_text"}],"role":"user","type":"message"},"timestamp":"2026-11-22T03:00:01.000Z","type":"response_item"}
    {"payload":{"arguments":"{\"file_path\":\"/workspace/project/a.txt\"}","call_id":"toolu_1","name":"Read","type":"function_call"},"timestamp":"2026-11-22T03:00:02.000Z","type":"response_item"}
    {"payload":{"arguments":"{\"file_path\":\"/workspace/project/b.txt\"}","call_id":"toolu_2","name":"Read","type":"function_call"},"timestamp":"2026-11-22T03:00:02.000Z","type":"response_item"}
    {"payload":{"call_id":"toolu_1","output":"A","type":"function_call_output"},"timestamp":"2026-11-22T03:00:02.000Z","type":"response_item"}
    {"payload":{"call_id":"toolu_2","output":"B","type":"function_call_output"},"timestamp":"2026-11-22T03:00:02.000Z","type":"response_item"}
    {"payload":{"info":{"last_token_usage":{"cache_write_input_tokens":100,"cached_input_tokens":1000,"input_tokens":1110,"output_tokens":50,"reasoning_output_tokens":0,"total_tokens":1160},"total_token_usage":{"cache_write_input_tokens":100,"cached_input_tokens":1000,"input_tokens":1110,"output_tokens":50,"reasoning_output_tokens":0,"total_tokens":1160}},"type":"token_count"},"timestamp":"2026-11-22T03:00:02.000Z","type":"event_msg"}
    {"payload":{"message":"both read","type":"agent_message"},"timestamp":"2026-11-22T03:00:07.000Z","type":"event_msg"}
    {"payload":{"content":[{"text":"both read","type":"output_text"}],"role":"assistant","type":"message"},"timestamp":"2026-11-22T03:00:07.000Z","type":"response_item"}
    {"payload":{"info":{"last_token_usage":{"cache_write_input_tokens":100,"cached_input_tokens":1000,"input_tokens":1110,"output_tokens":50,"reasoning_output_tokens":0,"total_tokens":1160},"total_token_usage":{"cache_write_input_tokens":200,"cached_input_tokens":2000,"input_tokens":2220,"output_tokens":100,"reasoning_output_tokens":0,"total_tokens":2320}},"type":"token_count"},"timestamp":"2026-11-22T03:00:07.000Z","type":"event_msg"}
    {"payload":{"images":[],"message":"kept question","type":"user_message"},"timestamp":"2026-11-22T03:00:08.000Z","type":"event_msg"}
    {"payload":{"content":[{"text":"kept question","type":"input_text"}],"role":"user","type":"message"},"timestamp":"2026-11-22T03:00:08.000Z","type":"response_item"}
    {"payload":{"message":"kept answer","type":"agent_message"},"timestamp":"2026-11-22T03:00:09.000Z","type":"event_msg"}
    {"payload":{"content":[{"text":"kept answer","type":"output_text"}],"role":"assistant","type":"message"},"timestamp":"2026-11-22T03:00:09.000Z","type":"response_item"}
    {"payload":{"info":{"last_token_usage":{"cache_write_input_tokens":100,"cached_input_tokens":1000,"input_tokens":1110,"output_tokens":50,"reasoning_output_tokens":0,"total_tokens":1160},"total_token_usage":{"cache_write_input_tokens":300,"cached_input_tokens":3000,"input_tokens":3330,"output_tokens":150,"reasoning_output_tokens":0,"total_tokens":3480}},"type":"token_count"},"timestamp":"2026-11-22T03:00:09.000Z","type":"event_msg"}
    {"payload":{"message":"Earlier parts of this conversation are no longer here verbatim. This summary stands in their place; treat it as what happened:\n\n<summary>\nThis session is being continued from a previous conversation. Summary: ...\n</summary>","replacement_history":[{"content":[{"text":"Earlier parts of this conversation are no longer here verbatim. This summary stands in their place; treat it as what happened:\n\n<summary>\nThis session is being continued from a previous conversation. Summary: ...\n</summary>","type":"input_text"}],"role":"user","type":"message"},{"content":[{"text":"kept question","type":"input_text"}],"role":"user","type":"message"},{"content":[{"text":"kept answer","type":"output_text"}],"role":"assistant","type":"message"}]},"timestamp":"2026-11-22T03:00:10.000Z","type":"compacted"}
    {"payload":{"images":[],"message":"after compaction","type":"user_message"},"timestamp":"2026-11-22T03:00:12.000Z","type":"event_msg"}
    {"payload":{"content":[{"text":"after compaction","type":"input_text"}],"role":"user","type":"message"},"timestamp":"2026-11-22T03:00:12.000Z","type":"response_item"}
    {"payload":{"message":"answer after","type":"agent_message"},"timestamp":"2026-11-22T03:00:13.000Z","type":"event_msg"}
    {"payload":{"content":[{"text":"answer after","type":"output_text"}],"role":"assistant","type":"message"},"timestamp":"2026-11-22T03:00:13.000Z","type":"response_item"}
    {"payload":{"info":{"last_token_usage":{"cache_write_input_tokens":100,"cached_input_tokens":1000,"input_tokens":1110,"output_tokens":50,"reasoning_output_tokens":0,"total_tokens":1160},"total_token_usage":{"cache_write_input_tokens":400,"cached_input_tokens":4000,"input_tokens":4440,"output_tokens":200,"reasoning_output_tokens":0,"total_tokens":4640}},"type":"token_count"},"timestamp":"2026-11-22T03:00:13.000Z","type":"event_msg"}
    "#);
    insta::assert_debug_snapshot!((&report.place, &report.written, &report.losses), @r#"
    (
        Some(
            "sessions/2026/11/22/rollout-2026-11-22T03-00-01-dac09ab6-1612-85e2-8505-5fc358ed4246.jsonl",
        ),
        {
            "compacted": 1,
            "event_msg": 10,
            "response_item": 10,
            "session_meta": 1,
        },
        {
            "entry of type custom": 1,
            "entry of type session_info": 1,
            "thinking": 1,
        },
    )
    "#);
}

#[test]
fn what_opencode_gets() {
    let (lines, _) = Fixture::named("claude-compaction.jsonl").import();
    let (bytes, report) = exported(Target::Opencode, &decode_bytes(lines));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let kept = text.lines().filter(|line| {
        let line = line.trim();
        let keys = [
            "\"parentID\"",
            "\"text\"",
            "\"tail_start_id\"",
            "\"role\"",
            "\"output\": \"",
        ];
        keys.iter().any(|key| line.starts_with(key))
    });
    insta::assert_snapshot!(kept.collect::<Vec<_>>().join("\n"), @r#"
    "role": "user",
      "text": "read both files",
    "parentID": "msg_201324368001GpYFxN4S2XWs99",
    "role": "assistant",
      "text": "two reads",
        "output": "A",
        "output": "B",
    "parentID": "msg_201324368001GpYFxN4S2XWs99",
    "role": "assistant",
      "text": "both read",
    "role": "user",
      "text": "kept question",
    "parentID": "msg_201325ec0001Q4Elk9iPAREijO",
    "role": "assistant",
      "text": "kept answer",
    "role": "user",
      "tail_start_id": "msg_201325ec0001Q4Elk9iPAREijO",
    "parentID": "msg_201326690001aUppeRIJzPZ6Ep",
    "role": "assistant",
      "text": "Earlier parts of this conversation are no longer here verbatim. This summary stands in their place; treat it as what happened:\n\n<summary>\nThis session is being continued from a previous conversation. Summary: ...\n</summary>",
    "role": "user",
      "text": "after compaction",
    "parentID": "msg_201326e60001ay5TXSAK4QZ6ue",
    "role": "assistant",
      "text": "answer after",
    "#);
    insta::assert_debug_snapshot!((&report.written, &report.losses), @r#"
    (
        {
            "compaction": 1,
            "reasoning": 1,
            "step-finish": 4,
            "step-start": 4,
            "text": 7,
            "tool": 2,
        },
        {
            "entry of type custom": 1,
            "entry of type session_info": 1,
        },
    )
    "#);
}

/// What an entry of a session is.
#[derive(Debug, Clone)]
enum Item {
    User(String),
    Hidden(String),
    /// An answer: what it says, and what its calls gave.
    Answer(String, Vec<String>),
    /// A compaction that keeps so many entries.
    Compaction(usize),
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let text = || "[a-z<>{}é\"\\\\]{1,6}( [a-z\\n]{1,6}){0,3}";
    let item = prop_oneof![
        3 => text().prop_map(Item::User),
        1 => text().prop_map(Item::Hidden),
        4 => (text(), proptest::collection::vec(text(), 0..3)).prop_map(|(text, results)| Item::Answer(text, results)),
        1 => (0..6_usize).prop_map(Item::Compaction),
    ];
    proptest::collection::vec(item, 0..12)
}

/// Returns a session that begins with a message of the user.
fn session_of(items: &[Item]) -> Decoded {
    let at = "2026-01-01T00:00:00.000Z";
    let header =
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": at, "cwd": "/w" });
    let mut lines = vec![header];
    let mut ids: Vec<String> = Vec::new();
    // Where a context may begin: not at a result.
    let mut begins: Vec<String> = Vec::new();
    let mut add = |begins: bool, starts: &mut Vec<String>, mut entry: Value| {
        let id = format!("e{}", ids.len());
        entry["id"] = json!(id);
        entry["parentId"] = json!(ids.last());
        entry["timestamp"] = json!(at);
        lines.push(entry);
        starts.extend(Some(id.clone()).filter(|_| begins));
        ids.push(id);
    };
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let first = [Item::User("begin".to_owned())];
    for (number, item) in first.iter().chain(items).enumerate() {
        match item {
            Item::User(said) => {
                let message = json!({ "role": "user", "content": text(said), "timestamp": 1 });
                add(
                    true,
                    &mut begins,
                    json!({ "type": "message", "message": message }),
                );
            }
            Item::Hidden(said) => add(
                true,
                &mut begins,
                json!({ "type": "custom_message", "customType": "x", "content": said, "display": false }),
            ),
            Item::Answer(said, results) => {
                let calls = (0..results.len()).map(|call| json!({ "type": "toolCall", "id": format!("c{number}_{call}"), "name": "read", "arguments": { "n": call } }));
                let content: Vec<Value> = [json!({ "type": "text", "text": said })]
                    .into_iter()
                    .chain(calls)
                    .collect();
                let usage = json!({ "input": 5, "output": 1, "cacheRead": 2, "cacheWrite": 0, "totalTokens": 8 });
                let message = json!({ "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "stop", "timestamp": 1 });
                add(
                    true,
                    &mut begins,
                    json!({ "type": "message", "message": message }),
                );
                for (call, result) in results.iter().enumerate() {
                    let message = json!({ "role": "toolResult", "toolCallId": format!("c{number}_{call}"), "toolName": "read", "content": text(result), "isError": false, "timestamp": 1 });
                    add(
                        false,
                        &mut begins,
                        json!({ "type": "message", "message": message }),
                    );
                }
            }
            Item::Compaction(kept) => {
                let kept = begins.iter().rev().nth(*kept).or(begins.first());
                let entry = json!({ "type": "compaction", "summary": format!("sum {number}"), "firstKeptEntryId": kept, "tokensBefore": 9 });
                add(false, &mut Vec::new(), entry);
            }
        }
    }
    let lines = lines.iter().map(|line| format!("{line}\n"));
    decode_bytes(lines.collect::<String>().into_bytes())
}

/// Returns what the entries of the branch say, whether people are shown it, what is in the context, and the tokens.
fn branch(decoded: &Decoded) -> Vec<String> {
    let path = decoded.tree.path(decoded.tree.leaf());
    let context = build_context(&path, ContextRules::Own);
    let seen: Vec<&str> = context.messages().map(|(id, _)| id.as_str()).collect();
    let entries = path
        .entries()
        .iter()
        .filter_map(|index| decoded.tree.entry(*index).ok());
    let said = entries.filter_map(|entry| {
        let star = if seen.contains(&&*entry.id) { "*" } else { "" };
        let said = match &entry.body {
            EntryBody::Message(message) => {
                let calls = message
                    .tool_calls()
                    .map(|call| format!("{} {}", call.id, call.arguments_text()));
                let texts = message
                    .content()
                    .into_iter()
                    .flat_map(session_model::Content::texts);
                let usage = match &**message {
                    AgentMessage::Assistant(answer) => {
                        answer.usage.map_or(0, |usage| usage.total_tokens)
                    }
                    _ => 0,
                };
                let said: Vec<String> = texts.map(str::to_owned).chain(calls).collect();
                format!("{} {said:?} {usage}", message.role())
            }
            EntryBody::CustomMessage(message) => {
                format!("hidden {}", message.content.joined_text(" "))
            }
            // Of several, the newest one is in all formats.
            EntryBody::Compaction(compaction) if star == "*" => compaction.summary.clone(),
            _ => return None,
        };
        Some(format!("{star}{said}"))
    });
    said.collect()
}

proptest! {
    #[test]
    fn what_is_exported_and_imported_again_is_the_same(items in items()) {
        let decoded = session_of(&items);
        let (bytes, _) = exported(Target::Pi, &decoded);
        prop_assert_eq!(branch(&decode_bytes(bytes)), branch(&decoded));
        for (target, format) in [(Target::Claude, Format::ClaudeCode), (Target::Codex, Format::Codex), (Target::Opencode, Format::Opencode)] {
            let again = round(format, exported(target, &decoded).0);
            prop_assert_eq!(branch(&again), branch(&decoded), "{:?}", format);
        }
    }
}

#[test]
fn signatures_of_thinking_come_back_from_opencode() {
    let item = r#"{"encrypted_content":"e","id":"rs_1","summary":[],"type":"reasoning"}"#;
    for (api, signature) in [
        ("anthropic-messages", "sig"),
        ("google-generative-ai", "sig"),
        ("openai-responses", item),
    ] {
        let thinking =
            json!({ "type": "thinking", "thinking": "hm", "thinkingSignature": signature });
        let text = json!({ "type": "text", "text": "yes" });
        let answer = json!({ "role": "assistant", "content": [thinking, text], "api": api, "provider": "p", "model": "m", "stopReason": "stop", "timestamp": 1 });
        let user = json!({ "role": "user", "content": "why", "timestamp": 1 });
        let decoded = session(&[("u1", None, user), ("a1", Some("u1"), answer)]);
        let (bytes, report) = exported(Target::Opencode, &decoded);
        assert!(report.losses.is_empty(), "{:?}", report.losses);
        let again = round(Format::Opencode, bytes);
        let context = build_context(&again.tree.path(again.tree.leaf()), ContextRules::Own);
        let answer = context
            .messages()
            .find_map(|(_, message)| match &**message {
                AgentMessage::Assistant(answer) => Some(answer.clone()),
                _ => None,
            });
        let answer = answer.expect("an answer");
        assert_eq!(answer.api, api);
        let found = answer
            .content
            .blocks()
            .iter()
            .find_map(|block| match block {
                session_model::Block::Thinking(thinking) => thinking.signature.clone(),
                _ => None,
            });
        assert_eq!(found.as_deref(), Some(signature));
    }
}
