//! The check of a projection before it is sent: calls and results are paired, roles are in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::calls::{CallEvent, each_pair};
use crate::diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Severity};
use crate::entry::EntryId;
use crate::llm::{LlmMessage, acknowledgement, missing_result_text, orphan_result_text};
use crate::message::{AssistantMessage, Block, Content, StopReason, ToolResultMessage};

/// Which orders of roles the receiver accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoleOrder {
    /// Any order: the receiver merges neighbours itself.
    #[default]
    Any,
    /// No two neighbours of one role, system and developer messages aside: neighbouring user messages are merged.
    Alternating,
}

/// Returns `messages` with every call followed by its result, and what had to be done for that.
///
/// Results are moved to their call ([`match_calls`](crate::match_calls)). A call
/// without a result gets one that says so. A result without a call is told as user
/// text, so that nothing disappears. Calls of an answer that failed or was aborted count like others.
pub fn pair_calls(
    messages: Vec<LlmMessage>,
    order: RoleOrder,
) -> (Vec<LlmMessage>, Vec<Diagnostic>) {
    pair_calls_of(messages, order, &[])
}

/// The same; `entries` are those that the messages come from.
pub(crate) fn pair_calls_of(
    messages: Vec<LlmMessage>,
    order: RoleOrder,
    entries: &[&EntryId],
) -> (Vec<LlmMessage>, Vec<Diagnostic>) {
    let mut diagnostics = Diagnostics::default();
    let (mut results, mut early) = (BTreeMap::new(), BTreeSet::new());
    each_pair(messages.iter().map(CallEvent::from), |call, _, result| {
        results.insert(call, result);
        if result < call.0 {
            early.insert(result);
        }
    });
    let mut messages: Vec<Option<LlmMessage>> = messages.into_iter().map(Some).collect();
    let mut paired = Vec::with_capacity(messages.len());
    for place in 0..messages.len() {
        if early.contains(&place) {
            continue;
        }
        // A result that is not there any more stands at its call.
        let Some(message) = messages[place].take() else {
            continue;
        };
        let mut warn = |text: String| {
            let kind = DiagnosticKind::UnpairedToolCall;
            let mut warning = Diagnostic::new(Severity::Warning, kind, text);
            warning.entry_id = entries.get(place).copied().cloned();
            diagnostics.push(warning);
        };
        match message {
            LlmMessage::Assistant(mut answer) => {
                let calls = drop_repeated_calls(&mut answer.content, &mut warn);
                let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
                if answer.content.is_empty() && failed {
                    continue; // an empty failed attempt says nothing
                }
                paired.push(LlmMessage::Assistant(answer));
                for (number, id, name) in calls {
                    let result = results.get(&(place, number));
                    let result = result.and_then(|at| messages[*at].take());
                    let missing = || missing_result(id, name, &mut warn);
                    paired.push(result.unwrap_or_else(missing));
                }
            }
            LlmMessage::ToolResult(result) => {
                paired.push(told_result(result, &mut warn));
            }
            other => paired.push(other),
        }
    }
    fold_acknowledgement(&mut paired);
    if order == RoleOrder::Alternating {
        paired = merge_neighbours(paired);
    }
    (paired, diagnostics.into_vec())
}

/// Returns what is wrong with the pairs and roles of `messages`: nothing, for what [`pair_calls`] returned.
pub fn check_pairs(messages: &[LlmMessage], order: RoleOrder) -> Vec<Diagnostic> {
    let mut diagnostics = Diagnostics::default();
    let mut open = OpenCalls::default();
    let unpaired =
        |text: String| Diagnostic::new(Severity::Error, DiagnosticKind::UnpairedToolCall, text);
    let unanswered = |id: &str| unpaired(format!("call {id} has no result"));
    let mut previous: Option<&LlmMessage> = None;
    for message in messages {
        if let LlmMessage::ToolResult(result) = message {
            let id = &result.tool_call_id;
            if !open.close(id) {
                diagnostics.push(unpaired(format!("result {id} answers no open call")));
            }
        } else {
            diagnostics.extend(open.take().map(unanswered));
        }
        if let LlmMessage::Assistant(answer) = message {
            answer
                .content
                .tool_calls()
                .for_each(|call| open.add(&call.id));
        }
        let repeats = previous.is_some_and(|previous| previous.role() == message.role());
        let alternates = matches!(message, LlmMessage::User(_) | LlmMessage::Assistant(_));
        if order == RoleOrder::Alternating && repeats && alternates {
            let text = format!("two {} messages in a row", message.role());
            let kind = DiagnosticKind::RoleOrder;
            diagnostics.push(Diagnostic::new(Severity::Error, kind, text));
        }
        previous = Some(message);
    }
    diagnostics.extend(open.take().map(unanswered));
    diagnostics.into_vec()
}

/// The calls of an answer that have no result yet.
#[derive(Default)]
struct OpenCalls<'a> {
    calls: Vec<Option<&'a str>>,
    places: BTreeMap<&'a str, VecDeque<usize>>,
}

