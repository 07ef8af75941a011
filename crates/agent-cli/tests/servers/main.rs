//! Servers of tools: this program is their client's test, and with `--serve` the server that it tests with.

#![cfg_attr(not(unix), allow(dead_code))]

mod calls;
mod program;
mod runner;
mod server;
mod starts;
mod surroundings;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("--serve", rest)) = arguments
        .split_first()
        .map(|(first, rest)| (first.as_str(), rest))
    {
        server::serve(rest);
        return ExitCode::SUCCESS;
    }
    let mut tests = Vec::new();
    if cfg!(unix) {
        tests.extend(calls::TESTS);
        tests.extend(starts::TESTS);
        tests.extend(program::TESTS);
    }
    runner::run(&tests, &arguments)
}
