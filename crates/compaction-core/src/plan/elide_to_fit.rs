//! The rescue of an oversized tail: eliding inside the kept range when it would exceed the threshold by itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use session_model::{
    AgentMessage, Block, Content, ContextEditDraft, EntryDraft, EntryId, SessionContext,
    SessionPath, Stamp, Timestamp, ToolCall, build_context,
    json::{Members, RawJson},
};

use crate::ledger::LedgerReader;
use crate::measure::measure;
use crate::outline::OutlineBudget;
use crate::pins::pinned_entries;
use crate::plan::oversized::cut_output;
use crate::plan::{
    CompactionPlan, LEAST_SAVED, NothingToDo, PlanHash, PlanOptions, notice, prune_mark,
};
use crate::shares::ContextShares;
use crate::skill_results::skill_results;
use crate::threshold::threshold;
use session_model::tokens::{TokenCount, TokenCounter};

/// An entry of the kept range whose content is replaced by a shorter one.
#[derive(Debug, Clone, PartialEq)]
pub struct Elision {
    /// The entry.
    pub entry_id: EntryId,
    /// Its tokens before.
    pub tokens: TokenCount,
    /// The saved tokens.
    pub saved: TokenCount,
    /// The content after the elision.
    pub replacement: Content,
}

/// The length of the beginning and of the end that an elided text keeps, in UTF-16 code units.
const EDGE: usize = 800;

/// Texts up to this size are not elided, in tokens.
const SMALL: TokenCount = TokenCount(600);

/// Makes room until the context after the plan is below the threshold, with the largest summary that is allowed and its
/// file tags counted in. When that is not enough, the plan is refused only if the window would not hold the context.
///
/// The ledger is reduced first, down to its pins; only then is something in the kept range elided. The ledger gets back
/// the tokens that remain below the threshold in the end.
pub(super) fn rescue(
    plan: &mut CompactionPlan,
    path: &SessionPath<'_>,
    context: &SessionContext,
    (options, asked): (&PlanOptions, OutlineBudget),
) -> Result<(), NothingToDo> {
    let counter = options.profile.counter();
    let Some(threshold) = plan.threshold.as_ref().map(|threshold| threshold.tokens) else {
        return Ok(());
    };
    if plan.most_tokens_after() <= threshold {
        return Ok(());
    }
    let ledger = |plan: &CompactionPlan, tokens| {
        let budget = OutlineBudget { tokens, ..asked };
        plan.outline.ledger(LedgerReader::Session, budget, counter)
    };
    plan.ledger = ledger(plan, TokenCount::ZERO);
    let mut pinned = pinned(path, options);
    // A text that is shortened to its share is not shortened again.
    pinned.extend(plan.elisions.iter().map(|it| it.entry_id.clone()));
    let excess = plan.most_tokens_after().saturating_sub(threshold);
    let kept = plan.cut.first_kept()..context.entries.len();
    for (place, elision) in elide(context, kept, &pinned, excess, counter) {
        plan.shorten(place, elision);
    }
    let after = plan.most_tokens_after();
    if after > options.window {
        return Err(NothingToDo::CannotFit {
            after,
            window: options.window,
            shares: ContextShares::of(context, counter).shrunk_to(after),
        });
    }
    let left = threshold.saturating_sub(after).min(asked.tokens);
    let alone = plan.ledger.clone();
    plan.ledger = ledger(plan, left);
    if plan.most_tokens_after() > threshold {
        plan.ledger = alone;
    }
    Ok(())
}

/// Returns the elisions of a context whose newest turn alone exceeds the threshold: nothing is old enough to be
/// summarized, so large content is shortened in place.
///
/// # Errors
///
/// [`NothingToDo`] is the reason why nothing is elided.
pub fn plan_elision(
    path: &SessionPath<'_>,
    options: &PlanOptions,
) -> Result<ElisionPlan, NothingToDo> {
    let context = build_context(path, options.profile.context_rules());
    let counter = options.profile.counter();
    let measure = measure(path, &context, options.profile);
    let rules = options.profile.rules();
    let threshold = threshold(options.window, &options.settings.compaction, &rules);
    let Some(threshold) = threshold.filter(|threshold| threshold.is_exceeded_by(measure.tokens))
    else {
        return Err(NothingToDo::TooSmall);
    };
    let excess = measure.tokens.saturating_sub(threshold.tokens);
    let pinned = pinned(path, options);
    let all = 0..context.entries.len();
    let elided = elide(&context, all, &pinned, excess, counter);
    let elisions: Vec<Elision> = elided.into_iter().map(|(_, elision)| elision).collect();
    let saved: TokenCount = elisions.iter().map(|elision| elision.saved).sum();
    let after = measure.tokens.saturating_sub(saved);
    let shares = || ContextShares::of(&context, counter);
    if after > options.window {
        return Err(NothingToDo::CannotFit {
            after,
            window: options.window,
            shares: shares().shrunk_to(after),
        });
    }
    if saved < measure.tokens.scaled(1, LEAST_SAVED) {
        return Err(NothingToDo::NothingLong {
            tokens: measure.tokens,
            shares: shares(),
        });
    }
    Ok(ElisionPlan {
        leaf: EntryId::new(path.leaf_id().unwrap_or_default()),
        elisions,
        saved,
        tokens_before: measure.tokens,
    })
}

