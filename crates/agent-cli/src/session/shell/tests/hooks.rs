//! hooks.
