//! strategies.
