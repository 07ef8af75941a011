//! Messages with the role of the user: what the user wrote, and what an agent put there.
//!
//! [`MARKERS`] is the one table of what agents put there, [`UserParts`] its one reader. Importers write such parts as
//! messages of their own that people are not shown; where a message holds both, [`UserMessage::words`] tells them apart.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::message::{Block, Content, UserMessage};

/// How something begins that an agent puts into a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// A tag at the beginning of a line, up to the last one that closes it, or to the end of the text. A name that ends in
    /// `_` or `-` is the beginning of names.
    Tag(&'static str),
    /// A tag around what the user wrote.
    Words(&'static str),
    /// A tag that users write, in capitals or not: it stays.
    Own(&'static str),
    /// The beginning of a text, up to its end.
    Start(&'static str),
    /// The beginning of a line, up to the end of the message.
    Behind(&'static str),
}

/// What agents put into messages, from `markers.tsv`: the agent, how it begins, and what it is.
pub static MARKERS: LazyLock<Vec<(&str, Marker, &str)>> = LazyLock::new(|| {
    let lines = include_str!("markers.tsv").lines();
    let rows = lines.filter_map(|line| {
        let mut columns = line.split('\t');
        let (agent, form, text) = (columns.next()?, columns.next()?, columns.next()?);
        let marker = match form {
            "tag" => Marker::Tag(text),
            "words" => Marker::Words(text),
            "own" => Marker::Own(text),
            "start" => Marker::Start(text),
            "behind" => Marker::Behind(text),
            _ => return None,
        };
        Some((agent, marker, columns.next()?))
    });
    rows.collect()
});

/// What a message with the role of the user holds.
#[derive(Debug, Default)]
pub struct UserParts {
    /// What the user wrote.
    pub own: Vec<Block>,
    /// What an agent put there, each with its kind.
    pub inserted: Vec<(String, Vec<Block>)>,
    /// What all that follows is, once its marker has come.
    behind: Option<&'static str>,
}

impl UserParts {
    /// The kind of a tag that is not in [`MARKERS`].
    pub const UNKNOWN: &str = "tag";

    /// Returns what a content holds.
    pub fn of(content: &Content) -> Self {
        let mut parts = Self::default();
        match content {
            Content::Text(text) => parts.add(Block::text(&**text)),
            Content::Blocks(blocks) => blocks.iter().for_each(|block| parts.add(block.clone())),
        }
        parts
    }

    /// Returns what the user wrote of a text.
    pub fn words(content: &Content) -> String {
        let mut behind = None;
        let mut texts = Vec::new();
        for text in content.texts() {
            let parts = split(text, &mut behind);
            texts.push(match parts[..] {
                [(None, whole)] => Cow::Borrowed(whole),
                _ => Cow::Owned(own_of(&parts).collect::<String>().trim().to_owned()),
            });
        }
        texts.retain(|text| !text.is_empty());
        texts.join("\n")
    }

    /// Adds a block that an agent put there.
    pub fn insert(&mut self, kind: &str, block: Block) {
        match self.inserted.last_mut() {
            Some((last, blocks)) if last == kind => blocks.push(block),
            _ => self.inserted.push((kind.to_owned(), vec![block])),
        }
    }

    /// Adds a block as the message has it: of a text the parts, each for itself.
    pub fn add(&mut self, block: Block) {
        let Block::Text(text) = &block else {
            return match self.behind {
                Some(kind) => self.insert(kind, block),
                None => self.own.push(block),
            };
        };
        let parts = split(&text.text, &mut self.behind);
        if let [(None, _)] = parts[..] {
            return self.own.push(block);
        }
        let own: String = own_of(&parts).collect();
        for (kind, part) in &parts {
            if let Some(kind) = kind.filter(|_| !part.trim().is_empty()) {
                self.insert(kind, Block::text(*part));
            }
        }
        if !own.trim().is_empty() {
            self.own.push(Block::text(own.trim()));
        }
    }
}

impl UserMessage {
    /// Returns the text that the user wrote: without what an agent put there.
    pub fn words(&self) -> String {
        UserParts::words(&self.content)
    }
}

/// A part of a text: what it is, where an agent put it there.
type Part<'a> = (Option<&'static str>, &'a str);

fn own_of<'a>(parts: &[Part<'a>]) -> impl Iterator<Item = &'a str> {
    let own = parts.iter().filter(|(kind, _)| kind.is_none());
    own.map(|(_, text)| *text)
}

/// Returns the parts of a text; `behind` is what texts behind a marker are.
fn split<'a>(text: &'a str, behind: &mut Option<&'static str>) -> Vec<Part<'a>> {
    if let Some(kind) = *behind {
        return vec![(Some(kind), text)];
    }
    let mut parts = Vec::new();
    let closing = OnceCell::new();
    // Where the part at hand begins, and where a line or what follows a part does.
    let (mut from, mut at) = (0, 0);
    let mut is_first = true;
    loop {
        let rest = text[at..].trim_start_matches([' ', '\t', '\r']);
        let start = text.len() - rest.len();
        if let Some((kind, words, end)) = part_at(text, start, is_first, &closing, behind) {
            parts.push((None, &text[from..start]));
            match words {
                Some((first, last)) => parts.push((None, &text[first..last])),
                None => parts.push((Some(kind), &text[start..end])),
            }
            (from, at, is_first) = (end, end, true);
            if at < text.len() {
                continue;
            }
        }
        is_first &= rest.is_empty() || rest.starts_with('\n');
        match memchr::memchr(b'\n', &text.as_bytes()[at..]) {
            Some(newline) => at += newline + 1,
            None => break,
        }
    }
    if from < text.len() || parts.is_empty() {
        parts.push((None, &text[from..]));
    }
    parts
}

/// A part that begins at a byte: its kind, the user's words where it is around them, and its end.
type Found = (&'static str, Option<(usize, usize)>, usize);

/// Returns the part that begins at `start`.
fn part_at<'a>(
    text: &'a str,
    start: usize,
    is_first: bool,
    closing: &OnceCell<Closing<'a>>,
    behind: &mut Option<&'static str>,
) -> Option<Found> {
    let rest = &text[start..];
    if let Some((_, marker, kind)) = MARKERS.iter().find(|(_, marker, _)| match marker {
        Marker::Start(begin) => is_first && rest.starts_with(begin),
        Marker::Behind(begin) => rest.starts_with(begin),
        Marker::Tag(_) | Marker::Words(_) | Marker::Own(_) => false,
    }) {
        if let Marker::Behind(_) = marker {
            *behind = Some(kind);
        }
        return Some((kind, None, text.len()));
    }
    let (name, opened) = opening(rest)?;
    let known = MARKERS.iter().find(|(_, marker, _)| match marker {
        Marker::Tag(tag) if tag.ends_with(['_', '-', ':']) => name.starts_with(tag),
        Marker::Tag(tag) | Marker::Words(tag) => name == *tag,
        Marker::Own(tag) => name.eq_ignore_ascii_case(tag),
        Marker::Start(_) | Marker::Behind(_) => false,
    });
    let [any, line_end] = closing
        .get_or_init(|| Closing::of(text))
        .ends(name)
        .map(|end| end.filter(|(at, _)| *at >= start + opened));
    match known {
        Some((_, Marker::Own(_), _)) => None,
        Some((_, Marker::Words(_), kind)) => {
            let (last, end) = any.unwrap_or((text.len(), text.len()));
            Some((kind, Some((start + opened, last)), end))
        }
        Some((_, _, kind)) => Some((kind, None, any.map_or(text.len(), |(_, end)| end))),
        None => line_end.map(|(_, end)| (UserParts::UNKNOWN, None, end)),
    }
}

/// Returns the name of the tag that a text begins with, and its length.
fn opening(text: &str) -> Option<(&str, usize)> {
    let body = text.strip_prefix('<')?;
    let name = &body[..body.find(|c: char| !is_of_name(c))?];
    let end = body
        .find(['>', '\n'])
        .filter(|end| body[*end..].starts_with('>'))?;
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && body[name.len()..].starts_with([' ', '\t', '>']);
    is_tag.then_some((name, 1 + end + 1))
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "_-:.".contains(letter)
}

/// The last closing tags of a text: where each begins and ends, by its name; any, and such that end a line.
struct Closing<'a>(BTreeMap<&'a str, [Option<(usize, usize)>; 2]>);

