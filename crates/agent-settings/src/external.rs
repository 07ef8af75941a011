//! Settings of programs outside the agent: hooks, tool servers, and the files of a project.

use std::num::NonZeroU64;

use hooks::{HookPoint, OnFailure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program that runs at points in the life of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct HookSetting {
    /// The points at which it runs; required.
    pub points: Option<Vec<HookPoint>>,
    /// A shell command line (`sh -c`; on Windows `cmd /C`), or a list of a program (an absolute path, or a name on
    /// `PATH`) and its arguments; required.
    pub command: Option<CommandSetting>,
    /// A regular expression that must match the whole subject of the point: the tool, reason, strategy or end. Unset:
    /// everything.
    pub matches: Option<String>,
    /// The time limit in seconds; unset: 30.
    pub timeout_seconds: Option<NonZeroU64>,
    /// The reaction to a failure: `continue` (the default) reports it, `block` also blocks the action.
    pub on_failure: Option<OnFailure>,
    /// Only sessions in this folder and below; unset: all.
    pub folder: Option<String>,
    /// True if the hook is used; unset: true.
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
