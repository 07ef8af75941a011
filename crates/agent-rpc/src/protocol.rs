//! The protocol: the requests, and the form of an answer.

use compaction_core::Strategy;
use llm_providers::Redactor;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use agent_tools::approval::Decision;
use agent_tools::text::each_string;
use session_protocol::{Refusal, RefusalKind, Reply};

/// A request: one JSON object a line, with `type` and, if the answer should bear one, an `id`.
///
/// It is read as `{"TYPE": {...}}`, so that an error names its member; its schema has `type` inside, as lines do.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(tag = "type")]
pub(crate) enum Request {
    /// Sends a prompt once the agent is idle. Answered when the message is stored.
    Prompt {
        /// The message.
        text: String,
    },
    /// Sends a message into the running turn, after the running tools. Answered when it is stored.
    Steer {
        /// The message.
        text: String,
    },
    /// Sends a message after the running turn. Answered when it is stored.
    FollowUp {
        /// The message.
        text: String,
    },
    /// Takes back a waiting message.
    TakeBack {
        /// Its id.
        message_id: String,
    },
    /// Continues unfinished work of an earlier run. Answered when it is known whether there is any.
    Resume {},
    /// Stops what runs. Answered when the session is idle.
    Abort {},
    /// Compacts; a running turn is stopped and continues afterwards. Answered when the compaction has ended.
    Compact {
        /// What the summary should focus on.
        focus: Option<String>,
        /// The strategy; by default that of the settings.
        strategy: Option<Strategy>,
        /// Entries that this and later summaries keep verbatim.
        #[serde(default)]
        pin: Vec<String>,
        /// Entries that leave the context without being summarized.
        #[serde(default)]
        drop: Vec<String>,
        /// True if the summary (event `compaction_review`) waits for `review_compaction`.
        #[serde(default)]
        review: bool,
    },
    /// Lets a waiting summary be written.
    ReviewCompaction {
        /// A text that replaces it.
        summary: Option<String>,
    },
    /// Stops compactions and branch summaries. Answered immediately; `compact` has its own response.
    AbortCompaction {},
    /// Switches automatic compaction on or off for this run.
    SetAutoCompaction {
        /// On or off.
        enabled: bool,
    },
    /// Switches the model from the next request on.
    SetModel {
        /// `PROVIDER/MODEL`, or `scripted:FILE`.
        model: String,
    },
    /// Returns the state of the session.
    GetState {},
    /// Returns the messages that the model would see.
    GetContext {},
    /// Returns what a compaction would do now.
    GetPlan {
        /// What the summary should focus on.
        focus: Option<String>,
    },
    /// Returns entries and branches.
    GetTree {},
    /// Moves the leaf while nothing runs. Answered when the move is written.
    NavigateTree {
        /// The target; null for before all entries. A message of the user returns to the editor.
        #[serde(deserialize_with = "Option::deserialize")]
        entry_id: Option<String>,
        /// True to summarize the branch that is left.
        #[serde(default)]
        summarize: bool,
        /// What the summary should focus on.
        focus: Option<String>,
        /// A label for the target.
        label: Option<String>,
    },
    /// Continues in a copy of the session, while nothing runs.
    Fork {
        /// The entry at which the copy ends; by default the leaf.
        entry_id: Option<String>,
    },
    /// Takes back the newest compaction, pruning or move, while nothing runs.
    Undo {
        /// True to take back what another program wrote; refused otherwise.
        #[serde(default)]
        any: bool,
    },
    /// Re-applies the last undo, while nothing runs. With a strategy: replaces the newest compaction, or the one that
    /// was undone last; answered when that has ended.
    Redo {
        /// The strategy of the new compaction.
        strategy: Option<Strategy>,
        /// What the summary should focus on.
        focus: Option<String>,
        /// True to leave behind what came after the newest compaction; refused otherwise.
        #[serde(default)]
        leave_later: bool,
    },
    /// Pins an entry or a text; one of them is required.
    Pin {
        /// The entry.
        entry_id: Option<String>,
        /// The text.
        text: Option<String>,
    },
    /// Removes a pin.
    Unpin {
        /// The pinned entry, or the entry that holds the text.
        entry_id: String,
    },
    /// Lists the pins and their budget; also before the first answer.
    Pins {},
    /// Answers an `approval_request`.
    Approve {
        /// The call.
        call_id: String,
        /// The answer.
        decision: Approval,
    },
    /// Chooses the events that are sent; at first all.
    Subscribe {
        /// Names of events, or `all`; an empty list for none.
        events: Vec<String>,
    },
    /// Writes a document and continues from it in a new session. Answered when that has ended.
    Handoff {
        /// What the document should focus on.
        focus: Option<String>,
    },
    /// Sets or removes a label.
    Label {
        /// The entry.
        entry_id: String,
        /// The label; null removes it.
        #[serde(deserialize_with = "Option::deserialize")]
        label: Option<String>,
    },
    /// Stops what runs and ends the session. Answered last.
    Close {},
}

