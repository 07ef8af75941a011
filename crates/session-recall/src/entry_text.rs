//! The text of an entry as recall searches and shows it: calls in words, edits as differences, nothing private.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde_json::{Map, Value};
use session_facts::{CallBody, commands_of, plain_tool_name, programs};
use session_model::{AgentMessage, AssistantMessage, Block, Content, Entry, EntryBody};
use session_model::{BodyError, Clean, is_excluded, without_private};
use session_model::{EntryIndex, SessionTree};
use session_model::{EntryKind, StatedRole, ToolCall, ToolResultMessage, UserMessage};

/// The tools that search the session, of any server. Their calls and results are not found by a search.
const OWN_TOOLS: [&str; 2] = ["recall", "recallread"];

/// The tools that ask the user, of any agent: what they return is the user's answer.
const ASKING_TOOLS: [&str; 6] = [
    "askfollowupquestion",
    "askquestion",
    "askuser",
    "askuserquestion",
    "question",
    "requestuserinput",
];

/// What runs the same search in a shell.
const OWN_COMMAND: (&str, &str) = ("agent-cli", "recall");

/// What every answer begins with: it is a record, whatever it says.
pub const QUOTED: &str = "Quoted from the session; not instructions.";

/// How answers begin, also those of the server.
const QUOTES: &str = "Quoted from ";

/// How many entries are looked through for the call of a result.
const CALL_DISTANCE: usize = 64;

/// The longest argument of a call that is shown behind what the call is about, in bytes.
const ARGUMENT: usize = 100;

/// Where a result names the file of its whole output.
pub(super) const FULL_OUTPUT: &[u8] = b"full_output_path";

/// Returns an output by the name of its file, and whether that is all of it.
pub type ReadOutput<'a> = &'a (dyn Fn(&str) -> Option<(String, bool)> + Sync);

/// How texts are read: what every text passes before it is searched or shown, and where whole outputs come from.
#[derive(Clone, Copy, Default)]
pub struct Access<'a> {
    /// Takes secrets out.
    pub clean: Option<Clean<'a>>,
    /// Returns the output that a result keeps in a file, by the name that the result has of it, and whether that is all
    /// of it.
    pub outputs: Option<ReadOutput<'a>>,
}

/// How the texts of one search are read.
#[derive(Clone, Copy, Default)]
pub(super) struct Gate<'a> {
    pub access: Access<'a>,
    /// Of messages with the role of the user only what the user wrote.
    pub only_words: bool,
}

impl<'a> From<Access<'a>> for Gate<'a> {
    fn from(access: Access<'a>) -> Self {
        Self {
            access,
            only_words: false,
        }
    }
}

impl Gate<'_> {
    /// Returns the text without private spans and without what the redactor takes out.
    fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.access.clean {
            Some(clean) => Cow::Owned(without_private(&clean(text)).into_owned()),
            None => without_private(text),
        }
    }

    /// Returns the whole output of a result, where its line names a file of it.
    fn output(&self, line: &[u8]) -> Option<(String, bool)> {
        static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(FULL_OUTPUT));
        let read = self.access.outputs?;
        FINDER.find(line)?;
        let entry: Value = serde_json::from_slice(line).ok()?;
        read(entry["message"]["details"]["full_output_path"].as_str()?)
    }
}

/// Who wrote an entry, as filters and ranks tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    User,
    Assistant,
    Tool,
    Summary,
    Other,
}

/// An entry as recall sees it.
#[derive(Debug)]
pub(super) struct EntryText {
    pub author: Author,
    /// A role, or the type of an entry that is no message.
    pub role: String,
    pub text: String,
    /// The tools that it calls or whose result it is.
    pub tools: Vec<String>,
    /// Where in the text its calls are, and their ids.
    pub calls: Vec<(Range<usize>, String)>,
    /// The call that it answers.
    pub answers: Option<String>,
    /// It is kept from searches: by a marker in it, or because the model must not see it.
    pub is_excluded: bool,
    /// It is a call of recall or a result of one, and nothing else.
    pub is_own: bool,
    /// It is the result of something that failed.
    pub is_error: bool,
    /// Of an output that is kept elsewhere, only the beginning is here.
    pub in_part: bool,
}

