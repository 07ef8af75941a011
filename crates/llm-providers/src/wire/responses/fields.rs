//! Reading members of a JSON object one by one, whatever the others are.

use std::borrow::Cow;

use serde_json::value::RawValue;
use session_model::json::{Members, RawJson};

/// The members of an object. A member of another type than asked for counts as missing, as does `null`.
#[derive(Debug)]
pub(crate) struct Fields<'a>(Members<'a>);

impl<'a> Fields<'a> {
    /// Returns the members of the object that `text` spells, or `None` when it spells none.
    pub fn parse(text: &'a str) -> Option<Self> {
        Members::parse(text).ok().map(Self)
    }

    /// Returns the JSON text of member `key`.
    pub fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).filter(|raw| *raw != "null")
    }

    /// Returns true when member `key` is there, whatever its value.
    pub fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some()
    }

    /// Returns the string `key`.
    pub fn text(&self, key: &str) -> Option<String> {
        string(self.raw(key)?)
    }

    /// Returns the whole number `key`.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.raw(key)?.parse().ok()
    }

    /// Returns the object `key`.
    pub fn object(&self, key: &str) -> Option<Fields<'a>> {
        Fields::parse(self.raw(key)?)
    }

    /// Returns the JSON texts of the elements of the array `key`; nothing when there is no such array.
    pub fn list(&self, key: &str) -> Vec<&'a str> {
        let raw = self.raw(key).unwrap_or_default();
        let elements: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
        elements.into_iter().map(RawValue::get).collect()
    }

    /// Returns the `text` (or `refusal`) members of the objects in the array `key`; a plain string counts as one.
    pub fn texts(&self, key: &str) -> Vec<String> {
        if let Some(text) = self.text(key) {
            return vec![text];
        }
        let parts = self.list(key).into_iter().filter_map(Fields::parse);
        parts
            .filter_map(|part| part.text("text").or_else(|| part.text("refusal")))
            .collect()
    }

    /// Returns the object with the value of each member replaced by what `change` returns for its key and
    /// value, and without the members for which it returns `None`. Everything else stays as written.
    pub fn rewritten(
        &self,
        change: impl for<'v> Fn(&str, &'v str) -> Option<Cow<'v, str>>,
    ) -> Option<RawJson> {
        let mut text = String::from("{");
        for (key, value) in &self.0.0 {
            if let Some(value) = change(key, value.get()) {
                text.push_str(if text.len() > 1 { "," } else { "" });
                text.push_str(&serde_json::to_string(key).ok()?);
                text.push(':');
                text.push_str(&value);
            }
        }
        text.push('}');
        RawJson::parse(&text).ok()
    }
}

/// Returns the string that `raw` spells; a lone surrogate becomes U+FFFD.
fn string(raw: &str) -> Option<String> {
    if !raw.starts_with('"') {
        return None;
    }
    serde_json::from_str(raw).ok().or_else(|| {
        let value = RawJson::parse(raw).ok()?.to_value();
        value.as_str().map(str::to_owned)
    })
}