/// The answer to the question whether a tool call may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Approval {
    /// It may, this once.
    Once,
    /// It may, and so may every call like it.
    Always,
    /// It may not, this once.
    Deny,
    /// The call may not run, nor any call like it.
    Never,
}

impl From<Approval> for Decision {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::Once => Self::Once,
            Approval::Always => Self::Always,
            Approval::Deny => Self::Deny,
            Approval::Never => Self::Never,
        }
    }
}

/// The id of a request, exactly as written: a string or a number.
pub(crate) type Id = Box<RawValue>;

/// The one answer to a request.
#[derive(Debug, Serialize)]
pub(crate) struct Response {
    r#type: &'static str,
    id: Option<Id>,
    command: Option<String>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Data>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

/// The data of an answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Data {
    /// The session's reply.
    Reply(Reply),
    /// A document.
    Document(Value),
    /// The events that are sent.
    Subscribed(Subscribed),
}

/// The events that are sent.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Subscribed {
    /// Their names, or `all`.
    pub events: Vec<String>,
}

/// The error of a failed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RpcError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The member of the request that is wrong, if one is.
    pub field: Option<String>,
    /// The error and what to do; begins with the line number if the request has no id.
    pub message: String,
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorKind {
    /// The line is not a JSON object.
    Malformed,
    /// The command is unknown, or a member is missing, unknown or unusable.
    Invalid,
    /// It cannot be done now, or not with this.
    Refused,
    /// There is nothing to do.
    NothingToDo,
    /// It was tried and failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// The session has ended before it was done.
    Closed,
}

impl Response {
    pub fn done(id: Option<Id>, command: &str, data: Data) -> Self {
        Self {
            r#type: "response",
            id,
            command: Some(command.to_owned()),
            success: true,
            data: Some(data),
            error: None,
        }
    }

    pub fn failed(id: Option<Id>, command: Option<String>, error: RpcError) -> Self {
        Self {
            r#type: "response",
            id,
            command,
            success: false,
            data: None,
            error: Some(error),
        }
    }

    /// Returns the response to a request that cannot be used; one without an id is named by the number of its line.
    pub fn refused(
        number: u64,
        id: Option<Id>,
        command: Option<String>,
        mut error: RpcError,
    ) -> Self {
        if id.is_none() {
            error.message = format!("line {number}: {}", error.message);
        }
        Self::failed(id, command, error)
    }

    /// Returns the line, without the keys that `redactor` knows.
    pub fn line(&self, redactor: &Redactor) -> String {
        let line = serde_json::to_string(self).unwrap_or_default();
        if redactor.clean_answer(&line) == line {
            return line;
        }
        // Each text by itself: if the whole line were cleaned, a key with odd characters could remove some of the JSON.
        let clean = |text: &mut String| *text = redactor.clean_answer(text);
        let mut data = self
            .data
            .as_ref()
            .and_then(|data| serde_json::to_value(data).ok());
        data.iter_mut().for_each(|data| each_string(data, &clean));
        let mut error = self.error.clone();
        error.iter_mut().for_each(|error| clean(&mut error.message));
        let without = Self {
            r#type: self.r#type,
            id: self.id.clone(),
            command: self.command.clone(),
            success: self.success,
            data: data.map(Data::Document),
            error,
        };
        serde_json::to_string(&without).unwrap_or_default()
    }
}

impl RpcError {
    /// Returns that the session has ended.
    pub fn closed() -> Self {
        Self {
            kind: ErrorKind::Closed,
            field: None,
            message: "the session has ended".to_owned(),
        }
    }

    /// Returns that a member is of no use.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self {
            kind: ErrorKind::Invalid,
            field: Some(field.to_owned()),
            message: message.into(),
        }
    }
}

impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        Self {
            kind: match refusal.kind {
                RefusalKind::Refused => ErrorKind::Refused,
                RefusalKind::NothingToDo => ErrorKind::NothingToDo,
                RefusalKind::Failed => ErrorKind::Failed,
                RefusalKind::Cancelled => ErrorKind::Cancelled,
            },
            field: None,
            message: refusal.message,
        }
    }
}
