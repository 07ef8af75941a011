//! Text of models, tools and files stays text.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;
use session_model::text::misleads;

use super::harness::Bench;

const HOSTILE: &str = "a\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}b\u{9b}31m\rc\u{e0041}";

#[test]
fn nothing_that_a_session_reports_steers_the_terminal() {
    for sample in session_protocol::event::samples() {
        let mut bench = Bench::new(80, 24);
        let mut event = serde_json::to_value(sample).expect("a value");
        poison(&mut event);
        if let Ok(event) = serde_json::from_value(event) {
            bench.input(crate::Input::Session(event));
        }
        let shown = bench.screen();
        check(&shown);
        bench.key_with(KeyCode::Char('o'), KeyModifiers::CONTROL);
        check(&bench.screen());
    }
}

#[test]
fn a_hostile_turn_stays_text() {
    let mut bench = Bench::new(40, 20);
    bench.events(&[
        json!({"type": "queued", "id": "m1", "text": HOSTILE, "delivery": "prompt"}),
        json!({"type": "turn_start"}),
        json!({"type": "thinking_delta", "text": HOSTILE}),
    ]);
    check(&bench.screen());
    bench.events(&[
        json!({"type": "text_delta", "text": HOSTILE}),
        json!({"type": "tool_start", "call_id": "c", "name": HOSTILE, "arguments": {"command": HOSTILE}}),
        json!({"type": "tool_update", "call_id": "c", "output": HOSTILE}),
        json!({"type": "approval_request", "call_id": "c", "tool": HOSTILE, "subject": HOSTILE}),
    ]);
    check(&bench.screen());
    bench.input(crate::Input::Paste(HOSTILE.to_owned()));
    bench.input(crate::Input::Files(vec![HOSTILE.to_owned()]));
    bench.type_text(" @a");
    check(&bench.screen());
}

/// Puts hostile text into every string but those that choose how an event is read.
fn poison(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = format!("{text}{HOSTILE}"),
        serde_json::Value::Array(items) => items.iter_mut().for_each(poison),
        serde_json::Value::Object(members) => {
            let members = members.iter_mut().filter(|(key, _)| *key != "type");
            members.for_each(|(_, value)| poison(value));
        }
        _ => {}
    }
}

fn check(shown: &str) {
    let bad = shown
        .chars()
        .find(|letter| *letter != '\n' && misleads(*letter));
    assert_eq!(bad, None, "{shown:?}");
}
