//! End to end with a real model: a small one, served by llama.cpp on loopback.
//!
//! A model of 135 million parameters writes no good summary: what is shown is that transport, limits, overflow and cut
//! answers are handled as a real server has them.

pub mod install;
mod program;
mod provider;
mod server;

use std::time::Instant;

use crate::run::{Outcome, debug_binary};
use server::{Server, Setup};

const HELP: &str = "\
cargo xtask e2e-llm [NAME...]        install, start a server, run the cases with a NAME in their names
cargo xtask e2e-llm serve [CONTEXT]  serve in the foreground until Ctrl-C, with a window of so many tokens (4096)

Needs python3 3.10 or newer and the network once; installs 350 MB in AGENT_CLI_E2E_HOME or a folder of the build.";

/// Returns what was seen, in a few words, or what is wrong.
type Check = Box<dyn Fn(&Server) -> Outcome<String>>;

/// One test against a real model server.
struct Case {
    name: String,
    /// The server that it needs.
    setup: Setup,
    run: Check,
}

/// Runs the command of the arguments.
pub fn run(arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["serve", context @ ..] = words.as_slice() {
        let context = context.first().map_or(Ok(4096), |context| context.parse());
        let context = context.map_err(|_| HELP.to_owned())?;
        let mut server = Server::start(&install::install()?, Setup::free(context))?;
        println!("serving {} at {} until Ctrl-C", server::MODEL, server.url());
        return server.wait();
    }
    let mut cases = provider::cases();
    cases.extend(program::cases(&debug_binary()?)?);
    cases.retain(|case| words.is_empty() || words.iter().any(|word| case.name.contains(word)));
    if cases.is_empty() {
        return Err(HELP.to_owned());
    }
    // Those of the same server together, so that it starts once for all of them.
    cases.sort_by_key(|case| case.setup);
    run_cases(&cases)
}

/// Runs cases, one server at a time, which is restarted if a case needs another one.
fn run_cases(cases: &[Case]) -> Outcome {
    let installed = install::install()?;
    let mut server: Option<Server> = None;
    let mut failed = Vec::new();
    for case in cases {
        let running = match server.take().filter(|server| server.setup() == case.setup) {
            Some(running) => running,
            None => Server::start(&installed, case.setup)?,
        };
        let started = Instant::now();
        let seen = (case.run)(&running);
        let seconds = started.elapsed().as_secs_f64();
        let (word, what) = match &seen {
            Ok(what) => ("ok", what),
            Err(what) => ("FAILED", what),
        };
        println!("{word:>6}  {:<22} {seconds:>6.1} s  {what}", case.name);
        if seen.is_err() {
            failed.push(case.name.as_str());
        }
        server = Some(running);
    }
    println!("{} cases, {} failed", cases.len(), failed.len());
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}", failed.join(", "))),
    }
}
