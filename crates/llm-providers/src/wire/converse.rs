//! Converse of Amazon Bedrock, which all its models support: the blocks of Anthropic Messages by other names.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use session_model::json::RawJson;

use crate::answer::Event;
use crate::request::{Request, ToolChoice};
use crate::wire::parts::{max_output, text};
use crate::wire::{Decode, Target, WireError, messages};

/// Returns the JSON body of `request` for a streamed answer of `target`.
pub(crate) fn encode(request: &Request, target: &Target<'_>) -> RawJson {
    let plain = messages::encode(request, target).to_value();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let conversation = list(&plain["messages"])
        .into_iter()
        .map(|message| json!({"role": message["role"], "content": blocks(&message["content"])}));
    let mut body = Map::new();
    let system = blocks(&plain["system"]);
    if !system.is_empty() {
        body.insert("system".to_owned(), Value::from(system));
    }
    body.insert("messages".to_owned(), conversation.collect());
    if let Some(most) = max_output(request, target) {
        let config = json!({"maxTokens": most});
        body.insert("inferenceConfig".to_owned(), config);
    }
    let tools = list(&plain["tools"]).into_iter();
    let tools: Vec<Value> = match request.tools.is_empty() {
        true => called(&body["messages"])
            .map(|name| spec(&json!({"name": name})))
            .collect(),
        false => tools.map(|tool| spec(&tool)).collect(),
    };
    if !tools.is_empty() {
        let mut config = json!({"tools": tools});
        // The protocol cannot express that a tool must not be called.
        if request.tool_choice == ToolChoice::Required {
            config["toolChoice"] = json!({"any": {}});
        }
        body.insert("toolConfig".to_owned(), config);
    }
    RawJson::of(&body).unwrap_or_else(|_| unreachable!("the body's keys are texts"))
}

/// Returns the names of the called tools, each once: the service wants tools wherever there are calls.
fn called(messages: &Value) -> impl Iterator<Item = &str> {
    let messages = messages.as_array().into_iter().flatten();
    let blocks = messages.filter_map(|message| message["content"].as_array());
    let names = blocks
        .flatten()
        .filter_map(|block| block["toolUse"]["name"].as_str());
    names.collect::<BTreeSet<_>>().into_iter()
}

/// Returns a tool of Messages in the form of Converse. A description must not be empty.
fn spec(tool: &Value) -> Value {
    let schema = match &tool["input_schema"] {
        Value::Null => json!({"type": "object"}),
        schema => schema.clone(),
    };
    let mut spec = json!({"name": tool["name"], "inputSchema": {"json": schema}});
    if let Some(description) = text(&tool["description"]) {
        spec["description"] = json!(description);
    }
    json!({"toolSpec": spec})
}

/// Returns blocks of Messages in the form of Converse, in which a cache mark is a block after the marked one. No mark
/// follows the tools, and none has a lifetime: Nova accepts neither.
fn blocks(list: &Value) -> Vec<Value> {
    let list = list.as_array().into_iter().flatten();
    let pairs = list.filter_map(|block| {
        let mark = block.get("cache_control");
        let mark = mark.map(|_| json!({"cachePoint": {"type": "default"}}));
        Some([Some(self::block(block)?), mark])
    });
    pairs.flatten().flatten().collect()
}

/// Returns a block of Messages as Converse writes it.
fn block(block: &Value) -> Option<Value> {
    Some(match block["type"].as_str()? {
        "text" => json!({"text": block["text"]}),
        "image" => {
            let source = &block["source"];
            let kind = source["media_type"].as_str().unwrap_or_default();
            let format = kind.strip_prefix("image/").unwrap_or(kind);
            json!({"image": {"format": format, "source": {"bytes": source["data"]}}})
        }
        "thinking" => {
            let (text, signature) = (&block["thinking"], &block["signature"]);
            json!({"reasoningContent": {"reasoningText": {"text": text, "signature": signature}}})
        }
        "redacted_thinking" => json!({"reasoningContent": {"redactedContent": block["data"]}}),
        "tool_use" => {
            let (id, name, input) = (&block["id"], &block["name"], &block["input"]);
            json!({"toolUse": {"toolUseId": id, "name": name, "input": input}})
        }
        "tool_result" => {
            let content = blocks(&block["content"]);
            let status = match block["is_error"] == true {
                true => "error",
                false => "success",
            };
            json!({"toolResult": {
                "toolUseId": block["tool_use_id"], "content": content, "status": status,
            }})
        }
        _ => return None,
    })
}

