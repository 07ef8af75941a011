//! Why a session cannot be imported.

use session_model::{SourceError, UndraftableMessage};

use crate::format::Format;

/// Why a session cannot be imported. Content that cannot be read is no error but a diagnostic.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The bytes could not be had.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Writing failed.
    #[error("cannot write the imported session: {0}")]
    Write(#[from] std::io::Error),
    /// A document that must be in memory as a whole is too large.
    #[error("{bytes} bytes are too many for one JSON document; at most {most} are read")]
    TooLarge {
        /// Its length.
        bytes: u64,
        /// The longest that is read.
        most: u64,
    },
    /// There is nothing of the format.
    #[error("no record of a {} session can be read", .0.name())]
    Empty(Format),
    /// A message could not be written as an entry.
    #[error(transparent)]
    Message(#[from] UndraftableMessage),
}
