//! What is shown of the entries that were found.

use session_facts::commands_of;
use session_model::{EntryId, EntryIndex, SessionPath, SessionTree};

use crate::Recalled;
use crate::entry_text::{Author, EntryText, Gate, call_of, call_text};
use crate::excerpt::excerpts;
use crate::following::Next;
use crate::rank::Group;
use crate::terms::Place;

/// What may be shown of an entry.
pub(super) struct Shown {
    pub group: Group,
    pub text: EntryText,
    pub places: Vec<Place>,
    pub next: Option<Next>,
    /// What is around the best place, without digits: what has the same is a copy.
    pub around: String,
}

impl Shown {
    /// Returns whether another one is an output with the same around the best place.
    pub fn is_like(&self, other: &Self) -> bool {
        let are_outputs = [self, other].map(|it| it.text.author) == [Author::Tool; 2];
        are_outputs && self.around == other.around
    }

    /// Takes in a copy.
    pub fn fold(&mut self, mut other: Self) {
        if other.group.newest.index > self.group.newest.index {
            std::mem::swap(self, &mut other);
        }
        self.group.fold(other.group);
    }
}

/// Takes out the calls whose results are shown, too, of the first `most`: a result names its call. The result has the better
/// rank of both.
pub(super) fn drop_calls_of_results(groups: &mut Vec<Group>, most: usize) {
    let mut at = 0;
    while at < groups.len().min(most) {
        let call = &groups[at].newest;
        let result = groups.iter().position(|it| {
            let answers = it.newest.answers.as_ref();
            let is_its = answers.is_some_and(|id| call.calls.contains(id));
            is_its && call.calls.len() == 1 && it.newest.covers(call)
        });
        match result {
            Some(result) => {
                groups.swap(at, result);
                groups.remove(result);
            }
            None => at += 1,
        }
    }
}

/// Returns how many bytes are shown of an entry whose score is this share of the best one's. Where the best leads, it is
/// most likely what is looked for, and the others are hints; what the user said is shown whole where it is short.
pub(super) fn width_of(width: usize, share: f64, author: Author) -> usize {
    let least = match author {
        Author::User => SHORT_MESSAGE,
        _ => EXCERPT_BYTES,
    };
    let part = (width as f64 * share * share) as usize;
    part.max(least.min(width))
}

/// How long a message of the user is that is shown whole wherever it is found, in bytes.
const SHORT_MESSAGE: usize = 280;

/// How long one of several excerpts is at least, in bytes, and how many there are of one entry.
const EXCERPT_BYTES: usize = 200;
const MOST_EXCERPTS: usize = 3;

/// Returns the call that an entry answers, as one line, and whether it is a command.
pub(super) fn call_line(
    tree: &SessionTree,
    index: EntryIndex,
    text: &EntryText,
    gate: Gate<'_>,
) -> Option<(String, bool)> {
    let id = text.answers.as_ref()?;
    let call = call_of(tree, index, id);
    let is_command = call.as_ref().is_some_and(|it| !commands_of(it).is_empty());
    let line = match call {
        Some(call) => call_text(&call, gate),
        None => text.tools.first()?.clone(),
    };
    Some((session_model::text::first_line(&line, 100), is_command))
}

/// Returns what is shown of an entry, and of what came of it, in about so many bytes.
pub(super) fn recalled(
    path: &SessionPath<'_>,
    gate: Gate<'_>,
    shown: &Shown,
    weights: &[f64],
    [width, next_width]: [usize; 2],
) -> Recalled {
    let tree = path.tree();
    let Shown {
        group,
        text,
        places,
        next,
        ..
    } = shown;
    let index = group.newest.index;
    let call = call_line(tree, index, text, gate);
    // Totals are at the end of what a command prints.
    let is_output = text.is_error || call.as_ref().is_some_and(|(_, is_command)| *is_command);
    let end = if is_output { width / 3 } else { 0 };
    let width = width - end;
    let most = (width / EXCERPT_BYTES).clamp(1, MOST_EXCERPTS);
    let timestamp = tree.entry(index).ok().and_then(|entry| entry.timestamp);
    let id = |index: &EntryIndex| EntryId::new(tree.id(*index));
    Recalled {
        session: None,
        entry_id: id(&index),
        short_id: String::new(),
        role: text.role.clone(),
        call: call.map(|(line, _)| line),
        timestamp: timestamp.map(|at| at.to_string()),
        place: group.newest.place,
        subagent: None,
        score: group.score,
        matches: group.newest.matches,
        copies: group.copies.iter().map(id).collect(),
        total_chars: text.text.chars().count(),
        excerpts: excerpts(&text.text, places, weights, [width / most, end], most),
        followed_by: next.as_ref().map(|next| next.shown(path, next_width)),
    }
}

/// Gives entries the ids that are shown.
pub(super) fn with_short_ids(tree: &SessionTree, mut found: Vec<Recalled>) -> Vec<Recalled> {
    let mut ids: Vec<String> = found.iter().map(|it| it.entry_id.to_string()).collect();
    let next = found.iter().filter_map(|it| it.followed_by.as_ref());
    ids.extend(next.map(|next| next.entry_id.to_string()));
    let short = tree.short_ids(ids.iter().map(String::as_str));
    let of = |id: &EntryId| (*short.get(id.as_str()).unwrap_or(&id.as_str())).to_owned();
    for it in &mut found {
        it.short_id = of(&it.entry_id);
        if let Some(next) = &mut it.followed_by {
            next.short_id = of(&next.entry_id);
        }
    }
    found
}
