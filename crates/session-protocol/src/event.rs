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
        /// The session.
        session_id: String,
        /// Where it is, or will be after the first answer; null if it is never written.
        path: Option<String>,
        /// The folder that the tools work in.
        cwd: String,
        /// The model, as `provider/model`.
        model: String,
        /// Its window in tokens; 0 when unknown.
        window: u64,
        /// Entries that it has already.
        entries: usize,
    },
    /// A message is stored and waits to be sent.
    Queued {
        /// The id of its future entry.
        id: String,
        /// Its text.
        text: String,
        /// When it is sent: `prompt`, `steer` or `follow_up`.
        delivery: Word,
    },
    /// A message of the user goes to the model.
    Message {
        /// Its entry.
        entry_id: String,
        /// Its text.
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
        /// The delay.
        delay_seconds: f64,
        /// Attempts so far.
        sent: u32,
        /// How long it is retried at most.
        budget_seconds: f64,
    },
    /// An answer is complete.
    Answer {
        /// Its entry; null when nothing was kept.
        entry_id: Option<String>,
        /// The text.
        text: String,
        /// The number of tool calls.
        tool_calls: usize,
        /// Why it ended: `stop`, `length` (cut off), `tool_use`, `error`, `aborted`, or the provider's word.
        stop_reason: String,
        /// What went wrong; a failed answer is not part of the conversation.
        error: Option<String>,
        /// Its billed tokens.
        usage: TokenUsage,
        /// Its price in USD, if known.
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
        /// The end of its output so far, at most 8,000 bytes; replaces the previous update.
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
        /// The first 2,000 characters of its result.
        output: String,
        /// Whether the result is longer.
        truncated: bool,
        /// What it did: the `diff` of `edit` and `write`, the `exit_code` of `bash` (see the reference of tools).
        #[schemars(with = "Option<serde_json::Value>")]
        details: Option<serde_json::Value>,
    },
    /// A tool call waits for approval.
    ApprovalRequest {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// What it would do, such as the command.
        subject: String,
    },
    /// An approval was given, refused or cancelled.
    ApprovalEnd {
        /// The call.
        call_id: String,
        /// `once`, `always`, `deny` or `never`; null when cancelled.
        decision: Option<Word>,
    },
    /// A hook failed.
    HookFailed {
        /// The hook.
        hook: String,
        /// The point at which it ran.
        point: Word,
        /// What went wrong.
        reason: String,
    },
    /// Instructions entered or left the context.
    Instructions {
        /// Why: `start`, `touched` (a file of their folder), `compaction` or `changed`.
        reason: Word,
        /// The files.
        files: Vec<InstructionFile>,
    },
    /// A tool server started, failed or ended.
    ToolServer {
        /// Its name in the settings.
        name: String,
        /// `ready`, `failed` or `gone`.
        state: Word,
        /// The number of its tools.
        tools: usize,
        /// What went wrong.
        error: Option<String>,
    },
    /// How full the window is.
    Context {
        /// Tokens of the context.
        tokens: u64,
        /// The window in tokens; 0 when unknown.
        window: u64,
        /// Compaction is due above this; null when the window is unknown.
        threshold: Option<u64>,
        /// Whether `tokens` is an estimate; else it was billed.
        estimated: bool,
    },
    /// Old tool output left the context.
    Pruned {
        /// The number of results.
        results: usize,
        /// Tokens saved.
        saved_tokens: u64,
    },
    /// The session switched to a larger model.
    Promoted {
        /// The model before.
        from: String,
        /// The model now.
        to: String,
        /// Its window.
        window: u64,
    },
    /// An automatic compaction begins.
    AutoCompactionStart {
        /// Why: `overflow`, `incomplete`, `threshold`, `image` or `idle`.
        reason: Word,
        /// The strategy that is tried first.
        strategy: Word,
    },
    /// An automatic compaction has ended.
    AutoCompactionEnd {
        /// Why it ran.
        reason: Word,
        /// What it did; null when it failed or was cancelled.
        result: Option<CompactionResult>,
        /// Whether the user cancelled it; a hook that blocks it is an error.
        aborted: bool,
        /// Whether the request is repeated.
        will_retry: bool,
        /// What went wrong.
        error: Option<String>,
    },
    /// A requested compaction begins.
    CompactionStart {
        /// Always `manual`.
        reason: Word,
        /// The strategy that is tried first.
        strategy: Word,
    },
    /// A requested compaction has ended.
    CompactionEnd {
        /// Always `manual`.
        reason: Word,
        /// What it did; null when it failed or was cancelled.
        result: Option<CompactionResult>,
        /// Whether the user cancelled it; a hook that blocks it is an error.
        aborted: bool,
        /// Whether the turn that it stopped continues.
        will_retry: bool,
        /// What went wrong.
        error: Option<String>,
    },
    /// A compaction makes progress.
    CompactionProgress {
        /// What happens.
        text: String,
        /// Whether it is worth showing permanently.
        notable: bool,
    },
    /// A summary waits for `review_compaction`; nothing is written before.
    CompactionReview {
        /// Its prose; the ledger follows it.
        summary: String,
        /// Tokens of the context.
        tokens_before: u64,
        /// An estimate of them afterwards.
        tokens_after: u64,
        /// Why the replacement cannot be used.
        error: Option<String>,
    },
    /// The leaf has moved.
    Navigated {
        /// The new leaf.
        leaf: Option<String>,
        /// The previous leaf.
        from: Option<String>,
        /// The branch summary, if one was written.
        summary_entry_id: Option<String>,
        /// Text that returns to the editor.
        editor_text: Option<String>,
        /// Whether the move was cancelled; nothing has changed then.
        cancelled: bool,
    },
    /// Another session continues from here.
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
        /// The labelled entry.
        entry_id: String,
        /// The label; null when cleared.
        label: Option<String>,
    },
    /// A pin was set.
    Pinned {
        /// The pinned entry, or the entry that holds the text.
        entry_id: String,
        /// The pinned text.
        text: String,
        /// Its tokens.
        tokens: u64,
        /// Tokens of all pins.
        used_tokens: u64,
        /// Their budget.
        budget_tokens: u64,
    },
    /// A pin was removed.
    Unpinned {
        /// The entry that was pinned, or that held the text.
        entry_id: String,
        /// Tokens of the remaining pins.
        used_tokens: u64,
        /// Their budget.
        budget_tokens: u64,
    },
    /// A notice for the user.
    Notice {
        /// The text.
        text: String,
    },
    /// Something went wrong.
    Error {
        /// The text.
        message: String,
    },
    /// A turn has ended.
    TurnEnd {
        /// `done`, `failed`, `aborted`, or `limit` (a limit of the settings).
        end: Word,
        /// What went wrong, or which limit was reached.
        error: Option<String>,
    },
    /// Nothing runs any more.
    Idle {
        /// The number of messages that wait nevertheless.
        waiting: usize,
    },
    /// The session is closed.
    SessionEnd {
        /// The session.
        session_id: String,
        /// Where it is; null when nothing was written.
        path: Option<String>,
        /// Its entries.
        entries: usize,
        /// Billed tokens of this run.
        usage: TokenUsage,
        /// Their price in USD, if known.
        cost_usd: Option<f64>,
        /// Automatic compactions.
        compactions: CompactionTotals,
    },
}

