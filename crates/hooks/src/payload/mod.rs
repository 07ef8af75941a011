//! The payloads of hooks as JSON: one table for command hooks, the documentation and `hooks test`.

#[cfg(feature = "schema")]
pub mod reference;
mod samples;
mod session;
mod shape;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;

use crate::event::{
    BeforeCompactEvent, BeforePromptEvent, BeforeTreeEvent, CompactingEvent, Notification,
    ToolCallEvent,
};
use crate::hook::HookContext;
use crate::point::HookPoint;

pub use samples::{SampleSession, Samples};
pub(crate) use shape::Payload;

/// The event of a hook, for any point.
#[derive(Debug, Clone, Copy)]
pub enum HookEvent<'a> {
    /// A message of the user is about to be sent.
    BeforePrompt(BeforePromptEvent<'a>),
    /// A tool is about to run.
    ToolCall(ToolCallEvent<'a>),
    /// A compaction is about to run.
    BeforeCompact(BeforeCompactEvent<'a>),
    /// The requests of a compaction are being made.
    Compacting(CompactingEvent<'a>),
    /// The leaf is about to move.
    BeforeTree(BeforeTreeEvent<'a>),
    /// Something has happened.
    Notification(&'a Notification),
}

impl<'a> HookEvent<'a> {
    /// Returns the point that it belongs to.
    pub const fn point(&self) -> HookPoint {
        match self {
            Self::BeforePrompt(_) => HookPoint::BeforePrompt,
            Self::ToolCall(_) => HookPoint::ToolCall,
            Self::BeforeCompact(_) => HookPoint::SessionBeforeCompact,
            Self::Compacting(_) => HookPoint::SessionCompacting,
            Self::BeforeTree(_) => HookPoint::SessionBeforeTree,
            Self::Notification(notification) => notification.point(),
        }
    }

    /// Returns the subject that a matcher is compared with; `None` for points without one. Its name is
    /// [`HookPoint::subject`].
    pub fn subject(&self) -> Option<&'a str> {
        match self {
            Self::ToolCall(event) => Some(event.tool),
            Self::BeforeCompact(event) => Some(event.reason),
            Self::Compacting(event) => Some(event.strategy),
            Self::BeforePrompt(_) | Self::BeforeTree(_) => None,
            Self::Notification(notification) => match notification {
                Notification::ToolResult { tool, .. } => Some(tool),
                Notification::TurnEnd { end, .. } => Some(end),
                Notification::SessionCompact { reason, .. }
                | Notification::SessionCompactFailed { reason, .. } => Some(reason),
                Notification::SessionStart { .. }
                | Notification::SessionShutdown { .. }
                | Notification::SessionTree { .. } => None,
            },
        }
    }

    /// Returns the point's own payload as a JSON object; keys are snake_case, entries and messages have the form of
    /// session files.
    pub fn payload(&self) -> Value {
        serde_json::to_value(Payload::of(self)).unwrap_or_default()
    }

    /// Returns what a command hook reads: the point, the session, and the payload, as one JSON object on one line.
    pub fn document(&self, context: &HookContext) -> String {
        let document = Document::of(self, context);
        let mut line = serde_json::to_string(&document).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// The document that a command hook reads.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Document<'a> {
    /// The point.
    hook_point: &'static str,
    /// The session.
    session_id: &'a str,
    /// The session's file; null if it is never written.
    session_path: Option<String>,
    /// The working folder, in which the hook runs.
    cwd: String,
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    payload: Payload<'a>,
}

impl<'a> Document<'a> {
    pub(crate) fn of(event: &HookEvent<'a>, context: &'a HookContext) -> Self {
        let path = context.session_path.as_ref();
        Self {
            hook_point: event.point().name(),
            session_id: &context.session_id,
            session_path: path.map(|path| path.to_string_lossy().into_owned()),
            cwd: context.cwd.to_string_lossy().into_owned(),
            payload: Payload::of(event),
        }
    }
}
