//! Keys.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use session_model::EntryId;
use session_protocol::{Ask, Command};
use session_store::{Delivery, Prompt};

use super::{slash, typed};
use crate::block::Block;
use crate::complete;
use crate::menu;
use crate::pager::{Pager, Stay};
use crate::picker::{Choices, Picked};
use crate::preview::PreviewStep;
use crate::report::Report;
use crate::review::ReviewStep;
use crate::state::{Action, FullScreen, Next, Purpose, State, Where};
use crate::tree::TreeStep;

/// For how long a question that came up takes no answer: the keys were meant for something else.
const SETTLE: Duration = Duration::from_millis(400);

pub(super) fn key(state: &mut State, key: KeyEvent) -> Vec<Action> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    if state.full.is_some() {
        return full_screen_key(state, key);
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    if control && key.code == KeyCode::Char('c') {
        return interrupt(state);
    }
    state.leaving = None;
    if control && key.code == KeyCode::Char('z') {
        return vec![Action::Suspend];
    }
    if state.menu.is_some()
        && let Some(actions) = menu_key(state, key)
    {
        return actions;
    }
    match key.code {
        KeyCode::Char('d') if control && state.editor.is_empty() => leave(state, Next::Quit),
        KeyCode::Char('o') if control => {
            open_transcript(state);
            Vec::new()
        }
        KeyCode::Char('r') if control => {
            let prompts = state.editor.prompts();
            slash::pick_prompt(state, prompts)
        }
        KeyCode::Esc => escape(state),
        KeyCode::Up if alt => take_back(state),
        KeyCode::Char('j') if control => new_line(state),
        KeyCode::Enter if shift || control => new_line(state),
        KeyCode::Enter if alt && !state.is_working() => new_line(state),
        KeyCode::Enter if state.editor.take_backslash() => new_line(state),
        KeyCode::Enter if alt => submit(state, Delivery::FollowUp),
        KeyCode::Enter if state.answer().is_some() => answer(state),
        KeyCode::Enter => submit(state, Delivery::Steer),
        KeyCode::Up | KeyCode::Left if state.is_asked() => choose(state, false),
        KeyCode::Down | KeyCode::Right if state.is_asked() => choose(state, true),
        _ => {
            state.editor.key(key);
            typed(state)
        }
    }
}

fn full_screen_key(state: &mut State, key: KeyEvent) -> Vec<Action> {
    let height = usize::from(state.setup.size.height);
    let mut actions = Vec::new();
    let stay = match &mut state.full {
        None => Stay::Closed,
        Some(FullScreen::Page(pager)) => pager.key(key, height),
        Some(FullScreen::Tree(tree)) => match tree.key(key, height) {
            TreeStep::Stay => Stay::Open,
            TreeStep::Close => Stay::Closed,
            TreeStep::Go(command) => {
                actions.push(Action::command("tree", command));
                Stay::Closed
            }
            TreeStep::Do(command) => {
                actions.push(Action::command("label", command));
                Stay::Open
            }
            TreeStep::Copy(entry) => {
                let purpose = Purpose::Report(Report::Copy(Some(entry)));
                actions.push(Action::Ask(purpose, Ask::Snapshot));
                Stay::Open
            }
        },
        Some(FullScreen::Preview(preview)) => match preview.key(key, height) {
            PreviewStep::Stay => Stay::Open,
            PreviewStep::Close => Stay::Closed,
            PreviewStep::Plan(request) => {
                let purpose = Purpose::Report(Report::Preview(request));
                actions.push(Action::Ask(purpose, Ask::Snapshot));
                Stay::Open
            }
            PreviewStep::Run(request) => {
                state.edits_summary = request.review;
                actions.push(super::compact(request));
                Stay::Closed
            }
        },
        Some(FullScreen::Review(review)) => match review.key(key, height) {
            ReviewStep::Stay => Stay::Open,
            ReviewStep::Edit => {
                actions.push(Action::Edit(review.summary.clone()));
                Stay::Open
            }
            ReviewStep::Apply(summary) => {
                actions.push(Action::command("review", Command::Review { summary }));
                Stay::Closed
            }
            ReviewStep::Cancel => {
                actions.push(Action::command("stop", Command::AbortCompaction));
                Stay::Closed
            }
        },
        Some(FullScreen::Picker(picker)) => match picker.key(key, height) {
            Picked::Stay => Stay::Open,
            Picked::Close => Stay::Closed,
            Picked::Other => {
                let wanted = match picker.choices {
                    Choices::Session(Where::Here) => Where::Everywhere,
                    _ => Where::Here,
                };
                actions.push(Action::ListSessions(wanted));
                Stay::Open
            }
            Picked::Choice(choice) => {
                let choices = picker.choices;
                return slash::picked(state, choices, &choice);
            }
        },
    };
    if stay == Stay::Closed {
        state.full = None;
        state.stop_waiting();
    }
    actions
}

/// Shows everything of this run, unfolded.
fn open_transcript(state: &mut State) {
    let width = state.width();
    let mut lines = state.transcript.open(width, state.theme);
    if let Some(asked) = state.approvals.front() {
        let asked = format!("{} wants to run:\n\n{}", asked.tool, asked.subject);
        let asked = crate::text::safe_lines(&session_model::text::reveal(&asked));
        lines.push(ratatui::text::Line::default());
        lines.extend(crate::text::prefixed(
            &asked,
            "",
            width,
            state.theme.plain(),
        ));
    }
    let pager = Pager::new("Transcript of this run, unfolded", lines);
    let height = usize::from(state.setup.size.height);
    state.full = Some(FullScreen::Page(pager.at_end(height)));
}

