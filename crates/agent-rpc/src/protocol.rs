//! The protocol: what may be asked, and the form of an answer.

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
    /// Says something as a prompt of its own, once the agent is idle. Answered when the message is kept.
    Prompt {
        /// What.
        text: String,
    },
    /// Says something into the turn that runs, after the tools that run. Answered when the message is kept.
    Steer {
        /// What.
        text: String,
    },
    /// Says something when the turn that runs is done. Answered when the message is kept.
    FollowUp {
        /// What.
        text: String,
    },
    /// Takes back a message that waits.
    TakeBack {
        /// Its id.
        message_id: String,
    },
    /// Goes on with what an earlier run was doing. Answered when it is known whether anything is left.
    Resume {},
    /// Stops what runs. Answered when the session rests.
    Abort {},
    /// Compacts; a turn that runs is stopped for it and goes on. Answered when the compaction is over.
    Compact {
        /// What the summary should focus on.
        focus: Option<String>,
        /// The strategy; that of the settings unless given.
        strategy: Option<Strategy>,
        /// Entries that the summary keeps verbatim, in this compaction and in later ones.
        #[serde(default)]
        pin: Vec<String>,
        /// Entries that leave the context and are not summarized; they stay in the session.
        #[serde(default)]
        drop: Vec<String>,
        /// Whether the summary waits for `review_compaction` before it is written: `compaction_review` has it.
        #[serde(default)]
        review: bool,
    },
    /// Lets the summary that waits be written.
    ReviewCompaction {
        /// A text in its place.
        summary: Option<String>,
    },
    /// Stops compactions and branch summaries. Answered immediately; the compaction has its own answer.
    AbortCompaction {},
    /// Switches automatic compaction on or off for this run.
    SetAutoCompaction {
        /// On or off.
        enabled: bool,
    },
    /// Lets another model answer from the next request on.
    SetModel {
        /// `PROVIDER/MODEL`, or `scripted:FILE`.
        model: String,
    },
    /// Tells how the session is.
    GetState {},
    /// Gives the messages that the model would see: the document of `agent-cli context --json`.
    GetContext {},
    /// Gives what a compaction would do now: the document of `agent-cli plan --json`.
    GetPlan {
        /// What the summary should focus on.
        focus: Option<String>,
    },
    /// Gives entries and branches: the document of `agent-cli tree --json`.
    GetTree {},
    /// Moves the leaf, when nothing goes on. Answered when the move is written.
    NavigateTree {
        /// The entry to go to, a message of the user returns to the editor; null is before everything.
        #[serde(deserialize_with = "Option::deserialize")]
        entry_id: Option<String>,
        /// Whether the branch that is left is summarized.
        #[serde(default)]
        summarize: bool,
        /// What the summary should focus on.
        focus: Option<String>,
        /// A label for the place that is reached.
        label: Option<String>,
    },
    /// Goes on in a copy of the session, when nothing goes on.
    Fork {
        /// The entry at which the copy ends; where the session stands unless given.
        entry_id: Option<String>,
    },
    /// Takes back the newest compaction, pruning or move, when nothing goes on.
    Undo {
        /// Whether it is taken back although another program wrote it; it is refused otherwise.
        #[serde(default)]
        any: bool,
    },
    /// Brings again what was undone last, when nothing goes on. With a strategy: compacts by it in the place of the
    /// newest compaction, or of the one that was undone last; answered when that is over, as `compact` is.
    Redo {
        /// The strategy of a compaction in the place of the newest.
        strategy: Option<Strategy>,
        /// What its summary should focus on.
        focus: Option<String>,
        /// Whether what came after the newest compaction is left behind; it is refused otherwise.
        #[serde(default)]
        leave_later: bool,
    },
    /// Keeps something verbatim through every compaction: an entry or a text, one of them.
    Pin {
        /// The entry.
        entry_id: Option<String>,
        /// The text.
        text: Option<String>,
    },
    /// Lets something that was pinned go.
    Unpin {
        /// The pinned entry, or the entry that holds the text.
        entry_id: String,
    },
    /// Gives what is pinned, and how much room is left; also before the first answer, when there is no file yet.
    Pins {},
    /// Answers the question whether a tool call may run.
    Approve {
        /// The call.
        call_id: String,
        /// The answer.
        decision: Approval,
    },
    /// Chooses the events that are told from now on; at first all are.
    Subscribe {
        /// Names of events, or `all`; none of them for none.
        events: Vec<String>,
    },
    /// Writes a document and goes on from it in a new session. Answered when that is over.
    Handoff {
        /// What the document should focus on.
        focus: Option<String>,
    },
    /// Puts a label on an entry.
    Label {
        /// The entry.
        entry_id: String,
        /// The label; null takes it off.
        #[serde(deserialize_with = "Option::deserialize")]
        label: Option<String>,
    },
    /// Stops what runs and ends the session. Answered last of all.
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
    /// It may not, nor any call like it.
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

/// What an answer gives.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Data {
    /// What the session said.
    Reply(Reply),
    /// A document.
    Document(Value),
    /// The events that are told.
    Subscribed(Subscribed),
}

/// The events that are told from now on.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Subscribed {
    /// Their names, or `all`.
    pub events: Vec<String>,
}

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RpcError {
    /// What kind of error.
    pub kind: ErrorKind,
    /// The member of the request that is to blame; null where none is.
    pub field: Option<String>,
    /// What is wrong and what to do; begins with the number of the line where the request has no id.
    pub message: String,
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorKind {
    /// The line is no JSON object.
    Malformed,
    /// The command is unknown, or a member is missing, unknown or of no use.
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
        // Each text by itself: cut out of the line, a key with odd characters could take some of the JSON along.
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
