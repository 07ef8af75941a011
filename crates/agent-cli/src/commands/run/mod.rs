//! Running a session: `agent-cli -p PROMPT`, and going on with one that is there.

mod args;
mod driver;
pub(super) mod folders;
mod other;
mod prepare;
mod printer;
mod progress;
pub(super) mod rights;
mod script;
mod script_progress;
mod session_source;

use std::io::{IsTerminal, Write};
use std::path::Path;

use compaction_core::TokenCount;
use serde_json::json;

use crate::commands::Outcome;
use crate::error::Error;
use crate::models::block_on;
use crate::options::Global;
use crate::stores;
use crate::ui::{DIM, clean, clean_lines, counted, styled, tell, tokens};
use session_protocol::TurnEnd;
use session_protocol::event::CompactionTotals;
use session_protocol::{Command, Finished};
use session_store::Delivery;

pub(crate) use args::{ModeArg, RunArgs};
use driver::{Driver, Phase};
pub(super) use other::other_models;
pub(super) use prepare::{Prepared, User, check_session};
use printer::{Form, Printer};
use progress::Progress;
pub(super) use script::keep_copy;
pub(super) use session_source::{ResumeCommand, moved};

#[cfg(test)]
mod tests;

pub(super) fn run(args: &RunArgs, global: &Global) -> Result<Outcome, Error> {
    let prepared = match Prepared::of(args, global, User::Headless, &[]) {
        Ok(prepared) => prepared,
        Err(Error::NothingToDo(reason)) => return Ok(Outcome::nothing_to_do(reason, json!({}))),
        Err(error) => return Err(for_runs(error)),
    };
    let form = match (args.mode.unwrap_or_default(), global.json) {
        (ModeArg::Json, _) => Form::Json,
        (ModeArg::Text, true) => Form::Silent,
        (ModeArg::Text, false) => {
            Form::Text(Progress::new(crate::ui::width, prepared.copy.is_some()))
        }
    };
    let opening = match prepared.prompt {
        Some(text) => Command::Prompt {
            prompt: text.into(),
            delivery: Delivery::Prompt,
        },
        None => Command::Resume,
    };
    let mut driver = Driver {
        commands: prepared.handle,
        events: prepared.events,
        opening: Some(opening),
        script: prepared.script,
        due: prepared.due,
        printer: Printer::new(form),
        phase: Phase::Resting,
        unheard: 0,
        acting: false,
        interrupted: false,
        refused: None,
        session: (String::new(), None),
    };
    let both = async { futures_util::future::join(prepared.session.run(), driver.drive()).await };
    let (finished, ()) = block_on(both)?;
    let mut ended = Ended {
        go_on: go_on(&driver, &ResumeCommand::of(args, global), &prepared.cwd),
        cwd: prepared.cwd.display().to_string(),
        is_text: args.mode.unwrap_or_default() == ModeArg::Text && !global.json,
        finished,
        driver,
    };
    // A session is continued in its copy, unless nothing is left to do in it.
    match prepared.copy {
        Some(_) if ended.is_finished() && ended.driver.refused.is_none() => ended.go_on = None,
        Some(copy) if ended.go_on.is_some() => keep_copy(copy),
        Some(_) | None => {}
    }
    ended.outcome()
}

/// Returns the command that goes on with the session, where something of it is on the disk.
fn go_on(driver: &Driver, go_on: &ResumeCommand, cwd: &Path) -> Option<String> {
    let (id, path) = &driver.session;
    let path = path.as_ref().filter(|path| stores::exists(path))?;
    Some(go_on.command(id, path, cwd))
}

/// A run that is over.
struct Ended {
    finished: Finished,
    driver: Driver,
    go_on: Option<String>,
    cwd: String,
    /// Whether people are told.
    is_text: bool,
}

impl Ended {
    fn outcome(mut self) -> Result<Outcome, Error> {
        if self.driver.interrupted && !self.is_finished() {
            // A message that has no answer yet is asked again without another one.
            let more = match self.driver.printer.broke_off() {
                true => " -p ...",
                false => "",
            };
            let waiting = self.waiting();
            return Err(Error::Stopped(format!(
                "stopped{waiting}{}",
                self.hint(more)
            )));
        }
        if let Some(error) = self.driver.printer.take_failure() {
            return match error.kind() {
                // Somebody who reads only the beginning has what they want.
                std::io::ErrorKind::BrokenPipe => Ok(Outcome::done(&json!({}), String::new())),
                _ => Err(Error::Failure(format!(
                    "cannot write to standard output: {error}{}",
                    self.hint(" -p ...")
                ))),
            };
        }
        if let Some(error) = &self.finished.unsaved {
            let lost = match self.finished.lost {
                0 => "",
                1.. => "; what could not be written is lost",
            };
            return Err(Error::Failure(format!(
                "cannot write the session: {}{lost}{}{}",
                for_sessions(error),
                self.waiting(),
                self.hint("")
            )));
        }
        if let Some(refused) = &self.driver.refused {
            let more = if refused.kept { "" } else { " -p ..." };
            let why = for_sessions(&refused.why);
            return Err(Error::Failure(format!("{why}{}", self.hint(more))));
        }
        match &self.finished.turn {
            // What failed is asked anew where the session goes on without another message.
            Some(TurnEnd::Failed(message)) => {
                self.print_partial()?;
                Err(Error::Provider {
                    message: format!("{}{}", clean(message), self.hint("")),
                    kind: "turn_failed",
                    report: None,
                })
            }
            Some(TurnEnd::LimitReached(limit)) => {
                self.print_partial()?;
                Err(Error::Failure(format!("{limit}{}", self.hint(" -p ..."))))
            }
            None if self.driver.printer.had_no_turn() => Ok(Outcome::nothing_to_do(
                match &self.go_on {
                    Some(go_on) => {
                        format!("the session ends in an answer; to continue: {go_on} -p TEXT")
                    }
                    None => {
                        "the session ends in an answer; say what to do next with -p TEXT".to_owned()
                    }
                },
                self.document(None),
            )),
            Some(TurnEnd::Aborted) => self.done("aborted"),
            None | Some(TurnEnd::Done) => self.done("done"),
        }
    }

