//! `agent-cli acp` driven by the client of the protocol's own library. The client is a program outside of the
//! workspace: its library changes the order of JSON members in every program that links it.

use std::path::PathBuf;
use std::process::Command;

use crate::run::{Outcome, cargo, debug_binary, root, succeed, target, without_settings};

/// Returns the path of the built client.
pub fn client() -> PathBuf {
    let client = format!("debug/acp-client{}", std::env::consts::EXE_SUFFIX);
    target().join("acp-client").join(client)
}

/// Builds the client and plays a whole session.
pub fn run() -> Outcome {
    let program = debug_binary()?;
    let source = root().join("xtask/acp-client");
    let absolute = std::path::absolute(target().join("acp-client"));
    let built = absolute.map_err(|error| error.to_string())?;
    let mut build = cargo(&["build", "--quiet", "--locked", "--manifest-path"]);
    let build = build.arg(source.join("Cargo.toml"));
    succeed(build.arg("--target-dir").arg(&built))?;
    let folder = built.join("session");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(failed)?;
    }
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let mut client =
        Command::new(std::path::absolute(client()).map_err(|error| error.to_string())?);
    let client = client
        .arg(program)
        .arg(source.join("script.jsonl"))
        .arg(folder);
    succeed(without_settings(client))
}
