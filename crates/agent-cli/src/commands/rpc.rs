//! `rpc`: a running session that a program drives, by requests on standard input and lines on standard output.

use std::io::BufReader;
use std::rc::Rc;

use agent_rpc::{Document, Host, Output, Session, drive, lines_of};
use agent_settings::AppSettings;
use clap::Args;
use compaction_core::Profile;
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use session_protocol::Snapshot;
use summarize::models::LiveModels;

use crate::commands::Outcome;
use crate::commands::run::{
    Prepared, ResumeCommand, RunArgs, User, for_runs, keep_copy, other_models,
};
use crate::commands::{context, plan, tree};
use crate::error::Error;
use crate::models::block_on;
use crate::options::Global;
use crate::stores;

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
    let prepared = match Prepared::of(args, global, User::Interactive, &[]) {
        Ok(prepared) => prepared,
        Err(Error::NothingToDo(reason)) => return Ok(Outcome::nothing_to_do(reason, json!({}))),
        Err(error) => return Err(for_runs(error)),
    };
    let session = Session {
        handle: prepared.handle,
        events: prepared.events,
        redactor: prepared.session.redactor(),
    };
    let host = Rc::new(Program {
        args: args.clone(),
        settings: prepared.settings,
    });
    let lines = (
        lines_of(BufReader::new(std::io::stdin())),
        Output::new(std::io::stdout()),
    );
    let driving = drive(session, host, lines, crate::cancel::token());
    let both = async { futures_util::future::join(prepared.session.run(), driving).await };
    let (finished, ended) = block_on(both)?;
    let (id, path) = &ended.session;
    let path = path.as_ref().filter(|path| stores::exists(path));
    let go_on = path.map(|path| ResumeCommand::of(args, global).command(id, path, &prepared.cwd));
    if let Some(copy) = prepared.copy.filter(|_| go_on.is_some()) {
        keep_copy(copy);
    }
    if ended.interrupted {
        let hint = go_on.map_or(String::new(), |go_on| format!("; to continue: {go_on}"));
        return Err(Error::Stopped(format!("stopped{hint}")));
    }
    if let Some(error) = finished.unsaved {
        return Err(for_runs(Error::Failure(format!(
            "cannot write the session: {error}"
        ))));
    }
    Ok(Outcome::done(&json!({}), String::new()))
}

/// What a session asks of this program.
struct Program {
    args: RunArgs,
    settings: AppSettings,
}

impl Host for Program {
    fn models(&self, name: &str) -> Result<LiveModels, String> {
        other_models(name, &self.args, &self.settings).map_err(|error| error.to_string())
    }

    fn document<'a>(
        &'a self,
        wanted: Document,
        session: &'a Snapshot,
    ) -> LocalBoxFuture<'a, Result<Value, String>> {
        let place = (&session.tree, session.leaf);
        let known = &session.diagnostics;
        Box::pin(async move {
            let document = match wanted {
                Document::Context => {
                    let form = context::Form::AsKept;
                    serde_json::to_value(context::document(place, form, Profile::Own, known))
                }
                Document::Tree => serde_json::to_value(tree::document(place, Profile::Own, known)),
                Document::Plan { focus } => {
                    let planned = plan::live_document(session, focus).await;
                    return planned.map_err(|error| error.to_string());
                }
            };
            document.map_err(|error| error.to_string())
        })
    }
}
