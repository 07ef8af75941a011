//! crush: a session of its database as one document, `{"crush":SESSION,"messages":[...]}` with the columns as members.

use session_model::{Block, StopReason, Timestamp, UserParts};

use crate::Origin;
use crate::content::{Answer, image_of_url};
use crate::conversation::Conversation;
use crate::emitter::{Begin, CallResult, Out};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;
use crate::json;
use crate::partial::Document;
use crate::parts::details;
use crate::report::{ImportReport, count};
use session_model::json::Members;

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    let (_, text) = input.document()?;
    let (document, mut emitter) = Document::open(&text, Format::Crush, out)?;
    let session = document.raw("crush").and_then(Members::parse);
    let session = session.ok_or(ImportError::Empty(Format::Crush))?;
    let report = &mut emitter.report;
    report.session_id = session.text("id").unwrap_or_default();
    report.cwd = session.text("cwd").unwrap_or_default();
    report.parent_session = session.filled("parent_session_id");
    if session.filled("todos").is_some() {
        report.skip("todos");
    }
    let messages = document.messages.iter().copied().filter_map(Members::parse);
    let messages: Vec<Members<'_>> = messages.collect();
    let mut conversation = Conversation::begin(
        emitter,
        Begin {
            origin,
            bytes: input.bytes,
            at: at(&session),
            title: session.filled("title"),
        },
    )?;
    let last_answer = messages
        .iter()
        .rposition(|message| message.text("role").as_deref() == Some("assistant"));
    for (index, message) in messages.iter().enumerate() {
        let role = message.text("role").unwrap_or_default();
        count(&mut conversation.emitter.report.records, &role);
        // The tokens of the newest request stand at the session, none at messages.
        let [input, output] =
            ["prompt_tokens", "completion_tokens"].map(|key| session.count(key).unwrap_or(0));
        let tokens = json::usage(input, output, 0, 0);
        let usage = (Some(index) == last_answer && input > 0).then_some(tokens);
        write(
            &mut conversation,
            message,
            Answer {
                usage,
                ..Answer::default()
            },
        )?;
    }
    conversation.finish()
}

/// Returns when a row was written; crush counts seconds.
fn at(row: &Members<'_>) -> Option<Timestamp> {
    let seconds = i64::try_from(row.count("created_at")?).ok()?;
    Some(Timestamp::from_millis(seconds.saturating_mul(1000)))
}

fn write(
    conversation: &mut Conversation<'_>,
    message: &Members<'_>,
    mut answer: Answer,
) -> Result<(), ImportError> {
    let id = message.text("id").unwrap_or_default();
    let at = at(message);
    let mut parts = UserParts::default();
    answer.provider = message.text("provider").unwrap_or_default();
    answer.model = message.text("model").unwrap_or_default();
    answer.at = at;
    let is_answer = message.text("role").as_deref() == Some("assistant");
    let mut text = Vec::new();
    for part in message.objects("parts") {
        let kind = part.text("type").unwrap_or_default();
        let data = part.object("data").unwrap_or_default();
        let get = |key| data.text(key).unwrap_or_default();
        let block = match kind.as_str() {
            "text" => {
                text.push(get("text"));
                Block::text(get("text"))
            }
            "reasoning" => {
                let signature = data
                    .filled("signature")
                    .or(data.filled("thought_signature"));
                Block::thinking(get("thinking"), signature)
            }
            "image_url" => image_of_url(&get("url"))
                .unwrap_or_else(|| Block::text(format!("[image {}]", get("url")))),
            "binary" => match get("MIMEType") {
                mime if mime.starts_with("image/") => Block::image(get("Data"), mime),
                mime => {
                    let note = format!("[file {} {mime}]", get("Path"));
                    conversation.lose("content of an attached file");
                    parts.insert("attachment", Block::text(note));
                    continue;
                }
            },
            "tool_call" => {
                let arguments = data.text("input").as_deref().and_then(json::raw_object);
                Block::call(get("id"), get("name"), arguments)
            }
            "tool_result" => {
                conversation.result(&get("tool_call_id"), result(&data, at))?;
                continue;
            }
            "shell_command" => {
                let (command, output) = (get("command"), get("output"));
                let code = data.count("exit_code").unwrap_or(0);
                let text = format!("$ {command}\n{output}\n(exit code {code})");
                parts.insert("shell_command", Block::text(text));
                continue;
            }
            "finish" => {
                answer.stop = stop_reason(&get("reason"));
                if answer.stop == Some(StopReason::Error) {
                    answer.error = data.filled("details").or(data.filled("message"));
                }
                continue;
            }
            other => {
                conversation.lose(&format!("part of a message: {other}"));
                continue;
            }
        };
        match is_answer {
            true => answer.blocks.push(block),
            false => parts.add(block),
        }
    }
    let is_summary = message.count("is_summary_message") == Some(1);
    if is_summary && (text.is_empty() || answer.error.is_some()) {
        conversation
            .emitter
            .report
            .skip("assistant (a summary that failed)");
        return Ok(());
    }
    match message.text("role").as_deref() {
        _ if is_summary => conversation.compaction(&id, at, &text.join("\n\n"), &[], None),
        Some("assistant") => conversation.answer(&id, answer),
        Some("user") => conversation.user(&id, at, parts),
        Some("tool") => Ok(()),
        _ => {
            conversation.emitter.report.skip("message of another role");
            Ok(())
        }
    }
}

fn result(data: &Members<'_>, at: Option<Timestamp>) -> CallResult {
    let text = data.filled("content").map(Block::text);
    let image = data.filled("data");
    let image = image.map(|bytes| image_of(bytes, data.text("mime_type").unwrap_or_default()));
    let metadata = data.filled("metadata");
    CallResult {
        content: text.into_iter().chain(image).collect(),
        is_error: data.flag("is_error"),
        details: details(metadata.as_deref()),
        at,
        ..CallResult::default()
    }
}

fn image_of(data: String, mime: String) -> Block {
    match mime.starts_with("image/") {
        true => Block::image(data, mime),
        false => Block::text(format!("[{mime}: its bytes are not kept]")),
    }
}

fn stop_reason(reason: &str) -> Option<StopReason> {
    Some(match reason {
        "max_tokens" => StopReason::Length,
        "canceled" => StopReason::Aborted,
        "error" | "content_filter" => StopReason::Error,
        _ => return None,
    })
}
