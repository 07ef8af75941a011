//! `doctor`: reads every line of a session and reports all damage; with `--repair`, writes a copy without it.

use std::cmp::Reverse;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use session_model::{
    ContextRules, Diagnostic, DiagnosticKind, Diagnostics, EntryId, RoleOrder, Severity,
    build_context, check_pairs, check_refusals,
};

use session_import::{Examined, Format, Input, Target, examine, export};
use session_store::{SessionFile, check_new};
use tempfile::SpooledTempFile;

use crate::commands::output::{newest_form, write_spooled};
use crate::commands::{Outcome, SHOWN_DIAGNOSTICS, diagnostics_text};
use crate::error::Error;
use crate::files::{open_bytes, read_bytes};
use crate::options::Global;
use crate::read_report::{ReadReport, refuse_failed_reads};
use crate::stores::session_path;
use crate::ui::{GOOD, clean, counted, heading, styled};
use session_finder::{Bytes, IN_MEMORY};

/// Read every line of a session and report all damage.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// A file, an id or its beginning, newest, AGENT:newest, or - for standard input.
    pub session: PathBuf,
    /// Write a copy without the damage, for the agent that wrote the session.
    #[arg(long, requires = "out")]
    pub repair: bool,
    /// Write the copy to this new file.
    #[arg(long, value_name = "FILE", requires = "repair")]
    pub out: Option<PathBuf>,
}

pub(super) fn run(args: &DoctorArgs, _: &Global) -> Result<Outcome, Error> {
    if let Some(out) = &args.out {
        check_new(out)?;
    }
    let path = &*session_path(&args.session)?;
    let bytes = read_bytes(path)?;
    let session = open_bytes(path, bytes.duplicate(path)?)?;
    let tree = session.tree();
    let foreign = match session.read_as() {
        Some(read_as) => Some(Foreign::of(path, read_as.format, bytes)?),
        None => None,
    };
    let mut diagnostics = Diagnostics::default();
    let examined = foreign
        .as_ref()
        .map(|foreign| &foreign.examined.diagnostics);
    let examined: &[Diagnostic] = examined.map_or(&[], Vec::as_slice);
    diagnostics.extend(examined.iter().cloned());
    // What the examination said is not said twice.
    let is_known = |found: &Diagnostic| {
        examined.iter().any(|known| {
            let is_line = found.kind == DiagnosticKind::DamagedLine;
            known.line == found.line && (known.kind == found.kind || is_line)
        })
    };
    let others = session.decoded.diagnostics.iter();
    let others = others.filter(|found| !is_known(found));
    diagnostics.extend(others.cloned());
    for index in tree.indices() {
        if index.as_usize() % 4096 == 0 {
            crate::cancel::check()?;
        }
        let diagnostic = match tree.entry_with_repair(index) {
            Ok((_, None)) => continue,
            Ok((_, Some(repair))) => Diagnostic::new(
                Severity::Note,
                DiagnosticKind::RepairedBody,
                format!("readable after repair ({repair})"),
            ),
            Err(error) => Diagnostic::new(
                Severity::Error,
                DiagnosticKind::DamagedBody,
                format!("its body is lost: {error}"),
            ),
        };
        let id = EntryId::new(tree.id(index));
        diagnostics.push(diagnostic.at_line(tree.line(index)).of_entry(id));
    }
    let context = build_context(&tree.path(tree.leaf()), ContextRules::Own);
    let (messages, mut paired) = context.to_llm(RoleOrder::Any);
    for found in paired.iter_mut().filter(|_| foreign.is_none()) {
        let entry = found.entry_id.as_ref();
        let entry = entry.and_then(|id| tree.find(id.as_str()));
        found.line = entry.map(|entry| tree.line(entry));
    }
    diagnostics.extend(paired);
    diagnostics.extend(tree.stale_leaf());
    diagnostics.extend(check_refusals(&context));
    diagnostics.extend(check_pairs(&messages, RoleOrder::Any));
    refuse_failed_reads(tree, &session.path)?;
    let mut diagnostics = diagnostics.into_vec();
    // What counts others stays behind them.
    diagnostics.sort_by_key(|found| (Reverse(found.severity), found.more > 0, found.line));
    let worst = diagnostics
        .iter()
        .map(|diagnostic| diagnostic.severity)
        .max();
    let mut document = json!({
        "entries": tree.len(),
        "lines": session.decoded.lines,
        "bytes": session.decoded.bytes,
        "diagnostics": diagnostics,
    });
    let lines = usize::try_from(session.decoded.lines).unwrap_or(usize::MAX);
    let (entries, lines) = (counted(tree.len(), "entry"), counted(lines, "line"));
    let mut text = heading(&format!("{entries} on {lines}"));
    text.push_str(&match worst {
        None => format!("  {}\n", styled(GOOD, "no damage")),
        Some(_) => diagnostics_text(&diagnostics, SHOWN_DIAGNOSTICS),
    });
    if let Some(out) = &args.out {
        let repaired = match &foreign {
            Some(foreign) => foreign.repair(path, out)?,
            None if worst.is_none() => None,
            None => Some(repair_own(&session, out)?),
        };
        let Some(what) = repaired else {
            let reason = "there is no damage that a copy would not have".to_owned();
            return Ok(Outcome::nothing_to_do(reason, document)
                .of(ReadReport::of_format(session.read_as())));
        };
        document["repaired"] = json!(out.to_string_lossy());
        text.push_str(&format!(
            "repaired: {what} -> {}\n",
            clean(&out.display().to_string())
        ));
        return Ok(Outcome::done(&document, text).of(ReadReport::of_format(session.read_as())));
    }
    let errors = diagnostics.iter();
    let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
    let outcome = match errors.count() {
        0 => Outcome::done(&document, text),
        errors => {
            let found = format!("found {}", counted(errors, "error"));
            Outcome::failed(found, &document, text)
        }
    };
    Ok(outcome.of(ReadReport::of_format(session.read_as())))
}

