//! Pruning: old tool output leaves the context, by edits that can be undone.

use std::collections::BTreeSet;

use session_model::{
    AgentMessage, Block, CallEvent, Content, ContextEditDraft, EntryDraft, EntryId, SessionContext,
    SessionPath, answered_calls, build_context, json,
};

use crate::measure::measure;
use crate::pins::pinned_entries;
use crate::plan::{PlanHash, PlanOptions, notice, prune_mark};
use crate::rules::Profile;
use crate::settings::PruneSettings;
use crate::skill_results::skill_results;
use crate::threshold::threshold;
use session_facts::{FileAction, file_call};
use session_model::tokens::{TokenCount, TokenCounter};

/// The lifetime of a prompt prefix in a provider's cache, in milliseconds.
pub const CACHE_LIFETIME_MILLIS: i64 = 5 * 60 * 1000;

/// Says if the provider still has the context in its cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptCache {
    /// It has: everything after the first pruned entry is billed again once.
    Warm,
    /// It has not, or that is unknown: pruning costs nothing.
    Cold,
}

impl PromptCache {
    /// Returns the state of a cache last used `age_millis` ago.
    pub const fn of_age(age_millis: i64) -> Self {
        if 0 <= age_millis && age_millis < CACHE_LIFETIME_MILLIS {
            Self::Warm
        } else {
            Self::Cold
        }
    }
}

/// The reason why a tool result is pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PruneReason {
    /// It is older than the protected output.
    Old,
    /// A newer full read of the same file holds what it held, or something newer.
    Superseded,
}

/// A tool result that is pruned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunedResult {
    /// The entry.
    pub entry_id: EntryId,
    /// Its tokens.
    pub tokens: TokenCount,
    /// The saved tokens, with the notice subtracted.
    pub saved: TokenCount,
    /// The reason.
    pub reason: PruneReason,
}

/// A pruning that has been thought through but not carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunePlan {
    /// The leaf that it was made for.
    pub leaf: EntryId,
    /// The pruned results, oldest first.
    pub pruned: Vec<PrunedResult>,
    /// Tokens saved, the notices taken into account.
    pub saved: TokenCount,
    /// Tokens of the context before, as decisions measure them.
    pub tokens_before: TokenCount,
}

/// The reason why nothing is pruned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NothingToPrune {
    /// Too little would be saved.
    #[error(
        "pruning would save {saved} tokens, less than {minimum} (compaction.prune.minimumSavings, at most an eighth of the threshold)"
    )]
    TooLittle {
        /// The tokens that would be saved.
        saved: TokenCount,
        /// The least that must be.
        minimum: TokenCount,
    },
    /// It would cost more than it saves while the provider has the context in its cache.
    #[error("pruning would save {saved} tokens a request but bill {rewritten} cached tokens anew")]
    CacheCosts {
        /// The tokens that would be saved with every request.
        saved: TokenCount,
        /// The tokens that would be billed again once.
        rewritten: TokenCount,
    },
}

/// The number of requests over which pruning must pay for the lost cache.
const REQUESTS_TO_PAY: u64 = 10;

/// Returns which tool results of the context of `path` would be pruned, or why none.
///
/// Only results in the context are considered, so nothing before the compaction boundary is changed. While the cache is
/// warm, pruning must pay for itself: reading from the cache costs a tenth of the price, writing five quarters, so over
/// ten requests the saved tokens must exceed those that are billed again. A context above the threshold loses its cache
/// anyway, so then pruning is always allowed.
///
/// # Errors
///
/// [`NothingToPrune`] is the reason why nothing is pruned.
pub fn plan_prune(
    path: &SessionPath<'_>,
    options: &PlanOptions,
    cache: PromptCache,
) -> Result<PrunePlan, NothingToPrune> {
    let context = build_context(path, options.profile.context_rules());
    plan_prune_for_context(path, &context, options, cache)
}

