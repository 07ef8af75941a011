//! `acp`: sessions for editors, by the Agent Client Protocol on standard input and output.

use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use agent_acp::{Line, Listed, Opened, Opening, Sessions, Wanted, serve};
use agent_rpc::{lines_of, write_lines};
use clap::Args;
use serde_json::json;
use tokio::sync::mpsc;

use crate::commands::Outcome;
use crate::commands::run::{Prepared, RunArgs, User, for_runs};
use crate::error::Error;
use crate::models::block_on;
use crate::options::Global;
use crate::stores::finder;
use session_finder::OWN;

/// Serve editors such as Zed: sessions by the Agent Client Protocol, on standard input and output.
///
/// The options are those of every session that an editor opens; which one it is and the folder are the editor's choice.
#[derive(Debug, Args)]
pub struct AcpArgs {
    #[command(flatten)]
    pub run: RunArgs,
}

/// How long an editor that does not read is waited for at the end.
const LAST: Duration = Duration::from_secs(1);

pub(super) fn run(args: &AcpArgs, global: &Global) -> Result<Outcome, Error> {
    let run = &args.run;
    let chooses = run.go_on || run.resume.is_some() || run.session.is_some() || run.fork.is_some();
    if run.prompt.is_some()
        || run.mode.is_some()
        || run.plain
        || global.json
        || chooses
        || run.cwd.is_some()
    {
        let text = "acp takes prompts, sessions and folders from the editor; leave out -p, --mode, --plain, --json, --cwd, \
                    --continue, --resume, --session and --fork";
        return Err(Error::Usage(text.to_owned()));
    }
    let sessions = Box::new(Program {
        run: run.clone(),
        global: global.clone(),
    });
    let (out, written) = write_lines(std::io::stdout());
    block_on(async {
        serve(sessions, read_lines(), out, crate::cancel::token()).await;
        let _ = tokio::time::timeout(LAST, written).await;
    })?;
    Ok(Outcome::done(&json!({}), String::new()))
}

fn read_lines() -> mpsc::Receiver<Line> {
    let (sender, lines) = mpsc::channel(1);
    let mut read = lines_of(BufReader::new(std::io::stdin()));
    std::thread::spawn(move || {
        while let Some(line) = read.blocking_recv() {
            let line = match line {
                agent_rpc::Line::Whole(line) => Line::Whole(line),
                agent_rpc::Line::TooLong => Line::TooLong,
                agent_rpc::Line::Unreadable(_) => return,
            };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Opens sessions as the arguments and the settings say.
struct Program {
    run: RunArgs,
    global: Global,
}

impl Sessions for Program {
    fn open(&self, opening: &Opening) -> Result<Opened, String> {
        let mut args = self.run.clone();
        args.cwd = Some(opening.cwd.clone());
        if let Wanted::Id(id) = &opening.wanted {
            args.resume = Some(id.clone());
        }
        let prepared = Prepared::of(&args, &self.global, User::Interactive, &opening.servers);
        let prepared = prepared.map_err(|error| for_runs(error).to_string())?;
        Ok(Opened {
            session: prepared.session,
            handle: prepared.handle,
            events: prepared.events,
            cwd: prepared.cwd,
        })
    }

    fn list(&self, cwd: Option<&Path>) -> Result<Vec<Listed>, String> {
        let finder = finder(self.run.session_dir.as_deref());
        let found = finder.and_then(|finder| Ok(finder.list(Some(OWN), cwd)?));
        let found = found.map_err(|error| error.to_string())?;
        let rows = found
            .into_iter()
            .map(|found| found.row)
            .filter(|row| row.persisted);
        let listed = rows.map(|row| Listed {
            id: row.id,
            cwd: row.cwd,
            title: row.name.or(row.first_prompt),
            updated: row.modified.to_string(),
        });
        Ok(listed.collect())
    }
}
