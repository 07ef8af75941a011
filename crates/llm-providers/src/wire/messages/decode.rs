//! The stream of a Messages answer.

use serde_json::{Map, Value};
use session_model::json::{RawJson, member};
use session_model::{Block, StopReason, Usage};

use crate::answer::{Answer, Event};
use crate::wire::parts::{arguments_of, count, dedupe_call_ids, settled, text};
use crate::wire::{Decode, WireError};

/// Puts an answer together.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    id: Option<String>,
    model: Option<String>,
    usage: Usage,
    /// The usage of compaction itself; the service leaves it out of its totals.
    compaction_usage: Usage,
    stop_reason: Option<String>,
    /// The blocks by the service's number, in the order in which they began.
    pieces: Vec<(u64, Piece)>,
    calls: usize,
    done: bool,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Thinking {
        thinking: String,
        signature: String,
    },
    Redacted(String),
    Call {
        /// The index of the call in the answer.
        index: usize,
        id: String,
        name: String,
        /// The input at the beginning of the block: an empty object, or all of it on servers that do not stream it.
        input: Value,
        arguments: String,
    },
    /// A compaction block; every member of it is kept.
    Compaction(Map<String, Value>),
    /// A block of another type: a tool that the service runs itself, or one that came later than this.
    Unknown,
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

    fn begin(&mut self, message: &Value) {
        self.id = text(&message["id"]).map(str::to_owned);
        self.model = text(&message["model"]).map(str::to_owned);
        self.bill(&message["usage"]);
    }

    fn start(&mut self, number: u64, block: &Value) -> Vec<Event> {
        let member = |name: &str| text(&block[name]).unwrap_or_default().to_owned();
        let mut events = Vec::new();
        let piece = match block["type"].as_str().unwrap_or_default() {
            "text" => {
                let text = member("text");
                events.extend((!text.is_empty()).then(|| Event::Text(text.clone())));
                Piece::Text(text)
            }
            "thinking" => {
                let thinking = member("thinking");
                events.extend((!thinking.is_empty()).then(|| Event::Thinking(thinking.clone())));
                let signature = member("signature");
                Piece::Thinking {
                    thinking,
                    signature,
                }
            }
            "redacted_thinking" => Piece::Redacted(member("data")),
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                events.push(Event::ToolCall {
                    index,
                    name: member("name"),
                    arguments: String::new(),
                });
                Piece::Call {
                    index,
                    id: member("id"),
                    name: member("name"),
                    input: block["input"].clone(),
                    arguments: String::new(),
                }
            }
            "compaction" => {
                let summary = member("content");
                events.extend((!summary.is_empty()).then_some(Event::Text(summary)));
                Piece::Compaction(block.as_object().cloned().unwrap_or_default())
            }
            _ => Piece::Unknown,
        };
        self.pieces.push((number, piece));
        events
    }

    fn delta(&mut self, number: u64, delta: &Value) -> Option<Event> {
        let kind = delta["type"].as_str().unwrap_or_default();
        if !self.pieces.iter().any(|(known, _)| *known == number) {
            // Lean servers leave the beginning of a block out.
            let piece = match kind {
                "text_delta" => Piece::Text(String::new()),
                "thinking_delta" => Piece::Thinking {
                    thinking: String::new(),
                    signature: String::new(),
                },
                _ => return None,
            };
            self.pieces.push((number, piece));
        }
        let mut pieces = self.pieces.iter_mut().rev();
        let (_, piece) = pieces.find(|(known, _)| *known == number)?;
        match (kind, piece) {
            ("text_delta", Piece::Text(all)) => {
                let piece = text(&delta["text"])?;
                all.push_str(piece);
                Some(Event::Text(piece.to_owned()))
            }
            ("thinking_delta", Piece::Thinking { thinking, .. }) => {
                let piece = text(&delta["thinking"])?;
                thinking.push_str(piece);
                Some(Event::Thinking(piece.to_owned()))
            }
            ("signature_delta", Piece::Thinking { signature, .. }) => {
                signature.push_str(text(&delta["signature"])?);
                None
            }
            (
                "input_json_delta",
                Piece::Call {
                    index,
                    name,
                    arguments,
                    ..
                },
            ) => {
                let piece = text(&delta["partial_json"])?;
                arguments.push_str(piece);
                Some(Event::ToolCall {
                    index: *index,
                    name: name.clone(),
                    arguments: piece.to_owned(),
                })
            }
            ("compaction_delta", Piece::Compaction(block)) => compaction_delta(block, delta),
            _ => None,
        }
    }

    /// Takes counts, which grow: a later event repeats or raises those before it.
    fn bill(&mut self, usage: &Value) {
        self.usage.incomplete &= !usage.is_object();
        let raise = |field: &mut u64, name: &str| {
            *field = (*field).max(count(&usage[name]).unwrap_or_default());
        };
        raise(&mut self.usage.input, "input_tokens");
        raise(&mut self.usage.output, "output_tokens");
        raise(&mut self.usage.cache_read, "cache_read_input_tokens");
        raise(&mut self.usage.cache_write, "cache_creation_input_tokens");
        let Some(iterations) = usage["iterations"].as_array() else {
            return;
        };
        let mut spent = Usage::default();
        for step in iterations
            .iter()
            .filter(|step| step["type"] == "compaction")
        {
            let of = |name: &str| count(&step[name]).unwrap_or_default();
            spent += Usage {
                input: of("input_tokens"),
                output: of("output_tokens"),
                cache_read: of("cache_read_input_tokens"),
                cache_write: of("cache_creation_input_tokens"),
                ..Usage::default()
            };
        }
        self.compaction_usage = spent;
    }

    fn answer(&mut self) -> Answer {
        let mut usage = self.usage;
        usage += self.compaction_usage;
        let mut answer = Answer {
            id: self.id.take(),
            model: self.model.take(),
            usage,
            ..Answer::default()
        };
        for (_, piece) in std::mem::take(&mut self.pieces) {
            if let Piece::Compaction(block) = &piece {
                // Without a summary, the compaction failed.
                if block.get("content").and_then(text).is_none() {
                    continue;
                }
                answer.native.extend(RawJson::of(block).ok());
            }
            answer.content.extend(piece.finish());
        }
        dedupe_call_ids(&mut answer);
        let has_calls = answer.tool_calls().next().is_some();
        answer.stop_reason = stop_reason(self.stop_reason.take(), has_calls);
        answer
    }
}

