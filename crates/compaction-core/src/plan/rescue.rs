//! The rescue of an oversized tail: eliding inside the kept range when it would exceed the threshold by itself.

use session_model::{
    AgentMessage, Block, Content, ProjectedEntry, SessionContext, ToolCall,
    json::{self, RawJson},
};

use crate::plan::{CompactionPlan, Fate, NothingToDo};
use crate::tokens::{TokenCount, TokenCounter};

/// An entry of the kept range whose content is replaced by a shorter one.
#[derive(Debug, Clone, PartialEq)]
pub struct Elision {
    /// The entry.
    pub entry_id: session_model::EntryId,
    /// Its tokens before.
    pub tokens: TokenCount,
    /// How many of them are saved.
    pub saved: TokenCount,
    /// What stands there afterwards.
    pub replacement: Content,
}

/// What is expected of a summary whose size is not known yet, in tokens.
const EXPECTED_SUMMARY: TokenCount = TokenCount(2000);

/// What an elided text keeps of its beginning and of its end, in UTF-16 code units.
const EDGE: usize = 800;

/// Texts up to this size are not elided, in tokens.
const SMALL: TokenCount = TokenCount(600);

/// Elides in the kept range until the context after the plan is expected below the threshold.
///
/// Oldest and largest first: everything before the newest group by size, then the newest group.
/// The newest user message is never touched. When that is not enough, the plan is refused.
pub(super) fn rescue(
    plan: &mut CompactionPlan,
    context: &SessionContext,
    counter: &dyn TokenCounter,
) -> Result<(), NothingToDo> {
    let Some(threshold) = plan.threshold.as_ref().map(|threshold| threshold.tokens) else {
        return Ok(());
    };
    let expected = EXPECTED_SUMMARY.min(plan.summary_cap);
    let fixed = plan.system_tokens() + expected;
    let mut after = plan.keep.kept + fixed;
    if after <= threshold {
        return Ok(());
    }
    for place in candidates(plan, context) {
        if after <= threshold {
            break;
        }
        let projected = &context.entries[place];
        let Some(message) = projected.messages.first() else {
            continue;
        };
        let Some(replacement) = elided(message, counter) else {
            continue;
        };
        let shorter = counter.message(&message.with_content(replacement.clone()));
        let tokens = plan.entries[place].tokens;
        let saved = tokens.saturating_sub(shorter);
        if saved == TokenCount::ZERO {
            continue;
        }
        after = after.saturating_sub(saved);
        plan.entries[place].fate = Fate::Pruned;
        plan.entries[place].reason = "too large for what is kept";
        plan.elisions.push(Elision {
            entry_id: projected.entry.id.clone(),
            tokens,
            saved,
            replacement,
        });
    }
    if after > threshold {
        return Err(NothingToDo::CannotFit { after, threshold });
    }
    plan.elisions.sort_by_key(|elision| {
        let mut places = plan.entries.iter();
        places.position(|entry| entry.entry_id == elision.entry_id)
    });
    Ok(())
}

/// Returns the places that may be elided, in the order in which they are.
fn candidates(plan: &CompactionPlan, context: &SessionContext) -> Vec<usize> {
    let kept = plan.cut.first_kept()..context.entries.len();
    let is = |place: usize, test: fn(&AgentMessage) -> bool| {
        let messages: &ProjectedEntry = &context.entries[place];
        messages.messages.iter().any(|message| test(message))
    };
    let newest_user = kept
        .clone()
        .rev()
        .find(|place| is(*place, |message| matches!(message, AgentMessage::User(_))));
    let newest_group = kept
        .clone()
        .rev()
        .find(|place| is(*place, |message| matches!(message, AgentMessage::Assistant(_))))
        .unwrap_or(kept.end);
    let mut places: Vec<usize> = kept
        .filter(|place| Some(*place) != newest_user && plan.entries[*place].tokens > SMALL)
        .collect();
    places.sort_by_key(|place| {
        let in_newest_group = *place >= newest_group;
        // What the user said goes last.
        let is_user = is(*place, |message| matches!(message, AgentMessage::User(_)));
        let tokens = plan.entries[*place].tokens;
        (is_user, in_newest_group, std::cmp::Reverse(tokens), *place)
    });
    places
}

/// Returns the shorter content of a message, or `None` when an edit cannot reach it.
fn elided(message: &AgentMessage, counter: &dyn TokenCounter) -> Option<Content> {
    match message {
        AgentMessage::User(_) | AgentMessage::Custom(_) | AgentMessage::ToolResult(_) => {
            Some(match message.content()? {
                Content::Text(text) => Content::Text(shortened(text, counter)),
                Content::Blocks(blocks) => {
                    let blocks = blocks.iter().map(|block| match block {
                        Block::Text(block) => Block::text(shortened(&block.text, counter)),
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
            let blocks = answer.content.blocks().iter();
            let blocks = blocks.filter_map(|block| match block {
                // Signed thinking is never shortened: it stays or goes as a whole.
                Block::Thinking(block) if counter.text(&block.thinking) > SMALL => None,
                Block::Text(block) => Some(Block::text(shortened(&block.text, counter))),
                Block::ToolCall(call) => Some(Block::ToolCall(ToolCall {
                    arguments: call.arguments.as_ref().map(|raw| short_arguments(raw, counter)),
                    ..call.clone()
                })),
                other => Some(other.clone()),
            });
            Some(Content::Blocks(blocks.collect()))
        }
        AgentMessage::System(_)
        | AgentMessage::Developer(_)
        | AgentMessage::BashExecution(_)
        | AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_)
        | AgentMessage::Other { .. } => None,
    }
}

/// Returns the arguments with every long text in them shortened.
fn short_arguments(raw: &RawJson, counter: &dyn TokenCounter) -> RawJson {
    if counter.text(raw.get()) <= SMALL {
        return raw.clone();
    }
    fn shorten(value: &mut serde_json::Value, counter: &dyn TokenCounter) {
        match value {
            serde_json::Value::String(text) => *text = shortened(text, counter),
            serde_json::Value::Array(items) => {
                items.iter_mut().for_each(|item| shorten(item, counter));
            }
            serde_json::Value::Object(members) => {
                members.values_mut().for_each(|member| shorten(member, counter));
            }
            _ => {}
        }
    }
    let mut value = raw.to_value();
    shorten(&mut value, counter);
    RawJson::of(&value).unwrap_or_else(|_| raw.clone())
}

/// Returns a text with its middle replaced by the notice of pruning, if it is long.
fn shortened(text: &str, counter: &dyn TokenCounter) -> String {
    let tokens = counter.text(text);
    if tokens <= SMALL {
        return text.to_owned();
    }
    let head = json::utf16_prefix(text, EDGE);
    let tail_start = text.ceil_char_boundary(text.len().saturating_sub(EDGE));
    let tail = &text[tail_start.max(head.len())..];
    let left = counter.text(head) + counter.text(tail);
    let gone = tokens.saturating_sub(left);
    format!("{head}\n{}\n{tail}", crate::prune::notice(gone))
}
