//! The conversation of a branch, step by step: what the model was told, and where compactions stand.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use session_model::{
    AgentMessage, AssistantMessage, Block, CallEvent, Content, ContextRules, EntryBody, EntryId,
    EntryIndex, EntryKind, Leaf, LlmMessage, ModelRef, SessionPath, SessionTree, Timestamp,
    ToolResultMessage, Wording, build_context, convert_message, match_calls,
};

use super::ExportReport;

/// A step of the conversation.
pub(super) struct Step {
    pub entry: EntryId,
    pub at: Timestamp,
    pub kind: StepKind,
}

pub(super) enum StepKind {
    /// A message with the role of the user; `is_own` tells the user's words from what a program put there.
    User { content: Content, is_own: bool },
    /// An answer, with the results of its calls in their order; `None` where a call was interrupted.
    Answer {
        answer: AssistantMessage,
        results: Vec<Option<Rc<ToolResultMessage>>>,
    },
    /// A compaction with what the model is told of it, and the first entry that it kept.
    Compaction {
        summary: String,
        first_kept: Option<EntryId>,
    },
}

/// A branch of a session.
pub(super) struct Branch<'a> {
    pub path: SessionPath<'a>,
    pub model: ModelRef,
    /// What context edits left of messages.
    edited: BTreeMap<EntryIndex, Vec<AgentMessage>>,
    /// Entries that the context has.
    in_context: Vec<EntryIndex>,
}

impl<'a> Branch<'a> {
    /// Returns the branch that ends at `leaf`, and counts what is lost of the session.
    pub fn of(tree: &'a SessionTree, leaf: Leaf, report: &mut ExportReport) -> Self {
        let path = tree.path(leaf);
        let context = build_context(&path, ContextRules::Own);
        let mut edited = BTreeMap::new();
        for projected in &context.entries {
            let is_changed = projected.original_messages() != projected.messages;
            if is_changed && !matches!(projected.entry.body, EntryBody::Compaction(_)) {
                report.lose("content that was taken out of the context");
                let messages = projected.messages.iter();
                edited.insert(
                    projected.index,
                    messages.map(|message| (**message).clone()).collect(),
                );
            }
        }
        for _ in path.entries().len()..tree.len() {
            report.lose("entry of another branch");
        }
        let unknown = || ModelRef {
            provider: "unknown".to_owned(),
            model_id: "unknown".to_owned(),
        };
        Self {
            model: context.model.clone().unwrap_or_else(unknown),
            in_context: context.entries.iter().map(|entry| entry.index).collect(),
            path,
            edited,
        }
    }

    /// Returns the steps of all entries of the path.
    pub fn steps(&self, report: &mut ExportReport) -> Vec<Step> {
        self.steps_of(self.path.entries(), report)
    }

    /// Returns where the newest compaction stands on the path.
    pub fn newest_compaction(&self) -> Option<usize> {
        self.path
            .newest(EntryKind::Compaction)
            .map(|(place, _)| place)
    }

    /// Returns the steps of what the context has from the place of its compaction back, the compaction first.
    pub fn compacted_steps(&self, compaction: usize) -> Vec<Step> {
        let known = self.path.entries().iter().take(compaction + 1);
        let known: BTreeSet<EntryIndex> = known.copied().collect();
        // An older compaction among what was kept says nothing.
        let newest = self.path.entries()[compaction];
        let says = |index: &EntryIndex| {
            *index == newest || self.path.tree().kind(*index) != EntryKind::Compaction
        };
        let kept = self.in_context.iter();
        let kept = kept.filter(|index| known.contains(index) && says(index));
        let kept: Vec<EntryIndex> = kept.copied().collect();
        // They were counted where they stand.
        let mut ignored = ExportReport::new(super::Target::Codex, String::new());
        self.steps_of(&kept, &mut ignored)
    }

