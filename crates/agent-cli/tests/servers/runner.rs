//! Runs tests as the usual harness does, as far as its arguments are used here.

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

/// A test: its name, and what it does.
pub type Test = (&'static str, fn());

/// Runs the tests that the arguments choose, one after the other.
pub fn run(tests: &[Test], arguments: &[String]) -> ExitCode {
    let given = |name: &str| arguments.iter().any(|argument| argument == name);
    let mut filters = Vec::new();
    let mut skipped = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--skip" => skipped.extend(rest.next()),
            "--test-threads" | "--format" | "--color" | "--report-time" => {
                rest.next();
            }
            flag if flag.starts_with('-') => {}
            _ => filters.push(argument),
        }
    }
    let fits = |name: &str, filter: &String| match given("--exact") {
        true => name == filter,
        false => name.contains(filter.as_str()),
    };
    let chosen: Vec<&Test> = tests
        .iter()
        .filter(|(name, _)| filters.is_empty() || filters.iter().any(|filter| fits(name, filter)))
        .filter(|(name, _)| !skipped.iter().any(|filter| fits(name, filter)))
        // None of them is ignored as a rule.
        .filter(|_| !given("--ignored"))
        .collect();
    if given("--list") {
        for (name, _) in chosen {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", chosen.len());
    let mut failed = Vec::new();
    for (name, test) in &chosen {
        let passed = std::panic::catch_unwind(AssertUnwindSafe(test)).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        if !passed {
            failed.push(*name);
        }
    }
    let passed = chosen.len() - failed.len();
    println!("\n{passed} passed; {} failed {failed:?}\n", failed.len());
    match failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
