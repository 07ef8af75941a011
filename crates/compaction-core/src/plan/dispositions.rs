//! The disposition of each entry of a context, and the files that it concerns.

use std::collections::BTreeSet;

use serde::Serialize;
use session_model::{
    AgentMessage, EntryBody, EntryId, FileDetails, ProjectedEntry, SessionContext, Wording,
};

use crate::cut::{CutItem, CutPoint};
use crate::files::{FileCalls, FileOps};
use crate::ledger::LedgerBlock;
use crate::plan::requests::RequestSource;
use crate::request::RequestKind;
use crate::restore::{self, Outcome, Restored};
use crate::rules::Rules;
use crate::serialize::{Bounds, Serializer};
use crate::threshold::Threshold;
use session_facts::SourceMessage;
use session_model::tokens::{TokenCount, TokenCounter};

/// The disposition of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disposition {
    /// It stays verbatim.
    Kept,
    /// It is summarized.
    Summarized,
    /// It is summarized with the beginning of the turn.
    TurnPrefix,
    /// It stays, its content elided.
    Pruned,
    /// It is the compaction before; its summary is brought up to date.
    PreviousSummary,
    /// It is a system message; the one in force is replayed.
    System,
    /// It contributes nothing to the context.
    NoMessage,
}

impl Disposition {
    /// Returns the name that JSON output and hashes use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Summarized => "summarized",
            Self::TurnPrefix => "turn_prefix",
            Self::Pruned => "pruned",
            Self::PreviousSummary => "previous_summary",
            Self::System => "system",
            Self::NoMessage => "no_message",
        }
    }
}

/// An entry of the context and its disposition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedEntry {
    /// The entry.
    pub entry_id: EntryId,
    /// The disposition.
    #[serde(rename = "fate")]
    pub disposition: Disposition,
    /// Its tokens in the context before.
    pub tokens: TokenCount,
    /// The reason, as a sentence fragment.
    pub reason: &'static str,
    /// The part of it that is restored after the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comes_back: Option<ComesBack>,
    /// True if it is summarized, and also kept verbatim as a pin in the ledger.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
}

/// The part of a summarized entry that is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComesBack {
    /// The file that its call touched, as it is on disk.
    File,
    /// Its image.
    Image,
    /// Its calls, which wait for results.
    Calls,
}

/// Returns how many paths each list names, so that both take at most a sixteenth of the threshold.
pub(super) fn list_limit(
    files: &FileOps,
    setting: usize,
    threshold: Option<&Threshold>,
    counter: &dyn TokenCounter,
) -> usize {
    let Some(threshold) = threshold else {
        return setting;
    };
    let share = threshold.tokens.scaled(1, 16).max(TokenCount(256));
    let mut limit = setting;
    while limit > 1 && counter.text(&files.tags(Some(limit))) > share {
        limit /= 2;
    }
    limit
}

pub(super) fn dispositions(
    context: &SessionContext,
    items: &[CutItem],
    start: usize,
    cut: CutPoint,
) -> Vec<Disposition> {
    let history_end = match cut {
        CutPoint::Turn { first_kept } => first_kept,
        CutPoint::SplitTurn { turn_start, .. } => turn_start,
    };
    let disposition_of = |(place, (projected, item)): (usize, (&ProjectedEntry, &CutItem))| {
        if place < start {
            return Disposition::PreviousSummary;
        }
        if place >= cut.first_kept() && item.visible {
            return Disposition::Kept;
        }
        if !item.visible || item.boundary {
            return Disposition::NoMessage;
        }
        let messages = projected.messages.iter();
        if messages
            .clone()
            .all(|message| matches!(**message, AgentMessage::System(_)))
        {
            return Disposition::System;
        }
        match place < history_end {
            true => Disposition::Summarized,
            false => Disposition::TurnPrefix,
        }
    };
    let pairs = context.entries.iter().zip(items);
    pairs.enumerate().map(disposition_of).collect()
}

pub(crate) fn source_messages(
    context: &SessionContext,
    dispositions: &[Disposition],
    disposition: Disposition,
) -> Vec<SourceMessage> {
    let entries = context.entries.iter().zip(dispositions);
    let entries = entries.filter(|(_, own)| **own == disposition);
    let messages = entries.flat_map(|(projected, _)| {
        let messages = projected.messages.iter();
        messages.map(|message| SourceMessage {
            entry_id: projected.entry.id.clone(),
            message: message.clone(),
        })
    });
    messages
        .filter(|source| !matches!(*source.message, AgentMessage::System(_)))
        .collect()
}

pub(crate) fn request_source(
    kind: RequestKind,
    source: Vec<SourceMessage>,
    bounds: &Bounds,
    max_output: TokenCount,
) -> RequestSource {
    let source = match bounds.wording {
        Wording::Own => source.into_iter().map(with_references).collect(),
        Wording::Pi => source,
    };
    let mut serializer = Serializer::new(bounds);
    let messages = source.iter();
    let parts = messages
        .flat_map(|source| serializer.parts(&source.message))
        .collect();
    RequestSource {
        kind,
        parts,
        separator: bounds.separator(),
        previous: None,
        max_output,
        source,
    }
}

