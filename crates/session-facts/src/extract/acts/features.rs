//! What a sentence is told by: its words alone and next to each other, in lower case, with one word in place of what only
//! names something (code, quotes, paths, numbers), and where it stands.

use std::ops::Range;

use super::Speaker;

/// How much of a sentence counts: so many bytes, and so many words.
const LONGEST: usize = 2000;
const WORDS: usize = 64;
/// How many words, or characters of scripts without spaces, stand in one feature.
const NEXT_TO_EACH_OTHER: usize = 2;
const JOINED: usize = 4;

/// Where a sentence stands in its message.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Who says it.
    pub speaker: Speaker,
    /// True for an item of a list.
    pub bullet: bool,
    /// True for the first sentence of a message.
    pub first: bool,
    /// True for the last one.
    pub last: bool,
    /// The heading of the list that it stands in, or nothing.
    pub heading: &'a str,
}

impl Place<'_> {
    /// Returns the place of a sentence of which nothing else is known.
    pub const fn new(speaker: Speaker) -> Self {
        Self {
            speaker,
            bullet: false,
            first: false,
            last: false,
            heading: "",
        }
    }
}

/// Calls `found` with the parts of each feature of a sentence; some come more than once.
pub fn features(text: &str, place: Place<'_>, mut found: impl FnMut(&[&str])) {
    let speaker = match place.speaker {
        Speaker::User => "u:",
        Speaker::Agent => "a:",
    };
    let normal = normal(text);
    let words = words(&normal);
    each_gram("", &words, &mut found);
    each_gram(speaker, &words, &mut found);
    let length = match words.len() {
        0..=5 => "<short>",
        6..=12 => "<middle>",
        _ => "<long>",
    };
    found(&[speaker, "<any>"]);
    found(&[speaker, length]);
    let flags = [
        (place.bullet, "<bullet>"),
        (place.first, "<first>"),
        (place.last, "<last>"),
    ];
    for (_, flag) in flags.iter().filter(|(set, _)| *set) {
        found(&[speaker, flag]);
    }
    if !place.heading.is_empty() {
        let heading = self::normal(place.heading);
        each_gram("heading:", &self::words(&heading), &mut found);
    }
}

/// A word of a sentence, or a mark.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    /// True for a character of a script whose words are not parted by spaces.
    joined: bool,
}

/// Calls `found` with the words of each feature behind `tag`: so many next to each other, two around a third, beginnings
/// and ends.
fn each_gram(tag: &str, words: &[Word<'_>], found: &mut impl FnMut(&[&str])) {
    let text = |at: usize| match at.checked_sub(1) {
        None => "^",
        Some(at) => words.get(at).map_or("$", |word| word.text),
    };
    let joined = |at: usize| {
        let word = at.checked_sub(1).and_then(|at| words.get(at));
        word.is_none_or(|word| word.joined)
    };
    let end = words.len() + 2;
    for start in 0..end {
        let mut gram = [""; 2 * JOINED];
        gram[0] = tag;
        for (length, at) in (start..end.min(start + JOINED)).enumerate() {
            if length >= NEXT_TO_EACH_OTHER && !(start..=at).all(joined) {
                break;
            }
            gram[2 * length + 1] = text(at);
            found(&gram[..2 * length + 2]);
            if let Some(gap) = gram.get_mut(2 * length + 2) {
                *gap = " ";
            }
        }
        if tag.is_empty() && start + 2 < end {
            found(&[tag, text(start), " * ", text(start + 2)]);
        }
    }
    for word in words.iter().filter(|word| !word.joined) {
        let text = word.text;
        if text.chars().count() > 4 && !text.starts_with('<') {
            let head = text.char_indices().nth(4).map_or(text.len(), |(at, _)| at);
            let tail = text.char_indices().nth_back(2).map_or(0, |(at, _)| at);
            found(&[tag, &text[..head], "~"]);
            found(&[tag, "~", &text[tail..]]);
        }
    }
}

/// Returns the words and marks of a normal text.
fn words(normal: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut open: Option<Range<usize>> = None;
    let mut characters = normal.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if words.len() >= WORDS {
            break;
        }
        let end = at + c.len_utf8();
        let next = characters.peek().map(|(_, next)| *next);
        let joined = is_joined(c);
        let inner = matches!(c, '\'' | '-') && open.is_some();
        let inner = inner && next.is_some_and(char::is_alphabetic);
        if !joined && (c.is_alphanumeric() || matches!(c, '<' | '>')) || inner {
            open = Some(open.map_or(at, |open| open.start)..end);
            continue;
        }
        words.extend(open.take().map(|word| plain(&normal[word])));
        if joined || !c.is_whitespace() {
            let text = &normal[at..end];
            words.push(Word { text, joined });
        }
    }
    words.extend(open.map(|word| plain(&normal[word])));
    words
}

