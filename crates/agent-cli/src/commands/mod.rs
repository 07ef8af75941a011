//! The commands, each a function from arguments to an outcome that can be printed.

mod approvals;
mod branch;
mod compact;
mod compare;
mod completions;
mod config;
mod context;
mod doctor;
mod global;
mod handoff;
mod hooks;
mod inspect;
mod loss;
mod migrate;
mod models;
mod order;
mod own_folder;
mod pin;
mod plan;
mod recall;
mod redo;
mod restoring;
mod rpc;
mod run;
mod same_output;
mod servers;
mod sessions;
mod summaries;
mod tree;
mod undo;
mod unreadable;

pub(crate) use plan::Edits;
pub use rpc::{reference as rpc_reference, schema_text as rpc_schema_text};

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use compaction_core::{PlanOptions, TokenCount};
use serde::Serialize;
use serde_json::json;
use session_model::{
    Diagnostic, EntryDraft, EntryId, Leaf, SessionContext, SessionTree, Severity, migrate_lines,
};

use crate::args::{Cli, Command, Global, OutputArgs, SessionArgs, WindowArgs};
use crate::error::{Error, ErrorKind};
use crate::files::{open_session, open_writer, write_new};
use agent_session::summarize::ModelReport;
use session_store::{Contents, SessionFile, SessionWriter};

/// What a command gives: a document for programs, and the same for people.
pub(crate) struct Outcome {
    json: serde_json::Value,
    text: String,
    nothing_to_do: Option<String>,
    /// What failed, although there is something to show.
    failed: Option<String>,
}

impl Outcome {
    fn done<T: Serialize>(document: &T, text: String) -> Self {
        Self {
            json: serde_json::to_value(document).unwrap_or_default(),
            text,
            nothing_to_do: None,
            failed: None,
        }
    }

    fn failed(reason: String, document: &serde_json::Value, text: String) -> Self {
        Self {
            failed: Some(reason),
            ..Self::done(document, text)
        }
    }

    fn nothing_to_do(reason: String, mut document: serde_json::Value) -> Self {
        document["nothing_to_do"] = json!(reason);
        Self {
            json: document,
            text: String::new(),
            nothing_to_do: Some(reason),
            failed: None,
        }
    }
}

fn outcome(cli: &Cli) -> Result<Outcome, Error> {
    let global = &cli.global;
    let Some(command) = &cli.command else {
        return run::run(&cli.run, global);
    };
    if cli.run.are_given() {
        return Err(Error::Usage(
            "options of a running session (-p, --model before a command, ...) and a command do not go together; put the options of a command behind its name".to_owned(),
        ));
    }
    // A setting that is wrong is an error also where it would not matter, but not where one looks for it.
    if !matches!(command, Command::Config(args) if args.needs_no_settings()) {
        global.load_app_settings()?;
    }
    match command {
        Command::Inspect(args) => inspect::run(args, global),
        Command::Context(args) => context::run(args, global),
        Command::Plan(args) => plan::run(args, global),
        Command::Compact(args) => compact::run(args, global),
        Command::Branch(args) => branch::run(args, global),
        Command::Handoff(args) => handoff::run(args, global),
        Command::Recall(args) => recall::run(args, global),
        Command::Loss(args) => loss::run(args, global),
        Command::Summaries(args) => summaries::run(args, global),
        Command::Compare(args) => compare::run(args, global),
        Command::Rpc(args) => rpc::run(&args.run, global),
        Command::Tree(args) => tree::run(args, global),
        Command::Undo(args) => undo::run(args, global),
        Command::Redo(args) => redo::run(args, global),
        Command::Pin(args) => pin::run(args, global),
        Command::Migrate(args) => migrate::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Models(args) => models::run(args, global),
        Command::Sessions(args) => sessions::run(args),
        Command::Servers(args) => servers::run(args, global),
        Command::Config(args) => config::run(args, global),
        Command::Approvals(args) => approvals::run(args, global),
        Command::Hooks(args) => hooks::run(args, global),
        Command::Completions(args) => Ok(completions::run(args)),
    }
}

/// Reads the arguments of the program, runs the command and prints its outcome; returns the exit code.
pub fn run_program() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => {
            crate::cancel::listen();
            run(&cli)
        }
        Err(error) => {
            // Help and the version come as errors too.
            let asked_json = std::env::args_os().any(|argument| argument == "--json");
            if error.use_stderr() && asked_json {
                let text = error.to_string();
                let lines = text.lines().take_while(|line| !line.is_empty());
                let message = lines.map(str::trim).collect::<Vec<_>>().join(" ");
                let message = message.strip_prefix("error: ").unwrap_or(&message);
                print_error(ErrorKind::Usage, message, None, None);
            }
            error.exit()
        }
    }
}