/// Puts an answer together: each event becomes those of Messages.
pub(crate) struct Decoder {
    plain: messages::Decoder,
    has_reason: bool,
    done: bool,
}

impl Decoder {
    /// Returns a decoder for one answer.
    pub fn new() -> Self {
        Self {
            plain: messages::Decoder::new(),
            has_reason: false,
            done: false,
        }
    }

    fn plain(&mut self, event: &Value) -> Result<Vec<Event>, WireError> {
        self.plain.data(&event.to_string())
    }

    fn finish(&mut self) -> Result<Vec<Event>, WireError> {
        self.done = true;
        self.plain(&json!({"type": "message_stop"}))
    }
}

impl Decode for Decoder {
    fn data(&mut self, data: &str) -> Result<Vec<Event>, WireError> {
        if self.done {
            return Ok(Vec::new());
        }
        let event: Value =
            serde_json::from_str(data).map_err(|error| WireError::Malformed(error.to_string()))?;
        if event["type"] == "error" {
            return self.plain(&event);
        }
        let Some((kind, body)) = event.as_object().and_then(|event| event.iter().next()) else {
            return Ok(Vec::new());
        };
        let index = &body["contentBlockIndex"];
        match kind.as_str() {
            "messageStart" => self.plain(&json!({"type": "message_start", "message": {}})),
            "contentBlockStart" => {
                let call = &body["start"]["toolUse"];
                if !call.is_object() {
                    return Ok(Vec::new());
                }
                let (id, name) = (&call["toolUseId"], &call["name"]);
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                self.plain(&json!({
                    "type": "content_block_start", "index": index, "content_block": block,
                }))
            }
            "contentBlockDelta" => match delta(&body["delta"]) {
                Some(delta) => self.plain(&json!({
                    "type": "content_block_delta", "index": index, "delta": delta,
                })),
                None => Ok(Vec::new()),
            },
            "messageStop" => {
                self.has_reason = true;
                let delta = json!({"stop_reason": body["stopReason"]});
                self.plain(&json!({"type": "message_delta", "delta": delta}))
            }
            "metadata" => {
                let usage = &body["usage"];
                self.plain(&json!({"type": "message_delta", "delta": {}, "usage": {
                    "input_tokens": usage["inputTokens"],
                    "output_tokens": usage["outputTokens"],
                    "cache_read_input_tokens": usage["cacheReadInputTokens"],
                    "cache_creation_input_tokens": usage["cacheWriteInputTokens"],
                }}))?;
                match self.has_reason {
                    true => self.finish(),
                    false => Ok(Vec::new()),
                }
            }
            _ => Ok(Vec::new()),
        }
    }

    fn end(&mut self) -> Result<Option<Event>, WireError> {
        match (self.done, self.has_reason) {
            (true, _) => Ok(None),
            (false, true) => Ok(self.finish()?.pop()),
            (false, false) => Err(WireError::EndedEarly),
        }
    }
}

/// Returns a piece of a block as Messages writes it.
fn delta(delta: &Value) -> Option<Value> {
    let (thinking, call) = (&delta["reasoningContent"], &delta["toolUse"]["input"]);
    if delta["text"].is_string() {
        Some(json!({"type": "text_delta", "text": delta["text"]}))
    } else if call.is_string() {
        Some(json!({"type": "input_json_delta", "partial_json": call}))
    } else if thinking["text"].is_string() {
        Some(json!({"type": "thinking_delta", "thinking": thinking["text"]}))
    } else if thinking["signature"].is_string() {
        Some(json!({"type": "signature_delta", "signature": thinking["signature"]}))
    } else {
        None
    }
}
