//! A fast, dependency-free estimate of how many `o200k` tokens a text has.
//!
//! The exact count needs a byte-pair merge table of several megabytes. This module gets close
//! with two small tables and one pass:
//!
//! 1. A state machine (`STEPS`) cuts the text into the pieces that the `o200k` pre-tokenizer
//!    would cut: words with the blank or sign before them, camel-case humps, up to three digits,
//!    runs of signs with the newlines after them, runs of blanks, runs of newlines. No token
//!    crosses the border of a piece, so the estimate of a piece is at least one token.
//! 2. Each piece is weighed: a weight for its first symbol plus one for each pair of neighbouring
//!    symbols (`WEIGHTS`). Pairs common in words and code weigh little and rare ones much, which
//!    tells `information` (one token) from eleven random letters (about six).
//! 3. Characters outside ASCII share three symbols in that table, and each adds a weight of its
//!    script (`SCRIPTS`).
//!
//! The weights were fitted by least squares, per piece and per file, on about 2,500 files of source
//! code, logs, diffs, prose, coding sessions and some forty languages; half as many again were held
//! out. They say nothing about other tokenizer families: scale the result for those.
//!
//! The cuts deviate in rare cases: blank lines holding blanks, English contractions, digits and
//! upper case outside ASCII.

/// Weight of one token, in thousandths.
const TOKEN: i64 = 1000;

// Symbols: columns and rows of `WEIGHTS`. 0..=25 are letters of either case, 26..=57 ASCII signs.
const SPACE: u8 = 58;
const NEWLINE: u8 = 59;
/// Tabs and other control characters.
const CONTROL: u8 = 60;
/// Letters and marks of the Latin script outside ASCII.
const LATIN: u8 = 61;
/// Letters of all other scripts.
const LETTER: u8 = 62;
/// Everything else outside ASCII.
const SIGN: u8 = 63;

// Rows of `WEIGHTS` that are not symbols: a piece's first symbol, zeros, the symbol before.
const FIRST: u8 = 64;
const ZERO: u8 = 65;
const BEFORE: u8 = 255;

/// Weights of a first upper-case letter, of the next ones, and of a lower-case letter after one.
const UPPER: [i16; 3] = [310, 60, -160];

// Classes of characters: columns of `STEPS`.
const UPPER_CASE: u8 = 0;
const LOWER_CASE: u8 = 1;
const CASELESS: u8 = 2;
const DIGIT: u8 = 3;
const MARK: u8 = 4;
const SLASH: u8 = 5;
const BLANK: u8 = 6;
const TAB: u8 = 7;
const BREAK: u8 = 8;

/// Names of the states, by row of `STEPS`: start, one blank, more, one tab, more, newlines, one sign,
/// more, newlines after signs, upper case, lower case, caseless, and one, two or three digits.
const STATES: &[u8; 15] = b".bBtTnsSNUlc123";

/// What each class does in each state: the next state, then how the character joins. `=` goes on
/// with the open piece; the others open a new one: `|` with the weight of a first symbol, `:` with
/// the last blank of several before it, `0` with none (`-` likewise goes on with none), `+` as `|`
/// with a token for a blank of its own, `*` as `0` with two tokens for itself and such a blank.
const STEPS_TEXT: [&[u8; 26]; 15] = [
    b"U| l| c| 10 s| s| b0 t0 n|",
    b"U= l= c= 10 S= S= B= T= n=",
    b"U: l: c: 1* S: S: B= T= n=",
    b"U= l= c= 10 s| s| B= T= n=",
    b"U: l: c: 1* s+ s+ B= T= n=",
    b"U| l| c| 10 s| s| b0 t0 n=",
    b"U= l= c= 10 S= S= b0 t0 N=",
    b"U| l| c| 10 S= S= b0 t0 N=",
    b"U| l| c| 10 s| N= b0 t0 N=",
    b"U= l= c= 10 s| s| b0 t0 n|",
    b"U| l= l= 10 s| s| b0 t0 n|",
    b"U= l= c= 10 s| s| b0 t0 n|",
    b"U| l| c| 2- s| s| b0 t0 n|",
    b"U| l| c| 3- s| s| b0 t0 n|",
    b"U| l| c| 10 s| s| b0 t0 n|",
];

