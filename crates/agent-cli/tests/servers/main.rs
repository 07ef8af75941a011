//! Servers of tools: this program is their client's test, and with `--serve` the server that it tests with.

#[cfg(unix)]
mod calls;
#[cfg(unix)]
mod program;
#[cfg(unix)]
mod rpc;
#[cfg(unix)]
mod runner;
#[cfg(unix)]
mod server;
#[cfg(unix)]
mod starts;
#[cfg(unix)]
mod surroundings;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == "--serve" => {
            server::serve(rest);
            ExitCode::SUCCESS
        }
        Some(_) | None => {
            let mut tests = Vec::new();
            tests.extend(calls::TESTS);
            tests.extend(starts::TESTS);
            tests.extend(program::TESTS);
            tests.extend(rpc::TESTS);
            runner::run(&tests, &arguments)
        }
    }
}

/// Elsewhere there are no groups of processes to look at.
#[cfg(not(unix))]
fn main() -> ExitCode {
    ExitCode::SUCCESS
}
