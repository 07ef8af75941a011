//! Ids of exported sessions: those of a session and a leaf are always the same.

use session_model::Timestamp;

/// Returns the 128-bit FNV-1a hash of texts.
fn hash(texts: &[&str]) -> u128 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// Returns a UUID (version 8) for texts.
pub(crate) fn uuid(texts: &[&str]) -> String {
    let digits = format!("{:032x}", hash(texts));
    let (a, b, c, d, e) = (
        &digits[..8],
        &digits[8..12],
        &digits[13..16],
        &digits[17..20],
        &digits[20..],
    );
    format!("{a}-{b}-8{c}-8{d}-{e}")
}

/// The bits of an id that are its time and counter.
const NUMBER: u64 = 0xffff_ffff_ffff;

/// Ids as opencode makes them: 48 bits of time and a counter, then letters.
pub(super) struct TimeIds {
    seed: String,
    last: u64,
}

impl TimeIds {
    pub fn new(seed: String) -> Self {
        Self { seed, last: 0 }
    }

    /// Returns an id with a prefix, which sorts behind all before it.
    pub fn next(&mut self, prefix: &str, at: Timestamp) -> String {
        let time = u64::try_from(at.as_millis()).unwrap_or(0);
        self.last = (self.last + 1).max((time.wrapping_mul(0x1000) & NUMBER) + 1);
        self.id(prefix, self.last)
    }

    /// Returns the id of the session, which sorts before all that began earlier.
    pub fn session(&self, at: Timestamp) -> String {
        let time = u64::try_from(at.as_millis()).unwrap_or(0);
        self.id("ses", !(time.wrapping_mul(0x1000) + 1))
    }

    fn id(&self, prefix: &str, number: u64) -> String {
        const LETTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let number = number & NUMBER;
        let mut rest = hash(&[&self.seed, prefix, &number.to_string()]);
        let mut letters = String::new();
        for _ in 0..14 {
            letters.push(char::from(LETTERS[(rest % 62) as usize]));
            rest /= 62;
        }
        format!("{prefix}_{number:012x}{letters}")
    }
}
