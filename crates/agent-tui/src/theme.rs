//! Styles. Colour only repeats what letters say, so a terminal without colours loses nothing.

use ratatui::style::{Color, Modifier, Style};

/// The styles of everything that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Colours of the terminal, which are bright, for a dark background.
    #[default]
    Dark,
    /// Dark colours, for a light background.
    Light,
    /// No colours.
    None,
}

impl Theme {
    /// Every theme.
    pub const ALL: [Self; 3] = [Self::Dark, Self::Light, Self::None];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::None => "none",
        }
    }

    /// Returns the theme that has this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.name() == name)
    }

    /// Returns a colour of the terminal, or one of the 256 that is dark.
    const fn colored(self, color: Color, dark: u8) -> Style {
        match self {
            Self::Dark => Style::new().fg(color),
            Self::Light => Style::new().fg(Color::Indexed(dark)),
            Self::None => Style::new(),
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
        self.colored(Color::Green, 28)
    }

    /// Returns the style of warnings.
    pub const fn warn(self) -> Style {
        self.colored(Color::Yellow, 130)
    }

    /// Returns the style of errors and of removed lines.
    pub const fn bad(self) -> Style {
        self.colored(Color::Red, 124)
    }

    /// Returns the style of code.
    pub const fn code(self) -> Style {
        self.colored(Color::Cyan, 25)
    }
}

#[cfg(test)]
mod tests {
    use super::Theme;

    #[test]
    fn a_light_theme_has_no_bright_colour_and_none_has_no_colour() {
        let styles = |theme: Theme| [theme.good(), theme.warn(), theme.bad(), theme.code()];
        for (light, dark) in styles(Theme::Light).iter().zip(styles(Theme::Dark)) {
            assert!(light.fg.is_some() && light.fg != dark.fg, "{light:?}");
        }
        assert!(styles(Theme::None).iter().all(|style| style.fg.is_none()));
        assert_eq!(Theme::of("light"), Some(Theme::Light));
        assert_eq!(Theme::of("pink"), None);
    }
}
