//! Reading entries that were found, with what stands around them.

use serde::Serialize;
use session_model::tokens::ScriptAware;
use session_model::{
    EntryId, EntryIndex, SessionContext, SessionPath, SessionTree, TokenCount, TokenCounter,
};

use crate::entry_text::{Access, Author, Gate, entry_text, read_text};
use crate::excerpt::{first_word, last_word};
use crate::filter::{Place, places, speaks, subagent};
use crate::following::after;
use crate::prefilter::Prefilter;
use crate::shown::call_line;
use crate::terms::Terms;

/// The most neighbours on each side, and the most entries of a range.
const MOST_AROUND: usize = 20;
const MOST_IN_RANGE: usize = 200;

/// What a neighbour is shown of while others need more, in tokens.
const NEIGHBOUR: u64 = 100;

/// The least of an entry that is shown, in tokens, while it has more: those at the end go before all get less.
const LEAST: u64 = 200;

/// What the head of an entry takes, in tokens.
const HEAD: u64 = 30;

/// No token has more bytes, long runs of blanks aside.
const BYTES_PER_TOKEN: u64 = 16;

/// The part of its room that an entry gets which does not fit, in percent: so no entry stops just before its end.
const CUT: u64 = 85;

/// The part of that which goes to the beginning of an output, in percent; its end gets the rest.
const BEGINNING: u64 = 60;

/// An entry that is to be read, or a piece of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The entry.
    pub entry: EntryIndex,
    /// The character to begin at.
    pub offset: usize,
    /// How many characters; without it as many as there is room for.
    pub length: Option<usize>,
}

/// Returns the entries that a text names: an id or its beginning; behind it `@` and the character to begin at, `+` and how
/// many characters; or two of these with `..` between them for all from one to the other.
///
/// # Errors
/// No entry, or more than one, is named so.
pub fn wanted(path: &SessionPath<'_>, text: &str) -> Result<Vec<Wanted>, String> {
    let tree = path.tree();
    let at = |entry, offset, length| Wanted {
        entry,
        offset,
        length,
    };
    let find = |id: &str| tree.find_by_beginning(id.trim().trim_matches(['[', ']']));
    let piece = |text: &str| {
        let whole = match find(text) {
            Ok(entry) => return Ok(at(entry, 0, None)),
            Err(error) => error.to_string(),
        };
        let text = text.trim().trim_matches(['[', ']']);
        let (id, part) = text.rsplit_once('@').ok_or(whole.clone())?;
        let (offset, length) = match part.split_once('+') {
            Some((offset, length)) => (offset.parse(), length.parse().map(Some)),
            None => (part.parse(), Ok(None)),
        };
        match (find(id), offset, length) {
            (Ok(entry), Ok(offset), Ok(length)) => Ok(at(entry, offset, length)),
            (Err(error), Ok(_), Ok(_)) => Err(error.to_string()),
            _ => Err(whole),
        }
    };
    let wrong = match piece(text) {
        Ok(piece) => return Ok(vec![piece]),
        Err(error) => error,
    };
    let (one, other) = text.split_once("..").ok_or(wrong)?;
    let ends = [piece(one)?, piece(other)?];
    let (first, last) = (ends[0].entry, ends[1].entry);
    let range = first.min(last)..=first.max(last);
    let on_path = |at: &EntryIndex| path.entries().binary_search(at).is_ok();
    let is_path = on_path(range.start()) && on_path(range.end());
    let all = tree.indices().skip(range.start().as_usize());
    let all = all.take_while(|at| range.contains(at));
    let all = all.filter(|at| speaks(tree.kind(*at)) && (!is_path || on_path(at)));
    let pieces = all.take(MOST_IN_RANGE).map(|entry| {
        let end = ends.iter().find(|end| end.entry == entry);
        end.copied().unwrap_or(at(entry, 0, None))
    });
    Ok(pieces.collect())
}

/// Returns the size of an answer where the request does not state it. An entry that is longer can be read from an offset
/// on.
pub fn usual_read_tokens(entries: usize) -> TokenCount {
    const ONE: u64 = 1000;
    const FURTHER: u64 = 500;
    const MOST: u64 = 4000;
    let further = u64::try_from(entries.saturating_sub(1)).unwrap_or(MOST);
    TokenCount((ONE + FURTHER * further.min(MOST)).min(MOST))
}

/// What is to be read.
#[derive(Clone, Default)]
pub struct ReadRequest<'a> {
    /// The entries.
    pub entries: Vec<Wanted>,
    /// How many neighbours of each are shown too, on each side.
    pub around: usize,
    /// The most tokens of the answer as text.
    pub tokens: TokenCount,
    /// How texts are read.
    pub access: Access<'a>,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RecallRead {
    /// The entries, each among its neighbours.
    pub entries: Vec<RecalledText>,
    /// How many entries the budget has no room for.
    pub left_out: usize,
    #[serde(skip)]
    pub(super) left_out_ids: Vec<String>,
    /// What names no entry of the session, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The session carries a marker that excludes it from searches.
    pub excluded: bool,
}

