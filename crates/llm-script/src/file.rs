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
/// ## What the user does stands before the answer that it leads to.
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
    /// What the first line says about the whole; empty where there is no such line.
    pub header: ScriptHeader,
    /// What the user does before the first answer.
    pub(crate) first: Vec<ScriptAction>,
    /// The answers and failures, each with what the user does after it.
    pub(crate) turns: Vec<Cue>,
    /// The summaries.
    pub(crate) summaries: Vec<Cue>,
}

/// What a script says about itself.
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
    /// What it thinks; may be empty.
    pub thinking: String,
    /// What it says; may be empty.
    pub text: String,
    /// The tools that it calls.
    pub calls: Vec<ToolCall>,
    /// Why it ends.
    pub stop: StopReason,
    /// What it bills.
    pub usage: ScriptUsage,
    /// How long it lets wait for its first piece.
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

/// What an answer bills, in tokens.
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
    /// What is streamed before it; may be empty.
    pub after_text: String,
}

/// What the user does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptAction {
    /// Says something.
    Say {
        /// The text.
        text: String,
        /// When the model gets it.
        delivery: ScriptDelivery,
    },
    /// Asks for a compaction.
    Compact {
        /// What the summary should look at.
        focus: Option<String>,
    },
    /// Asks for a handoff to a new session.
    Handoff {
        /// What the document should look at.
        focus: Option<String>,
    },
    /// Goes back to an earlier message of the user.
    Navigate {
        /// How many messages of the user back on the path, from 1, the newest.
        back: usize,
        /// Whether a summary of what is left stays behind.
        summarize: bool,
        /// What the summary should look at.
        focus: Option<String>,
    },
    /// Puts a label on an earlier message of the user.
    Label {
        /// How many messages of the user back on the path, from 1, the newest.
        back: usize,
        /// The label.
        text: String,
    },
    /// Stops what is going on.
    Abort,
}

/// When the model gets what the user says.
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

/// Why a script cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// The key, what is wrong with it, and what is allowed.
    pub message: String,
}

/// What one request gets.
pub(crate) type Turn = Result<ScriptAnswer, ScriptFailure>;

/// A turn, and what the user does once it has been given.
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
