//! Reading entries that were found, with what stands around them.

use serde::Serialize;
use session_model::{EntryId, EntryIndex, SessionContext, SessionPath, SessionTree};

use crate::entry_text::{Author, Gate, entry_text};
use crate::filter::{Place, Places, speaks};
use crate::prefilter::Prefilter;
use crate::search::call_line;
use crate::terms::Terms;
use session_model::tokens::ScriptAware;
use session_model::{Clean, TokenCount, TokenCounter};

/// The most neighbours on each side.
const MOST_AROUND: usize = 20;

/// What a neighbour is shown of, in tokens.
const NEIGHBOUR: u64 = 100;

/// What the head of an entry takes, in tokens.
const HEAD: u64 = 30;

/// No token has more bytes, long runs of blanks aside.
const BYTES_PER_TOKEN: u64 = 16;

/// Returns the size of an answer where nobody says how large it may be: an entry that is longer is read on from its
/// offset by whoever needs more.
pub fn usual_read_tokens(entries: usize) -> TokenCount {
    const ONE: u64 = 1000;
    const FURTHER: u64 = 500;
    const MOST: u64 = 2000;
    let further = u64::try_from(entries.saturating_sub(1)).unwrap_or(MOST);
    TokenCount((ONE + FURTHER * further.min(MOST)).min(MOST))
}

/// What is to be read.
#[derive(Clone, Default)]
pub struct ReadRequest<'a> {
    /// The entries.
    pub entries: Vec<EntryIndex>,
    /// How many neighbours of each are shown too, on each side.
    pub around: usize,
    /// The character to begin at.
    pub offset: usize,
    /// The most tokens of the answer as text.
    pub tokens: TokenCount,
    /// Takes secrets out of texts before they are shown.
    pub clean: Option<Clean<'a>>,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RecallRead {
    /// The entries, each among its neighbours.
    pub entries: Vec<RecalledText>,
    /// How many entries the budget has no room for.
    pub left_out: usize,
    /// The session carries a marker that excludes it from searches.
    pub excluded: bool,
}

/// A piece of an entry that is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecalledText {
    /// The entry.
    pub entry_id: EntryId,
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
}

impl RecalledText {
    /// Cuts the piece to at most `bytes` bytes, where a line ends if one does nearby.
    pub(super) fn cut(&mut self, bytes: usize) {
        if self.text.len() <= bytes {
            return;
        }
        let end = self.text.floor_char_boundary(bytes);
        let line = self.text[..end].rfind('\n').map(|at| at + 1);
        let end = line.filter(|line| line * 5 >= end * 4).unwrap_or(end);
        self.text.truncate(end);
        self.next_offset = Some(self.offset + self.text.chars().count());
    }
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
    let places = Places::of(path, context, None);
    let mut order: Vec<(EntryIndex, bool)> = Vec::new();
    for index in &request.entries {
        let around = request.around.min(MOST_AROUND);
        for at in neighbours(path, *index, around) {
            let asked = request.entries.contains(&at);
            if !order.contains(&(at, asked)) {
                order.push((at, asked));
            }
        }
    }
    let asked = order.iter().filter(|(_, asked)| *asked).count().max(1) as u64;
    let heads = (order.len() as u64 + 1) * HEAD + (order.len() as u64 - asked) * NEIGHBOUR;
    let each = request.tokens.0.saturating_sub(heads) / asked;
    let gate = Gate {
        clean: request.clean,
        ..Gate::default()
    };
    let entries = order.into_iter().map(|(index, asked)| {
        let (offset, tokens) = match asked {
            true => (request.offset, each),
            false => (0, NEIGHBOUR),
        };
        let mut piece = piece(tree, index, offset, gate);
        piece.place = places.place(index);
        piece.neighbour = !asked;
        cut_to_tokens(&mut piece, tokens);
        piece
    });
    let mut read = RecallRead {
        entries: entries.collect(),
        ..RecallRead::default()
    };
    read.fit(request.tokens);
    Some(read)
}

/// Returns whether a message of the user carries a marker that excludes the session; `None` when `stop` said so.
fn is_excluded(tree: &SessionTree, stop: &dyn Fn() -> bool) -> Option<bool> {
    let rows: Vec<EntryIndex> = tree.indices().filter(|at| speaks(tree.kind(*at))).collect();
    let mut excluded = false;
    let prefilter = Prefilter::of(&Terms::default());
    let all = prefilter.each(tree, &rows, &mut |index, signs, _| {
        if signs.marker
            && let Ok(entry) = tree.entry(index)
            && let Some(text) = entry_text(&entry, Gate::default())
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
    let mut at = index;
    let mut left = around;
    while left > 0 {
        let on_path = path.entries().binary_search(&at).ok();
        let next = on_path.and_then(|place| path.entries().get(place + 1).copied());
        let newest = || {
            let later = tree.indices().skip(at.as_usize() + 1);
            later.rev().find(|child| tree.parent(*child) == Some(at))
        };
        let Some(next) = next.or_else(newest) else {
            break;
        };
        if speaks(tree.kind(next)) {
            found.push(next);
            left -= 1;
        }
        at = next;
    }
    found
}

fn piece(tree: &SessionTree, index: EntryIndex, offset: usize, gate: Gate<'_>) -> RecalledText {
    let mut piece = RecalledText {
        entry_id: EntryId::new(tree.id(index)),
        role: tree.kind(index).name().to_owned(),
        call: None,
        timestamp: None,
        place: Place::OtherBranch,
        line: tree.line(index),
        neighbour: false,
        excluded: false,
        unreadable: None,
        offset,
        total_chars: 0,
        next_offset: None,
        text: String::new(),
    };
    let entry = match tree.entry(index) {
        Ok(entry) => entry,
        Err(error) => {
            piece.unreadable = Some(error.to_string());
            return piece;
        }
    };
    piece.timestamp = entry.timestamp.map(|at| at.to_string());
    if let Some(text) = entry_text(&entry, gate) {
        piece.call = call_line(tree, index, &text, gate);
        piece.role = text.role;
        piece.excluded = text.is_excluded;
        piece.total_chars = text.text.chars().count();
        piece.text = text.text.chars().skip(offset).collect();
    }
    piece
}

fn cut_to_tokens(piece: &mut RecalledText, tokens: u64) {
    let most = tokens.saturating_mul(BYTES_PER_TOKEN);
    piece.cut(usize::try_from(most).unwrap_or(usize::MAX));
    let mut end = piece.text.len();
    while ScriptAware.text(&piece.text[..end]).0 > tokens {
        end = piece.text.floor_char_boundary(end * 7 / 8);
    }
    piece.cut(end);
}
