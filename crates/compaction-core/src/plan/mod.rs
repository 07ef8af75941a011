//! Plans a compaction: what is summarized, what stays, and the requests. Pure and deterministic.

mod answers;
mod apply;
mod asked;
mod bounds;
pub(crate) mod dispositions;
mod elide_to_fit;
mod estimate;
mod hash;
mod nothing;
mod options;
mod oversized;
mod prune_mark;
pub(crate) mod requests;
mod worth;

use session_model::{
    AssistantMessage, EntryId, SessionContext, SessionPath, SystemMessage, build_context,
    current_system,
};

use crate::cut::{CutPoint, cut_items, find_cut_point};
use crate::files::FileOps;
use crate::ledger::{LedgerBlock, LedgerReader};
use crate::measure::{Measure, measure_counted, message_counts};
use crate::outline::{Outline, OutlineBudget};
use crate::prose::prose_of;
use crate::request::RequestKind;
use crate::restore::{self, Restored};
use crate::rules::Profile;
use crate::settings::{DEFAULT_RESERVE, Strategy};
use crate::threshold::{Threshold, threshold};
use session_facts::SourceMessage;
use session_model::tokens::TokenCount;

pub use answers::{NO_PRIOR_HISTORY, SPLIT_TURN_HEADING};
pub use apply::{AppliedCompaction, ApplyError, add_detail};
pub use bounds::{KeepBudget, ledger_beside};
pub use dispositions::{ComesBack, Disposition, PlannedEntry};
pub use elide_to_fit::{Elision, ElisionPlan, plan_elision};
pub use hash::PlanHash;
pub(crate) use hash::prompt_hash;
pub use nothing::NothingToDo;
pub use options::{HookInput, PlanOptions, SummarizerLimits, Trigger};
pub(crate) use prune_mark::prune_mark;
pub use prune_mark::{PRUNE_ENTRY, notice};
pub use requests::{CannotShrink, MINIMUM_PART, WindowTooSmall};

pub(crate) use answers::merge_answers;
use bounds::{
    conversation_len, effective_keep, extractive_budget, ledger_budget, prefix_cap,
    refuse_compacted,
};
use dispositions::{
    dispositions, file_ops, list_limit, planned_entries, request_source, say_what_comes_back,
    source_messages,
};
use requests::{RequestSet, RequestSource, Shared, output_cap};

/// A compaction that has been thought through but not carried out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompactionPlan {
    /// The leaf that it was made for.
    pub leaf: EntryId,
    /// The profile whose rules it follows.
    pub profile: Profile,
    /// The strategy.
    pub strategy: Strategy,
    /// The trigger.
    pub trigger: &'static str,
    /// The size of the context.
    pub measure: Measure,
    /// The threshold of automatic compaction; `None` when the window is unknown.
    pub threshold: Option<Threshold>,
    /// The size that stays verbatim.
    pub keep: KeepBudget,
    /// The beginning of the kept range, as indices of `entries`.
    pub cut: CutPoint,
    /// The entries of the context and the disposition of each.
    pub entries: Vec<PlannedEntry>,
    /// The elisions in the kept range.
    pub elisions: Vec<Elision>,
    /// Files that were read and changed in what is summarized, and in what was summarized before.
    pub files: FileOps,
    /// The summary that is brought up to date, without its file tags.
    pub previous_summary: Option<String>,
    /// The system message in force.
    pub system: Option<SystemMessage>,
    /// The largest extractive summary with its lists of files, without pins.
    pub summary_cap: TokenCount,
    /// The ledger after the prose of a model.
    pub ledger: LedgerBlock,
    /// The restored content after the summary (strategy `restore`).
    pub restored: Option<Restored>,
    /// An answer at the end of the context whose calls wait for results, when nothing is kept verbatim: it is repeated
    /// after the summary, without its text.
    pub pending: Option<AssistantMessage>,
    /// The outline of what leaves the context.
    pub(crate) outline: Outline,
    /// The limit of all pins together.
    pin_budget: TokenCount,
    pub(crate) file_list_limit: Option<usize>,
    /// The window, zero when it is not known.
    window: TokenCount,
    short: RequestSource,
    asked: RequestSet,
}

/// The least that a snapshot is worth: fewer messages stay as they are.
const LEAST_MESSAGES: usize = 2;

/// Of the context, a compaction saves at least one part in so many.
pub(crate) const LEAST_SAVED: u64 = 50;

/// The most that a short summary answers.
const SHORT_CAP: TokenCount = TokenCount(512);

impl CompactionPlan {
    /// Returns the id of the first entry that stays verbatim; `None` where none does.
    pub fn first_kept(&self) -> Option<&EntryId> {
        let first = self.entries.get(self.cut.first_kept())?;
        Some(&first.entry_id)
    }