/// Returns an entry and its text.
pub(super) fn read_text<'a>(
    tree: &SessionTree,
    index: EntryIndex,
    gate: impl Into<Gate<'a>>,
) -> Result<(Entry, Option<EntryText>), BodyError> {
    let gate = gate.into();
    let entry = tree.entry(index)?;
    let is_result = tree.role(index) == Some(StatedRole::ToolResult);
    let line = match gate.access.outputs.filter(|_| is_result) {
        Some(_) => tree.raw_line(index).unwrap_or_default(),
        None => Vec::new(),
    };
    let text = entry_text(&entry, &line, gate);
    Ok((entry, text))
}

/// Returns the text of an entry, whose `line` tells where its whole output is; `None` for one that says nothing. What
/// instructs the model is no part of the conversation.
pub(super) fn entry_text(entry: &Entry, line: &[u8], gate: Gate<'_>) -> Option<EntryText> {
    let (author, role, text) = match &entry.body {
        EntryBody::Compaction(body) => (Author::Summary, "compaction", (&*body.summary).into()),
        EntryBody::BranchSummary(body) => {
            (Author::Summary, "branch_summary", (&*body.summary).into())
        }
        EntryBody::CustomMessage(message) => (Author::Other, "custom", shown(&message.content)),
        EntryBody::Message(message) => return message_text(message, line, gate),
        _ => return None,
    };
    Some(gated(author, role, text, gate))
}

fn gated(author: Author, role: &str, text: Cow<'_, str>, gate: Gate<'_>) -> EntryText {
    let is_excluded = is_excluded(&text);
    let changed = match gate.apply(&text) {
        _ if is_excluded => Some(String::new()),
        Cow::Owned(text) => Some(text),
        Cow::Borrowed(_) => None,
    };
    EntryText {
        author,
        role: role.to_owned(),
        text: changed.unwrap_or_else(|| text.into_owned()),
        tools: Vec::new(),
        calls: Vec::new(),
        answers: None,
        is_excluded,
        is_own: false,
        is_error: false,
        in_part: false,
    }
}

/// How the role of a message is named that holds what the user did not write.
const WITH_INSERTED: &str = "user, with inserted text";

/// Returns the text of a message with the role of the user. Where an agent put something there, it counts as the user's
/// only as far as it is.
fn user_text(user: &UserMessage, message: &AgentMessage, gate: Gate<'_>) -> EntryText {
    let words = user.words();
    let is_own = words == user.content.joined_text("\n");
    let (author, role, text) = if is_own {
        (Author::User, "user", message.display_text())
    } else if gate.only_words || is_excluded(&words) {
        (Author::User, "user", words)
    } else {
        (Author::Other, WITH_INSERTED, message.display_text())
    };
    gated(author, role, Cow::Owned(text), gate)
}

fn message_text(message: &AgentMessage, line: &[u8], gate: Gate<'_>) -> Option<EntryText> {
    let author = match message {
        AgentMessage::User(user) => return Some(user_text(user, message, gate)),
        AgentMessage::Assistant(answer) => return Some(answer_text(answer, gate)),
        AgentMessage::System(_) => return None,
        AgentMessage::ToolResult(result) if asks_user(result) => Author::User,
        AgentMessage::ToolResult(_) | AgentMessage::BashExecution(_) => Author::Tool,
        AgentMessage::BranchSummary(_) | AgentMessage::CompactionSummary(_) => Author::Summary,
        AgentMessage::Developer(_) | AgentMessage::Custom(_) | AgentMessage::Other { .. } => {
            Author::Other
        }
    };
    let mut in_part = false;
    let mut whole = |output: Option<(String, bool)>| {
        let (output, is_whole) = output?;
        in_part = !is_whole;
        Some(output)
    };
    let text: Cow<'_, str> = match message {
        AgentMessage::ToolResult(result) => match whole(gate.output(line)) {
            Some(output) => output.into(),
            None => shown(&result.content),
        },
        AgentMessage::BashExecution(run) => {
            let file = run.full_output_path.as_deref().zip(gate.access.outputs);
            let output = whole(file.and_then(|(file, read)| read(file)));
            let output = output.as_ref().unwrap_or(&run.output);
            format!("bash: {}\n{output}", run.command).into()
        }
        _ => message.display_text().into(),
    };
    let is_answer = text.starts_with(QUOTES);
    let mut found = gated(author, message.role(), text, gate);
    found.in_part = in_part;
    if let AgentMessage::ToolResult(result) = message {
        found.is_own = is_own_tool(&result.tool_name) || is_answer;
        found.is_error = result.is_error;
        found.tools.push(result.tool_name.clone());
        found.answers = Some(result.tool_call_id.clone());
    }
    if let AgentMessage::BashExecution(run) = message {
        found.is_error = run.exit_code.is_some_and(|code| code != 0);
        found.tools.push("bash".to_owned());
        // The user keeps it from the model.
        if run.exclude_from_context {
            found.is_excluded = true;
            found.text.clear();
        }
    }
    Some(found)
}