impl Piece {
    /// Returns the finished block, or nothing for an empty or unknown one.
    fn finish(self) -> Option<Block> {
        let text_block = |text: String| (!text.is_empty()).then(|| Block::text(text));
        match self {
            Self::Text(text) => text_block(text),
            Self::Compaction(block) => text_block(block["content"].as_str()?.to_owned()),
            Self::Thinking {
                thinking,
                signature,
            } => {
                let signature = (!signature.is_empty()).then_some(signature);
                let empty = thinking.is_empty() && signature.is_none();
                (!empty).then(|| Block::thinking(thinking, signature))
            }
            Self::Redacted(data) => (!data.is_empty()).then(|| Block::redacted(data)),
            Self::Call {
                id,
                name,
                input,
                arguments,
                ..
            } => {
                let arguments = match arguments.is_empty() {
                    true => input.to_string(),
                    false => arguments,
                };
                Some(Block::call(id, name, Some(arguments_of(&arguments))))
            }
            Self::Unknown => None,
        }
    }
}

/// Appends to the summary, and keeps the latest value of every other member.
fn compaction_delta(block: &mut Map<String, Value>, delta: &Value) -> Option<Event> {
    let members = delta.as_object()?.iter();
    for (name, value) in members.filter(|(name, _)| !matches!(name.as_str(), "type" | "content")) {
        block.insert(name.clone(), value.clone());
    }
    let piece = text(&delta["content"])?;
    let mut summary = match block.remove("content") {
        Some(Value::String(summary)) => summary,
        _ => String::new(),
    };
    summary.push_str(piece);
    block.insert("content".to_owned(), Value::String(summary));
    Some(Event::Text(piece.to_owned()))
}

fn stop_reason(said: Option<String>, has_calls: bool) -> StopReason {
    let said = said.unwrap_or_default();
    let reason = match said.as_str() {
        // After a compaction that the request wanted, the service stops.
        "end_turn" | "stop_sequence" | "compaction" => StopReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "tool_use" => StopReason::ToolUse,
        _ => StopReason::Other(said),
    };
    settled(reason, has_calls)
}

impl Decode for Decoder {
    fn data(&mut self, data: &str) -> Result<Vec<Event>, WireError> {
        if self.done || data.trim().is_empty() {
            return Ok(Vec::new());
        }
        let raw = RawJson::parse(data).map_err(|error| WireError::Malformed(error.to_string()))?;
        let event = raw.to_value();
        let kind = event["type"].as_str().unwrap_or_default();
        let number = count(&event["index"]).unwrap_or_default();
        match kind {
            "message_start" => self.begin(&event["message"]),
            "content_block_start" => return Ok(self.start(number, &event["content_block"])),
            "content_block_delta" => {
                return Ok(Vec::from_iter(self.delta(number, &event["delta"])));
            }
            "message_delta" => {
                if let Some(reason) = text(&event["delta"]["stop_reason"]) {
                    self.stop_reason = Some(reason.to_owned());
                }
                self.bill(&event["usage"]);
            }
            "message_stop" => {
                self.done = true;
                return Ok(vec![Event::Done(self.answer())]);
            }
            _ => {
                let error = member(data, "error").filter(|error| *error != "null");
                if kind == "error" || error.is_some() {
                    let said = error.unwrap_or(data);
                    return Err(WireError::Service(said.to_owned()));
                }
            }
        }
        Ok(Vec::new())
    }

    fn end(&mut self) -> Result<Option<Event>, WireError> {
        match self.done {
            true => Ok(None),
            false => Err(WireError::EndedEarly),
        }
    }
}
