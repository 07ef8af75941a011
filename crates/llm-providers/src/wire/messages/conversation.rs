//! The conversation of a Messages request.

use serde::Serialize;
use session_model::json::RawJson;
use session_model::{AssistantMessage, Block, Content, ImageBlock, LlmMessage, ToolResultMessage};

use crate::request::Request;
use crate::wire::Target;
use crate::wire::history::{IdForm, SentIds, same_origin};
use crate::wire::parts::{
    CacheControl, NO_OUTPUT, OPENING, Part, arguments_object, framed, parts, system_text, tool_name,
};

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Assistant,
}

/// Consecutive content of one role.
#[derive(Debug, Serialize)]
pub(super) struct Message {
    pub role: Role,
    pub content: Vec<Entry>,
}

/// A content block in the form of the protocol.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Entry {
    Text {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: RawJson,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<Entry>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    /// A block of the service, sent back as it came.
    #[serde(untagged)]
    Verbatim(RawJson),
}

/// The bytes of an image.
#[derive(Debug, Serialize)]
pub(super) struct Source {
    r#type: &'static str,
    media_type: String,
    data: String,
}

impl Entry {
    /// Returns a text block, or nothing for a blank text, which the service refuses.
    pub fn text(text: String) -> Option<Self> {
        (!text.trim().is_empty()).then_some(Self::Text {
            text,
            cache_control: None,
        })
    }

    /// Puts a prompt-cache mark on the block, if it can bear one.
    pub fn set_cache_control(&mut self, mark: CacheControl) {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => {
                *cache_control = Some(mark);
            }
            Self::Thinking { .. }
            | Self::RedactedThinking { .. }
            | Self::ToolUse { .. }
            | Self::Verbatim(_) => {}
        }
    }

    /// Returns true for thinking, readable or not.
    pub fn is_thinking(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }

    fn image(image: &ImageBlock) -> Self {
        Self::Image {
            source: Source {
                r#type: "base64",
                media_type: image.mime_type.clone(),
                data: image.data.to_string(),
            },
            cache_control: None,
        }
    }
}

/// Returns the conversation in the form of the target: roles alternate, the user is first and last.
pub(super) fn messages(request: &Request, target: &Target<'_>) -> Vec<Message> {
    let mut conversation = Conversation {
        target,
        ids: SentIds::new(IdForm::Token),
        messages: Vec::new(),
    };
    for item in compaction_items(request, target) {
        conversation.push(Role::Assistant, Entry::Verbatim(item.clone()));
    }
    for message in &request.messages {
        conversation.say(message);
    }
    // Newer models refuse to continue an answer of their own, so the user is last.
    let last = conversation.messages.last().map(|message| message.role);
    if last != Some(Role::User) {
        conversation.open();
    }
    conversation.messages
}

/// Returns true when the request sends compaction blocks back, for which the service wants the beta named.
pub(crate) fn replays_compaction(request: &Request, target: &Target<'_>) -> bool {
    compaction_items(request, target).next().is_some()
}

fn compaction_items<'a>(
    request: &'a Request,
    target: &Target<'_>,
) -> impl Iterator<Item = &'a RawJson> {
    let own = request
        .native
        .as_ref()
        .filter(|native| native.replays_on(target.provider, target.model));
    let items = own.into_iter().flat_map(|own| &own.replacement_history);
    items.filter(|item| item.string_member("type").as_deref() == Some("compaction"))
}

struct Conversation<'a> {
    target: &'a Target<'a>,
    ids: SentIds,
    messages: Vec<Message>,
}

impl Conversation<'_> {
    /// Adds a user message where one is required and there is none.
    fn open(&mut self) {
        self.messages.push(Message {
            role: Role::User,
            content: Vec::from_iter(Entry::text(OPENING.to_owned())),
        });
    }

    fn push(&mut self, role: Role, entry: Entry) {
        if self.messages.is_empty() && role == Role::Assistant {
            self.open();
        }
        match self.messages.last_mut() {
            Some(message) if message.role == role => message.content.push(entry),
            _ => self.messages.push(Message {
                role,
                content: vec![entry],
            }),
        }
    }

    fn say(&mut self, message: &LlmMessage) {
        match message {
            LlmMessage::System(system) => self.instruct(&system_text(system)),
            LlmMessage::Developer(content) => self.instruct(&content.joined_text("\n")),
            LlmMessage::User(content) => {
                for entry in self.entries(content) {
                    self.push(Role::User, entry);
                }
            }
            LlmMessage::Assistant(answer) => self.answer(answer),
            LlmMessage::ToolResult(result) => self.result(result),
        }
    }

    fn instruct(&mut self, instructions: &str) {
        if !instructions.trim().is_empty() {
            let entry = Entry::text(framed(instructions));
            entry
                .into_iter()
                .for_each(|entry| self.push(Role::User, entry));
        }
    }

    fn entries(&self, content: &Content) -> Vec<Entry> {
        let parts = parts(content, self.target.capabilities.images).into_iter();
        let entry = |part| match part {
            Part::Text(text) => Entry::text(text.into_owned()),
            Part::Image(image) => Some(Entry::image(image)),
        };
        parts.filter_map(entry).collect()
    }

    fn answer(&mut self, answer: &AssistantMessage) {
        self.ids.next_answer();
        let own = same_origin(answer, self.target);
        if let Content::Text(text) = &answer.content {
            let entry = Entry::text(text.clone());
            entry
                .into_iter()
                .for_each(|entry| self.push(Role::Assistant, entry));
        }
        for block in answer.content.blocks() {
            let entry = match block {
                Block::Text(block) => Entry::text(block.text.clone()),
                Block::Thinking(block) => {
                    let signature = block.signature.clone().filter(|text| !text.is_empty());
                    match (own, signature) {
                        (true, Some(data)) if block.redacted => {
                            Some(Entry::RedactedThinking { data })
                        }
                        (true, Some(signature)) => Some(Entry::Thinking {
                            thinking: block.thinking.clone(),
                            signature,
                        }),
                        // An answer that was cut off, or a server that signs nothing.
                        (true, None) => None,
                        (false, _) if block.redacted => None,
                        (false, _) => Entry::text(block.thinking.clone()),
                    }
                }
                Block::ToolCall(call) => {
                    let input = RawJson::parse(&arguments_object(call)).ok();
                    input.map(|input| Entry::ToolUse {
                        id: self.ids.call(&call.id),
                        name: tool_name(&call.name).into_owned(),
                        input,
                    })
                }
                Block::Image(_) | Block::Other { .. } => None,
            };
            if let Some(entry) = entry {
                self.push(Role::Assistant, entry);
            }
        }
    }

    /// Adds a result before all other content of the user in the turn.
    fn result(&mut self, result: &ToolResultMessage) {
        let mut content = self.entries(&result.content);
        if content.is_empty() {
            content.extend(Entry::text(NO_OUTPUT.to_owned()));
        }
        let entry = Entry::ToolResult {
            tool_use_id: self.ids.result(&result.tool_call_id),
            content,
            is_error: result.is_error,
            cache_control: None,
        };
        match self.messages.last_mut() {
            Some(turn) if turn.role == Role::User => {
                let results = turn.content.iter();
                let results = results.take_while(|entry| matches!(entry, Entry::ToolResult { .. }));
                let place = results.count();
                turn.content.insert(place, entry);
            }
            _ => self.push(Role::User, entry),
        }
    }
}
