//! Slash commands.

use compaction_core::PinTarget;
use compaction_core::undoable::Whose;
use llm_providers::{CancellationToken, Reasoning};
use session_model::text::first_line;
use session_model::{BashExecution, EntryId};
use session_protocol::{Ask, Command, CompactionRequest};

use super::keys::leave;
use crate::block::{Block, ToolCard};
use crate::command::SlashCommand;
use crate::help;
use crate::pager::Pager;
use crate::picker::{Choice, Choices, Picker};
use crate::report::Report;
use crate::state::{Action, FullScreen, Listed, Next, Purpose, State, Waiting, Where, Work};
use crate::text::safe_line;
use crate::theme::Theme;

pub(super) fn run(state: &mut State, command: SlashCommand, arguments: &str) -> Vec<Action> {
    if arguments.is_empty() && command.needs_arguments() {
        let (name, wanted) = (command.name(), command.arguments());
        state.error(format!("/{name} needs {wanted}: {}", command.help()));
        return Vec::new();
    }
    let text = (!arguments.is_empty()).then(|| arguments.to_owned());
    let report = |report| vec![Action::Ask(Purpose::Report(report), Ask::Snapshot)];
    let ask = |wanted| vec![Action::command(command.name(), wanted)];
    match command {
        SlashCommand::Compact => {
            let request = CompactionRequest {
                focus: text,
                ..CompactionRequest::default()
            };
            report(Report::Preview(request))
        }
        SlashCommand::Handoff => ask(Command::Handoff { focus: text }),
        SlashCommand::Undo if arguments == "any" => ask(Command::Undo(Whose::Any)),
        SlashCommand::Undo => ask(Command::Undo(Whose::Ours)),
        SlashCommand::Redo => ask(Command::Redo),
        SlashCommand::Fork => ask(Command::Fork { entry: None }),
        SlashCommand::Continue => ask(Command::Resume),
        SlashCommand::Resume => match text {
            Some(session) => leave(state, Next::Resume(session)),
            None => vec![Action::ListSessions(Where::Here)],
        },
        SlashCommand::Name => {
            let text = format!("-- the session is called {}", safe_line(arguments));
            state.push(Block::Text(vec![text]));
            ask(Command::SetName(arguments.to_owned()))
        }
        SlashCommand::Thinking => match text {
            Some(level) => think(state, &level),
            None => pick(state, Choices::Thinking),
        },
        SlashCommand::Settings => {
            let (save, wanted) = match arguments.strip_prefix("save ") {
                Some(wanted) => (true, wanted.trim()),
                None => (false, arguments),
            };
            match wanted.split_once(char::is_whitespace) {
                Some((name, value)) => set(name, value, save),
                None => report(Report::Settings),
            }
        }
        SlashCommand::Theme => match text {
            Some(name) => set_theme(state, &name),
            None => pick(state, Choices::Theme),
        },
        SlashCommand::Hooks => vec![Action::List(Listed::Hooks)],
        SlashCommand::Permissions => vec![Action::List(Listed::Permissions)],
        SlashCommand::Mcp => vec![Action::List(Listed::Servers)],
        SlashCommand::Export => vec![Action::Ask(Purpose::Export(text), Ask::Snapshot)],
        SlashCommand::Copy => report(Report::Copy(None)),
        SlashCommand::Label => ask(Command::Label { count: 1, text }),
        SlashCommand::Pin => match text {
            Some(text) => ask(Command::Pin(PinTarget::Text(text))),
            None => vec![Action::Ask(Purpose::Pins, Ask::Pins)],
        },
        SlashCommand::Unpin => ask(Command::Unpin {
            id: EntryId::new(arguments),
        }),
        SlashCommand::Autocompact => match arguments {
            "on" => ask(Command::SetAutomatic(true)),
            "off" => ask(Command::SetAutomatic(false)),
            _ => {
                state.error("/autocompact takes on or off");
                Vec::new()
            }
        },
        SlashCommand::Context => report(Report::Context),
        SlashCommand::Tree => report(Report::Tree),
        SlashCommand::Loss => report(Report::Loss),
        SlashCommand::Recall => report(Report::Recall(arguments.to_owned())),
        SlashCommand::Model => match text {
            Some(model) => vec![Action::SetModel(model)],
            None => pick(state, Choices::Model),
        },
        SlashCommand::Cost => vec![Action::Ask(Purpose::Cost, Ask::State)],
        SlashCommand::Help => {
            let lines = help::lines(state.width(), state.theme);
            state.full = Some(FullScreen::Page(Pager::new("Keys and commands", lines)));
            Vec::new()
        }
        SlashCommand::New | SlashCommand::Clear => leave(state, Next::New),
        SlashCommand::Quit => leave(state, Next::Quit),
    }
}

