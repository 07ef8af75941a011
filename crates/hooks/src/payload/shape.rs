//! The payload of each point: names, order and meaning of its members.

use std::borrow::Cow;

use compaction_core::Disposition;
use serde::Serialize;
use serde_json::Value;
use session_model::EntryId;

use super::HookEvent;
use super::session::{bounded, branch_entries, entries, message};
use crate::event::{BeforeCompactEvent, BeforeTreeEvent, Notification};

/// The payload of any point.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Payload<'a> {
    SessionStart(SessionStart<'a>),
    SessionShutdown(SessionShutdown<'a>),
    BeforePrompt(BeforePrompt<'a>),
    ToolCall(ToolCall<'a>),
    ToolResult(ToolResult<'a>),
    TurnEnd(TurnEnd<'a>),
    SessionBeforeCompact(Box<SessionBeforeCompact<'a>>),
    SessionCompacting(SessionCompacting<'a>),
    SessionCompact(SessionCompact<'a>),
    SessionCompactFailed(SessionCompactFailed<'a>),
    SessionBeforeTree(SessionBeforeTree),
    SessionTree(SessionTree<'a>),
}

/// `session_start`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionStart<'a> {
    /// Entries that it has already.
    entries: usize,
    /// The model, as `provider/model`.
    model: &'a str,
}

/// `session_shutdown`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionShutdown<'a> {
    /// `end`; `handoff` or `fork` when another session continues.
    reason: &'a str,
}

/// `before_prompt`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct BeforePrompt<'a> {
    /// The message.
    text: &'a str,
    /// The id of its future entry.
    entry_id: &'a str,
}

/// `tool_call`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ToolCall<'a> {
    /// The call.
    call_id: &'a str,
    /// The tool.
    tool: &'a str,
    /// Its arguments.
    arguments: &'a Value,
}

/// `tool_result`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ToolResult<'a> {
    /// The call.
    call_id: &'a str,
    /// The tool.
    tool: &'a str,
    /// Its arguments.
    arguments: &'a Value,
    /// True if the tool call failed.
    is_error: bool,
    /// The first 100,000 bytes of what the model sees; a last line counts the rest.
    output: Cow<'a, str>,
}

/// `turn_end`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TurnEnd<'a> {
    /// `done`, `failed` or `aborted`.
    end: &'a str,
    /// The error, if there was one.
    error: Option<&'a str>,
}

/// `session_before_compact`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionBeforeCompact<'a> {
    /// `manual`, `overflow`, `incomplete`, `threshold`, `image` or `idle`.
    reason: &'a str,
    /// True if the request is repeated afterwards.
    will_retry: bool,
    /// The user's instructions on what the summary should focus on.
    custom_instructions: Option<&'a str>,
    /// The strategy.
    strategy: &'a str,
    /// Tokens of the context now.
    tokens_before: u64,
    /// The first entry that would stay verbatim; null for none.
    first_kept_entry_id: Option<&'a str>,
    /// The previous summary, without its file lists.
    previous_summary: Option<&'a str>,
    /// Files that were only read.
    read_files: Vec<String>,
    /// Files that were changed.
    modified_files: Vec<String>,
    /// Ids of entries to summarize.
    messages_to_summarize: Vec<&'a str>,
    /// Ids of the beginning of a split turn, to be summarized too.
    turn_prefix_messages: Vec<&'a str>,
    /// Ids of entries that would stay.
    kept: Vec<&'a str>,
    /// The branch's entries as in the file, oldest first, from the first one that the previous compaction kept.
    branch_entries: Vec<Value>,
    /// The number of older or unreadable entries that are left out.
    branch_entries_left_out: usize,
}

/// `session.compacting`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionCompacting<'a> {
    /// `context-full`, `restore` or `handoff`.
    strategy: &'a str,
    /// The messages of the context, as in session files.
    messages: Vec<Value>,
}

/// `session_compact`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionCompact<'a> {
    /// The entry, as in the file.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Map<String, Value>"))]
    entry: &'a Value,
    /// True if a hook supplied it.
    from_extension: bool,
    /// The reason of the compaction.
    reason: &'a str,
    /// The summary as stored.
    summary: &'a str,
    /// `manual` or `auto`.
    trigger: &'a str,
}

/// `session_compact_failed`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionCompactFailed<'a> {
    /// The reason of the compaction.
    reason: &'a str,
    /// The error, if there was one.
    error: Option<&'a str>,
    /// True if the user cancelled it; a hook that blocks it is an error.
    aborted: bool,
    /// True if the request is repeated nevertheless.
    will_retry: bool,
}

/// `session_before_tree`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionBeforeTree {
    /// The chosen entry; null for before all entries.
    target: Option<String>,
    /// The leaf.
    old_leaf: Option<String>,
    /// The deepest entry of both branches.
    common_ancestor: Option<String>,
    /// True if the user wants a summary.
    user_wants_summary: bool,
    /// Ids of the entries that are left, oldest first.
    entries_to_summarize: Vec<String>,
    /// The readable ones of these entries, as in the file.
    entries: Vec<Value>,
}

