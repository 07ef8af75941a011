//! What is on the screen while models write.

use serde_json::json;
use session_protocol::event::SessionEvent;

use super::Stream;

fn delta(text: &str) -> SessionEvent {
    SessionEvent::TextDelta {
        text: text.to_owned(),
    }
}

#[test]
fn text_is_shown_as_it_comes_and_a_tool_begins_a_new_line() {
    let mut stream = Stream::new(Vec::new());
    stream.observe(&SessionEvent::TurnStart);
    for text in ["Let me", " look\x1b[2J.", ""] {
        stream.observe(&delta(text));
    }
    assert!(stream.has_answer());
    stream.observe(&SessionEvent::ToolStart {
        call_id: "c".to_owned(),
        name: "read".to_owned(),
        arguments: json!({ "path": "a" }),
    });
    assert!(!stream.has_answer());
    stream.observe(&delta("Done.\n"));
    stream.observe(&SessionEvent::Idle { waiting: 0 });
    assert!(stream.has_answer());
    let shown = String::from_utf8(stream.out).expect("text");
    assert!(!shown.contains('\x1b'), "{shown:?}");
    assert!(shown.starts_with("Let me look"), "{shown:?}");
    assert!(shown.ends_with(".\nDone.\n"), "{shown:?}");
}
