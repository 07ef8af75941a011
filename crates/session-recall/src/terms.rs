//! The words of a query, and where they stand in a text.

use memchr::memmem;

/// The most terms of a query that count, and the most bytes of each.
const MOST_TERMS: usize = 32;
const MOST_BYTES: usize = 200;

/// The most places of one term in one text that count.
const MOST_PLACES: usize = 1000;

/// Words that say little. They count only where a query has no others.
const COMMON: &str = "a an and are as at be but by can did do does for from had has have how i if in into is it its me \
     my no not of on or our so that the their then there these they this to us was we were what when where which who \
     why will with would you your der die das und ist ein eine le la les des et un une el los de y";

/// How well a place fits: the whole word, the beginning of a word or of a part of one, a path by its last part, or
/// anything inside a word.
const WHOLE: f64 = 1.0;
const START: f64 = 0.7;
const LAST_PART: f64 = 0.5;
const INSIDE: f64 = 0.25;
/// Inside a word a short term, or one with digits, stands by chance: in hashes.
const BY_CHANCE: f64 = 0.05;

/// What a name, path or number weighs compared with a word.
const NAME_BOOST: f64 = 1.5;

/// One term of a query, folded.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    pub text: String,
    /// The last part of a path or a qualified name, which counts half.
    pub last_part: Option<String>,
    /// How much it counts in addition to its rarity.
    pub boost: f64,
    /// It was quoted: what lacks it does not match.
    pub is_required: bool,
}

/// A place where a term stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    pub start: usize,
    pub end: usize,
    pub term: usize,
    pub strength: f64,
}

/// What a query asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Terms {
    pub terms: Vec<Term>,
    /// The whole query where it has several words: a text that has it verbatim comes first.
    pub phrase: Option<String>,
}

impl Terms {
    /// Returns the terms of a query: its words, what it quotes as one, and pairs of characters in scripts that write
    /// no blanks.
    pub fn of(query: &str) -> Self {
        let folded = fold(query);
        let words: Vec<&str> = folded.split_whitespace().map(trimmed).collect();
        let phrase = words.join(" ");
        let mut terms: Vec<Term> = Vec::new();
        let mut add = |text: &str, written: &str, is_required: bool| {
            let text = &text[..text.floor_char_boundary(MOST_BYTES)];
            let is_known = terms.iter().any(|term: &Term| term.text == text);
            if !text.is_empty() && !is_known && terms.len() < MOST_TERMS {
                terms.push(Term {
                    is_required,
                    ..Term::of(text, written)
                });
            }
        };
        let quotes = query.matches('"').count();
        for (number, quoted) in query.split('"').enumerate() {
            let folded = fold(quoted);
            // A quote that is not closed is none.
            if number % 2 == 1 && number < quotes {
                add(folded.trim(), quoted.trim(), true);
                continue;
            }
            for (written, word) in quoted.split_whitespace().zip(folded.split_whitespace()) {
                for part in parts(trimmed(word)) {
                    add(part, written, false);
                }
            }
        }
        let is_common = |term: &Term| COMMON.split_whitespace().any(|word| word == term.text);
        if !terms.iter().all(is_common) {
            terms.retain(|term| term.is_required || !is_common(term));
        }
        Self {
            phrase: (words.len() > 1 && terms.len() > 1).then_some(phrase),
            terms,
        }
    }

    /// Returns the places of all terms in a text, which is folded in `folded`, by their beginning.
    pub fn places(&self, text: &str, folded: &str) -> Vec<Place> {
        let mut places = Vec::new();
        for (term, wanted) in self.terms.iter().enumerate() {
            let found = occurrences(text, folded, &wanted.text, term);
            let whole = found.len();
            places.extend(found);
            let last = wanted.last_part.as_ref();
            if let Some(last) = last.filter(|_| whole == 0 && !wanted.is_required) {
                let found = occurrences(text, folded, last, term);
                places.extend(found.into_iter().map(|place| Place {
                    strength: place.strength * LAST_PART,
                    ..place
                }));
            }
        }
        places.sort_by_key(|place| (place.start, place.term));
        places
    }
}