/// Returns the message with paths instead of the content that an earlier compaction restored.
fn with_references(source: SourceMessage) -> SourceMessage {
    let message = restore::references(&source.message).unwrap_or(source.message);
    SourceMessage { message, ..source }
}

pub(super) fn planned_entries(
    context: &SessionContext,
    items: &[CutItem],
    dispositions: &[Disposition],
    ledger: &LedgerBlock,
) -> Vec<PlannedEntry> {
    let pinned: BTreeSet<&EntryId> = ledger.pinned.iter().collect();
    let rows = context.entries.iter().zip(items).zip(dispositions);
    let planned = rows.map(|((projected, item), disposition)| PlannedEntry {
        entry_id: projected.entry.id.clone(),
        disposition: *disposition,
        tokens: item.tokens,
        reason: match disposition {
            Disposition::Kept => "recent",
            Disposition::Summarized => "older than the kept range",
            Disposition::TurnPrefix => "beginning of the turn that the cut splits",
            Disposition::Pruned => "too large for what is kept",
            Disposition::PreviousSummary => "summary of the compaction before",
            Disposition::System => "system message; the one in force is replayed",
            Disposition::NoMessage if projected.omitted => "taken out by an edit",
            Disposition::NoMessage => "not part of the context",
        },
        comes_back: None,
        pinned: pinned.contains(&projected.entry.id),
    });
    planned.collect()
}

/// Notes for the entries of a plan that keeps none verbatim what of them comes back.
pub(super) fn say_what_comes_back(
    entries: &mut [PlannedEntry],
    restored: &Restored,
    pending: Option<&EntryId>,
) {
    let embedded = restored.files.iter();
    let embedded = embedded.filter(|file| file.outcome == Outcome::Embedded);
    let files: BTreeSet<&EntryId> = embedded.map(|file| &file.entry_id).collect();
    let images: BTreeSet<&EntryId> = restored.images_shown().map(|it| &it.entry_id).collect();
    for entry in entries {
        let id = &entry.entry_id;
        if entry.disposition == Disposition::Summarized {
            entry.reason = "nothing stays verbatim";
        }
        if pending == Some(id) {
            entry.comes_back = Some(ComesBack::Calls);
            entry.reason = "its calls wait for results and are said again";
        } else if images.contains(id) {
            entry.comes_back = Some(ComesBack::Image);
            entry.reason = "its image comes back after the summary";
        } else if files.contains(id) {
            entry.comes_back = Some(ComesBack::File);
            entry.reason = "its file comes back after the summary, as it is on disk";
        }
    }
}

/// Returns the files of everything that is summarized and of the summaries that it builds on.
pub(crate) fn file_ops(
    context: &SessionContext,
    dispositions: &[Disposition],
    rules: &Rules,
) -> FileOps {
    let mut files = FileOps::default();
    if let Some((_, compaction)) = context.compaction() {
        let foreign = match rules.summaries_feed_file_lists {
            true => compaction.from_hook || compaction.from_extension,
            false => compaction.from_hook,
        };
        if let Some(details) = compaction.details.as_ref().filter(|_| !foreign) {
            files.add_details(&FileDetails::of(details));
        }
    }
    let goes = |disposition: &Disposition| {
        matches!(
            disposition,
            Disposition::Summarized | Disposition::TurnPrefix
        )
    };
    // Entries that an edit removed have changed files nevertheless.
    let last = dispositions
        .iter()
        .rposition(goes)
        .map_or(0, |last| last + 1);
    let which = match rules.failed_calls_count {
        true => FileCalls::AllOfPi,
        false => FileCalls::Succeeded,
    };
    let range = context.entries[..last].iter();
    if rules.edited_calls_count {
        let gone = range
            .zip(dispositions)
            .filter(|(_, disposition)| goes(disposition));
        let messages = gone.flat_map(|(projected, _)| projected.messages.iter());
        files.add_messages(messages, which);
        return files;
    }
    if rules.summaries_feed_file_lists {
        for projected in range.clone() {
            if let EntryBody::BranchSummary(branch) = &projected.entry.body
                && let Some(details) = &branch.details
                && !(branch.from_hook || branch.from_extension)
            {
                files.add_details(&FileDetails::of(details));
            }
        }
    }
    // Results may be after the cut, so failures are searched for in the whole context.
    let originals: Vec<_> = context
        .entries
        .iter()
        .map(ProjectedEntry::original_messages)
        .collect();
    let gone = originals[..last].iter().map(Vec::len).sum();
    let messages: Vec<&AgentMessage> = originals.iter().flatten().map(|said| &**said).collect();
    files.add_first(&messages, gone, which);
    files
}
