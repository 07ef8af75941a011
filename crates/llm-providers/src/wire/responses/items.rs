//! From messages to input items.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use session_model::json::{Members, RawJson};
use session_model::{
    AssistantMessage, Block, Content, LlmMessage, TextBlock, ThinkingBlock, ToolCall,
    ToolResultMessage,
};

use crate::request::Request;
use crate::wire::Target;
use crate::wire::history::{IdForm, SentIds, same_origin};
use crate::wire::parts::{arguments_object, system_text, tool_name};
use crate::wire::responses::encode::json;
use crate::wire::responses::{CallSide, call_side, is_compaction};

/// An input item of ours. The key orders are those of the protocol's documentation.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item<'a> {
    Message {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        role: &'static str,
        content: Vec<Part<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: &'a str,
        arguments: &'a str,
        call_id: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
    CompactionTrigger,
}

/// A part of a message.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        detail: &'static str,
        image_url: String,
    },
    OutputText {
        text: Cow<'a, str>,
        annotations: [(); 0],
    },
}

/// A tool's output: one text, or parts when there are images.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(String),
    Parts(Vec<Part<'a>>),
}

/// The longest item id that the service takes.
const LONGEST_ID: usize = 64;

/// Returns the input items of a request: the native history, if it may be replayed, then the messages.
///
/// A native history of another provider or model family is left out; the request's messages contain the readable
/// summary then.
pub(crate) fn input(request: &Request, target: &Target<'_>) -> Vec<RawJson> {
    let mut items = Items {
        target,
        calls: SentIds::new(IdForm::Token),
        taken: BTreeSet::new(),
        list: Vec::new(),
    };
    let native = request.native.as_ref();
    let native = native.filter(|native| native.replays_on(target.provider, target.model));
    for item in native.iter().flat_map(|native| &native.replacement_history) {
        items.native(item);
    }
    for message in &request.messages {
        items.message(message);
    }
    items.list
}

/// Returns a provider's own item in the form in which it is sent back.
///
/// It stays as written with two exceptions. Types under which a compacted history is only ever read become
/// `compaction`. And `status`, which only outputs have, is left out if the item is valid without it (other tools'
/// calls, such as `web_search_call`, need theirs).
fn sendable(item: &RawJson) -> RawJson {
    let Some(fields) = Members::parse(item.get()) else {
        return item.clone();
    };
    // A message may come without a type.
    let kind = fields.text("type").unwrap_or_else(|| "message".to_owned());
    let renamed = is_compaction(&kind) && kind != "compaction";
    let output_only = is_compaction(&kind)
        || matches!(
            kind.as_str(),
            "message"
                | "reasoning"
                | "function_call"
                | "function_call_output"
                | "custom_tool_call"
                | "custom_tool_call_output"
        );
    let ends_status = output_only && fields.get("status").is_some();
    if !renamed && !ends_status {
        return item.clone();
    }
    let sent = fields.rewritten(|key, value| match key {
        "type" if renamed => Some(Cow::Borrowed("\"compaction\"")),
        "status" if ends_status => None,
        _ => Some(Cow::Borrowed(value)),
    });
    sent.unwrap_or_else(|| item.clone())
}

struct Items<'a> {
    target: &'a Target<'a>,
    calls: SentIds,
    /// The item ids in the list; the service refuses a duplicate.
    taken: BTreeSet<String>,
    list: Vec<RawJson>,
}

