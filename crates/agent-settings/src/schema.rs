//! The JSON Schema of the settings, and what it says of one key: made from the types and their comments.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Number, Value, json};

use crate::AppSettings;
use crate::path::{KeyPath, Step};

/// Returns the JSON Schema of `settings.json`.
pub fn schema() -> Value {
    known().clone()
}

/// Returns the schema, which is made once.
pub(crate) fn known() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(generated);
    &SCHEMA
}

fn generated() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<AppSettings>().to_value();
    session_protocol::schema::plain(&mut schema);
    schema["title"] = json!("Settings of agent-cli");
    schema["properties"]["$schema"] = json!({
        "type": "string",
        "description": "Where this schema is, for editors.",
    });
    schema
}

/// Returns the schema as the text of a file.
pub fn schema_text() -> String {
    format!("{:#}\n", known())
}

/// Returns true when `path` is a setting.
pub(crate) fn knows(path: &KeyPath) -> bool {
    find(known(), path).is_some()
}

/// Returns the schema of the setting at `path`.
pub(crate) fn find(schema: &Value, path: &KeyPath) -> Option<Value> {
    path.0
        .iter()
        .try_fold(schema.clone(), |node, step| inside(&node, step))
}

fn inside(node: &Value, step: &Step) -> Option<Value> {
    if is_anything(node) {
        return Some(node.clone());
    }
    let own = match step {
        Step::Name(name) => {
            let named = node["properties"].get(name);
            let any = node.get("additionalProperties");
            named.or(any.filter(|node| node.is_object() || is_anything(node)))
        }
        Step::Item(_) => node.get("items"),
    };
    let own = own.cloned();
    own.or_else(|| alternatives(node).find_map(|node| inside(node, step)))
}

/// Returns true for the schema of what may be anything, such as the fields of `extraBody`.
fn is_anything(node: &Value) -> bool {
    *node == Value::Bool(true)
}

fn alternatives(node: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf"].map(|name| node[name].as_array());
    lists.into_iter().flatten().flatten()
}

/// Returns the path of the first invalid value or unknown name. Parsing does not report either everywhere: serde
/// accepts a list for an object, and does not report a path inside a group of settings of two crates.
pub(crate) fn misplaced(node: &Value, tree: &Value) -> Option<KeyPath> {
    if !takes(node, tree) {
        return Some(KeyPath::default());
    }
    let steps: Vec<(Step, &Value)> = match tree {
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(name, value)| (Step::Name(name.clone()), value))
                .collect()
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, value)| (Step::Item(index), value))
                .collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    steps.into_iter().find_map(|(step, value)| {
        let mut path = match inside(node, &step) {
            Some(node) => misplaced(&node, value)?,
            None => KeyPath::default(),
        };
        path.0.insert(0, step);
        Some(path)
    })
}

/// Returns true when a value has a type that the schema allows; its contents are not checked.
fn takes(node: &Value, value: &Value) -> bool {
    if is_anything(node) {
        return true;
    }
    if let Some(only) = node.get("const") {
        return value == only;
    }
    if let Some(values) = node["enum"].as_array() {
        return values.contains(value);
    }
    let is = |kind: &str| match (kind, value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("string", Value::String(_))
        | ("object", Value::Object(_)) => true,
        ("array", Value::Array(items)) => node["minItems"] != 1 || !items.is_empty(),
        ("integer", Value::Number(number)) => !number.is_f64() && in_range(node, number),
        ("number", Value::Number(number)) => in_range(node, number),
        _ => false,
    };
    let own = match &node["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(is),
        Value::String(kind) => is(kind),
        _ => false,
    };
    own || alternatives(node).any(|node| takes(node, value))
}

fn in_range(node: &Value, number: &Number) -> bool {
    let bound = |name: &str| node[name].as_f64();
    let number = number.as_f64();
    bound("minimum").is_none_or(|least| number >= Some(least))
        && bound("maximum").is_none_or(|most| number <= Some(most))
}

/// Returns the names of the members that an object at `path` may have; none when it is no object, or one with names
/// of the user's own.
pub(crate) fn members(schema: &Value, path: &KeyPath) -> Vec<String> {
    fn of(node: &Value) -> Vec<String> {
        let own = node["properties"].as_object().into_iter().flatten();
        let own = own.map(|(name, _)| name.clone());
        own.chain(alternatives(node).flat_map(of)).collect()
    }
    find(schema, path).map_or_else(Vec::new, |node| of(&node))
}

/// Describes the allowed values of a schema.
pub(crate) fn allowed(node: &Value) -> String {
    let mut found = Allowed::default();
    found.collect(node);
    found.words()
}

/// The allowed values of a setting, as text.
#[derive(Default)]
struct Allowed {
    /// Values, written as JSON.
    values: Vec<String>,
    /// Kinds of values.
    kinds: Vec<String>,
}

impl Allowed {
    fn collect(&mut self, node: &Value) {
        let value = |value: &Value| value.to_string();
        self.values.extend(node.get("const").map(value));
        let list = node["enum"].as_array().into_iter().flatten();
        self.values
            .extend(list.filter(|one| !one.is_null()).map(value));
        for node in alternatives(node) {
            self.collect(node);
        }
        if node.get("const").is_some() || node.get("enum").is_some() {
            return;
        }
        let types = match &node["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            Value::String(one) => vec![one.as_str()],
            _ => Vec::new(),
        };
        for kind in types {
            match kind {
                "boolean" => self.values.extend(["true".to_owned(), "false".to_owned()]),
                "integer" => self.kinds.push(whole_number(node)),
                "number" => self.kinds.push(match node["minimum"].as_f64() {
                    Some(least) => format!("a number, at least {least}"),
                    None => "a number".to_owned(),
                }),
                "string" => self.kinds.push("a text".to_owned()),
                "array" => self.kinds.push(self.list(&node["items"])),
                "object" => self
                    .kinds
                    .push(match node["additionalProperties"]["type"].as_str() {
                        Some("string") => "an object of texts".to_owned(),
                        Some(_) | None => "an object".to_owned(),
                    }),
                _ => {}
            }
        }
    }

    fn list(&self, items: &Value) -> String {
        let mut inner = Self::default();
        inner.collect(items);
        match (inner.values.is_empty(), inner.kinds.as_slice()) {
            (false, _) if inner.values == self.values => "a list of them".to_owned(),
            (true, [one]) => match one.strip_prefix("a ").or(one.strip_prefix("an ")) {
                Some(noun) if !noun.contains(' ') => format!("a list of {noun}s"),
                Some(_) | None => "a list".to_owned(),
            },
            _ => "a list".to_owned(),
        }
    }

    fn words(self) -> String {
        let mut words: Vec<String> = self.values;
        words.extend(self.kinds);
        let last = words.pop();
        match (words.is_empty(), last) {
            (_, None) => "anything".to_owned(),
            (true, Some(last)) => last,
            (false, Some(last)) => format!("{} or {last}", words.join(", ")),
        }
    }
}

fn whole_number(node: &Value) -> String {
    let bound = |name: &str| node[name].as_i64();
    match (bound("minimum"), bound("maximum")) {
        (None, None) => "a whole number".to_owned(),
        (Some(0), None) => "a whole number, 0 or more".to_owned(),
        (Some(least), None) => format!("a whole number, at least {least}"),
        (None, Some(most)) => format!("a whole number, at most {most}"),
        (Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
    }
}
