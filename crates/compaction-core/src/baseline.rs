//! The same session with summaries of ours: what would be in context if they were extractive, with a ledger, in as
//! many tokens as the file's own take.
//!
//! Each compaction of the path is made again at its place: the same entries are summarized and the same stay. Ours
//! build on ours, as the file's own build on their like. Then both sessions get the same report.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use session_model::{
    Compaction, ContextRules, EntryBody, EntryDraft, EntryId, EntryIndex, EntryKind, SessionPath,
    Stamp, Timestamp, build_context,
};

use crate::loss::{CompactionLoss, TotalLoss, loss_report};
use crate::plan::{AppliedCompaction, PlanOptions, Trigger, plan_at};
use crate::rules::Profile;
use crate::settings::{Strategy, VerifyMode};
use session_model::tokens::TokenCount;

/// A window in which everything fits: no request is needed.
const WINDOW: TokenCount = TokenCount(1 << 40);
/// The least prose that the rules write.
const LEAST_PROSE: TokenCount = TokenCount(200);
/// How often a summary that came out too large is made smaller.
const TRIES: usize = 4;

/// What a summary of ours in the place of the file's own would keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum OurLoss {
    /// The summary, its ledger and what both keep.
    Kept {
        /// Tokens of the ledger.
        ledger_tokens: TokenCount,
        /// What is in context.
        #[serde(flatten)]
        loss: CompactionLoss,
    },
    /// There is none; the file's own stands.
    None {
        /// The compaction.
        entry_id: EntryId,
        /// Why.
        reason: String,
    },
}

/// What summaries of ours would keep of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OurReport {
    /// Each compaction of the path, oldest first.
    pub compactions: Vec<OurLoss>,
    /// All of them together. Where there is no summary of ours, the file's own counts.
    pub totals: TotalLoss,
}

/// Returns what the rules with a ledger would keep at each compaction of a path, in as many tokens as the file's own
/// summary takes. `proceed` is asked before each of them; `None` once it says no.
pub fn loss_of_ours(
    path: &SessionPath<'_>,
    rules: ContextRules,
    proceed: &mut dyn FnMut() -> bool,
) -> Option<OurReport> {
    let tree = path.tree();
    let counter = Profile::Own.counter();
    let mut ours: BTreeMap<EntryId, Result<TokenCount, String>> = BTreeMap::new();
    let mut changed = tree.clone();
    for (place, index) in path.entries().iter().enumerate() {
        if tree.kind(*index) != EntryKind::Compaction {
            continue;
        }
        if !proceed() {
            return None;
        }
        let Ok(entry) = tree.entry(*index) else {
            continue;
        };
        let EntryBody::Compaction(own) = &entry.body else {
            continue;
        };
        let (before, after) = (path.before(place), path.before(place + 1));
        let made = again(&after, &before.through(&changed), own, rules).and_then(|applied| {
            let stamp = Stamp {
                id: entry.id.clone(),
                parent: entry.parent.clone(),
                timestamp: entry.timestamp.unwrap_or(Timestamp::from_millis(0)),
                part_of: None,
            };
            let is_compaction = |draft: &&EntryDraft| matches!(draft, EntryDraft::Compaction(_));
            let draft = applied.drafts.iter().find(is_compaction);
            let draft = draft.ok_or("nothing would be summarized")?;
            Ok((draft.stamp(&stamp).into_bytes(), applied.ledger.tokens))
        });
        let made = made.map(|(line, tokens)| {
            changed.replace_line(*index, line);
            tokens
        });
        ours.insert(entry.id, made);
    }
    let report = loss_report(&path.through(&changed), rules, counter, proceed)?;
    let compactions = report.compactions.into_iter().map(|loss| {
        let none = |reason: String| OurLoss::None {
            entry_id: loss.entry_id.clone(),
            reason,
        };
        match ours.remove(&loss.entry_id) {
            Some(Ok(ledger_tokens)) => OurLoss::Kept {
                ledger_tokens,
                loss,
            },
            Some(Err(reason)) => none(reason),
            None => none("its entry cannot be read".to_owned()),
        }
    });
    Some(OurReport {
        compactions: compactions.collect(),
        totals: report.totals,
    })
}

