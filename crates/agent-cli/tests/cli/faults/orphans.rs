//! No request may hold a tool result without its call, or a call without its result: services refuse it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// Returns what is unpaired in the body of a request, on any of the wires.
pub fn orphans(body: &Value) -> Vec<String> {
    match (body["input"].as_array(), body["messages"].as_array()) {
        (Some(items), _) => in_items(items),
        (None, Some(messages)) => in_messages(messages),
        (None, None) => Vec::new(),
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Calls that wait for their results.
#[derive(Default)]
struct Open {
    calls: BTreeSet<String>,
    found: Vec<String>,
}

impl Open {
    fn call(&mut self, id: &str) {
        if !self.calls.insert(id.to_owned()) {
            self.found.push(format!("call {id} twice"));
        }
    }

    fn result(&mut self, id: &str) {
        if !self.calls.remove(id) {
            self.found.push(format!("result {id} without a call"));
        }
    }

    /// Whatever is open here stays without a result.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.calls).into_iter();
        self.found
            .extend(open.map(|id| format!("call {id} without a result")));
    }
}

fn in_items(items: &[Value]) -> Vec<String> {
    let mut open = Open::default();
    for item in items {
        let kind = text(item, "type");
        if kind.ends_with("_call_output") {
            open.result(text(item, "call_id"));
        } else if kind.ends_with("_call") {
            open.call(text(item, "call_id"));
        }
    }
    open.close();
    open.found
}

/// Chat Completions has calls beside the content and results as messages; Messages has both as blocks.
fn in_messages(messages: &[Value]) -> Vec<String> {
    let mut open = Open::default();
    for message in messages {
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
        if message["role"] == "tool" {
            open.result(text(message, "tool_call_id"));
            continue;
        }
        for block in of_kind("tool_result") {
            open.result(text(block, "tool_use_id"));
        }
        open.close();
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            open.call(text(call, "id"));
        }
        for block in of_kind("tool_use") {
            open.call(text(block, "id"));
        }
    }
    open.close();
    open.found
}

#[test]
fn the_checker_finds_orphans_on_every_wire() {
    let chat = |messages: Value| orphans(&json!({"messages": messages}));
    let call = json!({"role": "assistant", "tool_calls": [{"id": "c1"}]});
    let result = json!({"role": "tool", "tool_call_id": "c1"});
    let user = json!({"role": "user", "content": "x"});
    assert!(chat(json!([call, result, user])).is_empty());
    assert_eq!(chat(json!([result])), ["result c1 without a call"]);
    let parted = ["call c1 without a result", "result c1 without a call"];
    assert_eq!(chat(json!([call, user, result])), parted);

    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c1"}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]});
    assert!(chat(json!([call, result])).is_empty());
    assert_eq!(chat(json!([call, user, result])), parted);
    assert_eq!(chat(json!([call])), ["call c1 without a result"]);

    let input = |items: Value| orphans(&json!({"input": items}));
    let call = json!({"type": "function_call", "call_id": "c1"});
    let result = json!({"type": "function_call_output", "call_id": "c1"});
    assert!(input(json!([call, user, result])).is_empty());
    assert_eq!(input(json!([result, call])).len(), 2);
    assert_eq!(input(json!([call, call, result])), ["call c1 twice"]);
}
