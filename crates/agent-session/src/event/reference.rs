//! The JSON Schema of events, and their reference for people: made from the types and their comments.

use std::fmt::Write;

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::SessionEvent;

/// One example of every event, in the order in which a session may report them.
const SAMPLES: &str = include_str!("samples.jsonl");

/// Returns one event of each kind, in the order in which a session may report them.
pub fn samples() -> Vec<SessionEvent> {
    let events = SAMPLES.lines().map(serde_json::from_str);
    events.filter_map(Result::ok).collect()
}

/// Returns the JSON Schema of an event.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<SessionEvent>().to_value();
    crate::schema::plain(&mut schema);
    schema["title"] = json!("An event of agent-cli --mode json");
    schema
}

/// Returns the schema as the text of a file.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// Returns the names of all events, as their lines have them.
pub fn names() -> Vec<String> {
    let schema = schema();
    let kinds = schema["oneOf"].as_array().into_iter().flatten();
    let names = kinds.filter_map(|kind| kind["properties"]["type"]["const"].as_str());
    names.map(str::to_owned).collect()
}

/// Returns the reference of all events as Markdown: what each means, its members, and an example.
pub fn reference() -> String {
    let schema = schema();
    let kinds = schema["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = String::new();
    for line in SAMPLES.lines() {
        let sample: Value = serde_json::from_str(line).unwrap_or_default();
        let name = sample["type"].as_str().unwrap_or_default();
        let kind = kinds
            .iter()
            .find(|kind| kind["properties"]["type"]["const"] == name);
        let Some(kind) = kind else {
            continue;
        };
        let meaning = kind["description"].as_str().unwrap_or_default();
        let _ = write!(text, "### `{name}`\n\n{meaning}\n\n");
        text.push_str(&members(kind));
        let _ = write!(text, "```json\n{line}\n```\n\n");
    }
    text.push_str(&definitions(&schema));
    let mut text = text.trim_end().to_owned();
    text.push('\n');
    text
}

/// Returns what the types mean that members name, each with its members.
pub fn definitions(schema: &Value) -> String {
    let mut text = String::new();
    for (name, node) in schema["$defs"].as_object().into_iter().flatten() {
        let meaning = node["description"].as_str().unwrap_or_default();
        let _ = write!(text, "### {}\n\n{meaning}\n\n", words(name));
        text.push_str(&members(node));
    }
    text
}

/// Returns the table of the members of an object; nothing where it has none but `type`.
pub fn members(node: &Value) -> String {
    let mut rows = String::new();
    // All of them are always there, and this list has the order of the type.
    let names = node["required"].as_array().into_iter().flatten();
    for name in names
        .filter_map(Value::as_str)
        .filter(|name| *name != "type")
    {
        let member = &node["properties"][name];
        let meaning = member["description"].as_str().unwrap_or_default();
        let _ = writeln!(rows, "| `{name}` | {} | {meaning} |", kind(member));
    }
    match rows.is_empty() {
        true => rows,
        false => format!("| member | is | meaning |\n|---|---|---|\n{rows}\n"),
    }
}

/// Returns in words what a member may be.
fn kind(node: &Value) -> String {
    if let Some(name) = node["$ref"].as_str() {
        let name = words(name.rsplit('/').next().unwrap_or_default());
        let place = name.to_lowercase().replace(' ', "-");
        return format!("[{}](#{place})", name.to_lowercase());
    }
    if let Some(either) = node["anyOf"].as_array() {
        let kinds: Vec<String> = either.iter().map(kind).collect();
        return kinds.join(" or ");
    }
    if let Some(words) = constants(node) {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    match &node["type"] {
        Value::String(one) => one.clone(),
        Value::Array(some) => {
            let some: Vec<&str> = some.iter().filter_map(Value::as_str).collect();
            some.join(" or ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any JSON".to_owned(),
    }
}

/// Returns the words one of which a member is, null aside; none where it may be anything else.
pub fn constants(node: &Value) -> Option<Vec<String>> {
    let nullable = node["anyOf"].as_array().and_then(|either| either.first());
    let words = nullable.unwrap_or(node)["oneOf"].as_array()?.iter();
    words
        .map(|word| word["const"].as_str().map(str::to_owned))
        .collect()
}

/// Returns the name of a type as words: `TokenUsage` as `Token usage`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        match letter.is_uppercase() && !words.is_empty() {
            true => {
                words.push(' ');
                words.extend(letter.to_lowercase());
            }
            false => words.push(letter),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use llm_providers::{Redactor, Secret};
    use serde_json::json;

    use super::{SAMPLES, reference, samples, schema};
    use crate::event::SessionEvent;

    #[test]
    fn every_event_has_an_example_and_every_example_is_as_the_schema_says() {
        let schema = schema();
        let kinds = schema["oneOf"].as_array().expect("alternatives");
        let mut left: BTreeSet<&str> = kinds
            .iter()
            .filter_map(|kind| kind["properties"]["type"]["const"].as_str())
            .collect();
        assert_eq!(left.len(), kinds.len());
        assert_eq!(samples().len(), SAMPLES.lines().count());
        for sample in samples() {
            let sample = serde_json::to_value(sample).expect("an event is JSON");
            let name = sample["type"].as_str().expect("a type");
            assert!(left.remove(name), "{name} twice, or unknown");
            let kind = kinds
                .iter()
                .find(|kind| kind["properties"]["type"]["const"] == name)
                .expect("found above");
            let has: BTreeSet<&str> = sample
                .as_object()
                .expect("an object")
                .keys()
                .map(String::as_str)
                .collect();
            let required: BTreeSet<&str> = kind["required"]
                .as_array()
                .expect("a list")
                .iter()
                .filter_map(|name| name.as_str())
                .collect();
            assert_eq!(has, required, "{name}");
        }
        assert_eq!(left, BTreeSet::new(), "without an example");
    }

    #[test]
    fn the_reference_says_what_each_member_is() {
        let reference = reference();
        let (_, idle) = reference.split_once("### `idle`").expect("idle");
        let (idle, _) = idle.split_once("###").expect("more");
        insta::assert_snapshot!(idle.trim(), @r#"
        Nothing is going on any more.

        | member | is | meaning |
        |---|---|---|
        | `waiting` | integer | How many messages wait all the same. |

        ```json
        {"type":"idle","waiting":0}
        ```
        "#);
        let (_, start) = reference.split_once("### `compaction_end`").expect("it");
        let (start, _) = start.split_once("```").expect("an example");
        insta::assert_snapshot!(start.trim(), @"
        The compaction that was asked for is over.

        | member | is | meaning |
        |---|---|---|
        | `reason` | string | Always `manual`. |
        | `result` | [compaction result](#compaction-result) or null | What came of it; none when it failed or was cancelled. |
        | `aborted` | boolean | Whether the user cancelled it; a hook that is against it is an error. |
        | `will_retry` | boolean | Whether the turn that it stopped goes on. |
        | `error` | string or null | What went wrong. |
        ");
    }

    #[test]
    fn no_event_tells_a_key() {
        const KEY: &str = "sk-0123456789abcdef";
        let secret = Secret::new(KEY);
        let redactor = Redactor::new(&secret);
        // Every text of every sample that is a sentence, or what a tool was given or gave, becomes a key.
        let mut texts = 0;
        for mut event in samples() {
            let before = event.clone();
            match &mut event {
                SessionEvent::ToolStart { arguments, .. } => *arguments = json!({ "a": [KEY] }),
                SessionEvent::ToolEnd { output: text, .. }
                | SessionEvent::ToolUpdate { output: text, .. }
                | SessionEvent::ApprovalRequest { subject: text, .. }
                | SessionEvent::HookFailed { reason: text, .. }
                | SessionEvent::Answer { text, .. }
                | SessionEvent::Notice { text }
                | SessionEvent::Error { message: text }
                | SessionEvent::Message { text, .. } => KEY.clone_into(text),
                _ => {}
            }
            texts += usize::from(event != before);
            event.remove_keys(&redactor);
            let encoded = serde_json::to_string(&event).unwrap();
            assert!(!encoded.contains(KEY), "{encoded}");
            assert_eq!(
                encoded.contains("[secret removed]"),
                event != before,
                "{encoded}"
            );
        }
        assert!(texts >= 8, "{texts}");
    }
}
