//! What was taken out of a context, in the forms in which it is looked up.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use session_model::{AgentMessage, EntryId};

use super::literals::{Literal, folded, literals_of, user_text};
use super::readable::{Readable, Visibility};
use super::{ContextLoss, KindLoss, LiteralKind, LostText, Verbatim};
use session_facts::{one_line, rules_in};
use session_model::tokens::{TokenCount, TokenCounter};

/// How many of each kind are named, and how long each may be, in characters.
const NAMED: usize = 10;
const LONGEST: usize = 160;

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
    user_messages: BTreeMap<String, Seen>,
    rules: BTreeMap<String, Seen>,
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
        let seen = Seen {
            times: 1,
            last: self.messages,
            entry_id: entry_id.clone(),
        };
        for literal in literals_of(message) {
            note(&mut self.literals, literal, seen.clone());
        }
        if let Some(text) = user_text(message) {
            for rule in rules_in(&text) {
                note(&mut self.rules, folded(&rule), seen.clone());
            }
            note(&mut self.user_messages, folded(&text), seen);
        }
    }

    /// Adds what was taken out later.
    pub(super) fn merge(&mut self, other: Self) {
        let before = self.messages;
        self.tokens += other.tokens;
        self.messages += other.messages;
        let later = |seen: Seen| Seen {
            last: seen.last + before,
            ..seen
        };
        for (literal, seen) in other.literals {
            note(&mut self.literals, literal, later(seen));
        }
        for (text, seen) in other.user_messages {
            note(&mut self.user_messages, text, later(seen));
        }
        for (text, seen) in other.rules {
            note(&mut self.rules, text, later(seen));
        }
    }

    /// Returns the tokens of it.
    pub(crate) fn tokens(&self) -> TokenCount {
        self.tokens
    }

    /// Looks everything up.
    pub(crate) fn look_up(&self, readable: &Readable) -> LookedUp<'_> {
        let literals = self.literals.iter();
        LookedUp {
            literals: Sorted::of(literals, |(literal, _)| readable.has(literal)),
            messages: Sorted::of(self.user_messages.iter(), |(text, _)| {
                readable.has_text(text)
            }),
            rules: Sorted::of(self.rules.iter(), |(text, _)| readable.has_text(text)),
            removed: self,
        }
    }
}

/// What is not in context.
#[derive(Debug)]
struct Sorted<T> {
    /// What cannot be read.
    lost: Vec<T>,
    /// What was not looked for.
    not_searched: Vec<T>,
}

impl<T> Sorted<T> {
    fn of(all: impl Iterator<Item = T>, look: impl Fn(&T) -> Visibility) -> Self {
        let mut sorted = Self {
            lost: Vec::new(),
            not_searched: Vec::new(),
        };
        for item in all {
            match look(&item) {
                Visibility::Seen => {}
                Visibility::Unseen => sorted.lost.push(item),
                Visibility::NotSearched => sorted.not_searched.push(item),
            }
        }
        sorted
    }

    /// Drops what can be read elsewhere.
    fn look_again(&mut self, look: impl Fn(&T) -> Visibility) {
        let unread = |item: &T| look(item) != Visibility::Seen;
        self.lost.retain(unread);
        self.not_searched.retain(unread);
    }

    fn verbatim(&self, total: usize) -> Verbatim {
        let not_searched = self.not_searched.len();
        Verbatim {
            total,
            verbatim: total - self.lost.len() - not_searched,
            gone: 0,
            not_searched,
        }
    }
}

/// Notes that something was seen later than it was before.
fn note<K: Ord>(known: &mut BTreeMap<K, Seen>, key: K, mut seen: Seen) {
    let before = known.get(&key).map_or(0, |before| before.times);
    seen.times += before;
    known.insert(key, seen);
}

/// A summary is replaced by the next one, and the system message in force is said again.
fn stands_in(message: &AgentMessage) -> bool {
    matches!(
        message,
        AgentMessage::CompactionSummary(_) | AgentMessage::System(_)
    )
}

/// What was taken out of a context, each part either in context or not.
#[derive(Debug)]
pub(crate) struct LookedUp<'a> {
    literals: Sorted<(&'a Literal, &'a Seen)>,
    messages: Sorted<(&'a String, &'a Seen)>,
    rules: Sorted<(&'a String, &'a Seen)>,
    removed: &'a Removed,
}

impl<'a> LookedUp<'a> {
    /// Returns the user's rules that are out of context, white space folded.
    pub(crate) fn lost_rules(&self) -> &[(&'a String, &'a Seen)] {
        &self.rules.lost
    }

    /// Returns the user's messages that are out of context, white space folded.
    pub(crate) fn lost_messages(&self) -> &[(&'a String, &'a Seen)] {
        &self.messages.lost
    }

    /// Looks up what is out of context in something that can be read as well.
    pub(crate) fn add(&mut self, readable: &Readable) {
        self.literals
            .look_again(|(literal, _)| readable.has(literal));
        self.messages
            .look_again(|(text, _)| readable.has_text(text));
        self.rules.look_again(|(text, _)| readable.has_text(text));
    }

    /// Returns the weightiest of what is out of context, by the name of its kind.
    fn weightiest(&self) -> BTreeMap<&'static str, Vec<LostText>> {
        let mut lost: BTreeMap<&'static str, Vec<(&str, &Seen)>> = BTreeMap::new();
        for (literal, seen) in &self.literals.lost {
            let of_kind = lost.entry(literal.kind.name()).or_default();
            of_kind.push((literal.text.as_str(), *seen));
        }
        for (name, texts) in [
            ("rules", &self.rules.lost),
            ("user_messages", &self.messages.lost),
        ] {
            let texts = texts.iter().map(|(text, seen)| (text.as_str(), *seen));
            lost.entry(name).or_default().extend(texts);
        }
        lost.retain(|_, texts| !texts.is_empty());
        let weightiest = lost.into_iter().map(|(name, mut texts)| {
            texts.sort_by_key(|(text, seen)| (Reverse(seen.times), Reverse(seen.last), *text));
            let texts = texts.into_iter().take(NAMED).map(|(text, seen)| LostText {
                text: one_line(text, LONGEST),
                entry_id: seen.entry_id.clone(),
                times: seen.times,
            });
            (name, texts.collect())
        });
        weightiest.collect()
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
        for (literal, _) in &self.literals.lost {
            let kind = kinds.entry(literal.kind.name()).or_default();
            kind.in_context -= 1;
            // It was read from its entry just now.
            kind.recoverable += 1;
        }
        for (literal, _) in &self.literals.not_searched {
            let kind = kinds.entry(literal.kind.name()).or_default();
            kind.in_context -= 1;
            kind.not_searched += 1;
        }
        let messages = self.messages.verbatim(self.removed.user_messages.len());
        let rules = self.rules.verbatim(self.removed.rules.len());
        let not_searched = self.literals.not_searched.len();
        ContextLoss {
            removed_tokens: self.removed.tokens,
            kinds,
            user_messages: messages,
            rules,
            weightiest: self.weightiest(),
            in_part: not_searched + messages.not_searched + rules.not_searched > 0,
        }
    }
}
