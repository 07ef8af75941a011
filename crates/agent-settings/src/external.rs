//! What the settings say of programs that are not part of the agent: hooks, tool servers, and the texts of a project.

use std::num::NonZeroU64;

use hooks::{HookPoint, OnFailure};
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
    /// What happens when it fails; `continue` unless set. `block` is for hooks that guard.
    pub on_failure: Option<OnFailure>,
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
