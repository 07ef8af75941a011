//! What a running session tells: one event for whatever happens, the same for terminals, programs and hooks.

mod reference;
mod usage;

use std::borrow::Cow;

use compaction_core::KindLoss;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use session_model::StopReason;

pub use reference::*;
pub use usage::TokenUsage;

/// A word of the program's own, such as `done`.
type Word = Cow<'static, str>;

/// Something that happened in a session. In JSON every event is one object with `type`.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SessionEvent {
    /// The session is open.
    SessionStart {
        /// The session's id.
        session_id: String,
        /// Where it is, or will be once the model has answered; none for one that is never written.
        path: Option<String>,
        /// The folder that the tools work in.
        cwd: String,
        /// The model, as `provider/model`.
        model: String,
        /// Its window in tokens; 0 when unknown.
        window: u64,
        /// Entries that are there already.
        entries: usize,
    },
    /// A message waits to be sent.
    Queued {
        /// The id that it will have in the session.
        id: String,
        /// What it says.
        text: String,
        /// When it is sent: `prompt`, `steer` or `follow_up`.
        delivery: Word,
    },
    /// A message of the user is in the session and goes to the model.
    Message {
        /// Its entry.
        entry_id: String,
        /// What it says.
        text: String,
    },
    /// A turn begins.
    TurnStart,
    /// More text of the answer.
    TextDelta {
        /// The text.
        text: String,
    },
    /// More of the model's thinking.
    ThinkingDelta {
        /// The text.
        text: String,
    },
    /// A request failed and is sent again after a delay.
    Retry {
        /// Why it failed.
        error: String,
        /// After how many seconds.
        delay_seconds: f64,
        /// How often it has been sent.
        sent: u32,
        /// For how many seconds it is sent again, at most.
        budget_seconds: f64,
    },
    /// An answer is in the session.
    Answer {
        /// Its entry; none when there was nothing to keep.
        entry_id: Option<String>,
        /// The text.
        text: String,
        /// How many tools it calls.
        tool_calls: usize,
        /// Why it ended: `stop`, `length` (cut off), `tool_use`, `error`, `aborted`, or a word of the provider's.
        stop_reason: String,
        /// What went wrong; such an answer is not part of the conversation.
        error: Option<String>,
        /// Tokens that were billed for it.
        usage: TokenUsage,
        /// What that costs in USD, where prices are known.
        cost_usd: Option<f64>,
    },
    /// A tool begins.
    ToolStart {
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        #[schemars(with = "serde_json::Value")]
        arguments: serde_json::Value,
    },
    /// A running tool has more output.
    ToolUpdate {
        /// The call.
        call_id: String,
        /// The end of its output so far, at most 8,000 bytes; takes the place of the update before.
        output: String,
    },
    /// A tool is done.
    ToolEnd {
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// Whether it failed.
        is_error: bool,
        /// How long it took.
        seconds: f64,
        /// The beginning of its result, at most 2,000 characters.
        output: String,
        /// Whether the result is longer than that.
        truncated: bool,
        /// What it did, as the reference of the tools describes: the `diff` of `edit` and `write`, the `exit_code` of
        /// `bash`.
        #[schemars(with = "Option<serde_json::Value>")]
        details: Option<serde_json::Value>,
    },
    /// A tool call has to be allowed: it waits until somebody answers.
    ApprovalRequest {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// What it would do: the command, for `bash`.
        subject: String,
    },
    /// It is known whether a tool call that had to be allowed may run.
    ApprovalEnd {
        /// The call.
        call_id: String,
        /// `once`, `always`, `deny` or `never`; none when it was cancelled.
        decision: Option<Word>,
    },
    /// A hook failed; nothing else changes because of that.
    HookFailed {
        /// The hook.
        hook: String,
        /// Where it was asked or told.
        point: Word,
        /// What went wrong.
        reason: String,
    },
    /// Instructions of the project came into the context, or left it.
    Instructions {
        /// Why: `start`, `touched` (a file of their folder), `compaction` or `changed`.
        reason: Word,
        /// The files.
        files: Vec<InstructionFile>,
    },
    /// A server of tools is there, failed, or is gone.
    ToolServer {
        /// Its name in the settings.
        name: String,
        /// `ready`, `failed` or `gone`.
        state: Word,
        /// How many tools it brings.
        tools: usize,
        /// What went wrong.
        error: Option<String>,
    },
    /// How full the window is.
    Context {
        /// Tokens of the context.
        tokens: u64,
        /// The window; 0 when unknown.
        window: u64,
        /// Compaction is due above this; none when the window is unknown.
        threshold: Option<u64>,
        /// Whether the figure is an estimate; else the provider has billed it.
        estimated: bool,
    },
    /// Old tool output has left the context.
    Pruned {
        /// How many results.
        results: usize,
        /// How many tokens were saved.
        saved_tokens: u64,
    },
    /// A larger model has taken over.
    Promoted {
        /// The model before.
        from: String,
        /// The model now.
        to: String,
        /// Its window.
        window: u64,
    },
    /// A compaction that nobody asked for begins.
    AutoCompactionStart {
        /// Why: `overflow`, `incomplete`, `threshold`, `image` or `idle`.
        reason: Word,
        /// The strategy that is tried first.
        strategy: Word,
    },
    /// The compaction that nobody asked for is over.
    AutoCompactionEnd {
        /// Why it ran.
        reason: Word,
        /// What came of it; none when it failed or was cancelled.
        result: Option<CompactionResult>,
        /// Whether the user cancelled it; a hook that is against it is an error.
        aborted: bool,
        /// Whether the turn is asked again.
        will_retry: bool,
        /// What went wrong.
        error: Option<String>,
    },
    /// A compaction that was asked for begins.
    CompactionStart {
        /// Always `manual`.
        reason: Word,
        /// The strategy that is tried first.
        strategy: Word,
    },
    /// The compaction that was asked for is over.
    CompactionEnd {
        /// Always `manual`.
        reason: Word,
        /// What came of it; none when it failed or was cancelled.
        result: Option<CompactionResult>,
        /// Whether the user cancelled it; a hook that is against it is an error.
        aborted: bool,
        /// Whether the turn that it stopped goes on.
        will_retry: bool,
        /// What went wrong.
        error: Option<String>,
    },
    /// A compaction makes progress.
    CompactionProgress {
        /// What happens.
        text: String,
        /// Whether it is more than a sign of life.
        notable: bool,
    },
    /// The summary of a compaction that was asked for waits to be read; nothing is written before.
    CompactionReview {
        /// Its prose; what code quotes follows it.
        summary: String,
        /// Tokens of the context now.
        tokens_before: u64,
        /// An estimate of them after.
        tokens_after: u64,
        /// Why the text that was given in its place cannot be used.
        error: Option<String>,
    },
    /// The leaf has moved.
    Navigated {
        /// The entry at which the session stands now.
        leaf: Option<String>,
        /// The leaf that was left.
        from: Option<String>,
        /// The entry of the summary, where one was written.
        summary_entry_id: Option<String>,
        /// Text that returns to the editor.
        editor_text: Option<String>,
        /// Whether it was cancelled; then nothing has changed.
        cancelled: bool,
    },
    /// Another session goes on from here.
    SessionSwitch {
        /// The new session's id.
        session_id: String,
        /// Where it is or will be.
        path: Option<String>,
        /// The old session's id.
        from: String,
    },
    /// A label was set or cleared.
    Labelled {
        /// The entry that it names.
        entry_id: String,
        /// The label; none when it was cleared.
        label: Option<String>,
    },
    /// Something is kept verbatim from now on.
    Pinned {
        /// The pinned entry, or the entry that holds the text.
        entry_id: String,
        /// What is kept.
        text: String,
        /// Its tokens.
        tokens: u64,
        /// Tokens of all pins.
        used_tokens: u64,
        /// The most that they may take.
        budget_tokens: u64,
    },
    /// Something is not pinned any more.
    Unpinned {
        /// The entry that was pinned, or that holds the text.
        entry_id: String,
        /// Tokens of the pins that are left.
        used_tokens: u64,
        /// The most that they may take.
        budget_tokens: u64,
    },
    /// Something that people should know.
    Notice {
        /// What.
        text: String,
    },
    /// Something went wrong.
    Error {
        /// What.
        message: String,
    },
    /// A turn is over.
    TurnEnd {
        /// `done`, `failed`, `aborted`, or `limit`: a limit of the settings stopped it.
        end: Word,
        /// What went wrong, or which limit was reached.
        error: Option<String>,
    },
    /// Nothing is going on any more.
    Idle {
        /// How many messages wait all the same.
        waiting: usize,
    },
    /// The session is closed.
    SessionEnd {
        /// The session's id.
        session_id: String,
        /// Where it is; none when nothing was written.
        path: Option<String>,
        /// Entries in it.
        entries: usize,
        /// Tokens that were billed in this run.
        usage: TokenUsage,
        /// What they cost in USD, where prices are known.
        cost_usd: Option<f64>,
        /// Compactions that nobody asked for, and how long they were waited for.
        compactions: CompactionTotals,
    },
}

