//! The rescue of an oversized tail: eliding inside the kept range when it would exceed the threshold by itself.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use session_model::{
    AgentMessage, Block, Content, ContextEditDraft, EntryDraft, EntryId, SessionContext,
    SessionPath, Stamp, Timestamp, ToolCall, build_context,
    json::{Members, RawJson},
};

use crate::ledger::{LedgerBudget, PathFacts, Shares, pinned_entries};
use crate::measure::measure;
use crate::plan::bounds::LEDGER_SHARE;
use crate::plan::oversized::cut_output;
use crate::plan::{CompactionPlan, NothingToDo, PlanHash, PlanOptions, notice, prune_mark};
use crate::skill_results::skill_results;
use crate::threshold::threshold;
use session_facts::rules_in;
use session_model::tokens::{TokenCount, TokenCounter};

/// An entry of the kept range whose content is replaced by a shorter one.
#[derive(Debug, Clone, PartialEq)]
pub struct Elision {
    /// The entry.
    pub entry_id: EntryId,
    /// Its tokens before.
    pub tokens: TokenCount,
    /// How many of them are saved.
    pub saved: TokenCount,
    /// What stands there afterwards.
    pub replacement: Content,
}

/// What an elided text keeps of its beginning and of its end, in UTF-16 code units.
const EDGE: usize = 800;

/// Texts up to this size are not elided, in tokens.
const SMALL: TokenCount = TokenCount(600);

/// How often it is asked anew what the rules in what is shortened take, before the most that they may take counts.
const ROUNDS: usize = 8;

