//! The items removed from a context, and how much of them can still be read.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use session_facts::{ActionKind, SourceMessage, actions, failing, file_calls, open_todos_in};
use session_model::text::one_line;
use session_model::tokens::{TokenCount, TokenCounter};
use session_model::{AgentMessage, EntryId, public_lines};

use super::readable::{Readable, Visibility, folded, images_of};
use super::{ContextLoss, KindLoss, LossKind, LostText};

/// The number of items of each kind that are named, and the length of each, in characters.
const NAMED: usize = 10;
const LONGEST: usize = 160;
/// The length of the beginning and of the end of a text that shows that a part of it can be read, in characters.
const EDGE: usize = 40;

/// The messages of a context, those among them that were taken out, and their tokens.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    messages: Vec<SourceMessage>,
    gone: HashSet<EntryId>,
    tokens: TokenCount,
}

impl Removed {
    /// Adds a message that stays: what it does may settle what was taken out.
    pub(crate) fn add_kept(&mut self, message: SourceMessage) {
        self.messages.push(message);
    }

    /// Adds a message that was taken out; the oldest comes first.
    pub(crate) fn add(&mut self, message: SourceMessage, tokens: TokenCount) {
        if is_replaced(&message.message) {
            return;
        }
        self.tokens += tokens;
        self.gone.insert(message.entry_id.clone());
        self.messages.push(message);
    }

    /// Returns what several steps took out, the oldest first; what is in more than one is taken from the last of them.
    pub(super) fn of_all(steps: Vec<Self>) -> Self {
        let mut all = Self::default();
        let mut known: HashSet<EntryId> = HashSet::new();
        for mut step in steps.into_iter().rev() {
            step.messages
                .retain(|message| !known.contains(&message.entry_id));
            known.extend(step.messages.iter().map(|message| message.entry_id.clone()));
            all.messages.extend(step.messages.into_iter().rev());
            all.gone.extend(step.gone);
            all.tokens += step.tokens;
        }
        all.messages.reverse();
        all
    }

    /// Returns how much of it can be read.
    pub(crate) fn look_up(&self, readable: &Readable, counter: &dyn TokenCounter) -> ContextLoss {
        let mut counted = Counted::default();
        let mut files: BTreeMap<String, &EntryId> = BTreeMap::new();
        let is_gone = |message: &&SourceMessage| self.gone.contains(&message.entry_id);
        for source in self.messages.iter().filter(is_gone) {
            let id = &source.entry_id;
            if let Some((kind, text)) = text_of(&source.message) {
                let remains = match readable.has_short(&text) {
                    Some(true) => Remains::Verbatim,
                    Some(false) => Remains::Gone,
                    None => remains_of(&text, readable),
                };
                let remains = match remains {
                    Remains::Gone if readable.names(id) => Remains::Named,
                    remains => remains,
                };
                counted.add(kind, remains, id, &text, counter);
            }
            for image in source.message.content().into_iter().flat_map(images_of) {
                let remains = match readable.has_image(image) {
                    true => Remains::Verbatim,
                    false if readable.names(id) => Remains::Named,
                    false => Remains::Gone,
                };
                counted.add(LossKind::Image, remains, id, &image.mime_type, counter);
            }
            for call in source.message.tool_calls() {
                files.extend(file_calls(call).into_iter().map(|(_, path)| (path, id)));
            }
        }
        for (path, id) in files {
            counted.add(
                LossKind::File,
                remains_of_path(&path, readable),
                id,
                &path,
                counter,
            );
        }
        let done = actions(&self.messages);
        for at in failing(&done) {
            let id = &self.messages[done[at].message].entry_id;
            if let (ActionKind::Command(run), true) = (&done[at].kind, self.gone.contains(id)) {
                // It may be shown without the change of folder.
                let command = run.changes_to.as_ref().map_or(&run.text, |(_, rest)| rest);
                let remains = remains_of(command, readable);
                counted.add(LossKind::FailingCommand, remains, id, &run.text, counter);
            }
        }
        if let Some((at, todos)) = open_todos_in(&self.messages) {
            let id = &self.messages[at].entry_id;
            for todo in todos.iter().filter(|_| self.gone.contains(id)) {
                counted.add(
                    LossKind::Todo,
                    remains_of(todo, readable),
                    id,
                    todo,
                    counter,
                );
            }
        }
        counted.loss(self.tokens)
    }
}

/// A summary is replaced by the next one, and the system message in force is repeated.
fn is_replaced(message: &AgentMessage) -> bool {
    matches!(
        message,
        AgentMessage::CompactionSummary(_) | AgentMessage::System(_)
    )
}

