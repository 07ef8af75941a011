//! The options of a running session.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::models::ProtocolArg;
use crate::options::tokens_at_least_one;
use agent_settings::Thinking;

/// Options of a running session: `agent-cli -p PROMPT`.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Running a session")]
pub struct RunArgs {
    /// Do this and end: the answer goes to standard output, progress to standard error; - reads standard input.
    #[arg(short = 'p', long = "print", value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// What is printed: text, or one JSON event a line (docs/reference/events.md).
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeArg>,
    /// The model, for example openai/gpt-5.4; `model` of the settings unless given.
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub model: Option<String>,
    /// The provider of --model; or scripted:FILE to play a script instead of asking a model (docs/reference/scripts.md).
    #[arg(long, value_name = "NAME|scripted:FILE")]
    pub provider: Option<String>,
    /// Ask at this address instead of the provider's own.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Use this protocol instead of the provider's own.
    #[arg(long, value_enum, value_name = "WIRE")]
    pub wire: Option<ProtocolArg>,
    /// The environment variable that holds the key.
    #[arg(long, value_name = "VAR")]
    pub api_key_env: Option<String>,
    /// The model's context window in tokens.
    #[arg(long, value_name = "TOKENS", value_parser = tokens_at_least_one, allow_negative_numbers = true)]
    pub window: Option<NonZeroU64>,
    /// How much the model should think.
    #[arg(long, value_enum, value_name = "HOW MUCH")]
    pub thinking: Option<Thinking>,
    /// Keep every exchange with a model in this file, for bug reports; keys are removed, the session's text is not.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Continue the newest session of this folder; without -p and a terminal, finish what it was doing.
    #[arg(short = 'c', long = "continue", group = "which")]
    pub go_on: bool,
    /// Continue the session of this id, or of the only one that begins so; of another agent's, with a copy.
    #[arg(short = 'r', long, value_name = "ID", group = "which")]
    pub resume: Option<String>,
    /// Continue this session file or session, or begin the file.
    #[arg(long, value_name = "FILE|ID", group = "which")]
    pub session: Option<PathBuf>,
    /// Continue in a copy of this session; the session itself stays as it is.
    #[arg(long, value_name = "FILE|ID", group = "which")]
    pub fork: Option<PathBuf>,
    /// Keep nothing on disk.
    #[arg(long, group = "which")]
    pub no_session: bool,
    /// Where sessions are kept.
    #[arg(long, value_name = "DIR")]
    pub session_dir: Option<PathBuf>,
    /// The folder that the tools work in; this one unless given.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The tools of the model, comma-separated, those of servers as SERVER__TOOL or SERVER__*; none for none.
    #[arg(long, value_name = "NAMES")]
    pub tools: Option<String>,
    /// Let the model use this tool without asking, for this run: bash, SERVER__TOOL, or SERVER__* for all of a server.
    #[arg(long, value_name = "TOOL")]
    pub allow: Vec<String>,
    /// The system prompt, in place of the built-in one.
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// On a terminal: plain lines, which screen readers follow, in place of an editor at the bottom.
    #[arg(long, conflicts_with = "prompt")]
    pub plain: bool,
    /// Read no AGENTS.md or the like, and list no skills (docs/reference/instructions.md).
    #[arg(long)]
    pub no_instructions: bool,
}

/// What a run prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ModeArg {
    /// Text for people.
    #[default]
    Text,
    /// One JSON event a line.
    Json,
}

impl RunArgs {
    pub fn are_given(&self) -> bool {
        *self != Self::default()
    }
}