/// Makes room until the context after the plan is below the threshold, with the largest summary that is allowed and its
/// file tags counted in. When that is not enough, the plan is refused.
///
/// The ledger gives way first, down to pins and rules; only then is something in the kept range elided. What is elided is
/// out of context, so the ledger lists its rules, and where that takes room, more is elided. What is left below the
/// threshold in the end is the ledger's again.
pub(super) fn rescue(
    plan: &mut CompactionPlan,
    (path, read): (&SessionPath<'_>, &PathFacts),
    context: &SessionContext,
    (options, asked): (&PlanOptions, LedgerBudget),
) -> Result<(), NothingToDo> {
    let counter = options.profile.counter();
    let Some(threshold) = plan.threshold.as_ref().map(|threshold| threshold.tokens) else {
        return Ok(());
    };
    if plan.most_tokens_after() <= threshold {
        return Ok(());
    }
    let first_kept = plan.cut.first_kept();
    let mut pinned = pinned(path, options);
    // What is shortened to its share stays at that.
    let before: BTreeSet<EntryId> = plan.elisions.iter().map(|it| it.entry_id.clone()).collect();
    pinned.extend(before.iter().cloned());
    let setting = &options.settings.compaction.ledger;
    let most = setting.budget(options.window, plan.threshold.as_ref());
    let mut elided: Vec<(usize, Elision)> = Vec::new();
    let mut least = None;
    let mut rounds = 0;
    let (ledger, budget, saved) = loop {
        let ids = elided.iter().map(|(_, elision)| elision.entry_id.clone());
        let ids: BTreeSet<EntryId> = ids.chain(before.iter().cloned()).collect();
        let saved: TokenCount = elided.iter().map(|(_, elision)| elision.saved).sum();
        // What is shortened goes as well.
        let budget = LedgerBudget {
            ledger: most.min(asked.ledger + saved.scaled(1, LEDGER_SHARE)),
            ..asked
        };
        let ledger = read.ledger(context, first_kept, &ids);
        plan.ledger = ledger.fit_as(Shares::RulesAlone, budget, counter);
        least.get_or_insert(plan.ledger.tokens);
        let mut excess = plan.most_tokens_after().saturating_sub(threshold);
        if rounds >= ROUNDS && excess > saved {
            excess += most;
        }
        rounds += 1;
        let kept = first_kept..context.entries.len();
        let more = elide(context, kept, &pinned, excess, counter, Rules::Go);
        if more.len() <= elided.len() {
            break (ledger, budget, saved);
        }
        elided = more;
    };
    let after = plan.most_tokens_after().saturating_sub(saved);
    let rest = after.saturating_sub(plan.ledger.tokens);
    let room = threshold.saturating_sub(rest);
    // Nothing else can be elided: the ledger does with what is left, but not without the rules of what is summarized.
    if rest > threshold || room < plan.ledger.tokens.min(least.unwrap_or_default()) {
        return Err(NothingToDo::CannotFit { after, threshold });
    }
    let left = LedgerBudget {
        ledger: budget
            .ledger
            .min(room.saturating_sub(plan.ledger.pin_tokens)),
        ..budget
    };
    let filled = ledger.fit_as(Shares::RulesFirst, left, counter);
    let alone = std::mem::replace(&mut plan.ledger, filled);
    if plan.most_tokens_after().saturating_sub(saved) > threshold {
        plan.ledger = alone;
        let after = plan.most_tokens_after().saturating_sub(saved);
        if after > threshold {
            return Err(NothingToDo::CannotFit { after, threshold });
        }
    }
    // What was fitted to the threshold is not fitted anew.
    plan.beside = None;
    plan.facts = Some(ledger);
    for (place, elision) in elided {
        plan.shorten(place, elision);
    }
    Ok(())
}

/// Returns the elisions that a context needs whose newest turn alone exceeds the threshold: nothing
/// is old enough to be summarized, so what is large is shortened where it stands.
///
/// # Errors
///
/// [`NothingToDo`] says why nothing is elided.
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
    let elided = elide(&context, all, &pinned, excess, counter, Rules::Stay);
    let elisions: Vec<Elision> = elided.into_iter().map(|(_, elision)| elision).collect();
    let saved: TokenCount = elisions.iter().map(|elision| elision.saved).sum();
    let after = measure.tokens.saturating_sub(saved);
    if threshold.is_exceeded_by(after) {
        return Err(NothingToDo::CannotFit {
            after,
            threshold: threshold.tokens,
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
    /// What is shortened, oldest first.
    pub elisions: Vec<Elision>,
    /// Tokens saved.
    pub saved: TokenCount,
    /// Tokens of the context before, as decisions measure them.
    pub tokens_before: TokenCount,
}

impl ElisionPlan {
    /// Returns the entries that carry out the plan: the edits, and a mark that says how to undo them.
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
        PlanHash::of(parts.iter().map(String::as_str))
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
/// Oldest and largest first: everything before the newest group by size, then the newest group; what
/// the user said goes last but for skills that were read, and neither the newest user message nor what is pinned
/// is ever touched.
fn elide(
    context: &SessionContext,
    range: Range<usize>,
    pinned: &BTreeSet<EntryId>,
    excess: TokenCount,
    counter: &dyn TokenCounter,
    rules: Rules,
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
        let Some(mut replacement) = elided(message, &projected.entry.id, counter) else {
            continue;
        };
        if rules == Rules::Stay && matches!(**message, AgentMessage::User(_)) {
            replacement = with_rules(message, replacement);
        }
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

/// What becomes of the rules in the middle of what a user said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rules {
    /// A ledger lists them.
    Go,
    /// Nothing else lists them.
    Stay,
}

/// Returns what stands for a user's message, with the rules behind it that are not in it.
fn with_rules(message: &AgentMessage, replacement: Content) -> Content {
    let said = message.content().map(|content| content.joined_text("\n"));
    let left = replacement.joined_text("\n");
    let rules = rules_in(&said.unwrap_or_default()).into_iter();
    let missing: Vec<String> = rules.filter(|rule| !left.contains(rule)).collect();
    if missing.is_empty() {
        return replacement;
    }
    let rules = format!("[rules in what is left out]\n{}", missing.join("\n"));
    match replacement {
        Content::Text(text) => Content::Text(text + "\n" + &rules),
        Content::Blocks(mut blocks) => {
            blocks.push(Block::text(rules));
            Content::Blocks(blocks)
        }
    }
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
                    // Signed thinking is never shortened: it stays or goes as a whole.
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

/// Returns the call with every long text among its arguments shortened; the other arguments keep their
/// spelling. A signature covers the arguments, so it goes when they change.
fn short_call(call: &ToolCall, id: &EntryId, counter: &dyn TokenCounter) -> ToolCall {
    let Some(arguments) = &call.arguments else {
        return call.clone();
    };
    let Ok(members) = Members::parse(arguments.get()) else {
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
