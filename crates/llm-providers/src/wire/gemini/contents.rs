//! The conversation of a `generateContent` request.

use serde::Serialize;
use session_model::json::RawJson;
use session_model::{AssistantMessage, Block, Content, ImageBlock, LlmMessage, ToolResultMessage};

use crate::request::Request;
use crate::wire::Target;
use crate::wire::history::{IdForm, SentIds, same_origin};
use crate::wire::parts::{
    NO_OUTPUT, OPENING, Part as PlainPart, arguments_object, framed, parts, system_text, tool_name,
};

/// The signature that Google documents for a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    User,
    Model,
}

/// Consecutive parts of one role.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    role: Role,
    parts: Vec<Part>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    #[serde(flatten)]
    data: Data,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Data {
    Text(String),
    #[serde(rename = "inlineData", rename_all = "camelCase")]
    Image {
        mime_type: String,
        data: String,
    },
    FunctionCall {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: String,
        args: RawJson,
    },
    FunctionResponse {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        name: String,
        response: Response,
    },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Response {
    Output(String),
    Error(String),
}

impl Part {
    /// Returns a part with a text.
    pub fn text(text: String) -> Self {
        Data::Text(text).into()
    }

    fn image(image: &ImageBlock) -> Self {
        Self::from(Data::Image {
            mime_type: image.mime_type.clone(),
            data: image.data.to_string(),
        })
    }
}

impl From<Data> for Part {
    fn from(data: Data) -> Self {
        Self {
            data,
            thought: false,
            thought_signature: None,
        }
    }
}

/// Returns the conversation: the user speaks first and last, and results follow their calls in one entry.
pub(super) fn contents(request: &Request, target: &Target<'_>) -> Vec<Entry> {
    let mut conversation = Conversation {
        target,
        ids: SentIds::new(IdForm::Token),
        entries: Vec::new(),
        result_images: Vec::new(),
    };
    for message in &request.messages {
        conversation.message(message);
    }
    conversation.show_result_images();
    let last = conversation.entries.last().map(|entry| entry.role);
    if last != Some(Role::User) {
        conversation.push(Role::User, Part::text(OPENING.to_owned()));
    }
    conversation.entries
}

struct Conversation<'a> {
    target: &'a Target<'a>,
    ids: SentIds,
    entries: Vec<Entry>,
    /// Images of the results since the last call: an entry with results has nothing else.
    result_images: Vec<Part>,
}

impl Conversation<'_> {
    fn push(&mut self, role: Role, part: Part) {
        let is_result = |part: &Part| matches!(part.data, Data::FunctionResponse { .. });
        if self.entries.is_empty() && role == Role::Model {
            self.push(Role::User, Part::text(OPENING.to_owned()));
        }
        match self.entries.last_mut() {
            Some(entry)
                if entry.role == role
                    && entry.parts.first().is_some_and(is_result) == is_result(&part) =>
            {
                entry.parts.push(part);
            }
            _ => self.entries.push(Entry {
                role,
                parts: vec![part],
            }),
        }
    }

    fn message(&mut self, message: &LlmMessage) {
        if !matches!(message, LlmMessage::ToolResult(_)) {
            self.show_result_images();
        }
        match message {
            LlmMessage::System(system) => self.instruct(&system_text(system)),
            LlmMessage::Developer(content) => self.instruct(&content.joined_text("\n")),
            LlmMessage::User(content) => {
                for part in parts(content, self.target.capabilities.images) {
                    let part = match part {
                        PlainPart::Text(text) => Part::text(text.into_owned()),
                        PlainPart::Image(image) => Part::image(image),
                    };
                    self.push(Role::User, part);
                }
            }
            LlmMessage::Assistant(answer) => self.answer(answer),
            LlmMessage::ToolResult(result) => self.result(result),
        }
    }

    fn instruct(&mut self, instructions: &str) {
        if !instructions.trim().is_empty() {
            self.push(Role::User, Part::text(framed(instructions)));
        }
    }

    fn answer(&mut self, answer: &AssistantMessage) {
        self.ids.next_answer();
        if let Content::Text(text) = &answer.content
            && !text.trim().is_empty()
        {
            self.push(Role::Model, Part::text(text.clone()));
        }
        let own = same_origin(answer, self.target);
        // Of calls that were made together, the first has the signature.
        let mut is_first = true;
        for block in answer.content.blocks() {
            let mut part = match block {
                Block::Text(block) => Part {
                    thought_signature: block.signature.clone().filter(|_| own),
                    ..Part::text(block.text.clone())
                },
                Block::Thinking(block) if own => Part {
                    thought: true,
                    thought_signature: block.signature.clone(),
                    ..Part::text(block.thinking.clone())
                },
                Block::Thinking(block) if block.redacted => continue,
                Block::Thinking(block) => Part::text(block.thinking.clone()),
                Block::ToolCall(call) => {
                    let signature = call.signature.clone().filter(|_| own);
                    let unsigned = (!own && is_first && self.target.thinks_by_level())
                        .then(|| UNSIGNED.to_owned());
                    is_first = false;
                    let id = self.ids.call(&call.id);
                    let Ok(args) = RawJson::parse(&arguments_object(call)) else {
                        continue;
                    };
                    Part {
                        thought_signature: signature.or(unsigned),
                        ..Part::from(Data::FunctionCall {
                            id: self.sent_id(id),
                            name: tool_name(&call.name).into_owned(),
                            args,
                        })
                    }
                }
                Block::Image(_) | Block::Other { .. } => continue,
            };
            part.thought_signature = part.thought_signature.filter(|text| !text.is_empty());
            let blank = matches!(&part.data, Data::Text(text) if text.trim().is_empty());
            // The model reads nothing from a summary of its thinking, but from the signature.
            let idle = part.thought_signature.is_none() && (blank || part.thought);
            if !idle {
                self.push(Role::Model, part);
            }
        }
    }

    /// Vertex AI refuses the field; there, results belong to calls by their order.
    fn sent_id(&self, id: String) -> Option<String> {
        self.target.compat.platform.takes_call_ids().then_some(id)
    }

    fn result(&mut self, result: &ToolResultMessage) {
        let mut texts = Vec::new();
        let id = self.ids.result(&result.tool_call_id);
        for part in parts(&result.content, self.target.capabilities.images) {
            match part {
                PlainPart::Text(text) => texts.push(text.into_owned()),
                PlainPart::Image(image) => {
                    texts.push(format!("[image {}, shown below]", image.mime_type));
                    let text = format!("Image from the result of {id}:");
                    self.result_images.push(Part::text(text));
                    self.result_images.push(Part::image(image));
                }
            }
        }
        if texts.is_empty() {
            texts.push(NO_OUTPUT.to_owned());
        }
        let text = texts.join("\n");
        let part = Part::from(Data::FunctionResponse {
            id: self.sent_id(id),
            name: tool_name(&result.tool_name).into_owned(),
            response: match result.is_error {
                true => Response::Error(text),
                false => Response::Output(text),
            },
        });
        self.push(Role::User, part);
    }

    fn show_result_images(&mut self) {
        for part in std::mem::take(&mut self.result_images) {
            self.push(Role::User, part);
        }
    }
}
