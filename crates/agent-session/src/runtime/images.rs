//! The images that tools have shown since the newest compaction: counted as they come, for the strategy that keeps
//! only the newest of them.

use std::collections::BTreeMap;

use session_model::{
    AgentMessage, Block, Content, EntryBody, EntryId, EntryKind, PathMark, SessionPath,
};

/// The images of tools on a path that grows, of which only what is new is read. Those that a user pasted and those that
/// a compaction brought back are no results of tools.
#[derive(Debug, Default)]
pub(super) struct ToolImages {
    read: PathMark,
    /// How many each result holds.
    of: BTreeMap<EntryId, usize>,
    /// How many there are.
    count: usize,
    /// How many there were when a compaction was begun for their sake and came to nothing.
    tried: usize,
}

impl ToolImages {
    /// Reads what the path has gone on with since; from its newest compaction on where it is another path.
    pub fn follow(&mut self, path: &SessionPath<'_>) {
        let from = self.read.advance(path).unwrap_or_else(|| {
            *self = Self {
                read: self.read,
                ..Self::default()
            };
            let compacted = path.newest(EntryKind::Compaction);
            compacted.map_or(0, |(place, _)| place + 1)
        });
        let tree = path.tree();
        for index in &path.entries()[from..] {
            match tree.kind(*index) {
                EntryKind::Compaction | EntryKind::ResetBoundary => {
                    self.of.clear();
                    (self.count, self.tried) = (0, 0);
                }
                EntryKind::Message | EntryKind::ContextEdit => {
                    if let Ok(entry) = tree.entry(*index) {
                        self.take(&entry.id, &entry.body);
                    }
                }
                _ => {}
            }
        }
    }

    fn take(&mut self, id: &EntryId, body: &EntryBody) {
        match body {
            EntryBody::Message(message) => {
                if let AgentMessage::ToolResult(result) = &**message {
                    let images = images(&result.content);
                    if images > 0 {
                        self.of.insert(id.clone(), images);
                        self.count += images;
                    }
                }
            }
            // What was pruned is not in the context any more.
            EntryBody::ContextEdit {
                target,
                replacement,
            } => {
                if let Some(of) = self.of.get_mut(target) {
                    let left = replacement.as_ref().map_or(0, images);
                    self.count = self.count - *of + left;
                    *of = left;
                }
            }
            _ => {}
        }
    }

    /// Returns whether there are so many, and so many more than when a compaction could not help.
    pub fn are(&self, count: usize) -> bool {
        self.count >= self.tried.saturating_add(count)
    }

    /// Notes that a compaction is begun for their sake.
    pub fn tried(&mut self) {
        self.tried = self.count;
    }
}

fn images(content: &Content) -> usize {
    match content {
        Content::Text(_) => 0,
        Content::Blocks(blocks) => {
            let images = blocks.iter();
            images
                .filter(|block| matches!(block, Block::Image(_)))
                .count()
        }
    }
}
