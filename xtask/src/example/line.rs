//! A JSON object writer that keeps the order of its fields, as session files show `type` and `id` first.

use std::fmt::Display;

/// A JSON object under construction.
pub struct Obj(String);

impl Obj {
    /// An empty object.
    pub fn new() -> Self {
        Obj(String::from("{"))
    }

    /// Adds a field whose value is JSON already (or a number or bool).
    pub fn raw(mut self, key: &str, value: impl Display) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&format!("\"{key}\":{value}"));
        self
    }

    /// Adds a string field.
    pub fn str(self, key: &str, value: &str) -> Self {
        let value = quoted(value);
        self.raw(key, value)
    }

    /// Adds an array of values that are JSON already.
    pub fn list(self, key: &str, values: &[String]) -> Self {
        let value = format!("[{}]", values.join(","));
        self.raw(key, value)
    }

    /// The finished object.
    pub fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// A text block of message content.
pub fn text_block(text: &str) -> String {
    Obj::new().str("type", "text").str("text", text).end()
}

/// Strings as JSON.
pub fn texts(list: &[&String]) -> Vec<String> {
    list.iter().map(|s| quoted(s)).collect()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