/// Does the same for a context that has been rebuilt already (by the rules of the options' profile).
///
/// # Errors
///
/// [`NothingToPrune`] is the reason why nothing is pruned.
pub fn plan_prune_for_context(
    path: &SessionPath<'_>,
    context: &SessionContext,
    options: &PlanOptions,
    cache: PromptCache,
) -> Result<PrunePlan, NothingToPrune> {
    let counter = options.profile.counter();
    let settings = &options.settings.compaction;
    let threshold = threshold(options.window, settings, &options.profile.rules());
    let budget = settings.pins.budget(options.window, threshold.as_ref());
    let prune = match &threshold {
        Some(threshold) if options.profile == Profile::Own => settings.prune.within(threshold),
        _ => settings.prune.clone(),
    };
    let mut stays = skill_results(context);
    stays.extend(pinned_entries(path, budget, counter));
    if options.profile == Profile::Own {
        stays.extend(unanswered(context));
    }
    let results = results(context, &stays, counter);
    let mut pruned = superseded(&results, &prune);
    pruned.extend(old(&results, &prune, &pruned));
    pruned.sort_unstable();

    let plan_of = |place: &usize, reason| {
        let tokens = results[*place].tokens;
        PrunedResult {
            entry_id: results[*place].entry_id.clone(),
            tokens,
            saved: tokens.saturating_sub(counter.text(&notice(tokens))),
            reason,
        }
    };
    let pruned_results: Vec<_> = pruned
        .iter()
        .map(|(place, reason)| plan_of(place, *reason))
        .collect();
    let saved: TokenCount = pruned_results.iter().map(|result| result.saved).sum();
    if pruned_results.is_empty() || saved < prune.minimum_savings {
        return Err(NothingToPrune::TooLittle {
            saved,
            minimum: prune.minimum_savings,
        });
    }
    let measure = measure(path, context, options.profile);
    let due = threshold.is_some_and(|threshold| threshold.is_exceeded_by(measure.tokens));
    if cache == PromptCache::Warm && !due {
        let first = &results[pruned[0].0];
        let following = context
            .messages()
            .skip_while(|(id, _)| **id != first.entry_id);
        let following: TokenCount = following.map(|(_, message)| counter.message(message)).sum();
        let rewritten = following.saturating_sub(saved);
        if saved.scaled(REQUESTS_TO_PAY, 10) < rewritten.scaled(23, 20) {
            return Err(NothingToPrune::CacheCosts { saved, rewritten });
        }
    }
    Ok(PrunePlan {
        leaf: EntryId::new(path.leaf_id().unwrap_or_default()),
        pruned: pruned_results,
        saved,
        tokens_before: measure.tokens,
    })
}

impl PrunePlan {
    /// Returns the entries that apply the plan: the edits, and a mark that describes them and says how to undo them.
    pub fn apply(&self) -> Vec<EntryDraft> {
        let edits = self.pruned.iter().map(|result| {
            EntryDraft::ContextEdit(ContextEditDraft {
                target: result.entry_id.clone(),
                replacement: Some(Content::Blocks(vec![Block::text(notice(result.tokens))])),
            })
        });
        let mark = prune_mark(&self.leaf, &self.hash(), self.pruned.len(), self.saved);
        edits.chain([mark]).collect()
    }

    /// Returns the hash of what the plan decides.
    pub fn hash(&self) -> PlanHash {
        let pruned = self.pruned.iter();
        let pruned = pruned.map(|result| format!("{} {:?}", result.entry_id, result.reason));
        let parts: Vec<String> = ["prune plan 1".to_owned(), self.leaf.to_string()]
            .into_iter()
            .chain(pruned)
            .collect();
        PlanHash::of(parts)
    }
}

