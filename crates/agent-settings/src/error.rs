//! The error of settings.

/// The reason why settings cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A value, a key or a file cannot be used: the file, the line and the key, and what is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The user cancelled while a file was read.
    #[error("cancelled; nothing was changed")]
    Cancelled,
}
