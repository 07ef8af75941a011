//! References of events and of commands as Markdown: made from their schemas and examples.

use std::fmt::Write;

use serde_json::{Map, Value, json};
use session_protocol::event;

/// Returns the reference of all events as Markdown: what each means, its members, and an example.
pub fn events() -> String {
    let schema = event::schema();
    let kinds = schema["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = String::new();
    for line in event::SAMPLES.lines() {
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
fn definitions(schema: &Value) -> String {
    let mut text = String::new();
    for (name, node) in schema["$defs"].as_object().into_iter().flatten() {
        let meaning = node["description"].as_str().unwrap_or_default();
        let _ = write!(text, "### {}\n\n{meaning}\n\n", words(name));
        text.push_str(&members(node));
    }
    text
}

/// Returns the table of the members of an object; nothing where it has none but `type`.
fn members(node: &Value) -> String {
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
        return link(name.rsplit('/').next().unwrap_or_default());
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
fn constants(node: &Value) -> Option<Vec<String>> {
    let nullable = node["anyOf"].as_array().and_then(|either| either.first());
    let words = nullable.unwrap_or(node)["oneOf"].as_array()?.iter();
    words
        .map(|word| word["const"].as_str().map(str::to_owned))
        .collect()
}

/// Returns a link to the meaning of a type.
fn link(name: &str) -> String {
    let name = words(name).to_lowercase();
    format!("[{name}](#{})", name.replace(' ', "-"))
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

/// Returns the reference of all commands as Markdown: what each does, its members, what it gives, and an example.
pub fn commands() -> String {
    let mut all = agent_rpc::schema();
    let requests = agent_rpc::request_schema();
    let kinds = requests["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = String::new();
    let lines: Vec<&str> = agent_rpc::SAMPLES.lines().collect();
    for sample in lines.chunks_exact(2) {
        let answer: Value = serde_json::from_str(sample[1]).unwrap_or_default();
        let command = answer["command"].as_str().unwrap_or_default();
        let kind = kinds
            .iter()
            .find(|kind| kind["properties"]["type"]["const"] == command);
        let Some(kind) = kind else {
            continue;
        };
        let meaning = kind["description"].as_str().unwrap_or_default();
        let data = agent_rpc::type_of(&answer["data"], &all);
        let gives = match (data, command.strip_prefix("get_")) {
            (Some(name), _) => format!("Gives {}.", link(name)),
            (None, Some(document)) => format!("Its members: [json.md](json.md), `{document}`."),
            (None, None) => "Gives nothing.".to_owned(),
        };
        let _ = write!(text, "### `{command}`\n\n{meaning} {gives}\n\n");
        text.push_str(&request_members(kind));
        let _ = write!(text, "```json\n{}\n```\n\n", sample.join("\n"));
    }
    // The kinds of errors have a table of their own.
    let kinds = all["$defs"]["ErrorKind"]["oneOf"].take();
    if let Some(definitions) = all["$defs"].as_object_mut() {
        definitions
            .retain(|name, _| !["Request", "Response", "ErrorKind"].contains(&name.as_str()));
    }
    text.push_str(&definitions(&all));
    text.push_str("### Error kind\n\n| kind | meaning |\n|---|---|\n");
    for kind in kinds.as_array().into_iter().flatten() {
        let name = kind["const"].as_str().unwrap_or_default();
        let meaning = kind["description"].as_str().unwrap_or_default();
        let _ = writeln!(text, "| `{name}` | {meaning} |");
    }
    text
}

/// Returns the table of the members of a request; nothing where it has none of its own.
fn request_members(kind: &Value) -> String {
    let needed: Vec<&str> = kind["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let all = kind["properties"].as_object();
    let optional = all
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .filter(|name| !needed.contains(name));
    let names = needed.iter().copied().chain(optional);
    let node = json!({
        "required": names.clone().filter(|name| *name != "id").collect::<Vec<_>>(),
        "properties": kind["properties"],
    });
    let table = members(&node);
    let needed: Vec<String> = needed
        .iter()
        .filter(|name| **name != "type")
        .map(|name| format!("`{name}`"))
        .collect();
    match (table.is_empty(), needed.is_empty()) {
        (true, _) => table,
        (false, true) => format!("{table}All may be left out.\n\n"),
        (false, false) => format!("{table}Needed: {}.\n\n", needed.join(", ")),
    }
}
