//! `migrate`: writes a session of version 1 or 2 as version 3.

use std::path::PathBuf;

use clap::Args;

use crate::commands::{Destination, Outcome, migrated};
use crate::error::Error;
use crate::files::{open_session, replace, write_new};
use crate::options::{Global, OutputArgs};
use crate::ui::{counted, heading};
use serde_json::json;
use session_store::{Contents, STDIN_IN_PLACE, SessionLock};

/// Write a session of version 1 or 2 as version 3.
#[derive(Debug, Args)]
#[command(mut_arg("in_place", |arg| arg.help("Replace the session; the old file stays as FILE.v1.bak or FILE.v2.bak")))]
pub struct MigrateArgs {
    /// The session file.
    pub session: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub(super) fn run(args: &MigrateArgs, _: &Global) -> Result<Outcome, Error> {
    let destination = args.output.destination("migrate")?;
    let path = &args.session;
    if matches!(destination, Destination::InPlace) && path == std::path::Path::new("-") {
        return Err(Error::Usage(format!("{STDIN_IN_PLACE}; use --out FILE")));
    }
    session_finder::refuse(path)?;
    // Fails early, and with the right words, on what is no session.
    let session = open_session(path)?;
    let version = session.version();
    let mut document = json!({
        "from_version": version,
        "to_version": 3,
        "entries": session.tree().len(),
        "diagnostics": session.decoded.diagnostics,
    });
    if version >= 3 {
        let reason = format!("{} is version {version} already", path.display());
        return Ok(Outcome::nothing_to_do(reason, document).of(session.report()));
    }
    let mut backup = None;
    match &destination {
        Destination::DryRun => {}
        Destination::Out(out) => {
            let lines = migrated(&session, session.contents()?)?;
            write_new(out, Contents::Empty, true, &lines)?;
        }
        Destination::InPlace => backup = Some(in_place(path)?),
    }
    let done = match destination {
        Destination::DryRun => "would be migrated",
        Destination::Out(_) | Destination::InPlace => "migrated",
    };
    let entries = counted(session.tree().len(), "entry");
    let mut text = heading(&format!("{done}: version {version} -> 3, {entries}"));
    if let Some(backup) = &backup {
        text.push_str(&format!("   old file kept as {}\n", backup.display()));
    }
    document["backup"] = json!(backup);
    Ok(Outcome::done(&document, text).of(session.report()))
}

/// Replaces the session by its migrated form; returns where the old file is kept.
fn in_place(path: &std::path::Path) -> Result<PathBuf, Error> {
    let path = &std::fs::canonicalize(path).map_err(|error| Error::io("open", path, error))?;
    let _lock = SessionLock::acquire(path)?;
    let session = open_session(path)?;
    let lines = migrated(&session, session.contents()?)?;
    replace(path, session.version(), &lines)
}
