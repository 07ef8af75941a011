//! The command line.

mod approvals;
mod compare;
mod config;
mod hooks;
mod model;
mod pin;
mod run;
mod servers;

pub use approvals::{ApprovalsArgs, ApprovalsCommand, ProjectArgs, RuleArgs};
pub use compare::{AgainstArg, CompareArgs, LossArgs};
pub use config::{ConfigArgs, ConfigCommand, ConfigExplainArgs, ConfigShowArgs};
pub use hooks::{HooksArgs, HooksCommand, HooksTestArgs};
pub use model::{FallbackArg, ModelArgs, NativeArg, WireArg};
pub use pin::{PinArgs, RedoArgs};
pub use run::{ModeArg, RunArgs, ThinkingArg};
pub use servers::ServersArgs;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

const AFTER_HELP: &str = "\
Exit codes: 0 done; 1 failed, or doctor found errors; 2 usage or settings; 3 nothing
to do; 4 the session cannot be used; 5 a provider failed; 130 cancelled.

A session is a JSONL file of pi, oh-my-pi or agent-cli (versions 1 to 3). Nothing
is changed unless --in-place is given; --out writes a copy and never overwrites.";

/// A coding agent whose long sessions stay usable, and the tools to look into sessions, compact them, branch
/// them, and undo it.
///
/// With -p it runs an agent, and rpc lets a program drive one. The other commands work on session files, without a
/// key and a network unless a model is named.
#[derive(Debug, Parser)]
#[command(
    name = "agent-cli",
    version,
    after_help = AFTER_HELP,
    propagate_version = true,
    subcommand_negates_reqs = true,
    override_usage = "agent-cli [OPTIONS] -p PROMPT\n       agent-cli [OPTIONS] COMMAND"
)]
pub struct Cli {
    /// What to do with session files.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of a session that is lived in.
    #[command(flatten)]
    pub run: RunArgs,
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
}

/// Options of every command.
#[derive(Debug, Args)]
pub struct Global {
    /// Print one JSON document instead of text for people.
    #[arg(long, global = true, help_heading = "Global options")]
    pub json: bool,
    /// Set one setting, for example compaction.keepRecentTokens=8000; may be repeated.
    #[arg(
        long = "set",
        global = true,
        value_name = "KEY=VALUE",
        help_heading = "Global options"
    )]
    pub set: Vec<String>,
    /// Read one more settings file, on top of the global and the project's; --set goes on top of all.
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        help_heading = "Global options"
    )]
    pub settings: Option<PathBuf>,
    /// Whose rules to follow.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        help_heading = "Global options"
    )]
    pub profile: ProfileArg,
}

/// Whose rules to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ProfileArg {
    /// The project's own rules.
    #[default]
    Own,
    /// pi 0.87.1 to the letter, for comparison.
    Pi,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what a session holds: entries, branches, compactions, tokens, files, diagnostics.
    Inspect(InspectArgs),
    /// Show the messages that the model would see.
    Context(ContextArgs),
    /// Show what a compaction would do, without doing it.
    Plan(PlanArgs),
    /// Compact a session: summarize older history, keep recent work word for word.
    Compact(CompactArgs),
    /// Go to another point of the session, with or without a summary of what is left.
    Branch(BranchArgs),
    /// Write a document from which a new session goes on, and begin that session with it.
    Handoff(HandoffArgs),
    /// Find again what was said, on every branch, also what a compaction took out of the context.
    Recall(RecallArgs),
    /// Show what compactions put out of the model's sight, and what their summaries invented.
    Loss(LossArgs),
    /// List the summaries of a session: who wrote each, when, by which strategy, what it took, and how it ended.
    Summaries(SessionArgs),
    /// Show what several strategies would make of a session, side by side.
    Compare(CompareArgs),
    /// Drive a living session from a program: requests on standard input, answers and events on standard output, a
    /// JSON object a line (docs/reference/rpc.md).
    Rpc(Box<RpcArgs>),
    /// Show the turns and branches of a session.
    Tree(TreeArgs),
    /// Go back to before the newest compaction or change of branch.
    Undo(UndoArgs),
    /// Bring again what was undone last, or compact by another strategy in the place of the newest compaction.
    Redo(RedoArgs),
    /// Keep a text or an entry word for word through every compaction; list and remove such pins.
    Pin(PinArgs),
    /// Write a session of version 1 or 2 as version 3.
    Migrate(MigrateArgs),
    /// Read every line of a session and report all damage.
    Doctor(DoctorArgs),
    /// List the models that are known: window, prices, abilities, and whether a key is set.
    Models(ModelsArgs),
    /// List the sessions that a running agent keeps, and say where they are.
    Sessions(SessionsArgs),
    /// Start the servers of tools that are configured, list what they bring, and end them.
    Servers(ServersArgs),
    /// Show the settings, where each value comes from, and what there is to set.
    Config(ConfigArgs),
    /// Show and change which tool calls are allowed in a project without a question, and which never are.
    Approvals(ApprovalsArgs),
    /// List the hooks of the settings, or try them.
    Hooks(HooksArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
}

