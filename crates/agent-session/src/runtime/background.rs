//! A compaction that is prepared during the running turn, and written when it is due.

use compaction_core::Profile;
use serde_json::json;
use session_model::{EntryBody, EntryDraft, EntryId, EntryKind};

use crate::machine::{Job, JobEnd, StrategyChoice, Trigger};
use crate::runtime::AgentSession;
use crate::runtime::compaction::{CompactionEntries, CompactionOutput, TARGET};
use crate::runtime::jobs::Done;
use session_store::NewEntry;
use summarize::{add_details, main_place, summary_draft};

/// What was prepared.
pub(super) struct Prepared {
    /// The job that did it.
    pub job: Job,
    /// The leaf at which it was planned; `None` before everything.
    leaf: Option<EntryId>,
    /// The model for whose window it was planned.
    model: String,
    entries: CompactionEntries,
}

impl AgentSession {
    pub(super) fn start_background(&mut self, job: Job) {
        let mut compaction =
            self.compaction(Trigger::Threshold, StrategyChoice::InThisSession, false);
        let leaf = compaction.tree.leaf_id(compaction.leaf).map(EntryId::new);
        let model = self.models.model.name();
        // Below the threshold nothing else than a summary is of use.
        compaction.strategies.retain(|strategy| {
            use compaction_core::Strategy;
            matches!(strategy, Strategy::ContextFull | Strategy::Extractive)
        });
        self.work.start(job, |cancel| async move {
            compaction.cancel = cancel;
            let prepared = match compaction.run().await {
                Ok(CompactionOutput::Entries(entries)) => Some(Box::new(Prepared {
                    job,
                    leaf,
                    model,
                    entries: *entries,
                })),
                Ok(CompactionOutput::Document(_)) | Err(_) => None,
            };
            Done::Background(prepared)
        });
    }

    /// Writes what was prepared, unless the session has gone another way since.
    pub(super) async fn splice(&mut self, background: Job, omits_failed: bool) -> JobEnd {
        let Some(prepared) = self.compaction_run.take_prepared(background) else {
            return JobEnd::Stale;
        };
        // What could not be written before belongs to what an undo gives back.
        if let Err(error) = self.append(Vec::new()).await {
            return JobEnd::Failed(error.to_string());
        }
        if !self.still_fits(&prepared, omits_failed) {
            return JobEnd::Stale;
        }
        let mut entries = prepared.entries;
        let followed = self.tokens_since(prepared.leaf.as_ref(), omits_failed);
        entries.result.prepared = true;
        let result = &mut entries.result;
        result.tokens_before = result.tokens_before.saturating_add(followed);
        result.tokens_after = result.tokens_after.saturating_add(followed);
        // The entry tells of the session as it is now; whoever undoes it wants what was said meanwhile.
        let leaf = self.leaf_name();
        if let Some(draft) = summary_draft(&mut entries.drafts) {
            let details = [
                ("undoTo", json!(leaf)),
                ("estimatedTokensBefore", json!(entries.result.tokens_before)),
                ("estimatedTokensAfter", json!(entries.result.tokens_after)),
            ];
            add_details(draft, &details);
            if let EntryDraft::Compaction(compaction) = draft {
                compaction.tokens_before = compaction.tokens_before.saturating_add(followed);
            }
        }
        (entries.frees_enough, entries.omits_failed) = (true, omits_failed);
        self.write_entries(entries).await
    }

    fn still_fits(&self, prepared: &Prepared, omits_failed: bool) -> bool {
        if prepared.model != self.models.model.name() {
            return false;
        }
        let tree = self.store.tree();
        let path = tree.path(self.store.leaf());
        let after = match &prepared.leaf {
            None => 0,
            Some(leaf) => match path.place_of(leaf) {
                Some(place) => place + 1,
                None => return false,
            },
        };
        let changed = path.entries()[after..].iter().any(|index| {
            matches!(
                tree.kind(*index),
                EntryKind::Compaction | EntryKind::ContextEdit | EntryKind::ResetBoundary
            )
        });
        let followed = self.tokens_since(prepared.leaf.as_ref(), omits_failed);
        let after = prepared.entries.result.tokens_after;
        let after = after.saturating_add(followed);
        // One that would not land is no better than a new one.
        let lands = self
            .threshold()
            .is_none_or(|threshold| after <= threshold.tokens.scaled(TARGET, 10).0);
        !changed && lands
    }

    /// Returns the tokens of what was said after `leaf`, what failed left out when it is to go.
    fn tokens_since(&self, leaf: Option<&EntryId>, omits_failed: bool) -> u64 {
        let tree = self.store.tree();
        let path = tree.path(self.store.leaf());
        let view = self.view();
        let known = leaf.and_then(|leaf| path.place_of(leaf));
        let first = known.map_or(0, |place| place + 1);
        let after: std::collections::BTreeSet<_> = path.entries()[first..].iter().collect();
        let counter = Profile::Own.counter();
        let entries = view.context.entries.iter();
        let entries = entries.filter(|projected| after.contains(&projected.index));
        let entries = entries.filter(|projected| {
            !(omits_failed && self.turn.failed_answer.as_ref() == Some(&projected.entry.id))
        });
        let messages = entries
            .filter(|projected| !matches!(projected.entry.body, EntryBody::Compaction(_)))
            .flat_map(|projected| &projected.messages);
        messages.map(|message| counter.message(message).0).sum()
    }

    /// Writes what a compaction brought, with the edit that takes away what failed.
    pub(super) async fn write_entries(&mut self, mut entries: CompactionEntries) -> JobEnd {
        self.keep_new_pins(&mut entries);
        let omission = self.turn.omission().filter(|_| entries.omits_failed);
        let mut drafts = Vec::from_iter(omission);
        let place = main_place(&entries.drafts).map(|place| drafts.len() + place);
        drafts.extend(entries.drafts.into_iter().map(NewEntry::from));
        let written = match &entries.replaces {
            Some(replaces) => self.write_instead(replaces, drafts).await,
            None => self.append(drafts).await,
        };
        match written {
            Ok(ids) => {
                let mut result = entries.result;
                result.entry_id = place
                    .and_then(|place| ids.get(place))
                    .map(ToString::to_string);
                self.compaction_run.result = Some(result);
                if entries.omits_failed {
                    self.turn.failed_answer = None;
                }
                self.gather_instructions().await;
                JobEnd::Compacted {
                    frees_enough: entries.frees_enough,
                }
            }
            // It is not tried again.
            Err(error) => JobEnd::Failed(error.to_string()),
        }
    }
}
