//! What an image costs: by its size in pixels, which stands in its first bytes.

use crate::ImageBlock;

use crate::tokens::{IMAGE_TOKENS, TokenCount};

/// Returns what an image costs. A model is not known here, so it is the dearer of two rules that providers state:
/// pixels by 750 after scaling to a long side of 1568, at most 1600 (Anthropic); and 85 plus 170 for each tile of 512
/// pixels after scaling into 2048 by 2048 with a short side of 768 (OpenAI). An image whose size cannot be read
/// counts [`IMAGE_TOKENS`].
pub fn image_tokens(image: &ImageBlock) -> TokenCount {
    TokenCount(match pixel_size(&image.data) {
        Some((width, height)) => by_pixels(width, height).max(by_tiles(width, height)),
        None => IMAGE_TOKENS,
    })
}

fn by_pixels(width: u64, height: u64) -> u64 {
    let (width, height) = scaled_down(width, height, width.max(height), 1568);
    (width * height).div_ceil(750).min(1600)
}

fn by_tiles(width: u64, height: u64) -> u64 {
    let (width, height) = scaled_down(width, height, width.max(height), 2048);
    let (width, height) = scaled_down(width, height, width.min(height), 768);
    85 + 170 * width.div_ceil(512) * height.div_ceil(512)
}

/// Returns the sides after scaling `side` down to `most`.
fn scaled_down(width: u64, height: u64, side: u64, most: u64) -> (u64, u64) {
    if side <= most {
        return (width, height);
    }
    let scaled = |length: u64| (length * most / side).max(1);
    (scaled(width), scaled(height))
}

/// The longest side that a provider takes, in pixels.
const LONGEST_SIDE: u64 = 8000;

/// The longest image in base64 that a provider takes, in bytes.
const LONGEST: usize = 5 * 1024 * 1024;

impl ImageBlock {
    /// Returns why providers refuse the image; `None` where nothing of it says so. The pixels are not decoded.
    pub fn flaw(&self) -> Option<String> {
        let length = self.data.len();
        if length > LONGEST {
            return Some(format!(
                "it has {length} bytes in base64 and providers take at most {LONGEST}; make a smaller copy"
            ));
        }
        match pixel_size(&self.data).filter(|_| is_whole(&Base64(self.data.as_bytes()))) {
            None => Some("it is damaged; make a new copy".to_owned()),
            Some((width, height)) if width.max(height) > LONGEST_SIDE => Some(format!(
                "it has {width} x {height} pixels and providers take at most {LONGEST_SIDE} on a side; make a smaller copy"
            )),
            Some(_) => None,
        }
    }
}

/// Returns whether the end of a PNG or a WebP is there.
fn is_whole(bytes: &Base64<'_>) -> bool {
    let whole = || match bytes.array::<4>(0)? {
        [0x89, ..] => {
            let mut at = 8;
            while bytes.array(at + 4)? != *b"IEND" {
                at += 12 + usize::try_from(bytes.big(at, 4)?).ok()?;
            }
            Some(())
        }
        [b'R', ..] => {
            let length = usize::try_from(bytes.little(4, 4)?).ok()?;
            bytes.byte(length + 7).map(drop)
        }
        _ => Some(()),
    };
    whole().is_some()
}

/// Returns width and height of an image in base64: PNG, JPEG, GIF or WebP.
pub(crate) fn pixel_size(data: &str) -> Option<(u64, u64)> {
    let bytes = Base64(data.as_bytes());
    let size = match bytes.array::<4>(0)? {
        [0x89, b'P', b'N', b'G'] if bytes.array(12)? == *b"IHDR" => {
            (bytes.big(16, 4)?, bytes.big(20, 4)?)
        }
        [b'G', b'I', b'F', b'8'] => (bytes.little(6, 2)?, bytes.little(8, 2)?),
        [b'R', b'I', b'F', b'F'] => webp_size(&bytes)?,
        [0xff, 0xd8, 0xff, _] => jpeg_size(&bytes)?,
        _ => return None,
    };
    (size.0 > 0 && size.1 > 0).then_some(size)
}

