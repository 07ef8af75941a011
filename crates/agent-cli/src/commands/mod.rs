//! The commands, each a function from arguments to an outcome that can be printed.

#[cfg(feature = "acp")]
mod acp;
mod approvals;
mod branch;
mod compact;
mod compare;
mod completions;
mod config;
mod context;
mod copy_sessions;
mod doctor;
mod export;
mod files;
mod gc;
mod handoff;
mod hook;
mod hooks;
mod import;
mod inspect;
mod loss;
mod mcp;
mod migrate;
mod models;
mod order;
mod output;
mod pin;
mod plan;
mod provenance;
mod recall;
mod redo;
mod restoring;
mod rpc;
mod run;
mod same_output;
mod servers;
mod sessions;
mod setup;
#[cfg(feature = "tui")]
mod terminal;
mod tree;
mod undo;
#[cfg(feature = "tui")]
mod user_commands;
#[cfg(feature = "tui")]
mod welcome;

use output::{Destination, Opened};

pub use mcp::mcp_call;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand};
use serde::Serialize;
use serde_json::json;
use session_model::{Diagnostic, DiagnosticKind, SessionContext, Severity};

use crate::commands::run::RunArgs;
use crate::error::{Error, ErrorKind};
use crate::options::Global;
use crate::read_report::ReadReport;
use crate::ui::progress;
use summarize::ModelReport;

const AFTER_HELP: &str = "\
Exit codes: 0 done; 1 failed, or doctor found errors; 2 usage or settings; 3 nothing
to do; 4 the session cannot be used; 5 a provider failed; 130 cancelled.

A session is a JSONL file of pi, oh-my-pi or agent-cli (versions 1 to 3). Commands that
only read take sessions of other agents too.
Nothing is changed unless --in-place is given; --out writes a copy and never overwrites.";

/// A coding agent whose long sessions stay usable, and the tools to look into sessions, compact them, branch
/// them, and undo it.
///
/// On a terminal it opens a session to talk to; with -p it runs an agent, and rpc lets a program drive one. The other commands work on session files, without a
/// key and a network unless a model is named.
#[derive(Debug, Parser)]
#[command(
    name = "agent-cli",
    version,
    after_help = AFTER_HELP,
    propagate_version = true,
    subcommand_negates_reqs = true,
    override_usage = "agent-cli [OPTIONS] [PROMPT]\n       agent-cli [OPTIONS] -p PROMPT\n       agent-cli [OPTIONS] COMMAND"
)]
pub struct Cli {
    /// What to do with session files.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// What you say first, in several words; without a terminal as with -p.
    #[arg(value_name = "PROMPT", conflicts_with = "prompt")]
    pub(crate) message: Option<String>,
    /// Options of a running session.
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Options of every command.
    #[command(flatten)]
    pub(crate) global: Global,
}

/// What a command gives: a document for programs, and the same for people.
#[derive(Default)]
pub(crate) struct Outcome {
    json: serde_json::Value,
    text: String,
    nothing_to_do: Option<String>,
    /// What failed, although there is something to show.
    failed: Option<String>,
    /// What is reported of the session that was read.
    report: ReadReport,
}

impl Outcome {
    fn done<T: Serialize>(document: &T, text: String) -> Self {
        Self {
            json: serde_json::to_value(document).unwrap_or_default(),
            text,
            ..Self::default()
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
            nothing_to_do: Some(reason),
            ..Self::default()
        }
    }

    /// Returns what people are told, without styles.
    #[cfg(feature = "tui")]
    fn plain_text(&self) -> String {
        let text = self.nothing_to_do.as_deref().unwrap_or(&self.text);
        anstream::adapter::strip_str(text).to_string()
    }

    fn filtered(mut self, global: &Global) -> Self {
        let filter = global.output_filter();
        match global.json {
            true => filter.document(&mut self.json),
            false => self.text = filter.text(&self.text),
        }
        let reason = self.nothing_to_do.as_deref();
        self.nothing_to_do = reason.map(|reason| filter.text(reason));
        self
    }

    /// Returns the outcome of a command that has read a session.
    fn of(self, report: ReadReport) -> Self {
        Self { report, ..self }
    }
}

