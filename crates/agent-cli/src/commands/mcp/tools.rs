//! The tools of the server: each is a command of this program, and its schema comes from the command's arguments.

use std::sync::Arc;

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, CommandFactory};
use rmcp::model::{JsonObject, Tool, ToolAnnotations, object};
use serde_json::{Value, json};

use crate::commands::Cli;

/// A tool, and the command that it runs.
pub(super) struct CommandTool {
    pub name: &'static str,
    description: &'static str,
    /// The command, and what is always given to it.
    pub command: &'static [&'static str],
    /// The arguments of the command that callers may give.
    arguments: &'static [Argument],
    /// Whether it writes to the session.
    pub writes: bool,
}

/// An argument of a tool.
struct Argument {
    /// What callers call it.
    name: &'static str,
    /// What the command calls it.
    of: &'static str,
    required: bool,
    /// Whether the help of the command is given to callers, too.
    described: bool,
}

const fn argument(name: &'static str) -> Argument {
    Argument {
        name,
        of: name,
        required: false,
        described: true,
    }
}

impl Argument {
    const fn of(self, of: &'static str) -> Self {
        Self { of, ..self }
    }

    const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    /// The name says it all.
    const fn bare(self) -> Self {
        Self {
            described: false,
            ..self
        }
    }

    /// Returns the argument of the command that this is.
    fn clap(&self, command: &str) -> Option<Arg> {
        let cli = Cli::command();
        let command = cli.find_subcommand(command)?;
        command
            .get_arguments()
            .find(|argument| argument.get_id() == self.of)
            .cloned()
    }
}

/// The tools, in the order of how often they help.
pub(super) const TOOLS: &[CommandTool] = &[
    CommandTool {
        name: "recall",
        description: "Search the history of a coding session, also what a compaction removed from the context. Use it \
                      before you say that something is unknown or ask the user again. Search for rare words: exact \
                      names, paths, error texts.",
        command: &["recall", "--for-tools"],
        arguments: &[
            argument("query").required().bare(),
            argument("regex").bare(),
            argument("scope").bare(),
            argument("place").bare(),
            argument("role").bare(),
            argument("tool").bare(),
            argument("path").bare(),
            argument("since").bare(),
            argument("before").bare(),
            argument("limit").bare(),
            argument("max_tokens").bare(),
        ],
        writes: false,
    },
    CommandTool {
        name: "recall_read",
        description: "Read entries that recall found, with what stands around them.",
        command: &["recall", "--for-tools"],
        arguments: &[
            argument("ids").of("read").required().bare(),
            argument("around").bare(),
            argument("offset").bare(),
            argument("max_tokens").bare(),
        ],
        writes: false,
    },
    CommandTool {
        name: "files",
        description: "The files of a session: what was done to each; with path the text that the session saw last.",
        command: &["files"],
        arguments: &[argument("path")],
        writes: false,
    },
    CommandTool {
        name: "timeline",
        description: "The course of a session: messages of the user, commits, test runs, compactions.",
        command: &["timeline"],
        arguments: &[],
        writes: false,
    },
    CommandTool {
        name: "loss",
        description: "What compactions removed from the context: messages, answers, results, files, failing commands, todos.",
        command: &["loss"],
        arguments: &[],
        writes: false,
    },
    CommandTool {
        name: "context_usage",
        description: "How full the context of a session is, what fills it, its branches and compactions.",
        command: &["inspect"],
        arguments: &[argument("window")],
        writes: false,
    },
    CommandTool {
        name: "compact_plan",
        description: "What a compaction would keep, summarize and remove now. Nothing is changed.",
        command: &["plan"],
        arguments: &[argument("window"), argument("focus")],
        writes: false,
    },
    CommandTool {
        name: "pins",
        description: "The texts that are pinned: every compaction keeps them.",
        command: &["pin", "--list"],
        arguments: &[],
        writes: false,
    },
    CommandTool {
        name: "pin",
        description: "Pin a text in a session of this project, so that every compaction keeps it, marked as yours.",
        command: &["pin", "--in-place", "--by-model"],
        arguments: &[argument("text").required()],
        writes: true,
    },
];

/// The arguments that every tool takes besides those of its command.
const SESSION: &str = "session";
pub(super) const MAX_TOKENS: &str = "max_tokens";

