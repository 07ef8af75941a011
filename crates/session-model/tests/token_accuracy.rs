//! Holds the token estimate against exact `o200k` counts.
#![cfg(feature = "bpe")]

use session_model::tokens::milli_tokens;

/// Name, text and the largest error allowed, in percent of the exact count.
type Sample = (&'static str, &'static str, u64);

macro_rules! samples {
    ($($name:literal: $percent:literal,)*) => {
        [$(($name, include_str!(concat!("data/tokens/", $name, ".txt")), $percent),)*]
    };
}

const CODE: [Sample; 6] = samples! {
    "rust": 10,
    "typescript": 10,
    "python": 10,
    "json": 10,
    "shell": 10,
    "diff": 10,
};

const TEXT: [Sample; 4] = samples! {
    "english": 15,
    "chinese": 20,
    "japanese": 20,
    "korean": 20,
};

const OTHERS: [Sample; 15] = samples! {
    "russian": 30,
    "ukrainian": 30,
    "greek": 30,
    "arabic": 30,
    "hebrew": 30,
    "hindi": 30,
    "thai": 30,
    "vietnamese": 30,
    "german": 30,
    "french": 30,
    "mixed": 30,
    "emoji": 30,
    "paths": 30,
    "minified": 30,
    "numbers": 30,
};

fn exact(text: &str) -> u64 {
    bpe_openai::o200k_base().count(text) as u64
}

/// Says what is wrong if the estimate of `text` is off by more than `percent`, or by more than
/// three tokens where that is more.
fn check(name: &str, text: &str, percent: u64) -> Option<String> {
    let (estimate, exact) = (milli_tokens(text), exact(text) * 1000);
    let allowed = (exact * percent / 100).max(3000);
    (estimate.abs_diff(exact) > allowed)
        .then(|| format!("{name}: {estimate} for {exact} milli-tokens, {percent}% allowed"))
}

fn check_all<'a>(samples: impl IntoIterator<Item = (&'a str, &'a str, u64)>) {
    let wrong: Vec<_> = samples
        .into_iter()
        .filter_map(|(name, text, percent)| check(name, text, percent))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Bytes that look random and are the same in each run.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bytes
        .chunks_exact(3)
        .map(|three| {
            three
                .iter()
                .fold(0usize, |sum, byte| sum << 8 | usize::from(*byte))
        })
        .flat_map(|bits| [18, 12, 6, 0].map(|shift| char::from(DIGITS[bits >> shift & 63])))
        .collect()
}

#[test]
fn code_is_within_a_tenth_alone_and_together() {
    check_all(CODE);
    let all: String = CODE.iter().map(|(_, text, _)| *text).collect();
    check_all([("together", all.as_str(), 5)]);
}

#[test]
fn english_and_cjk_are_close() {
    check_all(TEXT);
}

#[test]
fn other_scripts_and_shapes_are_sane() {
    check_all(OTHERS);
}

#[test]
fn blobs_are_sane() {
    let bytes = noise(3000);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let base64 = base64(&bytes);
    let lines: Vec<_> = base64
        .as_bytes()
        .chunks(76)
        .map(String::from_utf8_lossy)
        .collect();
    check_all([
        ("hex", hex.as_str(), 30),
        ("upper-case hex", &hex.to_uppercase(), 30),
        ("base64", &base64, 30),
        ("base64 in lines", &lines.join("\n"), 30),
    ]);
}

#[test]
fn long_runs_are_sane() {
    for run in ["=", "-", "*", "#", "_", "0", "a"] {
        for count in [3, 10, 80, 1000] {
            let text = run.repeat(count);
            check_all([(format!("{count} of {run}").as_str(), text.as_str(), 30)]);
        }
    }
    // Their longest tokens are rare in texts: the estimate stays under an eighth of the length.
    for run in [" ", "\t", "\n", "─"] {
        for count in [10, 80, 1000] {
            let (text, estimate) = (run.repeat(count), milli_tokens(&run.repeat(count)) / 1000);
            assert!(
                estimate <= 2 + count as u64 / 8,
                "{count} of {run:?}: {estimate}"
            );
            assert!(
                3 * estimate + 3 >= exact(&text),
                "{count} of {run:?}: {estimate}"
            );
        }
    }
}

#[test]
fn parts_sum_to_about_the_whole() {
    for (name, text, _) in CODE.into_iter().chain(TEXT) {
        let lines: u64 = text.split_inclusive('\n').map(milli_tokens).sum();
        let whole = milli_tokens(text);
        assert!(
            lines.abs_diff(whole) * 20 <= whole,
            "{name}: {lines} in lines, {whole} in all"
        );
    }
}