/// Runs the command and prints its outcome; returns the exit code.
pub fn run(cli: &Cli) -> ExitCode {
    let kind = match outcome(cli) {
        Ok(outcome) => print(&outcome, cli.global.json),
        Err(error) => Err(error),
    };
    match kind {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(kind)) => ExitCode::from(kind.exit_code()),
        Err(error) => {
            let kind = error.kind();
            if cli.global.json {
                print_error(kind, &error.to_string(), error.fault(), error.report());
            }
            anstream::eprintln!("{}: {error}", crate::ui::error_label());
            ExitCode::from(kind.exit_code())
        }
    }
}

/// Prints the document of an error. The error itself goes to stderr; a closed stdout changes nothing about it.
fn print_error(kind: ErrorKind, message: &str, fault: Option<&str>, report: Option<&ModelReport>) {
    let mut document = json!({
        "error": { "kind": kind.name(), "message": message, "exit_code": kind.exit_code() }
    });
    if let Some(fault) = fault {
        document["error"]["fault"] = json!(fault);
    }
    if let Some(report) = report.and_then(ModelReport::of_models) {
        document["model"] = json!(report);
    }
    let _ = writeln!(std::io::stdout().lock(), "{document:#}");
}

fn print(outcome: &Outcome, as_json: bool) -> Result<Option<ErrorKind>, Error> {
    let written = if as_json {
        let mut stdout = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut stdout, &outcome.json)
            .map_err(std::io::Error::from)
            .and_then(|()| stdout.write_all(b"\n"))
            .and_then(|()| stdout.flush())
    } else {
        let mut stdout = anstream::stdout().lock();
        stdout
            .write_all(outcome.text.as_bytes())
            .and_then(|()| stdout.flush())
    };
    match written {
        Ok(()) => {}
        // Somebody who reads only the beginning has what they want.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(Error::io("write to", "standard output", error)),
    }
    if let Some(reason) = &outcome.failed {
        anstream::eprintln!("{}: {reason}", crate::ui::error_label());
        return Ok(Some(ErrorKind::Failure));
    }
    Ok(outcome.nothing_to_do.as_ref().map(|reason| {
        anstream::eprintln!(
            "nothing to do: {}",
            reason.trim_start_matches("nothing to do: ")
        );
        ErrorKind::NothingToDo
    }))
}

/// The window that is assumed where none is named.
pub(crate) const DEFAULT_WINDOW: TokenCount = TokenCount(200_000);

impl WindowArgs {
    /// Returns the window that was given.
    pub(crate) fn given(&self) -> Result<Option<TokenCount>, Error> {
        let Some(window) = self.window else {
            return Ok(None);
        };
        match u64::try_from(window) {
            Ok(window @ 1..) => Ok(Some(TokenCount(window))),
            _ => Err(Error::Usage(format!(
                "--window is {window}, but must be at least 1; name the model's context window in tokens"
            ))),
        }
    }

    /// Returns the window that was given, or the one that is assumed.
    fn tokens(&self) -> Result<TokenCount, Error> {
        Ok(self.given()?.unwrap_or(DEFAULT_WINDOW))
    }
}

impl SessionArgs {
    fn leaf(&self, tree: &SessionTree) -> Result<Leaf, Error> {
        named_leaf(tree, self.leaf.as_deref())
    }
}

/// Returns the leaf that the user named, or the last entry when none was named.
fn named_leaf(tree: &SessionTree, name: Option<&str>) -> Result<Leaf, Error> {
    match name {
        None => Ok(tree.leaf()),
        Some(id) => match tree.find(id) {
            Some(index) => Ok(Leaf::At(index)),
            None if id == "root" => Ok(Leaf::Root),
            None => Err(Error::Usage(format!(
                "no entry {id} in this session; agent-cli tree lists the ids"
            ))),
        },
    }
}

/// Returns the options of a plan for a window that is also the summarizer's.
fn plan_options(global: &Global, window: TokenCount) -> Result<PlanOptions, Error> {
    Ok(PlanOptions {
        settings: global.load_settings()?,
        profile: global.profile(),
        ..PlanOptions::for_window(window)
    })
}

/// Where a command writes.
pub(crate) enum Destination {
    /// A new file.
    Out(PathBuf),
    /// The session itself.
    InPlace,
    /// Nowhere.
    DryRun,
}

impl Destination {
    /// Fails where a new file could not be written.
    fn check(&self) -> Result<(), Error> {
        match self {
            Self::Out(path) => Ok(session_store::check_new(path)?),
            Self::InPlace | Self::DryRun => Ok(()),
        }
    }
}

