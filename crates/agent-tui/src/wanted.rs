//! What the user waits for, and what is listed for the user.

use std::sync::Arc;
use std::time::Duration;

use llm_providers::CancellationToken;
use session_model::ReadMeter;

/// A command of the user: a message with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// The message; `$ARGUMENTS` stands for what is typed behind the name.
    pub text: String,
}

impl UserCommand {
    /// Returns the message with these arguments; they follow it where it has no place for them.
    pub fn message(&self, arguments: &str) -> String {
        const PLACE: &str = "$ARGUMENTS";
        match self.text.contains(PLACE) {
            true => self.text.replace(PLACE, arguments).trim().to_owned(),
            false => format!("{}\n\n{arguments}", self.text).trim().to_owned(),
        }
    }
}

/// Whose sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// Those of this project.
    Here,
    /// Those of every folder.
    Everywhere,
}

/// What the program around the terminal lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// The hooks of the settings.
    Hooks,
    /// What is allowed and denied for good in the project.
    Permissions,
    /// The tool servers of the settings.
    Servers,
}

impl Listed {
    /// Returns the title of its page.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Hooks => "Hooks of the settings",
            Self::Permissions => "Allowed and denied for good in this project",
            Self::Servers => "Tool servers of the settings",
        }
    }
}

/// A report or a command that the user waits for.
#[derive(Debug)]
pub struct Waiting {
    /// What it is called.
    pub name: String,
    /// Since when.
    pub since: Duration,
    /// What is waited for.
    pub work: Work,
}

/// What the user waits for, and what stops it.
#[derive(Debug)]
pub enum Work {
    /// A report: how many entries were read, and how many there are.
    Report(Arc<ReadMeter>, usize),
    /// A command.
    Command(CancellationToken),
}
