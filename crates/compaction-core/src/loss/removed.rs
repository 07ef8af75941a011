//! What was taken out of a context, in the forms in which it is looked up.

use std::collections::{BTreeMap, BTreeSet};

use session_model::{AgentMessage, EntryId};

use super::literals::{Literal, folded, literals_of, user_text};
use super::readable::Readable;
use super::{ContextLoss, KindLoss, LiteralKind, Verbatim};
use crate::extract::rules_in;
use crate::tokens::{TokenCount, TokenCounter};

/// Where a literal was seen.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// In how many messages.
    pub times: usize,
    /// In which message last, counted from the oldest.
    pub last: usize,
    /// The entry of that message.
    pub entry_id: EntryId,
}

/// What was taken out of a context.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    literals: BTreeMap<Literal, Seen>,
    user_messages: BTreeSet<String>,
    rules: BTreeSet<String>,
    tokens: TokenCount,
    messages: usize,
}

impl Removed {
    /// Adds a message and its tokens; what is oldest comes first.
    pub(super) fn add_counted(
        &mut self,
        message: &AgentMessage,
        entry_id: &EntryId,
        counter: &dyn TokenCounter,
    ) {
        if !stands_in(message) {
            self.tokens += counter.message(message);
            self.add(message, entry_id);
        }
    }

    /// Adds tokens that were counted before.
    pub(crate) fn add_tokens(&mut self, tokens: TokenCount) {
        self.tokens += tokens;
    }

    /// Adds a message whose tokens are counted elsewhere; what is oldest comes first.
    pub(crate) fn add(&mut self, message: &AgentMessage, entry_id: &EntryId) {
        if stands_in(message) {
            return;
        }
        self.messages += 1;
        for literal in literals_of(message) {
            let seen = self.literals.entry(literal).or_insert_with(|| Seen {
                times: 0,
                last: 0,
                entry_id: entry_id.clone(),
            });
            seen.times += 1;
            seen.last = self.messages;
            seen.entry_id = entry_id.clone();
        }
        if let Some(text) = user_text(message) {
            let rules = rules_in(&text).into_iter();
            self.rules.extend(rules.map(|rule| folded(&rule)));
            self.user_messages.insert(folded(&text));
        }
    }

    /// Adds what was taken out later.
    pub(super) fn merge(&mut self, other: Self) {
        let before = self.messages;
        self.tokens += other.tokens;
        self.messages += other.messages;
        for (literal, seen) in other.literals {
            let times = self.literals.get(&literal).map_or(0, |seen| seen.times);
            let seen = Seen {
                times: seen.times + times,
                last: seen.last + before,
                entry_id: seen.entry_id,
            };
            self.literals.insert(literal, seen);
        }
        self.user_messages.extend(other.user_messages);
        self.rules.extend(other.rules);
    }

    /// Returns the tokens of it.
    pub(crate) fn tokens(&self) -> TokenCount {
        self.tokens
    }

    /// Looks everything up.
    pub(crate) fn look_up(&self, readable: &Readable) -> LookedUp<'_> {
        let is_lost = |(literal, _): &(&Literal, &Seen)| !readable.has(literal);
        let unread = |text: &&String| !readable.has_text(text);
        LookedUp {
            lost: self.literals.iter().filter(is_lost).collect(),
            lost_messages: self.user_messages.iter().filter(unread).collect(),
            lost_rules: self.rules.iter().filter(unread).collect(),
            in_part: readable.is_in_part(),
            removed: self,
        }
    }
}

/// A summary is replaced by the next one, and the system message in force is said again.
fn stands_in(message: &AgentMessage) -> bool {
    matches!(
        message,
        AgentMessage::CompactionSummary(_) | AgentMessage::System(_)
    )
}

/// What was taken out of a context, each part either in sight or not.
#[derive(Debug)]
pub(crate) struct LookedUp<'a> {
    lost: Vec<(&'a Literal, &'a Seen)>,
    lost_messages: Vec<&'a String>,
    lost_rules: Vec<&'a String>,
    in_part: bool,
    removed: &'a Removed,
}

impl<'a> LookedUp<'a> {
    /// Returns the literals that are out of sight, by kind and text.
    pub(crate) fn lost(&self) -> &[(&'a Literal, &'a Seen)] {
        &self.lost
    }

    /// Looks up what is out of sight in something that can be read as well.
    pub(crate) fn add(&mut self, readable: &Readable) {
        self.lost.retain(|(literal, _)| !readable.has(literal));
        self.lost_messages.retain(|text| !readable.has_text(text));
        self.lost_rules.retain(|text| !readable.has_text(text));
        self.in_part |= readable.is_in_part();
    }

    /// Returns the figures.
    pub(crate) fn loss(&self) -> ContextLoss {
        let mut kinds: BTreeMap<&'static str, KindLoss> = LiteralKind::ALL
            .map(|kind| (kind.name(), KindLoss::default()))
            .into();
        for literal in self.removed.literals.keys() {
            let kind = kinds.entry(literal.kind.name()).or_default();
            kind.total += 1;
            kind.in_context += 1;
        }
        for (literal, _) in &self.lost {
            let kind = kinds.entry(literal.kind.name()).or_default();
            kind.in_context -= 1;
            // It was read from its entry just now.
            kind.recoverable += 1;
        }
        let verbatim = |all: &BTreeSet<String>, lost: &[&String]| Verbatim {
            total: all.len(),
            verbatim: all.len() - lost.len(),
        };
        ContextLoss {
            removed_tokens: self.removed.tokens,
            kinds,
            user_messages: verbatim(&self.removed.user_messages, &self.lost_messages),
            rules: verbatim(&self.removed.rules, &self.lost_rules),
            in_part: self.in_part,
        }
    }
}
