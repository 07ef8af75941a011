//! The stream of a `streamGenerateContent` answer.

use serde_json::Value;
use session_model::json::{RawJson, member};
use session_model::{Block, StopReason, TextBlock, ToolCall, Usage};

use crate::answer::{Answer, Event};
use crate::wire::parts::{arguments_of, count, dedupe_call_ids, settled, text};
use crate::wire::{Decode, WireError};

/// Puts an answer together.
#[derive(Debug)]
pub(crate) struct Decoder {
    answer: Answer,
    /// True if the next piece belongs to the last block, a text: a signature ends it.
    open: bool,
    calls: usize,
    finish: Option<String>,
    done: bool,
}

impl Decoder {
    /// Returns a decoder for one answer.
    pub fn new() -> Self {
        let mut answer = Answer::default();
        // The usage is not known until the server reports it.
        answer.usage.incomplete = true;
        Self {
            answer,
            open: false,
            calls: 0,
            finish: None,
            done: false,
        }
    }

    fn chunk(&mut self, chunk: &Value) -> Vec<Event> {
        let (id, model) = (text(&chunk["responseId"]), text(&chunk["modelVersion"]));
        self.answer.id = id.map(str::to_owned).or(self.answer.id.take());
        self.answer.model = model.map(str::to_owned).or(self.answer.model.take());
        self.bill(&chunk["usageMetadata"]);
        let candidate = &chunk["candidates"][0];
        let parts = candidate["content"]["parts"].as_array();
        let events: Vec<Event> = parts
            .into_iter()
            .flatten()
            .filter_map(|part| self.part(part))
            .collect();
        let finish = text(&candidate["finishReason"]);
        let finish = finish.or_else(|| text(&chunk["promptFeedback"]["blockReason"]));
        self.finish = finish.map(str::to_owned).or(self.finish.take());
        events
    }

    fn part(&mut self, part: &Value) -> Option<Event> {
        let signature = text(&part["thoughtSignature"]).map(str::to_owned);
        let call = &part["functionCall"];
        if call.is_object() {
            return Some(self.call(call, signature));
        }
        let piece = part["text"].as_str().unwrap_or_default();
        if piece.is_empty() && signature.is_none() {
            return None;
        }
        let thought = part["thought"] == true;
        let last = self.answer.content.last_mut().filter(|_| self.open);
        self.open = signature.is_none();
        match (last, thought) {
            (Some(Block::Text(block)), false) => {
                block.text.push_str(piece);
                block.signature = signature;
            }
            (Some(Block::Thinking(block)), true) => {
                block.thinking.push_str(piece);
                block.signature = signature;
            }
            (_, false) => self.answer.content.push(Block::Text(TextBlock {
                text: piece.to_owned(),
                signature,
            })),
            (_, true) => self.answer.content.push(Block::thinking(piece, signature)),
        }
        let piece = (!piece.is_empty()).then(|| piece.to_owned())?;
        Some(match thought {
            true => Event::Thinking(piece),
            false => Event::Text(piece),
        })
    }

    fn call(&mut self, call: &Value, signature: Option<String>) -> Event {
        let member = |name: &str| text(&call[name]).unwrap_or_default().to_owned();
        let arguments = match &call["args"] {
            Value::Null => "{}".to_owned(),
            args => args.to_string(),
        };
        let index = self.calls;
        self.calls += 1;
        self.open = false;
        self.answer.content.push(Block::ToolCall(ToolCall {
            id: member("id"),
            name: member("name"),
            arguments: Some(arguments_of(&arguments)),
            signature,
        }));
        Event::ToolCall {
            index,
            name: member("name"),
            arguments,
        }
    }

    /// Takes counts; every chunk has those of all so far.
    fn bill(&mut self, usage: &Value) {
        let Some(prompt) = count(&usage["promptTokenCount"]) else {
            return;
        };
        let number = |name: &str| count(&usage[name]).unwrap_or_default();
        let cache_read = number("cachedContentTokenCount").min(prompt);
        let output = number("candidatesTokenCount").saturating_add(number("thoughtsTokenCount"));
        self.answer.usage = Usage {
            input: (prompt - cache_read).saturating_add(number("toolUsePromptTokenCount")),
            output,
            cache_read,
            cache_write: 0,
            total_tokens: number("totalTokenCount"),
            incomplete: false,
        };
    }
}

impl Decode for Decoder {
    fn data(&mut self, data: &str) -> Result<Vec<Event>, WireError> {
        if self.done || data.trim().is_empty() {
            return Ok(Vec::new());
        }
        let raw = RawJson::parse(data).map_err(|error| WireError::Malformed(error.to_string()))?;
        if let Some(error) = member(data, "error").filter(|error| *error != "null") {
            return Err(WireError::Service(error.to_owned()));
        }
        Ok(self.chunk(&raw.to_value()))
    }

    fn end(&mut self) -> Result<Option<Event>, WireError> {
        if self.done {
            return Ok(None);
        }
        // The stream has no closing event; its last chunk has the reason.
        let finish = self.finish.take().ok_or(WireError::EndedEarly)?;
        self.done = true;
        let mut answer = std::mem::take(&mut self.answer);
        dedupe_call_ids(&mut answer);
        let reason = match finish.as_str() {
            "STOP" => StopReason::Stop,
            "MAX_TOKENS" => StopReason::Length,
            _ => StopReason::Other(finish),
        };
        answer.stop_reason = settled(reason, self.calls > 0);
        Ok(Some(Event::Done(answer)))
    }
}