impl CommandTool {
    /// Returns the tool as clients are told of it.
    pub fn listed(&self) -> Tool {
        let mut properties = JsonObject::new();
        for argument in self.arguments {
            if let Some(clap) = argument.clap(self.command[0]) {
                properties.insert(
                    argument.name.to_owned(),
                    schema_of(&clap, argument.described),
                );
            }
        }
        let session =
            "An id, the beginning of one, or AGENT:newest; else the newest of this project.";
        properties.insert(
            SESSION.to_owned(),
            json!({ "type": "string", "description": session }),
        );
        let most = json!({ "type": "integer", "minimum": 100 });
        properties.entry(MAX_TOKENS).or_insert(most);
        let required = self.arguments.iter().filter(|argument| argument.required);
        let required: Vec<&str> = required.map(|argument| argument.name).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let annotations = match self.writes {
            true => ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .idempotent(true),
            false => ToolAnnotations::new().read_only(true),
        };
        Tool::new(self.name, self.description, Arc::new(object(schema)))
            .with_annotations(annotations)
    }

    /// Returns the arguments of the program that a call means; `session` is the file of its session.
    ///
    /// # Errors
    /// An argument that is missing, that the tool does not take, or of another type.
    pub fn command_line(&self, call: &JsonObject, session: &str) -> Result<Vec<String>, String> {
        let mut line = vec!["agent-cli".to_owned()];
        line.extend(self.command.iter().map(|part| (*part).to_owned()));
        let mut positional = vec!["--".to_owned(), session.to_owned()];
        let required = self.arguments.iter().filter(|argument| argument.required);
        if let Some(missing) = required
            .into_iter()
            .find(|argument| !call.contains_key(argument.name))
        {
            return Err(format!("{}: is missing", missing.name));
        }
        for (name, value) in call {
            let argument = self.arguments.iter().find(|argument| argument.name == name);
            let Some(clap) = argument.and_then(|argument| argument.clap(self.command[0])) else {
                match name == SESSION || name == MAX_TOKENS {
                    true => continue,
                    false => return Err(format!("{name}: {} has no such argument", self.name)),
                }
            };
            let texts = texts_of(value).ok_or_else(|| format!("{name}: cannot be {value}"))?;
            match (clap.get_long(), clap.get_action()) {
                (None, _) => positional.extend(texts),
                (Some(long), ArgAction::SetTrue) if *value == Value::Bool(true) => {
                    line.push(format!("--{long}"));
                }
                (Some(_), ArgAction::SetTrue) => {}
                (Some(long), _) => line.extend(texts.iter().map(|text| format!("--{long}={text}"))),
            }
        }
        line.append(&mut positional);
        Ok(line)
    }

    #[cfg(test)]
    pub fn argument_names(&self) -> impl Iterator<Item = &'static str> {
        self.arguments.iter().map(|argument| argument.name)
    }

    /// Returns whether the command bounds its answer by itself.
    pub fn is_bounded(&self) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.name == MAX_TOKENS)
    }
}

fn schema_of(argument: &Arg, described: bool) -> Value {
    let is_list = argument.get_value_delimiter().is_some();
    let kind = match argument.get_action() {
        ArgAction::SetTrue => "boolean",
        _ if is_list => return json!({ "type": "array", "items": { "type": "string" } }),
        _ if is_number(argument) => "integer",
        _ => "string",
    };
    let mut schema = json!({ "type": kind });
    let names = argument.get_possible_values();
    if kind == "string" && !names.is_empty() {
        schema["enum"] = names.iter().map(PossibleValue::get_name).collect();
    }
    if let Some(help) = argument.get_help().filter(|_| described) {
        schema["description"] = json!(help.to_string());
    }
    schema
}

/// Returns whether an argument is a whole number: commands call such values N or TOKENS.
fn is_number(argument: &Arg) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    names
        .iter()
        .any(|name| matches!(name.as_str(), "N" | "TOKENS"))
}

/// Returns a value as arguments of a program spell it.
fn texts_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Bool(_) | Value::Number(_) => Some(vec![value.to_string()]),
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(values) => {
            let texts: Option<Vec<Vec<String>>> = values.iter().map(texts_of).collect();
            Some(texts?.concat())
        }
        Value::Object(_) => None,
    }
}
