//! Forms of other agents that the fixtures do not have: older ones, newer ones, incomplete ones.

use serde_json::{Value, json};
use session_import::stated_window;
use session_model::decode_bytes;

use crate::support::{Fixture, check, describe};

fn fixture(records: &[Value]) -> Fixture {
    let lines = records.iter().map(|record| format!("{record}\n"));
    Fixture {
        bytes: lines.collect::<String>().into_bytes(),
    }
}

#[test]
fn codex_items_without_a_wrapper_are_read() {
    let records = [
        json!({ "id": "0f3c1d4e", "timestamp": "2025-07-20T10:00:00.000Z", "instructions": null }),
        json!({ "record_type": "state" }),
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "list" }] }),
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x" }),
        json!({ "type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "c1" }),
        json!({ "record_type": "state" }),
        json!({ "type": "function_call_output", "call_id": "c1", "output": "{\"output\":\"a.txt\",\"metadata\":{\"exit_code\":1}}" }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "One file." }] }),
    ];
    insta::assert_snapshot!(check(&fixture(&records)), @r#"
    session 0f3c1d4e in ""
     00000001 (agent-cli/import) {"bytes":572,"id":"0f3c1d4e","losses":{"state":2},"path":...
    *00000002 user list
    *rs_1 assistant shell({"command":["ls"]})
    *00000004 toolResult! a.txt
    *00000005 assistant One file.
    skipped: {"state": 2}
    duplicates 0, interrupted 0, usage 0+0+0>0
    "#);
}

/// Returns a record of Codex.
#[expect(clippy::needless_pass_by_value, reason = "payloads are made for it")]
fn codex(kind: &str, payload: Value) -> Value {
    json!({ "timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload })
}

#[test]
fn codex_states_the_window_and_openai_where_no_provider_is_named() {
    let meta = json!({ "id": "0f3c1d4e", "cwd": "/w" });
    let context = json!({ "cwd": "/w", "model": "gpt-5-codex" });
    let answer = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "One." }] });
    let info = json!({ "model_context_window": 258400, "last_token_usage": { "input_tokens": 9 } });
    let records = [
        codex("session_meta", meta),
        codex(
            "event_msg",
            json!({ "type": "task_started", "model_context_window": 1000 }),
        ),
        codex("turn_context", context),
        codex("response_item", answer),
        codex("event_msg", json!({ "type": "token_count", "info": info })),
        // What was trimmed is no window.
        codex(
            "event_msg",
            json!({ "type": "task_started", "model_context_window": 0 }),
        ),
    ];
    let (lines, _) = fixture(&records).import();
    let tree = decode_bytes(lines).tree;
    assert_eq!(stated_window(&tree), Some(258_400));
    let context =
        session_model::build_context(&tree.path(tree.leaf()), session_model::ContextRules::Own);
    assert_eq!(
        context.model.map(|model| model.provider).as_deref(),
        Some("openai")
    );
}

fn gemini(id: &str, kind: &str, text: &str) -> Value {
    json!({ "id": id, "timestamp": "2026-06-01T07:00:00.000Z", "type": kind, "content": [{ "text": text }] })
}

