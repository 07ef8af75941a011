//! resume.
