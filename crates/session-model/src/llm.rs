//! From a session's messages to the messages that a model understands.

use std::sync::Arc;

use askama::Template;

use crate::message::{
    AgentMessage, AssistantMessage, BashExecution, Block, Content, StopReason, SystemMessage,
    ToolResultMessage,
};

/// A message as models know it.
#[derive(Debug, Clone, PartialEq)]
pub enum LlmMessage {
    /// Instructions and tools.
    System(SystemMessage),
    /// Instructions of the harness.
    Developer(Content),
    /// What the user says, and everything that is told to the model as if the user said it.
    User(Content),
    /// What the model said.
    Assistant(AssistantMessage),
    /// What a tool gave back.
    ToolResult(ToolResultMessage),
}

impl LlmMessage {
    /// Returns the name of the role, as JSON output has it.
    pub fn role(&self) -> &'static str {
        match self {
            Self::System(_) => "system",
            Self::Developer(_) => "developer",
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
        }
    }

    /// Returns the content.
    pub fn content(&self) -> &Content {
        match self {
            Self::System(message) => &message.content,
            Self::Developer(content) | Self::User(content) => content,
            Self::Assistant(message) => &message.content,
            Self::ToolResult(message) => &message.content,
        }
    }
}

/// In whose words summaries and commands are told to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wording {
    /// The project's own, from `prompts/`.
    #[default]
    Own,
    /// pi 1.6.0's, which conversation texts must have to be compared with pi's letter by letter.
    Pi,
}

/// Returns the message that a model gets for `message`, or `None` when it must not see it:
/// commands that the user excluded, and roles that this crate does not know.
pub fn convert_message(message: &AgentMessage, wording: Wording) -> Option<LlmMessage> {
    Some(match message {
        AgentMessage::System(system) => LlmMessage::System(system.clone()),
        // pi knows no such role and leaves it out.
        AgentMessage::Developer(_) if wording == Wording::Pi => return None,
        AgentMessage::Developer(message) => LlmMessage::Developer(message.content.clone()),
        AgentMessage::User(message) => LlmMessage::User(message.content.clone()),
        AgentMessage::Assistant(message) => LlmMessage::Assistant(message.clone()),
        AgentMessage::ToolResult(message) => LlmMessage::ToolResult(message.clone()),
        AgentMessage::BashExecution(run) if run.exclude_from_context => return None,
        AgentMessage::BashExecution(run) => user_text(run.told(wording)),
        AgentMessage::Custom(message) => LlmMessage::User(match &message.content {
            Content::Text(text) => Content::Blocks(vec![Block::text(text.clone())]),
            blocks @ Content::Blocks(_) => blocks.clone(),
        }),
        AgentMessage::BranchSummary(message) => user_text(branch_text(&message.summary, wording)),
        AgentMessage::CompactionSummary(message) => {
            user_text(compaction_text(&message.summary, wording))
        }
        AgentMessage::Other { .. } => return None,
    })
}

/// Returns the messages that a model gets for `messages`, in their order; see [`convert_message`].
pub fn convert_to_llm<'a>(
    messages: impl IntoIterator<Item = &'a Arc<AgentMessage>>,
    wording: Wording,
) -> Vec<LlmMessage> {
    let messages = messages.into_iter();
    messages
        .filter_map(|message| convert_message(message, wording))
        .collect()
}

fn user_text(text: String) -> LlmMessage {
    LlmMessage::User(Content::Blocks(vec![Block::text(text)]))
}

#[derive(Template)]
#[template(path = "compaction-summary-context.md")]
struct CompactionSummaryContext<'a> {
    summary: &'a str,
}

#[derive(Template)]
#[template(path = "branch-summary-context.md")]
struct BranchSummaryContext<'a> {
    summary: &'a str,
}

fn compaction_text(summary: &str, wording: Wording) -> String {
    match wording {
        Wording::Own => render(&CompactionSummaryContext { summary }),
        Wording::Pi => format!(
            "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{summary}\n</summary>"
        ),
    }
}

