//! Hooks that are programs: one JSON object in, one out.

mod answer;
mod end;
mod members;
mod run;
#[cfg(all(test, unix))]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::event::{
    BeforeCompactEvent, BeforeCompactResult, BeforePromptEvent, BeforePromptResult,
    BeforeTreeEvent, BeforeTreeResult, CompactingEvent, CompactingResult, Notification,
    ToolCallEvent, ToolCallResult,
};
use crate::hook::{Hook, HookContext, HookError, HookFuture};
use crate::payload::HookEvent;
use crate::point::HookPoint;

pub use answer::HookAnswer;
pub use end::CommandEnd;
pub use run::CommandRun;

/// The default time limit of a hook.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// The reaction to a hook that fails: it cannot be started, crashes, times out or answers something invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// The failure is reported, and the action continues.
    #[default]
    Continue,
    /// The action is blocked, if a hook can block it ([`HookPoint::can_block`]): for hooks that guard.
    Block,
}

/// A pattern for the subject of events ([`HookPoint::subject`]), which it must match as a whole: `a|ab` matches
/// `ab`, and neither `abc` nor `cab`.
#[derive(Debug, Clone)]
pub struct Matcher(Regex);

impl Matcher {
    /// Returns the matcher of a regular expression.
    ///
    /// # Errors
    /// The regular expression is invalid, by itself or as a pattern for a whole text.
    pub fn new(pattern: &str) -> Result<Self, regex::Error> {
        Regex::new(pattern)?;
        Regex::new(&format!(r"\A(?:{pattern})\z")).map(Self)
    }

    /// Returns true if the expression matches the whole `subject`.
    pub fn matches(&self, subject: &str) -> bool {
        self.0.is_match(subject)
    }
}

/// A hook that is a program. It gets one JSON object on standard input and answers with one on standard
/// output, or with nothing.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CommandHook {
    /// The name that failures are reported under.
    pub name: String,
    /// The points at which it runs.
    pub points: Vec<HookPoint>,
    /// The command.
    pub command: HookCommand,
    /// Its time limit.
    pub timeout: Duration,
    /// The reaction to its failure.
    pub on_failure: OnFailure,
    /// The pattern that the subject of an event must match: the tool's name, the reason of a compaction; by default
    /// every subject matches.
    pub matcher: Option<Matcher>,
    /// The folder for whose sessions it runs; by default all sessions.
    pub folder: Option<PathBuf>,
    /// Environment variables that it does not get, in addition to those with the name of a secret.
    pub secret_variables: Vec<String>,
    /// Removes from a document what the hook must not read.
    pub cleaner: Option<Cleaner>,
}

/// Removes keys from the document that a command hook reads, before it is written.
#[derive(Clone)]
pub struct Cleaner(Arc<dyn Fn(String) -> String + Send + Sync>);

impl Cleaner {
    /// Returns one that does `clean`, which must give JSON back for JSON.
    pub fn new(clean: impl Fn(String) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(clean))
    }
}

impl fmt::Debug for Cleaner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cleaner")
    }
}

/// The command of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookCommand {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Program(Vec<String>),
}

/// An error in a command hook's configuration, found before it runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidHook {
    /// It has no points, so it never runs.
    #[error("points is empty; choose from {}", HookPoint::ALL.map(HookPoint::name).join(", "))]
    NoPoints,
    /// There is nothing to run.
    #[error("command is empty; name a program")]
    NoCommand,
    /// Its program would be searched for in the working folder.
    #[error(
        "command names {0}, which would be another program in every folder; write its path from the root on"
    )]
    Relative(String),
    /// It has a pattern, and a point without a subject.
    #[error("matches has nothing to match at {0}; name that point in a hook without matches")]
    NothingToMatch(HookPoint),
    /// It blocks when it fails, and no point of it can block.
    #[error(
        "onFailure is block, but none of its points can block; name one that can: {}",
        blocking_points()
    )]
    NothingToBlock,
}

fn blocking_points() -> String {
    let points = HookPoint::ALL.into_iter();
    let points = points.filter(|point| point.can_block());
    points.map(HookPoint::name).collect::<Vec<_>>().join(", ")
}

/// Returns true if the path of a program depends on the working folder; a bare name is looked up in `PATH`.
fn is_relative(program: &str) -> bool {
    let path = std::path::Path::new(program);
    path.components().count() > 1 && !path.is_absolute()
}

impl CommandHook {
    /// Returns a hook that runs `command` at `points`, for every session and subject, with the default time limit.
    pub fn new(name: impl Into<String>, points: Vec<HookPoint>, command: HookCommand) -> Self {
        Self {
            name: name.into(),
            points,
            command,
            timeout: TIMEOUT,
            on_failure: OnFailure::default(),
            matcher: None,
            folder: None,
            secret_variables: Vec::new(),
            cleaner: None,
        }
    }

