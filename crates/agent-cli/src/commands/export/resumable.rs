//! `export --to`: writes a session so that another agent resumes it.

use std::io::BufWriter;
use std::path::Path;

use serde_json::json;
use session_import::{ExportReport, Target, export};
use session_store::check_new;
use tempfile::SpooledTempFile;

use crate::commands::Outcome;
use crate::commands::export::{ExportArgs, To};
use crate::commands::import::counts;
use crate::commands::output::{newest_form, write_spooled};
use crate::error::Error;
use crate::files::open_session;
use crate::output_filter::{FilteredLines, OutputFilter};
use crate::ui::shell_name;
use crate::ui::{clean, heading, row};
use session_finder::IN_MEMORY;

pub(super) fn run(
    args: &ExportArgs,
    to: To,
    out: &Path,
    filter: &OutputFilter,
) -> Result<Outcome, Error> {
    check_new(out)?;
    let session = open_session(&args.session.session)?;
    let tree = &newest_form(&session)?;
    let leaf = args.session.leaf(tree)?;
    let lines = BufWriter::new(SpooledTempFile::new(IN_MEMORY));
    let mut lines = FilteredLines::new(filter, lines);
    let report = export(to.target(), tree, leaf, &mut lines);
    let report = report.map_err(|error| Error::session(&session.path, error.to_string()))?;
    let lines = lines.finish();
    let lines = lines.map_err(|error| Error::io("write", out, error))?;
    crate::read_report::refuse_failed_reads(tree, &session.path)?;
    write_spooled(lines, out)?;
    let mut document = json!(report);
    document["out"] = json!(out.to_string_lossy());
    let text = text(&report, out);
    Ok(Outcome::done(&document, text).of(session.report()))
}

fn text(report: &ExportReport, file: &Path) -> String {
    let mut out = heading(&clean(&format!(
        "exported: for {}, session {} -> {}",
        report.target.name(),
        report.session_id,
        file.display()
    )));
    let mut add = |name: &str, text: String| out.push_str(&row("  ", name, &clean(&text)));
    add("written", counts(&report.written));
    if !report.losses.is_empty() {
        add("lost", counts(&report.losses));
    }
    let file = shell_name(file);
    let id = &report.session_id;
    let resume = match (report.target, &report.place) {
        (Target::Codex, Some(place)) => {
            format!("move it to ~/.codex/{place}, then run codex resume {id}")
        }
        (Target::Claude, Some(place)) => format!(
            "move it to ~/.claude/{place}, then run claude --resume {id} in the session's folder"
        ),
        (Target::Opencode, _) => {
            format!(
                "run opencode import {file} in the session's folder, then opencode --session {id}"
            )
        }
        (Target::Claude | Target::Codex | Target::Pi, _) => format!("run pi --session {file}"),
    };
    add("resume", resume);
    out
}
