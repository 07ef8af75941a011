//! The JSON Schema of requests and responses, and an example of each.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::protocol::{Request, RpcError, Subscribed};
use session_protocol::{
    Closed, Compacted, Forked, Kept, ModelSet, Moved, Pinned, PinsReport, Ran, Redone, StateReport,
    TakenBack, Undone, Unpinned,
};

/// The schema of an id.
fn id_schema() -> Value {
    json!({
        "type": ["string", "number", "null"],
        "description": "Comes back unchanged in the response.",
    })
}

/// Returns the schema of a request.
pub fn request_schema() -> Value {
    let generator = SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<Request>().to_value();
    session_protocol::schema::plain(&mut schema);
    let kinds = schema["oneOf"].as_array_mut().into_iter().flatten();
    for kind in kinds {
        kind["properties"]["id"] = id_schema();
        // Null has a meaning there, so it must be allowed in the schema.
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

/// Returns the schema of all lines of standard input and output, except events.
pub fn schema() -> Value {
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
    session_protocol::schema::plain(&mut schema);
    schema
}

/// Returns the schema as the text of a file.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// A request of every command, each followed by its response.
pub const SAMPLES: &str = include_str!("samples.jsonl");

/// Returns the name of the type in `schema` that has exactly the members of `data`; `None` for an empty
/// object and for the documents of commands.
pub fn type_of<'a>(data: &Value, schema: &'a Value) -> Option<&'a str> {
    let members = data.as_object().filter(|members| !members.is_empty())?;
    let mut types = schema["$defs"].as_object()?.iter();
    let (name, _) = types.find(|(_, node)| {
        let known = node["properties"].as_object();
        known.is_some_and(|known| known.keys().eq(members.keys()))
    })?;
    Some(name)
}