    /// Looks for what would keep the hook from ever working.
    ///
    /// # Errors
    /// The first error.
    pub fn check(&self) -> Result<(), InvalidHook> {
        let empty = match &self.command {
            HookCommand::Shell(line) => line.trim().is_empty(),
            HookCommand::Program(words) => words.first().is_none_or(String::is_empty),
        };
        if empty {
            return Err(InvalidHook::NoCommand);
        }
        if let HookCommand::Program(words) = &self.command
            && let Some(program) = words.first().filter(|word| is_relative(word))
        {
            return Err(InvalidHook::Relative(program.clone()));
        }
        if self.points.is_empty() {
            return Err(InvalidHook::NoPoints);
        }
        if self.on_failure == OnFailure::Block && !self.points.iter().any(|point| point.can_block())
        {
            return Err(InvalidHook::NothingToBlock);
        }
        if self.matcher.is_none() {
            return Ok(());
        }
        let mut points = self.points.iter();
        match points.find(|point| point.subject().is_none()) {
            Some(point) => Err(InvalidHook::NothingToMatch(*point)),
            None => Ok(()),
        }
    }

    /// Returns true if the hook is for this event in this session: by its points, its pattern and its folder.
    pub fn applies(&self, event: &HookEvent<'_>, context: &HookContext) -> bool {
        let matches = match (&self.matcher, event.subject()) {
            (None, _) => true,
            (Some(matcher), Some(subject)) => matcher.matches(subject),
            (Some(_), None) => false,
        };
        matches
            && self.points.contains(&event.point())
            && self
                .folder
                .as_deref()
                .is_none_or(|folder| real(&context.cwd).starts_with(real(folder)))
    }

    /// Runs the hook, for any event. No process of it remains when it is done, or when the future is dropped.
    pub async fn run(&self, event: &HookEvent<'_>, context: &HookContext) -> CommandRun {
        let document = event.document(context);
        let document = match &self.cleaner {
            Some(Cleaner(clean)) => clean(document),
            None => document,
        };
        run::run(self, (event, document), context).await
    }

    /// Does the same with `document` on standard input, unchanged; the output is read as an answer to `event`.
    pub async fn run_with(
        &self,
        event: &HookEvent<'_>,
        document: String,
        context: &HookContext,
    ) -> CommandRun {
        run::run(self, (event, document), context).await
    }

    async fn ask(
        &self,
        event: HookEvent<'_>,
        context: &HookContext,
    ) -> Result<HookAnswer, HookError> {
        match self.applies(&event, context) {
            true => self.run(&event, context).await.outcome,
            false => Ok(HookAnswer::nothing(event.point())),
        }
    }
}

/// Returns a folder's path without links, if the system can resolve it.
fn real(folder: &Path) -> PathBuf {
    folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf())
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn wants(&self, point: HookPoint) -> bool {
        self.points.contains(&point)
    }

    fn before_prompt<'a>(
        &'a self,
        event: &'a BeforePromptEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, BeforePromptResult> {
        Box::pin(async move {
            match self.ask(HookEvent::BeforePrompt(*event), context).await? {
                HookAnswer::BeforePrompt(result) => Ok(result),
                other => Err(mistaken(&other)),
            }
        })
    }

    fn tool_call<'a>(
        &'a self,
        event: &'a ToolCallEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, ToolCallResult> {
        Box::pin(async move {
            match self.ask(HookEvent::ToolCall(*event), context).await? {
                HookAnswer::ToolCall(result) => Ok(result),
                other => Err(mistaken(&other)),
            }
        })
    }

    fn before_compact<'a>(
        &'a self,
        event: &'a BeforeCompactEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, BeforeCompactResult> {
        Box::pin(async move {
            match self.ask(HookEvent::BeforeCompact(*event), context).await? {
                HookAnswer::BeforeCompact(result) => Ok(result),
                other => Err(mistaken(&other)),
            }
        })
    }

    fn compacting<'a>(
        &'a self,
        event: &'a CompactingEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, CompactingResult> {
        Box::pin(async move {
            match self.ask(HookEvent::Compacting(*event), context).await? {
                HookAnswer::Compacting(result) => Ok(result),
                other => Err(mistaken(&other)),
            }
        })
    }

    fn before_tree<'a>(
        &'a self,
        event: &'a BeforeTreeEvent<'_>,
        context: &'a HookContext,
    ) -> HookFuture<'a, BeforeTreeResult> {
        Box::pin(async move {
            match self.ask(HookEvent::BeforeTree(*event), context).await? {
                HookAnswer::BeforeTree(result) => Ok(result),
                other => Err(mistaken(&other)),
            }
        })
    }

    fn notify<'a>(
        &'a self,
        notification: &'a Notification,
        context: &'a HookContext,
    ) -> HookFuture<'a, ()> {
        Box::pin(async move {
            let event = HookEvent::Notification(notification);
            self.ask(event, context).await.map(|_| ())
        })
    }
}

/// Returns the error for an answer to another point, which the parser of answers rules out.
fn mistaken(answer: &HookAnswer) -> HookError {
    HookError(format!("the answer is to something else: {answer}"))
}
