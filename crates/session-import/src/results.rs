//! Results of calls: what is known of one, and the message that it becomes. Lines that stand for results that are read
//! later.

use std::fmt::Write;

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

/// How the messages of lines begin that stand for longer ones. In a message of a session, the id of a call follows the
/// role.
pub(crate) const MARK: &str = r#","message":{"role":"toolResult","left":["#;

/// Where a result stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LaterPlace {
    /// The number of the log.
    pub log: usize,
    /// The record in it.
    pub span: Span,
    /// Which of the results of the record it is.
    pub block: usize,
}

/// Writes the line that stands for a result.
pub(crate) fn short_result(
    line: &mut String,
    stamp: &Stamp,
    call: &PendingCall,
    at: Option<Timestamp>,
    place: LaterPlace,
) {
    push(line, r#"{"type":"message","id":"#, &stamp.id);
    match &stamp.parent {
        Some(parent) => push(line, r#","parentId":"#, parent),
        None => line.push_str(r#","parentId":null"#),
    }
    let Span { offset, len } = place.span;
    line.push_str(r#","timestamp":""#);
    // A text takes everything.
    let _ = write!(line, "{}", stamp.timestamp);
    line.extend(["\"", MARK]);
    numbers(
        line,
        &[place.log as u64, offset, len.into(), place.block as u64],
    );
    line.push_str(r#"],"timestamp":"#);
    match at.map(Timestamp::as_millis) {
        Some(at) if at >= 0 => numbers(line, &[at as u64]),
        Some(at) => line.push_str(&at.to_string()),
        None => line.push_str("null"),
    }
    push(line, r#","toolCallId":"#, &call.id);
    push(line, r#","toolName":"#, &call.name);
    line.push_str("}}");
}

/// Writes numbers, with commas between them.
fn numbers(line: &mut String, numbers: &[u64]) {
    for (place, number) in numbers.iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        let mut digits = [0; 20];
        let (mut from, mut rest) = (digits.len(), *number);
        while rest > 0 || from == digits.len() {
            from -= 1;
            digits[from] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        line.extend(digits[from..].iter().map(|digit| char::from(*digit)));
    }
}

/// Adds a member whose value is a text.
fn push(line: &mut String, key: &str, text: &str) {
    line.push_str(key);
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    // Without an early end, many bytes are looked at in one step.
    match text.bytes().fold(true, |all, byte| all & is_plain(byte)) {
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
    /// What the model sees in its place, where it was cleared or shortened.
    pub replacement: Option<String>,
    /// Where all but the id and the time stands, if it is read once somebody asks for it.
    pub later: Option<LaterPlace>,
}

/// A call that waits for its result.
#[derive(Debug, Clone)]
pub(crate) struct PendingCall {
    pub id: String,
    pub name: String,
}

impl PendingCall {
    /// Returns the call that a block is.
    pub fn of(block: &Block) -> Option<Self> {
        match block {
            Block::ToolCall(call) => Some(Self {
                id: call.id.clone(),
                name: call.name.clone(),
            }),
            _ => None,
        }
    }
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
        nested_calls: None,
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
