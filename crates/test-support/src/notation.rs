//! The text notation; see the crate's documentation.

use serde_json::{Value, json};

/// Returns the JSONL text of the session that `notation` describes.
///
/// # Panics
///
/// On a notation that cannot be read: tests that misspell one should fail.
pub fn session(notation: &str) -> String {
    let mut lines = vec![
        json!({"type":"session","version":3,"id":"test","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/project"}),
    ];
    let mut parent = Value::Null;
    let mut number = 0;
    for item in notation.split_whitespace().filter(|item| *item != "|") {
        if let Some(target) = item.strip_prefix('^') {
            parent = match target {
                "root" => Value::Null,
                id => json!(id),
            };
            continue;
        }
        number += 1;
        let (id, item) = match item.split_once('=') {
            Some((name, item)) => (name.to_owned(), item),
            None => (format!("e{number}"), item),
        };
        let mut entry = entry(item, number);
        entry["id"] = json!(id);
        entry["parentId"] = parent;
        entry["timestamp"] = json!(format!(
            "2026-01-01T00:{:02}:{:02}.000Z",
            number / 60 % 60,
            number % 60
        ));
        parent = json!(id);
        lines.push(entry);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn entry(item: &str, number: u64) -> Value {
    let mut parts = item.splitn(3, ':');
    let kind = parts.next().unwrap_or_default();
    let second = parts.next();
    let third = parts.next();
    let (kind, target) = match kind.split_once('@') {
        Some((kind, target)) => (kind, Some(target)),
        None => (kind, None),
    };
    let text = |size: Option<&str>| text_of(item, size, number);
    let at = 1_767_225_600_000_u64 + number * 1000;
    let message = |message: Value| json!({"type":"message","message":message});
    let answer = |content: Value, stop: &str| {
        message(
            json!({"role":"assistant","content":content,"api":"test","provider":"test","model":"test","stopReason":stop,"timestamp":at}),
        )
    };
    let call = |tool: &str, arguments: Value| {
        answer(
            json!([{"type":"toolCall","id":second,"name":tool,"arguments":arguments}]),
            "toolUse",
        )
    };
    let result = |error: bool| {
        message(
            json!({"role":"toolResult","toolCallId":second,"toolName":"bash","content":[{"type":"text","text":text(third)}],"isError":error,"timestamp":at}),
        )
    };
    match kind {
        "u" => message(json!({"role":"user","content":text(second),"timestamp":at})),
        "a" => answer(json!([{"type":"text","text":text(second)}]), "stop"),
        "call" => call("bash", json!({"command": text(third)})),
        "read" | "write" | "edit" => call(kind, json!({"path": third})),
        "res" => result(false),
        "err" => result(true),
        "b" => message(
            json!({"role":"bashExecution","command":"","output":text(second),"exitCode":0,"timestamp":at}),
        ),
        "sys" => message(json!({"role":"system","content":text(second),"timestamp":at})),
        "x" => {
            json!({"type":"custom_message","customType":"note","content":text(second),"display":true})
        }
        "s" => json!({"type":"branch_summary","fromId":"root","summary":text(second)}),
        "k" => {
            json!({"type":"compaction","summary":text(second),"firstKeptEntryId":target,"tokensBefore":0})
        }
        "omit" => json!({"type":"context_edit","targetId":target,"replacement":null}),
        "cut" => {
            json!({"type":"context_edit","targetId":target,"replacement":{"content":[{"type":"text","text":"cut"}]}})
        }
        "model" => json!({"type":"model_change","provider":"test","modelId":"test"}),
        "label" => json!({"type":"label","targetId":"e1","label":"here"}),
        "info" => json!({"type":"session_info","name":"a test"}),
        "reset" => json!({"type":"reset_boundary"}),
        other => panic!("no item {other} in the notation: {item}"),
    }
}

/// Returns a text of `size` tokens of four characters that names its entry.
fn text_of(item: &str, size: Option<&str>, number: u64) -> String {
    let size = size.and_then(|size| size.parse::<usize>().ok());
    let Some(size) = size else {
        panic!("no size in {item}");
    };
    let mark = format!("#{number} ");
    let filler = "lorem ipsum dolor sit amet ".chars().cycle();
    mark.chars().chain(filler).take(size * 4).collect()
}
