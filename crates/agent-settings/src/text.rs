//! The text of a settings file as a tree, with the line in which each value begins.

use std::collections::BTreeMap;

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::{Map, Value};

use crate::path::{KeyPath, Step};

/// JSON with comments and trailing commas.
const JSONC: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A layer of settings as a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    /// The values.
    pub value: Value,
    /// Every path that is there, with the line in which its value begins, where there are lines.
    pub places: BTreeMap<KeyPath, Option<usize>>,
}

/// The reason why a text does not parse as settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The line, from 1 on.
    pub line: usize,
    /// The error.
    pub reason: String,
}

impl Tree {
    /// Returns a tree that has no lines.
    pub fn unplaced(value: Value) -> Self {
        let mut places = BTreeMap::new();
        place_all(&value, &KeyPath::default(), &mut places);
        Self { value, places }
    }

    /// Returns the tree of a text in JSON with comments.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &JSONC);
        let parsed = parsed.map_err(|error| {
            let reason = error.kind().to_string();
            let column = error.column_display();
            let reason = format!("no JSON at column {column}: {}", lower_first(&reason));
            fault(error.line_display(), reason)
        })?;
        let Some(root) = parsed.value else {
            return Err(fault(1, "the file is empty; write {} at least"));
        };
        let mut reader = Reader {
            ends: text.match_indices('\n').map(|(at, _)| at).collect(),
            places: BTreeMap::new(),
        };
        if root.as_object().is_none() {
            return Err(fault(reader.line(&root), "must be a JSON object"));
        }
        let value = reader.value(&root, &KeyPath::default())?;
        let places = reader.places;
        Ok(Self { value, places })
    }

    /// Returns the line of a value, or of the nearest one around it that is there.
    pub fn line(&self, path: &KeyPath) -> Option<usize> {
        let mut path = path.clone();
        loop {
            if let Some(line) = self.places.get(&path) {
                return *line;
            }
            path.0.pop()?;
        }
    }

    /// Returns the longest path that is there and names `key`, which is written without quotes, or something around it.
    pub fn nearest_plain(&self, key: &str) -> Option<&KeyPath> {
        let around = |path: &&KeyPath| {
            let plain = path.plain();
            let rest = key.strip_prefix(plain.as_str());
            !plain.is_empty()
                && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let paths = self.places.keys().filter(around);
        paths.max_by_key(|path| path.0.len())
    }
}

fn place_all(value: &Value, path: &KeyPath, places: &mut BTreeMap<KeyPath, Option<usize>>) {
    places.insert(path.clone(), None);
    for (name, value) in value.as_object().into_iter().flatten() {
        place_all(value, &path.member(name), places);
    }
}

/// Merges `from` into `into`: objects member by member, everything else takes the place of what was there.
pub(crate) fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

struct Reader {
    /// The offsets of the line ends, in bytes.
    ends: Vec<usize>,
    places: BTreeMap<KeyPath, Option<usize>>,
}

impl Reader {
    /// Returns the line in which a part of the text begins.
    fn line(&self, part: &impl Ranged) -> usize {
        self.ends.partition_point(|end| *end < part.start()) + 1
    }

    fn value(&mut self, node: &ast::Value<'_>, path: &KeyPath) -> Result<Value, Fault> {
        let line = self.line(node);
        self.places.insert(path.clone(), Some(line));
        Ok(match node {
            ast::Value::Object(object) => Value::Object(self.object(object, path)?),
            ast::Value::Array(array) => {
                let items = array.elements.iter().enumerate().map(|(index, item)| {
                    let mut path = path.clone();
                    path.0.push(Step::Item(index));
                    self.value(item, &path)
                });
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            ast::Value::StringLit(text) => Value::from(text.value.as_ref()),
            ast::Value::NumberLit(number) => serde_json::from_str(number.value)
                .map_err(|_| fault(line, format!("{path}: {} is not a number", number.value)))?,
            ast::Value::BooleanLit(lit) => Value::Bool(lit.value),
            ast::Value::NullKeyword(_) => Value::Null,
        })
    }

    fn object(
        &mut self,
        object: &ast::Object<'_>,
        path: &KeyPath,
    ) -> Result<Map<String, Value>, Fault> {
        let mut members = Map::new();
        let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
        for member in &object.properties {
            let name = member.name.as_str();
            let path = path.member(name);
            let line = self.line(&member.value);
            if let Some(first) = lines.insert(name, line) {
                let lines = match first == line {
                    true => String::new(),
                    false => format!(", first in line {first}"),
                };
                let reason = format!("{path} occurs twice{lines}; keep one");
                return Err(fault(line, reason));
            }
            members.insert(name.to_owned(), self.value(&member.value, &path)?);
        }
        Ok(members)
    }
}

fn fault(line: usize, reason: impl Into<String>) -> Fault {
    Fault {
        line,
        reason: reason.into(),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}