/// Returns the text of a message to search for; `None` if it has none.
fn text_of(message: &AgentMessage) -> Option<(LossKind, Cow<'_, str>)> {
    let (kind, text) = match message {
        AgentMessage::User(user) => (LossKind::UserMessage, Cow::Owned(user.words())),
        AgentMessage::Assistant(answer) => (LossKind::Answer, answer.content.joined("\n")),
        AgentMessage::ToolResult(result) => (LossKind::Result, result.content.joined("\n")),
        AgentMessage::BashExecution(run) => (LossKind::Result, Cow::Borrowed(run.output.as_str())),
        AgentMessage::System(_)
        | AgentMessage::Developer(_)
        | AgentMessage::Custom(_)
        | AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_)
        | AgentMessage::Other { .. } => return None,
    };
    let text = match public_lines(&text) {
        Cow::Owned(public) => Cow::Owned(public),
        Cow::Borrowed(_) => text,
    };
    text.chars()
        .any(|letter| !letter.is_whitespace())
        .then_some((kind, text))
}

/// The part of an item that remains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remains {
    Verbatim,
    Shortened,
    Named,
    Gone,
    NotSearched,
}

fn remains_of(text: &str, readable: &Readable) -> Remains {
    // All of a long text must be folded only if its beginning matches text that can be read.
    let head = start_of(text);
    match readable.has_text(&head) {
        Visibility::NotSearched => return Remains::NotSearched,
        Visibility::Unseen => {
            return match readable.has_text(&end_of(text)) {
                Visibility::Seen => Remains::Shortened,
                Visibility::Unseen => Remains::Gone,
                Visibility::NotSearched => Remains::NotSearched,
            };
        }
        Visibility::Seen => {}
    }
    match readable.has_text(&folded(text)) {
        Visibility::Seen => Remains::Verbatim,
        Visibility::Unseen => Remains::Shortened,
        Visibility::NotSearched => Remains::NotSearched,
    }
}

/// Returns the first words of a text, white space folded.
fn start_of(text: &str) -> String {
    let head = text.trim_start();
    let head = &head[..head.floor_char_boundary(8 * EDGE)];
    folded(head).chars().take(EDGE).collect()
}

/// Returns its last ones.
fn end_of(text: &str) -> String {
    let tail = text.trim_end();
    let tail = folded(&tail[tail.ceil_char_boundary(tail.len().saturating_sub(8 * EDGE))..]);
    let skipped = tail.chars().count().saturating_sub(EDGE);
    tail.chars().skip(skipped).collect()
}

fn remains_of_path(path: &str, readable: &Readable) -> Remains {
    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    // By two names at least it is known as seen from a folder above it.
    let mut known = std::iter::once(path).chain(ends.filter(|end| end.contains('/')));
    if known.any(|end| readable.has_text(end) == Visibility::Seen) {
        return Remains::Verbatim;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    match readable.has_text(name) {
        Visibility::Seen => Remains::Named,
        Visibility::Unseen => Remains::Gone,
        Visibility::NotSearched => Remains::NotSearched,
    }
}

#[derive(Default)]
struct Counted<'a> {
    kinds: BTreeMap<LossKind, KindLoss>,
    gone: BTreeMap<LossKind, Vec<(TokenCount, String, &'a EntryId)>>,
}

impl<'a> Counted<'a> {
    fn add(
        &mut self,
        kind: LossKind,
        remains: Remains,
        id: &'a EntryId,
        text: &str,
        counter: &dyn TokenCounter,
    ) {
        let figures = self.kinds.entry(kind).or_default();
        figures.total += 1;
        match remains {
            Remains::Verbatim => figures.verbatim += 1,
            Remains::Shortened => figures.shortened += 1,
            Remains::Named => figures.named += 1,
            Remains::NotSearched => figures.not_searched += 1,
            Remains::Gone => {
                figures.gone += 1;
                let gone = self.gone.entry(kind).or_default();
                gone.push((size_of(text, counter), one_line(text, LONGEST), id));
                if gone.len() > 64 * NAMED {
                    keep_largest(gone);
                }
            }
        }
    }

    fn loss(mut self, removed_tokens: TokenCount) -> ContextLoss {
        let mut loss = ContextLoss {
            removed_tokens,
            ..ContextLoss::default()
        };
        for kind in LossKind::ALL {
            let figures = self.kinds.remove(kind).unwrap_or_default();
            loss.in_part |= figures.not_searched > 0;
            loss.kinds.insert(kind.name(), figures);
            let Some(mut gone) = self.gone.remove(kind) else {
                continue;
            };
            keep_largest(&mut gone);
            let texts = gone.into_iter().map(|(tokens, text, id)| LostText {
                text,
                entry_id: id.clone(),
                tokens,
            });
            loss.weightiest.insert(kind.name(), texts.collect());
        }
        loss
    }
}

/// Keeps the largest; of equal ones the newest.
fn keep_largest(gone: &mut Vec<(TokenCount, String, &EntryId)>) {
    gone.reverse();
    gone.sort_by_key(|(tokens, ..)| Reverse(*tokens));
    gone.truncate(NAMED);
}

/// Returns about how many tokens a text has: of a very long one by its beginning.
fn size_of(text: &str, counter: &dyn TokenCounter) -> TokenCount {
    let head = &text[..text.floor_char_boundary(4096)];
    counter
        .text(head)
        .scaled(text.len() as u64, head.len() as u64)
}
