//! The members of a value as JavaScript's `Object.entries` lists them.

use super::{Members, canonical, repaired_bytes};
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
    let own = |members: Members<'_>| {
        let members = members.0.into_iter();
        members
            .map(|(key, value)| (key.into_owned(), value.get().to_owned()))
            .collect()
    };
    match Members::parse(&text) {
        Ok(members) => own(members),
        // A key holds a lone surrogate.
        Err(_) => std::str::from_utf8(&repaired_bytes(text.as_bytes()))
            .ok()
            .and_then(|mended| Members::parse(mended).ok().map(own))
            .unwrap_or_default(),
    }
}
