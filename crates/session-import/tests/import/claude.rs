//! Sessions of Claude Code whose records do not stand as they hang together.

use serde_json::{Value, json};
use session_import::{Input, examine};
use session_model::{AgentMessage, DiagnosticKind, EntryBody, SessionTree, decode_bytes};

use crate::support::Fixture;

/// Returns a record; an empty parent is null.
fn record(kind: &str, uuid: &str, parent: &str, more: Value) -> Value {
    let parent = (!parent.is_empty()).then_some(parent);
    let mut record = json!({ "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "cwd": "/p", "timestamp": "2026-01-01T00:00:00.000Z" });
    if let (Some(record), Value::Object(more)) = (record.as_object_mut(), more) {
        record.extend(more);
    }
    record
}

fn user(uuid: &str, parent: &str, text: &str) -> Value {
    record(
        "user",
        uuid,
        parent,
        json!({ "message": { "role": "user", "content": text } }),
    )
}

fn answer(uuid: &str, parent: &str, text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    record(
        "assistant",
        uuid,
        parent,
        json!({ "message": { "id": uuid, "role": "assistant", "content": content } }),
    )
}

fn call(uuid: &str, parent: &str) -> Value {
    let content =
        json!([{ "type": "tool_use", "id": uuid, "name": "Bash", "input": { "command": "ls" } }]);
    record(
        "assistant",
        uuid,
        parent,
        json!({ "message": { "id": uuid, "role": "assistant", "content": content } }),
    )
}

fn result(uuid: &str, parent: &str) -> Value {
    let content = json!([{ "type": "tool_result", "tool_use_id": parent, "content": "ok" }]);
    record(
        "user",
        uuid,
        parent,
        json!({ "message": { "role": "user", "content": content } }),
    )
}

fn progress(uuid: &str, parent: &str) -> Value {
    record(
        "progress",
        uuid,
        parent,
        json!({ "data": { "type": "hook_progress" } }),
    )
}

fn lines(records: &[Value]) -> Vec<u8> {
    let lines = records.iter().map(|record| format!("{record}\n"));
    lines.collect::<String>().into_bytes()
}

fn import(bytes: Vec<u8>) -> (SessionTree, Vec<DiagnosticKind>) {
    let (lines, report) = Fixture { bytes }.import();
    let kinds = report.diagnostics.iter().map(|said| said.kind);
    (decode_bytes(lines).tree, kinds.collect())
}

/// Returns the ids of the messages on the path to the leaf, hidden ones included.
fn path(tree: &SessionTree) -> String {
    let path = tree.path(tree.leaf());
    let ids = path.entries().iter().filter_map(|index| {
        let entry = tree.entry(*index).ok()?;
        let says = matches!(
            entry.body,
            EntryBody::Message(_) | EntryBody::CustomMessage(_)
        );
        says.then(|| entry.id.to_string())
    });
    ids.collect::<Vec<_>>().join(" ")
}

#[test]
fn what_hooks_report_late_begins_no_branch() {
    let records = [
        user("u1", "", "restart"),
        call("a1", "u1"),
        result("r1", "a1"),
        call("a2", "r1"),
        result("r2", "a2"),
        answer("a3", "r2", "listens"),
        // Written at the end of the turn, chained from its first call.
        progress("p1", "a1"),
        progress("p2", "p1"),
        record(
            "system",
            "s1",
            "p2",
            json!({ "subtype": "stop_hook_summary" }),
        ),
        user("u2", "s1", "it does not"),
        answer("a4", "u2", "I see"),
        // The user goes back to before the second request, and asks otherwise.
        user("u3", "p2", "something else"),
        answer("a5", "u3", "yes"),
    ];
    let (tree, _) = import(lines(&records[..11]));
    assert_eq!(path(&tree), "u1 a1 r1 a2 r2 a3 u2 a4");
    let (tree, _) = import(lines(&records));
    assert_eq!(path(&tree), "u1 a1 r1 a2 r2 a3 u3 a5");
    // A hook that reports on a request that the user went back to follows that.
    let mut records = records[..11].to_vec();
    records.extend([
        progress("p3", "a1"),
        user("u3", "p3", "again"),
        answer("a5", "u3", "yes"),
    ]);
    assert_eq!(path(&import(lines(&records)).0), "u1 a1 r1 u3 a5");
}

#[test]
fn a_missing_parent_of_any_record_is_the_record_before() {
    let orphans = [
        vec![
            progress("p1", "LOST"),
            record("system", "s1", "p1", json!({})),
            user("u2", "s1", "write it"),
        ],
        vec![
            record("a-kind-of-next-year", "x1", "LOST", json!({})),
            user("u2", "x1", "write it"),
        ],
        vec![user("u2", "LOST", "write it")],
    ];
    for orphans in orphans {
        let mut records = vec![user("u1", "", "compare"), answer("a1", "u1", "both work")];
        records.extend(orphans);
        records.push(answer("a2", "u2", "done"));
        let (tree, said) = import(lines(&records));
        assert_eq!(path(&tree), "u1 a1 u2 a2");
        assert_eq!(said, [DiagnosticKind::MissingParent]);
    }
}

#[test]
fn two_records_on_one_line_are_both_imported_and_repaired() {
    let summary = json!({ "type": "summary", "summary": "Retry", "leafUuid": "a1" });
    let one = lines(&[
        user("u1", "", "add a retry"),
        answer("a1", "u1", "done"),
        user("u2", "a1", "never log the token"),
    ]);
    let joined = [
        &one[..one.len() - 1],
        &lines(&[summary, answer("a2", "u2", "yes")]),
    ]
    .concat();
    let (tree, said) = import(joined.clone());
    assert_eq!(path(&tree), "u1 a1 u2 a2");
    assert_eq!(said, [DiagnosticKind::SharedLine]);
    let input = Input::of_bytes(joined);
    let examined = examine(session_import::Format::ClaudeCode, &input).expect("it is read");
    let kinds: Vec<_> = examined.diagnostics.iter().map(|said| said.kind).collect();
    assert_eq!(kinds, [DiagnosticKind::SharedLine]);
    let mut repaired = Vec::new();
    assert_eq!(
        examined
            .repair(&input, &mut repaired)
            .expect("it is written"),
        1
    );
    assert_eq!(repaired.iter().filter(|byte| **byte == b'\n').count(), 5);
    let (tree, said) = import(repaired);
    assert_eq!((path(&tree).as_str(), said.len()), ("u1 a1 u2 a2", 0));
}

#[test]
fn arguments_of_a_command_are_the_users_and_those_of_a_local_one_are_no_request() {
    let command = |name: &str, arguments: &str| {
        format!(
            "<command-message>{name} is running</command-message>\n<command-name>/{name}</command-name>\n<command-args>{arguments}</command-args>"
        )
    };
    let printed = "<local-command-stdout>Compacted</local-command-stdout>";
    let words = |records: &[Value]| {
        let (tree, _) = import(lines(records));
        let path = tree.path(tree.leaf());
        let words = path
            .entries()
            .iter()
            .filter_map(|index| match tree.entry(*index).ok()?.body {
                EntryBody::Message(message) => match &*message {
                    AgentMessage::User(user) => Some(user.words()),
                    _ => None,
                },
                EntryBody::CustomMessage(message) => {
                    Some(format!("[{}]", message.content.texts().count()))
                }
                _ => None,
            });
        words.collect::<Vec<_>>().join(" ")
    };
    let prompt = [
        user("u1", "", &command("orchestrate", "create an app")),
        answer("a1", "u1", "done"),
    ];
    assert_eq!(words(&prompt), "[2] create an app");
    let local = [
        user("u1", "", &command("model", "opus")),
        user("u2", "u1", printed),
        answer("a1", "u2", "done"),
    ];
    assert_eq!(words(&local), "[3] [1]");
    let compact = [
        user("u1", "", &command("compact", "delete the folder")),
        user("u2", "u1", printed),
        answer("a1", "u2", "done"),
    ];
    assert_eq!(words(&compact), "[1]");
}
