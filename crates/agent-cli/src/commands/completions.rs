//! `completions`: scripts that complete commands and options in a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

use crate::commands::{Cli, Outcome};
use crate::error::Error;
use crate::options::Global;

/// Print completions for a shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs, _: &Global) -> Result<Outcome, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "agent-cli", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let document = json!({ "shell": args.shell.to_string(), "script": script });
    Ok(Outcome::done(&document, script))
}