/// Defines the enum of commands. A line is the command's name, its module with `run`, and its arguments there, whose
/// doc comment is the command's help.
macro_rules! commands {
    ($($(#[$condition:meta])? $name:ident: $module:ident::$args:ident,)*) => {
        /// A command, with its arguments.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $($(#[$condition])? $name(Box<$module::$args>),)*
        }

        impl Command {
            fn run(&self, global: &Global) -> Result<Outcome, Error> {
                match self {
                    $($(#[$condition])? Self::$name(args) => $module::run(args, global),)*
                }
            }

            /// Returns its module, which people know by its name.
            const fn name(&self) -> &'static str {
                match self {
                    $($(#[$condition])? Self::$name(_) => stringify!($module),)*
                }
            }
        }
    };
}

commands! {
    Inspect: inspect::InspectArgs,
    Context: context::ContextArgs,
    Plan: plan::PlanArgs,
    Compact: compact::CompactArgs,
    Branch: branch::BranchArgs,
    Handoff: handoff::HandoffArgs,
    Recall: recall::RecallArgs,
    Files: files::FilesArgs,
    Loss: loss::LossArgs,
    Compare: compare::CompareArgs,
    Rpc: rpc::RpcArgs,
    #[cfg(feature = "acp")]
    Acp: acp::AcpArgs,
    Mcp: mcp::McpArgs,
    Setup: setup::SetupArgs,
    Hook: hook::HookArgs,
    Tree: tree::TreeArgs,
    Undo: undo::UndoArgs,
    Redo: redo::RedoArgs,
    Pin: pin::PinArgs,
    Migrate: migrate::MigrateArgs,
    Import: import::ImportArgs,
    Export: export::ExportArgs,
    Doctor: doctor::DoctorArgs,
    Gc: gc::GcArgs,
    Models: models::ModelsArgs,
    Sessions: sessions::SessionsArgs,
    Servers: servers::ServersArgs,
    Config: config::ConfigArgs,
    Approvals: approvals::ApprovalsArgs,
    Hooks: hooks::HooksArgs,
    Completions: completions::CompletionsArgs,
}

fn outcome(cli: &Cli) -> Result<Outcome, Error> {
    let global = &cli.global;
    let Some(command) = &cli.command else {
        let message = cli.message.as_deref();
        // A word alone is a misspelt command more often than something to do.
        if let Some(word) = message.filter(|text| !text.trim().contains(char::is_whitespace)) {
            return Err(Error::Usage(format!(
                "there is no command {}; --help lists them, and -p says a single word to the agent",
                crate::ui::clean(word)
            )));
        }
        #[cfg(feature = "tui")]
        if terminal::is_wanted(&cli.run, global) {
            return terminal::run(&cli.run, message, global);
        }
        let prompt = message.map(str::to_owned);
        return run::run(
            &RunArgs {
                prompt: prompt.or(cli.run.prompt.clone()),
                ..cli.run.clone()
            },
            global,
        );
    };
    if cli.run.are_given() {
        return Err(Error::Usage(
            "options of a running session (-p, --model before a command, ...) and a command do not go together; put the options of a command behind its name".to_owned(),
        ));
    }
    // A wrong setting is an error even if the command does not use it, except where the user looks for the mistake.
    if !matches!(command, Command::Config(args) if args.needs_no_settings()) {
        global.app_settings()?;
    }
    // Those that serve programs have no end to come to.
    let serves = ["rpc", "acp", "mcp", "hook"].contains(&command.name());
    let _watched = (!serves).then(|| progress::watch(command.name()));
    reported(command.run(global)?)
}

/// Returns an outcome that names the format of the session where another program wrote it, and what of it could not be
/// read. Fails where reading itself did.
fn reported(mut outcome: Outcome) -> Result<Outcome, Error> {
    if let Some(failed) = outcome.report.take_failure() {
        return Err(failed);
    }
    if let Some(read_as) = &outcome.report.read_as {
        if let Some(document) = outcome.json.as_object_mut() {
            document.insert("format".to_owned(), json!(read_as.format));
        }
        outcome.text = format!("{}\n{}", read_as.line, outcome.text);
    }
    outcome.report.report(&mut outcome.json);
    Ok(outcome)
}

/// Reads the arguments of the program, runs the command and prints its outcome; returns the exit code.
pub fn run_program() -> ExitCode {
    ::hooks::process::forbid_inspection();
    match Cli::try_parse() {
        Ok(cli) => {
            let as_json = cli.global.json;
            crate::cancel::listen(move || {
                report(&Error::Cancelled, as_json && !PRINTS.load(Ordering::SeqCst));
            });
            run(&cli)
        }
        Err(error) => {
            // Help and the version come as errors too.
            if !error.use_stderr() {
                error.exit();
            }
            if std::env::args_os().any(|argument| argument == "--json") {
                print_error(ErrorKind::Usage, &brief(&error), None, None);
            }
            let text = error.to_string();
            crate::ui::tell_error(text.trim_start_matches("error: ").trim_end());
            ExitCode::from(ErrorKind::Usage.exit_code())
        }
    }
}

/// Returns what is wrong with arguments, without what is for people at a terminal.
fn brief(error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().take_while(|line| !line.is_empty());
    let message = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    message.trim_start_matches("error: ").to_owned()
}

/// Runs the command and prints its outcome; returns the exit code.
fn run(cli: &Cli) -> ExitCode {
    let kind = match outcome(cli) {
        Ok(outcome) => print(&outcome.filtered(&cli.global), cli.global.json),
        Err(error) => Err(error),
    };
    match kind {
        Ok(kind) => {
            cli.global.output_filter().report();
            kind.map_or(ExitCode::SUCCESS, |kind| ExitCode::from(kind.exit_code()))
        }
        Err(error) => {
            report(&error, cli.global.json);
            ExitCode::from(error.kind().exit_code())
        }
    }
}

fn report(error: &Error, as_json: bool) {
    if as_json {
        print_error(
            error.kind(),
            &error.to_string(),
            error.fault(),
            error.report(),
        );
    }
    crate::ui::tell_error(&error.to_string());
}

/// Prints the document of an error. The error itself goes to stderr; a closed stdout changes nothing about it.
fn print_error(kind: ErrorKind, message: &str, fault: Option<&str>, report: Option<&ModelReport>) {
    let mut document = json!({
        "error": { "kind": kind, "message": message, "exit_code": kind.exit_code() }
    });
    if let Some(fault) = fault {
        document["error"]["fault"] = json!(fault);
    }
    if let Some(report) = report.and_then(ModelReport::of_models) {
        document["model"] = json!(report);
    }
    let _ = write!(
        std::io::stdout().lock(),
        "{}",
        crate::ui::json_text(&document)
    );
}

/// Whether an outcome is being printed, which locks standard output until a reader takes it.
static PRINTS: AtomicBool = AtomicBool::new(false);

fn print(outcome: &Outcome, as_json: bool) -> Result<Option<ErrorKind>, Error> {
    PRINTS.store(true, Ordering::SeqCst);
    let text = match (as_json, std::io::stdout().is_terminal()) {
        (true, _) => &crate::ui::json_text(&outcome.json),
        (false, true) => &crate::ui::for_terminal(&outcome.text),
        (false, false) => &outcome.text,
    };
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    match written.and_then(|()| stdout.flush()) {
        Ok(()) => {}
        // Somebody who reads only the beginning has what they want.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(Error::io("write to", "standard output", error)),
    }
    if let Some(reason) = &outcome.failed {
        crate::ui::tell_error(reason);
        return Ok(Some(ErrorKind::Failure));
    }
    Ok(outcome.nothing_to_do.as_ref().map(|reason| {
        let reason = reason.trim_start_matches("nothing to do: ");
        crate::ui::tell(&format!("nothing to do: {reason}"));
        ErrorKind::NothingToDo
    }))
}

/// Returns what was noticed about a session, and about one context of it.
fn all_diagnostics<'a>(
    of_session: &'a [Diagnostic],
    context: &'a SessionContext,
) -> Vec<&'a Diagnostic> {
    of_session.iter().chain(&context.diagnostics).collect()
}

/// How many diagnostics people are shown.
const SHOWN_DIAGNOSTICS: usize = 20;

/// Returns the diagnostics as text for people, or nothing when there are none; of those of one kind at most `each`,
/// the last one with the number of the others.
fn diagnostics_text(diagnostics: &[Diagnostic], each: usize) -> String {
    let mut kinds: Vec<(Severity, DiagnosticKind, Vec<&Diagnostic>)> = Vec::new();
    for found in diagnostics {
        let key = (found.severity, found.kind);
        match kinds
            .iter_mut()
            .find(|(severity, kind, _)| (*severity, *kind) == key)
        {
            Some((_, _, of_kind)) => of_kind.push(found),
            None => kinds.push((found.severity, found.kind, vec![found])),
        }
    }
    let mut text = String::new();
    for (severity, _, of_kind) in kinds {
        let label = crate::ui::severity_label(severity);
        let shown = each.min(of_kind.len());
        for (place, found) in of_kind[..shown].iter().enumerate() {
            let others = of_kind[shown..].iter().map(|found| found.count());
            let others: u64 = others.sum();
            let more = match others {
                0 => String::new(),
                _ if place + 1 < shown => String::new(),
                others => format!("  (and {others} more of this kind; --json lists them)"),
            };
            let found = crate::ui::clean(&found.to_string());
            text.push_str(&format!("  {label} {found}{more}\n"));
        }
    }
    text
}