/// A piece of an entry that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecalledText {
    /// The entry.
    pub entry_id: EntryId,
    /// A beginning of the id that names no other entry.
    #[serde(skip)]
    pub short_id: String,
    /// Who wrote it: a role, or the type of an entry that is no message.
    pub role: String,
    /// The call whose result it is, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// When it was written, if the session says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Where it stands.
    pub place: Place,
    /// The subagent that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The line of the session file that it is on.
    pub line: u64,
    /// It was not asked for, but stands next to one that was.
    pub neighbour: bool,
    /// It is kept from searches: by a marker in it, or because the model must not see it.
    pub excluded: bool,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Where the piece begins, in characters.
    pub offset: usize,
    /// How long the whole text is, in characters.
    pub total_chars: usize,
    /// Where the next piece begins; none when this is the last.
    pub next_offset: Option<usize>,
    /// The piece.
    pub text: String,
    /// Where that is not all: how the text ends, if it is an output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    #[serde(skip)]
    is_output: bool,
}

impl RecalledText {
    /// Cuts the piece to at most `bytes` bytes, where a line or a word ends if one does nearby.
    pub(super) fn cut(&mut self, bytes: usize) {
        if self.text.len() <= bytes {
            return;
        }
        let end = self.text.floor_char_boundary(bytes);
        let nearby = self.text.floor_char_boundary(end * 4 / 5);
        let line = self.text[nearby..end].rfind('\n').map(|at| nearby + at + 1);
        let end = line.unwrap_or_else(|| last_word(&self.text, nearby, end));
        self.text.truncate(end);
        self.next_offset = Some(self.offset + self.text.chars().count());
    }

    /// Cuts the piece to its room, in tokens.
    fn fit(&mut self, room: u64) {
        if needed(&self.text, room) <= room {
            return;
        }
        let room = room * CUT / 100;
        let begin = if self.is_output {
            room * BEGINNING / 100
        } else {
            room
        };
        let text = self.text.clone();
        self.cut(fitting(begin, text.len(), |bytes| {
            &text[..text.floor_char_boundary(bytes)]
        }));
        if self.is_output {
            let last = |bytes: usize| &text[text.ceil_char_boundary(text.len() - bytes)..];
            let from = text.len() - fitting(room - begin, text.len() - self.text.len(), last);
            let from = text.ceil_char_boundary(from);
            let from = match text[from..].find('\n') {
                Some(line) if line * 5 < text.len() - from => from + line + 1,
                _ => first_word(&text, from, text.len()),
            };
            self.end = Some(text[from..].to_owned()).filter(|end| !end.is_empty());
        }
    }
}

/// Returns how many tokens a text takes, or more than `most`.
fn needed(text: &str, most: u64) -> u64 {
    let bytes = usize::try_from(most.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    match text.len() > bytes {
        true => most.saturating_add(1),
        false => ScriptAware.text(text).0,
    }
}

/// Returns about how many bytes of a text fit, if `part` returns the part of so many.
fn fitting<'t>(tokens: u64, length: usize, part: impl Fn(usize) -> &'t str) -> usize {
    let most = usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    let mut bytes = length.min(most);
    while ScriptAware.text(part(bytes)).0 > tokens {
        bytes = bytes * 15 / 16;
    }
    bytes
}

/// Divides a room among those that need so much of it: what one leaves is for those that need more.
fn divided(room: u64, needs: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..needs.len()).collect();
    order.sort_by_key(|at| needs[*at]);
    let (mut left, mut given) = (room, vec![0; needs.len()]);
    for (number, at) in order.iter().enumerate() {
        given[*at] = needs[*at].min(left / (needs.len() - number) as u64);
        left -= given[*at];
    }
    given
}