/// What one character does to the open piece.
#[derive(Clone, Copy)]
struct Step {
    /// Closes the open piece, so that the character is the first of a new one.
    cut: bool,
    /// Row of `WEIGHTS`, or `BEFORE`.
    row: u8,
    add: i16,
}

/// `NEXT` and `STEPS`: `STEPS_TEXT` by 16 times the state plus the class.
#[rustfmt::skip]
const TABLES: ([u8; 256], [Step; 256]) = {
    let mut nexts = [0; 256];
    let mut steps = [Step { cut: true, row: ZERO, add: 0 }; 256];
    let mut at = 0;
    while at < 15 * 9 {
        let (state, class) = (at / 9, at % 9);
        let (name, join) = (STEPS_TEXT[state][3 * class], STEPS_TEXT[state][3 * class + 1]);
        let mut next = 0;
        while STATES[next] != name {
            next += 1;
        }
        let after_upper = STATES[state] == b'U';
        let case = match class as u8 {
            UPPER_CASE => UPPER[after_upper as usize],
            LOWER_CASE if after_upper => UPPER[2],
            _ => 0,
        };
        let (cut, row, blanks) = match join {
            b'=' => (false, BEFORE, 0),
            b'-' => (false, ZERO, 0),
            b':' => (true, BEFORE, 0),
            b'|' => (true, FIRST, 0),
            b'+' => (true, FIRST, 1),
            b'*' => (true, ZERO, 2),
            _ => (true, ZERO, 0),
        };
        let add = case + blanks * TOKEN as i16;
        nexts[state * 16 + class] = 16 * next as u8;
        steps[state * 16 + class] = Step { cut, row, add };
        at += 1;
    }
    (nexts, steps)
};

/// The next states apart from the rest: each step waits for the state before it only.
static NEXT: [u8; 256] = TABLES.0;
static STEPS: [Step; 256] = TABLES.1;

/// Class and symbol of each ASCII character.
static ASCII: [(u8, u8); 128] = {
    let mut table = [(MARK, CONTROL); 128];
    let mut byte = 0u8;
    let mut sign = 26;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'A'..=b'Z' => (UPPER_CASE, byte - b'A'),
            b'a'..=b'z' => (LOWER_CASE, byte - b'a'),
            b'0'..=b'9' => (DIGIT, 0),
            b' ' => (BLANK, SPACE),
            b'\n' | b'\r' => (BREAK, NEWLINE),
            b'\t' | 0x0b | 0x0c => (TAB, CONTROL),
            b'!'..=b'~' => {
                sign += 1;
                (if byte == b'/' { SLASH } else { MARK }, sign - 1)
            }
            _ => (MARK, CONTROL),
        };
        byte += 1;
    }
    table
};

/// Returns the estimated number of tokens of `text` in thousandths (milli-tokens), so that sums
/// over parts round once.
///
/// Empty text has none and any other at least 1000. The time is linear in the length, and nothing
/// is allocated. Parts sum to the whole but for the pieces that a cut splits: at most about a token
/// for a cut between words.
///
/// ```
/// use session_model::tokens::milli_tokens;
///
/// assert_eq!(milli_tokens("12345678"), 3000);
/// assert_eq!(milli_tokens(""), 0);
/// ```
#[must_use]
pub fn milli_tokens(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    // The first step closes a piece that is none.
    let mut total = -TOKEN;
    let mut piece = 0i64;
    let mut state = 0u8;
    let mut before = 0u8;
    let mut before_char = '\0';
    for char in text.chars() {
        let (class, symbol, own, weighs) = if let Some(&(class, symbol)) = ASCII.get(char as usize)
        {
            (class, symbol, 0, true)
        } else {
            let (_, symbol, [first, next, again]) = script_of(char);
            let same = symbol == before;
            let repeated = same && symbol == SIGN && char == before_char;
            before_char = char;
            let class = if symbol == SIGN { MARK } else { CASELESS };
            let own = [first, next, again][usize::from(same) + usize::from(repeated)];
            (class, symbol, own, !repeated)
        };
        let step = STEPS[usize::from(state | class)];
        let row = if step.row == BEFORE { before } else { step.row };
        let weight = WEIGHTS[(row as usize) << 6 | symbol as usize];
        total += if step.cut { piece.max(TOKEN) } else { 0 };
        piece = if step.cut { 0 } else { piece };
        piece += i64::from(step.add) + i64::from(own) + if weighs { i64::from(weight) } else { 0 };
        state = NEXT[usize::from(state | class)];
        before = symbol;
    }
    (total + piece.max(TOKEN)).unsigned_abs()
}

