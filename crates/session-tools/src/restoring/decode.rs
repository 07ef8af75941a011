//! Bytes as text: UTF-8, or UTF-16 that says so. All of them are looked at, not the first few.

use agent_tools::text::without_controls;

/// Returns the text, or `None` for what is none.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes)?,
        [0xef, 0xbb, 0xbf, rest @ ..] => std::str::from_utf8(rest).ok()?.to_owned(),
        _ => std::str::from_utf8(bytes).ok()?.to_owned(),
    };
    (!text.contains('\0')).then_some(text)
}

fn utf_16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| rest.is_empty())
}

/// Returns a text as the tool `read` shows it: lines end in a newline alone, and nothing steers a terminal.
pub(super) fn as_seen(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    without_controls(&text).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::{as_seen, text};

    fn units(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let marked = format!("\u{feff}{text}");
        marked.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn r12_utf_16_text_with_a_mark_is_text() {
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let said = "fn main() { \"größe 🦀\" }\n";
            assert_eq!(text(&units(said, bytes)).as_deref(), Some(said));
            // Half a unit, half a pair.
            let whole = units(said, bytes);
            assert_eq!(text(&whole[..whole.len() - 1]), None);
            let mut broken = whole.clone();
            broken.extend(bytes(0xd800));
            assert_eq!(text(&broken), None);
        }
        assert_eq!(text(b"\xef\xbb\xbfhi").as_deref(), Some("hi"));
        assert_eq!(text(b"\xff\xfe"), Some(String::new()));
    }

    #[test]
    fn r12_what_makes_a_file_binary_may_come_late() {
        for late in [&b"\0"[..], b"\xff", b"\xc3"] {
            let mut bytes = b"plain text\n".repeat(1000);
            assert!(text(&bytes).is_some());
            bytes.extend_from_slice(late);
            assert_eq!(text(&bytes), None, "{late:?}");
        }
        // UTF-32 begins like UTF-16.
        assert_eq!(text(b"\xff\xfe\0\0h\0\0\0"), None);
    }

    #[test]
    fn lines_end_as_read_shows_them() {
        assert_eq!(as_seen("a\r\nb\tc\n"), "a\nb\tc\n");
        assert_eq!(as_seen("a\u{1b}[2Jb\rc"), "a\u{fffd}[2Jb\u{fffd}c");
    }
}
