//! From messages to the pieces of an outline: requests, answers, and what the calls of each turn did.

use std::borrow::Cow;
use std::collections::BTreeMap;

use session_facts::{
    Action, ActionKind, CommandRole, CommandRun, FileAction, Outcome, SourceMessage, actions,
    below, failing, open_todos_in,
};
use session_model::text::one_line;
use session_model::{AgentMessage, EntryId, public_lines, without_private};

use super::{Body, Outline, Piece, PieceKind, words_tokens};
use crate::outline::HANDOFF_MESSAGE;
use crate::prose::without_ledger;
use crate::serialize::escape_line;

/// Weights: the user before answers, answers before calls, the last answer of a turn before the others.
const EARLIER: f64 = 8.0;
const REQUEST: f64 = 3.0;
const ANSWER: f64 = 1.5;
const WORK: f64 = 1.0;
const OTHER_ANSWER: f64 = 0.05;
const BRANCH: f64 = 1.5;
/// A failing command or a todo is shown whole or not at all.
const LINE: f64 = 12.0;
/// The factor by which the newest and the first request weigh more.
const NEWEST: f64 = 4.0;
const FIRST: f64 = 2.0;
/// After so many turns a piece weighs half as much; after so many lines of a list, a line.
const HALF_AGE: f64 = 128.0;
const HALF_LIST: f64 = 4.0;

/// The length limit of the line with a command's error, in characters.
const WHY: usize = 160;

/// That of the last line of tests without one, in characters.
const PRINTED: usize = 48;

/// A turn that is being read.
#[derive(Default)]
struct Turn {
    /// The request and what else the turn begins with.
    opening: Vec<Piece>,
    answers: Vec<Piece>,
    work: Work,
}

pub(super) fn outline(
    messages: &[SourceMessage],
    folder: &str,
    is_shown: &dyn Fn(&EntryId) -> bool,
) -> Outline {
    let done = actions(messages);
    let mut of_message: BTreeMap<usize, Vec<&Action>> = BTreeMap::new();
    for action in &done {
        of_message.entry(action.message).or_default().push(action);
    }
    let mut turns: Vec<Turn> = vec![Turn::default()];
    let mut first_request = None;
    for (at, source) in messages.iter().enumerate() {
        let opening = opening_of(source);
        let begins = opening
            .as_ref()
            .is_some_and(|piece| piece.kind == PieceKind::Request);
        if begins {
            turns.push(Turn::default());
        }
        let Some(turn) = turns.last_mut() else {
            continue;
        };
        if let Some(piece) = opening {
            if let (None, PieceKind::Request, Body::Quote(text)) =
                (&first_request, piece.kind, &piece.body)
            {
                first_request = Some(text.clone());
            }
            if is_shown(&source.entry_id) {
                turn.opening.push(piece);
            }
        }
        if !is_shown(&source.entry_id) {
            continue;
        }
        if let AgentMessage::Assistant(answer) = &*source.message {
            turn.answers.extend(quote(
                PieceKind::Answer,
                source,
                answer.content.joined_text("\n"),
                ANSWER,
            ));
        }
        for action in of_message.remove(&at).unwrap_or_default() {
            turn.work.add(action, folder, &source.entry_id);
        }
    }
    let mut pieces = in_order(turns);
    let is_request = |piece: &Piece| piece.kind == PieceKind::Request;
    if let Some(newest) = pieces.iter().rposition(is_request) {
        pieces[newest].weight *= NEWEST;
    }
    if let Some(first) = pieces.iter().position(is_request) {
        // However old it is.
        pieces[first].weight = pieces[first].weight.max(REQUEST * FIRST);
    }
    for (age, at) in failing(&done).into_iter().rev().enumerate() {
        let action = &done[at];
        let entry_id = &messages[action.message].entry_id;
        if let (ActionKind::Command(run), true) = (&action.kind, is_shown(entry_id)) {
            let text = code(shown(run, folder));
            let text = format!("- `{text}`{}", ended(&action.outcome));
            pieces.push(line(PieceKind::Failing, entry_id, text, age));
        }
    }
    if let Some((at, todos)) =
        open_todos_in(messages).filter(|(at, _)| is_shown(&messages[*at].entry_id))
    {
        let entry_id = &messages[at].entry_id;
        let todos = todos.into_iter().enumerate();
        pieces.extend(todos.map(|(age, todo)| {
            line(
                PieceKind::Todo,
                entry_id,
                format!("- [ ] {}", escape_line(&without_private(&todo))),
                age,
            )
        }));
    }
    Outline {
        pieces,
        first_request,
        changed: changed_files(&done),
        ..Outline::default()
    }
}

