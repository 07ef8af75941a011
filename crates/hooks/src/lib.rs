//! Hook points around compaction and navigation, and the rules by which their results merge.
//!
//! A [`Hook`] looks at what is about to happen and may cancel it, replace it, or
//! add to it. Hooks run in the order in which they were registered in a
//! [`HookSet`]; what they return is merged into one result. A hook that fails is
//! reported and never stops the others.
//!
//! ```
//! use hooks::{CompactingResult, Hook, HookError, HookSet};
//!
//! struct Memory;
//!
//! impl Hook for Memory {
//!     fn name(&self) -> &str {
//!         "memory"
//!     }
//!
//!     fn compacting(&self, _session_id: &str) -> Result<CompactingResult, HookError> {
//!         Ok(CompactingResult {
//!             context: vec!["the release is on Friday".to_owned()],
//!             ..CompactingResult::default()
//!         })
//!     }
//! }
//!
//! let mut hooks = HookSet::default();
//! hooks.register(Memory);
//! let merged = hooks.compacting("session");
//! assert_eq!(merged.result.context, ["the release is on Friday"]);
//! assert!(merged.failures.is_empty());
//! ```

mod hook;
mod merge;

pub use hook::{
    BeforeCompactEvent, BeforeCompactResult, BeforeTreeEvent, BeforeTreeResult,
    BranchSummaryOverride, CompactingResult, CompactionOverride, Hook, HookError,
};
pub use merge::{HookFailure, HookSet, Merged};
