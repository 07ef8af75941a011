//! The program `agent-cli`: reads arguments, runs a command, maps its outcome to an exit code.

use std::process::ExitCode;

use agent_cli::args::Cli;
use clap::Parser;

fn main() -> ExitCode {
    let cli = Cli::parse();
    agent_cli::cancel::listen();
    agent_cli::run(&cli)
}
