//! Slash commands.

use agent_session::llm_providers::Reasoning;
use agent_session::runtime::{Ask, Command, CompactionRequest};
use compaction_core::PinTarget;
use session_model::EntryId;

use super::keys::leave;
use crate::block::Block;
use crate::command::SlashCommand;
use crate::help;
use crate::pager::Pager;
use crate::picker::{Choice, Choices, Picker};
use crate::report::Report;
use crate::state::{Action, FullScreen, Next, Purpose, State};
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
        SlashCommand::Undo => ask(Command::Undo),
        SlashCommand::Redo => ask(Command::Redo),
        SlashCommand::Fork => ask(Command::Fork { entry: None }),
        SlashCommand::Continue => ask(Command::Resume),
        SlashCommand::Resume => match text {
            Some(session) => leave(state, Next::Resume(session)),
            None => vec![Action::ListSessions],
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
        SlashCommand::Settings => match arguments.split_once(char::is_whitespace) {
            Some((name, value)) => set(name, value),
            None => report(Report::Settings),
        },
        SlashCommand::Theme => match text {
            Some(name) => set_theme(state, &name),
            None => pick(state, Choices::Theme),
        },
        SlashCommand::Hooks => vec![Action::ListHooks],
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
        SlashCommand::New => leave(state, Next::New),
        SlashCommand::Quit => leave(state, Next::Quit),
    }
}

/// How much a model can think.
const THINKING: [(&str, Reasoning); 6] = [
    ("off", Reasoning::Off),
    ("minimal", Reasoning::Minimal),
    ("low", Reasoning::Low),
    ("medium", Reasoning::Medium),
    ("high", Reasoning::High),
    ("xhigh", Reasoning::XHigh),
];

/// Lets the model think so much from the next request on.
fn think(state: &mut State, level: &str) -> Vec<Action> {
    let known = THINKING.into_iter().find(|(name, _)| *name == level);
    let Some((name, reasoning)) = known else {
        let names = THINKING.map(|(name, _)| name).join(", ");
        state.error(format!("/thinking takes one of {names}"));
        return Vec::new();
    };
    let ask = Ask::Do(Command::SetReasoning(reasoning));
    vec![Action::Ask(Purpose::Thinking(name), ask)]
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

/// Changes a setting for this run; the answer shows what is set.
fn set(name: &str, value: &str) -> Vec<Action> {
    let command = Command::Set {
        name: name.to_owned(),
        value: value.trim().to_owned(),
    };
    let set = format!("{name} = {}", value.trim());
    vec![Action::Ask(Purpose::Set(set), Ask::Do(command))]
}

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
            let levels = THINKING.iter();
            levels
                .map(|(name, _)| choice(name, state.thinking == Some(*name)))
                .collect()
        }
        Choices::Theme => {
            let themes = Theme::ALL.iter();
            themes
                .map(|theme| choice(theme.name(), *theme == state.theme))
                .collect()
        }
        Choices::Session | Choices::Setting => Vec::new(),
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
        Choices::Session => leave(state, Next::Resume(choice.key.clone())),
        Choices::Model => vec![Action::SetModel(choice.key.clone())],
        Choices::Thinking => think(state, &choice.key),
        Choices::Theme => set_theme(state, &choice.key),
        Choices::Setting => match choice.about.as_str() {
            "true" => set(&choice.key, "false"),
            "false" => set(&choice.key, "true"),
            value => {
                // What is no switch is typed.
                state.full = None;
                let text = format!("/settings {} {value}", choice.key);
                state.editor.set_text(&text);
                Vec::new()
            }
        },
    }
}