/// First character, symbol, and the weights of a character after another symbol, after the same
/// symbol, and after the same sign. The first two add to that of the pair, the last replaces it.
type Script = (u32, u8, [i16; 3]);

fn script_of(char: char) -> Script {
    let after = SCRIPTS.partition_point(|script| script.0 <= char as u32);
    SCRIPTS[after.saturating_sub(1)]
}

/// Ranges by start; each reaches to the next one.
#[rustfmt::skip]
static SCRIPTS: [Script; 67] = [
    (0x0080, SIGN, [-10, 310, 470]), (0x00C0, LATIN, [520, 140, 140]), // Latin-1 signs, Latin-1 letters
    (0x00D7, SIGN, [-10, 310, 470]), (0x00D8, LATIN, [520, 140, 140]), // Latin-1 signs, Latin-1 letters
    (0x00F7, SIGN, [-10, 310, 470]), (0x00F8, LATIN, [520, 140, 140]), // Latin-1 signs, Latin-1 letters
    (0x0100, LATIN, [710, 290, 290]), (0x0250, LETTER, [1860, 1790, 1790]), // Latin extended, phonetic letters
    (0x0300, LATIN, [1900, 250, 250]), (0x0370, LETTER, [60, 170, 170]), // combining marks, Greek
    (0x0400, LETTER, [1520, 630, 630]), (0x0410, LETTER, [380, -20, 20]), // Cyrillic, not Russian, Cyrillic
    (0x0450, LETTER, [1520, 630, 630]), (0x0530, LETTER, [1020, 10, 20]), // Cyrillic, not Russian, Armenian
    (0x0590, LETTER, [110, 200, 200]), (0x0600, LETTER, [70, 110, 110]), // Hebrew, Arabic
    (0x0780, LETTER, [2720, 2540, 2540]), (0x0900, LETTER, [-50, 210, 210]), // unseen letters, Devanagari
    (0x0980, LETTER, [90, 180, 180]), (0x0A00, LETTER, [-70, 550, 550]), // Bengali, Gurmukhi
    (0x0A80, LETTER, [-150, 270, 270]), (0x0B00, LETTER, [1320, 820, 820]), // Gujarati, Oriya
    (0x0B80, LETTER, [890, 50, 50]), (0x0C00, LETTER, [700, 190, 190]), // Tamil, Telugu
    (0x0C80, LETTER, [700, 120, 120]), (0x0D00, LETTER, [890, 60, 60]), // Kannada, Malayalam
    (0x0D80, LETTER, [1360, 270, 270]), (0x0E00, LETTER, [780, 160, 160]), // Sinhala, Thai
    (0x0E80, LETTER, [1770, 1840, 1840]), (0x0F00, LETTER, [110, 1790, 1790]), // Lao, Tibetan
    (0x1000, LETTER, [3490, 50, 50]), (0x10A0, LETTER, [240, 100, 100]), // Myanmar, Georgian
    (0x1100, LETTER, [2720, 2540, 2540]), (0x1200, LETTER, [2000, 2540, 2540]), // unseen letters, Ethiopic
    (0x1780, LETTER, [650, 350, 350]), (0x1800, LETTER, [2720, 2540, 2540]), // Khmer, unseen letters
    (0x1E00, LATIN, [580, 10, 20]), (0x1F00, LETTER, [60, 170, 170]), // Latin additional (Vietnamese), Greek
    (0x2000, SIGN, [-130, 140, 500]), (0x2070, SIGN, [110, 1320, 1620]), // general punctuation, letterlike, arrows
    (0x2200, SIGN, [270, 1300, 2370]), (0x2500, SIGN, [440, 710, 110]), // mathematical, box drawing
    (0x2580, SIGN, [180, 170, 640]), (0x25A0, SIGN, [450, 910, 2100]), // blocks, shapes, dingbats
    (0x2800, SIGN, [2020, 2150, 1990]), (0x2900, SIGN, [270, 1300, 2370]), // Braille, mathematical
    (0x2C00, LETTER, [2720, 2540, 2540]), (0x3000, SIGN, [-80, -850, 460]), // unseen letters, CJK punctuation
    (0x3040, LETTER, [440, 420, 420]), (0x30A0, LETTER, [250, 430, 430]), // Hiragana, Katakana
    (0x3100, LETTER, [2720, 2540, 2540]), (0x3400, LETTER, [3490, 3190, 3190]), // unseen letters, rare Han
    (0x4E00, LETTER, [680, 510, 510]), (0xA000, LETTER, [2720, 2540, 2540]), // Han, unseen letters
    (0xAC00, LETTER, [720, 300, 300]), (0xD7B0, LETTER, [2720, 2540, 2540]), // Hangul, unseen letters
    (0xE000, SIGN, [2000, 2120, 1180]), (0xF900, LETTER, [3490, 3190, 3190]), // private use, specials, rare Han
    (0xFB00, LETTER, [2550, 2720, 2720]), (0xFE00, LATIN, [1130, 990, 990]), // Arabic forms, variation selectors
    (0xFE10, SIGN, [70, 1420, 1800]), (0xFF00, SIGN, [70, 1420, 1800]), // full-width forms
    (0xFFF0, SIGN, [2000, 2120, 1180]), (0x10000, LETTER, [2720, 2540, 2540]), // private use, specials, unseen letters
    (0x1F000, SIGN, [1270, 1180, 1910]), (0x20000, LETTER, [3490, 3190, 3190]), // emoji, rare Han
    (0xE0000, SIGN, [2000, 2120, 1180]), // private use, specials
];

