//! Compaction and branch summaries of coding-agent sessions, as pure functions.
//!
//! A compaction has three steps. **Plan** ([`plan_compaction`]): decides what is summarized and what stays verbatim,
//! and makes the requests. **Execute**: a summarizer answers the plan's [requests](CompactionPlan::requests); the
//! outline needs no model ([`CompactionPlan::extractive`]).
//! **Apply** ([`CompactionPlan::apply`]): the entries to append.
//!
//! ```
//! use compaction_core::{PlanOptions, TokenCount, Trigger, plan_compaction};
//! use session_model::decode_bytes;
//!
//! let mut lines = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
//! let mut parent = "null".to_owned();
//! for n in 0..40 {
//!     let role = if n % 2 == 0 { "user" } else { "assistant" };
//!     let text = "always keep the public interface as it is. ".repeat(60);
//!     lines.push_str(&format!(
//!         "{{\"type\":\"message\",\"id\":\"{n:08x}\",\"parentId\":{parent},\"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
//!     ));
//!     parent = format!("\"{n:08x}\"");
//! }
//! let session = decode_bytes(lines.into());
//! let path = session.tree.path(session.tree.leaf());
//!
//! let mut options = PlanOptions::for_window(TokenCount(200_000));
//! options.settings.compaction.keep_recent_tokens = TokenCount(5_000);
//! let plan = plan_compaction(&path, &Trigger::Manual { focus: None }, &options)?;
//! let applied = plan.extractive()?;
//! assert!(applied.tokens_after < plan.tokens_in_context());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Invariants.** Nothing here does I/O, reads a clock or draws random numbers: the same path and options give the
//! same plan, with the same [`CompactionPlan::hash`]. A cut never separates a call from its result. What one compaction
//! keeps, the next summarizes. A failed answer is an error, never a stored summary.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod branch;
mod cut;
mod files;
mod fold;
mod handoff;
mod ledger;
mod loss;
mod measure;
mod outline;
mod pins;
mod plan;
pub mod prompts;
mod prose;
mod prune;
mod removed;
mod request;
mod restore;
mod rules;
mod serialize;
mod settings;
mod shares;
mod skill_results;
mod threshold;
pub mod undoable;

pub use branch::{
    ASSUMED_WINDOW, BranchError, BranchInstructions, BranchOptions, BranchPlan, LEAF_ENTRY,
    branch_budget, leaf_move, plan_branch_summary,
};
pub use cut::{CutItem, CutPoint, Replaces, cut_items, find_cut_point};
pub use files::{FileCalls, FileOps, with_whole_paths, without_file_tags};
pub use fold::fold;
pub use handoff::{HandoffOptions, HandoffPlan, plan_handoff};
pub use ledger::{LedgerBlock, LedgerReader, ledger_of_pins};
pub use loss::{
    CompactionLoss, ContextLoss, EditLoss, KindLoss, LossKind, LossReport, LostText, Missing,
    TotalLoss, loss_of_drafts, loss_report,
};
pub use measure::{Measure, adapted_keep, is_plausible, measure, message_counts};
pub use outline::{HANDOFF_MESSAGE, Outline, OutlineCounts, OutlineText};
pub use pins::{NewPin, PIN_ENTRY, PIN_LABEL, Pin, PinError, PinTarget, Pins, carry_pins, pins_of};
pub use plan::{
    AppliedCompaction, ApplyError, CannotShrink, ComesBack, CompactionPlan, Disposition, Elision,
    ElisionPlan, HookInput, KeepBudget, MINIMUM_PART, NO_PRIOR_HISTORY, NothingToDo, PRUNE_ENTRY,
    PlanHash, PlanOptions, PlannedEntry, SPLIT_TURN_HEADING, SummarizerLimits, Trigger,
    WindowTooSmall, add_detail, ledger_beside, notice, plan_compaction, plan_elision,
    plan_for_context,
};
pub use prose::{prose_of, without_ledger};
pub use prune::{
    CACHE_LIFETIME_MILLIS, NothingToPrune, PromptCache, PrunePlan, PruneReason, PrunedResult,
    plan_prune, plan_prune_for_context,
};
pub use removed::{Removed, RemovedOutline, removed_outline};
pub use request::{
    AnswerEnd, AnswerError, Carried, RequestKind, Summarizer, SummaryAnswer, SummaryRequest,
    check_length,
};
pub use restore::{
    DiskFile, FileState, Freshness, ImageOutcome, Outcome, RestoreInput, Restored, RestoredFile,
    RestoredImage, touched_files,
};
pub use rules::{Profile, Rules};
pub use serialize::{Bounds, escape, serialize_parts};
pub use session_facts::{
    FileAction, LastSeen, RESTORED_CONTEXT, SourceMessage, TouchedFile, content_hash,
};
pub use session_model::{TokenCount, TokenCounter, image_tokens, tokens};
pub use settings::{
    BranchSummarySettings, CompactionSettings, CutRule, DEFAULT_RESERVE, InvalidSetting,
    LedgerSettings, PinSettings, PruneSettings, RestoreSettings, Serialization, Settings,
    Strategies, Strategy,
};
pub use shares::{ContextShares, INSTRUCTIONS_SECTION};
pub use threshold::{Threshold, threshold};
