//! A JSON value kept as the text that was read.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A JSON value as it was written: number spelling, key order and escapes included.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Returns the value that `text` spells, or the error when it spells none.
    ///
    /// # Errors
    ///
    /// An error of `serde_json` when the text is not the JSON that is asked for.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.to_owned()).map(Self)
    }

    /// Returns the JSON text of `value`.
    ///
    /// # Errors
    ///
    /// An error of `serde_json` when the value cannot be serialized, such as a map with keys that are no strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Returns the text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Returns the text on one line: a value that was written over several would break the line of an entry.
    pub(crate) fn one_line(&self) -> String {
        self.get().replace(['\n', '\r'], " ")
    }

    /// Returns the value as a tree. Duplicate keys: the last one wins; a lone surrogate becomes U+FFFD.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(self.get())
            .or_else(|_| serde_json::from_slice(&super::repaired_bytes(self.get().as_bytes())))
            .unwrap_or(serde_json::Value::Null)
    }

    /// Returns the string member `key` of an object, or `None` when there is no such string.
    pub fn string_member(&self, key: &str) -> Option<Cow<'_, str>> {
        let raw = super::member(self.get(), key)?;
        let borrowed = serde_json::from_str(raw).map(Cow::Borrowed).ok();
        borrowed.or_else(|| super::string(raw).map(Cow::Owned))
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}
