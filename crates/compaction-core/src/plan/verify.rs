//! What a summary lost, looked up before it is stored: reported, repaired or refused.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use session_model::AgentMessage;

use crate::ledger::{LedgerBlock, LedgerItem, LedgerKind};
use crate::loss::{ContextLoss, LookedUp, Readable, Removed, Seen};
use crate::plan::{ApplyError, CompactionPlan, Disposition};
use crate::rules::Profile;
use crate::settings::VerifyMode;
use session_model::tokens::TokenCount;

/// What a repair takes at most, as a part of what is taken out of the context.
const REPAIR: u64 = 20;

/// A summary that was looked through.
pub(crate) struct Verified {
    /// The summary: prose, ledger, file tags.
    pub summary: String,
    /// The ledger in it.
    pub ledger: LedgerBlock,
    /// What leaves the context; `None` where it was not looked up.
    pub loss: Option<ContextLoss>,
}

impl CompactionPlan {
    /// Returns the summary that is stored for this prose.
    pub(crate) fn verified(
        &self,
        prose: &str,
        mut ledger: LedgerBlock,
        tags: &str,
    ) -> Result<Verified, ApplyError> {
        let plain = format!("{prose}{}{tags}", ledger.text);
        let mode = match self.profile {
            Profile::Own => self.verify.mode,
            Profile::Pi => VerifyMode::Off,
        };
        let (repairs, refuses) = match mode {
            VerifyMode::Off => {
                return Ok(Verified {
                    summary: plain,
                    ledger,
                    loss: None,
                });
            }
            VerifyMode::Report => (false, false),
            VerifyMode::Repair => (true, false),
            VerifyMode::Gate => (true, true),
        };
        let (removed, mut readable) = self.span();
        readable.add_text(&plain);
        readable.finish();
        let mut looked_up = removed.look_up(&readable);
        if repairs {
            let said = self.lost_words(&looked_up);
            let most = self.room_for_repair(&plain, removed.tokens());
            ledger = ledger.with_lost(&said, most, self.profile.counter());
            let mut added = Readable::default();
            added.add_text(&ledger.text);
            added.finish();
            looked_up.add(&added);
        }
        let loss = looked_up.loss();
        if refuses {
            self.refuse_below_minimum(&loss)?;
        }
        Ok(Verified {
            summary: format!("{prose}{}{tags}", ledger.text),
            ledger,
            loss: Some(loss),
        })
    }

    /// Returns what leaves the context, and what can be read afterwards in addition to the summary.
    fn span(&self) -> (Removed, Readable) {
        let mut removed = Removed::default();
        let goes = |disposition| match disposition {
            Disposition::Summarized | Disposition::TurnPrefix | Disposition::Pruned => true,
            Disposition::Kept
            | Disposition::PreviousSummary
            | Disposition::System
            | Disposition::NoMessage => false,
        };
        let gone = self.entries.iter().filter(|entry| goes(entry.disposition));
        removed.add_tokens(gone.map(|entry| entry.tokens).sum());
        let mut readable = Readable::default();
        for source in self.requests().iter().flat_map(|request| &request.source) {
            removed.add(&source.message, &source.entry_id);
        }
        let elisions = self.elisions.iter();
        let elisions: BTreeMap<_, _> = elisions
            .map(|elision| (&elision.entry_id, elision))
            .collect();
        for source in &self.short.source {
            match elisions.get(&source.entry_id) {
                Some(elision) => {
                    let shorter = elision.replacement.clone();
                    readable.add(&source.message.with_content(shorter));
                    removed.add(&source.message, &source.entry_id);
                }
                None => readable.add(&source.message),
            }
        }
        let restored = self.restored.as_ref();
        if let Some(content) = restored.and_then(|restored| restored.content.as_ref()) {
            readable.add_content(content);
        }
        if let Some(pending) = &self.pending {
            readable.add(&AgentMessage::Assistant(pending.clone()));
        }
        (removed, readable)
    }

    /// Returns what a repair may take: a part of what is taken out, and half of what is left below the threshold.
    fn room_for_repair(&self, summary: &str, removed: TokenCount) -> TokenCount {
        let before = self.tokens_in_context();
        let threshold = self.threshold.as_ref().map(|threshold| threshold.tokens);
        let most = threshold.map_or(before, |threshold| threshold.min(before));
        let left = most.saturating_sub(self.tokens_after(summary));
        removed.scaled(1, REPAIR).min(left.scaled(1, 2))
    }

    /// Returns what the user said and is out of context: rules before messages, the latest first. What a later figure
    /// replaced is not said.
    fn lost_words(&self, looked_up: &LookedUp<'_>) -> Vec<LedgerItem> {
        let changed = &self.ledger.changed;
        let words = |kind, lost: &[(&String, &Seen)]| -> Vec<LedgerItem> {
            let holding = lost.iter().copied();
            let holding = holding.filter(|(_, seen)| !changed.contains(&seen.entry_id));
            let mut holding: Vec<(&String, &Seen)> = holding.collect();
            holding.sort_by_key(|(_, seen)| Reverse(seen.last));
            let item = |(text, seen): (&String, &Seen)| LedgerItem {
                kind,
                entry_id: seen.entry_id.clone(),
                text: text.clone(),
            };
            holding.into_iter().map(item).collect()
        };
        let mut said = words(LedgerKind::Rule, looked_up.lost_rules());
        let rules: BTreeSet<String> = said.iter().map(|rule| rule.text.clone()).collect();
        let messages = words(LedgerKind::Message, looked_up.lost_messages()).into_iter();
        said.extend(messages.filter(|message| !rules.contains(&message.text)));
        said
    }

    fn refuse_below_minimum(&self, loss: &ContextLoss) -> Result<(), ApplyError> {
        // What the user wants counts as much as what has a name.
        let total = loss.searched() + loss.rules.total - loss.rules.not_searched;
        let in_context = loss.in_context() + loss.rules.verbatim;
        let minimum = self.verify.minimum_percent;
        if total == 0 || in_context * 100 >= usize::from(minimum) * total {
            return Ok(());
        }
        let percent = u8::try_from(in_context * 100 / total).unwrap_or(100);
        Err(ApplyError::Unverified { percent, minimum })
    }
}
