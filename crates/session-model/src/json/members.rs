//! The members of a JSON object in their order, each value as raw text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{RawJson, quoted, repaired_bytes};
use crate::Timestamp;

/// The members of an object in the order they were written; duplicates are all there.
#[derive(Debug, Default)]
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Returns the members of the object that `text` contains, or `None` where it contains none.
    pub fn parse(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the raw text of the last member called `key`.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        let found = self.0.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, value)| value.get())
    }

    /// Returns the names and the raw texts of the members, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(name, raw)| (&**name, raw.get()))
    }

    /// Returns the raw text of a member that is not null. This and the methods below take a member of another type for
    /// a missing one.
    pub fn raw(&self, key: &str) -> Option<&'a str> {
        self.get(key).filter(|raw| *raw != "null")
    }

    /// Returns the string `key`.
    pub fn text(&self, key: &str) -> Option<String> {
        string(self.raw(key)?)
    }

    /// Returns the string `key` where it is not empty.
    pub fn filled(&self, key: &str) -> Option<String> {
        self.text(key).filter(|text| !text.is_empty())
    }

    /// Returns the object `key`.
    pub fn object(&self, key: &str) -> Option<Self> {
        Self::parse(self.raw(key)?)
    }

    /// Returns the raw texts of the items of the array `key`.
    pub fn items(&self, key: &str) -> Vec<&'a str> {
        self.raw(key).map(items).unwrap_or_default()
    }

    /// Returns the objects in the array `key`.
    pub fn objects(&self, key: &str) -> Vec<Self> {
        let raw = self.raw(key).unwrap_or_default();
        // All of them in one pass, where nothing else is in the list.
        serde_json::from_str(raw).unwrap_or_else(|_| {
            let items = self.items(key).into_iter();
            items.filter_map(Self::parse).collect()
        })
    }

    /// Returns the strings in the array `key`.
    pub fn texts(&self, key: &str) -> Vec<String> {
        self.items(key).into_iter().filter_map(string).collect()
    }

    /// Returns whether member `key` is `true`.
    pub fn flag(&self, key: &str) -> bool {
        self.raw(key) == Some("true")
    }

    /// Returns the count `key`, whatever form the number has.
    pub fn count(&self, key: &str) -> Option<u64> {
        number(self.raw(key)?)
    }

    /// Returns the time `key`, written as ISO 8601 or as milliseconds since 1970.
    pub fn time(&self, key: &str) -> Option<Timestamp> {
        let raw = self.raw(key)?;
        match string(raw) {
            Some(text) => Timestamp::parse(&text),
            None => i64::try_from(number(raw)?).ok().map(Timestamp::from_millis),
        }
    }

    /// Returns the object with the value of each member replaced by what `change` returns for its name and value, and
    /// without the members for which it returns `None`. Everything else stays as written.
    pub fn rewritten(
        &self,
        change: impl for<'v> Fn(&str, &'v str) -> Option<Cow<'v, str>>,
    ) -> Option<RawJson> {
        let members = self.iter().filter_map(|(name, raw)| {
            let value = change(name, raw)?;
            Some(format!("{}:{value}", quoted(name)))
        });
        let members: Vec<String> = members.collect();
        RawJson::parse(&format!("{{{}}}", members.join(","))).ok()
    }
}

/// Returns the string that `raw` is; a lone surrogate in it becomes U+FFFD.
pub fn string(raw: &str) -> Option<String> {
    if !raw.starts_with('"') {
        return None;
    }
    let repaired = || serde_json::from_slice(&repaired_bytes(raw.as_bytes())).ok();
    serde_json::from_str(raw).ok().or_else(repaired)
}

/// Returns the raw texts of the items of the array that `raw` is.
pub fn items(raw: &str) -> Vec<&str> {
    let items: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
    items.into_iter().map(RawValue::get).collect()
}

fn number(raw: &str) -> Option<u64> {
    let number: f64 = serde_json::from_str(raw).ok()?;
    // Counts are far below the point from which floats skip integers.
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// A key, borrowed where it holds no escape.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(Key(match std::str::from_utf8(bytes) {
                    Ok(text) => Cow::Borrowed(text),
                    Err(_) => Cow::Owned(without_surrogates(bytes)),
                }))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(without_surrogates(bytes))))
            }
        }
        // As bytes, because the parser refuses a lone surrogate in a text.
        deserializer.deserialize_bytes(KeyVisitor)
    }
}

/// Returns the text that `bytes` spell, each encoded surrogate in it replaced by U+FFFD.
fn without_surrogates(bytes: &[u8]) -> String {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(2) {
        // Surrogates are the only code points that begin with these two bytes; U+FFFD has as many.
        if bytes[at] == 0xED && bytes[at + 1] >= 0xA0 {
            bytes[at..at + 3].copy_from_slice("\u{FFFD}".as_bytes());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the raw text of member `key` of the object that `text` spells (the last one, as JavaScript does).
pub fn member<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    Members::parse(text)?.get(key)
}
