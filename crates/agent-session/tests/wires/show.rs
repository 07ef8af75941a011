//! A recorded request in lines: what it is, then a field a line, then an item a line.

use serde_json::value::RawValue;
use session_model::json::Members;
use test_support::Received;

/// Headers whose values are shown.
const SHOWN: [&str; 4] = [
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
];

/// Fields that are lists of items.
const LISTS: [&str; 5] = ["tools", "system", "messages", "input", "contents"];

/// The longest text that is shown, in characters.
const LONGEST: usize = 100;

/// Returns the request in lines.
pub fn request(received: &Received) -> String {
    let mut headers: Vec<String> = received
        .headers
        .iter()
        .map(|(name, value)| match name.as_str() {
            name if SHOWN.contains(&name) => format!("{name}: {value}"),
            "authorization" | "x-api-key" | "x-goog-api-key" => format!("{name} (present)"),
            name => name.to_owned(),
        })
        .collect();
    headers.sort();
    let mut lines = vec![
        format!("{} {}", received.method, received.path),
        format!("[{}]", headers.join("] [")),
    ];
    let body = std::str::from_utf8(&received.body).expect("a body is text");
    let members = Members::parse(body).expect("a body is an object");
    let mut items = Vec::new();
    for (key, value) in &members.0 {
        let list: Result<Vec<&RawValue>, _> = serde_json::from_str(value.get());
        match list {
            Ok(list) if LISTS.contains(&key.as_ref()) => {
                let list = list.iter().enumerate();
                items.extend(list.map(|(at, item)| format!("{key}[{at}] {}", short(item.get()))));
            }
            Ok(_) | Err(_) => lines.push(format!("{key}: {}", short(value.get()))),
        }
    }
    lines.extend(items);
    lines.join("\n") + "\n"
}

/// Returns JSON text with long strings replaced by their length; everything else stays as written.
pub fn short(json: &str) -> String {
    let mut out = String::new();
    let mut rest = json;
    while let Some(open) = rest.find('"') {
        out.push_str(&rest[..open]);
        let text = &rest[open..];
        let end = closing(text) + 1;
        let said: String = serde_json::from_str(&text[..end]).expect("a string");
        match said.chars().count() {
            long if long > LONGEST => out.push_str(&format!("\"<{long} chars>\"")),
            _ => out.push_str(&text[..end]),
        }
        rest = &text[end..];
    }
    out + rest
}

/// Returns the place of the quote that closes the string at the beginning of `text`.
fn closing(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at,
            _ => {}
        }
    }
    panic!("no end of {text}")
}

#[test]
fn only_long_strings_are_replaced() {
    let long = "é".repeat(101);
    let json = format!(r#"{{"a\"b": ["x\\", "{long}"], "n": 1.0}}"#);
    assert_eq!(
        short(&json),
        r#"{"a\"b": ["x\\", "<101 chars>"], "n": 1.0}"#
    );
}
