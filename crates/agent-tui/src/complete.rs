//! What completes what is typed, with what is the case now.

use compaction_core::TokenCount;
use session_text::tokens;

use crate::command::SlashCommand;
use crate::matching::ranked;
use crate::menu::{Item, Kind, Menu};
use crate::state::{Action, State};
use crate::text::safe_line;

/// How many items are offered at most.
const MOST: usize = 50;

/// Returns the menu for what is typed, if there is one.
pub fn menu_of(state: &State) -> Option<Menu> {
    let before = state.editor.before_cursor();
    let typed = before
        .strip_prefix('/')
        .filter(|_| state.editor.is_on_first_line());
    let (kind, query) = match typed {
        Some(rest) if !rest.contains(char::is_whitespace) => (Kind::Command, rest),
        Some(rest) if rest.starts_with("model ") => {
            (Kind::Model, rest["model ".len()..].trim_start())
        }
        Some(_) | None => (Kind::File, mention(&before)?),
    };
    let items = match kind {
        Kind::Command => commands(query, state),
        Kind::Model => named(query, &state.setup.models, ""),
        Kind::File => named(query, state.files.as_deref()?, " "),
    };
    let replaced = match kind {
        Kind::Command | Kind::File => query.chars().count() + 1,
        Kind::Model => query.chars().count(),
    };
    (!items.is_empty()).then_some(Menu {
        items,
        chosen: 0,
        replaced,
        kind,
    })
}

/// Returns what the menu says about it: what is the case now, or what it does.
fn about(command: SlashCommand, state: &State) -> String {
    let context = state.context;
    let used = context.filter(|context| context.window > 0).map(|context| {
        let percent = TokenCount(context.tokens).percent_of(TokenCount(context.window));
        format!("context {percent}% used")
    });
    let now = match command {
        SlashCommand::Compact => used,
        SlashCommand::Context => context.map(|context| {
            let left = context
                .threshold
                .map(|most| most.saturating_sub(context.tokens));
            match left {
                Some(left) => format!("{} left", tokens(TokenCount(left))),
                None => tokens(TokenCount(context.tokens)),
            }
        }),
        SlashCommand::Model => Some(format!("now {}", safe_line(&state.session.model))),
        SlashCommand::Cost => state
            .spent
            .cost_usd
            .map(|cost| format!("${cost:.3} so far")),
        SlashCommand::Undo | SlashCommand::Loss if state.compactions > 0 => {
            let noun = if state.compactions == 1 {
                "compaction"
            } else {
                "compactions"
            };
            Some(format!("{} {noun} in this run", state.compactions))
        }
        _ => None,
    };
    match now {
        Some(now) => format!("{}: {now}", command.help()),
        None => command.help().to_owned(),
    }
}

/// Returns what asks for the files, where they are wanted and not listed yet.
pub fn wanted_files(state: &State) -> Option<Action> {
    let is_mention = mention(&state.editor.before_cursor()).is_some();
    (is_mention && state.files.is_none()).then_some(Action::ListFiles)
}

/// Puts the chosen completion into the editor; returns whether it is a command that needs nothing more.
pub fn accept(state: &mut State) -> bool {
    let Some(menu) = state.menu.take() else {
        return false;
    };
    let Some(item) = menu.items.get(menu.chosen) else {
        return false;
    };
    state.editor.replace_before(menu.replaced, &item.insert);
    item.runs
}

/// Returns the path that is being typed behind an `@`.
fn mention(before: &str) -> Option<&str> {
    let (head, query) = before.rsplit_once('@')?;
    let begins = head.is_empty() || head.ends_with(char::is_whitespace);
    (begins && !query.contains(char::is_whitespace)).then_some(query)
}

fn commands(query: &str, state: &State) -> Vec<Item> {
    let names = SlashCommand::ALL.iter().map(|command| command.name());
    let own = &state.setup.commands;
    let names: Vec<&str> = names
        .chain(own.iter().map(|own| own.name.as_str()))
        .collect();
    let found = ranked(query, &names);
    let item = |place: usize| {
        let Some(command) = SlashCommand::ALL.get(place).copied() else {
            let own = &own[place - SlashCommand::ALL.len()];
            return Item {
                name: safe_line(&own.name),
                about: safe_line(&own.about),
                insert: format!("/{} ", own.name),
                runs: false,
            };
        };
        let space = if command.arguments().is_empty() {
            ""
        } else {
            " "
        };
        Item {
            name: command.name().to_owned(),
            about: about(command, state),
            insert: format!("/{}{space}", command.name()),
            runs: !command.needs_arguments(),
        }
    };
    found.into_iter().map(item).collect()
}

fn named(query: &str, names: &[String], behind: &str) -> Vec<Item> {
    let found = ranked(query, names);
    let item = |place: usize| Item {
        name: safe_line(&names[place]),
        about: String::new(),
        insert: match behind {
            "" => names[place].clone(),
            behind => format!("@{}{behind}", names[place]),
        },
        runs: behind.is_empty(),
    };
    found.into_iter().take(MOST).map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::mention;

    #[test]
    fn a_path_is_completed_behind_an_at_that_begins_a_word() {
        assert_eq!(mention("look at @src/li"), Some("src/li"));
        assert_eq!(mention("@"), Some(""));
        assert_eq!(mention("ann@example.com"), None);
        assert_eq!(mention("@a b"), None);
    }
}