/// Elisions without a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct ElisionPlan {
    /// The leaf that it was made for.
    pub leaf: EntryId,
    /// The elisions, oldest first.
    pub elisions: Vec<Elision>,
    /// Tokens saved.
    pub saved: TokenCount,
    /// Tokens of the context before, as decisions measure them.
    pub tokens_before: TokenCount,
}

impl ElisionPlan {
    /// Returns the entries that apply the plan: the edits, and a mark that says how to undo them.
    pub fn apply(&self) -> Vec<EntryDraft> {
        let edits = self.elisions.iter().map(Elision::draft);
        let hash = self.hash();
        let mark = prune_mark(&self.leaf, &hash, self.elisions.len(), self.saved);
        edits.chain([mark]).collect()
    }

    /// Returns the hash of what the plan decides.
    pub fn hash(&self) -> PlanHash {
        let lead = ["elision plan 1".to_owned(), self.leaf.to_string()];
        let edits = self.elisions.iter().map(Elision::text);
        let parts: Vec<String> = lead.into_iter().chain(edits).collect();
        PlanHash::of(parts)
    }
}

impl Elision {
    /// Returns the edit that carries it out.
    pub(crate) fn draft(&self) -> EntryDraft {
        EntryDraft::ContextEdit(ContextEditDraft {
            target: self.entry_id.clone(),
            replacement: Some(self.replacement.clone()),
        })
    }

    /// Returns a text that is equal for equal elisions, for hashes.
    pub(crate) fn text(&self) -> String {
        self.draft().stamp(&Stamp {
            id: EntryId::new("edit"),
            parent: None,
            timestamp: Timestamp::from_millis(0),
            part_of: None,
        })
    }
}

/// Returns what is pinned and has room in the budget for pins.
pub(super) fn pinned(path: &SessionPath<'_>, options: &PlanOptions) -> BTreeSet<EntryId> {
    let settings = &options.settings.compaction;
    let threshold = threshold(options.window, settings, &options.profile.rules());
    let budget = settings.pins.budget(options.window, threshold.as_ref());
    pinned_entries(path, budget, options.profile.counter())
}

/// Returns elisions among `range` that save at least `excess`, or all that there are, in the order of the context.
///
/// Oldest and largest first: everything before the newest group by size, then the newest group. The user's messages
/// come last, except skills that were read; the newest user message and pinned entries are never changed.
fn elide(
    context: &SessionContext,
    range: Range<usize>,
    pinned: &BTreeSet<EntryId>,
    excess: TokenCount,
    counter: &dyn TokenCounter,
) -> Vec<(usize, Elision)> {
    let mut saved = TokenCount::ZERO;
    let mut elisions: BTreeMap<usize, Elision> = BTreeMap::new();
    for (place, tokens) in candidates(context, range, pinned, counter) {
        if saved >= excess {
            break;
        }
        let projected = &context.entries[place];
        let [message] = projected.messages.as_slice() else {
            continue;
        };
        let Some(replacement) = elided(message, &projected.entry.id, counter) else {
            continue;
        };
        let shorter = counter.message(&message.with_content(replacement.clone()));
        let gain = tokens.saturating_sub(shorter);
        if gain > TokenCount::ZERO {
            saved += gain;
            let elision = Elision {
                entry_id: projected.entry.id.clone(),
                tokens,
                saved: gain,
                replacement,
            };
            elisions.insert(place, elision);
        }
    }
    elisions.into_iter().collect()
}

