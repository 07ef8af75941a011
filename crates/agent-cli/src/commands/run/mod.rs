//! Running a session: `agent-cli -p PROMPT`, and going on with one that is there.

mod driver;
mod prepare;
mod printer;

use std::io::Read;

use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use crate::args::{Global, ModeArg, RunArgs};
use crate::commands::{Outcome, shell_name};
use crate::error::Error;
use crate::models::block_on;
use crate::session::machine::TurnEnd;
use crate::session::shell::{AgentSession, Finished};

use driver::Driver;
use prepare::Prepared;
use printer::Printer;

pub(super) fn run(args: &RunArgs, global: &Global) -> Result<Outcome, Error> {
    let prompt = prompt(args)?;
    let prepared = Prepared::of(args, global, prompt.is_some())?;
    for note in &prepared.notes {
        anstream::eprintln!("{}: {note}", crate::ui::styled(crate::ui::DIM, "note"));
    }
    let mode = args.mode.unwrap_or_default();
    let (event_sender, event_receiver) = unbounded_channel();
    let (command_sender, command_receiver) = unbounded_channel();
    let session = AgentSession::new(prepared.config, event_sender);
    let printer = match (mode, global.json) {
        (ModeArg::Json, _) => Printer::json(),
        (ModeArg::Text, true) => Printer::silent(),
        (ModeArg::Text, false) => Printer::text(),
    };
    let mut driver = Driver {
        commands: command_sender,
        events: event_receiver,
        script: prepared.script,
        due: Default::default(),
        resting: true,
        printer,
        interrupted: false,
    };
    let both = async {
        let lived = session.run(command_receiver);
        let driven = driver.drive(prompt);
        futures_util::future::join(lived, driven).await
    };
    let (finished, ()) = block_on(both)?;
    outcome(&finished, &driver, mode)
}

/// Returns what the user says first.
fn prompt(args: &RunArgs) -> Result<Option<String>, Error> {
    let goes_on =
        args.go_on || args.resume.is_some() || args.session.is_some() || args.fork.is_some();
    match args.prompt.as_deref() {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .read_to_string(&mut text)
                .map_err(|error| Error::io("read", "-", error))?;
            match text.trim().is_empty() {
                true => Err(Error::Usage("standard input holds no prompt".to_owned())),
                false => Ok(Some(text)),
            }
        }
        Some(text) if text.trim().is_empty() => {
            Err(Error::Usage("the prompt is empty; say what to do with -p TEXT".to_owned()))
        }
        Some(text) => Ok(Some(text.to_owned())),
        None if goes_on => Ok(None),
        None => Err(Error::Usage(
            "say what to do: -p PROMPT runs a session; --help lists the commands over session files".to_owned(),
        )),
    }
}

fn outcome(finished: &Finished, driver: &Driver, mode: ModeArg) -> Result<Outcome, Error> {
    let path = finished.path.as_ref();
    if let Some(error) = &finished.unsaved {
        return Err(Error::Failure(format!(
            "cannot write the session: {error}; what could not be written is lost with the end of this program"
        )));
    }
    let go_on = path.map(|path| format!("agent-cli --session {}", shell_name(path)));
    match &finished.turn {
        _ if driver.interrupted => Err(Error::Stopped(match &go_on {
            Some(go_on) => format!("stopped; to go on: {go_on}"),
            None => "stopped".to_owned(),
        })),
        Some(TurnEnd::Failed(message)) => Err(Error::Provider {
            message: message.clone(),
            kind: "turn_failed",
            report: None,
        }),
        None if driver.printer.said_nothing() => Err(Error::NothingToDo(
            "the session ends in an answer; say what to do next with -p TEXT".to_owned(),
        )),
        None | Some(TurnEnd::Done | TurnEnd::Aborted) => {
            let document = json!({
                "session_id": finished.session_id,
                "path": path.map(|path| path.display().to_string()),
                "text": driver.printer.answer(),
                "usage": finished.usage,
                "cost_usd": finished.cost_usd,
                "go_on": go_on,
            });
            let text = match mode {
                ModeArg::Text => format!("{}\n", driver.printer.answer().trim_end()),
                ModeArg::Json => String::new(),
            };
            Ok(Outcome::done(&document, text))
        }
    }
}
