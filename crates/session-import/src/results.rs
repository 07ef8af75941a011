//! Results of calls: what is known of one, and the message that it becomes. Lines that stand for results and answers
//! that are read later.

use serde_json::Value;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Block, Content, EntryDraft, MessageDraft, Span, Stamp, Timestamp,
    ToolResultMessage,
};

use crate::content::Answer;
use crate::error::ImportError;
use crate::report::ImportReport;

/// The longest details of a result that are kept, in bytes.
const LONGEST_DETAILS: usize = 16 * 1024;

/// How the messages of lines begin that stand for longer ones. In a message of a session, the id of a call or content
/// follows the role.
pub(crate) const MARKS: [&str; 2] = [
    r#","message":{"role":"toolResult","left":["#,
    r#","message":{"role":"assistant","left":["#,
];

/// Where a result or an answer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaterPlace {
    /// The number of the log.
    pub log: usize,
    /// The record in it, or the records.
    pub span: Span,
    /// Which of the results of the record it is.
    pub block: usize,
}

/// Returns the line that stands for a result.
pub(crate) fn short_result(
    stamp: &Stamp,
    call: &PendingCall,
    at: Option<Timestamp>,
    place: LaterPlace,
) -> String {
    let mut line = short_line(stamp, MARKS[0], place, at);
    push(&mut line, r#","toolCallId":"#, &call.id);
    push(&mut line, r#","toolName":"#, &call.name);
    line + "}}"
}

/// Returns the line that stands for an answer.
pub(crate) fn short_answer(stamp: &Stamp, answer: &Answer, place: LaterPlace) -> String {
    let mut line = short_line(stamp, MARKS[1], place, answer.at);
    push(&mut line, r#","provider":"#, &answer.provider);
    push(&mut line, r#","model":"#, &answer.model);
    if let Some(usage) = answer.usage {
        let (input, output) = (usage.input, usage.output);
        let (read, written) = (usage.cache_read, usage.cache_write);
        line.push_str(&format!(r#","usage":[{input},{output},{read},{written}]"#));
    }
    if let Some(stop) = &answer.stop {
        push(&mut line, r#","stop":"#, stop.name());
    }
    line + "}}"
}

/// Returns what both kinds of lines begin with.
fn short_line(stamp: &Stamp, mark: &str, place: LaterPlace, at: Option<Timestamp>) -> String {
    let mut line = String::with_capacity(384);
    push(&mut line, r#"{"type":"message","id":"#, &stamp.id);
    match &stamp.parent {
        Some(parent) => push(&mut line, r#","parentId":"#, parent),
        None => line.push_str(r#","parentId":null"#),
    }
    let (log, block) = (place.log, place.block);
    let Span { offset, len } = place.span;
    let at = at.map_or_else(|| "null".to_owned(), |at| at.as_millis().to_string());
    line.push_str(&format!(
        r#","timestamp":"{}"{mark}{log},{offset},{len},{block}],"timestamp":{at}"#,
        stamp.timestamp
    ));
    line
}

/// Adds a member whose value is a text.
fn push(line: &mut String, key: &str, text: &str) {
    line.push_str(key);
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    match text.bytes().all(is_plain) {
        true => line.extend(["\"", text, "\""]),
        false => line.push_str(&Value::from(text).to_string()),
    }
}

/// A result of a call that is not written yet.
#[derive(Default)]
pub(crate) struct CallResult {
    /// The id that the source gives it, if any.
    pub id: String,
    pub content: Vec<Block>,
    pub is_error: bool,
    pub details: Option<RawJson>,
    pub at: Option<Timestamp>,
    /// Where all but the id and the time stands, if it is read once somebody asks for it.
    pub later: Option<LaterPlace>,
}

/// A call that waits for its result.
#[derive(Debug, Clone)]
pub(crate) struct PendingCall {
    pub id: String,
    pub name: String,
}

/// Returns the message that a result of a call becomes.
pub(crate) fn result_draft(
    call: PendingCall,
    result: CallResult,
    at: Option<Timestamp>,
    report: &mut ImportReport,
) -> Result<EntryDraft, ImportError> {
    let mut draft = MessageDraft::new(AgentMessage::ToolResult(ToolResultMessage {
        tool_call_id: call.id,
        tool_name: call.name,
        content: Content::Blocks(result.content),
        is_error: result.is_error,
        timestamp: at,
    }))?;
    match result.details {
        Some(details) if details.get().len() > LONGEST_DETAILS => {
            report.lose("details of a result (too long)");
        }
        Some(details) => draft = draft.with_details(details),
        None => {}
    }
    Ok(EntryDraft::Message(Box::new(draft)))
}
