//! What a coding-agent session is.
//!
//! A session is an append-only JSONL file whose entries form a tree. This crate
//! reads the format of the pi family (versions 1 to 3) from any [`LineSource`],
//! keeps only the heads of entries in memory, and parses a body when somebody
//! needs it. It rebuilds the context of a leaf, converts it for a model, and
//! spells new entries. It opens no file, reads no clock and knows no model.
//!
//! ```
//! use session_model::{ContextRules, build_context, decode_bytes};
//!
//! let lines = concat!(
//!     r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#, "\n",
//!     r#"{"type":"message","id":"a1","parentId":null,"message":{"role":"user","content":"hello"}}"#, "\n",
//! );
//! let decoded = decode_bytes(lines.into());
//! let path = decoded.tree.path(decoded.tree.leaf());
//! let context = build_context(&path, ContextRules::Own);
//! let texts: Vec<_> = context.messages().map(|(_, message)| message.display_text()).collect();
//! assert_eq!(texts, ["hello"]);
//! assert!(decoded.diagnostics.is_empty());
//! ```
//!
//! **Invariants.** Decoding never fails on content: what cannot be read is set
//! aside with a [`Diagnostic`] that names its line. Raw lines are never changed.
//! Parents form no ring. Every projection that [`SessionContext::to_llm`] returns
//! pairs calls and results.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod body;
mod calls;
mod context;
mod diagnostic;
mod edits;
mod encode;
mod entry;
mod head;
pub mod json;
mod keys;
mod llm;
mod message;
mod migrate;
mod pairing;
mod private;
mod refusals;
mod source;
pub mod text;
mod timestamp;
pub mod tokens;
mod tree;
mod user_parts;

pub use body::BodyError;
pub use calls::{CallEvent, answered_calls, match_calls};
pub use context::{ContextRules, ProjectedEntry, SessionContext, build_context};
pub use diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Severity};
pub use edits::Edits;
pub use encode::{
    BranchSummaryDraft, CompactionDraft, ContextEditDraft, CustomDraft, CustomMessageDraft,
    EntryDraft, FirstKept, HeaderDraft, LabelDraft, SessionInfoDraft, Stamp, stamp_write,
};
pub use entry::{
    BranchSummary, Compaction, Entry, EntryBody, EntryId, EntryKind, FileDetails, ModelRef,
};
pub use head::{Header, StatedRole};
pub use keys::{find_keys, looks_like_key};
pub use llm::{
    LlmMessage, Wording, acknowledgement, convert_message, convert_to_llm, fence_for,
    restore_frame, resumed, unwrapped_summary,
};
pub use message::{
    AgentMessage, AssistantMessage, BashExecution, Block, Content, Cost, CustomMessage, ImageBlock,
    MessageDraft, NestedCall, StopReason, SummaryMessage, SystemMessage, TextBlock, ThinkingBlock,
    ToolCall, ToolResultMessage, UndraftableMessage, Usage, UserMessage, current_system,
};
pub use migrate::{MigrateError, migrate_lines};
pub use pairing::{RoleOrder, check_pairs, pair_calls};
pub use private::{Clean, MARKER_BYTES, is_excluded, public_lines, without_private};
pub use refusals::check_refusals;
pub use source::{LineSource, ReadMeter, SourceError, SourceFailure, Span, TakeLeftOut};
pub use timestamp::Timestamp;
pub use tokens::{TokenCount, TokenCounter, image_tokens};
pub use tree::{
    AppendEntryError, Decoded, Decoder, EntryIndex, FindIdError, LEAF_ENTRY, Leaf, PathMark,
    SUBAGENT, SessionPath, SessionTree, Turn, decode_bytes,
};
pub use user_parts::{MARKERS, Marker, UserParts};
