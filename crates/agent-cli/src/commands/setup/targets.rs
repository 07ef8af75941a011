//! What `setup` writes, by agent: the file, the place in it, and the value.

use std::path::PathBuf;

use serde_json::{Value, json};

use session_finder::Environment;

/// The name of our server in every agent's settings.
pub(super) const SERVER: &str = "agent-cli";

/// An agent that can be set up.
pub(super) struct Target {
    pub agent: &'static str,
    /// The variable that moves its folder, and the folder below the user's home.
    variable: Option<&'static str>,
    folder: &'static str,
    /// What is written, in this order.
    parts: &'static [Part],
}

/// One thing that is written.
struct Part {
    /// The file: below the agent's folder, or from the user's home where it begins with `~/`.
    file: &'static str,
    place: Place,
}

/// Where in a file, and what.
#[derive(Clone, Copy)]
enum Place {
    /// A server with `command` and `args`, in the object of this name.
    Server(&'static str),
    /// The same, with tools that the model is shown without searching for them.
    ShownServer(&'static str),
    /// A server in a table of TOML.
    TomlServer(&'static str),
    /// A command that runs at this event, for events that match.
    Hook(&'static str, &'static str),
    /// The whole file.
    Text(&'static str),
    /// The name of this program, in the member of this name.
    Program(&'static str),
}

/// The extension of pi and oh-my-pi, and what it reads next to it.
const EXTENSION: &[Part] = &[
    Part {
        file: "extensions/agent-cli/index.ts",
        place: Place::Text(include_str!("../../../integrations/pi/index.ts")),
    },
    Part {
        file: "extensions/agent-cli/settings.json",
        place: Place::Program("program"),
    },
];

const COMPACTED: Place = Place::Hook("SessionStart", "compact");

pub(super) const TARGETS: &[Target] = &[
    Target {
        agent: "claude",
        variable: Some("CLAUDE_CONFIG_DIR"),
        folder: ".claude",
        parts: &[
            Part {
                file: "~/.claude.json",
                place: Place::Server("mcpServers"),
            },
            Part {
                file: "settings.json",
                place: COMPACTED,
            },
        ],
    },
    Target {
        agent: "codex",
        variable: Some("CODEX_HOME"),
        folder: ".codex",
        parts: &[
            Part {
                file: "config.toml",
                place: Place::TomlServer("mcp_servers"),
            },
            Part {
                file: "hooks.json",
                place: COMPACTED,
            },
        ],
    },
    Target {
        agent: "opencode",
        variable: None,
        folder: ".config/opencode",
        parts: &[
            Part {
                file: "plugin/agent-cli.js",
                place: Place::Text(include_str!("../../../integrations/opencode/agent-cli.js")),
            },
            Part {
                file: "plugin/agent-cli.json",
                place: Place::Program("program"),
            },
        ],
    },
    Target {
        agent: "qwen",
        variable: None,
        folder: ".qwen",
        parts: &[
            Part {
                file: "settings.json",
                place: Place::ShownServer("mcpServers"),
            },
            Part {
                file: "settings.json",
                // It does not store what hooks tell.
                place: Place::Hook("SessionStart", "compact|resume"),
            },
        ],
    },
    Target {
        agent: "gemini",
        variable: None,
        folder: ".gemini",
        parts: &[
            Part {
                file: "settings.json",
                place: Place::Server("mcpServers"),
            },
            Part {
                file: "settings.json",
                place: Place::Hook("BeforeAgent", "*"),
            },
        ],
    },
    Target {
        agent: "pi",
        variable: Some("PI_CODING_AGENT_DIR"),
        folder: ".pi/agent",
        parts: EXTENSION,
    },
    Target {
        agent: "omp",
        variable: None,
        folder: ".omp/agent",
        parts: EXTENSION,
    },
];

/// A change of one file.
pub(super) struct Change {
    pub file: PathBuf,
    pub edit: Edit,
}

/// What is put into a file, or taken out again.
pub(super) enum Edit {
    /// A member of an object of JSON: the names down to it, and its value.
    Member(Vec<&'static str>, Value),
    /// An element of a list of JSON: the names down to the list, and its value.
    Element(Vec<&'static str>, Value),
    /// A table of TOML: its name, and its values.
    Table([&'static str; 2], Value),
    /// The text of the whole file, which is ours.
    Text(&'static str),
}

impl Target {
    /// Returns what the user has to do besides, as lines of text.
    pub fn asks(&self) -> &'static str {
        match self.agent {
            "codex" => {
                "Codex runs the hook once you trust it: start codex, which asks (\"Hooks need review\"); codex exec does not ask\n"
            }
            _ => "",
        }
    }

    /// Returns the changes that set the agent up to run `program`; `None` where no home is known.
    pub fn changes(&self, environment: &Environment, program: &str) -> Option<Vec<Change>> {
        let moved = self
            .variable
            .and_then(environment.variable)
            .map(PathBuf::from);
        let home = environment.home.as_ref();
        let folder = moved.or_else(|| Some(home?.join(self.folder)))?;
        let changes = self.parts.iter().map(|part| {
            let file = match part.file.strip_prefix("~/") {
                Some(file) => home?.join(file),
                None => existing_json(folder.join(part.file)),
            };
            let edit = part.place.edit(self.agent, program);
            Some(Change { file, edit })
        });
        changes.collect()
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
    fn edit(self, agent: &str, program: &str) -> Edit {
        let server = json!({ "command": program, "args": ["mcp"] });
        match self {
            Self::Server(name) => Edit::Member(vec![name, SERVER], server),
            Self::ShownServer(name) => {
                let mut server = server;
                server["alwaysLoadTools"] = json!(true);
                Edit::Member(vec![name, SERVER], server)
            }
            Self::TomlServer(name) => Edit::Table([name, SERVER], server),
            Self::Text(text) => Edit::Text(text),
            Self::Program(name) => Edit::Member(vec![name], json!(program)),
            Self::Hook(event, matcher) => {
                let quoted =
                    shlex::try_quote(program).map_or_else(|_| program.to_owned(), Into::into);
                let command = format!("{quoted} hook {agent}");
                let hook = json!({ "type": "command", "command": command });
                let element = json!({ "matcher": matcher, "hooks": [hook] });
                Edit::Element(vec!["hooks", event], element)
            }
        }
    }
}
