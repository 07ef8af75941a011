//! The labels of entries, and the name of a session.

use std::collections::BTreeMap;

use crate::entry::{EntryBody, EntryId, EntryKind};

use super::SessionTree;

impl SessionTree {
    /// Returns the labels in force. Bodies that cannot be read set none.
    pub fn labels(&self) -> BTreeMap<EntryId, String> {
        let mut labels = BTreeMap::new();
        for index in self.of_kind(EntryKind::Label) {
            let Ok(entry) = self.entry(index) else {
                continue;
            };
            if let EntryBody::Label { target, label } = entry.body {
                match label {
                    Some(label) => labels.insert(target, label),
                    None => labels.remove(&target),
                };
            }
        }
        labels
    }

    /// Returns the session's name: the newest that was given, unless it was cleared.
    pub fn name(&self) -> Option<String> {
        let newest = self.of_kind(EntryKind::SessionInfo).next_back()?;
        match self.entry(newest).ok()?.body {
            EntryBody::SessionInfo(name) => name,
            _ => None,
        }
    }
}