impl<'a> Closing<'a> {
    fn of(text: &'a str) -> Self {
        let mut found: BTreeMap<&str, [Option<(usize, usize)>; 2]> = BTreeMap::new();
        for at in memchr::memmem::find_iter(text.as_bytes(), b"</") {
            let body = &text[at + 2..];
            let name = &body[..body.find(|c: char| !is_of_name(c)).unwrap_or(0)];
            let Some(end) = body[name.len()..].find(['>', '\n', '<']) else {
                continue;
            };
            let end = name.len() + end;
            if name.is_empty() || !body[end..].starts_with('>') {
                continue;
            }
            let place = (at, at + 2 + end + 1);
            let behind = body[end + 1..].trim_start_matches([' ', '\t', '\r']);
            let known = found.entry(name).or_default();
            known[0] = Some(place);
            if behind.is_empty() || behind.starts_with('\n') {
                known[1] = Some(place);
            }
        }
        Self(found)
    }

    fn ends(&self, name: &str) -> [Option<(usize, usize)>; 2] {
        self.0.get(name).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{MARKERS, Marker, UserParts};
    use crate::message::{Block, Content, UserMessage};

    fn words(texts: &[&str]) -> String {
        let blocks = texts.iter().map(|text| Block::text(*text)).collect();
        let message = UserMessage {
            content: Content::Blocks(blocks),
            timestamp: None,
        };
        message.words()
    }

    #[test]
    fn what_is_behind_each_marker_is_not_the_users() {
        for (agent, marker, kind) in MARKERS.iter() {
            let text = match marker {
                Marker::Tag(tag) if tag.ends_with(['_', '-', ':']) => {
                    format!("<{tag}x y=\"z\">\nmust\n</{tag}x>\nfix it")
                }
                Marker::Tag(tag) => format!("<{tag} y=\"z\">\nmust\n</{tag}>\nfix it"),
                Marker::Own(_) => continue,
                Marker::Words(tag) => format!("<x>must</x>\n<{tag}>fix it</{tag}>"),
                Marker::Start(start) => format!("<x>must</x>\n{start}\n\nmust"),
                Marker::Behind(line) => format!("fix it\n{line}\nmust"),
            };
            let want = if matches!(marker, Marker::Start(_)) {
                ""
            } else {
                "fix it"
            };
            assert_eq!(words(&[&text]), want, "{agent} {text}");
            let mut parts = UserParts::default();
            parts.add(Block::text(&*text));
            assert!(
                matches!(marker, Marker::Words(_))
                    || parts.inserted.iter().any(|(own, _)| own == kind),
                "{agent} {text}"
            );
        }
    }

    #[test]
    fn blocks_of_tags_are_not_the_users_and_other_tags_are() {
        let check = |text: &str, want: &str| assert_eq!(words(&[text]), want, "{text}");
        check("a <b>c</b> d", "a <b>c</b> d");
        check("<Button> is not drawn", "<Button> is not drawn");
        check("<b>c</b> d", "<b>c</b> d");
        check(
            "fix\n  <new_thing a=\"b\">\nmust\n</new_thing>  \nnow",
            "fix\n    \nnow",
        );
        check("<br/>\nx", "<br/>\nx");
        check("<a </a>\nx", "<a </a>\nx");
        check("<PRIVATE>a</PRIVATE>", "<PRIVATE>a</PRIVATE>");
        // What a file says does not end its block.
        check(
            "<file name=\"a\">\n</file>\nmust\n<file>\n</file>\nfix",
            "fix",
        );
        check("<x>\n</x>\nmust\n<x>\n</x>", "");
        // A marker that never ends reaches to the end of its text.
        check("<system-reminder>\nmust", "");
        check(
            "fix\nCaveat: The messages below are old",
            "fix\nCaveat: The messages below are old",
        );
    }

    #[test]
    fn behind_a_mark_for_files_every_part_is_a_file() {
        let texts = [
            "fix @a.md",
            "\n--- Content from referenced files ---",
            "must",
            "\n--- End of content ---",
            "must",
        ];
        assert_eq!(words(&texts), "fix @a.md");
        assert_eq!(words(&["a", "", "b"]), "a\nb");
    }
}
