//! Arguments of calls: read strictly into types, and described by a schema that is made from them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::text::clip_line;

/// The longest message about arguments that do not fit, in characters.
const MESSAGE_CHARS: usize = 300;

/// Returns the arguments, or what is wrong with which key.
///
/// # Errors
/// A text for the model: which argument is wrong, and how.
pub fn parse<T: DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let key = match error.path().to_string() {
            root if root == "." => String::new(),
            key => format!("{key}: "),
        };
        let message = error.into_inner().to_string();
        format!(
            "the arguments do not fit: {key}{}",
            clip_line(&message, MESSAGE_CHARS)
        )
    })
}

/// Returns the JSON Schema of `T`: one object without references, formats and nulls, which not every service
/// takes.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    simplify(&mut schema);
    if let Some(members) = schema.as_object_mut() {
        members.remove("description");
    }
    schema
}

fn simplify(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    for needless in ["title", "format"] {
        members.remove(needless);
    }
    if let Some(Value::String(description)) = members.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            members.insert("type".to_owned(), only);
        }
    }
    if let Some(items) = members.get_mut("items") {
        simplify(items);
    }
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
}
