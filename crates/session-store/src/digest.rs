//! A digest of what is known of a file, so that a change before its end is noticed when it is read again.

/// The checksum of all bytes so far and, where asked for, of so many of the first ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Digest {
    hasher: crc32fast::Hasher,
    length: u64,
    mark: Option<u64>,
    at_mark: Option<u32>,
}

impl Digest {
    /// Returns a digest that keeps the checksum of the first `mark` bytes.
    pub(crate) fn marked(mark: u64) -> Self {
        Self {
            mark: Some(mark),
            at_mark: (mark == 0).then(|| crc32fast::Hasher::new().finalize()),
            ..Self::default()
        }
    }

    /// Adds bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let left = self.mark.map(|mark| mark.saturating_sub(self.length));
        let left = left.and_then(|left| usize::try_from(left).ok());
        match left.filter(|left| (1..=bytes.len()).contains(left)) {
            Some(left) => {
                self.hasher.update(&bytes[..left]);
                self.at_mark = Some(self.hasher.clone().finalize());
                self.hasher.update(&bytes[left..]);
            }
            None => self.hasher.update(bytes),
        }
        self.length += bytes.len() as u64;
    }

    /// Returns whether what `self` has marked is all that `known` has seen.
    pub(crate) fn extends(&self, known: &Self) -> bool {
        self.at_mark == Some(known.hasher.clone().finalize())
    }
}