const fn plain(text: &str) -> Word<'_> {
    let joined = false;
    Word { text, joined }
}

/// Returns whether words of its script are not parted by spaces, or carry what others say in words, as in Korean.
fn is_joined(c: char) -> bool {
    ('\u{3040}'..='\u{9fff}').contains(&c) || ('\u{ac00}'..='\u{d7a3}').contains(&c)
}

/// Returns a sentence in lower case, without emphasis, with one word in place of what only names something.
fn normal(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches(['*', '_', '#', '-', ' ', '•']);
    while let Some(c) = rest.chars().next() {
        if let Some(after) = without_quote(rest, c, &mut out) {
            rest = after;
            continue;
        }
        let end = match stands_in_run(c) {
            true => rest.find(ends_run).unwrap_or(rest.len()).max(c.len_utf8()),
            false => c.len_utf8(),
        };
        let (run, after) = rest.split_at(end);
        match c {
            '*' | '_' => {}
            '’' => out.push('\''),
            _ if stands_in_run(c) => add_run(run, &mut out),
            _ => out.extend(c.to_lowercase()),
        }
        rest = after;
    }
    out
}

fn stands_in_run(c: char) -> bool {
    !is_joined(c) && (c.is_alphanumeric() || "/~@#$.-".contains(c))
}

fn ends_run(c: char) -> bool {
    c.is_whitespace() || is_joined(c) || ",;()\"`!?，。：、—…*".contains(c)
}

/// Puts one word in place of what is quoted at the beginning of `rest`, and returns what follows; a sentence that is a quote
/// and nothing else is left as it is.
fn without_quote<'a>(rest: &'a str, c: char, out: &mut String) -> Option<&'a str> {
    let close = match c {
        '`' | '"' => c,
        '“' => '”',
        '«' => '»',
        '„' => '“',
        '「' => '」',
        '\'' if !out.ends_with(char::is_alphanumeric) => c,
        _ => return None,
    };
    let (quoted, after) = rest[c.len_utf8()..].split_once(close)?;
    let alone = out.trim().is_empty() && !after.contains(char::is_alphanumeric);
    match c {
        '`' => out.push_str(" <code> "),
        _ if alone => out.push_str(&lower(quoted)),
        _ => out.push_str(" <quote> "),
    }
    Some(after)
}

fn lower(text: &str) -> String {
    text.to_lowercase().replace('’', "'")
}

/// Adds what stands together without white space: a word, a name, or a number with its unit.
fn add_run(run: &str, out: &mut String) {
    let bare = run.trim_end_matches(['.', ':', '\'']);
    let digits = bare.contains(|c: char| c.is_ascii_digit());
    match () {
        () if names_code(bare) => out.push_str(" <name> "),
        () if digits => {
            let number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '$');
            let unit = bare.trim_start_matches(number);
            let is_unit = unit.len() < bare.len() && !unit.contains(|c: char| c.is_ascii_digit());
            out.push_str(if is_unit { " 0 " } else { " <id> " });
            out.push_str(&lower(if is_unit { unit } else { "" }));
        }
        () => out.push_str(&lower(bare)),
    }
    out.push_str(run[bare.len()..].get(..1).unwrap_or_default());
}

/// Returns true for a path, an option, or a name of code.
fn names_code(text: &str) -> bool {
    let inner = text.get(1..).unwrap_or_default();
    let pairs = text.chars().zip(text.chars().skip(1));
    let camel = pairs
        .into_iter()
        .any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let dotted = inner.contains('.') && !inner.contains("..");
    let marked = inner.contains(['/', '_']) || inner.contains("::") || inner.contains("()");
    let opens = text.starts_with(['/', '~', '@']) || text.starts_with("--");
    text.contains(char::is_alphabetic) && (camel || dotted || marked || opens)
}

#[cfg(test)]
mod tests {
    use super::{normal, words};

    #[track_caller]
    fn reads(text: &str, expected: &str) {
        let normal = normal(text);
        let words: Vec<&str> = words(&normal).iter().map(|word| word.text).collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn what_only_names_something_is_one_word() {
        reads(
            "**Don’t** touch `a b`, src/a.rs or fooBar.",
            "don't touch <code> , <name> or <name> .",
        );
        reads(
            "Limit: 30ms, not 1.5 s or p95!",
            "limit : 0 ms , not 0 s or <id> !",
        );
        reads("He said \"never\" again", "he said <quote> again");
        reads("\"Never again\"", "never again");
        reads("第3步：再做", "第 0 步 ： 再 做");
    }
}
