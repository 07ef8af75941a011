//! What the messages of a coding-agent session say and do, as facts: read in one pass, without a model.
//!
//! [`record`] returns the rules of the user, what is planned and decided, what failed, which files were changed, commits and
//! runs of tests. What a later event settles is gone: a step that was done, a value that was replaced, a choice that was
//! refused. Besides, calls of tools are understood in the dialects of several agents ([`file_calls`], [`CallBody`]).
//!
//! ```
//! use std::sync::Arc;
//!
//! use session_facts::{SourceMessage, record};
//! use session_model::{AgentMessage, Content, EntryId, UserMessage};
//!
//! let said = "Fix the importer. Never touch the generated files.";
//! let message = AgentMessage::User(UserMessage {
//!     content: Content::Text(said.to_owned()),
//!     timestamp: None,
//! });
//! let message = SourceMessage {
//!     entry_id: EntryId::new("e1"),
//!     message: Arc::new(message),
//! };
//! let facts = record(&[message], "/srv/app", str::to_owned);
//! assert_eq!(facts.rules[0].text, "Never touch the generated files.");
//! ```
//!
//! **Invariants.** A fact is copied from the message that says it. Reading only the messages that facts rest on, and those that
//! these [depend on](FactIndex::dependencies), gives the same facts again. Nothing here does I/O, reads a clock or draws random
//! numbers.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod call_body;
mod extract;
mod file_call;
mod path_normalize;
mod phrases;
mod shell_files;
mod source;
#[cfg(test)]
mod tests_messages;

#[cfg(test)]
extern crate self as session_facts;

pub use call_body::{COMMANDS, CallBody};
#[doc(hidden)]
pub use extract::training;
pub use extract::{
    Change, FactIndex, Known, Noted, OpenTodos, Prose, REJECTED, ShortForm, Spoken, TodoItem,
    TodoState, brief_decision, brief_figure, brief_step, cut_middle, error_lines_of,
    first_sentence, focus_lines, is_unit, last_steps, message_starts, neutralise, one_line,
    only_reads, open_todos, own_words, record, rules_in, short_summary, without_pasted,
    without_rules,
};
pub use file_call::{FileAction, changes_files, file_call, file_calls, tells_refusal};
pub use path_normalize::{below, resolved};
pub use source::SourceMessage;