    /// Returns the steps of entries, each result with its call.
    pub fn steps_of(&self, entries: &[EntryIndex], report: &mut ExportReport) -> Vec<Step> {
        let mut told: Vec<Told> = Vec::new();
        let mut clock = Timestamp::from_millis(0);
        for index in entries {
            let Ok(entry) = self.path.tree().entry(*index) else {
                continue;
            };
            // Steps are in the order of time, whatever clocks said.
            clock = clock.max(entry.timestamp.unwrap_or(clock));
            let original = entry.messages();
            let messages: Vec<AgentMessage> = match self.edited.get(index) {
                Some(edited) => edited.clone(),
                None => original.iter().map(|message| (**message).clone()).collect(),
            };
            if original.is_empty() {
                report.lose(&format!("entry of type {}", entry.body.kind().name()));
            }
            let first_kept = match &entry.body {
                EntryBody::Compaction(compaction) => Some(&compaction.first_kept),
                _ => None,
            };
            told.extend(messages.into_iter().filter_map(|message| {
                let is_own = matches!(message, AgentMessage::User(_));
                let is_summary = matches!(message, AgentMessage::CompactionSummary(_));
                let first_kept = first_kept.filter(|kept| is_summary && **kept != entry.id);
                Some(Told {
                    entry: entry.id.clone(),
                    at: clock,
                    is_own,
                    is_summary,
                    first_kept: first_kept.cloned(),
                    message: convert_message(&message, Wording::Own)?,
                })
            }));
        }
        steps_of(told, report)
    }
}

/// A message as the model is told it, and where it comes from.
struct Told {
    entry: EntryId,
    at: Timestamp,
    is_own: bool,
    is_summary: bool,
    first_kept: Option<EntryId>,
    message: LlmMessage,
}

fn steps_of(told: Vec<Told>, report: &mut ExportReport) -> Vec<Step> {
    let results: BTreeMap<(usize, String), usize> = {
        let pairs = match_calls(told.iter().map(|told| CallEvent::from(&told.message)));
        let pairs = pairs.into_iter();
        pairs
            .map(|((answer, id), result)| ((answer, id.to_owned()), result))
            .collect()
    };
    let taken: BTreeSet<usize> = results.values().copied().collect();
    let (answering, told): (Vec<_>, Vec<_>) = told
        .into_iter()
        .enumerate()
        .partition(|(place, _)| taken.contains(place));
    let answering = answering.into_iter().map(|(place, said)| {
        let result = match said.message {
            LlmMessage::ToolResult(result) => Some(Rc::new(result)),
            _ => None,
        };
        (place, result)
    });
    let answering: BTreeMap<usize, Option<Rc<ToolResultMessage>>> = answering.collect();
    let mut steps = Vec::new();
    for (place, said) in told {
        let kind = match said.message {
            LlmMessage::System(_) | LlmMessage::Developer(_) => {
                report.lose("system message");
                continue;
            }
            LlmMessage::User(content) if said.is_summary => StepKind::Compaction {
                summary: content.joined_text("\n"),
                first_kept: said.first_kept,
            },
            LlmMessage::User(content) => StepKind::User {
                content,
                is_own: said.is_own,
            },
            LlmMessage::Assistant(answer) => {
                let calls = answer.content.tool_calls();
                let found = calls.map(|call| results.get(&(place, call.id.clone())));
                let found = found.map(|at| answering.get(at?)?.clone());
                StepKind::Answer {
                    results: found.collect(),
                    answer,
                }
            }
            LlmMessage::ToolResult(result) => {
                report.lose("result without its call, written as text");
                StepKind::User {
                    content: result.content,
                    is_own: false,
                }
            }
        };
        steps.push(Step {
            entry: said.entry,
            at: said.at,
            kind,
        });
    }
    steps
}

/// Returns the blocks of a content.
pub(super) fn blocks(content: &Content) -> Vec<Block> {
    match content {
        Content::Text(text) => vec![Block::text(text.clone())],
        Content::Blocks(blocks) => blocks.clone(),
    }
}
