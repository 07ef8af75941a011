//! `doctor`: reads every line of a session and reports all damage. Changes nothing.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use session_model::{
    ContextRules, Diagnostic, DiagnosticKind, Diagnostics, EntryId, RoleOrder, Severity,
    build_context, check_pairs,
};

use crate::commands::unreadable::refuse_failed_reads;
use crate::commands::{Outcome, diagnostics_text};
use crate::error::Error;
use crate::files::open_session;
use crate::options::Global;
use crate::ui::{GOOD, counted, heading, styled};

/// Read every line of a session and report all damage.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The session file, or - for standard input.
    pub session: PathBuf,
}

pub(super) fn run(args: &DoctorArgs, _: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session)?;
    let tree = session.tree();
    let mut diagnostics = Diagnostics::default();
    diagnostics.extend(session.decoded.diagnostics.iter().cloned());
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
    let (messages, paired) = context.to_llm(RoleOrder::Any);
    diagnostics.extend(paired);
    diagnostics.extend(check_pairs(&messages, RoleOrder::Any));
    refuse_failed_reads(tree, &session.path)?;
    let diagnostics = diagnostics.into_vec();
    let worst = diagnostics
        .iter()
        .map(|diagnostic| diagnostic.severity)
        .max();
    let document = json!({
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
        Some(_) => diagnostics_text(&diagnostics),
    });
    let errors = diagnostics.iter();
    let errors = errors.filter(|diagnostic| diagnostic.severity == Severity::Error);
    Ok(match errors.count() {
        0 => Outcome::done(&document, text),
        errors => {
            let found = format!("found {}", counted(errors, "error"));
            Outcome::failed(found, &document, text)
        }
    })
}
