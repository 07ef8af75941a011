//! Cline: a document of messages as the Messages API has them. Where it was found, what Cline wrote next to it is in it
//! too: the description of the session (`session`), and what the model is sent since a compaction (`compaction`).

use session_model::{Block, Cost, UserParts};

use crate::Origin;
use crate::claude::{API, answer_block, plain_block};
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
    let (document, mut emitter) = Document::open(&text, Format::Cline, out)?;
    let member = |key: &str| document.raw(key).and_then(Members::parse);
    let session = member("session").unwrap_or_default();
    let metadata = session.object("metadata").unwrap_or_default();
    let report = &mut emitter.report;
    let id = document
        .raw("sessionId")
        .and_then(session_model::json::string);
    report.session_id = id.unwrap_or_default();
    report.cwd = session.text("cwd").unwrap_or_default();
    let fork = metadata.object("fork").unwrap_or_default();
    report.parent_session = session
        .filled("parent_session_id")
        .or(fork.filled("forkedFromSessionId"));
    let mut conversation = Conversation::begin(
        emitter,
        Begin {
            origin,
            bytes: input.bytes,
            at: session.time("started_at"),
            title: metadata.filled("title"),
        },
    )?;
    let compaction = member("compaction").unwrap_or_default();
    // So many messages are summarized or kept by it; the others followed.
    let before = compaction.count("source_message_count").unwrap_or(0) as usize;
    let before = before.min(document.messages.len());
    let (summarized, followed) = document.messages.split_at(before);
    let mut ids = Vec::new();
    for raw in summarized {
        ids.extend(write(&mut conversation, raw)?);
    }
    let kept = compaction.objects("messages");
    if let Some((first, kept)) = kept.split_first().filter(|_| before > 0) {
        let kept = kept.iter().filter_map(|message| message.text("id"));
        let kept: Vec<String> = kept.filter(|id| ids.contains(id)).collect();
        let at = ids.iter().position(|id| kept.first() == Some(id));
        if at.is_some_and(|at| ids[at..].iter().any(|id| !kept.contains(id))) {
            conversation.lose("which of the last messages a compaction kept");
        }
        summary(&mut conversation, first, &kept)?;
    }
    for raw in followed {
        write(&mut conversation, raw)?;
    }
    conversation.finish()
}

/// Writes the compaction whose summary a message is.
fn summary(
    conversation: &mut Conversation<'_>,
    message: &Members<'_>,
    kept: &[String],
) -> Result<(), ImportError> {
    let metadata = message.object("metadata").unwrap_or_default();
    let texts = message.objects("content").into_iter();
    let texts: Vec<String> = texts.filter_map(|block| block.text("text")).collect();
    let text = metadata
        .filled("summary")
        .unwrap_or_else(|| texts.join("\n\n"));
    let id = message.text("id").unwrap_or_default();
    let at = metadata.time("generatedAt").or(message.time("ts"));
    conversation.compaction(&id, at, &text, kept, metadata.count("tokensBefore"))
}

/// Writes a message and returns its id.
fn write(conversation: &mut Conversation<'_>, raw: &str) -> Result<Option<String>, ImportError> {
    let Some(message) = Members::parse(raw) else {
        return Ok(None);
    };
    let id = message.text("id").unwrap_or_default();
    let role = message.text("role").unwrap_or_default();
    let at = message.time("ts");
    count(&mut conversation.emitter.report.records, &role);
    let kind = message.object("metadata").unwrap_or_default().text("kind");
    if matches!(kind.as_deref(), Some("compaction" | "compaction_summary")) {
        summary(conversation, &message, &[])?;
        return Ok(Some(id));
    }
    let blocks = message.objects("content");
    if role == "assistant" {
        let model = message.object("modelInfo").unwrap_or_default();
        let metrics = message.object("metrics");
        let mut answer = Answer {
            api: API,
            provider: model.text("provider").unwrap_or_default(),
            model: model.text("id").unwrap_or_default(),
            usage: metrics.as_ref().map(json::cased_usage),
            at,
            ..Answer::default()
        };
        for block in &blocks {
            match answer_block(block, block.text("id")) {
                Some(block) => answer.blocks.push(block),
                None => {
                    let kind = block.text("type").unwrap_or_default();
                    conversation.lose(&format!("block of an answer: {kind}"));
                }
            }
        }
        let cost = metrics.and_then(|metrics| metrics.raw("cost")?.parse().ok());
        answer.cost = cost.map(|total| Cost {
            total,
            ..Cost::default()
        });
        conversation.answer(&id, answer)?;
        return Ok(Some(id));
    }
    let mut parts = UserParts::default();
    for block in &blocks {
        match block.text("type").as_deref() {
            Some("tool_result") => {
                let call = block.text("tool_use_id").unwrap_or_default();
                let mut result = result(conversation, block);
                result.at = at;
                conversation.result(&call, result)?;
            }
            Some("file") => {
                let get = |key| block.text(key).unwrap_or_default();
                let text = format!("{}\n\n{}", get("path"), get("content"));
                parts.insert("file", Block::text(text));
            }
            _ => {
                let report = &mut conversation.emitter.report;
                let mut block = plain_block(report, block, "message of the user");
                if let Some(Block::Text(text)) = &mut block {
                    text.text = own_text(&text.text).to_owned();
                }
                block.into_iter().for_each(|block| parts.add(block));
            }
        }
    }
    conversation.user(&id, at, parts)?;
    Ok(Some(id))
}

/// Returns what the user wrote of a text that is wrapped in a tag with the mode.
fn own_text(text: &str) -> &str {
    let rest = text
        .strip_prefix("<user_input mode=\"")
        .and_then(|rest| rest.split_once("\">"));
    let own = rest.and_then(|(_, rest)| rest.strip_suffix("</user_input>"));
    own.unwrap_or(text)
}

/// Returns a result, whose content is a text, a list of blocks, or what the tool returned.
fn result(conversation: &mut Conversation<'_>, block: &Members<'_>) -> CallResult {
    let raw = block.raw("content").unwrap_or("\"\"");
    let blocks = block.objects("content");
    let has_blocks = !blocks.is_empty() && blocks.iter().all(|block| block.raw("type").is_some());
    let content = match session_model::json::string(raw) {
        Some(text) => vec![Block::text(text)],
        None if has_blocks => {
            let report = &mut conversation.emitter.report;
            let blocks = blocks.iter();
            blocks
                .filter_map(|block| plain_block(report, block, "result"))
                .collect()
        }
        None => vec![Block::text(raw)],
    };
    CallResult {
        content,
        is_error: block.flag("is_error"),
        ..CallResult::default()
    }
}
