//! JSON as sessions carry it: raw values kept byte for byte, JavaScript's spelling, lenient reading.

mod canonical;
mod entries;
mod lenient;
mod members;
mod raw;
mod records;

pub use canonical::{canonical, canonical_utf16_len};
pub use entries::entries;
pub use members::{Members, items, member, string};
pub use raw::RawJson;
pub use records::records;

pub(crate) use lenient::{
    Repaired, count, flag, is_json, parse_repairing, present, repaired_bytes, text,
};

/// Returns the length of `text` in UTF-16 code units, the unit that the pi family counts in.
pub fn utf16_len(text: &str) -> usize {
    // One unit a character, two for those beyond the basic plane: four-byte lead bytes.
    let bytes = text.as_bytes();
    let continuation = bytes.iter().filter(|byte| (**byte & 0xC0) == 0x80).count();
    let wide = bytes.iter().filter(|byte| **byte >= 0xF0).count();
    bytes.len() - continuation + wide
}

/// Returns the longest prefix of `text` of at most `units` UTF-16 code units that ends between characters.
pub fn utf16_prefix(text: &str, units: usize) -> &str {
    if text.len() <= units {
        return text;
    }
    let mut left = units;
    for (at, character) in text.char_indices() {
        let width = character.len_utf16();
        if width > left {
            return &text[..at];
        }
        left -= width;
    }
    text
}

/// Returns the longest suffix of `text` of at most `units` UTF-16 code units that begins between characters.
pub fn utf16_suffix(text: &str, units: usize) -> &str {
    if text.len() <= units {
        return text;
    }
    let mut left = units;
    for (at, character) in text.char_indices().rev() {
        let width = character.len_utf16();
        if width > left {
            return &text[at + character.len_utf8()..];
        }
        left -= width;
    }
    text
}

/// Returns `text` as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text)
        .unwrap_or_else(|_| unreachable!("every text can be written as JSON"))
}

#[cfg(test)]
mod tests;
