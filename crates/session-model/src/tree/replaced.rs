//! A tree in which some entries say something else: what would be if another had written them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::source::{LineSource, SourceError, SourceFailure, Span};
use crate::tree::{EntryIndex, SessionTree};

/// A source in which some lines are others.
struct Replaced {
    lines: BTreeMap<u64, Arc<[u8]>>,
    below: Arc<dyn LineSource>,
}

impl LineSource for Replaced {
    fn line(&self, span: Span) -> Result<Cow<'_, [u8]>, SourceError> {
        match self.lines.get(&span.offset) {
            Some(line) => Ok(Cow::Borrowed(line)),
            None => self.below.line(span),
        }
    }

    fn failure(&self) -> Option<SourceFailure> {
        self.below.failure()
    }
}

impl SessionTree {
    /// Returns the tree with other lines in the place of some entries' own. Ids, parents and kinds stay what they are.
    #[must_use]
    pub fn with_lines(&self, lines: &BTreeMap<EntryIndex, Arc<[u8]>>) -> Self {
        let lines = lines.iter();
        let lines = lines.map(|(index, line)| (self.span(*index).offset, line.clone()));
        Self {
            source: Arc::new(Replaced {
                lines: lines.collect(),
                below: self.source.clone(),
            }),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
        let changed = tree.with_lines(&BTreeMap::from([(last, other.into())]));
        assert_eq!(changed.name().as_deref(), Some("a much longer name"));
        assert_eq!(tree.name().as_deref(), Some("two"));
        assert_eq!(changed.parent(last), tree.find("a"));
    }
}
