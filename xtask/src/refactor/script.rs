//! The vocabulary in which the script is told: answers with calls, what the user does, what goes wrong.

use crate::example::line::Obj;

/// One replacement of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// What stands in the file, once.
    pub old: String,
    /// What takes its place.
    pub new: String,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Shows a file, or a window of its lines.
    Read {
        /// The file.
        path: String,
        /// First line and number of lines.
        window: Option<(usize, usize)>,
    },
    /// Makes or replaces a file.
    Write {
        /// The file.
        path: String,
        /// All of it.
        content: String,
    },
    /// Replaces pieces of a file.
    Edit {
        /// The file.
        path: String,
        /// The pieces, each looked for in the file as it is before the call.
        edits: Vec<Replacement>,
    },
    /// Runs a command.
    Bash {
        /// The command.
        command: String,
    },
}

/// What the user does once the answer before was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum User {
    /// Says something as the next prompt.
    Prompt(&'static str),
    /// Says something while a turn runs.
    Steer(&'static str),
    /// Labels the newest message of the user.
    Label(&'static str),
    /// Leaves the newest message of the user and all after it for a summary with this focus.
    NavigateBack(&'static str),
    /// Asks for a document for a new session.
    Handoff(&'static str),
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It calls tools.
    Tools,
    /// It says all it has to say.
    Done,
    /// It is cut off.
    Length,
}

/// One line of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The model answers.
    Answer {
        /// What it thinks; may be empty.
        thinking: String,
        /// What it says; may be empty.
        text: String,
        /// The tools that it calls.
        calls: Vec<Call>,
        /// Why it ends.
        stop: Stop,
    },
    /// The request is refused as too long.
    Overflow(&'static str),
    /// The user does something.
    User(User),
    /// A remark for readers of the file.
    Comment(&'static str),
}

/// Returns an answer with calls.
pub fn act(text: &str, calls: Vec<Call>) -> Line {
    think("", text, calls)
}

/// Returns an answer with thinking and calls.
pub fn think(thinking: &str, text: &str, calls: Vec<Call>) -> Line {
    Line::Answer {
        thinking: thinking.to_owned(),
        text: text.to_owned(),
        calls,
        stop: Stop::Tools,
    }
}

/// Returns an answer that ends the turn.
pub fn say(text: &str) -> Line {
    ending(text, Stop::Done)
}

/// Returns an answer that is cut off.
pub fn cut_off(text: &str) -> Line {
    ending(text, Stop::Length)
}

fn ending(text: &str, stop: Stop) -> Line {
    Line::Answer {
        thinking: String::new(),
        text: text.to_owned(),
        calls: Vec::new(),
        stop,
    }
}

/// Returns a call that reads a whole file.
pub fn read(path: &str) -> Call {
    Call::Read {
        path: path.to_owned(),
        window: None,
    }
}

/// Returns a call that reads some lines of a file.
pub fn read_at(path: &str, offset: usize, limit: usize) -> Call {
    Call::Read {
        path: path.to_owned(),
        window: Some((offset, limit)),
    }
}

/// Returns a call that writes a file; a line break at the start of the text is dropped so that tables read well.
pub fn write(path: &str, content: &str) -> Call {
    Call::Write {
        path: path.to_owned(),
        content: content.trim_start_matches('\n').to_owned(),
    }
}

/// Returns a call that replaces pieces of a file.
pub fn edit(path: &str, edits: &[(&str, &str)]) -> Call {
    let edits = edits.iter().map(|(old, new)| Replacement {
        old: (*old).to_owned(),
        new: (*new).to_owned(),
    });
    Call::Edit {
        path: path.to_owned(),
        edits: edits.collect(),
    }
}

/// Returns a call that puts a doc line above each of the beginnings of lines, which occur once.
pub fn document(path: &str, docs: &[(&str, &str)]) -> Call {
    let edits = docs.iter().map(|(item, doc)| {
        let indent = " ".repeat(item.len() - item.trim_start().len());
        let doc: String = doc
            .lines()
            .map(|line| format!("{indent}/// {line}\n"))
            .collect();
        Replacement {
            old: (*item).to_owned(),
            new: format!("{doc}{item}"),
        }
    });
    Call::Edit {
        path: path.to_owned(),
        edits: edits.collect(),
    }
}

/// Returns a call that runs a command.
pub fn sh(command: &str) -> Call {
    Call::Bash {
        command: command.to_owned(),
    }
}

impl Line {
    /// Returns the line of the file.
    pub fn encode(&self) -> String {
        match self {
            Self::Answer {
                thinking,
                text,
                calls,
                stop,
            } => {
                let mut answer = Obj::new();
                if !thinking.is_empty() {
                    answer = answer.str("thinking", thinking);
                }
                answer = answer.str("text", text);
                if !calls.is_empty() {
                    let calls: Vec<String> = calls.iter().map(Call::encode).collect();
                    answer = answer.list("calls", &calls);
                }
                let answer = answer.str(
                    "stop",
                    match stop {
                        Stop::Tools => "tool_use",
                        Stop::Done => "stop",
                        Stop::Length => "length",
                    },
                );
                Obj::new().raw("answer", answer.end()).end()
            }
            Self::Overflow(message) => {
                let error = Obj::new().str("kind", "context_overflow");
                let error = error.str("message", message).raw("status", 400);
                Obj::new().raw("error", error.end()).end()
            }
            Self::User(user) => Obj::new().raw("user", user.encode()).end(),
            Self::Comment(text) => format!("# {text}"),
        }
    }
}

impl User {
    fn encode(&self) -> String {
        let say = |text, delivery| Obj::new().str("say", text).str("delivery", delivery).end();
        let focus = |text| Obj::new().str("focus", text).end();
        match self {
            Self::Prompt(text) => say(text, "prompt"),
            Self::Steer(text) => say(text, "steer"),
            Self::Label(text) => {
                let label = Obj::new().raw("back", 1).str("text", text).end();
                Obj::new().raw("label", label).end()
            }
            Self::NavigateBack(text) => {
                let way = Obj::new().raw("back", 1).raw("summarize", true);
                let way = way.str("focus", text).end();
                Obj::new().raw("navigate", way).end()
            }
            Self::Handoff(text) => Obj::new().raw("handoff", focus(text)).end(),
        }
    }
}

impl Call {
    fn encode(&self) -> String {
        let (name, arguments) = match self {
            Self::Read { path, window } => {
                let mut arguments = Obj::new().str("path", path);
                if let Some((offset, limit)) = window {
                    arguments = arguments.raw("offset", offset).raw("limit", limit);
                }
                ("read", arguments)
            }
            Self::Write { path, content } => {
                let arguments = Obj::new().str("path", path);
                ("write", arguments.str("content", content))
            }
            Self::Edit { path, edits } => {
                let edits: Vec<String> = edits
                    .iter()
                    .map(|edit| {
                        let edit = Obj::new()
                            .str("old_text", &edit.old)
                            .str("new_text", &edit.new);
                        edit.end()
                    })
                    .collect();
                ("edit", Obj::new().str("path", path).list("edits", &edits))
            }
            Self::Bash { command } => ("bash", Obj::new().str("command", command)),
        };
        let call = Obj::new().str("name", name);
        call.raw("arguments", arguments.end()).end()
    }
}
