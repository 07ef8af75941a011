//! Drafts that become lines: headers, ids, parents and the time.

use session_model::{EntryId, HeaderDraft, SessionTree, Timestamp, stamp_write};

use crate::error::StoreError;
use crate::queue::{NewEntry, Queued};

/// Returns the header line of a new session that begins now in `cwd`, and its id.
pub fn new_header(cwd: String, parent_session: Option<String>) -> (String, String) {
    let header = header_now(cwd, parent_session);
    (header.line(), header.id)
}

/// Returns the header of a new session that begins now in `cwd`.
pub fn header_now(cwd: String, parent_session: Option<String>) -> HeaderDraft {
    HeaderDraft {
        id: uuid::Uuid::now_v7().to_string(),
        timestamp: now(),
        cwd,
        parent_session,
    }
}

/// Returns the time.
pub fn now() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}

/// Returns an id that no entry has, no message that waits, and none of `taken`: eight hex digits.
pub(crate) fn fresh_id(tree: &SessionTree, queue: &[Queued], taken: &[EntryId]) -> EntryId {
    loop {
        let text = uuid::Uuid::new_v4().simple().to_string();
        let id = EntryId::new(&text[..8]);
        let waits = queue.iter().any(|queued| queued.id == id);
        if tree.find(&id).is_none() && !waits && !taken.contains(&id) {
            return id;
        }
    }
}

/// Returns the lines of `entries`, stamped as a chain that begins under `parent`, and their ids.
pub(crate) fn stamped(
    tree: &SessionTree,
    queue: &[Queued],
    parent: Option<EntryId>,
    entries: Vec<NewEntry>,
) -> Result<(Vec<String>, Vec<EntryId>), StoreError> {
    let mut named = Vec::new();
    let mut ids: Vec<EntryId> = Vec::new();
    for entry in entries {
        let id = match entry.id {
            None => fresh_id(tree, queue, &ids),
            Some(id) if id.is_empty() || tree.find(&id).is_some() || ids.contains(&id) => {
                let text = format!(
                    "an entry cannot have the id {:?}: it is empty or in use",
                    id.as_str()
                );
                return Err(StoreError::usage(text));
            }
            Some(id) => id,
        };
        ids.push(id.clone());
        named.push((id, entry.draft));
    }
    Ok((stamp_write(&named, parent, now()), ids))
}
