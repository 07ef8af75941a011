//! `rpc`: a running session that a program drives, by requests on standard input and lines on standard output.

mod driver;
pub(in crate::commands) mod input;
mod output;
mod parse;
mod protocol;
mod reference;
mod translate;

#[cfg(test)]
mod tests;

use clap::Args;
use serde_json::json;

use crate::commands::Outcome;
use crate::commands::run::{Prepared, ResumeCommand, RunArgs, User, for_runs};
use crate::error::Error;
use crate::models::block_on;
use crate::options::Global;
use session_store::FileStore;

use driver::Driver;
use output::Output;
use translate::Models;

pub use reference::{reference, schema_text};

/// Drive a running session from a program: requests on standard input, answers and events on standard output, a
/// JSON object a line (docs/reference/rpc.md).
#[derive(Debug, Args)]
pub struct RpcArgs {
    #[command(flatten)]
    pub run: RunArgs,
}

pub(super) fn run(args: &RpcArgs, global: &Global) -> Result<Outcome, Error> {
    let args = &args.run;
    if args.prompt.is_some() || args.mode.is_some() || args.plain || global.json {
        return Err(Error::Usage(
            "rpc takes prompts as requests and prints JSON lines; leave out -p, --mode, --plain and --json"
                .to_owned(),
        ));
    }
    let prepared = match Prepared::of(args, global, User::Interactive) {
        Ok(prepared) => prepared,
        Err(Error::NothingToDo(reason)) => return Ok(Outcome::nothing_to_do(reason, json!({}))),
        Err(error) => return Err(for_runs(error)),
    };
    let redactor = prepared.session.redactor();
    let models = Models {
        args: args.clone(),
        settings: prepared.settings,
    };
    let lines = (input::lines_of_stdin(), Output::stdout());
    let driver = Driver::new((prepared.handle, prepared.events), lines, models, redactor);
    let both = async { futures_util::future::join(prepared.session.run(), driver.drive()).await };
    let (finished, ended) = block_on(both)?;
    let (id, path) = &ended.session;
    let path = path.as_ref().filter(|path| FileStore::exists(path));
    let go_on = path.map(|path| ResumeCommand::of(args, global).command(id, path, &prepared.cwd));
    if ended.interrupted {
        let hint = go_on.map_or(String::new(), |go_on| format!("; to go on: {go_on}"));
        return Err(Error::Stopped(format!("stopped{hint}")));
    }
    if let Some(error) = finished.unsaved {
        return Err(for_runs(Error::Failure(format!(
            "cannot write the session: {error}"
        ))));
    }
    Ok(Outcome::done(&json!({}), String::new()))
}