fn webp_size(bytes: &Base64<'_>) -> Option<(u64, u64)> {
    if bytes.array(8)? != *b"WEBP" {
        return None;
    }
    match &bytes.array::<4>(12)? {
        b"VP8X" => Some((bytes.little(24, 3)? + 1, bytes.little(27, 3)? + 1)),
        b"VP8L" => {
            let bits = bytes.little(21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => Some((bytes.little(26, 2)? & 0x3fff, bytes.little(28, 2)? & 0x3fff)),
        _ => None,
    }
}

/// How many segments of a JPEG are looked through for its size.
const SEGMENTS: usize = 512;

fn jpeg_size(bytes: &Base64<'_>) -> Option<(u64, u64)> {
    let mut at = 2;
    for _ in 0..SEGMENTS {
        let [lead, marker] = bytes.array(at)?;
        if lead != 0xff {
            return None;
        }
        match marker {
            0xff => at += 1, // padding
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((bytes.big(at + 7, 2)?, bytes.big(at + 5, 2)?));
            }
            0x01 | 0xd0..=0xd8 => at += 2, // markers without a body
            _ => at += 2 + usize::try_from(bytes.big(at + 2, 2)?).ok()?,
        }
    }
    None
}

/// Bytes in base64, decoded on demand.
struct Base64<'a>(&'a [u8]);

impl Base64<'_> {
    fn byte(&self, place: usize) -> Option<u8> {
        let first = place / 3 * 4;
        let digit = |offset: usize| self.0.get(first + offset).and_then(|digit| value(*digit));
        let (one, two) = match place % 3 {
            0 => (digit(0)? << 2, digit(1)? >> 4),
            1 => (digit(1)? << 4, digit(2)? >> 2),
            _ => (digit(2)? << 6, digit(3)?),
        };
        Some(one | two)
    }

    fn array<const N: usize>(&self, place: usize) -> Option<[u8; N]> {
        let mut array = [0; N];
        for (offset, byte) in array.iter_mut().enumerate() {
            *byte = self.byte(place + offset)?;
        }
        Some(array)
    }

    fn big(&self, place: usize, count: usize) -> Option<u64> {
        (place..place + count).try_fold(0, |number, at| {
            Some(number << 8 | u64::from(self.byte(at)?))
        })
    }

    fn little(&self, place: usize, count: usize) -> Option<u64> {
        (place..place + count).rev().try_fold(0, |number, at| {
            Some(number << 8 | u64::from(self.byte(at)?))
        })
    }
}

/// Returns what a digit of base64 stands for.
fn value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{by_pixels, by_tiles, pixel_size};

    /// Spells bytes in base64, zeros at the end.
    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(3), 0);
        let groups = padded.chunks(3).flat_map(|group| {
            let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
            [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift & 63) as usize]))
        });
        groups.collect()
    }

    #[test]
    fn sizes_are_read_from_the_first_bytes() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x07\x80\0\0\x04\x38\x08\x06\0\0\0".as_slice();
        let gif = b"GIF89a\x40\x01\xf0\0\0\0\0".as_slice();
        let extended = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0".as_slice();
        // 640 by 480: 639 in 14 bits, then 479.
        let bits = (479_u32 << 14 | 639).to_le_bytes();
        let lossless = [b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f".as_slice(), &bits].concat();
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01".as_slice();
        let jpeg = [
            b"\xff\xd8\xff\xe1\x10\x02".as_slice(),
            &[0; 0x1000],
            b"\xff\xff\xc2\0\x11\x08\x01\xe0\x02\x80\x03",
        ]
        .concat();
        for (bytes, size) in [
            (png, (1920, 1080)),
            (gif, (320, 240)),
            (extended, (640, 480)),
            (&lossless, (640, 480)),
            (lossy, (640, 480)),
            (&jpeg, (640, 480)),
        ] {
            assert_eq!(pixel_size(&base64(bytes)), Some(size));
            assert_eq!(pixel_size(&base64(&bytes[..5])), None);
        }
        for odd in ["", "AAAA", "not base64 at all!", "iVBOR", "/9j/"] {
            assert_eq!(pixel_size(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_rules_of_providers_are_followed() {
        assert_eq!(by_pixels(1000, 750), 1000);
        assert_eq!(by_pixels(6000, 6000), 1600);
        assert_eq!(by_pixels(u64::from(u32::MAX), 1), 3);
        assert_eq!(by_tiles(512, 512), 255);
        assert_eq!(by_tiles(1024, 1024), 765);
        assert_eq!(by_tiles(2048, 4096), 1105);
    }
}
