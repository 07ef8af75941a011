//! The trait that hooks implement.

use std::path::PathBuf;
use std::pin::Pin;

use tokio_util::sync::CancellationToken;

use crate::event::{
    BeforeCompactEvent, BeforeCompactResult, BeforePromptEvent, BeforePromptResult,
    BeforeTreeEvent, BeforeTreeResult, CompactingEvent, CompactingResult, Notification,
    ToolCallEvent, ToolCallResult,
};
use crate::point::HookPoint;

/// The reason why a hook failed, as text for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// The future answer of a hook.
pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HookError>> + Send + 'a>>;

/// The session in which hooks run.
#[derive(Debug, Clone, Default)]
pub struct HookContext {
    /// Its id.
    pub session_id: String,
    /// Its file; none for one that is never written.
    pub session_path: Option<PathBuf>,
    /// The folder that is worked in.
    pub cwd: PathBuf,
    /// Cancelled when no caller waits for the answer any more; a hook that is still running should end.
    pub cancel: CancellationToken,
}

/// Observes a session and can influence it. The default of every method does nothing.
///
/// A hook runs on the session's own task: long work must be awaited, never block.
pub trait Hook: Send + Sync {
    /// Returns the name that failures are reported under.
    fn name(&self) -> &str;

    /// Returns true if it runs at `point`; no payload is prepared for a hook that does not.
    fn wants(&self, point: HookPoint) -> bool {
        let _ = point;
        true
    }

    /// `before_prompt`: may add context to a message of the user.
    fn before_prompt<'a>(
        &'a self,
        event: &'a BeforePromptEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, BeforePromptResult> {
        let _ = (event, context);
        nothing()
    }

    /// `tool_call`: may block a tool call.
    fn tool_call<'a>(
        &'a self,
        event: &'a ToolCallEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, ToolCallResult> {
        let _ = (event, context);
        nothing()
    }

    /// `session_before_compact`: may cancel or supply a compaction.
    fn before_compact<'a>(
        &'a self,
        event: &'a BeforeCompactEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, BeforeCompactResult> {
        let _ = (event, context);
        nothing()
    }

    /// `session.compacting`: may add to the requests of a compaction.
    fn compacting<'a>(
        &'a self,
        event: &'a CompactingEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, CompactingResult> {
        let _ = (event, context);
        nothing()
    }

    /// `session_before_tree`: may cancel a change of branch or supply its summary.
    fn before_tree<'a>(
        &'a self,
        event: &'a BeforeTreeEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, BeforeTreeResult> {
        let _ = (event, context);
        nothing()
    }

    /// Told of what has happened: `session_start`, `session_shutdown`, `tool_result`, `turn_end`,
    /// `session_compact`, `session_compact_failed`, `session_tree`.
    fn notify<'a>(
        &'a self,
        notification: &'a Notification,
        context: &'a HookContext,
    ) -> HookFuture<'a, ()> {
        let _ = (notification, context);
        nothing()
    }
}

/// Returns the answer of a hook without an effect.
fn nothing<'a, T: Default + Send + 'a>() -> HookFuture<'a, T> {
    Box::pin(std::future::ready(Ok(T::default())))
}
