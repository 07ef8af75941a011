//! The JSON Schema of requests and responses, and their reference for people: made from the types and their comments.

use std::fmt::Write;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::protocol::{Request, RpcError, Subscribed};
use agent_session::event::{definitions, members};
use agent_session::runtime::{
    Closed, Compacted, Forked, Kept, ModelSet, Moved, Pinned, PinsReport, Ran, Redone, StateReport,
    TakenBack, Undone, Unpinned,
};

/// What an id may be.
fn id_schema() -> Value {
    json!({
        "type": ["string", "number", "null"],
        "description": "Comes back unchanged in the response.",
    })
}

/// Returns the schema of a request.
pub(crate) fn request_schema() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<Request>().to_value();
    agent_session::schema::plain(&mut schema);
    let kinds = schema["oneOf"].as_array_mut().into_iter().flatten();
    for kind in kinds {
        kind["properties"]["id"] = id_schema();
        // Null has a meaning of its own there, so it must be written.
        let nullable = match kind["properties"]["type"]["const"].as_str() {
            Some("navigate_tree") => "entry_id",
            Some("label") => "label",
            _ => continue,
        };
        if let Some(required) = kind["required"].as_array_mut() {
            required.push(json!(nullable));
        }
    }
    schema["description"] = json!("What a program asks: one JSON object a line.");
    schema["title"] = json!("A request");
    schema
}

/// Returns the schema of all that goes over standard input and output, events aside.
pub(crate) fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let data = [
        generator.subschema_for::<Kept>(),
        generator.subschema_for::<TakenBack>(),
        generator.subschema_for::<Ran>(),
        generator.subschema_for::<Compacted>(),
        generator.subschema_for::<Moved>(),
        generator.subschema_for::<Undone>(),
        generator.subschema_for::<Redone>(),
        generator.subschema_for::<Pinned>(),
        generator.subschema_for::<Unpinned>(),
        generator.subschema_for::<PinsReport>(),
        generator.subschema_for::<Forked>(),
        generator.subschema_for::<ModelSet>(),
        generator.subschema_for::<StateReport>(),
        generator.subschema_for::<Subscribed>(),
        generator.subschema_for::<Closed>(),
    ];
    let error = generator.subschema_for::<RpcError>();
    let head = |success: bool| {
        let mut properties = Map::new();
        properties.insert("type".to_owned(), json!({ "const": "response" }));
        properties.insert("id".to_owned(), id_schema());
        properties.insert(
            "command".to_owned(),
            json!({
                "type": ["string", "null"],
                "description": "The command; none where the line names none.",
            }),
        );
        properties.insert("success".to_owned(), json!({ "const": success }));
        properties
    };
    let mut done = head(true);
    let mut forms: Vec<Value> = data
        .iter()
        .map(|schema| schema.as_value().clone())
        .collect();
    forms.push(json!({ "type": "object", "description": "A document, or nothing." }));
    done.insert("data".to_owned(), json!({ "anyOf": forms }));
    let mut failed = head(false);
    failed.insert("error".to_owned(), error.as_value().clone());
    let response = json!({
        "title": "A response",
        "description": "The one answer to a request.",
        "oneOf": [
            {
                "type": "object",
                "properties": done,
                "required": ["type", "id", "command", "success", "data"],
            },
            {
                "type": "object",
                "properties": failed,
                "required": ["type", "id", "command", "success", "error"],
            },
        ],
    });
    let mut request = request_schema();
    if let Some(request) = request.as_object_mut() {
        request.remove("$schema");
    }
    let mut definitions = generator.take_definitions(true);
    definitions.insert("Request".to_owned(), request);
    definitions.insert("Response".to_owned(), response);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A request or a response of agent-cli rpc",
        "anyOf": [{ "$ref": "#/$defs/Request" }, { "$ref": "#/$defs/Response" }],
        "$defs": definitions,
    });
    agent_session::schema::plain(&mut schema);
    schema
}

/// Returns the schema as the text of a file.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// A request of every command, each followed by its response.
pub(crate) const SAMPLES: &str = include_str!("samples.jsonl");

/// Returns the reference of all commands as Markdown: what each does, its members, what it gives, and an example.
pub fn reference() -> String {
    let mut all = schema();
    let requests = request_schema();
    let kinds = requests["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = String::new();
    let lines: Vec<&str> = SAMPLES.lines().collect();
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
        let gives = match (type_of(&answer["data"], &all), command.strip_prefix("get_")) {
            (Some(name), _) => format!("Gives [{name}](#{}).", name.replace(' ', "-")),
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

/// Returns the name, in words, of the type in `schema` that has exactly the members of `data`; `None` for an empty
/// object and for the documents of commands.
pub(crate) fn type_of(data: &Value, schema: &Value) -> Option<String> {
    let members = data.as_object().filter(|members| !members.is_empty())?;
    let mut types = schema["$defs"].as_object()?.iter();
    let (name, _) = types.find(|(_, node)| {
        let known = node["properties"].as_object();
        known.is_some_and(|known| known.keys().eq(members.keys()))
    })?;
    Some(words(name))
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

/// Returns the name of a type as words: `TakenBack` as `taken back`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}