/// Returns the summary that a text as [`convert_message`] makes it of a compaction holds; another text is its own.
pub fn unwrapped_summary(text: &str) -> &str {
    let unwrapped = |wording| {
        let frame = compaction_text("\0", wording);
        let (before, behind) = frame.split_once('\0')?;
        text.strip_prefix(before)?.strip_suffix(behind)
    };
    let found = unwrapped(Wording::Own).or_else(|| unwrapped(Wording::Pi));
    found.unwrap_or(text)
}

#[derive(Template)]
#[template(path = "restore-resume.md")]
struct RestoreResume;

#[derive(Template)]
#[template(path = "restore-acknowledgement.md")]
struct RestoreAcknowledgement;

/// Returns what the context contains, in addition to the summary, after a compaction of the strategy `restore`: the sentence
/// behind the summary and its acknowledgement. Both stand in the projection alone.
pub fn restore_frame() -> String {
    format!(
        "{}\n{}",
        render(&RestoreResume),
        render(&RestoreAcknowledgement)
    )
}

/// Returns a summary of the strategy `restore` as the context has it: the sentence to go on behind it.
pub fn resumed(summary: &str) -> String {
    format!("{summary}\n\n{}", render(&RestoreResume))
}

/// Returns the answer that acknowledges a summary of the strategy `restore`. Nobody gave it: it has no provider.
pub fn acknowledgement() -> AssistantMessage {
    AssistantMessage {
        content: Content::Blocks(vec![Block::text(render(&RestoreAcknowledgement))]),
        api: String::new(),
        provider: String::new(),
        model: String::new(),
        usage: None,
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: None,
    }
}

fn branch_text(summary: &str, wording: Wording) -> String {
    match wording {
        Wording::Own => render(&BranchSummaryContext { summary }),
        Wording::Pi => format!(
            "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{summary}</summary>"
        ),
    }
}

fn render(template: &impl Template) -> String {
    // Rendering into a string fails only when a value's own formatting does, and texts never do.
    template.render().unwrap_or_default().trim_end().to_owned()
}

#[derive(Template)]
#[template(path = "bash-execution-context.md")]
struct BashExecutionContext<'a> {
    command: &'a str,
    command_fence: String,
    output: &'a str,
    output_fence: String,
    cancelled: bool,
    failed: bool,
    exit_code: i64,
    full_output: &'a str,
}

#[derive(Template)]
#[template(path = "missing-tool-result.md")]
struct MissingToolResult;

#[derive(Template)]
#[template(path = "orphan-tool-result.md")]
struct OrphanToolResult<'a> {
    tool: &'a str,
}

/// Returns what replaces a result that was never recorded.
pub(crate) fn missing_result_text() -> String {
    render(&MissingToolResult)
}

/// Returns what opens a result whose call is not in the conversation.
pub(crate) fn orphan_result_text(tool: &str) -> String {
    render(&OrphanToolResult { tool })
}

impl BashExecution {
    /// Returns what people and models read of the run, in the project's own words.
    pub fn to_text(&self) -> String {
        let exit_code = self.exit_code.unwrap_or(0);
        let full_output = self.full_output_path.as_deref().filter(|_| self.truncated);
        render(&BashExecutionContext {
            command: &self.command,
            command_fence: fence_for(&self.command),
            output: &self.output,
            output_fence: fence_for(&self.output),
            cancelled: self.cancelled,
            failed: exit_code != 0,
            exit_code,
            full_output: full_output.unwrap_or_default(),
        })
    }

    fn told(&self, wording: Wording) -> String {
        match wording {
            Wording::Own => self.to_text(),
            Wording::Pi => self.pi_text(),
        }
    }

    fn pi_text(&self) -> String {
        let mut text = format!("Ran `{}`\n", self.command);
        match self.output.as_str() {
            "" => text.push_str("(no output)"),
            output => text.push_str(&format!("```\n{output}\n```")),
        }
        match (self.cancelled, self.exit_code) {
            (true, _) => text.push_str("\n\n(command cancelled)"),
            (false, None | Some(0)) => {}
            (false, Some(code)) => text.push_str(&format!("\n\nCommand exited with code {code}")),
        }
        if let Some(path) = self.full_output_path.as_deref().filter(|_| self.truncated) {
            text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
        }
        text
    }
}

/// Returns a fence of backticks that is longer than any run of backticks in `text`, and at least three long.
pub fn fence_for(text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat((longest + 1).max(3))
}
