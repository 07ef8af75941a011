//! `completions`: scripts that complete commands and options in a shell.

use clap::CommandFactory;
use serde_json::json;

use crate::args::{Cli, CompletionsArgs};
use crate::commands::Outcome;

pub(super) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "agent-cli", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let document = json!({ "shell": args.shell.to_string(), "script": script });
    Outcome::done(&document, script)
}
