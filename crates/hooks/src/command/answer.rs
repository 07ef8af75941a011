//! The answer of a command hook, read from the JSON object that it writes.

use std::fmt;

use serde_json::{Map, Value};
use session_model::EntryId;

use super::members::Members;
use super::run::reason;
use crate::event::{
    BeforeCompactEvent, BeforeCompactResult, BeforePromptResult, BeforeTreeResult,
    BranchSummaryOverride, CompactingResult, CompactionOverride, ToolCallResult,
};
use crate::hook::HookError;
use crate::payload::HookEvent;
use crate::point::HookPoint;

/// The answer of a command hook, for any point.
#[derive(Debug, Clone, PartialEq)]
pub enum HookAnswer {
    /// To `before_prompt`.
    BeforePrompt(BeforePromptResult),
    /// To `tool_call`.
    ToolCall(ToolCallResult),
    /// To `session_before_compact`.
    BeforeCompact(BeforeCompactResult),
    /// To `session.compacting`.
    Compacting(CompactingResult),
    /// To `session_before_tree`.
    BeforeTree(BeforeTreeResult),
    /// The answer at points that expect none.
    Told,
}

impl HookAnswer {
    /// Returns the answer of a hook without an effect.
    pub fn nothing(point: HookPoint) -> Self {
        match point {
            HookPoint::BeforePrompt => Self::BeforePrompt(BeforePromptResult::default()),
            HookPoint::ToolCall => Self::ToolCall(ToolCallResult::default()),
            HookPoint::SessionBeforeCompact => Self::BeforeCompact(BeforeCompactResult::default()),
            HookPoint::SessionCompacting => Self::Compacting(CompactingResult::default()),
            HookPoint::SessionBeforeTree => Self::BeforeTree(BeforeTreeResult::default()),
            HookPoint::SessionStart
            | HookPoint::SessionShutdown
            | HookPoint::ToolResult
            | HookPoint::TurnEnd
            | HookPoint::SessionCompact
            | HookPoint::SessionCompactFailed
            | HookPoint::SessionTree => Self::Told,
        }
    }

    /// Returns the answer that blocks the action; an answer without an effect if the point cannot block.
    pub(super) fn blocked(point: HookPoint, reason: Option<String>) -> Self {
        match Self::nothing(point) {
            Self::ToolCall(_) => Self::ToolCall(ToolCallResult::Block { reason }),
            Self::BeforeCompact(_) => Self::BeforeCompact(BeforeCompactResult::Cancel { reason }),
            Self::BeforeTree(_) => Self::BeforeTree(BeforeTreeResult::Cancel { reason }),
            nothing @ (Self::BeforePrompt(_) | Self::Compacting(_) | Self::Told) => nothing,
        }
    }

    /// Reads what a hook wrote: white space, or one JSON object.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    #[doc(hidden)]
    pub fn read(event: &HookEvent<'_>, stdout: &[u8]) -> Result<Self, HookError> {
        let point = event.point();
        if stdout.trim_ascii().is_empty() {
            return Ok(Self::nothing(point));
        }
        let value: Value = serde_json::from_slice(stdout).map_err(|error| {
            HookError(format!(
                "standard output is not a JSON object ({error}); write one, or nothing"
            ))
        })?;
        let mut members = Members::of("", value)?;
        let answer = match event {
            HookEvent::BeforePrompt(_) => Self::BeforePrompt(BeforePromptResult {
                context: context(&mut members)?,
            }),
            HookEvent::ToolCall(_) => {
                let blocks = members.flag("block")?;
                let reason = members.text("reason")?.as_deref().and_then(reason);
                Self::ToolCall(match blocks {
                    true => ToolCallResult::Block { reason },
                    false => ToolCallResult::Proceed,
                })
            }
            HookEvent::BeforeCompact(event) => {
                Self::BeforeCompact(before_compact(event, &mut members)?)
            }
            HookEvent::Compacting(_) => Self::Compacting(CompactingResult {
                // One that is empty is none.
                prompt: members
                    .text("prompt")?
                    .filter(|prompt| !prompt.trim().is_empty()),
                context: context(&mut members)?,
                preserve_data: members.object("preserve_data")?.unwrap_or_default(),
            }),
            HookEvent::BeforeTree(_) => Self::BeforeTree(before_tree(&mut members)?),
            HookEvent::Notification(_) => Self::Told,
        };
        members.finish()?;
        Ok(answer)
    }
}

/// The most context that one answer may bring, in bytes: more would take the room of the conversation.
pub(crate) const MOST_CONTEXT: usize = 32 * 1024;

/// Reads texts for the model; empty ones are left out.
fn context(members: &mut Members) -> Result<Vec<String>, HookError> {
    let mut texts = members.texts("context")?;
    texts.retain(|text| !text.trim().is_empty());
    let bytes: usize = texts.iter().map(String::len).sum();
    match bytes > MOST_CONTEXT {
        true => Err(HookError(format!(
            "context has {bytes} bytes; give at most {MOST_CONTEXT}"
        ))),
        false => Ok(texts),
    }
}