static WEIGHTS: [i16; 66 * 64] = {
    let mut table = [0; 66 * 64];
    let mut at = 0;
    while at < 65 * 64 {
        let code = PAIRS[at / 64 * 65 + at % 64] as i16;
        // The backslash is left out of the 91 codes.
        let level = code - if code > b'\\' as i16 { 36 } else { 35 };
        table[at] = -400 + 16 * level;
        at += 1;
    }
    table
};

/// Weights of pairs: a line for each symbol, then one for the first symbol of a piece; a column for
/// each symbol. `#` to `~` stand for -0.4 to 1.04 tokens in steps of 0.016.
static PAIRS: &[u8; 65 * 65] = include_bytes!("pairs.txt");

#[cfg(test)]
mod tests {
    use super::milli_tokens;

    #[test]
    fn empty_text_has_none_and_any_other_at_least_one() {
        assert_eq!(milli_tokens(""), 0);
        for text in [
            "a",
            " ",
            "\n",
            "0",
            "{",
            "\u{0}",
            "é",
            "中",
            "🎉",
            "\u{10ffff}",
        ] {
            assert!(milli_tokens(text) >= 1000, "{text:?}");
        }
    }

    #[test]
    fn small_values_stay() {
        let code = ["fn main() {}", "let x = 12345;", "MAX_VALUE", "\n        }"];
        assert_eq!(code.map(milli_tokens), [4072, 7040, 2228, 3000]);
        let words = ["hello world", "Hello, wörld!", "中文分词", "🎉"];
        assert_eq!(words.map(milli_tokens), [2408, 5278, 3858, 1910]);
    }

    #[test]
    fn parts_sum_to_about_the_whole() {
        let text = "fn main() {\n    let größe = [1, 2, 3].len(); // 数える\n}\n";
        let whole = milli_tokens(text);
        for (at, _) in text.char_indices() {
            let parts = milli_tokens(&text[..at]) + milli_tokens(&text[at..]);
            assert!(
                parts.abs_diff(whole) <= 2500,
                "at {at}: {parts} against {whole}"
            );
        }
        let ten = milli_tokens(&text.repeat(10));
        assert!(
            ten.abs_diff(10 * whole) <= 5000,
            "{ten} against ten times {whole}"
        );
    }

    #[test]
    fn cjk_and_random_letters_are_heavier_than_a_quarter_of_their_chars() {
        for text in [
            "请先阅读这个文件,然后修改测试。",
            "テストを実行してください。",
            "먼저 이 파일을 읽어 주세요.",
        ] {
            let quarter = text.chars().count() as u64 * 250;
            assert!(milli_tokens(text) > 2 * quarter, "{text}");
        }
        // Nor does length alone tell words from random letters.
        assert!(milli_tokens("xqzvkwjpfgh") > 3 * milli_tokens("information"));
    }
}
