//! Slash commands.

use agent_session::runtime::{Ask, Command};
use compaction_core::PinTarget;
use session_model::EntryId;

use super::keys::leave;
use crate::command::SlashCommand;
use crate::help;
use crate::pager::Pager;
use crate::report::Report;
use crate::state::{Action, FullScreen, Next, Purpose, State};

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
        SlashCommand::Compact => ask(Command::Compact { focus: text }),
        SlashCommand::Handoff => ask(Command::Handoff { focus: text }),
        SlashCommand::Undo => ask(Command::Undo),
        SlashCommand::Redo => ask(Command::Redo),
        SlashCommand::Fork => ask(Command::Fork { entry: None }),
        SlashCommand::Resume => ask(Command::Resume),
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
        SlashCommand::Model => vec![Action::SetModel(arguments.to_owned())],
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
