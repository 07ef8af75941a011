//! Conformance: `--profile pi` held against pi's own functions, side by side.

use std::path::PathBuf;
use std::process::Command;

use crate::integrations;
use crate::run::{Outcome, debug_binary, root, succeed, without_settings};

/// Sessions that are compared in addition to the generated ones, if they exist.
const EXTRA: [&str; 3] = [
    "examples/sessions/long.jsonl",
    "../shared/sessions/pi_large-session.jsonl",
    "../shared/sessions/pi_v3_small.jsonl",
];

/// Installs pi if it is missing and compares; arguments are passed on to the comparison.
pub fn run(arguments: &[String]) -> Outcome {
    let pi = integrations::install_pi()?;
    let binary = debug_binary()?;
    let mut node = Command::new(integrations::node()?);
    without_settings(&mut node)
        .current_dir(root())
        .arg("xtask/conformance/run.mjs")
        .arg("--pi")
        .arg(&pi)
        .arg("--bin")
        .arg(&binary);
    for extra in extra_sessions() {
        node.arg("--extra").arg(extra);
    }
    succeed(node.args(arguments))
}

/// Returns those of [`EXTRA`] that are there.
fn extra_sessions() -> Vec<PathBuf> {
    let candidates = EXTRA.iter().map(|path| root().join(path));
    candidates.filter(|path| path.is_file()).collect()
}

/// Returns those of [`EXTRA`] that are not there.
pub fn missing_sessions() -> Vec<&'static str> {
    let candidates = EXTRA.into_iter();
    candidates
        .filter(|path| !root().join(path).is_file())
        .collect()
}
