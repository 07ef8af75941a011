//! What sessions no longer hold: lines that went, outputs and images that were never whole.

use serde_json::{Value, json};
use session_model::{ContextRules, Decoded, decode_bytes};

use super::{CompactionLoss, LossKind, LossReport, Missing, loss_report};
use crate::rules::Profile;

fn decoded(lines: &[Value]) -> Decoded {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    decode_bytes(text.into_bytes())
}

fn report(session: &Decoded) -> LossReport {
    let path = session.tree.path(session.tree.leaf());
    let counter = Profile::Own.counter();
    loss_report(&path, ContextRules::Own, counter)
}

fn only(session: &Decoded) -> CompactionLoss {
    report(session).compactions.remove(0)
}

fn message(id: &str, parent: Option<&str>, message: &Value) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "message": message})
}

fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}]})
}

/// Returns a session with a compaction.
fn compacted() -> Vec<Value> {
    let header = json!({"type": "session", "version": 3, "id": "s", "cwd": "/p"});
    let asks = says(
        "user",
        "Never touch src/lock.rs. Never wait longer than 30 ms.",
    );
    let tells = says(
        "assistant",
        "I read docs/one.md and docs/two.md with read_herd.",
    );
    let mut lines = vec![
        header,
        message("e1", None, &asks),
        message("e2", Some("e1"), &tells),
        message("e3", Some("e2"), &says("user", "go on please")),
        message("e4", Some("e3"), &says("assistant", &"words ".repeat(400))),
        message("e5", Some("e4"), &says("user", "and now the rest")),
    ];
    lines.push(json!({
        "type": "compaction", "id": "k", "parentId": "e5", "summary": "We read docs/one.md.",
        "firstKeptEntryId": "e5", "tokensBefore": 9,
    }));
    lines
}

#[test]
fn a_whole_file_has_lost_nothing() {
    let loss = only(&decoded(&compacted()));
    assert_eq!(loss.missing, Missing::default());
    assert_eq!(loss.loss.of(LossKind::UserMessage).total, 2);
}

#[test]
fn lines_that_are_missing_are_gaps() {
    // The beginning, a line in the middle, and what the compaction keeps as well.
    for without in [&[1][..], &[2], &[1, 2, 3, 4, 5]] {
        let mut lines = compacted();
        for line in without.iter().rev() {
            lines.remove(*line);
        }
        let session = decoded(&lines);
        assert_eq!(only(&session).missing, gaps(1), "{without:?}");
        assert_eq!(report(&session).totals.missing, gaps(1), "{without:?}");
    }
}

fn gaps(gaps: usize) -> Missing {
    Missing {
        gaps,
        ..Missing::default()
    }
}

#[test]
fn an_entry_that_cannot_be_read_is_missing() {
    // Its head can be read, what it says cannot.
    let damaged = r#"{"type":"message","id":"e1","parentId":null,"message":{"role":"user",}}"#;
    let mut lines: Vec<String> = compacted().iter().map(Value::to_string).collect();
    lines[1] = damaged.to_owned();
    let damaged = lines.join("\n") + "\n";
    let loss = only(&decode_bytes(damaged.into_bytes()));
    assert_eq!((loss.missing.entries, loss.missing.gaps), (1, 0));
}

#[test]
fn outputs_and_images_that_are_not_whole_are_named() {
    let result = |id: &str, parent: &str, content: Value| {
        let said = json!({"role": "toolResult", "toolCallId": "c", "toolName": "t", "content": content, "isError": false});
        message(id, Some(parent), &said)
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let run = json!({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 0,
        "cancelled": false, "truncated": true, "fullOutputPath": "/tmp/x"});
    let image = |data: &str| json!([{"type": "image", "data": data, "mimeType": "image/png"}]);
    let session = decoded(&[
        json!({"type": "session", "version": 3, "id": "s"}),
        message("e1", None, &says("user", "look")),
        result("e2", "e1", text("[Output truncated - 99 tokens]")),
        result(
            "e3",
            "e2",
            text("a\nb\n[Output was cut; full output: /tmp/y]"),
        ),
        result("e4", "e3", text("all of it\n[section]")),
        message("e5", Some("e4"), &run),
        result("e6", "e5", image("blob:sha256:0a")),
        result("e7", "e6", image("AAAA")),
        json!({"type": "compaction", "id": "k", "parentId": "e7", "summary": "x",
            "firstKeptEntryId": "k", "tokensBefore": 9}),
    ]);
    let missing = Missing {
        results: 3,
        images: 1,
        ..Missing::default()
    };
    assert_eq!(only(&session).missing, missing);
}

#[test]
fn images_that_are_no_longer_seen_are_lost() {
    let shows = |data: &str| json!({"role": "user", "content": [{"type": "image", "data": data, "mimeType": "image/png"}]});
    let restored = json!({"type": "custom_message", "id": "r", "parentId": "k", "customType": "restored_context", "display": false,
        "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]});
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": "s"}),
        message("e1", None, &shows("AAAA")),
        message("e2", Some("e1"), &shows("BBBB")),
        message("e3", Some("e2"), &says("user", "and now the rest")),
        json!({"type": "compaction", "id": "k", "parentId": "e3", "summary": "We looked at images.",
            "firstKeptEntryId": "e3", "tokensBefore": 9}),
    ];
    let figures = |lines: &[Value]| {
        let images = report(&decoded(lines)).totals.loss.of(LossKind::Image);
        (images.total, images.verbatim, images.gone)
    };
    assert_eq!(figures(&lines), (2, 0, 2));
    lines.push(restored);
    assert_eq!(figures(&lines), (2, 1, 1));
}
