//! Keys of services in texts, recognized by their form.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

/// A form: how a key begins, and what follows.
struct KeyForm {
    beginning: &'static str,
    takes: fn(u8) -> bool,
    /// How many bytes follow at least.
    least: usize,
}

/// The shortest text that is a key by its beginning alone, in bytes.
const SHORTEST: usize = 16;

/// How long a key in PEM may be, in bytes.
const LONGEST_PEM: usize = 16 * 1024;

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_MARK: &str = "PRIVATE KEY";

/// How a JSON web token begins: base64 of `{"`.
const WEB_TOKEN: &str = "eyJ";

/// The shortest part of a JSON web token, in bytes.
const SHORTEST_PART: usize = 8;

static FORMS: LazyLock<Vec<KeyForm>> = LazyLock::new(|| {
    let lines = include_str!("forms.tsv").lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.filter_map(form).collect()
});

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let beginnings = FORMS.iter().map(|form| form.beginning);
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(beginnings.chain([PEM_BEGIN, WEB_TOKEN]))
        .ok()
});

fn form(line: &'static str) -> Option<KeyForm> {
    let mut columns = line.split('\t');
    let (beginning, characters) = (columns.next()?, columns.next()?);
    let takes: fn(u8) -> bool = match characters {
        "a" => |byte| byte.is_ascii_alphanumeric(),
        "w" => is_word,
        "d" => |byte| is_word(byte) || byte == b'.',
        "h" => |byte| byte.is_ascii_hexdigit(),
        "u" => |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        "b" => |byte| is_word(byte) || b"+/=".contains(&byte),
        _ => return None,
    };
    Some(KeyForm {
        beginning,
        takes,
        least: columns.next()?.parse().ok()?,
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

/// Returns where in a text keys are, in bytes, by the forms in `forms.tsv`; keys in PEM and JSON web tokens too.
pub fn find_keys(text: &str) -> Vec<Range<usize>> {
    let Some(finder) = &*FINDER else {
        return Vec::new();
    };
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for hit in finder.find_iter(text) {
        let (start, end) = (hit.start(), hit.end());
        let continues = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let in_word = start > 0 && bytes.get(start - 1).is_some_and(continues);
        let is_covered = found.last().is_some_and(|last| start < last.end);
        if in_word || is_covered {
            continue;
        }
        let after = match FORMS.get(hit.pattern().as_usize()) {
            Some(form) => {
                let length = run(&bytes[end..], form.takes);
                (length >= form.least).then_some(end + length)
            }
            None if text[start..end] == *PEM_BEGIN => pem_end(text, end),
            None => web_token_end(bytes, start),
        };
        found.extend(after.map(|after| start..after));
    }
    found
}

/// Returns whether a text as a whole looks like a key: it begins as one and is not short.
pub fn looks_like_key(text: &str) -> bool {
    let begins = |form: &KeyForm| text.starts_with(form.beginning);
    text.len() >= SHORTEST
        && (FORMS.iter().any(begins)
            || (text.starts_with(WEB_TOKEN) && text.split('.').count() == 3)
            || !find_keys(text).is_empty())
}

fn run(bytes: &[u8], takes: fn(u8) -> bool) -> usize {
    let end = bytes.iter().position(|byte| !takes(*byte));
    end.unwrap_or(bytes.len())
}

/// Returns where a private key in PEM ends whose label begins at `label`; where its end is missing, what follows goes with
/// it.
fn pem_end(text: &str, label: usize) -> Option<usize> {
    let limit = text.floor_char_boundary(label.saturating_add(LONGEST_PEM));
    let rest = &text[label..limit];
    let line = rest.find("-----")?;
    if !rest[..line].contains(PEM_MARK) {
        return None;
    }
    let close = rest.find("-----END ").and_then(|close| {
        let tail = &rest[close + "-----END ".len()..];
        Some(close + "-----END ".len() + tail.find("-----")? + "-----".len())
    });
    Some(label + close.unwrap_or(rest.len()))
}

/// Returns where a JSON web token ends that begins at `start`.
fn web_token_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    for part in 0..3 {
        let length = run(&bytes[at..], is_word);
        if length < SHORTEST_PART || (part == 1 && !bytes[at..].starts_with(WEB_TOKEN.as_bytes())) {
            return None;
        }
        at += length;
        if part < 2 {
            if bytes.get(at) != Some(&b'.') {
                return None;
            }
            at += 1;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::{FORMS, find_keys, looks_like_key};

    fn without_keys(text: &str) -> String {
        let mut out = String::new();
        let mut from = 0;
        for range in find_keys(text) {
            out += &text[from..range.start];
            out += "*";
            from = range.end;
        }
        out + &text[from..]
    }

    #[test]
    fn every_form_is_found_in_its_length_and_not_in_a_word() {
        for form in FORMS.iter() {
            let key = format!("{}{}", form.beginning, "7".repeat(form.least));
            let key = &key;
            assert_eq!(without_keys(&format!("a={key}, b")), "a=*, b", "{key}");
            assert_eq!(
                without_keys(&format!("{key}.")).trim_end_matches('.'),
                "*",
                "{key}"
            );
            let inside = format!("x{key}");
            assert_eq!(without_keys(&inside), inside);
            let short = format!("({})", &key[..key.len() - 1]);
            assert_eq!(without_keys(&short), short);
            assert!(key.len() < 16 || looks_like_key(key), "{key}");
        }
    }

    #[test]
    fn keys_with_an_end_of_their_own_are_found_whole() {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMQ";
        assert_eq!(without_keys(&format!("bearer {token}\"")), "bearer *\"");
        let pem =
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----";
        assert_eq!(without_keys(&format!("a\n{pem}\nb")), "a\n*\nb");
        assert_eq!(without_keys(&format!("a {}", &pem[..50])), "a *");
        let public = "-----BEGIN PUBLIC KEY-----\nb3BlbnNz\n-----END PUBLIC KEY-----";
        assert_eq!(without_keys(public), public);
    }

    #[test]
    fn ordinary_text_holds_no_key() {
        for text in [
            "task-sk-ip-list desk-lamp risk-free sk-",
            "npm_config_registry hf_hub_download ghp_ AKIA",
            "eyJ.eyJ.x the AIza prefix, glpat-xxxx, sk-ant-...",
            "import sk_test_helper; SG.Foo.bar(1)",
        ] {
            assert_eq!(without_keys(text), text);
        }
    }
}
