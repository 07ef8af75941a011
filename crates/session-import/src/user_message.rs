//! Messages with the role of the user, as entries.

use session_model::{EntryId, UserParts};

use crate::emitter::{CallResult, Emitter, Place};
use crate::error::ImportError;

/// The first and the last entry that something was written as; none where it is not mapped.
pub(crate) type Ends = Option<(EntryId, EntryId)>;

/// Adds an entry to the ends.
pub(crate) fn add_end(ends: &mut Ends, id: EntryId) {
    *ends = Some(match ends.take() {
        Some((first, _)) => (first, id),
        None => (id.clone(), id),
    });
}

impl Emitter<'_> {
    /// Writes what the program put into a message, then what the user said. The user's message has the id of the
    /// record, where there is one.
    pub fn user_parts(
        &mut self,
        id: &str,
        mut place: Place,
        parts: UserParts,
    ) -> Result<Ends, ImportError> {
        let mut ends = None;
        let mut free_id = Some(id).filter(|_| parts.own.is_empty());
        for (kind, blocks) in parts.inserted {
            let id = free_id.take().unwrap_or_default();
            place.parent = self.hidden(id, &place, &kind, blocks)?;
            add_end(&mut ends, place.parent.clone());
        }
        if !parts.own.is_empty() {
            add_end(&mut ends, self.user(id, &place, parts.own)?);
        }
        Ok(ends)
    }

    /// Writes a result whose call is not in the file.
    pub fn orphan(&mut self, place: &Place, result: CallResult) -> Result<EntryId, ImportError> {
        self.report.lose("result without its call");
        self.hidden(&result.id, place, "result", result.content)
    }
}
