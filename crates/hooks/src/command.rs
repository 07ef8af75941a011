//! Hooks that are programs: one JSON object in, one out.

use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;

use crate::point::HookPoint;

/// How long a hook may take unless it is said otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// A hook that is a program. It gets one JSON object on standard input and answers with one on standard
/// output, or with nothing.
#[derive(Debug, Clone)]
pub struct CommandHook {
    /// The name that failures are reported under.
    pub name: String,
    /// Where it is asked or told.
    pub points: Vec<HookPoint>,
    /// What is run.
    pub command: HookCommand,
    /// How long it may take.
    pub timeout: Duration,
    /// What the subject of an event must match: the tool's name, the reason of a compaction; everything unless
    /// given.
    pub matcher: Option<Regex>,
    /// The folder whose sessions it is for; all sessions unless given.
    pub folder: Option<PathBuf>,
    /// Environment variables that it does not get, besides those whose name tells that they hold a secret.
    pub secret_variables: Vec<String>,
}

/// What is run for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookCommand {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Program(Vec<String>),
}