impl Term {
    fn of(text: &str, written: &str) -> Self {
        let is_required = false;
        let separators = ['/', '\\', ':'];
        let last = text.rsplit(separators).next().unwrap_or_default();
        let has_parts = last.len() < text.len() && last.chars().count() >= 3;
        Self {
            last_part: has_parts.then(|| last.to_owned()),
            boost: match is_name(written) {
                true => NAME_BOOST,
                false => 1.0,
            },
            text: text.to_owned(),
            is_required,
        }
    }

    /// Returns what a text must contain to hold this term.
    pub fn least(&self) -> &str {
        self.last_part.as_deref().unwrap_or(&self.text)
    }
}

/// Returns whether a word is rather a name, a path, an error code or a number than prose.
fn is_name(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    let sign = inner.contains(['_', '/', '.', ':', '-', '#', ' ']);
    let hump = inner.chars().zip(inner.chars().skip(1));
    sign || inner.contains(|c: char| c.is_ascii_digit())
        || hump
            .into_iter()
            .any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

/// Returns a word without the punctuation around it; what belongs to paths, options and names stays.
fn trimmed(word: &str) -> &str {
    let word = word.trim_start_matches(|c: char| {
        !c.is_alphanumeric() && !matches!(c, '_' | '/' | '.' | '-' | '~' | '@' | '#')
    });
    word.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '/' | '+' | '#'))
}

/// Returns the parts of a word that are looked for: it itself, or pairs of characters where it is of a script that
/// writes no blanks.
fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let dense = is_dense(first);
        let end = rest.find(|c: char| is_dense(c) != dense);
        let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        if !dense {
            parts.push(trimmed(run));
            continue;
        }
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
        match starts.len() {
            1 => parts.push(run),
            count => parts.extend((0..count - 1).map(|at| {
                let end = starts.get(at + 2).copied().unwrap_or(run.len());
                &run[starts[at]..end]
            })),
        }
    }
    parts
}

/// Returns whether a character is of a script that writes no blanks between words.
fn is_dense(character: char) -> bool {
    matches!(
        character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}'
    )
}

/// Returns `text` in lower case, with each character where it was: one whose lower case has another length stays.
pub(super) fn fold(text: &str) -> String {
    let mut folded = text.to_ascii_lowercase();
    let mut at = 0;
    let beyond = |byte: &u8| !byte.is_ascii();
    loop {
        // Whole pieces are looked at faster than bytes.
        let pieces = text.as_bytes()[at..].chunks(64);
        at += 64 * pieces.take_while(|piece| piece.is_ascii()).count();
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        let Some(next) = rest.iter().position(beyond) else {
            break;
        };
        at += next;
        let Some(character) = text[at..].chars().next() else {
            break;
        };
        let end = at + character.len_utf8();
        let mut lower = character.to_lowercase();
        if let (Some(one), None) = (lower.next(), lower.next())
            && one != character
            && at + one.len_utf8() == end
        {
            folded.replace_range(at..end, one.encode_utf8(&mut [0; 4]));
        }
        at = end;
    }
    folded
}

fn occurrences(text: &str, folded: &str, wanted: &str, term: usize) -> Vec<Place> {
    let places = memmem::find_iter(folded.as_bytes(), wanted).take(MOST_PLACES);
    let found = places.map(|start| {
        let end = start + wanted.len();
        Place {
            start,
            end,
            term,
            strength: strength(text, start, end),
        }
    });
    found.collect()
}

fn is_word(character: char) -> bool {
    (character.is_alphanumeric() && !is_dense(character)) || character == '_'
}

