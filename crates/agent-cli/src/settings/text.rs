//! The text of a settings file as a tree, with the line in which each value begins.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;
use session_model::json::Members;

use super::path::{KeyPath, Step};

/// How a settings file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One object.
    Json,
    /// The older form: objects one after the other, merged in order; `{"key": "a.b", "value": 1}` sets one setting.
    Lines,
}

/// What a part of the settings holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    /// The values.
    pub value: Value,
    /// Every path that is there, with the line in which its value begins, where there are lines.
    pub places: BTreeMap<KeyPath, Option<usize>>,
}

/// Why a text holds no settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

impl Tree {
    /// Returns a tree that has no lines.
    pub fn unplaced(value: Value) -> Self {
        let mut places = BTreeMap::new();
        place_all(&value, &KeyPath::default(), &mut places);
        Self { value, places }
    }

    /// Returns the tree that a text spells.
    pub fn parse(text: &str, form: Form) -> Result<Self, Fault> {
        let mut reader = Reader {
            text,
            ends: text.match_indices('\n').map(|(at, _)| at).collect(),
            tree: Self {
                value: Value::Object(serde_json::Map::new()),
                places: BTreeMap::new(),
            },
        };
        match form {
            Form::Json if text.trim().is_empty() => {
                return Err(fault(1, "the file is empty; write {} at least"));
            }
            Form::Json => {
                serde_json::from_str::<Value>(text).map_err(|error| syntax(&error, 1))?;
                reader.object(text, &KeyPath::default())?;
            }
            Form::Lines => reader.lines()?,
        }
        Ok(reader.tree)
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

    /// Returns the longest path that is there and names `key`, which is spelt without quotes, or something around it.
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
pub(super) fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

struct Reader<'a> {
    text: &'a str,
    /// Where the lines end.
    ends: Vec<usize>,
    tree: Tree,
}

impl<'a> Reader<'a> {
    /// Returns the line in which a part of the text begins.
    fn line(&self, part: &str) -> usize {
        let offset = part.as_ptr().addr() - self.text.as_ptr().addr();
        self.ends.partition_point(|end| *end < offset) + 1
    }

    /// Reads objects one after the other.
    fn lines(&mut self) -> Result<(), Fault> {
        let values = serde_json::Deserializer::from_str(self.text).into_iter::<&'a RawValue>();
        for raw in values {
            let raw = raw.map_err(|error| syntax(&error, 1))?.get();
            let first = self.line(raw);
            let value: Value = serde_json::from_str(raw).map_err(|error| syntax(&error, first))?;
            if !value.is_object() {
                let reason = "must be a JSON object, such as {\"key\": \"compaction.enabled\", \"value\": true}";
                return Err(fault(first, reason));
            }
            let members = Members::parse(raw).map_err(|error| syntax(&error, first))?;
            let setting = match members.0.as_slice() {
                [(one, _), (other, _)] if (one == "key" && other == "value") => {
                    members.get("value")
                }
                [(one, _), (other, _)] if (one == "value" && other == "key") => {
                    members.get("value")
                }
                _ => None,
            };
            match (setting, value["key"].as_str()) {
                (Some(raw), Some(key)) => {
                    let Some(path) = KeyPath::parse(key) else {
                        let reason = format!(
                            "key {key:?}: a name with dots stands in double quotes as a whole"
                        );
                        return Err(fault(first, reason));
                    };
                    // What is around it stands in the same line.
                    for depth in 1..path.0.len() {
                        let around = KeyPath(path.0[..depth].to_vec());
                        self.tree.places.insert(around, Some(first));
                    }
                    let value = self.value(raw, &path)?;
                    merge(&mut self.tree.value, path.tree(value));
                }
                _ => self.object(raw, &KeyPath::default())?,
            }
        }
        Ok(())
    }

    /// Reads a whole tree; what it holds is merged into what is there.
    fn object(&mut self, raw: &'a str, path: &KeyPath) -> Result<(), Fault> {
        let raw = raw.trim();
        let value = self.value(raw, path)?;
        if !value.is_object() {
            return Err(fault(self.line(raw), "must be a JSON object"));
        }
        merge(&mut self.tree.value, value);
        Ok(())
    }

    /// Reads a value that was parsed before, so that it is JSON and not nested without bound.
    fn value(&mut self, raw: &'a str, path: &KeyPath) -> Result<Value, Fault> {
        let line = self.line(raw);
        self.tree.places.insert(path.clone(), Some(line));
        let failed = |error: serde_json::Error| syntax(&error, line);
        match raw.as_bytes().first() {
            Some(b'{') => {
                let members = Members::parse(raw).map_err(failed)?;
                let mut object = serde_json::Map::new();
                let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
                for (name, raw) in &members.0 {
                    let path = path.member(name);
                    let line = self.line(raw.get());
                    if let Some(first) = lines.insert(name, line) {
                        let lines = match first == line {
                            true => String::new(),
                            false => format!(", first in line {first}"),
                        };
                        let reason = format!("{path} stands there twice{lines}; keep one");
                        return Err(fault(line, reason));
                    }
                    let value = self.value(raw.get(), &path)?;
                    object.insert(name.to_string(), value);
                }
                Ok(Value::Object(object))
            }
            Some(b'[') => {
                let items: Vec<&'a RawValue> = serde_json::from_str(raw).map_err(failed)?;
                let items = items.into_iter().enumerate().map(|(index, raw)| {
                    let mut path = path.clone();
                    path.0.push(Step::Item(index));
                    self.value(raw.get(), &path)
                });
                items
                    .collect::<Result<Vec<Value>, Fault>>()
                    .map(Value::Array)
            }
            _ => serde_json::from_str(raw).map_err(failed),
        }
    }
}

fn fault(line: usize, reason: impl Into<String>) -> Fault {
    Fault {
        line,
        reason: reason.into(),
    }
}

/// Returns what a parser said of a text that begins in line `first`.
fn syntax(error: &serde_json::Error, first: usize) -> Fault {
    let text = error.to_string();
    let said = text.rfind(" at line ").map_or(&*text, |at| &text[..at]);
    let reason = format!("no JSON at column {}: {said}", error.column());
    fault(first + error.line().max(1) - 1, reason)
}
