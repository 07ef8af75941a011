//! Slash commands: what there is, and what is asked of the session.

/// A slash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashCommand {
    /// Compacts the context.
    Compact,
    /// Shows what fills the context.
    Context,
    /// Shows the tree of the session.
    Tree,
    /// Takes the newest compaction or move back.
    Undo,
    /// Does again what was taken back.
    Redo,
    /// Finds again what was said.
    Recall,
    /// Shows what compactions took out of the context.
    Loss,
    /// Labels the newest message of the user.
    Label,
    /// Keeps a text in every summary.
    Pin,
    /// Keeps a pinned text no more.
    Unpin,
    /// Lets another model answer.
    Model,
    /// Shows what was spent.
    Cost,
    /// Switches automatic compaction.
    Autocompact,
    /// Continues in a new session that begins with a document.
    Handoff,
    /// Continues in a copy.
    Fork,
    /// Continues work that was left.
    Continue,
    /// Goes on with another session.
    Resume,
    /// Gives the session a name.
    Name,
    /// Lets the model think more or less.
    Thinking,
    /// Shows settings, and changes them for this run.
    Settings,
    /// Shows the hooks of the settings.
    Hooks,
    /// Changes the colours.
    Theme,
    /// Writes the session as a page for a browser.
    Export,
    /// Copies the newest answer.
    Copy,
    /// Begins a new session.
    New,
    /// Shows keys and commands.
    Help,
    /// Leaves.
    Quit,
}

impl SlashCommand {
    /// Every command, in the order of the menu.
    pub const ALL: [Self; 27] = [
        Self::Compact,
        Self::Context,
        Self::Tree,
        Self::Undo,
        Self::Redo,
        Self::Recall,
        Self::Loss,
        Self::Label,
        Self::Pin,
        Self::Unpin,
        Self::Model,
        Self::Thinking,
        Self::Settings,
        Self::Theme,
        Self::Hooks,
        Self::Cost,
        Self::Autocompact,
        Self::Handoff,
        Self::Fork,
        Self::Continue,
        Self::Name,
        Self::Resume,
        Self::Export,
        Self::Copy,
        Self::New,
        Self::Help,
        Self::Quit,
    ];

    /// Returns its name, its arguments and what it does.
    const fn traits(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Compact => (
                "compact",
                "[FOCUS]",
                "preview, then summarize the older part",
            ),
            Self::Context => ("context", "", "what fills the context window"),
            Self::Tree => ("tree", "", "turns and branches; go to another point"),
            Self::Undo => ("undo", "", "take the newest compaction or move back"),
            Self::Redo => ("redo", "", "do again what was taken back"),
            Self::Recall => (
                "recall",
                "WORDS",
                "find again what was said, on every branch",
            ),
            Self::Loss => ("loss", "", "what compactions took out of the context"),
            Self::Label => (
                "label",
                "[TEXT]",
                "label your newest message; without TEXT, remove its label",
            ),
            Self::Pin => (
                "pin",
                "[TEXT]",
                "keep TEXT in every summary; without it, list the pins",
            ),
            Self::Unpin => ("unpin", "ID", "pin no more"),
            Self::Model => ("model", "[PROVIDER/MODEL]", "let another model answer"),
            Self::Thinking => ("thinking", "[LEVEL]", "let the model think more or less"),
            Self::Settings => (
                "settings",
                "[NAME VALUE]",
                "settings of compaction, changed for this run",
            ),
            Self::Cost => ("cost", "", "tokens and USD of this run"),
            Self::Autocompact => ("autocompact", "on|off", "switch automatic compaction"),
            Self::Handoff => (
                "handoff",
                "[FOCUS]",
                "write a document, continue from it in a new session",
            ),
            Self::Fork => (
                "fork",
                "",
                "continue in a copy; this session stays as it is",
            ),
            Self::Continue => ("continue", "", "finish what the session was doing"),
            Self::Name => ("name", "TEXT", "give the session a name"),
            Self::Resume => ("resume", "[ID]", "go on with another session"),
            Self::Hooks => ("hooks", "", "the hooks of the settings"),
            Self::Theme => ("theme", "[dark|light|none]", "change the colours"),
            Self::Export => (
                "export",
                "[FILE]",
                "write the session as a page for a browser",
            ),
            Self::Copy => ("copy", "", "copy the newest answer to the clipboard"),
            Self::New => ("new", "", "begin a new session"),
            Self::Help => ("help", "", "keys and commands"),
            Self::Quit => ("quit", "", "leave; the resume command is printed"),
        }
    }

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        self.traits().0
    }

    /// Returns its arguments.
    pub const fn arguments(self) -> &'static str {
        self.traits().1
    }

    /// Returns what it does.
    pub const fn help(self) -> &'static str {
        self.traits().2
    }

    /// Returns whether it cannot be used without arguments.
    pub const fn needs_arguments(self) -> bool {
        matches!(
            self,
            Self::Recall | Self::Unpin | Self::Name | Self::Autocompact
        )
    }

    /// Returns the command that has this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|command| command.name() == name)
    }
}

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// A message for the model.
    Message(String),
    /// A command and its arguments.
    Command(SlashCommand, String),
    /// A name that no command has.
    Unknown(String),
}

/// Returns what a text is. Paths begin with a slash too: a name has no second one.
pub fn parse(text: &str) -> Typed {
    let text = text.trim();
    let Some(rest) = text.strip_prefix('/') else {
        return Typed::Message(text.to_owned());
    };
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty()
        || !name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
    {
        return Typed::Message(text.to_owned());
    }
    match SlashCommand::of(name) {
        Some(command) => Typed::Command(command, arguments.trim().to_owned()),
        None => Typed::Unknown(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{SlashCommand, Typed, parse};

    #[test]
    fn commands_are_told_from_messages_and_paths() {
        let focus = "keep the names".to_owned();
        assert_eq!(
            parse("/compact keep the names"),
            Typed::Command(SlashCommand::Compact, focus)
        );
        assert_eq!(parse("/nothing"), Typed::Unknown("nothing".to_owned()));
        let path = "/home/ann/x.rs is broken".to_owned();
        assert_eq!(parse(&path), Typed::Message(path));
        assert_eq!(parse(" hello "), Typed::Message("hello".to_owned()));
    }
}
