//! Conformance: `--profile pi` held against pi's own functions, side by side.

use std::path::PathBuf;
use std::process::Command;

use crate::run::{Outcome, debug_binary, root, succeed, target, without_settings};

/// Sessions that are compared in addition to the generated ones, where they are at hand.
const EXTRA: [&str; 3] = [
    "examples/sessions/long.jsonl",
    "../shared/sessions/pi_large-session.jsonl",
    "../shared/sessions/pi_v3_small.jsonl",
];

/// Installs pi where it is missing and compares; arguments are passed on to the comparison.
pub fn run(arguments: &[String]) -> Outcome {
    let pi = install()?;
    let binary = debug_binary()?;
    let mut node = Command::new("node");
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

/// Returns the folder that holds pi, or `None` when it is not installed.
pub fn installed() -> Option<PathBuf> {
    let folder = target().join("conformance");
    let package = "node_modules/@earendil-works/pi-coding-agent/package.json";
    folder.join(package).is_file().then_some(folder)
}

/// Installs pi from the lock file into a folder of the build, if it is not there.
pub fn install() -> Outcome<PathBuf> {
    if let Some(folder) = installed() {
        return Ok(folder);
    }
    let folder = target().join("conformance");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    for name in ["package.json", "package-lock.json"] {
        std::fs::copy(
            root().join("xtask/conformance").join(name),
            folder.join(name),
        )
        .map_err(failed)?;
    }
    let mut npm = Command::new("npm");
    npm.current_dir(&folder).args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    succeed(&mut npm)?;
    installed().ok_or_else(|| "npm installed no pi".to_owned())
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