impl OutputArgs {
    fn destination(&self, what: &str) -> Result<Destination, Error> {
        match (&self.out, self.in_place, self.dry_run) {
            (Some(path), _, _) => Ok(Destination::Out(path.clone())),
            (None, true, _) => Ok(Destination::InPlace),
            (None, false, true) => Ok(Destination::DryRun),
            (None, false, false) => Err(Error::Usage(format!(
                "{what} writes: say where with --out FILE, --in-place or --dry-run"
            ))),
        }
    }
}

/// A session opened for a command that writes: locked when it will be written in place.
pub(crate) enum Opened {
    /// Locked.
    Writer(Box<SessionWriter>),
    /// Only read.
    Reader(Box<SessionFile>),
}

impl Opened {
    fn open(path: &std::path::Path, destination: &Destination) -> Result<Self, Error> {
        Ok(match destination {
            Destination::InPlace => Self::Writer(Box::new(open_writer(path)?)),
            Destination::Out(_) | Destination::DryRun => {
                Self::Reader(Box::new(open_session(path)?))
            }
        })
    }

    fn session(&self) -> &SessionFile {
        match self {
            Self::Writer(writer) => &writer.session,
            Self::Reader(session) => session,
        }
    }

    /// Writes `drafts` as a chain under `parent` and returns their ids; none for a dry run.
    fn commit(
        &mut self,
        destination: &Destination,
        drafts: &[EntryDraft],
        parent: Option<&EntryId>,
    ) -> Result<Vec<EntryId>, Error> {
        crate::cancel::check()?;
        let (parent, skipped) = self.session().readable_parent(parent);
        let read = self.session();
        unreadable::refuse_failed_reads(read.tree(), &read.path)?;
        if let Some(skipped) = skipped {
            let place = parent.as_deref().unwrap_or("the beginning");
            anstream::eprintln!(
                "{} {} cannot be read; what is written follows {} instead",
                crate::ui::severity_label(Severity::Warning),
                crate::ui::clean(&skipped),
                crate::ui::clean(place)
            );
        }
        let (lines, ids) = self.session().stamp(drafts, parent.as_ref());
        match (self, destination) {
            (_, Destination::DryRun) => return Ok(Vec::new()),
            (Self::Writer(writer), _) => writer.append(&lines)?,
            (Self::Reader(session), Destination::Out(out)) => {
                if let Some(theirs) = same_output::ids_in(session, out, &lines, &ids) {
                    same_output::notice(out);
                    return Ok(theirs);
                }
                write_copy(session, out, &lines)?;
            }
            (Self::Reader(_), Destination::InPlace) => {
                unreachable!("opening for in-place writing gives a writer")
            }
        }
        Ok(ids)
    }
}

/// Writes a copy of the session, in version 3, with `lines` after it.
fn write_copy(session: &SessionFile, out: &std::path::Path, lines: &[String]) -> Result<(), Error> {
    let contents = session.contents()?;
    let ends = session.decoded.ends_with_newline;
    if session.version() >= 3 {
        return write_new(out, contents, ends, lines);
    }
    let mut migrated = migrated(session, contents)?;
    migrated.extend(lines.iter().map(|line| line.clone().into_bytes()));
    write_new(out, Contents::Empty, true, &migrated)
}

/// Returns the lines of a session of version 1 or 2 as version 3 has them.
fn migrated(session: &SessionFile, contents: Contents) -> Result<Vec<Vec<u8>>, Error> {
    let bytes = contents
        .read()
        .map_err(|error| Error::io("read", &session.path, error))?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut lines =
        migrate_lines(session.version(), lines).map_err(|error| Error::Usage(error.to_string()))?;
    if bytes.ends_with(b"\n") {
        lines.pop();
    }
    Ok(lines)
}

/// Returns what was noticed about a session, and about one context of it.
fn all_diagnostics<'a>(
    session: &'a SessionFile,
    context: &'a SessionContext,
) -> Vec<&'a Diagnostic> {
    let diagnostics = session.decoded.diagnostics.iter();
    diagnostics.chain(&context.diagnostics).collect()
}

/// How many diagnostics people are shown.
const SHOWN_DIAGNOSTICS: usize = 20;

/// Returns the diagnostics as text for people, or nothing when there are none.
fn diagnostics_text(diagnostics: &[Diagnostic]) -> String {
    let lines = diagnostics.iter().take(SHOWN_DIAGNOSTICS).map(|said| {
        let label = crate::ui::severity_label(said.severity);
        format!("  {label} {}\n", crate::ui::clean(&said.to_string()))
    });
    let mut text: String = lines.collect();
    let left = diagnostics.iter().skip(SHOWN_DIAGNOSTICS);
    let left: u64 = left.map(Diagnostic::count).sum();
    if left > 0 {
        text.push_str(&format!("  ... {left} more; --json lists them\n"));
    }
    text
}

/// Returns the text that a person passes to the shell to name `path` again.
fn shell_name(path: &std::path::Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:=,@".contains(&byte);
    match text.bytes().all(plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
