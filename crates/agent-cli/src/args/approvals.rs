//! Arguments of `approvals`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `approvals`.
#[derive(Debug, Args)]
pub struct ApprovalsArgs {
    /// What to do with the rules.
    #[command(subcommand)]
    pub command: ApprovalsCommand,
}

/// What to do with the rules of a project.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List the rules.
    List(ProjectArgs),
    /// Let calls run without a question.
    Allow(RuleArgs),
    /// Let calls never run, whatever else is allowed.
    Deny(RuleArgs),
    /// Remove a rule, so that somebody is asked again.
    Forget(RuleArgs),
}

/// The project.
#[derive(Debug, Args)]
pub struct ProjectArgs {
    /// The folder of the project; this one unless given.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

/// A rule of a project.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// The command, exactly; or its beginning with * at the end, for single commands that begin so.
    #[arg(allow_hyphen_values = true)]
    pub rule: String,
    /// The tool whose calls the rule is about; SERVER__* for all of a server.
    #[arg(long, value_name = "NAME", default_value = "bash")]
    pub tool: String,
    /// Take a * at the end as it stands.
    #[arg(long)]
    pub exact: bool,
    /// The project.
    #[command(flatten)]
    pub project: ProjectArgs,
}
