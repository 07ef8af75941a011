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
    /// A hash of what it says; zero for no text.
    says: u64,
}

/// A message of the journal.
#[derive(Debug)]
pub(super) struct Message {
    pub id: String,
    pub span: Span,
    pub is_user: bool,
    /// A hash of what it says; zero for no text.
    pub says: u64,
    /// It is the summary that the program makes.
    pub is_summary: bool,
    /// It is what the program lets the model reply to that.
    pub is_acknowledgement: bool,
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
    /// The ids of the conversation as the journal has it.
    listed: Vec<String>,
    /// What it was before a process that resumes began it anew: the whole conversation follows.
    resumed: Option<Resumed>,
}

/// A conversation that may be taken up again.
#[derive(Debug)]
struct Resumed {
    listed: Vec<String>,
    current: Vec<usize>,
    tip: Option<usize>,
    by_id: BTreeMap<String, usize>,
    /// How many nodes there were, before and behind what began it anew.
    nodes: [usize; 2],
}

impl History {
    fn add(&mut self, id: &str, span: Span, kind: NodeKind) -> usize {
        let node = self.nodes.len();
        self.nodes.push(Node {
            span,
            id: id.to_owned(),
            parent: self.tip,
            kind,
            says: 0,
        });
        self.tip = Some(node);
        node
    }

    fn add_message(&mut self, message: &Message) {
        let node = self.add(&message.id, message.span, NodeKind::Message);
        self.nodes[node].says = message.says;
        self.current.push(node);
        self.by_id.insert(message.id.clone(), node);
    }

    /// Takes a message: a new one, or a newer form of one that is there.
    pub fn message(&mut self, message: &Message) {
        match self
            .by_id
            .get(&message.id)
            .filter(|_| !message.id.is_empty())
        {
            Some(node) => {
                self.nodes[*node].span = message.span;
                self.nodes[*node].says = message.says;
            }
            None => {
                self.listed.push(message.id.clone());
                self.add_message(message);
            }
        }
    }

    /// Goes back to before a message; an unknown one clears the conversation.
    pub fn rewind(&mut self, id: &str) {
        let node = self.by_id.get(id).copied();
        let place = node.and_then(|node| self.current.iter().position(|own| *own == node));
        self.truncate(place.unwrap_or(0));
        let place = self.listed.iter().position(|own| own == id);
        self.listed.truncate(place.unwrap_or(0));
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

    /// Takes a whole new history.
    pub fn replace(&mut self, messages: &[Message]) {
        let ids: Vec<String> = messages.iter().map(|message| message.id.clone()).collect();
        let resumed = self.resumed.take();
        let listed = std::mem::replace(&mut self.listed, ids);
        if listed.len() > messages.len() && listed.starts_with(&self.listed) {
            self.resumed = Some(Resumed {
                listed,
                current: self.current.clone(),
                tip: self.tip,
                by_id: self.by_id.clone(),
                nodes: [self.nodes.len(); 2],
            });
        }
        let resumed = resumed.filter(|before| self.listed.starts_with(&before.listed));
        let Some(before) = resumed else {
            self.take(messages);
            if let Some(before) = &mut self.resumed {
                before.nodes[1] = self.nodes.len();
            }
            return;
        };
        if before.nodes[1] == self.nodes.len() {
            self.nodes.truncate(before.nodes[0]);
        }
        (self.current, self.tip, self.by_id) = (before.current, before.tip, before.by_id);
        for message in &messages[before.listed.len()..] {
            self.add_message(message);
        }
    }

    fn take(&mut self, messages: &[Message]) {
        let known: Vec<Option<usize>> = messages
            .iter()
            .map(|message| {
                self.by_id
                    .get(&message.id)
                    .copied()
                    .filter(|_| !message.id.is_empty())
            })
            .collect();
        let same = self.current.iter().zip(&known);
        let same = same.take_while(|(own, node)| **node == Some(**own)).count();
        // The summary comes first, or behind the context with which the session began: that stands behind the summary
        // here, so that of a second one nothing is the same.
        let is_second = same == 0 && known.first().is_some_and(Option::is_some);
        let first = if is_second { 1 } else { same };
        let is_cut = first < self.current.len() && messages.len() > first;
        let summary = messages.get(first).filter(|summary| {
            summary.is_user && known[first].is_none() && (first == 0 || summary.is_summary)
        });
        let Some(summary) = summary.filter(|_| is_cut) else {
            // The same messages in newer form, fewer at the end, or more; or another conversation from here on.
            self.truncate(same);
            for (place, message) in messages.iter().enumerate() {
                match place < same {
                    true => self.nodes[self.current[place]].span = message.span,
                    false => self.add_message(message),
                }
            }
            return;
        };
        let mut rest = &messages[first + 1..];
        if let [reply, more @ ..] = rest
            && reply.is_acknowledgement
        {
            rest = more;
        }
        // What it kept ends with the newest message that is known, and what says nothing behind that.
        let is_old = |message: &Message| message.says != 0 && self.is_known(message);
        let end = rest.iter().rposition(is_old).map_or(0, |last| last + 1);
        let silent = rest[end..]
            .iter()
            .take_while(|message| end > 0 && message.says == 0);
        let (old, new) = rest.split_at(end + silent.count());
        let kept = self.kept(old);
        let kind = NodeKind::Compaction {
            kept: kept.first().copied(),
        };
        let mut current = vec![self.add("", summary.span, kind)];
        for message in &messages[..first] {
            current.push(self.add("", message.span, NodeKind::Copy));
        }
        for message in old {
            let says = |node: &&usize| self.nodes[**node].says == message.says;
            let node = match kept.iter().find(says) {
                Some(node) => *node,
                None if self.is_known(message) => self.add("", message.span, NodeKind::Copy),
                None if !kept.is_empty() => continue,
                None => self.add(&message.id, message.span, NodeKind::Message),
            };
            self.by_id.insert(message.id.clone(), node);
            current.extend(Some(node).filter(|_| kept.is_empty()));
        }
        current.extend(kept);
        self.current = current;
        for message in new {
            self.add_message(message);
        }
    }

    /// Returns whether a message is in the conversation as it is.
    fn is_known(&self, message: &Message) -> bool {
        let says = |node: &usize| self.nodes[*node].says == message.says;
        self.by_id.contains_key(&message.id) || (message.says != 0 && self.current.iter().any(says))
    }

    /// Returns the end of the conversation, if some messages are that: by what they say, as their ids may be new.
    fn kept(&self, messages: &[Message]) -> Vec<usize> {
        let says = |node: &usize| self.nodes[*node].says;
        let speaking = self.current.iter().filter(|node| says(node) != 0);
        let speaking: Vec<usize> = speaking.copied().collect();
        let old = messages.iter().map(|message| message.says);
        let old: Vec<u64> = old.filter(|says| *says != 0).collect();
        let tail = &speaking[speaking.len().saturating_sub(old.len())..];
        let is_same = tail.iter().map(says).eq(old);
        let first = tail.first().filter(|_| is_same);
        let first = first.and_then(|first| self.current.iter().position(|node| node == first));
        first.map_or_else(Vec::new, |first| self.current[first..].to_vec())
    }
}
