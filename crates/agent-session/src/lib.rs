//! A running coding-agent session whose context stays usable.
//!
//! [`machine`] decides: one pure transition function. [`runtime`] carries out what it decides: it writes to the
//! [store](session_store), asks models, runs [tools](agent_tools), and reports what happened as [events](event).

pub mod channel;
pub mod event;
pub mod instructions;
pub mod keys;
pub mod machine;
pub mod models;
pub mod restoring;
pub mod runtime;
pub mod schema;
pub mod summarize;
pub mod tools;
pub mod undoable;
pub mod wording;