/// Returns the compaction that `after` ends with, made again by the extractive summarizer in as many tokens as its own
/// summary takes; `path` leads to the entry before it.
fn again(
    after: &SessionPath<'_>,
    path: &SessionPath<'_>,
    own: &Compaction,
    rules: ContextRules,
) -> Result<AppliedCompaction, String> {
    let counter = Profile::Own.counter();
    let most = counter.text(&own.summary);
    if most < LEAST_PROSE {
        return Err(format!(
            "its own summary takes {most} tokens, and ours takes at least {LEAST_PROSE}"
        ));
    }
    let after = build_context(after, rules);
    let kept = after.entries.iter().map(|projected| projected.index);
    let kept: BTreeSet<EntryIndex> = kept.collect();
    let context = build_context(path, rules);
    let start = usize::from(context.compaction().is_some());
    let later = context.entries.iter().enumerate().skip(start);
    let mut later = later.filter(|(_, projected)| kept.contains(&projected.index));
    let first_kept = later
        .next()
        .map_or(context.entries.len(), |(place, _)| place);
    let with = |budget: &Budget| {
        let trigger = Trigger::Manual { focus: None };
        let plan = plan_at(path, &context, first_kept, &trigger, &budget.options());
        let plan = plan.map_err(|nothing| nothing.to_string())?;
        let applied = plan.apply(&plan.answer_extractive());
        applied.map_err(|error| error.to_string())
    };
    // The prose and the lists come first, to see what they leave to the ledger.
    let mut budget = Budget {
        prose: most.scaled(4, 10).max(LEAST_PROSE),
        ledger: TokenCount::ZERO,
        files: usize::MAX,
        verify: VerifyMode::Off,
    };
    let mut files = 64;
    loop {
        let plain = with(&budget)?;
        let taken = counter.text(&plain.summary);
        if taken <= most {
            budget.ledger = most.saturating_sub(taken);
            break;
        }
        if files == 0 {
            return Err(format!(
                "its own summary takes {most} tokens, and ours takes at least {taken}"
            ));
        }
        budget.prose = LEAST_PROSE.max(budget.prose.scaled(3, 4));
        files /= 2;
        budget.files = files;
    }
    budget.verify = VerifyMode::Repair;
    let mut fits = None;
    for _ in 0..TRIES {
        let applied = with(&budget)?;
        let taken = counter.text(&applied.summary);
        if taken > most {
            if fits.is_some() {
                break;
            }
            budget.ledger = budget.ledger.saturating_sub(taken.saturating_sub(most));
            continue;
        }
        // What the ledger holds leaves the prose, and that makes room for more of it.
        let room = most.saturating_sub(taken);
        fits = Some(applied);
        if room <= most.scaled(1, 20) {
            break;
        }
        budget.ledger += room;
    }
    if let Some(applied) = fits {
        return Ok(applied);
    }
    // What the prose gains by a smaller ledger may be as much: far less of it leaves room in any case.
    for _ in 0..TRIES {
        budget.ledger = budget.ledger.scaled(3, 4);
        let applied = with(&budget)?;
        if counter.text(&applied.summary) <= most {
            return Ok(applied);
        }
    }
    budget.ledger = TokenCount::ZERO;
    with(&budget)
}

/// How many tokens the parts of a summary may take.
struct Budget {
    prose: TokenCount,
    ledger: TokenCount,
    files: usize,
    verify: VerifyMode,
}

impl Budget {
    fn options(&self) -> PlanOptions {
        let mut options = PlanOptions::for_window(WINDOW);
        let compaction = &mut options.settings.compaction;
        compaction.strategy = Strategy::Extractive.into();
        compaction.extractive_max_tokens = self.prose + self.ledger;
        compaction.ledger.max_tokens = Some(self.ledger);
        compaction.pins.max_tokens = Some(self.ledger);
        compaction.file_list_limit = self.files;
        compaction.verify.mode = self.verify;
        options
    }
}