/// Returns the piece for a summary of an earlier compaction.
pub(super) fn earlier_summary(entry_id: EntryId, text: String) -> Piece {
    piece(PieceKind::EarlierSummary, entry_id, text, EARLIER)
}

/// Returns what a message adds in front of the answers of a turn.
fn opening_of(source: &SourceMessage) -> Option<Piece> {
    match &*source.message {
        AgentMessage::User(user) => quote(PieceKind::Request, source, user.words(), REQUEST),
        AgentMessage::Custom(custom) if custom.custom_type == HANDOFF_MESSAGE => {
            let text = without_ledger(&custom.content.joined_text("\n"));
            Some(piece(
                PieceKind::Handoff,
                source.entry_id.clone(),
                text,
                EARLIER,
            ))
        }
        AgentMessage::BranchSummary(branch) => {
            let text = without_ledger(&branch.summary);
            Some(piece(
                PieceKind::Branch,
                source.entry_id.clone(),
                text,
                BRANCH,
            ))
        }
        AgentMessage::Custom(_)
        | AgentMessage::System(_)
        | AgentMessage::Developer(_)
        | AgentMessage::Assistant(_)
        | AgentMessage::ToolResult(_)
        | AgentMessage::BashExecution(_)
        | AgentMessage::CompactionSummary(_)
        | AgentMessage::Other { .. } => None,
    }
}

/// Returns a piece that quotes a text; `None` if it has no words.
fn quote(kind: PieceKind, source: &SourceMessage, text: String, weight: f64) -> Option<Piece> {
    let piece = piece(kind, source.entry_id.clone(), text, weight);
    let has_words = |text: &str| text.chars().any(|letter| !letter.is_whitespace());
    matches!(&piece.body, Body::Quote(text) if has_words(text)).then_some(piece)
}

/// Returns a piece that quotes a text, without what its author marked as private.
fn piece(kind: PieceKind, entry_id: EntryId, text: String, weight: f64) -> Piece {
    let public = match public_lines(&text) {
        Cow::Owned(public) => Some(public),
        Cow::Borrowed(_) => None,
    };
    let text = public.unwrap_or(text);
    Piece {
        kind,
        entry_id,
        tokens: words_tokens(&text),
        body: Body::Quote(text),
        weight,
    }
}

fn line(kind: PieceKind, entry_id: &EntryId, text: String, age: usize) -> Piece {
    Piece {
        kind,
        entry_id: entry_id.clone(),
        tokens: words_tokens(&text),
        body: Body::Line(text),
        weight: LINE / (1.0 + age as f64 / HALF_LIST),
    }
}

/// Returns the pieces of turns in their order; what is older weighs less.
fn in_order(turns: Vec<Turn>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let newest = turns.len();
    for (number, turn) in turns.into_iter().enumerate() {
        let age = (newest - number) as f64;
        let Turn {
            mut opening,
            mut answers,
            work,
        } = turn;
        let others = answers.len().saturating_sub(1);
        for answer in &mut answers[..others] {
            answer.kind = PieceKind::OtherAnswer;
            answer.weight = OTHER_ANSWER;
        }
        let last = answers.pop();
        opening.append(&mut answers);
        let all = opening.into_iter().chain(work.piece()).chain(last);
        pieces.extend(all.map(|piece| Piece {
            weight: piece.weight / (1.0 + age / HALF_AGE),
            ..piece
        }));
    }
    pieces
}

/// The effects of a turn's calls.
#[derive(Default)]
struct Work {
    entry_id: Option<EntryId>,
    commits: Vec<(String, String)>,
    /// The last action on each file, by its path, with the time.
    files: BTreeMap<String, (usize, FileAction)>,
    /// The last run of each command, by its key, with when.
    commands: BTreeMap<String, (usize, CommandRole, String, Outcome)>,
    count: usize,
}