/// An instruction file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionFile {
    /// Where it is.
    pub path: String,
    /// Its estimated tokens.
    pub tokens: u64,
    /// `loaded`, `listed` (a skill), `changed`, `gone` or `refused`.
    pub state: Word,
    /// Why it was refused or cut.
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

/// Automatic compactions of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionTotals {
    /// Their number.
    pub automatic: usize,
    /// How many were prepared in the background.
    pub prepared: usize,
    /// How long they delayed turns and messages, including failed ones.
    pub waited_seconds: f64,
}

/// What a compaction did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompactionResult {
    /// The strategy.
    pub strategy: Word,
    /// The entry of the compaction, or of the mark of a pruning; null for a handoff.
    pub entry_id: Option<String>,
    /// The first entry that stays verbatim.
    pub first_kept_entry_id: Option<String>,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// An estimate of them afterwards.
    pub tokens_after: u64,
    /// Tokens of the ledger.
    pub ledger_tokens: u64,
    /// Entries that stay verbatim.
    pub kept_entries: usize,
    /// Entries that are summarized.
    pub summarized_entries: usize,
    /// Entries that are shortened in place.
    pub shortened_entries: usize,
    /// A model, or `extractive`.
    pub summarizer: String,
    /// The summary, or the document of a handoff.
    pub summary: Option<String>,
    /// How much the model can still read of the removed messages of the user; null where none were removed.
    pub user_messages: Option<KindLoss>,
    /// Its price in USD, if known.
    pub cost_usd: Option<f64>,
    /// How long it took.
    pub seconds: f64,
    /// How long it delayed the turn or a message; of a prepared one, how long writing it took.
    pub waited_seconds: f64,
    /// Whether it was prepared in the background.
    pub prepared: bool,
}
