//! background.
