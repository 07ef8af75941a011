//! `import`: writes a session of another program as one of the family.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use session_import::{ImportReport, detect};
use session_store::check_new;

use crate::commands::{Outcome, diagnostics_text};
use crate::error::Error;
use crate::files::{open_session, read_bytes, write_new};
use crate::options::Global;
use crate::stores::session_path;
use crate::ui::{clean, heading, row};
use session_finder::{Bytes, Converted, convert};

/// Write a session of another agent as a new session.
///
/// The content decides the format. The same file gives the same
/// session each time. The report says what was mapped, skipped and lost.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The session of another program, its id, or - for standard input.
    pub file: PathBuf,
    /// Write the session to this new file.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

pub(super) fn run(args: &ImportArgs, _: &Global) -> Result<Outcome, Error> {
    check_new(&args.out)?;
    let path = &*session_path(&args.file)?;
    let bytes = read_bytes(path)?;
    let Some(format) = detect(&bytes.beginning(path)?) else {
        if let Bytes::File = bytes {
            // Says what is wrong with what is no session at all.
            open_session(path)?;
        }
        let reason =
            "no session of another program; one of pi, oh-my-pi or agent-cli needs no import";
        return Err(Error::session(path, reason));
    };
    let Converted { lines, report } = convert(path, format, bytes, crate::cancel::is_cancelled)?;
    let contents = lines.contents(path)?;
    write_new::<&str>(&args.out, contents, true, &[])?;
    let mut document = json!(report);
    document["out"] = json!(args.out.to_string_lossy());
    Ok(Outcome::done(&document, text(&report, args)))
}

fn text(report: &ImportReport, args: &ImportArgs) -> String {
    let name = report.format.name();
    let version = report.version.as_deref().unwrap_or("of unknown version");
    let mut out = heading(&clean(&format!(
        "imported: {name} session {}, {version} -> {}",
        report.session_id,
        args.out.display()
    )));
    let mut add = |name: &str, text: String| out.push_str(&row("  ", name, &clean(&text)));
    add("records", counts(&report.records));
    add("entries", counts(&report.entries));
    for (name, lost) in [("skipped", &report.skipped), ("lost", &report.losses)] {
        if !lost.is_empty() {
            add(name, counts(lost));
        }
    }
    for (name, count) in [
        ("duplicates", report.duplicates),
        ("interrupted", report.interrupted_calls),
    ] {
        if count > 0 {
            add(name, count.to_string());
        }
    }
    let usage = report.usage;
    add(
        "usage",
        format!(
            "{} in, {} read from and {} written to the cache, {} out",
            usage.input, usage.cache_read, usage.cache_write, usage.output
        ),
    );
    out.push_str(&diagnostics_text(&report.diagnostics, 1));
    out
}

/// Returns counts by name, in one line.
pub(super) fn counts(counts: &BTreeMap<String, u64>) -> String {
    let counts = counts.iter().map(|(name, count)| format!("{name} {count}"));
    counts.collect::<Vec<_>>().join(", ")
}
