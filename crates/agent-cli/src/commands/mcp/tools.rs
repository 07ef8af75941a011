//! The tools of the server: each is a command of this program, and its schema comes from the command's arguments.

use std::sync::Arc;

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, CommandFactory};
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations, object};
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
    /// When it is offered.
    pub offered: Offered,
}

/// When a tool is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offered {
    Always,
    /// Where all tools are wanted.
    OnRequest,
    /// Where the server may write: it writes to the session.
    ToWrite,
}

/// An argument of a tool.
struct Argument {
    /// What callers call it.
    name: &'static str,
    /// What the command calls it; callers may, too.
    of: &'static str,
    required: bool,
    /// What callers are told of it, where the name does not say it all.
    about: &'static str,
}

const fn argument(name: &'static str) -> Argument {
    Argument {
        name,
        of: name,
        required: false,
        about: "",
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

    const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        [self.name, self.of].into_iter()
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
        name: RECALL,
        description: "Search this session or others, also what left the context, before you ask again or say that it \
                      is unknown. Without queries: an outline.",
        command: &["recall", "--for-tools"],
        arguments: &[
            argument("queries")
                .of("query")
                .about("Rare words, \"a phrase\" or an id"),
            argument("kind"),
            argument("file").about("Calls on it"),
            argument("since").about("Date, id or compaction N"),
            argument("before"),
            argument(SCOPE),
            argument("max_tokens"),
        ],
        offered: Offered::Always,
    },
    CommandTool {
        name: "recall_read",
        description: "Read entries that recall names.",
        command: &["recall", "--for-tools"],
        arguments: &[
            argument("ids")
                .of("read")
                .required()
                .about("ID, ID@CHAR+LENGTH or ID..ID"),
            argument("around"),
            argument("max_tokens"),
        ],
        offered: Offered::Always,
    },
    CommandTool {
        name: "files",
        description: "The files of a session: what was done to each; with path the text that the session saw last.",
        command: &["files"],
        arguments: &[argument("path")],
        offered: Offered::OnRequest,
    },
    CommandTool {
        name: "loss",
        description: "What compactions removed from the context: messages, answers, results, files, failing commands, todos.",
        command: &["loss"],
        arguments: &[],
        offered: Offered::OnRequest,
    },
    CommandTool {
        name: "context_usage",
        description: "How full the context of a session is, what fills it, its branches and compactions.",
        command: &["inspect"],
        arguments: &[argument("window")],
        offered: Offered::OnRequest,
    },
    CommandTool {
        name: "compact_plan",
        description: "What a compaction would keep, summarize and remove now. Nothing is changed.",
        command: &["plan"],
        arguments: &[argument("window"), argument("focus")],
        offered: Offered::OnRequest,
    },
    CommandTool {
        name: "pins",
        description: "The texts that are pinned: every compaction keeps them.",
        command: &["pin", "--list"],
        arguments: &[],
        offered: Offered::OnRequest,
    },
    CommandTool {
        name: "pin",
        description: "Pin a text in a session of this project, so that every compaction keeps it, marked as yours.",
        command: &["pin", "--in-place", "--by-model"],
        arguments: &[argument("text").required()],
        offered: Offered::ToWrite,
    },
];

/// The name of the tool that hooks speak of.
pub(in crate::commands) const RECALL: &str = "recall";

/// The arguments that every tool takes besides those of its command, and the one that makes the first superfluous.
const SESSION: &str = "session";
pub(super) const MAX_TOKENS: &str = "max_tokens";
pub(super) const SCOPE: &str = "scope";

/// Tells Claude Code to show a tool to the model without a search for it.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

impl CommandTool {
    /// Returns the tool as clients are told of it.
    pub fn listed(&self) -> Tool {
        let mut properties = JsonObject::new();
        for argument in self.arguments {
            if let Some(clap) = argument.clap(self.command[0]) {
                let schema = schema_of(&clap, argument.about);
                properties.insert(argument.name.to_owned(), schema);
            }
        }
        let mut session = json!({ "type": "string" });
        // Who searches says it once.
        if properties.contains_key(SCOPE) {
            session["description"] = json!("Else this one");
        }
        properties.insert(SESSION.to_owned(), session);
        properties
            .entry(MAX_TOKENS)
            .or_insert(json!({ "type": "integer" }));
        let required = self.arguments.iter().filter(|argument| argument.required);
        let required: Vec<&str> = required.map(|argument| argument.name).collect();
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        let annotations = match self.offered {
            Offered::ToWrite => ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .idempotent(true),
            Offered::Always | Offered::OnRequest => ToolAnnotations::new().read_only(true),
        };
        let tool = Tool::new(self.name, self.description, Arc::new(object(schema)));
        let tool = tool.with_annotations(annotations);
        match self.offered {
            Offered::Always => {
                let meta = JsonObject::from_iter([(ALWAYS_LOAD.to_owned(), json!(true))]);
                tool.with_meta(MetaObject(meta))
            }
            Offered::OnRequest | Offered::ToWrite => tool,
        }
    }

    /// Returns the arguments of the program that a call means; `session` is the file of its session, if it has one.
    ///
    /// # Errors
    /// An argument that is missing, that the tool does not take, or of another type.
    pub fn command_line(
        &self,
        call: &JsonObject,
        session: Option<&str>,
    ) -> Result<Vec<String>, String> {
        let mut line = vec!["agent-cli".to_owned()];
        line.extend(self.command.iter().map(|part| (*part).to_owned()));
        let mut positional = vec!["--".to_owned()];
        positional.extend(session.map(str::to_owned));
        let required = self.arguments.iter().filter(|argument| argument.required);
        if let Some(missing) = required
            .into_iter()
            .find(|argument| !argument.names().any(|name| call.contains_key(name)))
        {
            return Err(format!("{}: is missing", missing.name));
        }
        for (name, value) in call {
            let mut arguments = self.arguments.iter();
            let argument = arguments.find(|argument| argument.names().any(|known| known == name));
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

fn schema_of(argument: &Arg, about: &str) -> Value {
    let is_list = argument.get_value_delimiter().is_some()
        || matches!(argument.get_action(), ArgAction::Append);
    let names = argument.get_possible_values();
    let kind = match argument.get_action() {
        ArgAction::SetTrue => "boolean",
        _ if is_list => "array",
        _ if is_number(argument) => "integer",
        _ => "string",
    };
    let mut schema = json!({ "type": kind });
    if is_list {
        schema["items"] = json!({ "type": "string" });
    } else if kind == "string" && !names.is_empty() {
        schema["enum"] = names.iter().map(PossibleValue::get_name).collect();
    }
    if !about.is_empty() {
        schema["description"] = json!(about);
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
