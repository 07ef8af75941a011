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

/// How long a hook may take by default.
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
    /// What the subject of an event ([`HookPoint::subject`]) must match as a whole: the tool's name, the reason
    /// of a compaction; everything unless given.
    pub matcher: Option<Regex>,
    /// The folder whose sessions it is for; all sessions unless given.
    pub folder: Option<PathBuf>,
    /// Environment variables that it does not get, besides those whose name tells that they hold a secret.
    pub secret_variables: Vec<String>,
    /// What takes out of a document what the hook must not read.
    pub cleaner: Option<Cleaner>,
}

/// What changes the document that a command hook reads, before it is written: it takes keys out of it.
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

/// What is run for a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookCommand {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments.
    Program(Vec<String>),
}

/// What is wrong with a command hook before it ever runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHook {
    /// It is never asked or told.
    #[error("points is empty; choose from {}", HookPoint::ALL.map(HookPoint::name).join(", "))]
    NoPoints,
    /// There is nothing to run.
    #[error("command is empty; name a program")]
    NoCommand,
    /// Its program would be looked for in the folder that is worked in.
    #[error(
        "command names {0}, which would be another program in every folder; write its path from the root on"
    )]
    Relative(String),
    /// It has a pattern, and a point where there is nothing to match.
    #[error("matches has nothing to match at {0}; name that point in a hook without matches")]
    NothingToMatch(HookPoint),
    /// Its pattern cannot stand for a whole subject.
    #[error("matches cannot be used: {0}")]
    Pattern(String),
}

/// Returns whether a program is named by a path that depends on where it is run; a bare name is looked up.
fn is_relative(program: &str) -> bool {
    let path = std::path::Path::new(program);
    path.components().count() > 1 && !path.is_absolute()
}

impl CommandHook {
    /// Looks for what would keep the hook from ever working.
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
        let Some(matcher) = &self.matcher else {
            return Ok(());
        };
        whole(matcher).map_err(|error| InvalidHook::Pattern(error.to_string()))?;
        let mut points = self.points.iter();
        match points.find(|point| point.subject().is_none()) {
            Some(point) => Err(InvalidHook::NothingToMatch(*point)),
            None => Ok(()),
        }
    }

    /// Returns whether the hook is for this event in this session: by its points, its pattern and its folder.
    pub fn applies(&self, event: &HookEvent<'_>, context: &HookContext) -> bool {
        let matches = match (&self.matcher, event.subject()) {
            (None, _) => true,
            (Some(matcher), Some(subject)) => {
                whole(matcher).is_ok_and(|matcher| matcher.is_match(subject))
            }
            (Some(_), None) => false,
        };
        matches
            && self.points.contains(&event.point())
            && self
                .folder
                .as_deref()
                .is_none_or(|folder| real(&context.cwd).starts_with(real(folder)))
    }

    /// Runs the hook, whether or not it is for this event. Nothing of it is left when it is done, nor when the
    /// future is dropped.
    pub async fn run(&self, event: &HookEvent<'_>, context: &HookContext) -> CommandRun {
        let document = event.document(context);
        let document = match &self.cleaner {
            Some(Cleaner(clean)) => clean(document),
            None => document,
        };
        run::run(self, (event, document), context).await
    }

    /// Does the same with `document` on standard input, as it stands; what the hook answers is read as an answer to
    /// `event`.
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

/// Returns the pattern for a whole text: `a|ab` matches `ab`, and neither `abc` nor `cab`.
fn whole(pattern: &Regex) -> Result<Regex, regex::Error> {
    Regex::new(&format!(r"\A(?:{})\z", pattern.as_str()))
}

/// Returns a folder by the name that it really has, where the system can tell.
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

/// Returns what to say of an answer to another question, which the reading of answers rules out.
fn mistaken(answer: &HookAnswer) -> HookError {
    HookError(format!("the answer is to something else: {answer}"))
}
