//! Images: told by their first bytes, and spelled in base64.

/// How many bytes tell an image.
pub(super) const MAGIC: usize = 12;

/// Returns the type of the image that begins like this, or `None` for anything else.
pub(super) fn mime_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

/// Returns the bytes in base64, padded.
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(match place <= group.len() {
                true => char::from(digit),
                false => '=',
            });
        }
    }
    text
}

/// Returns the type and the size in bytes of an image in base64, or `None` for anything else.
pub(crate) fn of_base64(text: &str) -> Option<(&'static str, u64)> {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if padding > 2
        || !text.len().is_multiple_of(4)
        || !digits.bytes().all(|digit| value(digit).is_some())
    {
        return None;
    }
    let mut start = Vec::new();
    for group in digits.as_bytes().chunks(4).take(MAGIC.div_ceil(3)) {
        let bits = group
            .iter()
            .try_fold(0, |bits, digit| Some(bits << 6 | value(*digit)?))?;
        let bits = bits << (6 * (4 - group.len()));
        let bytes = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
        start.extend(&bytes[..group.len() - 1]);
    }
    let bytes = (text.len() / 4 * 3).saturating_sub(padding);
    Some((mime_type(&start)?, bytes as u64))
}

/// Returns what a digit of base64 stands for.
fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
