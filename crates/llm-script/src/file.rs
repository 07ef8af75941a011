//! A script as a file has it: JSON lines with what the model answers and what the user does.

use std::path::PathBuf;
use std::time::Duration;

use llm_providers::ProviderError;
use serde::Deserialize;
use session_model::json::RawJson;
use session_model::{StopReason, ToolCall};

use crate::values::or_default;

/// A script: what a model answers and what the user does.
///
/// ```
/// use llm_script::{Script, ScriptAction, ScriptDelivery};
///
/// let script = Script::parse(r#"
/// {"script":1,"name":"greeting","window":16384}
/// ## The user acts before the answer that this leads to.
/// {"user":{"say":"good morning"}}
/// {"answer":{"text":"Good morning. What shall we build?"}}
/// "#)?;
/// let play = script.play(0, 0);
/// let say = ScriptAction::Say { text: "good morning".to_owned(), delivery: ScriptDelivery::Prompt };
/// assert_eq!(play.take_actions(), [say]);
/// assert_eq!(play.answers_left(), 1);
/// # Ok::<(), llm_script::ScriptError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// The facts of the first line about the whole script; empty if there is no such line.
    pub header: ScriptHeader,
    /// The user's actions before the first answer.
    pub(crate) first: Vec<ScriptAction>,
    /// The answers and failures, each with what the user does after it.
    pub(crate) turns: Vec<Cue>,
    /// The summaries.
    pub(crate) summaries: Vec<Cue>,
}

/// The header of a script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScriptHeader {
    /// The name, which is the model's id.
    pub name: Option<String>,
    /// The model's window in tokens.
    pub window: Option<u64>,
    /// The most that the model answers, in tokens.
    pub max_output: Option<u64>,
    /// A folder, relative to the script file, of which a scratch copy is worked in.
    pub workspace: Option<PathBuf>,
    /// Settings, an object that the program merges into its own.
    pub settings: Option<RawJson>,
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptAnswer {
    /// The thinking; may be empty.
    pub thinking: String,
    /// The text; may be empty.
    pub text: String,
    /// The tools that it calls.
    pub calls: Vec<ToolCall>,
    /// The reason why it ends.
    pub stop: StopReason,
    /// The billed usage.
    pub usage: ScriptUsage,
    /// The delay of its first piece.
    pub pause: Duration,
}

impl Default for ScriptAnswer {
    fn default() -> Self {
        Self {
            thinking: String::new(),
            text: String::new(),
            calls: Vec::new(),
            stop: StopReason::Stop,
            usage: ScriptUsage::default(),
            pause: Duration::ZERO,
        }
    }
}

/// The billed usage of an answer, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptUsage {
    /// Prompt tokens that were not cached; `None` for an estimate of the request, less what the cache had.
    pub input: Option<u64>,
    /// Tokens of the answer; `None` for an estimate of it.
    pub output: Option<u64>,
    /// Prompt tokens read from the cache.
    #[serde(deserialize_with = "or_default")]
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    #[serde(deserialize_with = "or_default")]
    pub cache_write: u64,
}

/// A request that fails.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptFailure {
    /// The error.
    pub error: ProviderError,
    /// The text that is streamed before it; may be empty.
    pub after_text: String,
}

/// An action of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptAction {
    /// Says something.
    Say {
        /// The text.
        text: String,
        /// When the model gets the text.
        delivery: ScriptDelivery,
    },
    /// Asks for a compaction.
    Compact {
        /// What the summary should focus on.
        focus: Option<String>,
    },
    /// Asks for a handoff to a new session.
    Handoff {
        /// What the document should focus on.
        focus: Option<String>,
    },
    /// Goes back to an earlier message of the user.
    Navigate {
        /// The number of user messages to go back on the path; 1 is the newest.
        back: usize,
        /// True if the branch that is left is summarized.
        summarize: bool,
        /// What the summary should focus on.
        focus: Option<String>,
    },
    /// Puts a label on an earlier message of the user.
    Label {
        /// The number of user messages to go back on the path; 1 is the newest.
        back: usize,
        /// The label.
        text: String,
    },
    /// Stops what is going on.
    Abort,
}

/// When the model gets the user's text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptDelivery {
    /// Immediately, as the next prompt.
    #[default]
    Prompt,
    /// While a turn runs: after the tool calls that are going on.
    Steer,
    /// After the turn that runs.
    FollowUp,
}

/// The reason why a script cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The key, what is wrong with it, and what is allowed.
    pub message: String,
}

/// The answer or failure for one request.
pub(crate) type Turn = Result<ScriptAnswer, ScriptFailure>;

/// A turn, and the user's actions after it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cue {
    pub turn: Turn,
    pub then: Vec<ScriptAction>,
}

impl From<Turn> for Cue {
    fn from(turn: Turn) -> Self {
        Self {
            turn,
            then: Vec::new(),
        }
    }
}
