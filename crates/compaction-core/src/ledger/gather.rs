//! Which entries a ledger is read from: those that the ledger before it rests on, and what came since.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as Unknown, StrDeserializer};
use session_model::{
    AgentMessage, Compaction, Entry, EntryBody, EntryId, EntryIndex, EntryKind, SessionContext,
    SessionPath, StatedRole,
};

use crate::ledger::{HANDOFF_MESSAGE, LedgerItem, LedgerKind};
use session_facts::SourceMessage;

/// How much of what is not in the context a first ledger is read from whole, newest first, and of what is older how
/// much of the user's words, in bytes: other agents' sessions may be of any size.
const READ_BACK: u64 = 16 * 1024 * 1024;

/// How far from its beginning a session has the document that it goes on from.
const HANDED_WITHIN: usize = 16;

/// The part of a document's details that has the facts of the session before.
#[derive(Deserialize)]
struct Handed {
    ledger: HandedItems,
}

#[derive(Deserialize)]
struct HandedItems {
    items: Vec<HandedItem>,
}

#[derive(Deserialize)]
struct HandedItem {
    kind: String,
    text: String,
}

/// Returns the facts that the session before handed on, which hold whatever came since, under the entry that has them.
pub(super) fn handed_on(path: &SessionPath<'_>) -> Vec<LedgerItem> {
    let tree = path.tree();
    let reset = path.newest(EntryKind::ResetBoundary);
    let start = reset.map_or(0, |(place, _)| place + 1);
    let first = path.entries().iter().skip(start).take(HANDED_WITHIN);
    let mut messages = first.filter(|index| tree.kind(**index) == EntryKind::CustomMessage);
    let handed = messages.find_map(|index| {
        let entry = tree.entry(*index).ok()?;
        let EntryBody::CustomMessage(message) = &entry.body else {
            return None;
        };
        let details = message
            .details
            .as_ref()
            .filter(|_| message.custom_type == HANDOFF_MESSAGE)?;
        let handed: Handed = serde_json::from_str(details.get()).ok()?;
        Some((entry.id, handed.ledger.items))
    });
    let Some((entry_id, items)) = handed else {
        return Vec::new();
    };
    let items = items.into_iter().filter_map(|item| {
        let kind = match item.kind.as_str() {
            "pin" => LedgerKind::Pin,
            "rule" => LedgerKind::Rule,
            "first_message" => LedgerKind::FirstMessage,
            "latest_message" | "message" => LedgerKind::Message,
            "file" => LedgerKind::File,
            "decision" => LedgerKind::Decision,
            "figure" => LedgerKind::Figure,
            // What was open then may be done now.
            _ => return None,
        };
        Some(LedgerItem {
            kind,
            entry_id: entry_id.clone(),
            text: item.text,
        })
    });
    items.collect()
}

/// The part of a compaction's details that says what its ledger rests on.
#[derive(Deserialize)]
struct Details {
    ledger: Stored,
}

#[derive(Deserialize)]
struct Stored {
    sources: Option<Vec<String>>,
    #[serde(default)]
    items: Vec<StoredItem>,
}

#[derive(Deserialize)]
struct StoredItem {
    kind: String,
    #[serde(rename = "entryId", default)]
    entry_id: String,
}

/// What is read for a ledger.
#[derive(Default)]
pub(super) struct Gathered {
    /// The messages, oldest first.
    pub messages: Vec<SourceMessage>,
    /// What the newest ledger listed.
    pub listed: BTreeSet<(LedgerKind, EntryId)>,
    /// The oldest entry that was read whatever it says; of those before it only the user's words were.
    pub read_from: Option<EntryId>,
}

/// How an entry outside of the context is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Whatever it says.
    Whole,
    /// Where the user says it.
    OfTheUser,
}

/// A stored ledger, and the entry that its compaction kept first.
struct Known {
    ledger: Stored,
    first_kept: EntryId,
}

/// Returns the messages that tell the facts of `path`, oldest first, as they were written: back to the newest reset
/// boundary, those of the newest ledger's sources and of everything that its compaction kept or that came since; all
/// of them where no ledger was stored, as far as that is no matter of seconds. Entries that cannot be read are passed
/// over.
pub(super) fn gather(path: &SessionPath<'_>, context: &SessionContext) -> Gathered {
    gather_within(path, context, READ_BACK)
}

fn gather_within(path: &SessionPath<'_>, context: &SessionContext, most: u64) -> Gathered {
    let reset = path.newest(EntryKind::ResetBoundary);
    let start = reset.map_or(0, |(place, _)| place + 1);
    let read: BTreeMap<EntryIndex, &Entry> = context
        .entries
        .iter()
        .map(|projected| (projected.index, &*projected.entry))
        .collect();
    let known = newest_ledger(path, &read, start);
    let sources = known
        .as_ref()
        .and_then(|(ledger, since)| Some((ledger.sources.as_ref()?, *since)));
    let (sources, since) = match sources {
        Some((sources, since)) => (sources.iter().map(String::as_str).collect(), since),
        None => (BTreeSet::new(), start),
    };
    let tree = path.tree();
    let listed = known.iter().flat_map(|(ledger, _)| &ledger.items);
    let mut gathered = Gathered {
        listed: listed.filter_map(StoredItem::key).collect(),
        ..Gathered::default()
    };
    let mut entries = Vec::new();
    let (mut all, mut words) = (0_u64, 0_u64);
    for (place, index) in path.entries().iter().enumerate().skip(start).rev() {
        let tells = matches!(
            tree.kind(*index),
            EntryKind::Message | EntryKind::BranchSummary
        );
        if !tells || (place < since && !sources.contains(tree.id(*index))) {
            continue;
        }
        if read.contains_key(index) {
            entries.push((index, Reading::Whole));
            continue;
        }
        // What a ledger names is read whatever its size: it is bounded in number.
        if place < since {
            entries.push((index, Reading::Whole));
            continue;
        }
        all = all.saturating_add(tree.span(*index).len.into());
        if all <= most {
            entries.push((index, Reading::Whole));
            gathered.read_from = Some(EntryId::new(tree.id(*index)));
        } else if words <= most && tree.role(*index) == Some(StatedRole::User) {
            words = words.saturating_add(tree.span(*index).len.into());
            entries.push((index, Reading::OfTheUser));
        }
    }
    if all <= most {
        gathered.read_from = None;
    }
    for (index, reading) in entries.into_iter().rev() {
        let message = match read.get(index) {
            Some(entry) => message_of(entry),
            None => tree.entry(*index).ok().and_then(|it| message_of(&it)),
        };
        let message = message.filter(|message| match reading {
            Reading::Whole => true,
            Reading::OfTheUser => matches!(**message, AgentMessage::User(_)),
        });
        gathered
            .messages
            .extend(message.map(|message| SourceMessage {
                entry_id: EntryId::new(tree.id(*index)),
                message,
            }));
    }
    gathered
}

