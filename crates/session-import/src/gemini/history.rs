//! What the journal's lines amount to: messages in their newest form, branches that were left, compactions.

use std::collections::BTreeMap;

use session_model::Span;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    Message,
    /// A replaced history whose first message is the summary of what it dropped; the first node that it kept.
    Compaction {
        kept: Option<usize>,
    },
    /// A message that a compaction kept, and that is in the history already.
    Copy,
}

/// A message, or the place of a compaction.
#[derive(Debug)]
pub(super) struct Node {
    /// Where its newest form stands.
    pub span: Span,
    pub id: String,
    pub parent: Option<usize>,
    pub kind: NodeKind,
}

/// The messages in the order in which they appeared first.
#[derive(Debug, Default)]
pub(super) struct History {
    pub nodes: Vec<Node>,
    /// The nodes that are the conversation now.
    current: Vec<usize>,
    /// The node that the next one stands under.
    pub tip: Option<usize>,
    /// The newest node with each id.
    by_id: BTreeMap<String, usize>,
}

impl History {
    fn add(&mut self, id: &str, span: Span, kind: NodeKind) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node {
            span,
            id: id.to_owned(),
            parent: self.tip,
            kind,
        });
        self.tip = Some(node);
        node
    }

    fn add_message(&mut self, id: &str, span: Span) {
        let node = self.add(id, span, NodeKind::Message);
        self.current.push(node);
        self.by_id.insert(id.to_owned(), node);
    }

    /// Takes a message: a new one, or a newer form of one that is there.
    pub fn message(&mut self, id: &str, span: Span) {
        match self.by_id.get(id).filter(|_| !id.is_empty()) {
            Some(node) => self.nodes[*node].span = span,
            None => self.add_message(id, span),
        }
    }

    /// Goes back to before a message; an unknown one clears the conversation.
    pub fn rewind(&mut self, id: &str) {
        let node = self.by_id.get(id).copied();
        let place = node.and_then(|node| self.current.iter().position(|own| *own == node));
        self.truncate(place.unwrap_or(0));
    }

    fn truncate(&mut self, length: usize) {
        let removed = self.current.split_off(length.min(self.current.len()));
        if let Some(first) = removed.first() {
            self.tip = self.nodes[*first].parent;
        }
        for node in removed {
            if self.by_id.get(&self.nodes[node].id) == Some(&node) {
                self.by_id.remove(&self.nodes[node].id);
            }
        }
    }

    /// Takes a whole new history: messages with their ids, places, and whether they are the user's.
    pub fn replace(&mut self, messages: &[(String, Span, bool)]) {
        let known: Vec<Option<usize>> = messages
            .iter()
            .map(|(id, _, _)| self.by_id.get(id).copied().filter(|_| !id.is_empty()))
            .collect();
        let same = self.current.iter().zip(&known);
        let same = same.take_while(|(own, node)| **node == Some(**own)).count();
        let dropped_first = same < self.current.len() && messages.len() > same;
        if !dropped_first {
            // The same messages in newer form, fewer at the end, or more.
            self.truncate(same);
            for (place, (id, span, _)) in messages.iter().enumerate() {
                match place < same {
                    true => self.nodes[self.current[place]].span = *span,
                    false => self.add_message(id, *span),
                }
            }
            return;
        }
        let summary = messages.first().filter(|(_, _, is_user)| *is_user);
        let Some((_, summary, _)) = summary.filter(|_| known[0].is_none()) else {
            // Another conversation from here on: what differs is a branch.
            self.truncate(same);
            for (id, span, _) in &messages[same..] {
                self.add_message(id, *span);
            }
            return;
        };
        // What it kept as it was is the end of what was there, or it is copied.
        let rest = &known[1..];
        let kept = rest.iter().take_while(|node| node.is_some()).count();
        let tail = &self.current[self.current.len().saturating_sub(kept)..];
        let is_tail = kept > 0
            && tail
                .iter()
                .map(|node| Some(*node))
                .eq(rest[..kept].iter().copied());
        let first_kept = is_tail.then(|| tail[0]);
        let kind = NodeKind::Compaction { kept: first_kept };
        let compaction = self.add("", *summary, kind);
        let mut current = vec![compaction];
        for (place, (id, span, _)) in messages.iter().enumerate().skip(1) {
            let node = match known[place] {
                Some(node) if is_tail && place <= kept => node,
                Some(_) => self.add("", *span, NodeKind::Copy),
                None => self.add(id, *span, NodeKind::Message),
            };
            self.by_id.insert(id.clone(), node);
            current.push(node);
        }
        self.current = current;
    }
}
