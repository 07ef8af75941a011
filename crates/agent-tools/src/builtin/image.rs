//! Images: recognized by their first bytes, and encoded in base64.

use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};

/// The number of bytes that identify an image.
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

/// Base64 as tools and servers write it; the unused bits of the last digit may be set.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Returns the bytes in base64, padded.
pub(super) fn base64(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// Returns the type and the size in bytes of an image in base64, or `None` for anything else.
pub fn of_base64(text: &str) -> Option<(&'static str, u64)> {
    let bytes = ENGINE.decode(text).ok()?;
    Some((mime_type(&bytes)?, bytes.len() as u64))
}
