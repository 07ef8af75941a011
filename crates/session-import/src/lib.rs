//! Sessions of other coding agents, read as sessions of the pi family, and sessions of the family written as theirs.
//!
//! Three layers. [`detect`] names the format of a file by its first bytes. Reading goes through the records twice, one
//! line at a time: the first pass keeps heads (ids, parents, types), the second parses bodies. Mapping turns records
//! into entries and counts in an [`ImportReport`] what was mapped and what was lost.
//!
//! ```
//! use session_import::{Input, Origin, detect, import};
//!
//! let line = r#"{"parentUuid":null,"uuid":"u1","sessionId":"s","type":"user","message":{"role":"user","content":"hi"}}"#;
//! let bytes = format!("{line}\n").into_bytes();
//! let format = detect(&bytes).unwrap();
//! let mut session = Vec::new();
//! let report = import(format, &Input::of_bytes(bytes), &Origin::default(), &|_| None, &mut session)?;
//! assert_eq!(report.format.name(), "Claude Code");
//! assert_eq!(report.entries["message"], 1);
//! let decoded = session_model::decode_bytes(session);
//! assert!(decoded.diagnostics.is_empty());
//! # Ok::<(), session_import::ImportError>(())
//! ```
//!
//! **Invariants.** The same bytes give the same session: ids come from the source or from positions. What cannot be
//! read becomes a diagnostic with its line, what is not mapped is counted. Paths that a session names are data; no
//! file is opened. A text of the user becomes exactly one message of the user; what the agent injected does not.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod answers;
mod claude;
mod cline;
mod codex;
mod content;
mod context_sizes;
mod conversation;
mod copilot;
mod crush;
mod detect;
mod emitter;
mod error;
mod examine;
mod export;
mod format;
mod gemini;
mod goose;
mod ids;
mod input;
mod json;
mod later;
mod opencode;
mod partial;
mod parts;
mod qwen;
mod report;
mod results;
mod threads;
mod user_message;
mod window;

use std::io::Write;

use emitter::Out;

pub use detect::{detect, nearest_miss};
pub use error::ImportError;
pub use examine::{Examined, examine};
pub use export::{ExportError, ExportReport, Target, export};
pub use format::Format;
pub use input::Input;
pub use later::ReadLater;
pub use report::ImportReport;
pub use window::{automatic_compaction, stated_window};

/// The custom type of the first entry of an imported session, and of what was copied for its context.
pub const IMPORT_ENTRY: &str = "agent-cli/import";

/// Where the bytes come from, as the first entry of the imported session records it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin<'a> {
    /// The path of the file.
    pub path: &'a str,
    /// The SHA-256 of its bytes in hexadecimal digits, where somebody computed it.
    pub sha256: Option<&'a str>,
}

/// Returns the session that another refers to by its id as the beginning of its own history, if it can be found.
pub type FindSession<'a> = dyn Fn(&str) -> Option<Input> + 'a;

/// Writes the session that `input` holds to `out`, as lines of version 3 of the pi family's format.
///
/// `find` is asked for sessions on which this one is based; only Codex has such.
///
/// # Errors
///
/// [`ImportError`] when reading or writing fails, when a bound is exceeded, or when there is not one record of the
/// format.
pub fn import(
    format: Format,
    input: &Input,
    origin: &Origin<'_>,
    find: &FindSession<'_>,
    out: &mut dyn Write,
) -> Result<ImportReport, ImportError> {
    let out = Out {
        lines: out,
        logs: None,
    };
    write(format, input, origin, find, out)
}

/// Writes the session as [`import`] does, but leaves the results of calls, most of the bytes, where they are: in their
/// place stand short lines for which [`ReadLater`] gives the whole ones. What is lost
/// in what is left is not reported.
///
/// # Errors
///
/// Those of [`import`].
pub fn import_without_results(
    format: Format,
    input: &Input,
    origin: &Origin<'_>,
    find: &FindSession<'_>,
    out: &mut dyn Write,
) -> Result<(ImportReport, ReadLater), ImportError> {
    let mut logs = Vec::new();
    let out = Out {
        lines: out,
        logs: Some(&mut logs),
    };
    let report = write(format, input, origin, find, out)?;
    Ok((report, ReadLater::new(format, logs)))
}

fn write(
    format: Format,
    input: &Input,
    origin: &Origin<'_>,
    find: &FindSession<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    match format {
        Format::ClaudeCode => claude::import(input, origin, out),
        Format::Codex => codex::import(input, origin, find, out),
        Format::QwenCode => qwen::import(input, origin, out),
        Format::GeminiCli => gemini::import(input, origin, out),
        Format::Opencode => opencode::import(input, origin, out),
        Format::Copilot => copilot::import(input, origin, out),
        Format::Cline => cline::import(input, origin, out),
        Format::Goose => goose::import(input, origin, out),
        Format::Crush => crush::import(input, origin, out),
    }
}
