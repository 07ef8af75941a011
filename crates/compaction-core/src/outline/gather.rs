//! The messages from which an outline is made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use session_facts::SourceMessage;
use session_model::{
    AgentMessage, Entry, EntryBody, EntryId, EntryIndex, EntryKind, SessionContext, SessionPath,
    StatedRole,
};

use crate::outline::HANDOFF_MESSAGE;

/// The limits of text outside of the context, in bytes: of all text, newest first, and beyond that of the user's
/// messages. Sessions may be of any size.
const READ_BACK: u64 = 16 * 1024 * 1024;

/// Returns the messages of `path` as they were written, oldest first, back to the newest reset boundary: those of the
/// context, then older ones up to [`READ_BACK`] bytes, and beyond that only the user's. Messages that an edit removed
/// completely, and entries that cannot be read, are left out.
pub(super) fn gather(path: &SessionPath<'_>, context: &SessionContext) -> Vec<SourceMessage> {
    gather_within(path, context, READ_BACK)
}

fn gather_within(
    path: &SessionPath<'_>,
    context: &SessionContext,
    most: u64,
) -> Vec<SourceMessage> {
    let tree = path.tree();
    let reset = path.newest(EntryKind::ResetBoundary);
    let start = reset.map_or(0, |(place, _)| place + 1);
    let known: BTreeMap<EntryIndex, &Entry> = context
        .entries
        .iter()
        .map(|projected| (projected.index, &*projected.entry))
        .collect();
    let mut found = Vec::new();
    let (mut all, mut requests) = (0_u64, 0_u64);
    // The newest edit of each message, and whether it leaves something of it.
    let mut edits: BTreeMap<EntryId, bool> = BTreeMap::new();
    for index in path.entries().iter().skip(start).rev() {
        if tree.kind(*index) == EntryKind::ContextEdit
            && let Ok(Entry {
                body:
                    EntryBody::ContextEdit {
                        target,
                        replacement,
                        ..
                    },
                ..
            }) = tree.entry(*index)
        {
            edits.entry(target).or_insert(replacement.is_some());
        }
        let is_message = matches!(
            tree.kind(*index),
            EntryKind::Message | EntryKind::BranchSummary | EntryKind::CustomMessage
        );
        if !is_message || edits.get(tree.id(*index)) == Some(&false) {
            continue;
        }
        let mut only_requests = false;
        let read;
        let entry = match known.get(index) {
            Some(entry) => *entry,
            None => {
                let length = u64::from(tree.span(*index).len);
                all = all.saturating_add(length);
                if all > most {
                    only_requests = true;
                    if requests > most || tree.role(*index) != Some(StatedRole::User) {
                        continue;
                    }
                    requests = requests.saturating_add(length);
                }
                let Ok(entry) = tree.entry(*index) else {
                    continue;
                };
                read = entry;
                &read
            }
        };
        let message = message_of(entry);
        let message =
            message.filter(|message| !only_requests || matches!(**message, AgentMessage::User(_)));
        found.extend(message.map(|message| SourceMessage {
            entry_id: entry.id.clone(),
            message,
        }));
    }
    found.reverse();
    found
}

/// Returns the message of an entry that an outline is made from.
fn message_of(entry: &Entry) -> Option<Arc<AgentMessage>> {
    let message = match &entry.body {
        EntryBody::Message(message) => Some(message.clone()),
        EntryBody::BranchSummary(_) => entry.messages().into_iter().next(),
        EntryBody::CustomMessage(message) if message.custom_type == HANDOFF_MESSAGE => {
            entry.messages().into_iter().next()
        }
        _ => None,
    };
    message.filter(|message| !matches!(**message, AgentMessage::System(_)))
}

/// Returns the entries that stay as they were written in a context whose kept range begins at the index `first_kept`.
pub(super) fn in_context(context: &SessionContext, first_kept: usize) -> BTreeSet<EntryId> {
    let entries = &context.entries;
    let edited = entries
        .iter()
        .filter_map(|projected| match &projected.entry.body {
            EntryBody::ContextEdit { target, .. } => Some(target),
            _ => None,
        });
    let edited: BTreeSet<&EntryId> = edited.collect();
    let kept = entries.iter().skip(first_kept);
    kept.filter(|projected| !projected.messages.is_empty())
        .map(|projected| &projected.entry.id)
        .filter(|id| !edited.contains(id))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use session_model::{build_context, decode_bytes};

    use super::gather_within;
    use crate::rules::Profile;

    #[test]
    fn what_an_edit_took_out_whole_is_not_said() {
        let text = "u:9 last=a:9 u:9 a:9 omit@e1 u:9 k@e3:20 cut@e3 omit@last u:5";
        let tree = decode_bytes(test_support::session(text).into_bytes()).tree;
        let path = tree.path(tree.leaf());
        let context = build_context(&path, Profile::Own.context_rules());
        let messages = gather_within(&path, &context, 1_000_000);
        let ids: Vec<&str> = messages.iter().map(|message| &*message.entry_id).collect();
        assert_eq!(ids.join(" "), "e3 e4 e6 e10");
    }

    #[test]
    fn of_a_long_history_only_the_users_messages_are_read_far_back() {
        let text = "u:9 write:a:src/a.rs res:a:50 u:9 write:b:src/b.rs res:b:50 \
                    u:9 last=a:9 k@last:20 u:5";
        let tree = decode_bytes(test_support::session(text).into_bytes()).tree;
        let path = tree.path(tree.leaf());
        let context = build_context(&path, Profile::Own.context_rules());
        let ids = |most| {
            let messages = gather_within(&path, &context, most);
            let ids: Vec<&str> = messages.iter().map(|message| &*message.entry_id).collect();
            ids.join(" ")
        };
        assert_eq!(ids(1_000_000), "e1 e2 e3 e4 e5 e6 e7 last e10");
        let length = |id: &str| u64::from(tree.span(tree.find(id).unwrap()).len);
        // All of it comes after the second call.
        assert_eq!(
            ids(["e6", "e7"].map(length).iter().sum()),
            "e1 e4 e6 e7 last e10"
        );
        // There is an end to the user's messages too.
        assert_eq!(ids(length("e4") - 1), "e7 last e10");
    }
}
