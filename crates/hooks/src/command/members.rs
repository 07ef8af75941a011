//! The members of an object that a hook wrote: each read by name, and none left over.

use serde_json::{Map, Value};

use super::run::reason;
use crate::hook::HookError;

/// The members of an object that were not read yet. A snake_case name is read as its camelCase form, because hooks of
/// other agents use it; a member that is null counts as missing.
pub(super) struct Members {
    /// The path of the object, with a dot at the end; empty for the outermost one.
    place: String,
    left: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Members {
    /// Returns the members of a value, which must be an object.
    pub(super) fn of(place: &str, value: Value) -> Result<Self, HookError> {
        let what = match place {
            "" => "standard output",
            place => place,
        };
        match value {
            Value::Object(left) => Ok(Self {
                place: match place {
                    "" => String::new(),
                    place => format!("{place}."),
                },
                left,
                known: Vec::new(),
            }),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(HookError(format!(
                "{what} is {}; it must be a JSON object",
                kind(&value)
            ))),
        }
    }

    /// Forgets what was not read.
    pub(super) fn clear(&mut self) {
        self.left.clear();
    }

    fn take(&mut self, name: &'static str) -> Result<Option<Value>, HookError> {
        self.known.push(name);
        let other = camel_case(name);
        let own = self.left.remove(name);
        let alias = match other == name {
            true => None,
            false => self.left.remove(&other),
        };
        match (own, alias) {
            (Some(_), Some(_)) => Err(HookError(format!(
                "{}{name} is there twice, also as {other}; write it once",
                self.place
            ))),
            (own, alias) => Ok(own.or(alias).filter(|value| !value.is_null())),
        }
    }

    fn wrong(&self, name: &str, value: &Value, wanted: &str) -> HookError {
        HookError(format!(
            "{}{name} is {}; it must be {wanted}",
            self.place,
            kind(value)
        ))
    }

    /// Returns a text.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, HookError> {
        match self.take(name)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, &other, "a text")),
        }
    }

    /// Returns a required text that must not be empty.
    pub(super) fn needed_text(&mut self, name: &'static str) -> Result<String, HookError> {
        match self.text(name)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(HookError(format!("{}{name} is empty", self.place))),
            None => Err(HookError(format!("{}{name} is missing", self.place))),
        }
    }

    /// Returns texts: one, or a list of them.
    pub(super) fn texts(&mut self, name: &'static str) -> Result<Vec<String>, HookError> {
        const WANTED: &str = "a text or a list of texts";
        match self.take(name)? {
            None => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(items)) => {
                let texts = items.into_iter().map(|item| match item {
                    Value::String(text) => Ok(text),
                    other => Err(HookError(format!(
                        "{}{name} holds {}; it must be {WANTED}",
                        self.place,
                        kind(&other)
                    ))),
                });
                texts.collect()
            }
            Some(other) => Err(self.wrong(name, &other, WANTED)),
        }
    }

    /// Returns true if a member is true; it is false unless it is there.
    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, HookError> {
        self.flag_or(name, false)
    }

    /// Returns true if a member is true, or `unless` if it is missing.
    pub(super) fn flag_or(&mut self, name: &'static str, unless: bool) -> Result<bool, HookError> {
        match self.take(name)? {
            None => Ok(unless),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(self.wrong(name, &other, "true or false")),
        }
    }

    /// Returns a whole number.
    pub(super) fn count(&mut self, name: &'static str) -> Result<Option<u64>, HookError> {
        let wanted = "a whole number, at least 0";
        match self.take(name)? {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(count) => Ok(Some(count)),
                None => Err(self.wrong(name, &value, wanted)),
            },
        }
    }

    /// Returns an object as it is.
    pub(super) fn object(
        &mut self,
        name: &'static str,
    ) -> Result<Option<Map<String, Value>>, HookError> {
        match self.take(name)? {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(other) => Err(self.wrong(name, &other, "an object")),
        }
    }

    /// Returns an object whose members are read by name.
    pub(super) fn members(&mut self, name: &'static str) -> Result<Option<Self>, HookError> {
        match self.object(name)? {
            None => Ok(None),
            Some(object) => {
                let place = format!("{}{name}", self.place);
                Self::of(&place, Value::Object(object)).map(Some)
            }
        }
    }

    /// Fails on unknown members.
    pub(super) fn finish(self) -> Result<(), HookError> {
        let Some(first) = self.left.keys().next() else {
            return Ok(());
        };
        let first = format!("{}{}", self.place, reason(first).unwrap_or_default());
        Err(HookError(match self.known.is_empty() {
            true => format!("there is no {first} here; nothing is expected back"),
            false => format!(
                "there is no {first} here; choose from {}",
                self.known.join(", ")
            ),
        }))
    }
}

/// Returns what a value is, in words.
fn kind(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Returns a name in camelCase: `short_summary` as `shortSummary`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |mut text, word| {
        let mut letters = word.chars();
        text.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        text.push_str(letters.as_str());
        text
    })
}