/// `session_tree`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SessionTree<'a> {
    /// The new leaf; null before all entries.
    new_leaf: Option<&'a str>,
    /// The previous leaf.
    old_leaf: Option<&'a str>,
    /// The branch summary, as in the file.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<serde_json::Map<String, Value>>")
    )]
    summary_entry: Option<&'a Value>,
}

impl<'a> Payload<'a> {
    /// Returns the payload of an event.
    pub(crate) fn of(event: &HookEvent<'a>) -> Self {
        match event {
            HookEvent::BeforePrompt(event) => Self::BeforePrompt(BeforePrompt {
                text: event.text,
                entry_id: event.entry_id.as_str(),
            }),
            HookEvent::ToolCall(event) => Self::ToolCall(ToolCall {
                call_id: event.call_id,
                tool: event.tool,
                arguments: event.arguments,
            }),
            HookEvent::BeforeCompact(event) => {
                Self::SessionBeforeCompact(Box::new(SessionBeforeCompact::of(event)))
            }
            HookEvent::Compacting(event) => Self::SessionCompacting(SessionCompacting {
                strategy: event.strategy,
                messages: event.messages.iter().copied().map(message).collect(),
            }),
            HookEvent::BeforeTree(event) => Self::SessionBeforeTree(SessionBeforeTree::of(event)),
            HookEvent::Notification(notification) => Self::of_notification(notification),
        }
    }

    fn of_notification(notification: &'a Notification) -> Self {
        match notification {
            Notification::SessionStart { entries, model } => Self::SessionStart(SessionStart {
                entries: *entries,
                model,
            }),
            Notification::SessionShutdown { reason } => {
                Self::SessionShutdown(SessionShutdown { reason })
            }
            Notification::ToolResult {
                call_id,
                tool,
                arguments,
                is_error,
                output,
            } => Self::ToolResult(ToolResult {
                call_id,
                tool,
                arguments,
                is_error: *is_error,
                output: bounded(output),
            }),
            Notification::TurnEnd { end, error } => Self::TurnEnd(TurnEnd {
                end,
                error: error.as_deref(),
            }),
            Notification::SessionCompact {
                entry,
                from_extension,
                reason,
                summary,
                trigger,
            } => Self::SessionCompact(SessionCompact {
                entry,
                from_extension: *from_extension,
                reason,
                summary,
                trigger,
            }),
            Notification::SessionCompactFailed {
                reason,
                error,
                aborted,
                will_retry,
            } => Self::SessionCompactFailed(SessionCompactFailed {
                reason,
                error: error.as_deref(),
                aborted: *aborted,
                will_retry: *will_retry,
            }),
            Notification::SessionTree {
                new_leaf,
                old_leaf,
                summary_entry,
            } => Self::SessionTree(SessionTree {
                new_leaf: new_leaf.as_deref(),
                old_leaf: old_leaf.as_deref(),
                summary_entry: summary_entry.as_ref(),
            }),
        }
    }
}

impl<'a> SessionBeforeCompact<'a> {
    fn of(event: &BeforeCompactEvent<'a>) -> Self {
        let plan = event.plan;
        let ids = |fates: &[Disposition]| {
            let planned = plan.entries.iter();
            let planned = planned.filter(|entry| fates.contains(&entry.disposition));
            planned.map(|entry| entry.entry_id.as_str()).collect()
        };
        let (branch_entries, branch_entries_left_out) = branch_entries(plan, event.path);
        Self {
            reason: event.reason,
            will_retry: event.will_retry,
            custom_instructions: event.custom_instructions,
            strategy: plan.strategy.name(),
            tokens_before: plan.tokens_in_context().0,
            first_kept_entry_id: plan.first_kept().map(EntryId::as_str),
            previous_summary: plan.previous_summary.as_deref(),
            read_files: plan.files.read_files(),
            modified_files: plan.files.modified_files(),
            messages_to_summarize: ids(&[Disposition::Summarized]),
            turn_prefix_messages: ids(&[Disposition::TurnPrefix]),
            kept: ids(&[Disposition::Kept, Disposition::Pruned]),
            branch_entries,
            branch_entries_left_out,
        }
    }
}

impl SessionBeforeTree {
    fn of(event: &BeforeTreeEvent<'_>) -> Self {
        let plan = event.plan;
        let text = |id: &EntryId| id.as_str().to_owned();
        let collected = plan.collected.iter();
        Self {
            target: event.tree.leaf_id(event.target).map(str::to_owned),
            old_leaf: event.tree.leaf_id(event.old_leaf).map(str::to_owned),
            common_ancestor: plan.common_ancestor.as_ref().map(text),
            user_wants_summary: event.user_wants_summary,
            entries_to_summarize: collected.clone().map(text).collect(),
            entries: entries(event.tree, collected.filter_map(|id| event.tree.find(id))),
        }
    }
}
