//! `export --html`: a session as one page for a browser.

use std::path::Path;

use serde_json::json;
use session_html::{Export, Page, page};
use session_model::{Entry, EntryBody, Leaf, SessionTree};
use session_store::{Contents, check_new};

use crate::commands::export::ExportArgs;
use crate::commands::{Outcome, provenance};
use crate::error::Error;
use crate::files::{open_session, write_new};
use crate::options::Global;
use crate::read_report::refuse_failed_reads;
use crate::ui::shell_name;
use crate::ui::size::size;
use crate::ui::{counted, row};

pub(super) fn run(args: &ExportArgs, file: &Path, global: &Global) -> Result<Outcome, Error> {
    // What cannot be written is not worth making.
    check_new(file).map_err(|error| of_page(error.into()))?;
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let made = page_of(tree, args.session.leaf(tree)?, global)?;
    refuse_failed_reads(tree, &session.path)?;
    write_new(file, Contents::Empty, true, &[&made.html]).map_err(of_page)?;
    let document = json!({
        "written_to": file.to_string_lossy(),
        "bytes": made.html.len(),
        "entries": made.entries,
        "compactions": made.compactions,
        "prunings": made.prunings,
        "models": made.models,
        "shown_bytes_per_entry": made.shown_bytes_per_entry,
        "left_out_bytes": made.left_out_bytes,
        "left_out_entries": made.left_out_entries,
    });
    Ok(Outcome::done(&document, text(&made, &shell_name(file))).of(session.report()))
}

/// Writes a session that runs as a page into a new file; returns what to say.
#[cfg(feature = "tui")]
pub(in crate::commands) fn write_page(
    tree: &SessionTree,
    leaf: Leaf,
    file: &Path,
    global: &Global,
) -> Result<String, Error> {
    check_new(file)?;
    let made = page_of(tree, leaf, global)?;
    write_new(file, Contents::Empty, true, &[&made.html])?;
    Ok(text(&made, &shell_name(file)))
}

fn page_of(tree: &SessionTree, leaf: Leaf, global: &Global) -> Result<Page, Error> {
    global.app_settings()?;
    let filter = global.output_filter();
    let facts = |entry: &Entry| {
        let EntryBody::Compaction(compaction) = &entry.body else {
            return Vec::new();
        };
        let (how, took) = provenance::in_words(&provenance::of(compaction.details.as_ref()));
        let facts = [("Written by", how), ("Took", took)].into_iter();
        let facts = facts.filter(|(_, text)| !text.is_empty());
        facts.map(|(name, text)| (name.to_owned(), text)).collect()
    };
    let export = Export {
        tree,
        leaf,
        profile: global.profile(),
        clean: Some(&|text| filter.text(text)),
        facts: &facts,
    };
    Ok(page(&export))
}

fn text(page: &Page, file: &str) -> String {
    let shown = format!(
        "{}, {}, {}",
        counted(page.entries, "entry"),
        counted(page.compactions, "compaction"),
        counted(page.prunings, "pruning")
    );
    let bytes = size(page.html.len() as u64);
    let mut out = format!(
        "written to {file}, {bytes}\n{}",
        row("   ", "shown", &shown)
    );
    if page.left_out_bytes > 0 {
        let text = format!(
            "{} of long texts and images; at most {} of an entry are shown",
            size(page.left_out_bytes),
            size(page.shown_bytes_per_entry as u64)
        );
        out.push_str(&row("   ", "left out", &text));
    }
    if page.left_out_entries > 0 {
        let text = counted(page.left_out_entries, "older entry");
        out.push_str(&row("   ", "left out", &text));
    }
    out
}

/// Returns an error about a new file with the name of the option that it is of.
fn of_page(error: Error) -> Error {
    match error {
        Error::Usage(text) => Error::Usage(text.replace("--out", "--html")),
        other => Error::Failure(other.to_string().replace("--out", "--html")),
    }
}
