//! The stream of a Chat Completions answer.

use serde_json::Value;
use session_model::json::{RawJson, member};
use session_model::{Block, StopReason, ToolCall, Usage};

use crate::answer::{Answer, Event};
use crate::wire::chat::metadata::{Metadata, add_of_call, add_of_message};
use crate::wire::parts::{arguments_of, count, dedupe_call_ids, settled, text};
use crate::wire::{Decode, WireError};

/// The data that ends a stream.
const DONE: &str = "[DONE]";

/// The error for a stream that ends with nothing else.
const NO_REASON: &str = "the answer ended with [DONE] and no finish_reason; it may be cut off";

/// Puts an answer together. Reads what servers really send, not only what the reference shows.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    id: Option<String>,
    model: Option<String>,
    usage: Usage,
    finish: Option<String>,
    refused: bool,
    pieces: Vec<Piece>,
    calls: Vec<Call>,
    metadata: Metadata,
    done: bool,
}

/// A piece of the answer, in the order in which pieces began.
#[derive(Debug)]
enum Piece {
    Text(String),
    Thinking(String),
    /// The place of a call among the calls.
    Call(usize),
}

#[derive(Debug, Default)]
struct Call {
    /// The server's number for it, which need not be unique.
    number: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    metadata: Metadata,
}

impl Call {
    /// Returns true for a call whose arguments are a whole object.
    fn is_complete(&self) -> bool {
        let object = self.arguments.trim_start().starts_with('{');
        !self.name.is_empty() && object && RawJson::parse(&self.arguments).is_ok()
    }

    /// Adds a further piece.
    fn extend(&mut self, piece: Self) {
        for (known, new) in [(&mut self.id, piece.id), (&mut self.name, piece.name)] {
            if known.is_empty() {
                *known = new;
            }
        }
        self.arguments.push_str(&piece.arguments);
    }
}

impl Decoder {
    /// Returns a decoder for one answer.
    pub fn new() -> Self {
        Self {
            // The usage is not known until the server reports it.
            usage: Usage {
                incomplete: true,
                ..Usage::default()
            },
            ..Self::default()
        }
    }

    fn chunk(&mut self, chunk: &Value) -> Result<Vec<Event>, WireError> {
        if let Some(id) = text(&chunk["id"]) {
            self.id.get_or_insert_with(|| id.to_owned());
        }
        if let Some(model) = text(&chunk["model"]) {
            self.model.get_or_insert_with(|| model.to_owned());
        }
        let choice = &chunk["choices"][0];
        for usage in [&choice["usage"], &chunk["x_groq"]["usage"], &chunk["usage"]] {
            self.bill(usage);
        }
        if choice.is_null() {
            return Ok(Vec::new());
        }
        let mut events = Vec::new();
        // A server that does not stream sends one chunk with the whole message.
        let delta = match &choice["delta"] {
            Value::Null => &choice["message"],
            delta => delta,
        };
        let thinking = ["reasoning_content", "reasoning", "thinking"];
        let mut thinking = thinking.iter().filter_map(|name| text(&delta[*name]));
        if let Some(piece) = thinking.next() {
            self.think(piece, &mut events);
        }
        add_of_message(&mut self.metadata, delta);
        self.content(&delta["content"], &mut events);
        if let Some(piece) = text(&delta["refusal"]) {
            self.refused = true;
            self.say(piece, &mut events);
        }
        if let Some(calls) = delta["tool_calls"].as_array() {
            for call in calls {
                self.call(call, &call["function"], &mut events);
            }
        }
        if delta["function_call"].is_object() {
            self.call(&Value::Null, &delta["function_call"], &mut events);
        }
        if let Some(finish) = text(&choice["finish_reason"]) {
            if finish == "error" {
                return Err(WireError::Service(choice.to_string()));
            }
            self.finish = Some(finish.to_owned());
        }
        Ok(events)
    }

    fn content(&mut self, content: &Value, events: &mut Vec<Event>) {
        if let Some(piece) = text(content) {
            self.say(piece, events);
        }
        for part in content.as_array().into_iter().flatten() {
            match &part["thinking"] {
                Value::Null => {
                    if let Some(piece) = text(&part["text"]).or_else(|| text(part)) {
                        self.say(piece, events);
                    }
                }
                Value::Array(thoughts) => {
                    for piece in thoughts.iter().filter_map(|part| text(&part["text"])) {
                        self.think(piece, events);
                    }
                }
                thinking => {
                    if let Some(piece) = text(thinking) {
                        self.think(piece, events);
                    }
                }
            }
        }
    }

