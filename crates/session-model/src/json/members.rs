//! The members of a JSON object in their order, each value as raw text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in the order they were written; duplicates are all there.
#[derive(Debug, Default)]
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Returns the members of the object that `text` spells.
    ///
    /// # Errors
    ///
    /// An error of `serde_json` when the text is not the JSON that is asked for.
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the raw text of the last member called `key`.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        let found = self.0.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, value)| value.get())
    }
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
    Members::parse(text).ok()?.get(key)
}
