//! goose: what `goose session export --format json` prints, one document, which is also made of its database.

use session_model::{Block, Timestamp, UserParts};

use crate::Origin;
use crate::content::Answer;
use crate::conversation::Conversation;
use crate::emitter::{Begin, CallResult, Out};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;
use crate::json;
use crate::partial::Document;
use crate::report::{ImportReport, count};
use session_model::json::Members;

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    let (_, text) = input.document()?;
    let (document, mut emitter) = Document::open(&text, Format::Goose, out)?;
    let member = |key: &str| document.raw(key).and_then(session_model::json::string);
    let count_of = |key: &str| document.raw(key).and_then(|raw| raw.parse().ok());
    let report = &mut emitter.report;
    report.session_id = member("id").unwrap_or_default();
    report.cwd = member("working_dir").unwrap_or_default();
    report.parent_session = member("parent_session_id");
    let messages: Vec<Message<'_>> = document.messages.iter().map(|raw| message(raw)).collect();
    for message in &messages {
        count(
            &mut report.records,
            if message.is_user { "user" } else { "assistant" },
        );
    }
    let title = member("name").filter(|name| !name.is_empty());
    let mut conversation = Conversation::begin(
        emitter,
        Begin {
            origin,
            bytes: input.bytes,
            at: messages.first().and_then(|message| message.at),
            title: title
                .or_else(|| member("description"))
                .filter(|name| !name.is_empty()),
        },
    )?;
    let mut provider = (member("provider_name").unwrap_or_default(), String::new());
    for (index, message) in messages.iter().enumerate() {
        let next = messages.get(index + 1);
        write(&mut conversation, message, next, &mut provider)?;
    }
    // The tokens of the whole session alone are known.
    let tokens = |key| count_of(key).unwrap_or(0);
    let [input, output] = ["accumulated_input_tokens", "accumulated_output_tokens"].map(tokens);
    conversation.usage("session", None, json::usage(input, output, 0, 0))?;
    conversation.finish()
}

struct Message<'a> {
    id: String,
    is_user: bool,
    at: Option<Timestamp>,
    /// People see it, and the model.
    is_shown: bool,
    is_sent: bool,
    metadata: Members<'a>,
    content: Vec<Members<'a>>,
}

fn message(raw: &str) -> Message<'_> {
    let message = Members::parse(raw).unwrap_or_default();
    let metadata = message.object("metadata").unwrap_or_default();
    let seconds = message
        .count("created")
        .and_then(|at| i64::try_from(at).ok());
    Message {
        id: message.text("id").unwrap_or_default(),
        is_user: message.text("role").as_deref() == Some("user"),
        at: seconds.map(|at| Timestamp::from_millis(at.saturating_mul(1000))),
        is_shown: metadata.raw("userVisible") != Some("false"),
        is_sent: metadata.raw("agentVisible") != Some("false"),
        metadata,
        content: message.objects("content"),
    }
}

impl Message<'_> {
    fn texts(&self) -> String {
        let texts = self.content.iter().filter_map(|part| part.text("text"));
        texts.collect::<Vec<_>>().join("\n")
    }
}

fn write(
    conversation: &mut Conversation<'_>,
    message: &Message<'_>,
    next: Option<&Message<'_>>,
    provider: &mut (String, String),
) -> Result<(), ImportError> {
    let is_own = |message: &Message<'_>| !message.is_shown && !message.texts().trim().is_empty();
    // A summary is followed by what the model is said to have replied; neither is shown to people.
    let is_summary = message.is_user
        && is_own(message)
        && next.is_some_and(|next| !next.is_user && is_own(next));
    if is_summary {
        let summary = message.texts();
        return conversation.compaction(&message.id, message.at, &summary, &[], None);
    }
    if !message.is_shown && !message.is_sent && message.is_user && next.is_some_and(is_own) {
        // The user's last message is written again behind the summary.
        conversation.emitter.report.duplicates += 1;
        return Ok(());
    }
    if !message.is_shown {
        return conversation.hidden(&message.id, message.at, "agent_only", message.texts());
    }
    let mut parts = UserParts::default();
    let mut answer = Answer {
        at: message.at,
        ..Answer::default()
    };
    if let Some(inference) = message.metadata.object("inference") {
        let model = inference
            .filled("resolvedModel")
            .or(inference.filled("requestedModel"));
        *provider = (
            inference.text("provider").unwrap_or_default(),
            model.unwrap_or_default(),
        );
    }
    (answer.provider, answer.model) = provider.clone();
    let mut results = Vec::new();
    for part in &message.content {
        let kind = part.text("type").unwrap_or_default();
        let block = match kind.as_str() {
            "text" => Some(Block::text(part.text("text").unwrap_or_default())),
            "image" => Some(Block::image(
                part.text("data").unwrap_or_default(),
                part.text("mimeType").unwrap_or_default(),
            )),
            "thinking" => Some(Block::thinking(
                part.text("thinking").unwrap_or_default(),
                part.filled("signature"),
            )),
            "reasoning" => Some(Block::thinking(part.text("text").unwrap_or_default(), None)),
            "toolRequest" | "frontendToolRequest" => Some(request(part)),
            "toolResponse" => {
                results.push((
                    part.text("id").unwrap_or_default(),
                    response(part, message.at),
                ));
                None
            }
            "systemNotification" => {
                conversation.emitter.report.skip("systemNotification");
                None
            }
            other => {
                conversation.lose(&format!("part of a message: {other}"));
                None
            }
        };
        match block {
            Some(block) if message.is_user => parts.add(block),
            block => answer.blocks.extend(block),
        }
    }
    let has_results = !results.is_empty();
    for (call, result) in results {
        conversation.result(&call, result)?;
    }
    match message.is_user {
        true if has_results && parts.own.is_empty() && parts.inserted.is_empty() => Ok(()),
        true => conversation.user(&message.id, message.at, parts),
        false => conversation.answer(&message.id, answer),
    }
}

/// Returns a call; one that could not be read has no arguments.
fn request(part: &Members<'_>) -> Block {
    let called = part.object("toolCall").unwrap_or_default();
    let value = called.object("value").unwrap_or_default();
    let name = value
        .filled("name")
        .unwrap_or_else(|| "unreadable".to_owned());
    let arguments = value.raw("arguments").and_then(json::raw_object);
    Block::call(part.text("id").unwrap_or_default(), name, arguments)
}

fn response(part: &Members<'_>, at: Option<Timestamp>) -> CallResult {
    let result = part.object("toolResult").unwrap_or_default();
    let value = result.object("value").unwrap_or_default();
    // Older sessions have the content itself there.
    let content = match value.raw("content") {
        Some(_) => value.objects("content"),
        None => result.objects("value"),
    };
    let content = content.iter().map(|item| match item.filled("data") {
        Some(data) => Block::image(data, item.text("mimeType").unwrap_or_default()),
        None => {
            let resource = item.object("resource").unwrap_or_default();
            let text = item.text("text").or(resource.text("text"));
            Block::text(text.unwrap_or_default())
        }
    });
    let mut content: Vec<Block> = content.collect();
    let error = result.filled("error");
    content.extend(error.clone().map(Block::text));
    CallResult {
        content,
        is_error: error.is_some() || value.flag("isError"),
        at,
        ..CallResult::default()
    }
}
