//! handoff.
