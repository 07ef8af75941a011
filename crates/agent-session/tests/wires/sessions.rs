//! The sessions that requests are made from.

use llm_catalog::Resolved;
use llm_providers::{HttpClient, HttpProvider, HttpSettings, Request};
use serde_json::{Value, json};
use session_model::{Decoded, SessionPath, build_context, decode_bytes};

/// Reasoning as the Responses wire signs it.
pub const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"own thought"}],"encrypted_content":"OWN-SIGNATURE"}"#;

/// A signature of somebody else.
pub const FOREIGN: &str = "FOREIGN-SIGNATURE";

/// Returns the session that these entries make up, each the child of the one before it.
pub fn session(entries: &[Value]) -> Decoded {
    let header = json!({"type":"session","version":3,"id":"5e551017","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"});
    let mut text = format!("{header}\n");
    let mut parent = Value::Null;
    for (at, entry) in entries.iter().enumerate() {
        let mut entry = entry.clone();
        entry["id"] = json!(format!("e{at}"));
        entry["parentId"] = parent;
        entry["timestamp"] = json!("2026-01-01T00:00:00.000Z");
        parent = entry["id"].clone();
        text.push_str(&format!("{entry}\n"));
    }
    decode_bytes(text.into_bytes())
}

/// Returns an entry of a message.
pub fn said(message: &Value) -> Value {
    json!({"type": "message", "message": message})
}

/// Returns a message of the user.
pub fn user(text: &str) -> Value {
    said(&json!({"role": "user", "content": text}))
}

/// Returns an answer of a maker: provider, model, wire.
pub fn answer((provider, model, api): (&str, &str, &str), content: &Value) -> Value {
    said(
        &json!({"role": "assistant", "content": content, "provider": provider, "model": model, "api": api, "stopReason": "stop"}),
    )
}

/// Returns the result of a call.
pub fn result(id: &str, content: &Value, failed: bool) -> Value {
    said(
        &json!({"role": "toolResult", "toolCallId": id, "toolName": "bash", "content": content, "isError": failed}),
    )
}

/// Returns a list of one text block.
pub fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// Returns a tool call.
pub fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments})
}

/// Returns the message that brings the system prompt and a tool.
pub fn system() -> Value {
    let tool = json!({"name": "bash", "description": "Runs a command.", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}});
    said(
        &json!({"role": "system", "content": "You write code.", "sections": {"cwd": "/project"}, "toolsAdded": [tool]}),
    )
}

/// Returns a turn with all that there is: thinking of the model that is asked and of another one, parallel calls,
/// results with an image and a failure, a call whose id no provider of today gives, and a last word of the user.
pub fn rich(resolved: &Resolved) -> Vec<Value> {
    let (provider, model) = (&*resolved.provider.name, &*resolved.model.id);
    let api = resolved.provider.wire.api();
    let signature = match api {
        "openai-responses" => REASONING,
        _ => "OWN-SIGNATURE",
    };
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let own = json!([
        {"type": "thinking", "thinking": "own thought", "thinkingSignature": signature},
        {"type": "text", "text": "I look at both."},
        call("call_1|fc_1", "bash", &json!({"command": "ls"})),
        call("call_2|fc_2", "bash", &json!({"command": "cat é"})),
    ]);
    let foreign = json!([
        {"type": "thinking", "thinking": "foreign thought", "thinkingSignature": FOREIGN},
        {"type": "thinking", "thinking": "[redacted]", "thinkingSignature": FOREIGN, "redacted": true},
        {"type": "text", "text": " "},
        call("functions.bash:0", "bash", &json!({"command": "true"})),
    ]);
    vec![
        system(),
        user("look at the screen and at the file"),
        answer((provider, model, api), &own),
        result(
            "call_1|fc_1",
            &json!([{"type": "text", "text": "a.png"}, image]),
            false,
        ),
        result("call_2|fc_2", &json!([]), true),
        answer(("elsewhere", "other-model", "other-api"), &foreign),
        result("functions.bash:0", &text("ok"), false),
        answer(
            ("elsewhere", "other-model", "other-api"),
            &text("All is well."),
        ),
        said(&json!({"role": "user", "content": [{"type": "text", "text": "and this?"}, image]})),
    ]
}

/// Returns a compaction that carries a native history, in the items of the wire.
pub fn native_compaction(resolved: &Resolved) -> Value {
    let (key, items) = match resolved.provider.wire.api() {
        "anthropic-messages" => (
            "anthropicCompaction",
            json!([{"type": "compaction", "content": "So far.", "encrypted_content": "ENC"}]),
        ),
        _ => (
            "openaiRemoteCompaction",
            json!([
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
                {"type": "compaction", "id": "cmp_1", "encrypted_content": "ENC"},
            ]),
        ),
    };
    let item = items.as_array().and_then(|items| items.last()).cloned();
    let history = json!({
        "provider": resolved.provider.name,
        "model": resolved.model.id,
        "replacementHistory": items,
        "compactionItem": item,
    });
    let mut entry = json!({"type": "compaction", "summary": "## Goal\nSee the screen.", "firstKeptEntryId": "e7", "tokensBefore": 9});
    entry["preserveData"] = json!({ key: history });
    entry
}

/// Returns the request that goes on with a session.
pub fn next_turn(decoded: &Decoded, resolved: &Resolved, replays: bool) -> Request {
    let path: SessionPath<'_> = decoded.tree.path(decoded.tree.leaf());
    let context = build_context(&path, session_model::ContextRules::default());
    let http = HttpClient::new(HttpSettings::default()).expect("a client");
    let (provider, model) = (resolved.provider.clone(), resolved.model.clone());
    let provider = HttpProvider::new(http, provider, model, None);
    let (request, _) = Request::for_context(&path, &context, &provider, replays);
    Request {
        cache_key: Some("5e551017".to_owned()),
        ..request
    }
}
