//! A running coding-agent session whose context stays usable.
//!
//! The state machine decides: one pure transition function. [`runtime`] carries out what it decides: it writes to the
//! [store](session_store), asks models, runs [tools](agent_tools), and reports what happened as [events](SessionEvent).
//!
//! [`AgentSession::builder`] builds a session with safe defaults, [`Session::turn`] is one turn of it; `examples/embed.rs`
//! is a whole program. What happens when no client reads the events is described in
//! [`session_protocol::channel`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod builder;
mod keys;
mod machine;
mod prompts;
pub mod runtime;
mod turn;

pub use builder::{BuiltSession, SessionBuilder};
pub use runtime::AgentSession;
pub use session_protocol::{
    Ask, Command, EventReceiver, Finished, Limits, Navigation, Reply, SessionEvent, SessionHandle,
    TurnEnd,
};
pub use turn::{Session, TurnOutcome};

pub use summarize::models::LiveModels;
pub use {
    agent_tools, compaction_core, hooks, llm_providers, llm_script, session_model,
    session_protocol, session_store,
};
