//! The program `agent-cli`: reads arguments, runs a command, maps its outcome to an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    agent_cli::run_program()
}