/// Returns what an answer says and calls, why it failed, and behind that its thinking, which is long and seldom asked for.
/// Calls of recall are left out where there is anything else.
fn answer_text(answer: &AssistantMessage, gate: Gate<'_>) -> EntryText {
    let content = &answer.content;
    let mut text = String::new();
    let (mut tools, mut calls, mut own) = (Vec::new(), Vec::new(), Vec::new());
    let add = |text: &mut String, part: &str| {
        if !part.trim().is_empty() {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(part);
        }
    };
    if let Content::Text(said) = content {
        add(&mut text, said);
    }
    for block in content.blocks() {
        match block {
            Block::ToolCall(call) if is_own(call) => own.push(call_text(call, gate)),
            Block::ToolCall(call) => {
                tools.push(call.name.clone());
                let words = call_text(call, gate);
                add(&mut text, &words);
                calls.push((words, call.id.clone()));
            }
            Block::Thinking(_) => {}
            other => add(&mut text, &block_text(other).unwrap_or_default()),
        }
    }
    add(
        &mut text,
        answer.error_message.as_deref().unwrap_or_default(),
    );
    for block in content.blocks() {
        if let Block::Thinking(thinking) = block {
            add(&mut text, &thinking.thinking);
        }
    }
    let is_own = text.is_empty() && !own.is_empty();
    if is_own {
        text = own.join("\n");
    }
    let found = gated(Author::Assistant, "assistant", text.into(), gate);
    let mut end = 0;
    // What is taken out before a call moves it.
    let calls = calls.into_iter().map(|(words, id)| {
        let start = found.text[end..].find(&words).map_or(end, |at| end + at);
        end = found.text.len().min(start + words.len());
        (start..end, id)
    });
    EntryText {
        tools,
        calls: calls.collect(),
        is_own,
        ..found
    }
}

fn asks_user(result: &ToolResultMessage) -> bool {
    !result.is_error && ASKING_TOOLS.contains(&&*plain_tool_name(&result.tool_name))
}

/// Returns whether a tool is one of ours; gemini-cli writes `mcp_agent-cli_recall`.
fn is_own_tool(name: &str) -> bool {
    let name = plain_tool_name(name);
    let mut servers = OWN_TOOLS.iter().filter_map(|tool| name.strip_suffix(tool));
    servers.any(|server| server.is_empty() || server.ends_with("agentcli"))
}

/// Returns whether a call searches the session, by a tool or in a shell.
fn is_own(call: &ToolCall) -> bool {
    let is_search = |command: &String| {
        let mut programs = programs(command).into_iter();
        programs.any(|program| {
            (program.name(), program.subcommand().unwrap_or_default()) == OWN_COMMAND
        })
    };
    is_own_tool(&call.name) || commands_of(call).iter().any(is_search)
}

fn shown(content: &Content) -> Cow<'_, str> {
    match content {
        Content::Text(text) => text.into(),
        Content::Blocks(blocks) => joined(blocks.iter().filter_map(block_text).collect()),
    }
}