fn menu_key(state: &mut State, key: KeyEvent) -> Option<Vec<Action>> {
    let menu = state.menu.as_mut()?;
    match key.code {
        KeyCode::Up => menu.step(-1),
        KeyCode::Down => menu.step(1),
        KeyCode::Esc => state.menu = None,
        KeyCode::Tab => {
            complete::accept(state);
            return Some(typed(state));
        }
        KeyCode::Enter if key.modifiers.is_empty() => {
            let is_command = matches!(menu.kind, menu::Kind::Command | menu::Kind::Model);
            let runs = complete::accept(state);
            return Some(match is_command && runs {
                true => submit(state, Delivery::Steer),
                false => typed(state),
            });
        }
        _ => return None,
    }
    Some(Vec::new())
}

fn new_line(state: &mut State) -> Vec<Action> {
    state.editor.insert_newline();
    typed(state)
}

/// Stops what runs: a report first, then a compaction, then the turn.
fn escape(state: &mut State) -> Vec<Action> {
    if state.stop_waiting() {
        return Vec::new();
    }
    if state.compaction.is_some() {
        return vec![Action::command("stop", Command::AbortCompaction)];
    }
    match state.is_working() {
        true => vec![Action::command("stop", Command::Abort)],
        false => Vec::new(),
    }
}

/// Takes ctrl+c: it empties the editor or stops what runs, and pressed again leaves.
fn interrupt(state: &mut State) -> Vec<Action> {
    if state.leaving.is_some() {
        return leave(state, Next::Quit);
    }
    state.leaving = Some(state.now);
    if !state.editor.is_empty() {
        state.editor.clear();
        state.menu = None;
        return Vec::new();
    }
    escape(state)
}

pub(super) fn leave(state: &mut State, next: Next) -> Vec<Action> {
    state.is_closing = true;
    vec![Action::Leave(next)]
}

/// Puts the newest message that waits into the editor.
fn take_back(state: &State) -> Vec<Action> {
    let Some(message) = state.queue.last() else {
        return Vec::new();
    };
    let command = Command::Dequeue {
        id: EntryId::new(&message.id),
    };
    vec![Action::Ask(Purpose::TakeBack, Ask::Do(command))]
}

fn choose(state: &mut State, forward: bool) -> Vec<Action> {
    if let Some(asked) = state.approvals.front_mut() {
        asked.step(forward);
    }
    Vec::new()
}

fn answer(state: &mut State) -> Vec<Action> {
    let (Some(decision), Some(asked)) = (state.answer(), state.approvals.front()) else {
        return Vec::new();
    };
    if state.now.saturating_sub(asked.since) < SETTLE {
        return Vec::new();
    }
    let call_id = asked.call_id.clone();
    state.editor.clear();
    let command = Command::Approve { call_id, decision };
    vec![Action::command("approve", command)]
}

fn submit(state: &mut State, delivery: Delivery) -> Vec<Action> {
    state.menu = None;
    if state.editor.text().trim().is_empty() {
        return Vec::new();
    }
    match crate::command::parse(&state.editor.text()) {
        crate::command::Typed::Message(_) if state.runs_command() => {
            state.error("your command still runs; esc stops it");
            Vec::new()
        }
        crate::command::Typed::Message(_) => {
            let text = state.editor.submit().trim().to_owned();
            send(state, text, delivery)
        }
        crate::command::Typed::Shell(_) if state.is_working() || state.runs_command() => {
            state.error("a command of yours runs when nothing else does; esc stops what runs");
            Vec::new()
        }
        crate::command::Typed::Shell(command) => {
            state.editor.submit();
            slash::shell(state, command)
        }
        crate::command::Typed::Unknown(name) => {
            if let Some(message) = own_command(state, &name) {
                state.editor.submit();
                return send(state, message, delivery);
            }
            let text = format!("there is no command /{name}; /help lists them");
            state.push(Block::Error(text));
            Vec::new()
        }
        crate::command::Typed::Command(command, arguments) => {
            state.editor.submit();
            slash::run(state, command, &arguments)
        }
    }
}

/// Sends a message.
fn send(state: &mut State, text: String, delivery: Delivery) -> Vec<Action> {
    // There may be others by the next message.
    state.files = None;
    let delivery = match state.is_working() {
        true => delivery,
        false => Delivery::Prompt,
    };
    let command = Command::Prompt {
        prompt: Prompt {
            images: state.editor.images_of(&text),
            text: text.clone(),
        },
        delivery,
    };
    vec![Action::Ask(Purpose::Message(text), Ask::Do(command))]
}

/// Returns the message of a command of the user.
fn own_command(state: &State, name: &str) -> Option<String> {
    let mut commands = state.setup.commands.iter();
    let command = commands.find(|command| command.name == name)?;
    let typed = state.editor.text();
    let arguments = typed.trim().strip_prefix('/')?.strip_prefix(name)?;
    Some(command.message(arguments.trim()))
}
