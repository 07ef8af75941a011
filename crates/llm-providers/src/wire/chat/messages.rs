//! The conversation of a Chat Completions request.

use serde::Serialize;
use session_model::{
    AssistantMessage, Block, Content, ImageBlock, LlmMessage, ThinkingBlock, ToolResultMessage,
};

use crate::request::Request;
use crate::wire::Target;
use crate::wire::chat::metadata::{self, Metadata};
use crate::wire::history::{IdForm, SentIds, same_origin};
use crate::wire::parts::{
    CacheControl, NO_OUTPUT, OPENING, Part, arguments_object, framed, parts, system_text, tool_name,
};

/// The message between tool results and a user message where roles must alternate.
const BRIDGE: &str = "(The results have been read.)";

/// The number of turns with a cache mark.
const MARKED_TURNS: usize = 2;

/// A message in the form of the protocol.
#[derive(Debug, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum ChatMessage {
    /// Instructions.
    System { content: ChatContent },
    /// Instructions, as OpenAI's newer models call them.
    Developer { content: ChatContent },
    /// The user's words and images.
    User { content: ChatContent },
    /// The model's words and calls.
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<CallEntry>,
        #[serde(flatten)]
        metadata: Metadata,
    },
    /// A tool result.
    Tool {
        tool_call_id: String,
        content: ChatContent,
    },
}

