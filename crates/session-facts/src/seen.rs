//! What an agent has seen of a file: all that it wrote, all that it read, and its edits of text that is known.

use std::borrow::Cow;

use session_model::json::Members;
use session_model::{Block, Content, ToolCall};

use crate::arguments::{ALL, EDIT_LIST, EDITS, OFFSET, PARTS, TEXTS};
use crate::shell_files::FileAction;

/// What is known of a file's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing for sure.
    #[default]
    Nothing,
    /// The hash of it.
    Hash(String),
    /// All of it.
    Text(String),
}

/// The longest text that is remembered, in bytes; of a longer one only the hash is.
const LONGEST: usize = 256 * 1024;

/// The most replacements of one edit that are made again.
const MOST_REPLACEMENTS: usize = 64;

/// The notice that the tool `read` of this agent puts behind a file with other line ends.
const OF_LINE_ENDS: &str = "[lines end in CR LF; edit keeps that]";

/// The end of a line of which that tool shows a part.
const OF_A_LONG_LINE: &str = " in this line]";

/// Returns what is known of a file after a call that succeeded, given what was known before it.
pub(super) fn seen_after(
    before: Seen,
    (action, call, result): (FileAction, &ToolCall, &Content),
) -> Seen {
    let arguments = call.arguments.as_ref();
    let members = arguments.and_then(|arguments| Members::parse(arguments.get()));
    let Some(members) = members else {
        return Seen::Nothing;
    };
    match action {
        FileAction::Write => text_of(&members, &TEXTS).map_or(Seen::Nothing, remembered),
        FileAction::Edit => edited(before, &members).map_or(Seen::Nothing, remembered),
        FileAction::Read => read(before, &members, result),
        FileAction::Delete => Seen::Nothing,
    }
}

/// Returns whether what was known before a call makes no difference after it.
pub(super) fn replaces(action: FileAction, call: &ToolCall) -> bool {
    let arguments = call.arguments.as_ref();
    let members = arguments.and_then(|arguments| Members::parse(arguments.get()));
    match action {
        FileAction::Write | FileAction::Delete => true,
        FileAction::Edit => false,
        FileAction::Read => members.is_none_or(|members| is_whole(&members)),
    }
}

/// Returns whether a call reads all of a file.
fn is_whole(members: &Members<'_>) -> bool {
    let given = |name: &&str| members.get(name).is_some_and(|value| value != "null");
    let offset = members.get(OFFSET).and_then(|value| value.parse().ok());
    let from_start = !given(&OFFSET) || offset.is_some_and(|offset: u64| offset <= 1);
    from_start && !PARTS.iter().any(given)
}

fn remembered(text: String) -> Seen {
    match text.len() > LONGEST {
        true => Seen::Hash(content_hash(&comparable(&text))),
        false => Seen::Text(text),
    }
}

fn text_of(members: &Members<'_>, names: &[&str]) -> Option<String> {
    let mut values = names.iter().filter_map(|name| members.get(name));
    values.find_map(|value| serde_json::from_str(value).ok())
}

fn read(before: Seen, members: &Members<'_>, result: &Content) -> Seen {
    let is_text = |block: &Block| matches!(block, Block::Text(_));
    if !result.blocks().iter().all(is_text) {
        return Seen::Nothing;
    }
    let text = result.joined_text("\n");
    match (is_whole(members), before) {
        (true, _) => shown(&text).map_or(Seen::Nothing, remembered),
        // A part that is as it was says nothing new.
        (false, Seen::Text(known)) if known.contains(text.trim_end()) => Seen::Text(known),
        (false, _) => Seen::Nothing,
    }
}

/// Returns the text of a file that a tool showed, or `None` where it may have added to it or left something out.
fn shown(text: &str) -> Option<String> {
    // What `read` says of line ends adds nothing that is compared.
    let text = text.trim_end().strip_suffix(OF_LINE_ENDS).unwrap_or(text);
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let within = last.strip_prefix('[');
    let within = within.and_then(|last| last.strip_suffix(']'));
    // A heading of settings, such as `[section]`, is one word; a notice is not.
    let noticed = within.is_some_and(|within| within.trim().contains(char::is_whitespace));
    let reminded = text.contains("<system-reminder>") || text.contains("[Output truncated - ");
    let cut = text.lines().any(|line| line.ends_with(OF_A_LONG_LINE));
    if noticed || reminded || cut {
        return None;
    }
    let (mut numbered, mut lines) = (0_usize, 0_usize);
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        lines += 1;
        if let Some((number, rest)) = numbered_line(line) {
            numbered += usize::from(number == lines);
            plain.push_str(rest);
        }
        plain.push('\n');
    }
    match numbered {
        0 => Some(text.to_owned()),
        all if all == lines => Some(plain),
        some if some * 2 > lines => None,
        _ => Some(text.to_owned()),
    }
}

/// Returns number and rest of a line as `cat -n` and its like show it.
fn numbered_line(line: &str) -> Option<(usize, &str)> {
    let trimmed = line.trim_start_matches(' ');
    let padding = line.len() - trimmed.len();
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = trimmed.split_at(digits);
    let rest = match rest.strip_prefix('\t') {
        Some(rest) if padding + digits >= 6 => rest,
        Some(_) | None => rest.strip_prefix('→')?,
    };
    Some((number.parse().ok()?, rest))
}

/// Returns the text after an edit, where it is known for sure.
fn edited(before: Seen, members: &Members<'_>) -> Option<String> {
    let Seen::Text(mut text) = before else {
        return None;
    };
    let list: Vec<Box<serde_json::value::RawValue>> = match members.get(EDIT_LIST) {
        Some(edits) => serde_json::from_str(edits).ok()?,
        None => Vec::new(),
    };
    if list.len() > MOST_REPLACEMENTS {
        return None;
    }
    if list.is_empty() {
        return replaced(&text, members);
    }
    for edit in &list {
        text = replaced(&text, &Members::parse(edit.get())?)?;
    }
    Some(text)
}

fn replaced(text: &str, members: &Members<'_>) -> Option<String> {
    let mut pairs = EDITS.iter();
    let (old, new) = pairs
        .find_map(|(old, new)| Some((text_of(members, &[old])?, text_of(members, &[new])?)))?;
    let all = ALL.iter().any(|name| members.get(name) == Some("true"));
    let grown = text.len().saturating_add(new.len());
    if old.is_empty() || grown > 4 * LONGEST {
        return None;
    }
    match text.matches(&old).take(2).count() {
        1 => Some(text.replacen(&old, &new, 1)),
        2 if all && text.len() / old.len() * new.len() <= 4 * LONGEST => {
            Some(text.replace(&old, &new))
        }
        _ => None,
    }
}

/// Returns a hash of a text, for telling whether a file is as it was seen.
pub fn content_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

/// Returns a text as it is compared: byte order mark, carriage returns of line ends and newlines at the end make no
/// difference, because tools do not show them.
pub fn comparable(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.trim_end_matches(['\n', '\r']);
    match text.contains("\r\n") {
        true => Cow::Owned(text.replace("\r\n", "\n")),
        false => Cow::Borrowed(text),
    }
}
