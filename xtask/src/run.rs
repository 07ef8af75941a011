//! Runs programs, and finds paths.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a task; its error is a message.
pub type Outcome<T = ()> = Result<T, String>;

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

/// Returns the text of a file.
pub fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the path of the example session.
pub fn example_session() -> PathBuf {
    root().join("examples/sessions/long.jsonl")
}

/// Returns the folder that builds go to.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns a cargo command in the root.
pub fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(arguments);
    // Cargo sets variables that name the package, and the build of ring is repeated when they change.
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told.starts_with("CARGO_PKG_") || told.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) -> Outcome {
    let name = command.get_program().to_string_lossy().into_owned();
    let arguments: Vec<_> = command
        .get_args()
        .map(|text| text.to_string_lossy().into_owned())
        .collect();
    let line = format!("{name} {}", arguments.join(" "));
    let status = command
        .status()
        .map_err(|error| format!("cannot run {line}: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("failed: {line}")),
    }
}

/// Runs a command that must succeed and returns what it printed.
pub fn output(command: &mut Command) -> Outcome<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("cannot run {name}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "{name} failed: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Takes from a command what the program would read of the user's own settings.
pub fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AGENT_CLI__") {
            command.env_remove(name);
        }
    }
    command.env("AGENT_CLI_CONFIG_DIR", target().join("no-settings"))
}

/// Builds the release binary and returns its path.
pub fn release_binary() -> Outcome<PathBuf> {
    succeed(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "agent-cli",
    ]))?;
    built("release/agent-cli")
}

/// Builds the binary that tests run too and returns its path.
pub fn debug_binary() -> Outcome<PathBuf> {
    build_all()?;
    built("debug/agent-cli")
}

/// Builds an example of a library and returns its path.
pub fn example(name: &str) -> Outcome<PathBuf> {
    build_all()?;
    built(&format!("debug/examples/{name}"))
}

/// Builds the programs and examples of all members. With fewer of them some crates would be compiled again: features
/// differ then, and what is shared with build scripts.
fn build_all() -> Outcome {
    let all = ["build", "--workspace", "--bins", "--examples", "--quiet"];
    succeed(&mut cargo(&all))
}

fn built(name: &str) -> Outcome<PathBuf> {
    let path = target().join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    // The folder may be named relative to where xtask runs, and the program runs elsewhere.
    std::path::absolute(&path).map_err(|error| error.to_string())
}
