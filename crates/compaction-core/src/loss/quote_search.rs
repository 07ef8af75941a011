//! Whether quotes were said: all of them are looked up in one pass over what was said, however many there are.
//!
//! A piece of each quote goes into a table, and a window that glides over the texts asks the table. What is in it is
//! compared in full, and that is bounded for the whole run: behind the bound nothing is claimed.

use std::collections::BTreeMap;

/// How much is compared in all, in bytes.
const COMPARED: u64 = 64 * 1024 * 1024;

/// The lengths of the pieces, in bytes: the longest that a quote fills is taken.
const PIECES: [usize; 3] = [16, 4, 1];

/// What the hash of a window is made with.
const BASE: u64 = 0x0100_0000_01B3;

/// Whether a quote was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was.
    Found,
    /// It was not.
    Invented,
    /// Not all that was said was searched for it.
    NotSearched,
}

/// A quote.
#[derive(Debug)]
struct Claim {
    /// Its parts, without what an ellipsis leaves out.
    parts: Vec<String>,
    /// Where the text stands that said it first.
    first: Option<usize>,
    /// The text whose parts were compared last.
    tried: Option<usize>,
}

impl Claim {
    /// Returns the part that it is looked for by.
    fn longest(&self) -> &str {
        let longest = self.parts.iter().max_by_key(|part| part.len());
        longest.map_or("", String::as_str)
    }
}

/// Quotes that wait to be looked up, each by its number.
#[derive(Debug)]
pub(super) struct Claims {
    claims: Vec<Claim>,
    numbers: BTreeMap<Vec<String>, usize>,
    left: u64,
    /// The place of the text at which the search ended early.
    ended: Option<usize>,
}

impl Default for Claims {
    fn default() -> Self {
        Self::comparing(COMPARED)
    }
}

impl Claims {
    /// Returns none yet; at most so many bytes will be compared.
    pub(super) fn comparing(bytes: u64) -> Self {
        Self {
            claims: Vec::new(),
            numbers: BTreeMap::new(),
            left: bytes,
            ended: None,
        }
    }

    /// Adds a quote and returns its number.
    pub(super) fn add(&mut self, quote: &str) -> usize {
        let parts = parts_of(quote);
        let next = self.claims.len();
        let number = *self.numbers.entry(parts.clone()).or_insert(next);
        if number == next {
            self.claims.push(Claim {
                parts,
                first: None,
                tried: None,
            });
        }
        number
    }

    /// Looks everything up in texts, each with its place, the first place first. A place may come more than once.
    pub(super) fn look_up(&mut self, texts: impl Iterator<Item = (usize, String)>) {
        let mut open = self.claims.iter().filter(|claim| !claim.parts.is_empty());
        if open.next().is_none() {
            return;
        }
        let mut tables = PIECES.map(|length| Table::of(&self.claims, length));
        for (number, (place, text)) in texts.enumerate() {
            let text = plain(&text);
            for table in &mut tables {
                let ended = self.search(table, text.as_bytes(), place, number);
                if ended.is_none() {
                    self.ended = Some(place);
                    return;
                }
            }
            if tables.iter().all(|table| table.open == 0) {
                return;
            }
        }
    }

    /// Looks for what is in a table; `None` when too much was compared.
    fn search(
        &mut self,
        table: &mut Table,
        text: &[u8],
        place: usize,
        number: usize,
    ) -> Option<()> {
        if table.open == 0 || text.len() < table.length {
            return Some(());
        }
        let mut hash = hash_of(&text[..table.length]);
        let mut at = 0;
        loop {
            if table.may_have(hash)
                && let Some(waiting) = table.waiting.get_mut(&hash)
            {
                let before = waiting.len();
                let mut enough = true;
                waiting.retain(|claim| {
                    let said = enough.then(|| self.is_at(*claim, text, at, number));
                    match said {
                        Some(Some(true)) => self.claims[*claim].first = Some(place),
                        Some(Some(false)) | None => {}
                        Some(None) => enough = false,
                    }
                    said != Some(Some(true))
                });
                table.open -= before - waiting.len();
                enough.then_some(())?;
            }
            let Some(next) = text.get(at + table.length) else {
                return Some(());
            };
            let gone = u64::from(text[at]).wrapping_mul(table.oldest);
            hash = hash
                .wrapping_sub(gone)
                .wrapping_mul(BASE)
                .wrapping_add(u64::from(*next));
            at += 1;
        }
    }