/// Lets the model think so much from the next request on.
fn think(state: &mut State, level: &str) -> Vec<Action> {
    let mut levels = Reasoning::LEVELS.into_iter();
    let Some(reasoning) = levels.find(|known| known.name() == level) else {
        let names = Reasoning::LEVELS.map(Reasoning::name).join(", ");
        state.error(format!("/thinking takes one of {names}"));
        return Vec::new();
    };
    let ask = Ask::Do(Command::SetReasoning(reasoning));
    vec![Action::Ask(Purpose::Thinking(reasoning.name()), ask)]
}

/// Changes the colours of what is printed from now on.
fn set_theme(state: &mut State, name: &str) -> Vec<Action> {
    match Theme::of(name) {
        Some(theme) => state.theme = theme,
        None => {
            let names = Theme::ALL.map(Theme::name).join(", ");
            state.error(format!("/theme takes one of {names}"));
        }
    }
    Vec::new()
}

/// Changes a setting for this run, and keeps it where that is asked for; the answer shows what is set.
fn set(name: &str, value: &str, save: bool) -> Vec<Action> {
    let (name, value) = (name.to_owned(), value.trim().to_owned());
    let command = Command::Set {
        name: name.clone(),
        value: value.clone(),
    };
    let purpose = Purpose::Set { name, value, save };
    vec![Action::Ask(purpose, Ask::Do(command))]
}

/// Runs a command of the user.
pub(super) fn shell(state: &mut State, command: String) -> Vec<Action> {
    let cancel = CancellationToken::new();
    state.stop_waiting();
    state.waiting = Some(Waiting {
        name: format!("! {command}"),
        since: state.now,
        work: Work::Command(cancel.clone()),
    });
    vec![Action::Shell(command, cancel)]
}

/// Shows what a command of the user printed, and adds it to the session.
pub(super) fn ran(state: &mut State, ran: BashExecution) -> Vec<Action> {
    let failed = ran.cancelled || ran.exit_code.is_some_and(|code| code != 0);
    state.push(Block::Tool(Box::new(ToolCard {
        name: "!".to_owned(),
        call: format!("! {}", ran.command),
        seconds: 0.0,
        is_error: failed,
        output: ran.output.clone(),
        truncated: ran.truncated,
        details: None,
    })));
    vec![Action::command("!", Command::AddExecution(Box::new(ran)))]
}

/// Lets an earlier prompt be chosen, the newest first.
pub(super) fn pick_prompt(state: &mut State, prompts: Vec<String>) -> Vec<Action> {
    if prompts.is_empty() {
        state.error("there is no earlier prompt");
        return Vec::new();
    }
    let items = prompts.into_iter().rev().map(|prompt| Choice {
        text: first_line(&prompt, PROMPT),
        key: prompt,
        about: String::new(),
    });
    let picker = Picker::new(Choices::Prompt, items.collect());
    state.full = Some(FullScreen::Picker(Box::new(picker)));
    Vec::new()
}

/// The most characters of a prompt that a list shows.
const PROMPT: usize = 200;

/// Shows a list that is known already.
fn pick(state: &mut State, choices: Choices) -> Vec<Action> {
    let choice = |text: &str, is_now: bool| Choice {
        key: text.to_owned(),
        text: text.to_owned(),
        about: if is_now { "now" } else { "" }.to_owned(),
    };
    let items: Vec<Choice> = match choices {
        Choices::Model => {
            let models = state.setup.models.iter();
            models
                .map(|name| choice(name, *name == state.session.model))
                .collect()
        }
        Choices::Thinking => {
            let levels = Reasoning::LEVELS.iter();
            levels
                .map(|level| choice(level.name(), state.thinking == Some(level.name())))
                .collect()
        }
        Choices::Theme => {
            let themes = Theme::ALL.iter();
            themes
                .map(|theme| choice(theme.name(), *theme == state.theme))
                .collect()
        }
        Choices::Session(_) | Choices::Setting | Choices::Prompt => Vec::new(),
    };
    if items.is_empty() {
        state.error("no model can be asked: give a key, see agent-cli models");
        return Vec::new();
    }
    state.full = Some(FullScreen::Picker(Box::new(Picker::new(choices, items))));
    Vec::new()
}

/// Does what was chosen from a list.
pub(super) fn picked(state: &mut State, choices: Choices, choice: &Choice) -> Vec<Action> {
    if choices != Choices::Setting {
        state.full = None;
    }
    match choices {
        Choices::Session(_) => leave(state, Next::Resume(choice.key.clone())),
        Choices::Model => vec![Action::SetModel(choice.key.clone())],
        Choices::Thinking => think(state, &choice.key),
        Choices::Theme => set_theme(state, &choice.key),
        Choices::Prompt => {
            state.editor.show(&choice.key);
            Vec::new()
        }
        Choices::Setting => match choice.key.as_str() {
            "true" => set(&choice.text, "false", false),
            "false" => set(&choice.text, "true", false),
            value => {
                // What is no switch is typed.
                state.full = None;
                let text = format!("/settings {} {value}", choice.text);
                state.editor.set_text(&text);
                Vec::new()
            }
        },
    }
}
