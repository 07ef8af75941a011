//! Numbers that look random and are the same for the same seed.

use std::time::Duration;

/// A generator of numbers.
pub struct Rng(u64);

impl Rng {
    /// Returns the generator of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Returns a time of at most `most`.
    pub fn part_of(&mut self, most: Duration) -> Duration {
        let micros = most.as_micros() as u64;
        Duration::from_micros(self.below(micros + 1))
    }
}
