//! A tolerant view of JSON: members are looked up in raw text, and one of a wrong type counts as missing.

use serde_json::value::RawValue;
use session_model::json::{Members, RawJson};
use session_model::{Timestamp, Usage};

/// An object whose members are raw texts.
#[derive(Debug, Default)]
pub(crate) struct Object<'a>(Members<'a>);

impl<'a> Object<'a> {
    pub fn parse(raw: &'a str) -> Option<Self> {
        Members::parse(raw).ok().map(Self)
    }

    /// Returns the raw text of a member that is not null.
    pub fn raw(&self, key: &str) -> Option<&'a str> {
        self.0.get(key).filter(|raw| *raw != "null")
    }

    /// Returns the raw texts of the members with their names, in their order.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.0.iter().map(|(name, raw)| (&**name, raw.get()))
    }

    pub fn text(&self, key: &str) -> Option<String> {
        text(self.raw(key)?)
    }

    /// Returns a text that is not empty.
    pub fn filled(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty())
    }

    pub fn object(&self, key: &str) -> Option<Object<'a>> {
        Self::parse(self.raw(key)?)
    }

    pub fn items(&self, key: &str) -> Vec<&'a str> {
        self.raw(key).map(items).unwrap_or_default()
    }

    pub fn objects(&self, key: &str) -> Vec<Object<'a>> {
        let raw = self.raw(key).unwrap_or_default();
        // All of them in one pass, where nothing else is in the list.
        if let Ok(objects) = serde_json::from_str::<Vec<Members<'a>>>(raw) {
            return objects.into_iter().map(Self).collect();
        }
        let items = self.items(key).into_iter();
        items.filter_map(Object::parse).collect()
    }

    pub fn texts(&self, key: &str) -> Vec<String> {
        self.items(key).into_iter().filter_map(text).collect()
    }

    pub fn flag(&self, key: &str) -> bool {
        self.raw(key) == Some("true")
    }

    pub fn count(&self, key: &str) -> Option<u64> {
        count(self.raw(key)?)
    }

    /// Returns a count that is zero where it is missing.
    pub fn tokens(&self, key: &str) -> u64 {
        self.count(key).unwrap_or(0)
    }

    /// Returns a time, written as ISO 8601 or as milliseconds since 1970.
    pub fn time(&self, key: &str) -> Option<Timestamp> {
        let raw = self.raw(key)?;
        match text(raw) {
            Some(text) => Timestamp::parse(&text),
            None => i64::try_from(count(raw)?).ok().map(Timestamp::from_millis),
        }
    }
}

fn count(raw: &str) -> Option<u64> {
    let number: f64 = serde_json::from_str(raw).ok()?;
    // Token counts are far below the point from which floats skip integers.
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

/// Returns the string that `raw` is; a lone surrogate in it becomes U+FFFD.
pub(crate) fn text(raw: &str) -> Option<String> {
    if !raw.starts_with('"') {
        return None;
    }
    serde_json::from_str(raw).ok().or_else(|| {
        let value = RawJson::parse(raw).ok()?.to_value();
        value.as_str().map(str::to_owned)
    })
}

/// Returns the items of the array that `raw` is.
pub(crate) fn items(raw: &str) -> Vec<&str> {
    let items: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
    items.into_iter().map(RawValue::get).collect()
}

/// Returns the raw value that a text spells, if it is an object.
pub(crate) fn raw_object(text: &str) -> Option<RawJson> {
    let is_object = text.trim_start().starts_with('{');
    RawJson::parse(text).ok().filter(|_| is_object)
}

/// Returns a value as raw JSON; what is serialized here always can be.
pub(crate) fn raw_of(value: &serde_json::Value) -> Option<RawJson> {
    RawJson::of(value).ok()
}

/// Returns usage where the prompt tokens of the source include those read from the cache.
pub(crate) fn inclusive_usage(prompt: u64, cached: u64, written: u64, output: u64) -> Usage {
    let input = prompt.saturating_sub(cached).saturating_sub(written);
    usage(input, output, cached, written)
}

/// Returns usage of parts that do not overlap.
pub(crate) fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
    let parts = [input, output, cache_read, cache_write];
    Usage {
        input,
        output,
        cache_read,
        cache_write,
        total_tokens: parts.into_iter().fold(0, u64::saturating_add),
        incomplete: false,
    }
}
