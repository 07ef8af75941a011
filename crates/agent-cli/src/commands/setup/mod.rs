//! `setup`: registers this program with the agents that people use, and takes that back.

mod edit;
mod file;
mod targets;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use agent_settings::AppSettings;
use agent_tools::Workspace;
use agent_tools::mcp::ServerSetting;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;

use crate::commands::Outcome;
use crate::commands::servers::reports;
use crate::error::Error;
use crate::options::Global;
use crate::ui::clean;
use session_finder::Environment;

pub(super) use edit::set;
pub(super) use file::rewrite;
use file::{Edited, real, write};
use targets::{Place, SERVER, TARGETS, Target};

/// Give another agent recall: register the server of `mcp` and the hook that runs after a compaction, or write an
/// extension.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// The agent.
    #[arg(value_name = "AGENT", value_parser = agents())]
    pub agent: String,
    /// Show what would be changed; write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Take back what setup wrote.
    #[arg(long)]
    pub undo: bool,
}

fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(TARGETS.iter().map(|target| target.agent))
}

pub(super) fn run(args: &SetupArgs, _: &Global) -> Result<Outcome, Error> {
    let target = TARGETS.iter().find(|target| target.agent == args.agent);
    let target = target.ok_or_else(|| Error::Usage(format!("no agent {}", args.agent)))?;
    let program = (!args.undo).then(program);
    let edited = edited(target, &Environment::of_process(), program.as_deref())?;
    let names = |is_backup| {
        let files = edited
            .iter()
            .filter(move |edited| edited.difference.is_none() == is_backup);
        files
            .map(|edited| edited.file.to_string_lossy())
            .collect::<Vec<_>>()
    };
    let mut document = json!({
        "agent": args.agent, "dry_run": args.dry_run, "files": names(false), "backups": names(true),
    });
    if edited.is_empty() {
        let reason = match args.undo {
            true => format!("{} is not set up", args.agent),
            false => format!("{} is set up already", args.agent),
        };
        return Ok(Outcome::nothing_to_do(reason, document));
    }
    if !args.dry_run {
        crate::cancel::begin_write()?;
        write(&edited)?;
    }
    let mut text: String = edited.iter().map(Edited::shown).collect();
    text.push_str(match (args.dry_run, args.undo) {
        (true, _) => "nothing is written yet; leave out --dry-run to write it\n",
        (false, true) => "taken back; restart the agent\n",
        (false, false) => "done; restart the agent. --undo takes it back\n",
    });
    if !args.undo {
        text.push_str(&target.asks);
    }
    let program = program.filter(|_| !args.dry_run && target.has_server());
    if let Some(program) = program {
        let seen = seen(&program)?;
        text.push_str(&match &seen {
            Ok(tools) => {
                let tools = tools.join(", ");
                format!("checked: the server starts, and the model sees {tools}\n")
            }
            Err(error) => format!("warning: {program} mcp does not answer: {error}\n"),
        });
        document["checked"] = match seen {
            Ok(tools) => json!({ "tools": tools }),
            Err(error) => json!({ "error": error }),
        };
    }
    Ok(Outcome::done(&document, text))
}

/// Returns the files that change so that the agent runs `program`, or nothing of ours any more.
fn edited(
    target: &Target,
    environment: &Environment,
    program: Option<&str>,
) -> Result<Vec<Edited>, Error> {
    let places = target.files(environment);
    let places =
        places.ok_or_else(|| Error::Usage("no home folder is known; set HOME".to_owned()))?;
    let mut files: Vec<(PathBuf, Vec<Place>)> = Vec::new();
    for (file, place) in places {
        let file = real(file)?;
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, places)) => places.push(place),
            None => files.push((file, vec![place])),
        }
    }
    let edited = files.into_iter();
    let edited = edited.map(|(file, places)| Edited::of(file, &places, target.agent, program));
    Ok(edited.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Starts the server as an agent does; returns the tools that its model sees, or why it cannot be used.
fn seen(program: &str) -> Result<Result<Vec<String>, String>, Error> {
    let server = ServerSetting {
        command: Some(program.to_owned()),
        args: Some(vec!["mcp".to_owned()]),
        ..ServerSetting::default()
    };
    let settings = AppSettings {
        mcp_servers: [(SERVER.to_owned(), server)].into(),
        ..AppSettings::default()
    };
    let reports = reports(&settings, &Workspace::open(Path::new("."))?)?;
    let report = reports.into_iter().next();
    let tools = report.map_or(Err("it did not start".to_owned()), |report| report.tools);
    let own = |name: &str| clean(name.rsplit("__").next().unwrap_or(name));
    Ok(tools.map(|tools| tools.iter().map(|tool| own(&tool.name)).collect()))
}

/// Returns how agents call this program: by its name where that finds it, else by its path.
fn program() -> String {
    let name = env!("CARGO_PKG_NAME");
    let Ok(own) = std::env::current_exe() else {
        return name.to_owned();
    };
    let own = own.canonicalize().unwrap_or(own);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    let first = folders.find_map(|folder| folder.join(name).canonicalize().ok());
    match first == Some(own.clone()) {
        true => name.to_owned(),
        false => own.to_string_lossy().into_owned(),
    }
}
