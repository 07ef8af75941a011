//! What came of an entry: the result of its call, or the answer that ended the turn of a question.

use serde::Serialize;
use session_facts::{CallBody, commands_of};
use session_model::text::first_line;
use session_model::{AgentMessage, EntryBody, EntryId, EntryIndex, SessionPath, StatedRole};

use crate::entry_text::{Access, Author, EntryText, read_text};
use crate::excerpt::{both_ends, start};

/// What came of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Following {
    /// The entry.
    pub entry_id: EntryId,
    /// A beginning of the id that names no other entry.
    #[serde(skip)]
    pub short_id: String,
    /// `result` or `answer`.
    pub role: &'static str,
    /// The call whose result it is, where the entry makes several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// How long its text is, in characters.
    pub total_chars: usize,
    /// Its beginning, or its beginning and its end.
    pub text: String,
}

/// How many entries are looked through for the result of a call, and for the next entry of another branch.
const NEAR: usize = 64;

/// How much of a call is shown that a result is of, in characters.
const CALL: usize = 60;

/// An entry that follows another one, and what is shown of it.
#[derive(Debug)]
pub(super) struct Next {
    pub index: EntryIndex,
    role: &'static str,
    call: Option<String>,
    text: EntryText,
    /// What a command printed: the end matters more.
    is_output: bool,
}

impl Next {
    /// Returns what is shown in about `width` bytes.
    pub fn shown(&self, path: &SessionPath<'_>, width: usize) -> Following {
        let text = &self.text.text;
        Following {
            entry_id: EntryId::new(path.tree().id(self.index)),
            short_id: String::new(),
            role: self.role,
            call: self.call.clone(),
            total_chars: text.chars().count(),
            text: match self.is_output {
                true => both_ends(text, width),
                false => start(text, width),
            }
            .trim_end()
            .to_owned(),
        }
    }
}

/// Returns what came of the entry at `index`, whose text matches at `place`.
pub(super) fn following(
    path: &SessionPath<'_>,
    index: EntryIndex,
    text: &EntryText,
    place: usize,
    access: Access<'_>,
) -> Option<Next> {
    match text.author {
        Author::User => answer(path, index, access),
        Author::Assistant => result(path, index, text, place, access),
        _ => None,
    }
}

/// Returns the entries that follow one, on the path or as the file has them on the branch.
pub(super) fn after<'a>(
    path: &'a SessionPath<'_>,
    index: EntryIndex,
) -> impl Iterator<Item = EntryIndex> + 'a {
    let tree = path.tree();
    let next = move |at: &EntryIndex| {
        if let Ok(place) = path.entries().binary_search(at) {
            return path.entries().get(place + 1).copied();
        }
        let later = tree.indices().skip(at.as_usize() + 1).take(NEAR);
        later
            .into_iter()
            .find(|child| tree.parent(*child) == Some(*at))
    };
    std::iter::successors(next(&index), next)
}

/// Returns the last answer before the next message of the user.
fn answer(path: &SessionPath<'_>, index: EntryIndex, access: Access<'_>) -> Option<Next> {
    let tree = path.tree();
    let turn = after(path, index).take_while(|at| tree.role(*at) != Some(StatedRole::User));
    let answers = turn.filter(|at| tree.role(*at) == Some(StatedRole::Assistant));
    let answers: Vec<EntryIndex> = answers.collect();
    answers.into_iter().rev().take(NEAR).find_map(|index| {
        let (entry, text) = read_text(tree, index, access).ok()?;
        let is_answer = entry.messages().iter().any(|message| match &**message {
            AgentMessage::Assistant(answer) => !answer.content.joined_text("").trim().is_empty(),
            _ => false,
        });
        let text = text.filter(|text| is_answer && !text.is_excluded && !text.is_own)?;
        Some(Next {
            index,
            role: "answer",
            call: None,
            text,
            is_output: false,
        })
    })
}

/// Returns the result of the call that `place` is in, or else of the first one. What an edit answers says nothing new.
fn result(
    path: &SessionPath<'_>,
    index: EntryIndex,
    text: &EntryText,
    place: usize,
    access: Access<'_>,
) -> Option<Next> {
    let tree = path.tree();
    let mut calls = text.calls.iter();
    let wanted = calls.clone().find(|(at, _)| at.contains(&place));
    let (at, id) = wanted.or_else(|| calls.next())?;
    let entry = tree.entry(index).ok()?;
    let messages = entry.messages();
    let mut made = messages.iter().flat_map(|message| message.tool_calls());
    let call = made.find(|call| call.id == *id)?;
    let is_edit = matches!(
        CallBody::of(call),
        CallBody::Edit { .. } | CallBody::Write { .. }
    );
    let is_output = !commands_of(call).is_empty();
    let call = (text.calls.len() > 1).then(|| first_line(&text.text[at.clone()], CALL));
    let results = after(path, index).take(NEAR);
    let mut results = results.filter(|at| tree.role(*at) == Some(StatedRole::ToolResult));
    results.find_map(|index| {
        let (entry, text) = read_text(tree, index, access).ok()?;
        let EntryBody::Message(message) = &entry.body else {
            return None;
        };
        let AgentMessage::ToolResult(result) = &**message else {
            return None;
        };
        let is_its = result.tool_call_id == *id && (result.is_error || !is_edit);
        let text = text.filter(|text| is_its && !text.is_excluded && !text.is_own)?;
        Some(Next {
            index,
            role: "result",
            call: call.clone(),
            text,
            is_output: is_output || result.is_error,
        })
    })
}
