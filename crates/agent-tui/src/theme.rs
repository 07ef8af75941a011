//! Styles. Colour only repeats what letters say, so a terminal without colours loses nothing.

use ratatui::style::{Color, Modifier, Style};

/// The styles of everything that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    color: bool,
}

impl Theme {
    /// Returns the styles, with colours or without.
    pub const fn new(color: bool) -> Self {
        Self { color }
    }

    const fn colored(self, color: Color) -> Style {
        match self.color {
            true => Style::new().fg(color),
            false => Style::new(),
        }
    }

    /// Returns the style of plain text.
    pub const fn plain(self) -> Style {
        Style::new()
    }

    /// Returns the style of what matters less.
    pub const fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Returns the style of headings and of what the user wrote.
    pub const fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Returns the style of the row that is chosen.
    pub const fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Returns the style of good news and of added lines.
    pub const fn good(self) -> Style {
        self.colored(Color::Green)
    }

    /// Returns the style of warnings.
    pub const fn warn(self) -> Style {
        self.colored(Color::Yellow)
    }

    /// Returns the style of errors and of removed lines.
    pub const fn bad(self) -> Style {
        self.colored(Color::Red)
    }

    /// Returns the style of code.
    pub const fn code(self) -> Style {
        self.colored(Color::Cyan)
    }
}