/// Returns the message of an entry, where it is no system message.
fn message_of(entry: &Entry) -> Option<std::sync::Arc<AgentMessage>> {
    let message = match &entry.body {
        EntryBody::Message(message) => Some(message.clone()),
        EntryBody::BranchSummary(_) => entry.messages().into_iter().next(),
        _ => None,
    };
    message.filter(|message| !matches!(**message, AgentMessage::System(_)))
}

/// Returns what the newest stored ledger rests on, and the place from which on everything is read.
fn newest_ledger(
    path: &SessionPath<'_>,
    read: &BTreeMap<EntryIndex, &Entry>,
    start: usize,
) -> Option<(Stored, usize)> {
    let tree = path.tree();
    if !tree.has_kind(EntryKind::Compaction) {
        return None;
    }
    let places = path.entries().iter().enumerate().skip(start).rev();
    let compactions = places.filter(|(_, index)| tree.kind(**index) == EntryKind::Compaction);
    for (place, index) in compactions {
        let body = match read.get(index) {
            Some(entry) => stored(&entry.body),
            None => tree
                .entry(*index)
                .ok()
                .and_then(|entry| stored(&entry.body)),
        };
        if let Some(Known { ledger, first_kept }) = body {
            let since = match *first_kept == *tree.id(*index) {
                true => place,
                // Where it is unknown what was kept, everything is read.
                false => kept_from(path, &first_kept, place).filter(|kept| *kept >= start)?,
            };
            return Some((ledger, since));
        }
    }
    None
}

/// Returns the ledger of a compaction; nothing for one that names no sources, which a ledger with facts always does.
fn stored(body: &EntryBody) -> Option<Known> {
    let EntryBody::Compaction(compaction) = body else {
        return None;
    };
    let compaction: &Compaction = compaction;
    let details = compaction.details.as_ref()?;
    let mut details: Details = serde_json::from_str(details.get()).ok()?;
    // A ledger of no sources had no room for facts; it does not say that there were none.
    let sources = details.ledger.sources.take();
    details.ledger.sources = sources.filter(|sources| !sources.is_empty());
    Some(Known {
        ledger: details.ledger,
        first_kept: compaction.first_kept.clone(),
    })
}

impl StoredItem {
    /// Returns what it was and where it came from; nothing for a kind that is not known here.
    fn key(&self) -> Option<(LedgerKind, EntryId)> {
        let kind: StrDeserializer<'_, Unknown> = self.kind.as_str().into_deserializer();
        let kind = LedgerKind::deserialize(kind).ok()?;
        Some((kind, EntryId::new(&self.entry_id)))
    }
}

/// Returns the place of the entry that the compaction at `place` keeps first.
fn kept_from(path: &SessionPath<'_>, first_kept: &EntryId, place: usize) -> Option<usize> {
    let before = &path.entries()[..place];
    before
        .iter()
        .rposition(|index| *path.tree().id(*index) == **first_kept)
}

#[cfg(test)]
mod tests {
    use session_model::{build_context, decode_bytes};

    use super::*;
    use crate::rules::Profile;

    #[test]
    fn of_a_long_history_that_others_compacted_only_the_users_words_are_read_far_back() {
        let text = "u:9 write:a:src/a.rs res:a:50 u:9 write:b:src/b.rs res:b:50 \
                    u:9 last=a:9 k@last:20 u:5";
        let tree = decode_bytes(test_support::session(text).into_bytes()).tree;
        let path = tree.path(tree.leaf());
        let context = build_context(&path, Profile::Own.context_rules());
        let ids = |most| {
            let gathered = gather_within(&path, &context, most);
            let ids = gathered.messages.iter();
            let ids: Vec<&str> = ids.map(|message| &*message.entry_id).collect();
            (ids.join(" "), gathered.read_from)
        };
        let whole = "e1 e2 e3 e4 e5 e6 e7 last e10";
        assert_eq!(ids(1_000_000), (whole.to_owned(), None));
        let length = |id: &str| u64::from(tree.span(tree.find(id).unwrap()).len);
        // All behind the second call.
        let back = ["e6", "e7"].map(length).iter().sum();
        let (read, from) = ids(back);
        assert_eq!(read, "e1 e4 e6 e7 last e10");
        assert_eq!(from.as_deref(), Some("e6"));
        // There is an end to the user's words too.
        let (read, _) = ids(length("e4") - 1);
        assert_eq!(read, "e7 last e10");
    }
}