    /// Returns whether a text says a quote whose piece is at a place of it; `None` when too much was compared.
    fn is_at(&mut self, claim: usize, text: &[u8], at: usize, number: usize) -> Option<bool> {
        let claim = &mut self.claims[claim];
        let part = claim.longest().as_bytes();
        self.left = self.left.checked_sub(part.len() as u64)?;
        if !text[at..].starts_with(part) {
            return Some(false);
        }
        if claim.parts.len() == 1 {
            return Some(true);
        }
        if claim.tried.replace(number) == Some(number) {
            return Some(false);
        }
        self.left = self.left.checked_sub(text.len() as u64)?;
        // Both are text, and what is cut off ends with a whole part of it.
        let Ok(mut rest) = std::str::from_utf8(text) else {
            return Some(false);
        };
        let in_order = claim.parts.iter().all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        });
        Some(in_order)
    }

    /// Returns whether a quote was said before a place.
    pub(super) fn verdict(&self, number: usize, before: usize) -> Verdict {
        let claim = &self.claims[number];
        match claim.first {
            _ if claim.parts.is_empty() => Verdict::Found,
            Some(first) if first < before => Verdict::Found,
            Some(_) => Verdict::Invented,
            None => match self.ended.is_some_and(|ended| ended < before) {
                true => Verdict::NotSearched,
                false => Verdict::Invented,
            },
        }
    }
}

/// The pieces of one length, by their hash.
struct Table {
    length: usize,
    /// The base, as often as a piece is long but once.
    oldest: u64,
    waiting: BTreeMap<u64, Vec<usize>>,
    /// A bit for each hash rules out most of what is missing.
    bits: Vec<u64>,
    /// How many quotes wait.
    open: usize,
}

impl Table {
    fn of(claims: &[Claim], length: usize) -> Self {
        let longer = PIECES.iter().copied().rfind(|longer| *longer > length);
        let mut waiting: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        let mut open = 0;
        for (number, claim) in claims.iter().enumerate() {
            let part = claim.longest().as_bytes();
            if part.len() < length || longer.is_some_and(|longer| part.len() >= longer) {
                continue;
            }
            let piece = hash_of(&part[..length]);
            waiting.entry(piece).or_default().push(number);
            open += 1;
        }
        let mut table = Self {
            length,
            oldest: (1..length).fold(1, |power, _| power.wrapping_mul(BASE)),
            bits: vec![0; (waiting.len() / 4).next_power_of_two()],
            waiting,
            open,
        };
        let hashes: Vec<u64> = table.waiting.keys().copied().collect();
        for hash in hashes {
            let (word, bit) = table.bit_of(hash);
            table.bits[word] |= bit;
        }
        table
    }

    fn may_have(&self, hash: u64) -> bool {
        let (word, bit) = self.bit_of(hash);
        self.bits[word] & bit != 0
    }

    fn bit_of(&self, hash: u64) -> (usize, u64) {
        let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let mask = self.bits.len() as u64 - 1;
        let word = usize::try_from(mixed >> 6 & mask).unwrap_or_default();
        (word, 1 << (mixed & 63))
    }
}

fn hash_of(piece: &[u8]) -> u64 {
    let add = |hash: u64, byte: &u8| hash.wrapping_mul(BASE).wrapping_add(u64::from(*byte));
    piece.iter().fold(0, add)
}

/// Returns which parts of a quote must occur verbatim: not what an ellipsis leaves out, the kind of quotation marks,
/// and a full stop at its end.
fn parts_of(quote: &str) -> Vec<String> {
    let quote = plain(quote);
    let parts = quote.split('…').map(str::trim);
    let parts = parts.map(|part| part.trim_end_matches(['.', ',', ';', ':', '!', '?']));
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn plain(text: &str) -> String {
    text.replace("...", "…")
        .replace("[…]", "…")
        .replace(['“', '”', '«', '»'], "\"")
        .replace(['‘', '’'], "'")
        .replace("&lt;", "<")
        .to_lowercase()
}
