//! The weights, and what they say of a sentence.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::LazyLock;

use super::{Act, Acts, Place, features};

/// A line for each feature: its spelling, a tab, and the weights of the acts that it speaks for or against, in hundredths:
/// `rule+142 later-30`. Those of `u:<any>` and `a:<any>` set how sure is sure enough.
const WEIGHTS: &str = include_str!("../../../data/acts.tsv");

type Weights = HashMap<u64, [i16; Act::ALL.len()], BuildHasherDefault<Hashed>>;

static MODEL: LazyLock<Weights> = LazyLock::new(|| {
    let mut model = Weights::default();
    for line in WEIGHTS.lines() {
        let Some((feature, weights)) = line.split_once('\t') else {
            continue;
        };
        let row = model.entry(key(&[feature])).or_default();
        for weight in weights.split(' ') {
            let at = weight.find(['+', '-']).unwrap_or(weight.len());
            let (name, number) = weight.split_at(at);
            let act = Act::ALL.iter().find(|(_, known)| *known == name);
            if let (Some((act, _)), Ok(number)) = (act, number.parse()) {
                row[*act as usize] = number;
            }
        }
    }
    model
});

/// Returns what a sentence does.
pub(super) fn acts(text: &str, place: Place<'_>) -> Acts {
    let mut sums = [0_i32; Act::ALL.len()];
    let mut seen = Vec::with_capacity(256);
    features(text, place, |parts| seen.push(key(parts)));
    seen.sort_unstable();
    seen.dedup();
    for row in seen.iter().filter_map(|key| MODEL.get(key)) {
        for (sum, weight) in sums.iter_mut().zip(row) {
            *sum += i32::from(*weight);
        }
    }
    Acts(sums)
}

/// Returns the key of a feature: FNV-1a over its spelling.
fn key(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Keys are hashes already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 << 8) | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Act;
    use super::WEIGHTS;

    #[test]
    fn every_weight_is_of_a_known_act() {
        for line in WEIGHTS.lines() {
            let (feature, weights) = line.split_once('\t').expect(line);
            assert!(!feature.is_empty(), "{line}");
            for weight in weights.split(' ') {
                let (name, number) = weight.split_at(weight.find(['+', '-']).expect(line));
                assert!(Act::ALL.iter().any(|(_, known)| *known == name), "{line}");
                assert!(number.parse::<i16>().is_ok(), "{line}");
            }
        }
    }
}