    fn say(&mut self, piece: &str, events: &mut Vec<Event>) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push_str(piece),
            _ => self.pieces.push(Piece::Text(piece.to_owned())),
        }
        events.push(Event::Text(piece.to_owned()));
    }

    fn think(&mut self, piece: &str, events: &mut Vec<Event>) {
        match self.pieces.last_mut() {
            Some(Piece::Thinking(text)) => text.push_str(piece),
            _ => self.pieces.push(Piece::Thinking(piece.to_owned())),
        }
        events.push(Event::Thinking(piece.to_owned()));
    }

    fn call(&mut self, entry: &Value, function: &Value, events: &mut Vec<Event>) {
        let arguments = match &function["arguments"] {
            Value::Null => String::new(),
            Value::String(piece) => piece.clone(),
            whole => whole.to_string(),
        };
        let delta = Call {
            number: count(&entry["index"]),
            id: text(&entry["id"]).unwrap_or_default().to_owned(),
            name: text(&function["name"]).unwrap_or_default().to_owned(),
            arguments: arguments.clone(),
            metadata: Metadata::new(),
        };
        let index = self.find_call(&delta).unwrap_or(self.calls.len());
        if index == self.calls.len() {
            self.pieces.push(Piece::Call(index));
            self.calls.push(delta);
        } else {
            self.calls[index].extend(delta);
        }
        let call = &mut self.calls[index];
        add_of_call(&mut call.metadata, entry);
        events.push(Event::ToolCall {
            index,
            name: call.name.clone(),
            arguments,
        });
    }

    /// Returns which call a delta continues, or `None` when it begins one. Some servers number every call 0,
    /// some do not number them: there a name with another id begins a call, and so does a name without an id once the
    /// call before it is complete.
    fn find_call(&self, delta: &Call) -> Option<usize> {
        let (id, name) = (delta.id.as_str(), delta.name.as_str());
        if let Some(number) = delta.number {
            let numbered = |call: &Call| call.number == Some(number);
            let place = self.calls.iter().rposition(numbered)?;
            let known = &self.calls[place];
            let begins = match id.is_empty() || known.id.is_empty() {
                true => known.is_complete() && !delta.arguments.trim().is_empty(),
                false => id != known.id,
            };
            return (name.is_empty() || !begins).then_some(place);
        }
        if !id.is_empty()
            && let Some(place) = self.calls.iter().rposition(|call| call.id == id)
        {
            return Some(place);
        }
        let last = self.calls.len().checked_sub(1)?;
        name.is_empty().then_some(last)
    }

    fn bill(&mut self, usage: &Value) {
        let Some(prompt) = count(&usage["prompt_tokens"]) else {
            return;
        };
        let details = &usage["prompt_tokens_details"];
        let cached = count(&details["cached_tokens"]);
        // DeepSeek's name, and Kimi's.
        let cached = cached.or_else(|| count(&usage["prompt_cache_hit_tokens"]));
        let cached = cached.or_else(|| count(&usage["cached_tokens"]));
        let cache_read = cached.unwrap_or_default().min(prompt);
        let cache_write = count(&details["cache_write_tokens"]).unwrap_or_default();
        let cache_write = cache_write.min(prompt - cache_read);
        let total = count(&usage["total_tokens"]).unwrap_or_default();
        // Gemini leaves the thinking out of the completion, not out of the total.
        let output = count(&usage["completion_tokens"]).unwrap_or_default();
        let output = output.max(total.saturating_sub(prompt));
        self.usage = Usage {
            input: prompt - cache_read - cache_write,
            output,
            cache_read,
            cache_write,
            total_tokens: total,
            incomplete: false,
        };
    }

    fn answer(&mut self, finish: &str) -> Answer {
        let mut calls = std::mem::take(&mut self.calls);
        let block = |piece| match piece {
            Piece::Text(text) => Some(Block::text(text)),
            Piece::Thinking(thinking) => Some(Block::thinking(thinking, None)),
            Piece::Call(index) => {
                let call = std::mem::take(&mut calls[index]);
                let empty = call.name.is_empty() && call.arguments.is_empty();
                (!empty).then(|| {
                    Block::ToolCall(ToolCall {
                        id: call.id,
                        name: call.name,
                        arguments: Some(arguments_of(&call.arguments)),
                        signature: signature(call.metadata),
                    })
                })
            }
        };
        let pieces = std::mem::take(&mut self.pieces);
        // The metadata of the message itself is kept in a block without readable content.
        let own = signature(std::mem::take(&mut self.metadata)).map(Block::redacted);
        let pieces = pieces.into_iter().filter_map(block);
        let mut answer = Answer {
            content: own.into_iter().chain(pieces).collect(),
            usage: self.usage,
            model: self.model.take(),
            id: self.id.take(),
            ..Answer::default()
        };
        dedupe_call_ids(&mut answer);
        let has_calls = answer.tool_calls().next().is_some();
        answer.stop_reason = match finish {
            "stop" if self.refused => StopReason::Other("refusal".to_owned()),
            "stop" => settled(StopReason::Stop, has_calls),
            "length" | "max_tokens" | "model_length" => StopReason::Length,
            "tool_calls" | "function_call" => settled(StopReason::ToolUse, has_calls),
            other => StopReason::Other(other.to_owned()),
        };
        answer
    }
}

/// Returns metadata as the text that sessions keep of it.
fn signature(metadata: Metadata) -> Option<String> {
    (!metadata.is_empty()).then(|| Value::Object(metadata).to_string())
}

impl Decode for Decoder {
    fn data(&mut self, data: &str) -> Result<Vec<Event>, WireError> {
        if self.done || data.trim().is_empty() {
            return Ok(Vec::new());
        }
        if data.trim() == DONE {
            self.done = true;
            // Without a reason the answer may have been cut off, and the rest would be missing unnoticed.
            let Some(finish) = self.finish.take() else {
                let complete = self.calls.iter().all(Call::is_complete);
                return Err(match complete && !self.pieces.is_empty() {
                    true => WireError::NoReason(Box::new(self.answer(NO_REASON))),
                    false => WireError::Malformed(NO_REASON.to_owned()),
                });
            };
            return Ok(vec![Event::Done(self.answer(&finish))]);
        }
        let raw = RawJson::parse(data).map_err(|error| WireError::Malformed(error.to_string()))?;
        if let Some(error) = member(data, "error").filter(|error| *error != "null") {
            return Err(WireError::Service(error.to_owned()));
        }
        let chunk = raw.to_value();
        if ["object", "type"]
            .iter()
            .any(|name| chunk[*name] == "error")
        {
            return Err(WireError::Service(data.to_owned()));
        }
        self.chunk(&chunk)
    }

    fn end(&mut self) -> Result<Option<Event>, WireError> {
        if self.done {
            return Ok(None);
        }
        let finish = self.finish.take().ok_or(WireError::EndedEarly)?;
        self.done = true;
        Ok(Some(Event::Done(self.answer(&finish))))
    }
}
