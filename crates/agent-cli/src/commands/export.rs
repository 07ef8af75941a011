//! `export`: writes a session so that another agent resumes it.

use std::io::BufWriter;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use session_import::{ExportReport, Target, export};
use session_store::check_new;
use tempfile::SpooledTempFile;

use crate::commands::import::counts;
use crate::commands::output::{migrated_tree, write_spooled};
use crate::commands::{Outcome, shell_name};
use crate::error::Error;
use crate::files::open_session;
use crate::foreign::IN_MEMORY;
use crate::options::{Global, SessionArgs};
use crate::ui::{clean, heading, row};

/// Write a session so that pi, Codex or opencode resumes it.
///
/// It resumes with the context that the session has here. The same session gives the same file each time. The report says what the
/// other agent cannot be told.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// The agent that resumes it.
    #[arg(long, value_name = "AGENT")]
    pub to: To,
    /// Write to this new file.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// An agent that resumes sessions of others.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum To {
    /// pi, and oh-my-pi.
    Pi,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
}

impl To {
    fn target(self) -> Target {
        match self {
            Self::Pi => Target::Pi,
            Self::Codex => Target::Codex,
            Self::Opencode => Target::Opencode,
        }
    }
}

pub(super) fn run(args: &ExportArgs, _: &Global) -> Result<Outcome, Error> {
    check_new(&args.out)?;
    let session = open_session(&args.session.session)?;
    let migrated = match session.version() {
        ..3 => Some(migrated_tree(&session)?),
        _ => None,
    };
    let tree = migrated.as_ref().unwrap_or_else(|| session.tree());
    let leaf = args.session.leaf(tree)?;
    let mut lines = BufWriter::new(SpooledTempFile::new(IN_MEMORY));
    let report = export(args.to.target(), tree, leaf, &mut lines);
    let report = report.map_err(|error| Error::session(&session.path, error.to_string()))?;
    crate::commands::unreadable::refuse_failed_reads(tree, &session.path)?;
    write_spooled(lines, &args.out)?;
    let mut document = json!(report);
    document["out"] = json!(args.out);
    let text = text(&report, args);
    Ok(Outcome::done(&document, text).of(session.read_as()))
}

fn text(report: &ExportReport, args: &ExportArgs) -> String {
    let mut out = heading(&clean(&format!(
        "exported: for {}, session {} -> {}",
        report.target.name(),
        report.session_id,
        args.out.display()
    )));
    let mut add = |name: &str, text: String| out.push_str(&row("  ", name, &clean(&text)));
    add("written", counts(&report.written));
    if !report.losses.is_empty() {
        add("lost", counts(&report.losses));
    }
    let file = shell_name(&args.out);
    let id = &report.session_id;
    let resume = match (report.target, &report.place) {
        (Target::Codex, Some(place)) => {
            format!("move it to ~/.codex/{place}, then run codex resume {id}")
        }
        (Target::Opencode, _) => {
            format!(
                "run opencode import {file} in the session's folder, then opencode --session {id}"
            )
        }
        (Target::Codex | Target::Pi, _) => format!("run pi --session {file}"),
    };
    add("resume", resume);
    out
}