impl<'a> OpenCalls<'a> {
    fn add(&mut self, id: &'a str) {
        self.places
            .entry(id)
            .or_default()
            .push_back(self.calls.len());
        self.calls.push(Some(id));
    }

    /// Closes the first call of an id; returns whether there is one.
    fn close(&mut self, id: &str) -> bool {
        let place = self.places.get_mut(id).and_then(VecDeque::pop_front);
        if let Some(place) = place {
            self.calls[place] = None;
        }
        place.is_some()
    }

    /// Returns the calls that are left, in their order, and forgets them.
    fn take(&mut self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.places.clear();
        std::mem::take(&mut self.calls).into_iter().flatten()
    }
}

/// Takes calls that repeat an id within one answer out of it. Returns numbers, ids and names of the calls that remain.
fn drop_repeated_calls(
    content: &mut Content,
    warn: &mut impl FnMut(String),
) -> Vec<(usize, String, String)> {
    let mut calls = Vec::new();
    let mut numbers = 0..;
    let mut known = BTreeSet::new();
    if let Content::Blocks(blocks) = content {
        blocks.retain(|block| {
            let Block::ToolCall(call) = block else {
                return true;
            };
            let number = numbers.next().unwrap_or_default();
            let fresh = known.insert(call.id.clone());
            if fresh {
                calls.push((number, call.id.clone(), call.name.clone()));
            } else {
                warn(format!(
                    "call {} stands twice in one answer; the first counts",
                    call.id
                ));
            }
            fresh
        });
    }
    calls
}

fn missing_result(id: String, name: String, warn: &mut impl FnMut(String)) -> LlmMessage {
    warn(format!(
        "call {id} ({name}) has no result; a placeholder is sent"
    ));
    LlmMessage::ToolResult(ToolResultMessage {
        tool_call_id: id,
        tool_name: name,
        content: Content::Blocks(vec![Block::text(missing_result_text())]),
        is_error: true,
        timestamp: None,
        nested_calls: None,
    })
}

fn told_result(result: ToolResultMessage, warn: &mut impl FnMut(String)) -> LlmMessage {
    warn(format!(
        "result {} ({}) answers no call of this context; it is told as text",
        result.tool_call_id, result.tool_name
    ));
    let lead = orphan_result_text(&result.tool_name);
    let mut blocks = vec![Block::text(lead)];
    match result.content {
        Content::Text(text) => blocks.push(Block::text(text)),
        Content::Blocks(own) => blocks.extend(own),
    }
    LlmMessage::User(Content::Blocks(blocks))
}

/// Puts the acknowledgement of a summary into the answer that follows it, where one does: two answers in a row are
/// what no receiver expects, and thinking must stand first in the answer that it belongs to.
fn fold_acknowledgement(messages: &mut Vec<LlmMessage>) {
    let own = acknowledgement();
    let folds = messages.windows(2).position(|pair| match pair {
        [LlmMessage::Assistant(before), LlmMessage::Assistant(_)] => *before == own,
        _ => false,
    });
    let Some(place) = folds else {
        return;
    };
    messages.remove(place);
    if let Some(LlmMessage::Assistant(answer)) = messages.get_mut(place) {
        *answer = acknowledging(answer, &own.content);
    }
}

/// Returns `answer` with the acknowledgement behind the thinking that it begins with.
fn acknowledging(answer: &AssistantMessage, said: &Content) -> AssistantMessage {
    let blocks = match &answer.content {
        Content::Text(text) => &[Block::text(text.clone())][..],
        Content::Blocks(blocks) => blocks,
    };
    let thought = |block: &&Block| matches!(block, Block::Thinking(_));
    let thinking = blocks.iter().take_while(thought).count();
    let (thinking, rest) = blocks.split_at(thinking);
    let content = [thinking, said.blocks(), rest].concat();
    AssistantMessage {
        content: Content::Blocks(content),
        ..answer.clone()
    }
}

/// Merges neighbouring messages of the user, and neighbouring ones of the model that make no call.
fn merge_neighbours(messages: Vec<LlmMessage>) -> Vec<LlmMessage> {
    let mut merged: Vec<LlmMessage> = Vec::with_capacity(messages.len());
    for message in messages {
        match (merged.last_mut(), message) {
            (Some(LlmMessage::User(before)), LlmMessage::User(content)) => {
                append_content(before, content);
            }
            (Some(LlmMessage::Assistant(before)), LlmMessage::Assistant(answer)) => {
                append_content(&mut before.content, answer.content);
                before.stop_reason = answer.stop_reason;
            }
            (_, message) => merged.push(message),
        }
    }
    merged
}

fn append_content(before: &mut Content, content: Content) {
    let blocks_of = |content: Content| match content {
        Content::Text(text) => vec![Block::text(text)],
        Content::Blocks(blocks) => blocks,
    };
    let mut blocks = blocks_of(std::mem::take(before));
    blocks.extend(blocks_of(content));
    *before = Content::Blocks(blocks);
}
