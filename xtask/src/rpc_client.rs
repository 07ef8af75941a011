//! Runs the example client of `agent-cli rpc`, and compares its output with its README.

use std::process::Command;

use crate::run::{Outcome, debug_binary, output, root, without_settings};

/// Runs the client against the built binary and compares what it prints.
pub fn run() -> Outcome {
    let folder = root().join("examples/rpc");
    let readme = folder.join("README.md");
    let readme = std::fs::read_to_string(&readme)
        .map_err(|error| format!("cannot read {}: {error}", readme.display()))?;
    let block = readme.split_once("```text\n");
    let block = block.and_then(|(_, rest)| rest.split_once("```"));
    let (wanted, _) = block.ok_or("examples/rpc/README.md does not say what the client prints")?;
    let script = root().join("examples/scripts/rpc.jsonl");
    let mut client = Command::new("python3");
    client
        .arg(folder.join("client.py"))
        .arg(debug_binary()?)
        .arg("--provider")
        .arg(format!("scripted:{}", script.display()))
        .arg("--no-session")
        .current_dir(root());
    let printed = output(without_settings(&mut client))?;
    let lines = |text: &str| {
        text.lines()
            .map(|line| line.trim_end().to_owned())
            .collect::<Vec<_>>()
    };
    match lines(&printed) == lines(wanted) {
        true => Ok(()),
        false => Err(format!(
            "examples/rpc/client.py printed\n{printed}and its README says\n{wanted}"
        )),
    }
}