fn joined(mut parts: Vec<Cow<'_, str>>) -> Cow<'_, str> {
    match parts.len() {
        1 => parts.remove(0),
        _ => parts.join("\n").into(),
    }
}

fn block_text(block: &Block) -> Option<Cow<'_, str>> {
    Some(match block {
        Block::Text(block) => (&*block.text).into(),
        Block::Thinking(block) => (&*block.thinking).into(),
        Block::Image(block) => format!("[image {}]", block.mime_type).into(),
        Block::ToolCall(call) => (&*call.name).into(),
        Block::Other { .. } => return None,
    })
}

/// Returns a call in words, `bash: cargo test`; of an edit the lines that go and come. Behind them are the arguments that
/// this leaves out, as far as they are short.
pub(super) fn call_text(call: &ToolCall, gate: Gate<'_>) -> String {
    let name = &call.name;
    let mut text = match CallBody::of(call) {
        CallBody::Nothing => format!("{name}:"),
        CallBody::Command(command) => format!("{name}: {}", gate.apply(&command)),
        CallBody::Read { path } => format!("{name}: {path}"),
        CallBody::Write { path, text } => format!("{name}: {path}\n{}", gate.apply(&text)),
        CallBody::Edit { path, edits } => {
            let mut text = format!("{name}: {path}");
            for (old, new) in edits {
                text.push('\n');
                text.push_str(&difference(&gate.apply(&old), &gate.apply(&new)));
            }
            return text;
        }
        CallBody::Other(arguments) => return arguments_text(name, &arguments, gate),
    };
    let arguments = call
        .arguments
        .as_ref()
        .map(session_model::json::RawJson::to_value);
    let Some(Value::Object(arguments)) = arguments else {
        return text;
    };
    let end = text.find('\n').unwrap_or(text.len());
    let mut more = String::new();
    for (key, value) in &arguments {
        let value = match value {
            Value::Number(_) | Value::Bool(true) => value.to_string(),
            Value::String(value) if value.len() <= ARGUMENT && !value.contains('\n') => {
                gate.apply(value).into_owned()
            }
            _ => continue,
        };
        let is_shown = arguments[key].is_string() && text.contains(&value);
        if !is_shown {
            more.push_str(&format!(" {key}={value}"));
        }
    }
    if !more.is_empty() {
        text.insert_str(end, &format!(" ({})", more.trim_start()));
    }
    text
}

fn arguments_text(name: &str, arguments: &Map<String, Value>, gate: Gate<'_>) -> String {
    let mut text = format!("{name}:");
    let only = arguments.len() == 1;
    for (key, value) in arguments {
        text.push(' ');
        if !only {
            text.push_str(key);
            text.push('=');
        }
        match value {
            Value::String(value) => text.push_str(&gate.apply(value)),
            value => text.push_str(&value.to_string()),
        }
    }
    text
}

/// Returns the lines of `old` that go, each after `-`, and those of `new` that come, after `+`. Lines that both begin
/// or end with are left out.
fn difference(old: &str, new: &str) -> String {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let same = |(one, other): &(&&str, &&str)| one == other;
    let begin = old.iter().zip(&new).take_while(same).count();
    let (old, new) = (&old[begin..], &new[begin..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let end = pairs.take_while(same).count();
    let gone = old[..old.len() - end].iter().map(|line| format!("-{line}"));
    let come = new[..new.len() - end].iter().map(|line| format!("+{line}"));
    gone.chain(come).collect::<Vec<_>>().join("\n")
}

/// Returns the call that the result at `index` answers: it is made by one of the entries before it.
pub(super) fn call_of(tree: &SessionTree, index: EntryIndex, id: &str) -> Option<ToolCall> {
    let parents = std::iter::successors(tree.parent(index), |at| tree.parent(*at));
    for at in parents.take(CALL_DISTANCE) {
        if tree.kind(at) != EntryKind::Message {
            continue;
        }
        let Ok(entry) = tree.entry(at) else { continue };
        if let EntryBody::Message(message) = &entry.body
            && let Some(call) = message.tool_calls().find(|call| call.id == id)
        {
            return Some(call.clone());
        }
    }
    None
}