fn before_compact(
    event: &BeforeCompactEvent<'_>,
    members: &mut Members,
) -> Result<BeforeCompactResult, HookError> {
    let cancels = members.flag("cancel")?;
    let reason = members.text("reason")?.as_deref().and_then(reason);
    if cancels {
        // A cancellation makes the other members irrelevant.
        members.clear();
        return Ok(BeforeCompactResult::Cancel { reason });
    }
    let replacement = match members.members("compaction")? {
        Some(own) => Some(compaction(event, own)?),
        None => None,
    };
    Ok(match replacement {
        Some(replacement) => BeforeCompactResult::Replace(Box::new(replacement)),
        None => BeforeCompactResult::Proceed,
    })
}

fn compaction(
    event: &BeforeCompactEvent<'_>,
    mut members: Members,
) -> Result<CompactionOverride, HookError> {
    let first_kept = members.needed_text("first_kept_entry_id")?;
    if event.path.place_of(&first_kept).is_none() {
        return Err(HookError(format!(
            "compaction.first_kept_entry_id names {}, which is not on the path",
            reason(&first_kept).unwrap_or_default()
        )));
    }
    let before = members.count("tokens_before")?;
    let compaction = CompactionOverride {
        summary: members.needed_text("summary")?,
        ledger: members.flag_or("ledger", true)?,
        short_summary: members.text("short_summary")?,
        first_kept: EntryId::new(&first_kept),
        tokens_before: before.unwrap_or(event.plan.tokens_in_context().0),
        details: members.object("details")?.map(Value::Object),
        preserve_data: members.object("preserve_data")?.unwrap_or_default(),
    };
    members.finish()?;
    Ok(compaction)
}

fn before_tree(members: &mut Members) -> Result<BeforeTreeResult, HookError> {
    let cancels = members.flag("cancel")?;
    let reason = members.text("reason")?.as_deref().and_then(reason);
    if cancels {
        members.clear();
        return Ok(BeforeTreeResult::Cancel { reason });
    }
    let summary = match members.members("summary")? {
        Some(mut own) => {
            let summary = BranchSummaryOverride {
                summary: own.needed_text("summary")?,
                details: own.object("details")?.map(Value::Object),
            };
            own.finish()?;
            Some(summary)
        }
        None => None,
    };
    Ok(match summary {
        Some(summary) => BeforeTreeResult::Summary(summary),
        None => BeforeTreeResult::Proceed,
    })
}

impl fmt::Display for HookAnswer {
    /// Says in words what the answer does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = match self {
            Self::BeforePrompt(result) => added(&result.context, None, &Map::new()),
            Self::ToolCall(ToolCallResult::Proceed)
            | Self::BeforeCompact(BeforeCompactResult::Proceed)
            | Self::BeforeTree(BeforeTreeResult::Proceed)
            | Self::Told => None,
            Self::ToolCall(ToolCallResult::Block { reason }) => {
                Some(refused("blocks the call", reason.as_deref()))
            }
            Self::BeforeCompact(BeforeCompactResult::Cancel { reason }) => {
                Some(refused("cancels the compaction", reason.as_deref()))
            }
            Self::BeforeTree(BeforeTreeResult::Cancel { reason }) => {
                Some(refused("cancels the move", reason.as_deref()))
            }
            Self::BeforeCompact(BeforeCompactResult::Replace(own)) => Some(format!(
                "supplies the compaction: a summary of length {}, kept from {}",
                own.summary.chars().count(),
                own.first_kept
            )),
            Self::BeforeTree(BeforeTreeResult::Summary(own)) => Some(format!(
                "supplies the summary, of length {}",
                own.summary.chars().count()
            )),
            Self::Compacting(result) => added(
                &result.context,
                result.prompt.as_deref(),
                &result.preserve_data,
            ),
        };
        f.write_str(said.as_deref().unwrap_or("nothing"))
    }
}

fn refused(what: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{what}: {reason}"),
        None => what.to_owned(),
    }
}

/// Describes the additions; `None` if there are none.
fn added(context: &[String], prompt: Option<&str>, data: &Map<String, Value>) -> Option<String> {
    let mut parts = Vec::new();
    if prompt.is_some() {
        parts.push("a prompt of its own".to_owned());
    }
    if !context.is_empty() {
        parts.push(format!("context ({})", context.len()));
    }
    if !data.is_empty() {
        let keys: Vec<&str> = data.keys().map(String::as_str).collect();
        parts.push(format!("data ({})", keys.join(", ")));
    }
    (!parts.is_empty()).then(|| format!("adds {}", parts.join(", ")))
}
