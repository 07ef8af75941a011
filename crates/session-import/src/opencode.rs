//! opencode: what `opencode export` prints, one JSON document with messages and their parts.

use session_model::json::Members;
use session_model::{Block, Cost, StopReason, Timestamp, Usage, UserParts};

use crate::Origin;
use crate::content::{Answer, image_of_url};
use crate::conversation::Conversation;
use crate::emitter::{Begin, CLEARED, CallResult, Out};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;
use crate::json;
use crate::partial::Document;
use crate::parts::details;
use crate::report::{ImportReport, count};

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    let (_, text) = input.document()?;
    let (document, mut emitter) = Document::open(&text, Format::Opencode, out)?;
    let info = document.raw("info").and_then(Members::parse);
    let info = info.ok_or(ImportError::Empty(Format::Opencode))?;
    let report = &mut emitter.report;
    report.session_id = info.text("id").unwrap_or_default();
    report.cwd = info.text("directory").unwrap_or_default();
    report.version = info.text("version");
    report.parent_session = info.filled("parentID");
    let messages = messages(&document, report);
    let revert = info.object("revert").unwrap_or_default();
    let begin = Begin {
        origin,
        bytes: input.bytes,
        at: info.object("time").and_then(|time| time.time("created")),
        title: info.filled("title"),
    };
    let mut conversation = Conversation::begin(emitter, begin)?;
    let undone = revert.text("messageID");
    let mut before_undone = None;
    for (index, message) in messages.iter().enumerate() {
        if undone.as_ref() == Some(&message.id) {
            before_undone = Some(conversation.leaf()?);
            if revert.raw("partID").is_some() {
                conversation.lose("undone from within a message");
            }
        }
        let at = message
            .info
            .object("time")
            .and_then(|time| time.time("created"));
        if message.is_summary() {
            write_summary(&mut conversation, &messages, index, at)?;
        } else if !message.is_user {
            write_answer(&mut conversation, message, at)?;
        } else if message.compaction_request().is_none() || message.has("text") {
            // The answer to a request alone is the summary.
            write_user(&mut conversation, message, at)?;
        }
    }
    if let Some(leaf) = before_undone {
        conversation.go_to(leaf)?;
    }
    conversation.finish()
}

/// A message and its parts.
struct Message<'a> {
    id: String,
    is_user: bool,
    info: Members<'a>,
    parts: Vec<(String, Members<'a>)>,
}

impl Message<'_> {
    fn has(&self, kind: &str) -> bool {
        self.parts.iter().any(|(own, _)| own == kind)
    }

    /// Returns the part that asks for a compaction.
    fn compaction_request(&self) -> Option<&Members<'_>> {
        let mut parts = self.parts.iter().filter(|(kind, _)| kind == "compaction");
        parts.next().map(|(_, part)| part)
    }

    fn is_summary(&self) -> bool {
        !self.is_user && self.info.flag("summary")
    }

    fn texts(&self) -> String {
        let texts = self.parts.iter().filter(|(kind, _)| kind == "text");
        let texts = texts.filter_map(|(_, part)| part.text("text"));
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

fn messages<'a>(document: &Document<'a>, report: &mut ImportReport) -> Vec<Message<'a>> {
    let messages = document.messages.iter().copied();
    let messages = messages.filter_map(Members::parse).map(|message| {
        let info = message.object("info").unwrap_or_default();
        let role = info.text("role").unwrap_or_default();
        count(&mut report.records, &role);
        let parts = message.objects("parts").into_iter();
        let parts = parts.map(|part| (part.text("type").unwrap_or_default(), part));
        Message {
            id: info.text("id").unwrap_or_default(),
            is_user: role == "user",
            parts: parts.collect(),
            info,
        }
    });
    messages.collect()
}

