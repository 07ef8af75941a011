//! A small task from end to end: `examples/scripts/fix.jsonl` mends `examples/projects/wordcount`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{Runs, collect};
use crate::env::BINARY;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Lets a program find the toolchain of this test, and nothing else of the tester's.
pub fn with_toolchain(command: &mut Command) -> &mut Command {
    for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// Returns the files of a project, those of builds aside.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(folder, folder, &mut files);
    files.retain(|name, _| !name.starts_with("target/") && name != "Cargo.lock");
    files
}

/// Returns the events of a type.
fn of<'a>(events: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event["type"] == kind)
}

/// Runs the tests of a project; returns whether they pass.
fn passes(runs: &Runs, folder: &Path) -> bool {
    let mut command = runs.around("cargo", &["test", "--offline", "--quiet"]);
    let command = with_toolchain(&mut command).current_dir(folder);
    let output = command.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("running 3 tests"), "{said}");
    output.status.success()
}

/// Copies a project into the folder of the test, and returns that one.
pub fn copy_of(runs: &Runs, original: &Path) -> PathBuf {
    for (name, bytes) in files(original) {
        if !name.ends_with('/') {
            runs.env.write(&format!("copy/{name}"), bytes);
        }
    }
    runs.env.path("copy")
}

#[test]
fn a_failing_test_is_mended_in_a_copy() {
    let runs = Runs::of("");
    let original = examples().join("projects/wordcount");
    let before = files(&original);
    let script = format!(
        "scripted:{}",
        examples().join("scripts/fix.jsonl").display()
    );
    let copy = copy_of(&runs, &original);
    let cwd = copy.to_str().expect("a name");
    let arguments = ["--mode", "json", "--provider", &script, "--cwd", cwd];
    let mut command = runs.around(BINARY, &arguments);
    let output = with_toolchain(&mut command)
        .output()
        .expect("the program runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let events: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    // They begin in their order, and some end beside each other.
    let calls = of(&events, "tool_start").map(|start| {
        let mut ends = of(&events, "tool_end");
        let end = ends.find(|end| end["call_id"] == start["call_id"]);
        let failed = match end.expect("an end")["is_error"] == true {
            true => " failed",
            false => "",
        };
        format!("{}{failed}", start["name"].as_str().expect("a name"))
    });
    let calls: Vec<String> = calls.collect();
    assert_eq!(
        calls.join(", "),
        "todo, bash, bash failed, bash, read, read, todo, edit, bash, todo"
    );
    let last_list = of(&events, "tool_end")
        .filter(|event| event["name"] == "todo")
        .last();
    let last_list = last_list.expect("a list")["output"].to_string();
    assert!(last_list.contains("3 items: 0 open, 3 done"), "{last_list}");
    let answer = of(&events, "answer").last().expect("an answer");
    assert!(
        answer["text"]
            .as_str()
            .expect("a text")
            .starts_with("All tests pass.")
    );
    // It is repaired, and only what had to change is different.
    assert!(passes(&runs, &copy));
    let mut changed = files(&copy);
    changed.retain(|name, bytes| before.get(name) != Some(bytes));
    assert_eq!(changed.keys().collect::<Vec<_>>(), ["src/lib.rs"]);
    // And the bug is a real one.
    let lib = before.get("src/lib.rs").expect("the library");
    std::fs::write(copy.join("src/lib.rs"), lib).expect("the copy can be written");
    assert!(!passes(&runs, &copy));
}
