//! Which result answers which call: the one rule that pairing, cutting, pruning and file tracking share.

use std::collections::BTreeMap;

use crate::llm::LlmMessage;
use crate::message::{AgentMessage, Content, ToolCall};

/// A message as the rule sees it.
#[derive(Debug, Clone, Copy)]
pub enum CallEvent<'a> {
    /// An answer of the model, which may make calls.
    Answer(&'a Content),
    /// The result of the call with this id.
    Result(&'a str),
    /// Anything else.
    Other,
}

impl<'a> From<&'a AgentMessage> for CallEvent<'a> {
    fn from(message: &'a AgentMessage) -> Self {
        match message {
            AgentMessage::Assistant(answer) => Self::Answer(&answer.content),
            AgentMessage::ToolResult(result) => Self::Result(&result.tool_call_id),
            _ => Self::Other,
        }
    }
}

impl<'a> From<&'a LlmMessage> for CallEvent<'a> {
    fn from(message: &'a LlmMessage) -> Self {
        match message {
            LlmMessage::Assistant(answer) => Self::Answer(&answer.content),
            LlmMessage::ToolResult(result) => Self::Result(&result.tool_call_id),
            LlmMessage::System(_) | LlmMessage::Developer(_) | LlmMessage::User(_) => Self::Other,
        }
    }
}

/// Returns, for calls by the place of their answer and their id, the place of the result of each.
///
/// Some models count their calls anew in each answer, so a result belongs to the
/// nearest call of its id before it that has none yet. Where no call of its id stands
/// before it, it belongs to the first one behind it that has no other. An id that stands twice in one
/// answer counts once.
pub fn match_calls<'a>(
    said: impl IntoIterator<Item = CallEvent<'a>>,
) -> BTreeMap<(usize, &'a str), usize> {
    let mut results = BTreeMap::new();
    each_pair(said, |(answer, _), call, result| {
        results.insert((answer, call.id.as_str()), result);
    });
    results
}

/// Returns, by the places of results, the call that each of them answers.
pub fn answered_calls<'a>(
    said: impl IntoIterator<Item = CallEvent<'a>>,
) -> BTreeMap<usize, &'a ToolCall> {
    let mut calls = BTreeMap::new();
    each_pair(said, |_, call, result| {
        calls.insert(result, call);
    });
    calls
}

/// Gives every call with a result: the place of its answer with its number among the calls of that, the call, and the
/// place of the result.
pub(crate) fn each_pair<'a>(
    said: impl IntoIterator<Item = CallEvent<'a>>,
    mut pair: impl FnMut((usize, usize), &'a ToolCall, usize),
) {
    struct Open<'a> {
        answer: usize,
        number: usize,
        call: &'a ToolCall,
    }
    let mut open: BTreeMap<&str, Vec<Open<'_>>> = BTreeMap::new();
    // Results before any call of their id, and the answer with the first one.
    let mut early: BTreeMap<&str, (usize, Option<usize>)> = BTreeMap::new();
    for (place, said) in said.into_iter().enumerate() {
        match said {
            CallEvent::Answer(content) => {
                for (number, call) in content.tool_calls().enumerate() {
                    let calls = open.entry(&call.id).or_default();
                    if let Some((_, first)) = early.get_mut(call.id.as_str()) {
                        first.get_or_insert(place);
                    }
                    if calls.last().is_none_or(|open| open.answer != place) {
                        calls.push(Open {
                            answer: place,
                            number,
                            call,
                        });
                    }
                }
            }
            CallEvent::Result(id) => match open.get_mut(id) {
                Some(open) => {
                    if let Some(open) = open.pop() {
                        pair((open.answer, open.number), open.call, place);
                    }
                }
                None => {
                    early.entry(id).or_insert((place, None));
                }
            },
            CallEvent::Other => {}
        }
    }
    for (id, (result, first)) in early {
        let open = open.get(id).and_then(|open| open.first());
        if let Some(open) = open.filter(|open| Some(open.answer) == first) {
            pair((open.answer, open.number), open.call, result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallEvent, answered_calls, match_calls};
    use crate::message::{Block, Content, ToolCall};

    #[test]
    fn a_result_belongs_to_the_nearest_call_before_it_or_else_to_the_first_behind() {
        let call = Content::Blocks(vec![Block::ToolCall(ToolCall {
            id: "call_0".to_owned(),
            name: "read".to_owned(),
            arguments: None,
            signature: None,
        })]);
        let said = [
            CallEvent::Answer(&call),
            CallEvent::Result("call_0"),
            CallEvent::Other,
            CallEvent::Answer(&call),
            CallEvent::Result("call_0"),
            CallEvent::Result("call_0"),
        ];
        let matched: Vec<_> = match_calls(said).into_iter().collect();
        assert_eq!(matched, [((0, "call_0"), 1), ((3, "call_0"), 4)]);
        let early = [CallEvent::Result("call_0"), CallEvent::Answer(&call)];
        let matched: Vec<_> = match_calls(early).into_iter().collect();
        assert_eq!(matched, [((1, "call_0"), 0)]);
        let late = early
            .into_iter()
            .chain([CallEvent::Result("call_0"), CallEvent::Answer(&call)]);
        let matched: Vec<_> = match_calls(late).into_iter().collect();
        assert_eq!(matched, [((1, "call_0"), 2)]);
        let answered = answered_calls(said).into_iter();
        let answered: Vec<_> = answered.map(|(result, call)| (result, &*call.id)).collect();
        assert_eq!(answered, [(1, "call_0"), (4, "call_0")]);
    }
}