fn write_user(
    conversation: &mut Conversation<'_>,
    message: &Message<'_>,
    at: Option<Timestamp>,
) -> Result<(), ImportError> {
    let mut parts = UserParts::default();
    for (kind, part) in &message.parts {
        let text = part.filled("text");
        match (kind.as_str(), text) {
            ("text", _) if part.flag("ignored") => {
                conversation.emitter.report.skip("text (ignored)");
            }
            ("text", Some(text)) if part.flag("synthetic") => {
                parts.insert("synthetic", Block::text(text));
            }
            ("text", Some(text)) => parts.add(Block::text(text)),
            ("file", _) => {
                let url = part.text("url").unwrap_or_default();
                match image_of_url(&url) {
                    Some(image) => parts.own.push(image),
                    None => parts.insert("synthetic", Block::text(file_note(part, &url))),
                }
            }
            ("text", None) => {}
            (other, _) => conversation.lose(&format!("part of a message: {other}")),
        }
    }
    conversation.user(&message.id, at, parts)
}

fn write_answer(
    conversation: &mut Conversation<'_>,
    message: &Message<'_>,
    at: Option<Timestamp>,
) -> Result<(), ImportError> {
    let info = &message.info;
    let total = info.raw("cost").and_then(|raw| raw.parse().ok());
    let mut answer = Answer {
        provider: info.text("providerID").unwrap_or_default(),
        model: info.text("modelID").unwrap_or_default(),
        usage: info.object("tokens").map(|tokens| usage_of(&tokens)),
        cost: Some(Cost {
            total: total.unwrap_or(0.0),
            ..Cost::default()
        }),
        stop: info.text("finish").and_then(|finish| stop_reason(&finish)),
        at,
        ..Answer::default()
    };
    if let Some(failure) = info.object("error") {
        let name = failure.text("name").unwrap_or_default();
        let data = failure.object("data").unwrap_or_default();
        answer.error = Some(data.filled("message").unwrap_or(name.clone()));
        answer.stop = Some(match name.contains("Aborted") {
            true => StopReason::Aborted,
            false => StopReason::Error,
        });
    }
    let mut results = Vec::new();
    for (kind, part) in &message.parts {
        match kind.as_str() {
            "text" => {
                let text = part.text("text").unwrap_or_default();
                answer.blocks.push(Block::text(text));
            }
            "reasoning" => take_reasoning(part, &mut answer),
            "tool" => {
                let (id, block, result) = tool(part);
                answer.blocks.push(block);
                results.extend(result.map(|result| (id, result)));
            }
            // The tokens of a step are those of its message.
            "step-start" | "step-finish" | "snapshot" | "patch" => {}
            other => conversation.lose(&format!("part of an answer: {other}")),
        }
    }
    conversation.answer(&message.id, answer)?;
    for (call, result) in results {
        conversation.result(&call, result)?;
    }
    Ok(())
}

