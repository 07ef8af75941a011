//! The cases, and how they are run: one server at a time, started anew where a case wants another.

use std::path::Path;
use std::time::Instant;

use super::install::Installed;
use super::server::{Server, Setup};
use super::{command, live, provider, smoke};
use crate::run::Outcome;

/// The context that is cheap to fill: a real overflow takes a second.
pub const SMALL: u32 = 1024;

/// The context that holds a short session, the request for its summary, and the summary.
pub const LARGE: u32 = 2048;

/// Returns what was seen, in a few words, or what is wrong.
pub type Check = Box<dyn Fn(&Server) -> Outcome<String>>;

/// One thing that must hold against a real model server.
pub struct Case {
    /// Its name, for `--only`.
    pub name: String,
    /// The server that it needs.
    pub setup: Setup,
    /// What is done.
    pub run: Check,
}

/// Returns every case in the order in which they run.
fn all(program: &Path) -> Vec<Case> {
    let mut cases = smoke::cases();
    cases.extend(provider::cases());
    cases.extend(command::cases(program));
    cases.extend(live::cases(program));
    // Those of the same server together, so that it starts once for all of them.
    cases.sort_by_key(|case| case.setup);
    cases
}

/// Runs the cases whose name contains `only`, with the program that some of them run; returns the server that the last one left, with an error when
/// any failed.
pub fn run(installed: &Installed, program: &Path, only: Option<&str>) -> (Option<Server>, Outcome) {
    let cases: Vec<Case> = all(program)
        .into_iter()
        .filter(|case| only.is_none_or(|only| case.name.contains(only)))
        .collect();
    if cases.is_empty() {
        let names: Vec<_> = all(program).into_iter().map(|case| case.name).collect();
        return (
            None,
            Err(format!("no such case; there are {}", names.join(", "))),
        );
    }
    let started = Instant::now();
    let mut server: Option<Server> = None;
    let mut failed = Vec::new();
    for case in &cases {
        if server
            .as_ref()
            .is_none_or(|server| server.setup() != case.setup)
        {
            // The old one ends before the new one starts: both would not fit a small machine.
            drop(server.take());
            let starting = Instant::now();
            match Server::start(installed, case.setup, 0) {
                Ok(new) => {
                    let seconds = starting.elapsed().as_secs_f64();
                    println!(
                        "   server up at {} in {seconds:.1} s, context {}",
                        new.url(),
                        case.setup.context
                    );
                    server = Some(new);
                }
                Err(error) => return (None, Err(error)),
            }
        }
        let Some(server) = &server else { break };
        let running = Instant::now();
        let seen = (case.run)(server);
        let seconds = running.elapsed().as_secs_f64();
        let (word, what) = match &seen {
            Ok(what) => ("ok", what),
            Err(what) => ("FAILED", what),
        };
        println!("{word:>6}  {:<24} {seconds:>6.1} s  {what}", case.name);
        if seen.is_err() {
            failed.push(case.name.as_str());
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{} cases, {} failed, {seconds:.1} s",
        cases.len(),
        failed.len()
    );
    let outcome = match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("failed: {}", failed.join(", "))),
    };
    (server, outcome)
}
