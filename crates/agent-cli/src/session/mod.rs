//! The living session: a running coding agent whose context is kept usable.
//!
//! [`machine`] decides (pure, one transition function), a shell around it acts:
//! it writes to the [`store`], asks models, runs [`tools`], and tells what
//! happened as events.

pub mod approval;
pub mod event;
pub mod folder;
pub(crate) mod keys;
pub mod machine;
pub mod model;
pub mod servers;
pub mod shell;
pub mod store;
pub mod tools;
pub(crate) mod undoable;
