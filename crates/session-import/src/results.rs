//! Results of calls: what is known of one, the message that it becomes, and the line that stands for it where it is read
//! later.

use serde_json::Value;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Block, Content, EntryDraft, MessageDraft, Span, Stamp, Timestamp,
    ToolResultMessage,
};

use crate::error::ImportError;
use crate::report::ImportReport;

/// The longest details of a result that are kept, in bytes.
const LONGEST_DETAILS: usize = 16 * 1024;

/// How the message of a line begins that stands for a longer one. A message of a session begins with its role and, of a
/// result, the id of its call.
pub(crate) const MARK: &str = r#","message":{"role":"toolResult","left":["#;

/// Where a result stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResultPlace {
    /// The number of the log.
    pub log: usize,
    /// The record in it.
    pub span: Span,
    /// Which of the results of the record it is.
    pub block: usize,
}

/// Returns the line that stands for a result.
pub(crate) fn short_line(
    stamp: &Stamp,
    call: &PendingCall,
    at: Option<Timestamp>,
    place: ResultPlace,
) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let parent = stamp.parent.as_ref().map(|id| quoted(id.as_str()));
    let millis = at.map(|at| at.as_millis().to_string());
    let null = || "null".to_owned();
    format!(
        r#"{{"type":"message","id":{},"parentId":{},"timestamp":"{}"{MARK}{},{},{},{}],"toolCallId":{},"toolName":{},"timestamp":{}}}}}"#,
        quoted(stamp.id.as_str()),
        parent.unwrap_or_else(null),
        stamp.timestamp,
        place.log,
        place.span.offset,
        place.span.len,
        place.block,
        quoted(&call.id),
        quoted(&call.name),
        millis.unwrap_or_else(null),
    )
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
    pub later: Option<ResultPlace>,
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