/// A tool result of the context.
struct ContextResult<'a> {
    entry_id: EntryId,
    tool: &'a str,
    tokens: TokenCount,
    pruned_before: bool,
    /// It is a skill's or pinned, and stays.
    stays: bool,
    /// The file that its call read with success, and whether all of it.
    read: Option<(String, bool)>,
}

/// Names of arguments that make a read one of a part.
const PART_ARGUMENTS: [&str; 5] = ["offset", "limit", "start_line", "end_line", "view_range"];

fn results<'a>(
    context: &'a SessionContext,
    stays: &BTreeSet<EntryId>,
    counter: &dyn TokenCounter,
) -> Vec<ContextResult<'a>> {
    let messages: Vec<_> = context.messages().collect();
    let said = messages
        .iter()
        .map(|(_, message)| CallEvent::from(&***message));
    let calls = answered_calls(said);
    let read_by = |place: usize| {
        let call = calls.get(&place)?;
        let (action, path) = file_call(call)?;
        let arguments = call.arguments.as_ref();
        let part = arguments.is_some_and(|raw| {
            let mut keys = PART_ARGUMENTS.iter();
            keys.any(|key| json::member(raw.get(), key).is_some())
        });
        (action == FileAction::Read).then_some((path, !part))
    };
    let results = messages.iter().enumerate();
    let results = results.filter_map(|(place, (id, message))| match &***message {
        AgentMessage::ToolResult(result) => {
            let text = result.content.joined_text("");
            Some(ContextResult {
                entry_id: (*id).clone(),
                tool: &result.tool_name,
                tokens: counter.message(message),
                pruned_before: text.starts_with("[Output truncated - "),
                stays: stays.contains(*id),
                read: read_by(place).filter(|_| !result.is_error),
            })
        }
        _ => None,
    });
    results.collect()
}

/// Returns the results that the model has not answered yet.
fn unanswered(context: &SessionContext) -> Vec<EntryId> {
    let mut messages: Vec<_> = context.messages().collect();
    let is_answer = |message: &AgentMessage| matches!(message, AgentMessage::Assistant(_));
    let newest = messages.iter().rposition(|(_, message)| is_answer(message));
    let behind = messages.split_off(newest.unwrap_or(messages.len()));
    behind.into_iter().map(|(id, _)| id.clone()).collect()
}

/// Returns results older than the protected output, newest first.
fn old(
    results: &[ContextResult<'_>],
    settings: &PruneSettings,
    taken: &[(usize, PruneReason)],
) -> Vec<(usize, PruneReason)> {
    let taken: BTreeSet<usize> = taken.iter().map(|(place, _)| *place).collect();
    let mut seen = TokenCount::ZERO;
    let mut old = Vec::new();
    for (place, result) in results.iter().enumerate().rev() {
        let within = seen + result.tokens <= settings.protect_tokens;
        seen += result.tokens;
        let protected = settings
            .protected_tools
            .iter()
            .any(|tool| tool == result.tool);
        let small = result.tokens < settings.minimum_tokens;
        let protected = protected || result.stays;
        if !(within || protected || small || result.pruned_before || taken.contains(&place)) {
            old.push((place, PruneReason::Old));
        }
    }
    old
}

/// Returns results of reads of a file that was read again in full later.
fn superseded(
    results: &[ContextResult<'_>],
    settings: &PruneSettings,
) -> Vec<(usize, PruneReason)> {
    if !settings.supersede_reads {
        return Vec::new();
    }
    let mut read_in_full: BTreeSet<&str> = BTreeSet::new();
    let mut superseded = Vec::new();
    for (place, result) in results.iter().enumerate().rev() {
        let Some((path, whole)) = &result.read else {
            continue;
        };
        let small = result.tokens < settings.minimum_tokens;
        if read_in_full.contains(path.as_str()) && !small && !result.pruned_before && !result.stays
        {
            superseded.push((place, PruneReason::Superseded));
        }
        if *whole && !result.pruned_before {
            read_in_full.insert(path);
        }
    }
    superseded
}