impl Work {
    fn add(&mut self, action: &Action, folder: &str, entry_id: &EntryId) {
        self.count += 1;
        let at = self.count;
        match &action.kind {
            ActionKind::Commit { hash, subject } => {
                // One that was amended has its last hash.
                let subject = format!("\"{}\"", escape_line(subject));
                self.commits.retain(|(_, known)| *known != subject);
                self.commits.push((format!("commit {hash}"), subject));
            }
            ActionKind::File { action: done, path } if has_ended(action) => {
                self.files
                    .insert(below(folder, path).to_owned(), (at, *done));
            }
            ActionKind::Command(run) if run.role != CommandRole::Looks => {
                let text = shown(run, folder).to_owned();
                let known = (at, run.role, text, action.outcome.clone());
                self.commands.insert(run.key.clone(), known);
            }
            ActionKind::File { .. } | ActionKind::Command(_) => return,
        }
        self.entry_id.get_or_insert_with(|| entry_id.clone());
    }

    /// Returns the piece: commits, then tests and checks, then files, then other commands, each the newest first.
    fn piece(self) -> Option<Piece> {
        let entry_id = self.entry_id?;
        let commits = self.commits.into_iter().rev();
        let mut items: Vec<String> = commits
            .map(|(commit, subject)| format!("{commit} {subject}"))
            .collect();
        let mut commands: Vec<_> = self.commands.into_values().collect();
        commands.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
        let is_check =
            |role: &CommandRole| matches!(role, CommandRole::Tests | CommandRole::Checks);
        let (checks, others): (Vec<_>, Vec<_>) = commands
            .into_iter()
            .partition(|(_, role, ..)| is_check(role));
        let done = |(_, role, text, outcome): (usize, CommandRole, String, Outcome)| {
            let printed = match outcome {
                Outcome::Ended { line } if role == CommandRole::Tests && !line.is_empty() => {
                    format!(": {}", escape_line(&one_line(&line, PRINTED)))
                }
                outcome => ended(&outcome),
            };
            format!("`{}`{printed}", code(&text))
        };
        items.extend(checks.into_iter().map(done));
        let mut files: Vec<_> = self.files.into_iter().collect();
        files.sort_by_key(|(_, (at, _))| std::cmp::Reverse(*at));
        items.extend(
            files
                .into_iter()
                .map(|(path, (_, action))| format!("{} {}", past(action), escape_line(&path))),
        );
        items.extend(others.into_iter().map(done));
        let items: Vec<(String, u64)> = items
            .into_iter()
            .map(|item| {
                let tokens = words_tokens(&item) + 1;
                (item, tokens)
            })
            .collect();
        Some(Piece {
            kind: PieceKind::Work,
            entry_id,
            tokens: items.iter().map(|(_, tokens)| tokens).sum(),
            body: Body::Items(items),
            weight: WORK,
        })
    }
}

const fn past(action: FileAction) -> &'static str {
    match action {
        FileAction::Write => "wrote",
        FileAction::Delete => "deleted",
        FileAction::Read => "read",
        FileAction::Edit => "edited",
    }
}

/// Returns a command as it is shown: a change to the session's own folder says nothing.
fn shown<'a>(run: &'a CommandRun, folder: &str) -> &'a str {
    match &run.changes_to {
        Some((to, rest)) if to.trim_end_matches('/') == folder => rest,
        _ => &run.text,
    }
}

/// Returns a command as text between backticks.
fn code(text: &str) -> String {
    escape_line(&text.replace('`', "'"))
}

const fn has_ended(action: &Action) -> bool {
    matches!(action.outcome, Outcome::Ended { .. })
}

/// Returns the text after a command that failed.
fn ended(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed { line } if line.trim().is_empty() => " failed".to_owned(),
        Outcome::Failed { line } => format!(" failed: {}", escape_line(&one_line(line, WHY))),
        Outcome::Ended { .. } | Outcome::Unknown => String::new(),
    }
}

/// Returns the files that were changed, each once, the one that was changed last at the end.
fn changed_files(actions: &[Action]) -> Vec<String> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, action) in actions.iter().enumerate() {
        if let (ActionKind::File { path, .. }, true) = (&action.kind, has_ended(action)) {
            last.insert(path, at);
        }
    }
    let mut files: Vec<(&str, usize)> = last.into_iter().collect();
    files.sort_by_key(|(_, at)| *at);
    files.into_iter().map(|(path, _)| path.to_owned()).collect()
}
