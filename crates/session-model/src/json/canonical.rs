//! The text that JavaScript's `JSON.stringify` would give for a value that was read with `JSON.parse`.
//!
//! Peers count and serialize tool arguments in that spelling, so token figures
//! and conversation texts agree only when numbers, escapes and the order of
//! integer-like keys do. The input is text that a JSON parser has accepted
//! before; the output is built in one pass. Raw values are not bounded in their
//! nesting, so below [`MAX_DEPTH`] the spelling of the input stays.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The deepest nesting that is serialized anew. No tool has arguments like that; a hostile file may.
const MAX_DEPTH: usize = 256;

/// Returns `raw` as `JSON.stringify(JSON.parse(raw))` spells it.
///
/// A lone surrogate stays the six characters `\udXXX`, as in JavaScript.
pub fn canonical(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut reader = Reader {
        bytes: raw.as_bytes(),
        raw,
        at: 0,
        depth: 0,
    };
    reader.value(&mut out);
    out
}

/// Returns the length of [`canonical`]'s text in UTF-16 code units.
pub fn canonical_utf16_len(raw: &str) -> usize {
    super::utf16_len(&canonical(raw))
}

struct Reader<'a> {
    bytes: &'a [u8],
    raw: &'a str,
    at: usize,
    /// How many objects and arrays are open around the cursor.
    depth: usize,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let hit = self.peek() == Some(byte);
        if hit {
            self.at += 1;
        }
        hit
    }

    fn value(&mut self, out: &mut String) {
        self.skip_space();
        match self.peek() {
            Some(b'{' | b'[') if self.depth == MAX_DEPTH => self.verbatim(out),
            Some(open @ (b'{' | b'[')) => {
                self.depth += 1;
                match open {
                    b'{' => self.object(out),
                    _ => self.array(out),
                }
                self.depth -= 1;
            }
            Some(b'"') => self.string(out),
            Some(b'-' | b'0'..=b'9') => self.number(out),
            _ => self.word(out),
        }
    }

    /// Copies the value at the cursor as it is; the parser that finds its end does not recurse.
    fn verbatim(&mut self, out: &mut String) {
        let rest = &self.raw[self.at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let text = match values.next() {
            Some(Ok(value)) => value.get(),
            _ => rest,
        };
        out.push_str(text);
        self.at += text.len();
    }

    fn array(&mut self, out: &mut String) {
        self.at += 1;
        out.push('[');
        let mut first = true;
        while !self.eat(b']') && self.at < self.bytes.len() {
            if !first {
                self.eat(b',');
                out.push(',');
            }
            first = false;
            let before = self.at;
            self.value(out);
            if self.at == before {
                break; // not JSON: stop rather than spin
            }
        }
        out.push(']');
    }

    fn object(&mut self, out: &mut String) {
        self.at += 1;
        // Key texts (quoted, canonical) and value texts, in the order of their first appearance.
        let mut members: Vec<(String, String)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut first = true;
        while !self.eat(b'}') && self.at < self.bytes.len() {
            if !first {
                self.eat(b',');
            }
            first = false;
            self.skip_space();
            let before = self.at;
            let mut key = String::new();
            if self.peek() == Some(b'"') {
                self.string(&mut key);
            }
            self.eat(b':');
            let mut value = String::new();
            self.value(&mut value);
            if self.at == before {
                break; // not JSON: stop rather than spin
            }
            match places.get(&key) {
                Some(place) => members[*place].1 = value,
                None => {
                    places.insert(key.clone(), members.len());
                    members.push((key, value));
                }
            }
        }
        // JavaScript lists array-index keys first, ascending.
        members.sort_by_key(|(key, _)| array_index(key).map_or(u64::MAX, u64::from));
        out.push('{');
        for (position, (key, value)) in members.iter().enumerate() {
            if position > 0 {
                out.push(',');
            }
            out.push_str(key);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
    }

    fn word(&mut self, out: &mut String) {
        let start = self.at;
        while matches!(self.peek(), Some(b'a'..=b'z')) {
            self.at += 1;
        }
        out.push_str(&self.raw[start..self.at]);
    }

    fn number(&mut self, out: &mut String) {
        let start = self.at;
        while matches!(
            self.peek(),
            Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
        ) {
            self.at += 1;
        }
        let text = &self.raw[start..self.at];
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                // `JSON.stringify(-0)` is `0`.
                let number = if number == 0.0 { 0.0 } else { number };
                out.push_str(ryu_js::Buffer::new().format_finite(number));
            }
            _ => out.push_str("null"),
        }
    }

    /// Copies the string at the cursor, quotes included, in JavaScript's spelling.
    fn string(&mut self, out: &mut String) {
        out.push('"');
        self.at += 1;
        let mut plain = self.at;
        loop {
            match self.peek() {
                None => {
                    out.push_str(&self.raw[plain..self.at]);
                    break;
                }
                Some(b'"') => {
                    out.push_str(&self.raw[plain..self.at]);
                    self.at += 1;
                    break;
                }
                Some(b'\\') => {
                    out.push_str(&self.raw[plain..self.at]);
                    self.escape(out);
                    plain = self.at;
                }
                Some(_) => self.at += 1,
            }
        }
        out.push('"');
    }

    fn escape(&mut self, out: &mut String) {
        let kind = self.bytes.get(self.at + 1).copied();
        if kind != Some(b'u') {
            match kind {
                Some(b'/') => out.push('/'),
                Some(byte @ (b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't')) => {
                    out.push('\\');
                    out.push(char::from(byte));
                }
                _ => {
                    self.at += 1; // not JSON: the backslash alone is dropped
                    return;
                }
            }
            self.at += 2;
            return;
        }
        let Some(unit) = self.hex4(self.at + 2) else {
            self.at += 2;
            return;
        };
        self.at += 6;
        let follows = self.raw.as_bytes()[self.at..].starts_with(b"\\u");
        if (0xD800..0xDC00).contains(&unit)
            && follows
            && let Some(low) = self.hex4(self.at + 2)
            && (0xDC00..0xE000).contains(&low)
        {
            let code = 0x10000 + ((u32::from(unit) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
            self.at += 6;
            out.extend(char::from_u32(code));
            return;
        }
        match unit {
            0x08 => out.push_str("\\b"),
            0x09 => out.push_str("\\t"),
            0x0A => out.push_str("\\n"),
            0x0C => out.push_str("\\f"),
            0x0D => out.push_str("\\r"),
            0x22 => out.push_str("\\\""),
            0x5C => out.push_str("\\\\"),
            0x00..0x20 | 0xD800..=0xDFFF => {
                use std::fmt::Write as _;
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
            _ => out.extend(char::from_u32(u32::from(unit))),
        }
    }

    fn hex4(&self, at: usize) -> Option<u16> {
        let digits = self.raw.get(at..at + 4)?;
        u16::from_str_radix(digits, 16).ok()
    }
}

/// Returns the array index that a quoted key spells, as JavaScript's property order knows it.
fn array_index(quoted: &str) -> Option<u32> {
    let key = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let leading_zero = key.len() > 1 && key.starts_with('0');
    if key.is_empty() || leading_zero || !key.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    key.parse().ok().filter(|index| *index != u32::MAX)
}
