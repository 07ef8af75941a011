//! Everything that must hold before a change lands.

use crate::conformance;
use crate::e2e_llm;
use crate::rpc_client;
use crate::run::{Outcome, cargo, succeed};
use crate::tidy;
use crate::tool_server;

/// Crates that others depend on; each must stand alone as a package.
const LIBRARIES: [&str; 4] = ["session-model", "compaction-core", "llm-providers", "hooks"];

/// Runs every check, cheapest first; with `--tested`, the tests of the workspace have been run already.
pub fn run(arguments: &[String]) -> Outcome {
    let tested = match arguments {
        [] => false,
        [only] if only == "--tested" => true,
        _ => return Err("cargo xtask ci [--tested]".to_owned()),
    };
    step("format", || {
        succeed(&mut cargo(&["fmt", "--all", "--check"]))
    })?;
    step("tidy", || tidy::run(&[]))?;
    step("clippy", || {
        succeed(&mut cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            "test-support/mcp-server",
            "--quiet",
            "--",
            "--deny",
            "warnings",
        ]))
    })?;
    if !tested {
        step("tests", || {
            succeed(&mut cargo(&["test", "--workspace", "--quiet"]))
        })?;
    }
    step("exact token counts", || {
        succeed(&mut cargo(&[
            "test",
            "--quiet",
            "--package",
            "compaction-core",
            "--features",
            "bpe",
            "--test",
            "token_accuracy",
        ]))
    })?;
    step("examples", examples)?;
    step("rpc client", rpc_client::run)?;
    step("documentation", || {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--quiet"]);
        succeed(doc.env("RUSTDOCFLAGS", "--deny warnings"))
    })?;
    step("packages", packages)?;
    step("conformance", || conformance::run(&[]))?;
    step("licences and advisories", deny)?;
    step("tool servers", || tool_server::run(&[]))?;
    step("a real model", || e2e_llm::run(&[]))
}

fn step(name: &str, check: impl FnOnce() -> Outcome) -> Outcome {
    println!("== {name}");
    check().map_err(|error| format!("{name}: {error}"))
}

/// Runs the example of each library.
fn examples() -> Outcome {
    let session = crate::run::root().join("examples/sessions/long.jsonl");
    let examples = [
        ("session-model", "tokens_by_role"),
        ("compaction-core", "compact_by_rule"),
        ("llm-providers", "scripted"),
        ("hooks", "keep_out"),
        ("hooks", "memory"),
    ];
    for (package, example) in examples {
        let input = std::fs::File::open(&session).map_err(|error| error.to_string())?;
        let mut run = cargo(&["run", "--quiet", "--package", package, "--example", example]);
        succeed(run.stdin(input).stdout(std::process::Stdio::null()))?;
    }
    Ok(())
}

/// Packages the libraries and builds each from its package.
fn packages() -> Outcome {
    forget_unpacked()?;
    let mut package = cargo(&["package", "--allow-dirty", "--quiet"]);
    for library in LIBRARIES {
        package.args(["--package", library]);
    }
    succeed(&mut package)
}

/// Removes what an earlier run unpacked: cargo keeps the sources of a package by name and version, so a
/// changed library of the same version would be checked against its former self.
fn forget_unpacked() -> Outcome {
    let Some(home) = cargo_home() else {
        return Ok(());
    };
    let Ok(registries) = std::fs::read_dir(home.join("registry/src")) else {
        return Ok(());
    };
    for registry in registries.flatten() {
        for library in LIBRARIES {
            let name = format!("{library}-{}", env!("CARGO_PKG_VERSION"));
            let unpacked = registry.path().join(name);
            match std::fs::remove_dir_all(&unpacked) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("cannot remove {}: {error}", unpacked.display())),
            }
        }
    }
    Ok(())
}

/// Returns the folder where cargo keeps what it has fetched.
fn cargo_home() -> Option<std::path::PathBuf> {
    std::env::var_os("CARGO_HOME")
        .map(Into::into)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
}

/// Runs cargo-deny where it is installed.
fn deny() -> Outcome {
    let found = cargo(&["deny", "--version"]).output();
    match found {
        Ok(found) if found.status.success() => succeed(&mut cargo(&[
            "deny", "check", "licenses", "bans", "sources",
        ])),
        _ => {
            println!(
                "cargo-deny is not installed; tidy has checked the licences of direct dependencies"
            );
            Ok(())
        }
    }
}
