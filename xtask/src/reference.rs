//! References of events, commands and hook points as Markdown: made from their schemas and examples.

use std::fmt::Write;

use serde_json::{Map, Value};
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
        text.push_str(&members(kind, &required(kind)));
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
        text.push_str(&members(node, &required(node)));
    }
    text
}

/// Returns the members that are always there, in the order of the type.
fn required(node: &Value) -> Vec<&str> {
    let names = node["required"].as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// Returns the list of an object's members without `type`; empty if it has no others. The type `string` is not named,
/// and a meaning that repeats the name is left out.
fn members(node: &Value, names: &[&str]) -> String {
    let required = required(node);
    let mut rows = String::new();
    for name in names.iter().filter(|name| **name != "type") {
        let member = &node["properties"][name];
        let kind = kind(member);
        let optional = !required.contains(name);
        let notes = match (kind.as_str(), optional) {
            ("string" | "string or null", true) => " (optional)".to_owned(),
            ("string", false) => String::new(),
            ("string or null", false) => " (or null)".to_owned(),
            (kind, true) => format!(" ({}, optional)", kind.trim_end_matches(" or null")),
            (kind, false) => format!(" ({kind})"),
        };
        let meaning = member["description"].as_str().unwrap_or_default();
        let thing = name.trim_end_matches("_id").replace('_', " ");
        let repeated = ["The ", "Its "].map(|article| format!("{article}{thing}."));
        let meaning = match repeated.iter().any(|own| own == meaning) {
            true => String::new(),
            false => format!(": {meaning}"),
        };
        let _ = writeln!(rows, "- `{name}`{notes}{meaning}");
    }
    match rows.is_empty() {
        true => rows,
        false => format!("{rows}\n"),
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
        Value::String(one) if one == "array" => match node["items"].get("type") {
            Some(Value::String(one)) => format!("list of {one}s"),
            _ if node["items"].get("$ref").is_some() => format!("list of {}", kind(&node["items"])),
            _ => "list of objects".to_owned(),
        },
        Value::String(one) => one.clone(),
        Value::Array(some) => {
            let some: Vec<&str> = some.iter().filter_map(Value::as_str).collect();
            some.join(" or ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any JSON".to_owned(),
    }
}

/// Returns the constants that are the allowed values of a member, without null; `None` if other values are allowed.
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

/// Returns the reference of all commands as Markdown: what each does, its members, its data, and an example.
pub fn commands() -> String {
    let mut all = agent_rpc::schema();
    let requests = agent_rpc::request_schema();
    let kinds = requests["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = String::new();
    let lines: Vec<&str> = agent_rpc::SAMPLES.lines().collect();
    let data_of = |response: &str| {
        let response: Value = serde_json::from_str(response).unwrap_or_default();
        agent_rpc::type_of(&response["data"], &all).map(str::to_owned)
    };
    let given: Vec<Option<String>> = lines
        .chunks_exact(2)
        .map(|sample| data_of(sample[1]))
        .collect();
    let is_shared = |name: &String| given.iter().flatten().filter(|own| *own == name).count() > 1;
    for (sample, data) in lines.chunks_exact(2).zip(&given) {
        let request: Value = serde_json::from_str(sample[0]).unwrap_or_default();
        let command = request["type"].as_str().unwrap_or_default();
        let kind = kinds
            .iter()
            .find(|kind| kind["properties"]["type"]["const"] == command);
        let Some(kind) = kind else {
            continue;
        };
        let meaning = kind["description"].as_str().unwrap_or_default();
        let _ = write!(text, "### `{command}`\n\n{meaning}\n\n");
        text.push_str(&members(kind, &request_members(kind)));
        match (data, command.strip_prefix("get_")) {
            (Some(name), _) if is_shared(name) => {
                let _ = write!(text, "Data: {}.\n\n", link(name));
            }
            (Some(name), _) => {
                let node = &all["$defs"][name];
                let _ = write!(text, "Data:\n\n{}", members(node, &required(node)));
            }
            (None, Some(document)) => {
                let _ = write!(
                    text,
                    "Data: the document of [`{document}`](json.md#{document}).\n\n"
                );
            }
            (None, None) => {}
        }
        let _ = write!(text, "```json\n{}\n```\n\n", sample.join("\n"));
    }
    // Types that occur in events are described with them; those that only one command returns are described there.
    let in_events = event::schema();
    let in_events = in_events["$defs"].as_object();
    let is_in_events = |name: &String| in_events.is_some_and(|types| types.contains_key(name));
    let single = |name: &String| given.iter().flatten().any(|own| own == name) && !is_shared(name);
    let kinds = all["$defs"]["ErrorKind"]["oneOf"].take();
    if let Some(definitions) = all["$defs"].as_object_mut() {
        definitions.retain(|name, _| {
            let is_described = ["Request", "Response", "ErrorKind"].contains(&name.as_str());
            !(is_described || is_in_events(name) || single(name))
        });
    }
    text.push_str(&definitions(&all));
    text.push_str("### Error kind\n\n");
    for kind in kinds.as_array().into_iter().flatten() {
        let name = kind["const"].as_str().unwrap_or_default();
        let meaning = kind["description"].as_str().unwrap_or_default();
        let _ = writeln!(text, "- `{name}`: {meaning}");
    }
    for name in in_events.into_iter().flat_map(Map::keys) {
        let here = link(name);
        text = text.replace(&here, &here.replace("](#", "](events.md#"));
    }
    text
}

/// Returns the names of the members of a request, those that it must have first.
fn request_members(kind: &Value) -> Vec<&str> {
    let needed = required(kind);
    let all = kind["properties"].as_object();
    let names = all.into_iter().flat_map(Map::keys).map(String::as_str);
    let optional = names.filter(|name| !needed.contains(name));
    let mut names = needed.clone();
    names.extend(optional);
    names.retain(|name| *name != "id");
    names
}

/// Returns the reference of all hook points as Markdown: when each comes, its members, an example, and what may be
/// answered.
pub fn hooks() -> String {
    let described = |mut schema: Value| {
        session_protocol::schema::plain(&mut schema);
        members(&schema, &required(&schema))
    };
    let common = described(hooks::reference::common_members());
    let mut text = format!("### Members of every payload\n\n{common}");
    for described_point in hooks::reference::points() {
        let point = described_point.point;
        let meaning = described_point.meaning.replace('\n', " ");
        let _ = write!(text, "### `{point}`\n\n{meaning}");
        if let Some(subject) = point.subject() {
            let _ = write!(text, " Subject of `matches`: `{subject}`.");
        }
        if point.can_block() {
            text.push_str(" Exit code 2 blocks it.");
        }
        let members = described(described_point.schema);
        let example = first_of_lists(described_point.example);
        let _ = write!(text, "\n\n{members}```json\n{example}\n```\n\n");
        for (answer, means) in described_point.answers {
            let _ = writeln!(text, "- answer `{answer}`: {means}");
        }
        if !described_point.answers.is_empty() {
            text.push('\n');
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// Returns a payload with only the first of each list of objects.
fn first_of_lists(mut payload: Value) -> Value {
    let members = payload.as_object_mut().into_iter();
    for items in members
        .flat_map(Map::values_mut)
        .filter_map(Value::as_array_mut)
    {
        if items.iter().all(Value::is_object) {
            items.truncate(1);
        }
    }
    payload
}