#[test]
fn gemini_cli_compresses_behind_the_session_context_and_gives_kept_messages_new_ids() {
    let call =
        json!({ "id": "k1", "name": "ls", "args": {}, "status": "success", "result": "a.txt" });
    let mut calling = gemini("g3", "gemini", "");
    calling["toolCalls"] = json!([call]);
    let mut kept = calling.clone();
    kept["id"] = json!("n2");
    let context = gemini("g0", "user", "<session_context>today</session_context>");
    let messages = json!([
        context,
        gemini(
            "n0",
            "user",
            "<state_snapshot>first was done</state_snapshot>"
        ),
        gemini("n1", "gemini", "Got it. Thanks for the additional context!"),
        gemini("n3", "user", "second"),
        kept,
        gemini("n4", "gemini", "two"),
    ]);
    let records = [
        json!({ "sessionId": "s", "projectHash": "h", "kind": "main", "startTime": "2026-06-01T07:00:00.000Z" }),
        context.clone(),
        gemini("g1", "user", "first"),
        gemini("g2", "gemini", "one"),
        gemini("g2u", "user", "second"),
        calling,
        gemini("g4", "gemini", "two"),
        json!({ "$set": { "messages": messages } }),
        gemini("g5", "user", "third"),
    ];
    let (lines, _) = fixture(&records).import();
    insta::assert_snapshot!(describe(&decode_bytes(lines)), @r#"
    session s in ""
     00000001 (agent-cli/import) {"bytes":1651,"id":"s","losses":{},"path":"","sha256":nul...
     g0 [gemini-cli/context] <session_context>today</session_context>
     g1 user first
     g2 assistant one
    *g2u user second
    *g3 assistant ls({})
    *00000007 toolResult a.txt
    *g4 assistant two
    *00000009 compaction keeps g2u before 0: <state_snapshot>first was done</state_snapshot>
    *0000000a [agent-cli/import] <session_context>today</session_context>
    *g5 user third
    "#);
}

#[test]
fn copilot_cli_rewinds_clears_and_compacts_while_it_works() {
    let event = |id: &str, kind: &str, data: Value| json!({ "type": kind, "data": data, "id": id, "timestamp": "2026-06-01T07:00:00.000Z", "parentId": null });
    let user = |id: &str, text: &str| event(id, "user.message", json!({ "content": text }));
    let answer = |id: &str, text: &str| {
        event(
            id,
            "assistant.message",
            json!({ "content": text, "model": "m" }),
        )
    };
    let mut of_agent = answer("s1", "from a sub-agent");
    of_agent["agentId"] = json!("a");
    let records = [
        event(
            "e0",
            "session.start",
            json!({ "sessionId": "s", "context": { "cwd": "/w" } }),
        ),
        user("u1", "one"),
        answer("a1", "first"),
        user("u2", "wrong"),
        event(
            "e1",
            "session.snapshot_rewind",
            json!({ "upToEventId": "u2" }),
        ),
        user("u3", "right"),
        of_agent,
        event("e2", "session.compaction_start", json!({})),
        answer("a3", "meanwhile"),
        event(
            "e3",
            "session.compaction_complete",
            json!({ "success": true, "summaryContent": "sum" }),
        ),
        event("e4", "session.context_cleared", json!({})),
        user("u4", "anew"),
    ];
    insta::assert_snapshot!(check(&fixture(&records)), @r#"
    session s in "/w"
     00000001 (agent-cli/import) {"bytes":1527,"id":"s","losses":{},"path":"","sha256":nul...
     u1 user one
     a1 assistant first
     u2 user wrong
     u3 ^a1 user right
     a3 assistant meanwhile
     e3 compaction keeps a3 before 0: sum
     00000008 [agent-cli/import] one
     00000009 [agent-cli/import] right
    *u4 ^00000001 user anew
    skipped: {"assistant.message (of a sub-agent)": 1}
    duplicates 0, interrupted 0, usage 0+0+0>0
    "#);
}

#[test]
fn gemini_cli_takes_up_a_compressed_session_when_it_resumes_and_compresses_it_again() {
    let context = gemini("g0", "user", "<session_context>today</session_context>");
    let head = json!({ "sessionId": "s", "projectHash": "h", "kind": "main", "startTime": "2026-06-01T07:00:00.000Z" });
    let set = |messages: &[&Value]| json!({ "$set": { "messages": messages } });
    let summary = gemini(
        "n0",
        "user",
        "<state_snapshot>first was done</state_snapshot>",
    );
    let again = gemini(
        "m0",
        "user",
        "<state_snapshot>second was done</state_snapshot>",
    );
    let reply = gemini("n1", "gemini", "Got it. Thanks for the additional context!");
    let (second, answer) = (
        gemini("g3", "user", "second"),
        gemini("g4", "gemini", "two"),
    );
    let records = [
        head.clone(),
        set(&[&context]),
        gemini("g1", "user", "first"),
        gemini("g2", "gemini", "one"),
        set(&[&context, &summary, &reply]),
        second.clone(),
        answer.clone(),
        head,
        set(&[&context]),
        set(&[&context, &summary, &reply, &second, &answer]),
        gemini("g5", "user", "third"),
        // It is compressed again, and keeps what was said last.
        set(&[&context, &again, &reply, &gemini("m3", "user", "third")]),
        gemini("g6", "gemini", "three"),
    ];
    let (lines, _) = fixture(&records).import();
    insta::assert_snapshot!(describe(&decode_bytes(lines)), @r#"
    session s in ""
     00000001 (agent-cli/import) {"bytes":2601,"id":"s","losses":{},"path":"","sha256":nul...
     g0 [gemini-cli/context] <session_context>today</session_context>
     g1 user first
     g2 assistant one
     00000005 compaction keeps 00000005 before 0: <state_snapshot>first was done</state_snapshot>
     00000006 [agent-cli/import] <session_context>today</session_context>
     g3 user second
     g4 assistant two
    *g5 user third
    *0000000a compaction keeps g5 before 0: <state_snapshot>second was done</state_snapshot>
    *0000000b [agent-cli/import] <session_context>today</session_context>
    *g6 assistant three
    "#);
}

#[test]
fn codex_copies_calls_with_their_results_that_a_compaction_kept() {
    let user = |text: &str| json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] });
    let call = |id: &str| json!({ "type": "function_call", "name": "ls", "arguments": "{}", "call_id": id });
    let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": format!("of {id}") });
    let kept = [
        user("one"),
        call("c1"),
        call("c2"),
        output("c1"),
        output("c2"),
        call("c3"),
        output("c3"),
        user("sum"),
    ];
    let records = [
        codex("session_meta", json!({ "id": "0f3c1d4e", "cwd": "/w" })),
        codex("response_item", user("one")),
        codex(
            "compacted",
            json!({ "message": "sum", "replacement_history": kept }),
        ),
        codex("response_item", user("two")),
    ];
    insta::assert_snapshot!(check(&fixture(&records)), @r#"
    session 0f3c1d4e in "/w"
     00000001 (agent-cli/import) {"bytes":1081,"id":"0f3c1d4e","losses":{},"path":"","sha2...
     00000002 user one
    *00000003 compaction keeps 00000003 before 0: sum
    *00000004 [agent-cli/import] one
    *00000005 assistant ls({})
    *00000006 toolResult of c1
    *00000007 toolResult of c2
    *00000008 assistant ls({})
    *00000009 toolResult of c3
    *0000000a user two
    duplicates 0, interrupted 0, usage 0+0+0>0
    "#);
}
