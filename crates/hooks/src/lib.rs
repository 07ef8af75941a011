//! Hook points of coding-agent sessions, and the rules by which the results of several hooks merge.
//!
//! A [`Hook`] gets an action before it happens and may cancel it, replace it, or add to it. Hooks run in the order in
//! which they were registered in a [`HookSet`]; their answers are merged into one result. A hook that fails is reported
//! and never stops the others, unless it is a guard ([`OnFailure::Block`]).
//!
//! A [`CommandHook`] is a hook that is a program: it reads one JSON object
//! ([`HookEvent::document`]) and writes one, or nothing. `docs/reference/hooks.md` has the
//! protocol; [`CommandHook::run`] tries one.
//!
//! ```
//! use hooks::{CompactingEvent, CompactingResult, Hook, HookContext, HookFuture, HookSet};
//!
//! struct Memory;
//!
//! impl Hook for Memory {
//!     fn name(&self) -> &str {
//!         "memory"
//!     }
//!
//!     fn compacting<'a>(
//!         &'a self,
//!         _event: &'a CompactingEvent<'_>,
//!         _context: &'a HookContext,
//!     ) -> HookFuture<'a, CompactingResult> {
//!         Box::pin(async {
//!             Ok(CompactingResult {
//!                 context: vec!["the release is on Friday".to_owned()],
//!                 ..CompactingResult::default()
//!             })
//!         })
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let mut hooks = HookSet::default();
//! hooks.register(Memory);
//! let event = CompactingEvent {
//!     strategy: "context-full",
//!     messages: &[],
//! };
//! let merged = hooks.compacting(&event, &HookContext::default()).await;
//! assert_eq!(merged.result.context, ["the release is on Friday"]);
//! assert!(merged.failures.is_empty());
//! # });
//! ```

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod command;
mod event;
mod hook;
mod merge;
mod payload;
mod point;
pub mod process;

pub use command::{
    Cleaner, CommandEnd, CommandHook, CommandRun, HookAnswer, HookCommand, InvalidHook, Matcher,
    OnFailure, TIMEOUT,
};
pub use event::{
    BeforeCompactEvent, BeforeCompactResult, BeforePromptEvent, BeforePromptResult,
    BeforeTreeEvent, BeforeTreeResult, BranchSummaryOverride, CompactingEvent, CompactingResult,
    CompactionOverride, Notification, ToolCallEvent, ToolCallResult,
};
pub use hook::{Hook, HookContext, HookError, HookFuture};
pub use merge::{HookFailure, HookSet, Merged};
#[cfg(feature = "schema")]
pub use payload::reference;
pub use payload::{HookEvent, SampleSession, Samples};
pub use point::{HookPoint, UnknownPoint};