/// Writes a compaction; a summary that failed is none.
fn write_summary(
    conversation: &mut Conversation<'_>,
    messages: &[Message<'_>],
    index: usize,
    at: Option<Timestamp>,
) -> Result<(), ImportError> {
    let message = &messages[index];
    if let Some(tokens) = message.info.object("tokens") {
        conversation.usage("compaction", at, usage_of(&tokens))?;
    }
    let has_failed = message.info.raw("error").is_some() || message.info.raw("finish").is_none();
    let summary = message.texts();
    if has_failed || summary.trim().is_empty() {
        let report = &mut conversation.emitter.report;
        report.skip("assistant (a summary that failed)");
        return Ok(());
    }
    let asked_by = message.info.text("parentID").unwrap_or_default();
    let request = messages.iter().find(|message| message.id == asked_by);
    let tail = request.and_then(Message::compaction_request);
    let tail = tail.and_then(|part| part.filled("tail_start_id"));
    // A message that is no entry of its own is kept with what follows.
    let before = messages[..index].iter().map(|message| message.id.clone());
    let kept = before.skip_while(|id| Some(id) != tail.as_ref());
    let kept: Vec<String> = kept.collect();
    conversation.compaction(&message.id, at, &summary, &kept, None)
}

/// Returns a call with its result, which are one part.
fn tool(part: &Members<'_>) -> (String, Block, Option<CallResult>) {
    let state = part.object("state").unwrap_or_default();
    let name = part.text("tool").unwrap_or_default();
    let id = part
        .filled("callID")
        .or(part.filled("id"))
        .unwrap_or_default();
    let block = Block::call(
        id.clone(),
        name,
        state.raw("input").and_then(json::raw_object),
    );
    let time = state.object("time").unwrap_or_default();
    let status = state.text("status").unwrap_or_default();
    // A command that was stopped has null there.
    let exit = state
        .object("metadata")
        .and_then(|about| about.raw("exit").map(str::to_owned));
    let is_error = status == "error" || exit.is_some_and(|code| code != "0");
    let is_cleared = time.raw("compacted").is_some();
    let result = match status.as_str() {
        "completed" | "error" => {
            let key = if status == "error" { "error" } else { "output" };
            let text = state.text(key).unwrap_or_default();
            let mut content = vec![Block::text(text)];
            for attachment in state.objects("attachments") {
                let url = attachment.text("url").unwrap_or_default();
                match image_of_url(&url) {
                    Some(image) => content.push(image),
                    None => content.push(Block::text(file_note(&attachment, &url))),
                }
            }
            Some(CallResult {
                id: part.text("id").unwrap_or_default(),
                content,
                is_error,
                details: details(state.raw("metadata")),
                at: time.time("end"),
                replacement: is_cleared.then(|| CLEARED.to_owned()),
                later: None,
            })
        }
        // Pending or running: it was interrupted.
        _ => None,
    };
    (id, block, result)
}

/// Adds reasoning to an answer, with the signature by which its service knows it again.
fn take_reasoning(part: &Members<'_>, answer: &mut Answer) {
    let text = part.text("text").unwrap_or_default();
    let metadata = part.object("metadata").unwrap_or_default();
    let of = |service| metadata.object(service).unwrap_or_default();
    let (anthropic, google, openai) = (of("anthropic"), of("google"), of("openai"));
    let redacted = anthropic.filled("redactedData");
    let encrypted = openai.filled("reasoningEncryptedContent");
    let (api, signature) = if let Some(signature) =
        redacted.clone().or(anthropic.filled("signature"))
    {
        ("anthropic-messages", signature)
    } else if let Some(signature) = google.filled("thoughtSignature") {
        ("google-generative-ai", signature)
    } else if let Some(encrypted) = encrypted {
        let id = openai.text("itemId");
        let item = serde_json::json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": encrypted });
        ("openai-responses", item.to_string())
    } else {
        answer.blocks.push(Block::thinking(text, None));
        return;
    };
    answer.api = api;
    if let Some(Block::Thinking(last)) = answer.blocks.last_mut()
        && last.signature.as_ref() == Some(&signature)
    {
        // Parts of one summary are one item.
        last.thinking = [&last.thinking, "\n\n", &text].concat();
        return;
    }
    let mut block = Block::thinking(text, Some(signature));
    if let Block::Thinking(block) = &mut block {
        block.redacted = redacted.is_some();
    }
    answer.blocks.push(block);
}

fn file_note(part: &Members<'_>, url: &str) -> String {
    let name = part.filled("filename").unwrap_or_else(|| "file".to_owned());
    let mime = part.text("mime").unwrap_or_default();
    let place: String = match url.starts_with("data:") {
        true => "its bytes are not kept".to_owned(),
        false => url.chars().take(1024).collect(),
    };
    format!("[{name} {mime}: {place}]")
}

fn usage_of(tokens: &Members<'_>) -> Usage {
    let cache = tokens.object("cache").unwrap_or_default();
    let output = tokens
        .count("output")
        .unwrap_or(0)
        .saturating_add(tokens.count("reasoning").unwrap_or(0));
    json::usage(
        tokens.count("input").unwrap_or(0),
        output,
        cache.count("read").unwrap_or(0),
        cache.count("write").unwrap_or(0),
    )
}

fn stop_reason(finish: &str) -> Option<StopReason> {
    Some(match finish {
        "stop" => StopReason::Stop,
        "tool-calls" => StopReason::ToolUse,
        "length" => StopReason::Length,
        "error" => StopReason::Error,
        _ => return None,
    })
}