/// One text, or texts and images.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ChatContent {
    Text(String),
    Parts(Vec<ChatPart>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ChatPart {
    Text {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ImageUrl {
        image_url: ImageUrl,
    },
}

impl ChatPart {
    fn text(text: String) -> Self {
        Self::Text {
            text,
            cache_control: None,
        }
    }
}

impl ChatContent {
    fn into_parts(self) -> Vec<ChatPart> {
        match self {
            Self::Text(text) => vec![ChatPart::text(text)],
            Self::Parts(parts) => parts,
        }
    }

    /// Puts a mark on the last text, which alone can have one.
    fn set_cache_control(&mut self, mark: CacheControl) {
        let mut parts = std::mem::replace(self, Self::Text(String::new())).into_parts();
        let texts = parts.iter_mut().rev().filter_map(|part| match part {
            ChatPart::Text { cache_control, .. } => Some(cache_control),
            ChatPart::ImageUrl { .. } => None,
        });
        texts.take(1).for_each(|last| *last = Some(mark));
        *self = Self::Parts(parts);
    }
}

#[derive(Debug, Serialize)]
pub(super) struct ImageUrl {
    url: String,
}

#[derive(Debug, Serialize)]
pub(super) struct CallEntry {
    id: String,
    r#type: &'static str,
    function: CalledFunction,
    #[serde(flatten)]
    metadata: Metadata,
}

#[derive(Debug, Serialize)]
pub(super) struct CalledFunction {
    name: String,
    arguments: String,
}

/// Returns the system prompt and the conversation in the form of the target.
pub(super) fn chat_messages(request: &Request, target: &Target<'_>) -> Vec<ChatMessage> {
    let form = match target.compat.short_tool_ids {
        true => IdForm::Nine,
        false => IdForm::Token,
    };
    let mut conversation = Conversation {
        target,
        ids: SentIds::new(form),
        messages: Vec::new(),
        result_images: Vec::new(),
    };
    conversation.instruct(request.system.clone());
    for message in &request.messages {
        conversation.say(message);
    }
    conversation.show_result_images();
    // Some servers refuse a conversation that ends in an answer, others continue that answer.
    if let Some(ChatMessage::Assistant { .. }) = conversation.messages.last() {
        conversation.push_user(vec![ChatPart::text(OPENING.to_owned())]);
    }
    conversation.messages
}

/// Marks the messages up to which the prompt is cached: the system prompt, and the ends of the last two turns of the
/// user and of the tools.
pub(super) fn set_cache_controls(messages: &mut [ChatMessage], mark: CacheControl) {
    let mut turns = 0;
    let mut ends = true;
    for message in messages.iter_mut().rev() {
        match message {
            ChatMessage::User { content } | ChatMessage::Tool { content, .. } => {
                if ends && turns < MARKED_TURNS {
                    content.set_cache_control(mark);
                    turns += 1;
                }
                ends = false;
            }
            ChatMessage::Assistant { .. } => ends = true,
            ChatMessage::System { .. } | ChatMessage::Developer { .. } => {}
        }
    }
    if let Some(ChatMessage::System { content } | ChatMessage::Developer { content }) =
        messages.first_mut()
    {
        content.set_cache_control(mark);
    }
}

struct Conversation<'a> {
    target: &'a Target<'a>,
    ids: SentIds,
    messages: Vec<ChatMessage>,
    /// Images of the results since the last call: they must not be between results.
    result_images: Vec<ChatPart>,
}

impl Conversation<'_> {
    fn say(&mut self, message: &LlmMessage) {
        if !matches!(message, LlmMessage::ToolResult(_)) {
            self.show_result_images();
        }
        match message {
            LlmMessage::System(system) => self.instruct(system_text(system)),
            LlmMessage::Developer(content) => self.instruct(content.joined_text("\n")),
            LlmMessage::User(content) => {
                let content = self.user_parts(content);
                self.push_user(content);
            }
            LlmMessage::Assistant(answer) => self.answer(answer),
            LlmMessage::ToolResult(result) => self.result(result),
        }
    }

    /// Adds instructions. Where roles must alternate, they are allowed only at the beginning, in one message; later
    /// ones are sent in the user's role.
    fn instruct(&mut self, content: String) {
        if content.trim().is_empty() {
            return;
        }
        if self.target.compat.alternating_roles {
            match self.messages.as_mut_slice() {
                [] => {}
                [
                    ChatMessage::System { content: first }
                    | ChatMessage::Developer { content: first },
                ] => {
                    if let ChatContent::Text(first) = first {
                        first.push_str("\n\n");
                        first.push_str(&content);
                    }
                    return;
                }
                _ => {
                    let text = framed(&content);
                    return self.push_user(vec![ChatPart::text(text)]);
                }
            }
        }
        let content = ChatContent::Text(content);
        self.messages.push(match self.target.compat.developer_role {
            true => ChatMessage::Developer { content },
            false => ChatMessage::System { content },
        });
    }

    fn user_parts(&self, content: &Content) -> Vec<ChatPart> {
        let parts = parts(content, self.target.capabilities.images).into_iter();
        let part = |part| match part {
            Part::Text(text) => ChatPart::text(text.into_owned()),
            Part::Image(image) => image_part(image),
        };
        parts.map(part).collect()
    }

    fn push_user(&mut self, parts: Vec<ChatPart>) {
        if parts.is_empty() {
            return;
        }
        if self.target.compat.alternating_roles {
            if let Some(ChatMessage::User { content }) = self.messages.last_mut() {
                let before = std::mem::replace(content, ChatContent::Text(String::new()));
                let mut all = before.into_parts();
                all.extend(parts);
                *content = user_content(all, "\n\n");
                return;
            }
            if let Some(ChatMessage::Tool { .. }) = self.messages.last() {
                self.messages.push(ChatMessage::Assistant {
                    content: Some(BRIDGE.to_owned()),
                    reasoning_content: None,
                    tool_calls: Vec::new(),
                    metadata: Metadata::new(),
                });
            }
        }
        let content = user_content(parts, "\n");
        self.messages.push(ChatMessage::User { content });
    }

    fn answer(&mut self, answer: &AssistantMessage) {
        self.ids.next_answer();
        let ids = &mut self.ids;
        let own = same_origin(answer, self.target);
        let own = |signature: Option<&String>| {
            let text = signature.filter(|_| own)?;
            metadata::parse(text)
        };
        let mut metadata = Metadata::new();
        for block in answer.content.blocks() {
            let of_message = match block {
                Block::Thinking(block) if block.redacted => own(block.signature.as_ref()),
                Block::ToolCall(call) => {
                    own(call.signature.as_ref()).and_then(metadata::detail_of_message)
                }
                _ => None,
            };
            let of_message = of_message.unwrap_or_default();
            metadata::add_of_message(&mut metadata, &of_message.into());
        }
        let calls = answer.content.tool_calls().map(|call| CallEntry {
            id: ids.call(&call.id),
            r#type: "function",
            function: CalledFunction {
                name: tool_name(&call.name).into_owned(),
                arguments: arguments_object(call),
            },
            metadata: own(call.signature.as_ref())
                .filter(|metadata| !metadata::is_detail(metadata))
                .unwrap_or_default(),
        });
        let tool_calls: Vec<CallEntry> = calls.collect();
        let (reasoning_content, told) = self.thinking(answer, !tool_calls.is_empty());
        if let Some(text) = reasoning_content
            .as_ref()
            .filter(|_| self.target.compat.replays_as_reasoning)
        {
            metadata.insert("reasoning".to_owned(), text.as_str().into());
        }
        let texts = answer
            .content
            .texts()
            .filter(|text| !text.trim().is_empty());
        let texts: Vec<&str> = texts.collect();
        let mut content = told.into_iter().collect::<Vec<_>>();
        if !texts.is_empty() {
            content.push(texts.join("\n"));
        }
        let content = (!content.is_empty()).then(|| content.join("\n\n"));
        if content.is_some() || !tool_calls.is_empty() {
            self.push_answer(content, reasoning_content, tool_calls, metadata);
        }
    }

    /// Returns the thinking to send as `reasoning_content`, and the thinking to send as text.
    fn thinking(&self, answer: &AssistantMessage, calls: bool) -> (Option<String>, Option<String>) {
        let readable = |block: &ThinkingBlock| !block.redacted && !block.thinking.trim().is_empty();
        let thinking = answer
            .content
            .blocks()
            .iter()
            .filter_map(|block| match block {
                Block::Thinking(block) if readable(block) => Some(block.thinking.as_str()),
                _ => None,
            });
        let thinking = thinking.collect::<Vec<_>>().join("\n\n");
        let thinking = (!thinking.is_empty()).then_some(thinking);
        let replays = self.target.compat.replays_reasoning;
        let (own, told) = match same_origin(answer, self.target) {
            true => (thinking.filter(|_| replays), None),
            false => (None, thinking),
        };
        // DeepSeek refuses an answer with calls that lacks the field, even without thinking.
        let empty = (replays && calls).then(String::new);
        (own.or(empty), told)
    }

    fn push_answer(
        &mut self,
        text: Option<String>,
        thinking: Option<String>,
        calls: Vec<CallEntry>,
        own: Metadata,
    ) {
        if self.target.compat.alternating_roles {
            match self.messages.last_mut() {
                Some(ChatMessage::Assistant {
                    content,
                    reasoning_content,
                    tool_calls,
                    metadata,
                }) if tool_calls.is_empty() => {
                    *content = joined(content.take(), text);
                    *reasoning_content = joined(reasoning_content.take(), thinking);
                    *tool_calls = calls;
                    metadata.extend(own);
                    return;
                }
                None | Some(ChatMessage::System { .. } | ChatMessage::Developer { .. }) => {
                    let content = ChatContent::Text(OPENING.to_owned());
                    self.messages.push(ChatMessage::User { content });
                }
                Some(_) => {}
            }
        }
        self.messages.push(ChatMessage::Assistant {
            content: text,
            reasoning_content: thinking,
            tool_calls: calls,
            metadata: own,
        });
    }

    fn result(&mut self, result: &ToolResultMessage) {
        let tool_call_id = self.ids.result(&result.tool_call_id);
        let mut texts = Vec::new();
        let mut images = Vec::new();
        for part in parts(&result.content, self.target.capabilities.images) {
            match part {
                Part::Text(text) => texts.push(text.into_owned()),
                Part::Image(image) => {
                    texts.push(format!("[image {}, shown below]", image.mime_type));
                    images.push(image_part(image));
                }
            }
        }
        if texts.is_empty() {
            texts.push(NO_OUTPUT.to_owned());
        }
        if !images.is_empty() {
            let name = tool_name(&result.tool_name);
            let text = format!("Images from the result of {name} ({tool_call_id}):");
            self.result_images.push(ChatPart::text(text));
            self.result_images.extend(images);
        }
        self.messages.push(ChatMessage::Tool {
            tool_call_id,
            content: ChatContent::Text(texts.join("\n")),
        });
    }

    fn show_result_images(&mut self) {
        let images = std::mem::take(&mut self.result_images);
        self.push_user(images);
    }
}

/// Returns the parts as one text where all are texts: some servers know nothing else.
fn user_content(parts: Vec<ChatPart>, separator: &str) -> ChatContent {
    let text = |part: &ChatPart| match part {
        ChatPart::Text { text, .. } => Some(text.clone()),
        ChatPart::ImageUrl { .. } => None,
    };
    let texts: Option<Vec<String>> = parts.iter().map(text).collect();
    match texts {
        Some(texts) => ChatContent::Text(texts.join(separator)),
        None => ChatContent::Parts(parts),
    }
}

fn image_part(image: &ImageBlock) -> ChatPart {
    ChatPart::ImageUrl {
        image_url: ImageUrl {
            url: image.data_url(),
        },
    }
}

fn joined(before: Option<String>, after: Option<String>) -> Option<String> {
    match (before, after) {
        (Some(before), Some(after)) if !before.is_empty() => Some(format!("{before}\n\n{after}")),
        (before, after) => after.or(before),
    }
}
