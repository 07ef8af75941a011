//! The tools that a server lists, as models see them; what models' services would refuse is left out.

use std::sync::Arc;

use llm_providers::Redactor;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value};

use super::config::ServerConfig;
use super::text::{cleaned, one_line};
use crate::text::each_string;
use crate::tool::{Idempotency, ToolMeta};

/// The most tools of one server.
pub(super) const MOST_TOOLS: usize = 500;

/// The most bytes that the descriptions and schemas of one server's tools have.
const MOST_BYTES: usize = 1_000_000;

/// The longest name that models' services accept, in characters.
const NAME_CHARS: usize = 64;

/// The longest description, in characters.
const DESCRIPTION_CHARS: usize = 2000;

/// The largest schema of a tool's arguments, in bytes.
const SCHEMA_BYTES: usize = 32_000;

/// The quoted length of a name that is left out, in characters.
const SHOWN_CHARS: usize = 80;

/// A tool that is offered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    /// The server's own name of it.
    pub own: String,
    /// The name that models call.
    pub name: String,
    /// The server's description.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: Value,
    /// Properties of its calls.
    pub meta: ToolMeta,
}

/// Tools of a server.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Those that are offered.
    pub tools: Vec<Listed>,
    /// Those that are not, each with the reason.
    pub left_out: Vec<String>,
    bytes: usize,
    /// Own names of tools that were seen and wanted.
    seen: Vec<String>,
    /// Removes keys from the server's descriptions of its tools.
    redactor: Arc<Redactor>,
}

/// Says if more tools may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// They may.
    Left,
    /// No more tools may be added; the listing contains a notice.
    Full,
}

impl Listing {
    /// Returns a listing without tools.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            ..Self::default()
        }
    }

    /// Adds a tool, or notes why it is left out.
    pub fn add(&mut self, config: &ServerConfig, tool: Tool) -> Room {
        let name = full_name(&config.name, &tool.name);
        let wanted = config
            .tools
            .as_ref()
            .is_none_or(|wanted| wanted.iter().any(|own| *own == tool.name));
        if !wanted || !is_named(config, &name) {
            return Room::Left;
        }
        self.seen.push(tool.name.to_string());
        self.seen.push(name.clone());
        if self.tools.len() >= MOST_TOOLS {
            let message = format!("all behind the first {MOST_TOOLS}, which is the most");
            self.left_out.push(message);
            return Room::Full;
        }
        let shown = one_line(&self.redactor.clean_answer(&tool.name), SHOWN_CHARS);
        if self.tools.iter().any(|other| other.name == name) {
            let message = format!("{shown}: another tool is called {name} already");
            self.left_out.push(message);
            return Room::Left;
        }
        let listed = match listed(name, tool, &self.redactor) {
            Ok(listed) => listed,
            Err(reason) => {
                self.left_out.push(format!("{shown}: {reason}"));
                return Room::Left;
            }
        };
        let bytes = listed.description.len() + listed.parameters.to_string().len();
        if self.bytes + bytes > MOST_BYTES {
            let message =
                format!("all from {shown} on: together they have over {MOST_BYTES} bytes");
            self.left_out.push(message);
            return Room::Full;
        }
        self.bytes += bytes;
        self.tools.push(listed);
        Room::Left
    }

    /// Says which tools the settings or the user named and the server has not.
    pub fn note_missing(&mut self, config: &ServerConfig) {
        let own = config.tools.iter().flatten();
        let named = config.named.iter().flatten();
        let named = named.filter(|name| !name.ends_with("__*"));
        for name in own.chain(named) {
            if !self.seen.contains(name) {
                let shown = one_line(name, SHOWN_CHARS);
                self.left_out
                    .push(format!("{shown}: there is no such tool"));
            }
        }
    }
}

/// Returns true if the user named the tool for the session.
fn is_named(config: &ServerConfig, name: &str) -> bool {
    let all = format!("{}__*", config.name);
    config
        .named
        .as_ref()
        .is_none_or(|named| named.iter().any(|other| other == name || *other == all))
}

/// Returns the name that models call, of characters that their services accept.
pub(super) fn full_name(server: &str, tool: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    let tool = tool
        .chars()
        .map(|character| if fits(character) { character } else { '_' });
    let name = server.chars().chain("__".chars()).chain(tool);
    name.take(NAME_CHARS).collect()
}

fn listed(name: String, tool: Tool, redactor: &Redactor) -> Result<Listed, String> {
    if tool.name.trim().is_empty() {
        return Err("it has no name".to_owned());
    }
    if redactor.clean_answer(&tool.name) != tool.name {
        return Err("its name holds a secret".to_owned());
    }
    Ok(Listed {
        own: tool.name.into_owned(),
        name,
        description: cleaned(
            &redactor.clean_answer(tool.description.as_deref().unwrap_or_default()),
            DESCRIPTION_CHARS,
        ),
        parameters: parameters(&tool.input_schema, redactor)?,
        meta: meta(tool.annotations.as_ref()),
    })
}

/// Returns what is known about the calls of a tool. The server's hints are not trusted: every call needs approval, and
/// none runs while another tool changes something.
fn meta(hints: Option<&ToolAnnotations>) -> ToolMeta {
    let says = |hint: fn(&ToolAnnotations) -> Option<bool>| hints.and_then(hint) == Some(true);
    if says(|hints| hints.read_only_hint) {
        return ToolMeta {
            needs_approval: true,
            ..ToolMeta::READ
        };
    }
    let idempotency = match says(|hints| hints.idempotent_hint) {
        true => Idempotency::Idempotent,
        false => Idempotency::NotIdempotent,
    };
    ToolMeta {
        idempotency,
        ..ToolMeta::UNKNOWN
    }
}

/// Returns a schema in the form that services of models need: type `object`, with `properties`.
fn parameters(schema: &JsonObject, redactor: &Redactor) -> Result<Value, String> {
    let object = Value::from("object");
    if schema.get("type").is_some_and(|kind| *kind != object) {
        return Err("the schema of its arguments is not that of an object".to_owned());
    }
    let mut schema = schema.clone();
    schema.insert("type".to_owned(), object);
    let properties = schema
        .entry("properties")
        .or_insert_with(|| Map::new().into());
    if !properties.is_object() {
        return Err("the properties in the schema of its arguments are not an object".to_owned());
    }
    let mut schema = Value::Object(schema);
    each_string(&mut schema, &|text| *text = redactor.clean_answer(text));
    let text = schema.to_string();
    // A key that is left is in a name, which cannot be changed: calls need it.
    if redactor.clean_answer(&text) != text {
        return Err("a name in the schema of its arguments holds a secret".to_owned());
    }
    match text.len() {
        0..=SCHEMA_BYTES => Ok(schema),
        bytes => Err(format!(
            "the schema of its arguments has {bytes} bytes, at most {SCHEMA_BYTES} are passed on"
        )),
    }
}
