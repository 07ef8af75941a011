//! The messages with instructions on the path of a session.

use std::collections::BTreeMap;

use session_model::{EntryBody, EntryId, EntryKind, PathMark, SessionPath};

use crate::MESSAGE;

/// A message with instructions.
#[derive(Debug, Clone)]
pub struct InstructionMessage {
    pub place: usize,
    /// Its entry.
    pub entry: EntryId,
    /// The file.
    pub path: String,
    /// Of the text; none where it says that the file is gone.
    pub hash: Option<String>,
}

/// The messages with instructions on a path that grows, of which only what is new is read.
#[derive(Debug, Default)]
pub struct InstructionMessages {
    read: PathMark,
    /// All of them.
    pub all: Vec<InstructionMessage>,
    /// The place of the newest compaction.
    compaction: Option<usize>,
}

impl InstructionMessages {
    /// Reads what the path has gone on with since; all of it where it is another path.
    pub fn follow(&mut self, path: &SessionPath<'_>) {
        let from = self.read.advance(path).unwrap_or_else(|| {
            *self = Self {
                read: self.read,
                ..Self::default()
            };
            0
        });
        let tree = path.tree();
        for (place, index) in path.entries().iter().enumerate().skip(from) {
            match tree.kind(*index) {
                EntryKind::ResetBoundary => self.all.clear(),
                EntryKind::Compaction => self.compaction = Some(place),
                EntryKind::CustomMessage => {
                    let entry = tree.entry(*index).ok();
                    self.all
                        .extend(entry.and_then(|entry| quote(place, entry.id, &entry.body)));
                }
                _ => {}
            }
        }
    }

    /// Returns whether the newest compaction came behind a message.
    pub fn is_before_compaction(&self, quote: &InstructionMessage) -> bool {
        self.compaction.is_some_and(|place| quote.place < place)
    }

    /// Returns the newest message of each file that holds, the oldest first.
    pub fn newest(&self) -> Vec<&InstructionMessage> {
        let newest: BTreeMap<&str, &InstructionMessage> = self
            .all
            .iter()
            .map(|quote| (quote.path.as_str(), quote))
            .collect();
        let mut newest: Vec<&InstructionMessage> = newest.into_values().collect();
        newest.retain(|quote| quote.hash.is_some());
        newest.sort_by_key(|quote| quote.place);
        newest
    }
}

fn quote(place: usize, entry: EntryId, body: &EntryBody) -> Option<InstructionMessage> {
    let EntryBody::CustomMessage(message) = body else {
        return None;
    };
    let details = message.details.as_ref()?;
    (message.custom_type == MESSAGE).then_some(())?;
    Some(InstructionMessage {
        place,
        entry,
        path: details.string_member("path")?.into_owned(),
        hash: details
            .string_member("hash")
            .map(std::borrow::Cow::into_owned),
    })
}
