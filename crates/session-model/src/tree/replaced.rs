//! A tree in which some entries say something else: what would be if another had written them.

use std::sync::Arc;

use crate::source::LineSource;
use crate::tree::{EntryIndex, SessionTree};

impl SessionTree {
    /// Reads lines through another source from now on, which is made of the present one and has the same lines at the
    /// same places.
    pub fn read_through(&mut self, wrap: impl FnOnce(Arc<dyn LineSource>) -> Arc<dyn LineSource>) {
        self.source = wrap(self.source.clone());
    }

    /// Puts another line in place of an entry's own. Ids, parents and kinds stay what they are, and so does the
    /// session: only this tree and its clones read the line.
    pub fn replace_line(&mut self, index: EntryIndex, line: impl Into<Box<[u8]>>) {
        self.replaced.insert(index, line.into());
    }
}

#[cfg(test)]
mod tests {
    use crate::tree::decode_bytes;

    #[test]
    fn a_replaced_entry_says_something_else_in_its_place() {
        let line = |id: &str, parent: &str, name: &str| {
            format!(
                "{{\"type\":\"session_info\",\"id\":\"{id}\",\"parentId\":{parent},\"name\":\"{name}\"}}"
            )
        };
        let text = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n{}\n",
            line("a", "null", "one"),
            line("b", "\"a\"", "two")
        );
        let tree = decode_bytes(text.into_bytes()).tree;
        let last = tree.find("b").unwrap_or_else(|| unreachable!());
        let other = line("b", "\"a\"", "a much longer name").into_bytes();
        let mut changed = tree.clone();
        changed.replace_line(last, other.clone());
        assert_eq!(changed.name().as_deref(), Some("a much longer name"));
        assert_eq!(tree.name().as_deref(), Some("two"));
        assert_eq!(changed.parent(last), tree.find("a"));
        assert_eq!(changed.raw_line(last).ok(), Some(other));
        let path = tree.path(tree.leaf());
        let through = path.before(1).through(&changed);
        assert_eq!((through.leaf_id(), path.leaf_id()), (Some("a"), Some("b")));
        assert_eq!(through.entries(), tree.path(through.leaf()).entries());
    }
}