/// A file with instructions of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionFile {
    /// Where it is.
    pub path: String,
    /// Its size in tokens, by estimate.
    pub tokens: u64,
    /// `loaded`, `listed` (a skill: its line is told, not what it says), `changed`, `gone`, or `refused` with a reason.
    pub state: Word,
    /// Why it was refused, or cut.
    pub note: Option<String>,
}

/// Returns why an answer ended, as events say it: in the case of our documents.
pub fn stop_reason_name(reason: &StopReason) -> String {
    match reason {
        StopReason::ToolUse => "tool_use".to_owned(),
        StopReason::Stop
        | StopReason::Length
        | StopReason::Error
        | StopReason::Aborted
        | StopReason::Other(_) => reason.name().to_owned(),
    }
}

/// Compactions that nobody asked for, of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionTotals {
    /// How many there were.
    pub automatic: usize,
    /// How many of them had been prepared during the running turn.
    pub prepared: usize,
    /// How long they held up turns and messages, with those that failed.
    pub waited_seconds: f64,
}

/// What a compaction did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionResult {
    /// The strategy that did it.
    pub strategy: Word,
    /// The entry of the compaction or of the mark of a pruning; none for a handoff.
    pub entry_id: Option<String>,
    /// The first entry that stays verbatim.
    pub first_kept_entry_id: Option<String>,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// An estimate of them after.
    pub tokens_after: u64,
    /// Tokens of what code quotes next to the prose of the summary.
    pub ledger_tokens: u64,
    /// Entries that stay verbatim.
    pub kept_entries: usize,
    /// Entries that are summarized.
    pub summarized_entries: usize,
    /// Entries that are shortened where they stand.
    pub shortened_entries: usize,
    /// Who wrote: a model, or `extractive`.
    pub summarizer: String,
    /// The summary, or the document of a handoff.
    pub summary: Option<String>,
    /// How much the model can still read of the user's messages that were taken out; none where none were.
    pub user_messages: Option<KindLoss>,
    /// What it cost in USD, where prices are known.
    pub cost_usd: Option<f64>,
    /// How long it took.
    pub seconds: f64,
    /// How long it held up the turn or a message of the user; of one that was prepared, how long it took to write it.
    pub waited_seconds: f64,
    /// Whether it had been prepared during the running turn.
    pub prepared: bool,
}
