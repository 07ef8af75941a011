//! What `setup` writes, by agent: the file, the place in it, and the value.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use session_finder::Environment;

/// The name of our server in every agent's settings.
pub(super) const SERVER: &str = "agent-cli";

/// An agent that can be set up, as `targets.json` has it.
#[derive(Deserialize)]
pub(super) struct Target {
    pub agent: &'static str,
    /// The variable that moves its folder, and the folder below the user's home.
    #[serde(borrow)]
    variable: Option<&'static str>,
    folder: &'static str,
    /// What is written, in this order: a file, below the agent's folder or from the user's home where it begins with `~/`
    /// and no variable moves the folder, and the place in it.
    #[serde(borrow)]
    parts: Vec<(&'static str, Place)>,
    /// What the user has to do besides, as lines of text.
    #[serde(default)]
    pub asks: String,
}

/// Where in a file, and what.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Place {
    /// A server with `command` and `args`, in the object of this name.
    Server(&'static str),
    /// The same, with tools that the model is shown without searching for them.
    ShownServer(&'static str),
    /// A server in a table of TOML.
    TomlServer(&'static str),
    /// A command that runs at this event, for events that match.
    Hook(&'static str, &'static str),
    /// The whole file: the extension of this agent.
    Text(&'static str),
    /// The name of this program, in the member of this name.
    Program(&'static str),
}

pub(super) static TARGETS: LazyLock<Vec<Target>> = LazyLock::new(|| {
    let parsed = serde_json::from_str(include_str!("targets.json"));
    parsed.unwrap_or_default()
});

/// Returns the extension of an agent.
pub(super) fn extension(agent: &str) -> &'static str {
    match agent {
        "opencode" => include_str!("../../../integrations/opencode/agent-cli.js"),
        _ => include_str!("../../../integrations/pi/index.ts"),
    }
}

impl Target {
    /// Returns whether the agent starts the server of this program.
    pub fn has_server(&self) -> bool {
        let mut places = self.parts.iter().map(|(_, place)| place);
        places.any(|place| {
            matches!(
                place,
                Place::Server(_) | Place::ShownServer(_) | Place::TomlServer(_)
            )
        })
    }

    /// Returns the files that are written, and what; `None` where no home is known.
    pub fn files(&self, environment: &Environment) -> Option<Vec<(PathBuf, Place)>> {
        let moved = self
            .variable
            .and_then(environment.variable)
            .map(PathBuf::from);
        let home = environment.home.as_ref();
        let outer = moved.as_ref().or(home)?;
        let folder = match &moved {
            Some(moved) => moved.clone(),
            None => outer.join(self.folder),
        };
        let files = self.parts.iter().map(|(file, place)| {
            let file = match file.strip_prefix("~/") {
                Some(file) => outer.join(file),
                None => existing_json(folder.join(file)),
            };
            Some((file, *place))
        });
        files.collect()
    }
}

/// Returns the file with comments of the same name, where that is the one that is there.
fn existing_json(file: PathBuf) -> PathBuf {
    let with_comments = file.with_extension("jsonc");
    match file.extension().is_some_and(|end| end == "json")
        && !file.exists()
        && with_comments.exists()
    {
        true => with_comments,
        false => file,
    }
}

impl Place {
    /// Returns the names down to the member of JSON that holds the value, or to the list of hooks.
    pub fn names(self) -> Vec<&'static str> {
        match self {
            Self::Server(outer) | Self::ShownServer(outer) | Self::TomlServer(outer) => {
                vec![outer, SERVER]
            }
            Self::Hook(event, _) => vec!["hooks", event],
            Self::Program(name) => vec![name],
            Self::Text(_) => Vec::new(),
        }
    }

    pub fn command(self, agent: &str, program: &str) -> String {
        match self {
            Self::Hook(..) => {
                let quoted =
                    shlex::try_quote(program).map_or_else(|_| program.to_owned(), Into::into);
                format!("{quoted} hook {agent}")
            }
            _ => program.to_owned(),
        }
    }

    /// Returns the value of the member, or the element of the list.
    pub fn value(self, agent: &str, program: &str) -> Value {
        let command = self.command(agent, program);
        match self {
            Self::Server(_) | Self::TomlServer(_) => json!({ "command": command, "args": ["mcp"] }),
            Self::ShownServer(_) => {
                json!({ "command": command, "args": ["mcp"], "alwaysLoadTools": true })
            }
            Self::Hook(_, matcher) => {
                json!({ "matcher": matcher, "hooks": [{ "type": "command", "command": command }] })
            }
            Self::Program(_) | Self::Text(_) => json!(command),
        }
    }
}
