//! All checks that must pass before a change is merged, with the time of each step and the steps that could not run.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::{Outcome, cargo, example, example_session, root, succeed, target};
use crate::tidy::{Dependencies, packages};
use crate::{conformance, e2e_llm, editor, endure, fuzz, integrations, rpc_client, tool_server};

/// The whole run is meant to take at most this long on two cores.
const GOAL: Duration = Duration::from_mins(15);

/// The steps that were not run, and why.
type Skipped = Vec<String>;

/// A step: its name and what it does.
type Step = (&'static str, fn(&mut Skipped) -> Outcome);

/// Every step, those that fail soonest first. All dev builds are of the whole workspace, so that each crate is compiled
/// with one set of features.
const STEPS: [Step; 18] = [
    ("format", |_| {
        succeed(&mut cargo(&["fmt", "--all", "--check"]))
    }),
    ("clippy", |_| lint(&["--workspace", "--quiet"])),
    ("documentation", |_| {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--quiet"]);
        succeed(doc.env("RUSTDOCFLAGS", "--deny warnings"))
    }),
    ("book", book),
    ("tests, tidy among them", tests),
    // Behind a feature, because it compiles SQLite: half a minute.
    ("databases of agents", |_| {
        let of = [
            "--quiet",
            "--package=session-finder",
            "--features=databases",
        ];
        lint(&of)?;
        succeed(cargo(&["test"]).args(of))
    }),
    ("sessions in PostgreSQL", |_| {
        lint(&["--quiet", "--package=agent-cli", "--features=postgres"])
    }),
    ("examples", |_| examples()),
    ("endurance", |_| endure::run(&[])),
    ("fuzz", |skipped| match fuzz::missing() {
        Some(what) => {
            skipped.push(format!("fuzz: {what}"));
            Ok(())
        }
        None => fuzz::run(&[]),
    }),
    ("rpc client", |_| rpc_client::run()),
    ("editor", |skipped| {
        // The client takes minutes to build.
        if editor::client().exists() {
            return editor::run();
        }
        skipped.push("editor: its client is not built; cargo xtask editor does".to_owned());
        Ok(())
    }),
    ("packages", |_| packaged()),
    ("licences, bans and sources", deny),
    ("conformance", |skipped| {
        let missing = conformance::missing_sessions();
        skipped.extend(
            missing
                .iter()
                .map(|path| format!("conformance: there is no {path}")),
        );
        conformance::run(&[])
    }),
    ("integrations", integrations::run_installed),
    ("tool servers", |_| tool_server::run(&[])),
    ("a real model", |_| e2e_llm::run(&[])),
];

/// Runs every step, or those whose names contain one of the words in `only`.
pub fn run(only: &[String]) -> Outcome {
    let (started, mut skipped, mut times) = (Instant::now(), Skipped::new(), Vec::new());
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| name.contains(word));
    let mut done = Ok(());
    for (name, step) in STEPS.into_iter().filter(|(name, _)| wanted(name)) {
        println!("== {name}");
        let start = Instant::now();
        done = step(&mut skipped).map_err(|error| format!("{name}: {error}"));
        times.push((name, start.elapsed()));
        if done.is_err() {
            break;
        }
    }
    println!("== times");
    for (name, time) in times.into_iter().chain([("all", started.elapsed())]) {
        println!("{:>5} s  {name}", time.as_secs());
    }
    if started.elapsed() > GOAL {
        println!("longer than the {} s that are meant", GOAL.as_secs());
    }
    println!("== skipped: {}", skipped.len());
    for line in skipped {
        println!("{line}");
    }
    done
}

fn lint(of: &[&str]) -> Outcome {
    let mut clippy = cargo(&["clippy", "--all-targets"]);
    succeed(clippy.args(of).args(["--", "--deny", "warnings"]))
}

/// Builds the book where mdbook is installed; tidy has checked its links.
fn book(skipped: &mut Skipped) -> Outcome {
    let found = Command::new("mdbook").arg("--version").output();
    match found.is_ok_and(|found| found.status.success()) {
        true => succeed(Command::new("mdbook").arg("build").arg(root())),
        false => {
            skipped.push("book: mdbook is not installed".to_owned());
            Ok(())
        }
    }
}