/// Returns the places that may be elided and their tokens, in the order in which they are.
fn candidates(
    context: &SessionContext,
    range: Range<usize>,
    pinned: &BTreeSet<EntryId>,
    counter: &dyn TokenCounter,
) -> Vec<(usize, TokenCount)> {
    let is = |place: usize, test: fn(&AgentMessage) -> bool| {
        let messages = context.entries[place].messages.iter();
        messages.clone().any(|message| test(message))
    };
    let is_user = |place| is(place, |message| matches!(message, AgentMessage::User(_)));
    let is_answer = |place| {
        is(place, |message| {
            matches!(message, AgentMessage::Assistant(_))
        })
    };
    let newest_user = range.clone().rev().find(|place| is_user(*place));
    let newest_group = range.clone().rev().find(|place| is_answer(*place));
    let sized = range.clone().map(|place| {
        let messages = context.entries[place].messages.iter();
        let tokens: TokenCount = messages.map(|message| counter.message(message)).sum();
        (place, tokens)
    });
    let mut places: Vec<(usize, TokenCount)> = sized
        .filter(|(place, tokens)| Some(*place) != newest_user && *tokens > SMALL)
        .filter(|(place, _)| !pinned.contains(&context.entries[*place].entry.id))
        .collect();
    let skills = skill_results(context);
    let is_skill = |place: usize| skills.contains(&context.entries[place].entry.id);
    places.sort_by_key(|(place, tokens)| {
        let in_newest_group = *place >= newest_group.unwrap_or(range.end);
        let last = (is_skill(*place), is_user(*place));
        (last, in_newest_group, Reverse(*tokens), *place)
    });
    places
}

/// Returns the shorter content of a message, or `None` when an edit cannot reach it.
fn elided(message: &AgentMessage, id: &EntryId, counter: &dyn TokenCounter) -> Option<Content> {
    let shortened = |text: &str, counter| shortened(text, id, counter);
    match message {
        AgentMessage::BashExecution(run) => Some(Content::Text(shortened(&run.output, counter))),
        AgentMessage::User(_) | AgentMessage::Custom(_) | AgentMessage::ToolResult(_) => {
            Some(match message.content()? {
                Content::Text(text) => Content::Text(shortened(text, counter)),
                Content::Blocks(blocks) => {
                    let blocks = blocks.iter().map(|block| match block {
                        Block::Text(block) if counter.text(&block.text) > SMALL => {
                            Block::text(shortened(&block.text, counter))
                        }
                        Block::Image(block) => {
                            Block::text(format!("[image {} left out]", block.mime_type))
                        }
                        other => other.clone(),
                    });
                    Content::Blocks(blocks.collect())
                }
            })
        }
        AgentMessage::Assistant(answer) => {
            let blocks = answer.content.blocks();
            if blocks
                .iter()
                .any(|block| matches!(block, Block::Other { .. }))
            {
                return None; // a block of an unknown kind cannot be serialized again
            }
            let mut shorter: Vec<Block> = blocks
                .iter()
                .filter_map(|block| match block {
                    // Signed thinking is never shortened: it is kept or removed as a whole.
                    Block::Thinking(block) if counter.text(&block.thinking) > SMALL => None,
                    Block::Text(block) if counter.text(&block.text) > SMALL => {
                        Some(Block::text(shortened(&block.text, counter)))
                    }
                    Block::ToolCall(call) => Some(Block::ToolCall(short_call(call, id, counter))),
                    other => Some(other.clone()),
                })
                .collect();
            // Providers refuse an answer without any content.
            if shorter.is_empty() && !blocks.is_empty() {
                shorter.push(Block::text(notice(counter.message(message))));
            }
            Some(Content::Blocks(shorter))
        }
        AgentMessage::System(_)
        | AgentMessage::Developer(_)
        | AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_)
        | AgentMessage::Other { .. } => None,
    }
}

/// Returns the call with every long text among its arguments shortened; the other arguments keep their JSON text. A
/// signature covers the arguments, so it is removed when they change.
fn short_call(call: &ToolCall, id: &EntryId, counter: &dyn TokenCounter) -> ToolCall {
    let Some(arguments) = &call.arguments else {
        return call.clone();
    };
    let Some(members) = Members::parse(arguments.get()) else {
        return call.clone();
    };
    let mut changed = false;
    let members = members.0.iter().map(|(key, value)| {
        let text = serde_json::from_str::<String>(value.get()).ok();
        let long = text.filter(|text| counter.text(text) > SMALL);
        let value = match long {
            Some(text) => {
                changed = true;
                serde_json::Value::from(shortened(&text, id, counter)).to_string()
            }
            None => value.get().to_owned(),
        };
        format!("{}:{value}", serde_json::Value::from(key.as_ref()))
    });
    let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    match RawJson::parse(&text) {
        Ok(arguments) if changed => ToolCall {
            arguments: Some(arguments),
            signature: None,
            ..call.clone()
        },
        _ => call.clone(),
    }
}

/// Returns a text with its middle replaced by a notice, if it is long.
fn shortened(text: &str, id: &EntryId, counter: &dyn TokenCounter) -> String {
    match counter.text(text) <= SMALL {
        true => text.to_owned(),
        false => cut_output(text, id, EDGE, counter),
    }
}

#[cfg(test)]
mod tests;
