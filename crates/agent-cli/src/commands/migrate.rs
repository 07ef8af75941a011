//! `migrate`: writes a session of version 1 or 2 as version 3.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::commands::{Opened, Outcome};
use crate::error::Error;
use crate::options::{Global, OutputArgs};
use crate::ui::{counted, heading};

/// Write a session of version 1 or 2 as version 3.
#[derive(Debug, Args)]
#[command(mut_arg("in_place", |arg| arg.help("Replace the session; the old file stays as FILE.v1.bak or FILE.v2.bak")))]
pub struct MigrateArgs {
    /// The session file.
    pub session: PathBuf,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub(super) fn run(args: &MigrateArgs, global: &Global) -> Result<Outcome, Error> {
    let destination = args.output.destination("migrate")?;
    session_finder::refuse(&args.session)?;
    let mut opened = Opened::open(&args.session, &destination)?;
    let version = opened.tree().version();
    let document = json!({
        "from_version": version,
        "to_version": 3,
        "entries": opened.tree().len(),
        "diagnostics": opened.diagnostics(),
    });
    if version >= 3 {
        let reason = format!("{} is version {version} already", args.session.display());
        return Ok(Outcome::nothing_to_do(reason, document).of(opened.report()));
    }
    // What is written in place or to a copy has the newest version.
    opened.commit(&destination, &[], None, global.output_filter())?;
    let done = if args.output.dry_run {
        "would be migrated"
    } else {
        "migrated"
    };
    let entries = counted(opened.tree().len(), "entry");
    let text = heading(&format!("{done}: version {version} -> 3, {entries}"));
    Ok(Outcome::done(&document, text).of(opened.report()))
}
