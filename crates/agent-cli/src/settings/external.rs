//! What the settings say of programs that are not part of the agent: hooks, tool servers, and the texts of a project.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use hooks::HookPoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program that is asked or told at points in the life of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct HookSetting {
    /// Where it is asked or told.
    pub points: Option<Vec<HookPoint>>,
    /// What is run: a line for the shell, or a program and its arguments.
    pub command: Option<CommandSetting>,
    /// A pattern for the tool's name or the compaction's reason; every one unless set.
    pub matches: Option<String>,
    /// How long it may take, in seconds; 30 unless set.
    pub timeout_seconds: Option<NonZeroU64>,
    /// The folder whose sessions it is for; all sessions unless set.
    pub folder: Option<String>,
    /// Whether it is used; it is unless set.
    pub enabled: Option<bool>,
}

/// A line for the shell, or a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CommandSetting {
    /// A line for the shell.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// A program whose tools stand beside the agent's own: a server of the Model Context Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ToolServerSetting {
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Option<Vec<String>>,
    /// Environment variables that it gets beside the agent's own.
    pub env: Option<BTreeMap<String, String>>,
    /// Variables of the agent's own environment that hold secrets and that it gets all the same.
    pub pass_env: Option<Vec<String>>,
    /// The folder that it runs in; the workspace unless set.
    pub cwd: Option<String>,
    /// The tools of it that the model gets; all of them unless set.
    pub tools: Option<Vec<String>>,
    /// How long it may take to start, in seconds; 10 unless set.
    pub start_timeout_seconds: Option<NonZeroU64>,
    /// How long a call may take, in seconds; 120 unless set.
    pub call_timeout_seconds: Option<NonZeroU64>,
    /// Whether it is used; it is unless set.
    pub enabled: Option<bool>,
}

/// The settings under `instructions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct InstructionSettings {
    /// Whether the files with a project's instructions are read.
    pub enabled: bool,
    /// Their names; of those in one folder the first that is there counts.
    pub files: Vec<String>,
    /// How much of one file the model gets, in bytes.
    #[schemars(range(min = 1000, max = 1_000_000))]
    pub max_bytes: u64,
    /// Whether skills are listed.
    pub skills: bool,
}

/// The most that `instructions.maxBytes` may be: more fits no model's window.
const MOST_OF_A_FILE: u64 = 1_000_000;

impl InstructionSettings {
    /// Returns the first value that is above its range: its key, and what is wrong.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        let Self { max_bytes, .. } = self;
        if *max_bytes <= MOST_OF_A_FILE {
            return Ok(());
        }
        let key = "instructions.maxBytes";
        let said = format!("{key} is {max_bytes}, but must be at most {MOST_OF_A_FILE}");
        Err((key.to_owned(), said))
    }
}

impl Default for InstructionSettings {
    fn default() -> Self {
        let names = ["AGENTS.md", ".agents/AGENTS.md", "CLAUDE.md"];
        Self {
            enabled: true,
            files: names.map(str::to_owned).to_vec(),
            max_bytes: 32_000,
            skills: true,
        }
    }
}