/// The session, and where on its tree to stand.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// The session file, or - for standard input.
    pub session: PathBuf,
    /// Stand at this entry instead of the last one; `root` is before everything.
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
}

/// The window of the model.
#[derive(Debug, Args)]
pub struct WindowArgs {
    /// The model's context window in tokens, also the summarizer's; unless given, the largest of the named models', or 200000.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    pub window: Option<i64>,
}

/// Where to write.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write the result to a new file.
    #[arg(long, value_name = "FILE", group = "output")]
    pub out: Option<PathBuf>,
    /// Append to the session itself.
    #[arg(long, group = "output")]
    pub in_place: bool,
    /// Show what would be done; write nothing.
    #[arg(long, group = "output")]
    pub dry_run: bool,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
}

/// Arguments of `context`.
#[derive(Debug, Args)]
pub struct ContextArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Show the messages as they would be sent: converted, calls and results paired.
    #[arg(long)]
    pub llm: bool,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// What the summary should focus on.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub focus: Option<String>,
    /// context-full, restore, extractive or prune-only; of several, parted by commas, each takes over where the one
    /// before brings nothing.
    #[arg(long, value_name = "NAMES")]
    pub strategy: Option<String>,
    /// Where restore reads the files that were touched; the session's own folder unless given.
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

/// Arguments of `compact`.
#[derive(Debug, Args)]
pub struct CompactArgs {
    /// What is planned.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Who writes the summary.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `branch`.
#[derive(Debug, Args)]
pub struct BranchArgs {
    /// The session file, or - for standard input.
    pub session: PathBuf,
    /// Leave from this entry instead of the last one.
    #[arg(long, value_name = "ID")]
    pub from: Option<String>,
    /// Go to this entry; a message of the user returns to the editor. `root` is before everything.
    #[arg(long, value_name = "ID")]
    pub to: String,
    /// Leave a summary of the branch at the target.
    #[arg(long)]
    pub summarize: bool,
    /// What the summary should focus on.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub focus: Option<String>,
    /// The most tokens of the branch that are summarized; window - branchSummary.reserveTokens unless given.
    #[arg(long, value_name = "TOKENS", allow_negative_numbers = true)]
    pub budget: Option<i64>,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// Who writes the summary.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `handoff`.
#[derive(Debug, Args)]
pub struct HandoffArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// What the document should focus on.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub focus: Option<String>,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// Who writes the document.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Write the new session to this file.
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    pub out: Option<PathBuf>,
    /// Show the document; write nothing.
    #[arg(long, conflicts_with = "out")]
    pub dry_run: bool,
}

/// Arguments of `recall`.
#[derive(Debug, Args)]
pub struct RecallArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// The words to look for; with --regex a pattern.
    #[arg(required_unless_present = "id")]
    pub query: Vec<String>,
    /// The query is a regular expression; the newest matches come first.
    #[arg(long)]
    pub regex: bool,
    /// Read this entry instead of searching.
    #[arg(long, value_name = "ID", conflicts_with_all = ["query", "regex"])]
    pub id: Option<String>,
    /// With --id: skip this many characters.
    #[arg(long, value_name = "N")]
    pub offset: Option<usize>,
    /// The most entries that are shown.
    #[arg(long, value_name = "N", default_value = "10")]
    pub limit: NonZeroUsize,
    /// The most characters that are shown of an entry: 240 of each that is found, 8000 of one that is read.
    #[arg(long, value_name = "N")]
    pub chars: Option<NonZeroUsize>,
}

/// Arguments of `rpc`.
#[derive(Debug, Args)]
pub struct RpcArgs {
    /// Options of the session.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Arguments of `tree`.
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
}

/// Arguments of `undo`.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The session.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `migrate`.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// The session file.
    pub session: PathBuf,
    /// Where to write; --in-place keeps the old file as FILE.v1.bak or FILE.v2.bak.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The session file, or - for standard input.
    pub session: PathBuf,
}

/// Arguments of `models`.
#[derive(Debug, Args)]
pub struct ModelsArgs {
    /// Show only models whose PROVIDER/MODEL contains this text.
    pub filter: Option<String>,
    /// Show only models of this provider.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
}

/// Arguments of `sessions`.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// What to do with them.
    #[command(subcommand)]
    pub command: SessionsCommand,
}

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions of this directory, the last written first.
    List(SessionsListArgs),
    /// Print the folder that holds all sessions.
    Path(SessionDirArgs),
}

/// Arguments of `sessions list`.
#[derive(Debug, Args)]
pub struct SessionsListArgs {
    /// List the sessions of every directory.
    #[arg(long)]
    pub all: bool,
    /// Where sessions are.
    #[command(flatten)]
    pub dir: SessionDirArgs,
}

/// Where sessions are.
#[derive(Debug, Clone, Default, Args)]
pub struct SessionDirArgs {
    /// The folder that holds all sessions; unless given, AGENT_CLI_SESSION_DIR or a folder for the user's data.
    #[arg(long, value_name = "DIR")]
    pub session_dir: Option<PathBuf>,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: Shell,
}