/// Runs the tests of the workspace and gathers those that were skipped.
fn tests(skipped: &mut Skipped) -> Outcome {
    let list = target().join("skipped-tests");
    let failed = |error: std::io::Error| format!("{}: {error}", list.display());
    std::fs::write(&list, "").map_err(failed)?;
    let list = std::path::absolute(&list).map_err(failed)?;
    let mut tests = cargo(&["test", "--workspace", "--quiet"]);
    let tests = tests.env("SKIPPED_TESTS", &list).stdout(Stdio::piped());
    let mut child = tests
        .spawn()
        .map_err(|error| format!("cannot run cargo test: {error}"))?;
    let mut ignored = 0;
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|out| BufReader::new(out).lines())
    {
        let line = line.map_err(|error| error.to_string())?;
        println!("{line}");
        let count = line
            .split("; ")
            .find_map(|part| part.strip_suffix(" ignored"));
        ignored += count.and_then(|count| count.parse().ok()).unwrap_or(0);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let listed = std::fs::read_to_string(&list).map_err(failed)?;
    skipped.extend(listed.lines().map(|line| format!("test {line}")));
    if ignored > 0 {
        skipped.push(format!("{ignored} tests are marked #[ignore] or `ignore`"));
    }
    match status.success() {
        true => Ok(()),
        false => Err("tests failed".to_owned()),
    }
}

/// Runs the examples of the libraries, which are built with the tests.
fn examples() -> Outcome {
    for name in [
        "tokens_by_role",
        "compact_messages",
        "ask_a_model",
        "scripted",
        "catalog",
        "keep_out",
        "memory",
    ] {
        let input = std::fs::File::open(example_session()).map_err(|error| error.to_string())?;
        let mut program = Command::new(example(name)?);
        succeed(program.stdin(input).stdout(Stdio::null()))?;
    }
    Ok(())
}

/// Packages every crate that can be published, and checks each from its package alone, with the other crates as
/// packages too. Nothing is written outside of the build folder.
fn packaged() -> Outcome {
    let members = packages(Dependencies::Named)?;
    let published = members
        .iter()
        .filter(|package| package["publish"].is_null());
    let names: Vec<(&str, &str)> = published
        .filter_map(|package| Some((package["name"].as_str()?, package["version"].as_str()?)))
        .collect();
    let folder =
        std::path::absolute(target().join("packages")).map_err(|error| error.to_string())?;
    let mut package = cargo(&[
        "package",
        "--allow-dirty",
        "--no-verify",
        "--quiet",
        "--target-dir",
    ]);
    package.arg(&folder);
    for (name, _) in &names {
        package.args(["--package", name]);
    }
    succeed(&mut package)?;
    unpack(&folder, &names).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, _) in &names {
        let mut check = cargo(&["check", "--quiet", "--package", name, "--manifest-path"]);
        let check = check.arg(folder.join("unpacked/Cargo.toml"));
        // Dependencies that were checked before are not checked again.
        succeed(check.arg("--target-dir").arg(folder.with_file_name("")))?;
    }
    Ok(())
}

/// Unpacks packages into a new workspace.
fn unpack(folder: &Path, names: &[(&str, &str)]) -> std::io::Result<()> {
    let unpacked = folder.join("unpacked");
    if unpacked.exists() {
        std::fs::remove_dir_all(&unpacked)?;
    }
    std::fs::create_dir_all(&unpacked)?;
    let mut manifest =
        "[workspace]\nresolver = \"3\"\nmembers = [\"*-*\"]\n\n[profile.dev]\ndebug = \"line-tables-only\"\n\n[patch.crates-io]\n".to_owned();
    for (name, version) in names {
        let package = folder.join(format!("package/{name}-{version}.crate"));
        succeed(
            Command::new("tar")
                // With the time of unpacking: packages have one fixed time, by which a check of before would seem fresh.
                .arg("xzmf")
                .arg(package)
                .current_dir(&unpacked),
        )
        .map_err(std::io::Error::other)?;
        manifest.push_str(&format!("{name} = {{ path = \"{name}-{version}\" }}\n"));
    }
    std::fs::write(unpacked.join("Cargo.toml"), manifest)?;
    std::fs::copy(
        crate::run::root().join("Cargo.lock"),
        unpacked.join("Cargo.lock"),
    )?;
    Ok(())
}

/// Runs cargo-deny if it is installed.
fn deny(skipped: &mut Skipped) -> Outcome {
    skipped.push("security advisories: no step looks them up".to_owned());
    let found = cargo(&["deny", "--version"]).output();
    if found.is_ok_and(|found| found.status.success()) {
        return succeed(&mut cargo(&[
            "deny", "check", "licenses", "bans", "sources",
        ]));
    }
    skipped.push(
        "licences of indirect dependencies, duplicate versions, sources: cargo-deny is not installed; tidy has \
         checked the licences of direct dependencies alone"
            .to_owned(),
    );
    Ok(())
}
