//! Collects the contents of a branch that is left: its readable entries, its conversation, and the part that fits the
//! budget.

use std::sync::Arc;

use session_model::{
    AgentMessage, Diagnostic, DiagnosticKind, Edits, Entry, EntryBody, EntryId, EntryIndex,
    FileDetails, SessionTree, Severity, SummaryMessage,
};

use crate::branch::BranchOptions;
use crate::files::FileOps;
use crate::rules::Profile;
use crate::serialize::{Bounds, Serializer};
use session_model::tokens::TokenCount;

/// A message on the branch.
pub(super) struct BranchMessage {
    /// The place of its entry among the entries of the branch.
    pub entry: usize,
    pub message: Arc<AgentMessage>,
    pub parts: Vec<String>,
    pub tokens: TokenCount,
}

/// Returns the entries of the branch; one that cannot be read is reported and left out.
pub(super) fn readable_entries(
    tree: &SessionTree,
    left: &[EntryIndex],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(left.len());
    for index in left {
        match tree.entry(*index) {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                let text = format!("left out of the branch: {error}");
                let said = Diagnostic::new(Severity::Error, DiagnosticKind::DamagedBody, text);
                let id = EntryId::new(tree.id(*index));
                diagnostics.push(said.at_line(tree.line(*index)).of_entry(id));
            }
        }
    }
    entries
}

/// Returns the messages on the branch, oldest first. The size that counts against the budget is that of the text for
/// the summarizer (pi counts the whole message).
pub(super) fn branch_messages(
    entries: &[Entry],
    options: &BranchOptions,
    bounds: &Bounds,
) -> Vec<BranchMessage> {
    let counter = options.profile.counter();
    let tool_results = options.profile.rules().branch_tool_results;
    let edits = Edits::of(entries.iter());
    let said = entries.iter().enumerate().filter_map(|(place, entry)| {
        let message = branch_message(entry, &edits, tool_results, options.profile)?;
        let parts = Serializer::new(bounds).parts(&message);
        let tokens = match options.profile {
            Profile::Own => parts.iter().map(|part| counter.text(part)).sum(),
            Profile::Pi => counter.message(&message),
        };
        Some(BranchMessage {
            entry: place,
            message,
            parts,
            tokens,
        })
    });
    said.collect()
}

/// The messages of a branch that fit the budget.
pub(super) struct Chosen {
    /// The first that is summarized.
    pub first: usize,
    /// The index of the first visited message.
    pub visited: usize,
    pub tokens: TokenCount,
}

/// Walks newest to oldest until the budget is reached. A summary that exceeds it is still taken while
/// less than nine tenths of the budget are used.
pub(super) fn choose(said: &[BranchMessage], entries: &[Entry], budget: TokenCount) -> Chosen {
    let mut chosen = Chosen {
        first: said.len(),
        visited: said.len(),
        tokens: TokenCount::ZERO,
    };
    for (place, message) in said.iter().enumerate().rev() {
        chosen.visited = place;
        if chosen.tokens + message.tokens > budget {
            let is_summary = matches!(
                entries[message.entry].body,
                EntryBody::Compaction(_) | EntryBody::BranchSummary(_)
            );
            let room_left = u128::from(chosen.tokens.0) * 10 < u128::from(budget.0) * 9;
            if is_summary && room_left {
                chosen.tokens += message.tokens;
                chosen.first = place;
            }
            break;
        }
        chosen.tokens += message.tokens;
        chosen.first = place;
    }
    chosen
}

/// Returns the files that the summaries on the branch name, without those that extensions made.
pub(super) fn summary_files(entries: &[Entry], profile: Profile) -> FileOps {
    let mut files = FileOps::default();
    for entry in entries {
        let (details, foreign) = match &entry.body {
            EntryBody::BranchSummary(branch) => (
                &branch.details,
                branch.from_hook || profile == Profile::Own && branch.from_extension,
            ),
            EntryBody::Compaction(compaction) if profile.rules().summaries_feed_file_lists => (
                &compaction.details,
                compaction.from_hook || compaction.from_extension,
            ),
            _ => continue,
        };
        if let Some(details) = details.as_ref().filter(|_| !foreign) {
            files.add_details(&FileDetails::of(details));
        }
    }
    files
}

/// Returns the message that an entry contributes to the conversation of a branch.
fn branch_message(
    entry: &Entry,
    edits: &Edits,
    tool_results: bool,
    profile: Profile,
) -> Option<Arc<AgentMessage>> {
    // pi uses an empty branch summary here, though not in contexts.
    if let (EntryBody::BranchSummary(branch), Profile::Pi) = (&entry.body, profile) {
        return Some(Arc::new(AgentMessage::BranchSummary(SummaryMessage {
            summary: branch.summary.clone(),
            timestamp: entry.timestamp,
        })));
    }
    // Of a compaction that replays a system message, the summary comes last.
    let mut messages = entry.messages();
    edits.apply(entry, &mut messages, profile == Profile::Own);
    let message = messages.pop()?;
    match *message {
        AgentMessage::ToolResult(_) if !tool_results => None,
        AgentMessage::System(_) if profile == Profile::Own => None,
        _ => Some(message),
    }
}