    /// Prints what was answered before the turn failed, and what it took.
    fn print_partial(&self) -> Result<(), Error> {
        self.tell_spent();
        match self.driver.printer.answer() {
            answer if self.is_text && !answer.is_empty() => print_answer(answer),
            _ => Ok(()),
        }
    }

    fn is_finished(&self) -> bool {
        self.finished.turn == Some(TurnEnd::Done)
            && self.finished.waiting == 0
            && !self.driver.is_cut_short()
    }

    fn done(mut self, end: &str) -> Result<Outcome, Error> {
        if self.is_text {
            self.driver.printer.print_error();
            self.tell_spent();
            if let Some(go_on) = &self.go_on {
                tell(&styled(DIM, &format!("to continue: {go_on} -p ...")));
            }
            print_answer(self.driver.printer.answer())?;
        }
        Ok(Outcome::done(&self.document(Some(end)), String::new()))
    }

    fn document(&self, end: Option<&str>) -> serde_json::Value {
        let locator = self.finished.locator.as_ref();
        json!({
            "session_id": self.finished.session_id,
            "path": locator.map(ToString::to_string),
            "cwd": self.cwd,
            "end": end,
            "text": self.driver.printer.answer(),
            "usage": self.finished.usage,
            "cost_usd": self.finished.cost_usd,
            "compactions": self.finished.compactions,
            "go_on": self.go_on,
        })
    }

    fn tell_spent(&self) {
        let usage = &self.finished.usage;
        let read = usage.input + usage.cache_read + usage.cache_write;
        if !self.is_text || read + usage.output == 0 {
            return;
        }
        let cost = match self.finished.cost_usd {
            Some(cost) => format!(", ${cost:.3}"),
            None => String::new(),
        };
        tell(&styled(
            DIM,
            &format!(
                "{} read, {} written{cost}",
                tokens(TokenCount(read)),
                tokens(TokenCount(usage.output)),
            ),
        ));
        if let Some(waited) = waited(&self.finished.compactions) {
            tell(&styled(DIM, &waited));
        }
    }

    /// Returns how many messages wait on the disk, to stand behind an error.
    fn waiting(&self) -> String {
        match (&self.go_on, self.finished.waiting) {
            (None, _) | (Some(_), 0) => String::new(),
            (Some(_), 1) => "; 1 message waits and is sent when you continue".to_owned(),
            (Some(_), waiting) => {
                format!("; {waiting} messages wait and are sent when you continue")
            }
        }
    }

    /// Returns how somebody goes on, to stand behind an error.
    fn hint(&self, more: &str) -> String {
        let mark = if self.is_text { "\n" } else { "; " };
        match &self.go_on {
            Some(go_on) => format!("{mark}to continue: {go_on}{more}"),
            None => String::new(),
        }
    }
}

/// Returns how long compactions held up the work, where there were any.
fn waited(compactions: &CompactionTotals) -> Option<String> {
    let CompactionTotals {
        automatic,
        prepared,
        waited_seconds,
    } = compactions;
    if *automatic == 0 && *waited_seconds == 0.0 {
        return None;
    }
    let ready = match prepared {
        0 => String::new(),
        _ => format!(", {prepared} of them prepared in the background"),
    };
    let compactions = counted(*automatic, "automatic compaction");
    Some(format!(
        "waited {waited_seconds:.1} s for {compactions}{ready}"
    ))
}

/// Prints an answer as it is; on a terminal without what would steer it.
fn print_answer(answer: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    let shown = match out.is_terminal() {
        true => clean_lines(answer),
        false => answer.to_owned(),
    };
    match writeln!(out, "{shown}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::io("write to", "standard output", error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns an error with the advice that fits a run: it writes sessions, and no copies of them.
pub(super) fn for_runs(error: Error) -> Error {
    match error {
        Error::Io { .. } => Error::Failure(for_sessions(&error.to_string())),
        Error::Session { path, reason } => Error::Session {
            path,
            reason: for_sessions(&reason),
        },
        Error::Usage(text) => Error::Usage(for_sessions(&text)),
        Error::NothingToDo(_)
        | Error::Summary { .. }
        | Error::Provider { .. }
        | Error::Failure(_)
        | Error::Cancelled
        | Error::Stopped(_) => error,
    }
}

fn for_sessions(text: &str) -> String {
    text.replace("write elsewhere with --out", "write elsewhere")
        .replace(
            "write elsewhere",
            "keep sessions elsewhere with --session-dir DIR",
        )
        .replace(", or write a copy with --out FILE", "")
        .replace(", or use --out FILE", "")
}
