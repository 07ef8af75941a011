//! The members of a value as JavaScript's `Object.entries` lists them.

use super::{Members, canonical};
use serde_json::value::RawValue;

/// Returns the keys and the canonical texts of the values of an object (array indices first, of
/// repeated keys the last value), or of an array (its indices); nothing for any other value.
pub fn entries(raw: &str) -> Vec<(String, String)> {
    let text = canonical(raw);
    if text.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(&text).unwrap_or_default();
        let items = items.iter().enumerate();
        return items
            .map(|(index, value)| (index.to_string(), value.get().to_owned()))
            .collect();
    }
    let members = Members::parse(&text).unwrap_or_default().0.into_iter();
    members
        .map(|(key, value)| (key.into_owned(), value.get().to_owned()))
        .collect()
}