/// A session of another program, and its damage.
struct Foreign {
    input: Input,
    examined: Examined,
}

impl Foreign {
    fn of(path: &Path, format: Format, bytes: Bytes) -> Result<Self, Error> {
        let input = bytes.input(path)?;
        let examined = examine(format, &input);
        let examined = examined.map_err(|error| Error::session(path, error.to_string()))?;
        Ok(Self { input, examined })
    }

    /// Writes a copy without the damage, and returns what was changed; `None` where nothing is.
    fn repair(&self, path: &Path, out: &Path) -> Result<Option<String>, Error> {
        let mut lines = BufWriter::new(SpooledTempFile::new(IN_MEMORY));
        let changed = self.examined.repair(&self.input, &mut lines);
        let changed = changed.map_err(|error| Error::session(path, error.to_string()))?;
        if changed == 0 {
            return Ok(None);
        }
        write_spooled(lines, out)?;
        let changed = usize::try_from(changed).unwrap_or(usize::MAX);
        Ok(Some(format!("{} changed", counted(changed, "line"))))
    }
}

/// Writes a copy of a session of the family without what other agents cannot read; returns what was left out.
fn repair_own(session: &SessionFile, out: &Path) -> Result<String, Error> {
    let tree = &newest_form(session)?;
    let mut lines = BufWriter::new(SpooledTempFile::new(IN_MEMORY));
    let report = export(Target::Pi, tree, tree.leaf(), &mut lines);
    let report = report.map_err(|error| Error::session(&session.path, error.to_string()))?;
    write_spooled(lines, out)?;
    let entries: u64 = report.written.values().sum();
    let entries = usize::try_from(entries).unwrap_or(usize::MAX);
    let left: u64 = report.losses.values().sum();
    Ok(format!("{}, {left} left out", counted(entries, "entry")))
}