/// Returns how well the word at a place fits.
fn strength(text: &str, start: usize, end: usize) -> f64 {
    let first = text[start..].chars().next().unwrap_or(' ');
    let last = text[..end].chars().next_back().unwrap_or(' ');
    let before = text[..start].chars().next_back().filter(|_| is_word(first));
    let after = text[end..].chars().next().filter(|_| is_word(last));
    let opens = before.is_none_or(|before| !is_word(before));
    let closes = after.is_none_or(|after| !is_word(after));
    // A part of a name begins after an underscore and at a hump.
    let opens_part = before
        .is_none_or(|before| before == '_' || (before.is_lowercase() && first.is_uppercase()));
    match (opens, closes) {
        (true, true) => WHOLE,
        (true, false) => START,
        _ if opens_part => START,
        _ => {
            let inside = &text[start..end];
            let by_chance = inside.len() < 5 || inside.contains(|c: char| c.is_ascii_digit());
            if by_chance { BY_CHANCE } else { INSIDE }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BY_CHANCE, INSIDE, LAST_PART, START, Terms, WHOLE, fold, is_name};

    fn texts(query: &str) -> Vec<String> {
        let terms = Terms::of(query).terms;
        terms.into_iter().map(|term| term.text).collect()
    }

    /// The best place of the only term of `query` in `text`.
    fn best(text: &str, query: &str) -> f64 {
        let terms = Terms::of(query);
        assert_eq!(terms.terms.len(), 1, "{query}");
        let places = terms.places(text, &fold(text));
        places
            .iter()
            .map(|place| place.strength)
            .fold(0.0, f64::max)
    }

    #[test]
    fn words_of_a_query_lose_punctuation_repeats_and_common_words() {
        assert_eq!(
            texts("Why, why was `src/parse.rs` (parse_file) changed?"),
            ["src/parse.rs", "parse_file", "changed"]
        );
        assert_eq!(
            texts("--limit .gitignore c++"),
            ["--limit", ".gitignore", "c++"]
        );
        // Where there is nothing else, common words count.
        assert_eq!(texts("the who"), ["the", "who"]);
        assert_eq!(texts("\"no such file\" open"), ["no such file", "open"]);
        assert_eq!(texts(&"x".repeat(100_000)), ["x".repeat(200)]);
        assert_eq!(texts("?! \" \""), [""; 0]);
    }

    #[test]
    fn scripts_without_blanks_are_searched_by_pairs_of_characters() {
        assert_eq!(texts("修复缓存bug"), ["修复", "复缓", "缓存", "bug"]);
        assert_eq!(texts("字"), ["字"]);
        assert_eq!(best("请修复它", "修复"), WHOLE);
    }

    #[test]
    fn whole_words_are_stronger_than_beginnings_and_those_than_insides() {
        assert_eq!(best("run the e2e suite", "e2e"), WHOLE);
        assert_eq!(best("commit 0ae2e9f1", "e2e"), BY_CHANCE);
        assert_eq!(best("parser", "parse"), START);
        assert_eq!(best("reparse_file", "file"), START);
        assert_eq!(best("readFile", "file"), START);
        assert_eq!(best("reparse", "parse"), INSIDE);
        assert_eq!(best("in lib/parse.rs", "src/parse.rs"), LAST_PART);
        assert_eq!(best("in src/parse.rs", "src/parse.rs"), WHOLE);
    }

    #[test]
    fn names_are_told_from_words() {
        for name in [
            "parse_file",
            "a.rs",
            "E0277",
            "readFile",
            "std::io",
            "--limit-x",
        ] {
            assert!(is_name(name), "{name}");
        }
        assert!(!is_name("changed") && !is_name("(why?)"));
    }

    #[test]
    fn folding_keeps_every_character_in_its_place() {
        for text in ["ABC", "Äé İstanbul ẞ", "日本"] {
            let folded = fold(text);
            let starts = |text: &str| text.char_indices().map(|(at, _)| at).collect::<Vec<_>>();
            assert_eq!(starts(&folded), starts(text), "{text}");
        }
        assert_eq!(fold("ÄÉ"), "äé");
    }
}
