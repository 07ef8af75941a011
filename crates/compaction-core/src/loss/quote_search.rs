//! Checks if quotes were said: all of them are searched for in one pass over the conversation, however many there are.
//!
//! The beginning of the longest part of each quote goes into one automaton. Its findings are compared in full, with a
//! limit for the whole run: beyond the limit a quote counts as not searched.

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;

/// The limit of compared text in all, in bytes.
const COMPARED: u64 = 64 * 1024 * 1024;
/// The longest piece of a quote that is searched for, in bytes, and the number of quotes.
const PIECE: usize = 48;
const QUOTES: usize = 16 * 1024;

/// The result of the search for a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was.
    Found,
    /// It was not.
    Invented,
    /// Not all of the conversation was searched for it.
    NotSearched,
}

/// A quote.
#[derive(Debug)]
struct Claim {
    /// Its parts, without what was left out between them.
    parts: Vec<String>,
    /// The index of the text that contains it first.
    first: Option<usize>,
    /// The text whose parts were compared last.
    tried: Option<usize>,
}

impl Claim {
    /// Returns the part that is searched for.
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
        let open = self.claims.iter().take(QUOTES).enumerate();
        let open = open.filter(|(_, claim)| !claim.parts.is_empty());
        let (open, pieces): (Vec<usize>, Vec<&str>) = open
            .map(|(number, claim)| {
                let part = claim.longest();
                (number, &part[..part.floor_char_boundary(PIECE)])
            })
            .unzip();
        let Ok(pieces) = AhoCorasick::new(pieces) else {
            self.ended = Some(0);
            return;
        };
        let mut waiting = open.len();
        for (number, (place, text)) in texts.enumerate() {
            if waiting == 0 {
                return;
            }
            let text = plain(&text);
            for hit in pieces.find_overlapping_iter(&text) {
                let claim = open[hit.pattern().as_usize()];
                match self.is_at(claim, &text, hit.start(), number) {
                    Some(false) => {}
                    Some(true) => {
                        self.claims[claim].first = Some(place);
                        waiting -= 1;
                    }
                    None => {
                        self.ended = Some(place);
                        return;
                    }
                }
            }
        }
    }

    /// Returns true if a text contains a quote, for the first time, whose piece was found at `at`; `None` when the
    /// limit is reached.
    fn is_at(&mut self, claim: usize, text: &str, at: usize, number: usize) -> Option<bool> {
        let claim = &mut self.claims[claim];
        if claim.first.is_some() {
            self.left = self.left.checked_sub(1)?;
            return Some(false);
        }
        let part = claim.longest();
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
        let mut rest = text;
        let in_order = claim.parts.iter().all(|part| match rest.find(part) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        });
        Some(in_order)
    }

    /// Returns whether a quote was said before an index.
    pub(super) fn verdict(&self, number: usize, before: usize) -> Verdict {
        let claim = &self.claims[number];
        match claim.first {
            _ if claim.parts.is_empty() => Verdict::Found,
            Some(first) if first < before => Verdict::Found,
            Some(_) => Verdict::Invented,
            None if number >= QUOTES || self.ended.is_some_and(|ended| ended < before) => {
                Verdict::NotSearched
            }
            None => Verdict::Invented,
        }
    }
}

/// Returns the parts of a quote that must occur verbatim: without ellipses and marks of a cut, without the kind of
/// quotation marks, and without punctuation at its end.
fn parts_of(quote: &str) -> Vec<String> {
    let mut quote = plain(quote);
    // Our own marker of a cut: "[... 120 characters left out; entry e1 has all of it]".
    while let Some(start) = quote.find("[… ") {
        let Some(end) = quote[start..].find(']') else {
            break;
        };
        quote.replace_range(start..=start + end, "…");
    }
    let parts = quote.split('…').map(str::trim);
    let parts = parts.map(|part| part.trim_end_matches(['.', ',', ';', ':', '!', '?']));
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn plain(text: &str) -> String {
    // Most texts need none of the replacements.
    if text.is_ascii() && !text.contains("...") && !text.contains("&lt;") {
        return text.to_ascii_lowercase();
    }
    text.replace("...", "…")
        .replace("[…]", "…")
        .replace("(…)", "…")
        .replace(['“', '”', '«', '»'], "\"")
        .replace(['‘', '’'], "'")
        .replace("&lt;", "<")
        .to_lowercase()
}