impl Items<'_> {
    fn push(&mut self, item: &Item<'_>) {
        self.list.push(json(item));
    }

    fn native(&mut self, item: &RawJson) {
        if let Some(fields) = Members::parse(item.get()) {
            self.taken.extend(fields.text("id"));
            let kind = fields.text("type").unwrap_or_default();
            if let (Some(CallSide::Call), Some(id)) = (call_side(&kind), fields.text("call_id")) {
                self.calls.call(&id); // no later call may have this one
            }
        }
        self.list.push(sendable(item));
    }

    fn message(&mut self, message: &LlmMessage) {
        // Servers that do not know the role take the same text from the system.
        let developer = if self.target.compat.developer_role {
            "developer"
        } else {
            "system"
        };
        match message {
            LlmMessage::System(message) => {
                let content = Content::Text(system_text(message));
                self.push_message(developer, &content);
            }
            LlmMessage::Developer(content) => self.push_message(developer, content),
            LlmMessage::User(content) => self.push_message("user", content),
            LlmMessage::Assistant(message) => self.assistant(message),
            LlmMessage::ToolResult(message) => self.result(message),
        }
    }

    fn push_message(&mut self, role: &'static str, content: &Content) {
        let content = self.input_parts(content);
        if content.is_empty() {
            return;
        }
        self.push(&Item::Message {
            id: None,
            role,
            content,
            phase: None,
        });
    }

    fn input_parts<'c>(&self, content: &'c Content) -> Vec<Part<'c>> {
        let text = |text: Cow<'c, str>| Part::InputText { text };
        let parts: Vec<Part<'c>> = match content {
            Content::Text(plain) => vec![text(Cow::Borrowed(plain))],
            Content::Blocks(blocks) => blocks
                .iter()
                .map(|block| match block {
                    Block::Text(block) => text(Cow::Borrowed(&block.text)),
                    Block::Image(image) if self.target.capabilities.images => Part::InputImage {
                        detail: "auto",
                        image_url: image.data_url(),
                    },
                    Block::Image(image) => text(Cow::Owned(left_out("image", &image.mime_type))),
                    Block::Thinking(block) => text(Cow::Borrowed(&block.thinking)),
                    Block::ToolCall(call) => text(Cow::Owned(left_out("call", &call.name))),
                    Block::Other { kind } => text(Cow::Owned(left_out("block", kind))),
                })
                .collect(),
        };
        let says =
            |part: &Part<'_>| !matches!(part, Part::InputText { text } if text.trim().is_empty());
        parts.into_iter().filter(says).collect()
    }

    fn result(&mut self, message: &ToolResultMessage) {
        let call_id = self.calls.result(&message.tool_call_id);
        let parts = self.input_parts(&message.content);
        let texts: Option<Vec<&str>> = parts
            .iter()
            .map(|part| match part {
                Part::InputText { text } => Some(text.as_ref()),
                Part::InputImage { .. } | Part::OutputText { .. } => None,
            })
            .collect();
        // The protocol has no mark for a failure; the text of a result says what went wrong.
        let output = match texts {
            Some(texts) => Output::Text(texts.join("\n")),
            None => Output::Parts(parts),
        };
        self.push(&Item::FunctionCallOutput {
            call_id: &call_id,
            output,
        });
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        self.calls.next_answer();
        let own = same_origin(message, self.target);
        let blocks = match &message.content {
            Content::Text(text) => return self.answer(text, None),
            Content::Blocks(blocks) => blocks,
        };
        let last_output = blocks.iter().rposition(|block| match block {
            Block::Text(block) => !block.text.trim().is_empty(),
            Block::ToolCall(_) => true,
            Block::Image(_) | Block::Thinking(_) | Block::Other { .. } => false,
        });
        // The service wants reasoning together with the item that it led to: it is replayed only before one,
        // and the ids of items whose reasoning is not replayed are left out.
        let mut keeps_ids = own;
        let mut reasoning: Vec<Option<RawJson>> = vec![None; blocks.len()];
        for (place, block) in blocks.iter().enumerate().take(last_output.unwrap_or(0)) {
            if let Block::Thinking(block) = block {
                reasoning[place] = self.reasoning(block, own);
                keeps_ids &= reasoning[place].is_some();
            }
        }
        for (block, reasoning) in blocks.iter().zip(reasoning) {
            match block {
                Block::Text(block) => {
                    let signature = Signature::of(block).filter(|_| keeps_ids);
                    self.answer(&block.text, signature);
                }
                Block::Thinking(block) => match reasoning {
                    Some(item) => self.list.push(item),
                    None if block.redacted => {}
                    None => self.answer(&block.thinking, None),
                },
                Block::ToolCall(call) => self.call(call, keeps_ids),
                Block::Image(image) => self.answer(&left_out("image", &image.mime_type), None),
                Block::Other { .. } => {}
            }
        }
    }

    /// Returns the reasoning item that `block` carries, when it may be sent.
    fn reasoning(&mut self, block: &ThinkingBlock, own: bool) -> Option<RawJson> {
        let item = RawJson::parse(block.signature.as_deref().filter(|_| own)?).ok()?;
        let fields = Members::parse(item.get())?;
        // With `store: false` the service does not remember what it does not get back in encrypted form.
        let encrypted = fields.text("encrypted_content").unwrap_or_default();
        let known = !encrypted.is_empty() || !self.target.compat.openai_extras;
        if fields.text("type")? != "reasoning" || !known {
            return None;
        }
        if let Some(id) = fields.text("id")
            && !self.taken.insert(id)
        {
            return None;
        }
        Some(sendable(&item))
    }

    fn answer(&mut self, text: &str, signature: Option<Signature>) {
        if text.trim().is_empty() {
            return;
        }
        let signature = signature.unwrap_or_default();
        let id = signature.id.filter(|id| self.take(id));
        self.push(&Item::Message {
            id: id.as_deref(),
            role: "assistant",
            content: vec![Part::OutputText {
                text: Cow::Borrowed(text),
                annotations: [],
            }],
            phase: signature.phase.as_deref(),
        });
    }

    fn call(&mut self, call: &ToolCall, keeps_ids: bool) {
        let call_id = self.calls.call(&call.id);
        let id = call.id.split_once('|').map(|(_, id)| id);
        let id = id.filter(|id| keeps_ids && self.take(id));
        self.push(&Item::FunctionCall {
            id,
            name: &tool_name(&call.name),
            arguments: &arguments(call),
            call_id: &call_id,
        });
    }

    /// Returns true when the item id may be sent, and notes it.
    fn take(&mut self, id: &str) -> bool {
        (1..=LONGEST_ID).contains(&id.len()) && self.taken.insert(id.to_owned())
    }
}

/// The pi family's signature of a text: the item's id alone, or an object with it.
#[derive(Debug, Default)]
struct Signature {
    id: Option<String>,
    phase: Option<String>,
}

impl Signature {
    fn of(block: &TextBlock) -> Option<Self> {
        let text = block.signature.as_deref()?;
        Some(match Members::parse(text) {
            Some(fields) => Self {
                id: fields.text("id"),
                phase: fields.text("phase"),
            },
            None => Self {
                id: Some(text.to_owned()),
                phase: None,
            },
        })
    }
}

/// Returns the arguments as the JSON text that the model wrote, if it is an object: servers parse it, and templates
/// read it.
fn arguments(call: &ToolCall) -> Cow<'_, str> {
    match call.arguments.as_ref().map(RawJson::get) {
        Some(raw) if raw.starts_with('{') && !raw.contains("\\ud") => Cow::Borrowed(raw),
        None | Some(_) => Cow::Owned(arguments_object(call)),
    }
}

fn left_out(what: &str, kind: &str) -> String {
    format!("[{what} left out: {kind}]")
}
