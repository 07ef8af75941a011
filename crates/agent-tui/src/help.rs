//! The page of keys and commands.

use ratatui::text::{Line, Span};

use crate::command::SlashCommand;
use crate::text::{line, wrap};
use crate::theme::Theme;

/// What keys do.
const KEYS: [(&str, &str); 17] = [
    ("enter", "send; while the agent works, steer it"),
    (
        "alt+enter",
        "while the agent works: send after this turn; else a new line",
    ),
    ("ctrl+j, \\ enter", "new line"),
    ("up, down", "earlier prompts"),
    ("alt+up", "edit the newest queued message"),
    ("esc", "cancel the compaction, else stop the turn"),
    ("ctrl+c", "empty the editor or stop; twice leaves"),
    ("ctrl+d", "leave, where the editor is empty"),
    ("ctrl+o", "everything of this run, unfolded"),
    ("ctrl+_", "undo in the editor"),
    ("ctrl+z", "back to the shell; fg continues"),
    ("tab", "complete a command, a model or a file"),
    ("ctrl+r", "find an earlier prompt of any session here"),
    (
        "y n a v",
        "and enter: answer a question: once, no, always here, never here",
    ),
    ("!", "run a command; the model sees its output"),
    ("@", "name a file"),
    ("/", "commands"),
];

/// Returns the page of keys and commands.
pub fn lines(width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![line("Keys", theme.bold())];
    let names = (width / 3).min(28);
    let row = |name: &str, about: &str| {
        let whole = Line::from(vec![
            Span::styled(format!("  {name:<names$}  "), theme.code()),
            Span::raw(about.to_owned()),
        ]);
        wrap(&whole, width, &Span::raw(" ".repeat(6)))
    };
    lines.extend(KEYS.iter().flat_map(|(name, about)| row(name, about)));
    lines.push(Line::default());
    lines.push(line("Commands", theme.bold()));
    for command in SlashCommand::ALL {
        let name = format!("/{} {}", command.name(), command.arguments());
        lines.extend(row(name.trim_end(), command.help()));
    }
    lines
}