    /// Returns the id of the entry at which the split turn begins.
    pub fn turn_start(&self) -> Option<&EntryId> {
        match self.cut {
            CutPoint::Turn { .. } => None,
            CutPoint::SplitTurn { turn_start, .. } => Some(&self.entries[turn_start].entry_id),
        }
    }

    /// Returns the ids of the entries that share a disposition.
    pub fn ids(&self, disposition: Disposition) -> impl Iterator<Item = &EntryId> {
        let entries = self.entries.iter();
        entries
            .filter(move |entry| entry.disposition == disposition)
            .map(|entry| &entry.entry_id)
    }
}

/// Returns what a compaction of the context of `path` would do, or why there is nothing to do.
///
/// The compaction window begins where the kept range of the previous compaction begins, so that what was kept then is
/// summarized now and never lost.
///
/// # Errors
///
/// [`NothingToDo`] is the reason why there is no plan.
pub fn plan_compaction(
    path: &SessionPath<'_>,
    trigger: &Trigger,
    options: &PlanOptions,
) -> Result<CompactionPlan, NothingToDo> {
    let context = build_context(path, options.profile.context_rules());
    plan_for_context(path, &context, trigger, options)
}

/// Does the same for a context that has been rebuilt already (by the rules of the options' profile).
///
/// # Errors
///
/// [`NothingToDo`] is the reason why there is no plan.
pub fn plan_for_context(
    path: &SessionPath<'_>,
    context: &SessionContext,
    trigger: &Trigger,
    options: &PlanOptions,
) -> Result<CompactionPlan, NothingToDo> {
    let rules = options.profile.rules();
    let counter = options.profile.counter();
    let settings = &options.settings.compaction;
    let begin = |step| path.tree().meter().begin(step);
    begin("counting tokens");
    let counts = message_counts(context, counter);
    let measure = measure_counted(path, context, options.profile, &counts);
    let threshold = threshold(options.window, settings, &rules);
    let due = threshold
        .as_ref()
        .is_some_and(|threshold| threshold.is_exceeded_by(measure.tokens));
    refuse_compacted(path, context, &rules, due)?;

    let items = cut_items(context, &rules, &counts);
    let start = usize::from(context.compaction().is_some());
    let fixed = counts.iter().take(usize::from(context.system.is_some()));
    let fixed = fixed.copied().sum();
    let effective = effective_keep(
        settings.keep_recent_tokens,
        threshold.as_ref(),
        fixed,
        &measure,
        &rules,
    );
    let too_small = || match &threshold {
        Some(threshold) if due && rules.rescues => NothingToDo::NothingOld {
            tokens: measure.tokens,
            threshold: threshold.tokens,
        },
        _ => NothingToDo::TooSmall,
    };
    let strategy = settings.strategy.first();
    let restores = strategy == Strategy::Restore;
    if restores && conversation_len(context) < LEAST_MESSAGES {
        return Err(NothingToDo::TooSmall);
    }
    let mut oversized = match rules.rescues && !restores {
        true => oversized::oversized((path, context), &items, effective, options),
        false => Vec::new(),
    };
    let cut = if restores {
        CutPoint::Turn {
            first_kept: items.len(),
        }
    } else {
        let mut bounded = items.clone();
        for (place, elision) in &oversized {
            bounded[*place].tokens = bounded[*place].tokens.saturating_sub(elision.saved);
        }
        let find = |items| find_cut_point(items, start, effective, settings.cut_rule, &rules);
        let cut = find(&bounded)
            .or_else(|| find(&items))
            .ok_or_else(too_small)?;
        if cut.first_kept() >= items.len() {
            return Err(too_small());
        }
        cut
    };
    oversized.retain(|(place, _)| *place >= cut.first_kept());
    let dispositions = dispositions(context, &items, start, cut);
    let summarized = source_messages(context, &dispositions, Disposition::Summarized);
    let prefix = source_messages(context, &dispositions, Disposition::TurnPrefix);
    if summarized.is_empty() && prefix.is_empty() {
        return Err(too_small());
    }

    let carried = context
        .compaction()
        .map(|(_, compaction)| &compaction.summary);
    let previous_summary = carried.map(|summary| match options.profile {
        Profile::Own => prose_of(summary),
        Profile::Pi => summary.clone(),
    });
    let reserve = match (&threshold, options.profile) {
        (Some(threshold), _) => threshold.reserve,
        (None, _) => settings.reserve_tokens.unwrap_or(DEFAULT_RESERVE),
    };
    let cap = |tenths| output_cap(reserve.scaled(tenths, 10), &rules, &options.summarizer);
    let bounds = options.profile.bounds(settings);
    let mut sources = Vec::new();
    if !summarized.is_empty() {
        let kind = match restores {
            true => RequestKind::Snapshot,
            false => RequestKind::History,
        };
        let request_source = request_source(kind, summarized, &bounds, cap(8));
        sources.push(RequestSource {
            previous: previous_summary
                .clone()
                .filter(|summary| !summary.is_empty()),
            ..request_source
        });
    }
    if !prefix.is_empty() {
        sources.push(request_source(
            RequestKind::TurnPrefix,
            prefix,
            &bounds,
            cap(5),
        ));
    }
    let kept = source_messages(context, &dispositions, Disposition::Kept);
    let short_cap = cap(2).min(SHORT_CAP);
    let short = request_source(RequestKind::Short, kept, &bounds, short_cap);
    let shared = Shared {
        limits: options.summarizer,
        folds: rules.folds,
        escapes: bounds.escapes,
        hooks: options.hooks.clone(),
        focus: trigger.focus().map(str::to_owned),
        halvings: 0,
    };
    begin("dividing the conversation into requests");
    let asked = RequestSet::new(sources, shared, counter)?;

    let folder = path.tree().header().map_or("", |header| &header.cwd);
    let files = file_ops(context, &dispositions, &rules).seen_from(folder);
    let file_list_limit = (options.profile == Profile::Own).then(|| {
        list_limit(
            &files,
            settings.file_list_limit,
            threshold.as_ref(),
            counter,
        )
    });
    let gone = items.iter().zip(&dispositions);
    let gone = gone.filter(|(_, disposition)| {
        !matches!(disposition, Disposition::Kept | Disposition::NoMessage)
    });
    let gone = gone.map(|(item, _)| item.tokens);
    let cut_off = oversized.iter().map(|(_, elision)| elision.saved);
    let gone: TokenCount = gone.chain(cut_off).sum();
    let carried = carried.map(String::as_str);
    begin("writing the outline");
    let (outline, ledger_budget) = match options.profile {
        Profile::Own => (
            Outline::of(path, context, cut.first_kept()),
            ledger_budget(options, threshold.as_ref(), gone, carried),
        ),
        Profile::Pi => {
            let sources = asked.requests.iter().flat_map(|request| &request.source);
            let sources: Vec<SourceMessage> = sources.cloned().collect();
            (
                Outline::of_messages(&sources, &|_| true),
                OutlineBudget::default(),
            )
        }
    };
    let ledger = match options.profile {
        Profile::Own => outline.ledger(LedgerReader::Session, ledger_budget, counter),
        Profile::Pi => LedgerBlock::default(),
    };
    let summary_cap = extractive_budget(options, threshold.as_ref(), gone, carried);
    let pending = (restores && trigger.is_automatic())
        .then(|| restore::pending_calls(context))
        .flatten();
    let mut plan = CompactionPlan {
        leaf: EntryId::new(path.leaf_id().unwrap_or_default()),
        profile: options.profile,
        strategy,
        trigger: trigger.name(),
        keep: KeepBudget {
            asked: settings.keep_recent_tokens,
            effective,
            kept: items[cut.first_kept().min(items.len())..]
                .iter()
                .map(|item| item.tokens)
                .sum(),
        },
        cut,
        entries: planned_entries(context, &items, &dispositions, &ledger),
        elisions: Vec::new(),
        files,
        previous_summary,
        system: current_system(context.messages().map(|(_, message)| &**message)),
        summary_cap,
        ledger,
        restored: restores.then(Restored::default),
        pending: pending.as_ref().map(|(_, calls)| calls.clone()),
        outline,
        pin_budget: ledger_budget.pins,
        file_list_limit,
        measure,
        threshold,
        window: options.window,
        short,
        asked,
    };
    for (place, elision) in oversized {
        plan.shorten(place, elision);
    }
    if restores {
        // Half of what is left below the threshold, so that there is room to work.
        let most = plan.most_tokens_after();
        let limit = plan.threshold.as_ref().map(|threshold| threshold.tokens);
        let room = limit.map(|limit| limit.saturating_sub(most).scaled(1, 2));
        let input = &options.restore;
        let restored = restore::restored(context, input, &settings.restore, room, counter);
        let pending = pending.as_ref().map(|(id, _)| id);
        say_what_comes_back(&mut plan.entries, &restored, pending);
        plan.restored = Some(restored);
    }
    if rules.rescues {
        elide_to_fit::rescue(&mut plan, path, context, (options, ledger_budget))?;
    }
    Ok(plan)
}
