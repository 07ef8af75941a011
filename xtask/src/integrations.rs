//! Integrations: real peers are installed, set up and driven against a model on loopback.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Outcome, debug_binary, output, root, succeed, target, without_settings};

/// pi, which conformance and benchmarks compare with too.
const PI: &[&str] = &["@earendil-works/pi-coding-agent@1.6.0"];

/// The arguments of npm for each peer, as `xtask/integrations/peers.mjs` names them; `PLATFORM` is that of this
/// machine.
const PEERS: [(&str, &[&str]); 9] = [
    ("claude", &["@anthropic-ai/claude-code-PLATFORM@2.1.197"]),
    ("pi", PI),
    (
        "omp",
        &[
            // Its models for speech and embeddings, a gigabyte.
            "--omit=optional",
            "@oh-my-pi/pi-coding-agent@18.2.3",
            "@oh-my-pi/pi-natives-PLATFORM@18.2.3",
            "@oven/bun-PLATFORM@1.3.14",
        ],
    ),
    ("codex", &["@openai/codex@0.171.0"]),
    ("qwen", &["@qwen-code/qwen-code@0.24.4"]),
    ("gemini", &["@google/gemini-cli@0.61.0"]),
    ("opencode", &["opencode-PLATFORM@1.18.34"]),
    ("copilot", &["@github/copilot@1.0.102"]),
    ("cline", &["@cline/cli-PLATFORM@3.0.65"]),
];

/// The file that names what was installed in its folder.
const MARK: &str = "installed";

/// The peers need a Node of at least this version; if there is only an older one, [`NODE`] is installed for them.
const LEAST_NODE: (u32, u32) = (22, 19);
const NODE: &[&str] = &["node-PLATFORM@24.21.0"];

/// Later releases are not installed, so that every run has the same dependencies.
const BEFORE: &str = "--before=2026-11-27";

/// Installs and drives the peers that are named, or all. Those that cannot be installed are left out.
pub fn run(arguments: &[String]) -> Outcome {
    let is_wanted = |name: &str| arguments.is_empty() || arguments.iter().any(|it| it == name);
    let mut peers = Vec::new();
    for (name, packages) in PEERS.into_iter().filter(|(name, _)| is_wanted(name)) {
        match install(name, packages) {
            Ok(_) => peers.push(name),
            Err(error) => println!("{name}: skipped: {error}"),
        }
    }
    drive(&peers)
}

/// Runs the peers that are installed; the others are added to `skipped`, because they are large.
pub fn run_installed(skipped: &mut Vec<String>) -> Outcome {
    let is_there = |name: &str| target().join("integrations").join(name).join(MARK).exists();
    let (there, missing): (Vec<_>, Vec<_>) = PEERS
        .map(|(name, _)| name)
        .into_iter()
        .partition(|name| is_there(name));
    let told =
        |name| format!("integrations: {name} is not installed; cargo xtask integrations does");
    skipped.extend(missing.into_iter().map(told));
    drive(&there)
}

fn drive(peers: &[&str]) -> Outcome {
    if peers.is_empty() {
        return Ok(());
    }
    let mut node = Command::new(node()?);
    without_settings(&mut node)
        .current_dir(root())
        .arg("xtask/integrations/run.mjs")
        .arg("--peers")
        .arg(folder("")?)
        .arg("--bin")
        .arg(debug_binary()?);
    succeed(node.args(peers))
}

/// Installs pi, if it is not there, and returns its folder.
pub fn install_pi() -> Outcome<PathBuf> {
    install("pi", PI)
}

/// Returns the folder of pi, if it is installed.
pub fn installed_pi() -> Option<PathBuf> {
    let folder = folder("pi").ok()?;
    folder.join(MARK).is_file().then_some(folder)
}

/// Returns oh-my-pi's runtime and script, if it is installed.
pub fn omp() -> Outcome<Option<(PathBuf, PathBuf)>> {
    let modules = folder("omp")?.join("node_modules");
    let runtime = modules.join(format!("@oven/bun-{}/bin/bun", platform()));
    let script = modules.join("@oh-my-pi/pi-coding-agent/dist/cli.js");
    Ok((runtime.is_file() && script.is_file()).then_some((runtime, script)))
}

/// Returns the Node that the peers run on.
pub fn node() -> Outcome<PathBuf> {
    let version = output(Command::new("node").arg("--version"))?;
    let mut numbers = version.trim().trim_start_matches('v').split('.');
    let mut next = || numbers.next().and_then(|number| number.parse().ok());
    if (next(), next()) >= (Some(LEAST_NODE.0), Some(LEAST_NODE.1)) {
        return Ok("node".into());
    }
    let installed = install("node", NODE)?;
    Ok(installed.join(format!("node_modules/node-{}/bin/node", platform())))
}

/// Installs packages into a folder of the build, if they are not there, and returns the folder.
fn install(name: &str, packages: &[&str]) -> Outcome<PathBuf> {
    let folder = folder(name)?;
    let packages: Vec<String> = packages
        .iter()
        .map(|package| package.replace("PLATFORM", &platform()))
        .collect();
    let (mark, manifest) = (folder.join(MARK), folder.join("package.json"));
    if std::fs::read_to_string(&mark).is_ok_and(|there| there == packages.join(" ")) {
        return Ok(folder);
    }
    write(&manifest, "{ \"private\": true }\n")?;
    let mut npm = Command::new("npm");
    npm.current_dir(&folder)
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(["--loglevel=error", BEFORE]);
    output(npm.args(&packages))?;
    write(&mark, &packages.join(" "))?;
    Ok(folder)
}

/// Returns the folder of a peer, which is created if it is missing.
fn folder(name: &str) -> Outcome<PathBuf> {
    let folder = target().join("integrations").join(name);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    std::path::absolute(&folder).map_err(failed)
}

fn write(path: &Path, text: &str) -> Outcome {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns this machine's platform as packages name it.
fn platform() -> String {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        os => os,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        arch => arch,
    };
    format!("{os}-{arch}")
}
