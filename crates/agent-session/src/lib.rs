//! A running coding-agent session whose context stays usable.
//!
//! The state machine decides: one pure transition function. [`runtime`] carries out what it decides: it writes to the
//! [store](session_store), asks models, runs [tools](agent_tools), and reports what happened as [events](event).
//!
//! [`AgentSession::builder`] builds a session with safe defaults, [`Session::turn`] is one turn of it; `examples/embed.rs`
//! is a whole program. What happens
//! when nobody reads the events is said in [`channel`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod builder;
pub mod channel;
pub mod context_bar;
pub mod event;
pub mod instructions;
pub mod keys;
mod machine;
mod prompts;
pub mod runtime;
pub mod schema;
pub mod settings;
mod turn;
pub mod wording;

pub use builder::{BuiltSession, SessionBuilder};
pub use channel::EventReceiver;
pub use event::SessionEvent;
pub use machine::{Navigation, TurnEnd};
pub use runtime::{AgentSession, Ask, Command, Finished, Limits, Reply, SessionHandle};
pub use turn::{Session, TurnOutcome};

pub use summarize::models::LiveModels;
pub use {
    agent_tools, compaction_core, hooks, llm_providers, llm_script, session_model, session_store,
};
