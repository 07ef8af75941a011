//! Slash commands: what there is, and what is asked of the session.

/// Defines the commands, in the order of the menu: a name, its arguments, and what it does.
macro_rules! commands {
    ($($command:ident $name:literal $arguments:literal $help:literal,)*) => {
        /// A slash command.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum SlashCommand {
            $(#[doc = $help] $command,)*
        }

        impl SlashCommand {
            /// Every command, in the order of the menu.
            pub const ALL: &'static [Self] = &[$(Self::$command,)*];

            /// Returns its name, its arguments and what it does.
            const fn traits(self) -> (&'static str, &'static str, &'static str) {
                match self {
                    $(Self::$command => ($name, $arguments, $help),)*
                }
            }
        }
    };
}

commands! {
    Compact "compact" "[FOCUS]" "preview, then summarize the older part",
    Context "context" "" "what fills the context window",
    Tree "tree" "" "turns and branches; go to another point",
    Undo "undo" "[any]" "take the newest compaction or move back; any: also that of another program",
    Redo "redo" "" "do again what was taken back",
    Recall "recall" "WORDS" "find again what was said, on every branch",
    Loss "loss" "" "what compactions took out of the context",
    Label "label" "[TEXT]" "label your newest message; without TEXT, remove its label",
    Pin "pin" "[TEXT]" "keep TEXT in every summary; without it, list the pins",
    Unpin "unpin" "ID" "unpin",
    Model "model" "[PROVIDER/MODEL]" "let another model answer",
    Thinking "thinking" "[LEVEL]" "let the model think more or less",
    Settings "settings" "[[save] NAME VALUE]" "settings of compaction, changed for this run; save: also for later ones",
    Theme "theme" "[dark|light|none]" "change the colours",
    Permissions "permissions" "" "what is allowed and denied for good in this project",
    Mcp "mcp" "" "the tool servers of the settings",
    Hooks "hooks" "" "the hooks of the settings",
    Cost "cost" "" "tokens and USD of this run",
    Autocompact "autocompact" "on|off" "switch automatic compaction",
    Handoff "handoff" "[FOCUS]" "write a document, continue from it in a new session",
    Fork "fork" "" "continue in a copy; this session stays as it is",
    Continue "continue" "" "finish what the session was doing",
    Name "name" "TEXT" "give the session a name",
    Resume "resume" "[ID]" "continue another session",
    Export "export" "[FILE]" "write the session as a page for a browser",
    Copy "copy" "" "copy the newest answer to the clipboard",
    New "new" "" "begin a new session",
    Clear "clear" "" "begin a new session, as /new does",
    Help "help" "" "keys and commands",
    Quit "quit" "" "leave; the resume command is printed",
}

impl SlashCommand {
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
        Self::ALL
            .iter()
            .copied()
            .find(|command| command.name() == name)
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
    /// A command for the shell.
    Shell(String),
}

/// Returns what a text is. Paths begin with a slash too: a name has no second one.
pub fn parse(text: &str) -> Typed {
    let text = text.trim();
    if let Some(command) = text.strip_prefix('!').map(str::trim)
        && !command.is_empty()
    {
        return Typed::Shell(command.to_owned());
    }
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
        assert_eq!(parse("! ls -l"), Typed::Shell("ls -l".to_owned()));
        assert_eq!(parse("!"), Typed::Message("!".to_owned()));
        assert_eq!(parse(" hello "), Typed::Message("hello".to_owned()));
    }
}