/// Reads entries of the tree of `path`; `context` is the context of `path`. `None` when `stop` said so.
pub fn recall_read(
    path: &SessionPath<'_>,
    context: &SessionContext,
    request: &ReadRequest<'_>,
    stop: &dyn Fn() -> bool,
) -> Option<RecallRead> {
    let tree = path.tree();
    if is_excluded(tree, stop)? {
        return Some(RecallRead {
            excluded: true,
            ..RecallRead::default()
        });
    }
    let places = places(path, context);
    // Each piece that is asked for, and its neighbours.
    let mut order: Vec<(EntryIndex, Option<Wanted>)> = Vec::new();
    for wanted in &request.entries {
        let around = request.around.min(MOST_AROUND);
        for at in neighbours(path, wanted.entry, around) {
            let is_asked = request.entries.iter().any(|wanted| wanted.entry == at);
            let piece = match (at == wanted.entry, is_asked) {
                (true, _) => Some(*wanted),
                (false, true) => continue,
                (false, false) => None,
            };
            if !order.contains(&(at, piece)) {
                order.push((at, piece));
            }
        }
    }
    let short: Vec<&str> = order.iter().map(|(at, _)| tree.id(*at)).collect();
    let short = tree.short_ids(short.into_iter());
    let room = request
        .tokens
        .0
        .saturating_sub((order.len() as u64 + 1) * HEAD);
    let pieces = order.into_iter().map(|(index, wanted)| {
        let (offset, length) = wanted.map_or((0, None), |it| (it.offset, it.length));
        let mut piece = piece(tree, index, offset, length, request.access);
        piece.short_id = (*short.get(tree.id(index)).unwrap_or(&tree.id(index))).to_owned();
        piece.place = places[index.as_usize()];
        piece.subagent = subagent(tree, &places, index);
        piece.neighbour = wanted.is_none();
        piece
    });
    let mut read = RecallRead {
        entries: pieces.collect(),
        ..RecallRead::default()
    };
    let mut sum = 0;
    let fits = read.entries.iter().take_while(|entry| {
        sum += needed(&entry.text, LEAST).min(LEAST);
        sum <= room
    });
    let fits = fits.count().max(1);
    while read.entries.len() > fits && read.leave_one_out() {}
    // Those that were asked for come first, but their neighbours are seen.
    let needs = |neighbour: bool, read: &RecallRead| -> Vec<u64> {
        let entries = read.entries.iter().filter(|it| it.neighbour == neighbour);
        entries.map(|it| needed(&it.text, room)).collect()
    };
    let (first, others) = (needs(false, &read), needs(true, &read));
    let for_others: u64 = others.iter().map(|need| need.min(&NEIGHBOUR)).sum();
    let given = divided(room - for_others.min(room / 4), &first);
    let rest = divided(room - given.iter().sum::<u64>(), &others);
    let (mut given, mut rest) = (given.into_iter(), rest.into_iter());
    for piece in &mut read.entries {
        let room = if piece.neighbour {
            rest.next()
        } else {
            given.next()
        };
        piece.fit(room.unwrap_or_default());
    }
    read.fit(request.tokens);
    Some(read)
}

/// Returns whether a message of the user carries a marker that excludes the session; `None` when `stop` said so.
fn is_excluded(tree: &SessionTree, stop: &dyn Fn() -> bool) -> Option<bool> {
    let rows: Vec<EntryIndex> = tree.indices().filter(|at| speaks(tree.kind(*at))).collect();
    let mut excluded = false;
    let prefilter = Prefilter::of(&Terms::default(), false);
    let all = prefilter.each(tree, &rows, &mut |index, signs, _| {
        if signs.marker
            && let Ok(entry) = tree.entry(index)
            && let Some(text) = entry_text(&entry, &[], Gate::default())
        {
            excluded |= text.is_excluded && text.author == Author::User;
        }
        !stop()
    });
    all.then_some(excluded)
}

/// Returns an entry among `around` neighbours on each side, of those that say something: the entries before it, and
/// those that follow on the path or, elsewhere, on the newest branch.
fn neighbours(path: &SessionPath<'_>, index: EntryIndex, around: usize) -> Vec<EntryIndex> {
    let tree = path.tree();
    let before = std::iter::successors(tree.parent(index), |at| tree.parent(*at));
    let before = before.filter(|at| speaks(tree.kind(*at))).take(around);
    let mut found: Vec<EntryIndex> = before.collect();
    found.reverse();
    found.push(index);
    let next = after(path, index).filter(|at| speaks(tree.kind(*at)));
    found.extend(next.take(around));
    found
}

fn piece(
    tree: &SessionTree,
    index: EntryIndex,
    offset: usize,
    length: Option<usize>,
    access: Access<'_>,
) -> RecalledText {
    let mut piece = RecalledText {
        entry_id: EntryId::new(tree.id(index)),
        short_id: String::new(),
        role: tree.kind(index).name().to_owned(),
        call: None,
        timestamp: None,
        place: Place::OtherBranch,
        subagent: None,
        line: tree.line(index),
        neighbour: false,
        excluded: false,
        unreadable: None,
        offset,
        total_chars: 0,
        next_offset: None,
        text: String::new(),
        end: None,
        is_output: false,
    };
    let (entry, text) = match read_text(tree, index, access) {
        Ok(read) => read,
        Err(error) => {
            piece.unreadable = Some(error.to_string());
            return piece;
        }
    };
    piece.timestamp = entry.timestamp.map(|at| at.to_string());
    if let Some(text) = text {
        let call = call_line(tree, index, &text, access.into());
        piece.call = call.map(|(line, _)| line);
        piece.role = text.role;
        piece.excluded = text.is_excluded;
        piece.is_output = text.author == Author::Tool && offset == 0 && length.is_none();
        piece.total_chars = text.text.chars().count();
        let end = length.map_or(usize::MAX, |length| offset.saturating_add(length));
        piece.next_offset = (end < piece.total_chars).then_some(end);
        let wanted = text.text.chars().skip(offset);
        piece.text = wanted.take(length.unwrap_or(usize::MAX)).collect();
    }
    piece
}
