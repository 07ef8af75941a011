//! Reading that forgives: numbers in any spelling, nulls, duplicate keys, lone surrogates, bytes that are no text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer, IgnoredAny, Visitor};
use serde_json::Value;

/// A value and whether it was readable only after repair (with what was wrong).
pub(crate) struct Repaired<T> {
    pub value: T,
    pub repair: Option<String>,
}

/// Returns the value that `bytes` spell. A first strict attempt; then lone
/// surrogates and bytes that are not UTF-8 become U+FFFD, of duplicate keys the
/// last one counts, and `coerce` may mend members of the wrong type.
pub(crate) fn parse_repairing<T: DeserializeOwned>(
    bytes: &[u8],
    coerce: impl FnOnce(&mut Value),
) -> Result<Repaired<T>, serde_json::Error> {
    let error = match serde_json::from_slice::<T>(bytes) {
        Ok(value) => {
            return Ok(Repaired {
                value,
                repair: None,
            });
        }
        Err(error) => error,
    };
    let Ok(mut tree) = serde_json::from_slice::<Value>(&repaired_bytes(bytes)) else {
        return Err(error);
    };
    coerce(&mut tree);
    // Through text again, because raw values cannot be taken from a tree.
    let value = serde_json::from_str::<T>(&tree.to_string())?;
    Ok(Repaired {
        value,
        repair: Some(reason(&error)),
    })
}

/// Returns true when `bytes` spell one JSON value, texts in it that need repair included.
pub(crate) fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

/// Returns what a strict parser said, without its position inside the line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// Returns `bytes` with every lone surrogate escape and every byte that is not UTF-8 replaced by U+FFFD.
pub(crate) fn repaired_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(bytes);
    match mended_surrogates(&text) {
        Some(mended) => Cow::Owned(mended.into_bytes()),
        None => match text {
            Cow::Borrowed(_) => Cow::Borrowed(bytes),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
    }
}

/// Returns `text` with `\ud83d` and its like, where unpaired, written as `\ufffd`; `None` when there is none.
fn mended_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        if bytes.get(at + 1) != Some(&b'u') {
            at = (at + 2).min(bytes.len());
            continue;
        }
        match (escape_unit(text, at), escape_unit(text, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at = (at + 12).min(bytes.len()),
            (Some(0xD800..=0xDFFF), _) => {
                let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
                out.push_str(&text[copied..at]);
                out.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            _ => at = (at + 2).min(bytes.len()),
        }
    }
    out.map(|mut out| {
        out.push_str(&text[copied..]);
        out
    })
}

/// Returns the code unit of the escape `\uXXXX` at byte `at`.
fn escape_unit(text: &str, at: usize) -> Option<u16> {
    let escape = text.get(at..at + 6)?;
    u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()
}

/// Deserializes a count that may be written as an integer, a float or null; anything else is an error.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    struct CountVisitor;
    impl Visitor<'_> for CountVisitor {
        type Value = Option<i64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number or null")
        }

        fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(i64::try_from(number).unwrap_or(i64::MAX)))
        }

        fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
            Ok(Some(number))
        }

        fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
            Ok(number.is_finite().then_some(number as i64))
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(CountVisitor)
}

/// Deserializes a string, or `None` for null; anything else is an error.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::<String>::deserialize(deserializer)
}

/// Deserializes a member that tells null from missing: `None` only when it is not there.
pub(crate) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

/// Deserializes a boolean the way JavaScript judges a value: null, false, 0 and "" are false, everything else is true.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    struct FlagVisitor;
    impl<'de> Visitor<'de> for FlagVisitor {
        type Value = bool;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a boolean")
        }

        fn visit_bool<E>(self, value: bool) -> Result<bool, E> {
            Ok(value)
        }

        fn visit_u64<E>(self, value: u64) -> Result<bool, E> {
            Ok(value != 0)
        }

        fn visit_i64<E>(self, value: i64) -> Result<bool, E> {
            Ok(value != 0)
        }

        fn visit_f64<E>(self, value: f64) -> Result<bool, E> {
            Ok(value != 0.0)
        }

        fn visit_str<E>(self, value: &str) -> Result<bool, E> {
            Ok(!value.is_empty())
        }

        fn visit_unit<E>(self) -> Result<bool, E> {
            Ok(false)
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(true)
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(true)
        }
    }
    deserializer.deserialize_any(FlagVisitor)
}
