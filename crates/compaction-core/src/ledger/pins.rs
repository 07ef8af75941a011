//! What users pinned: entries with the label [`PIN_LABEL`](crate::PIN_LABEL), and texts of their own.

use session_model::{EntryId, SessionPath};

/// Something that users want to be kept word for word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The pinned entry, or the entry that holds the text.
    pub entry_id: EntryId,
    /// The text, as the model knew it.
    pub text: String,
}

/// Returns what is pinned on a path, in the order of the path; what was unpinned since is not among it.
pub fn pins_of(_path: &SessionPath<'_>) -> Vec<Pin> {
    Vec::new()
}
