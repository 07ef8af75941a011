//! The examples of the README: the session is sound and as its facts say, and the long script plays to its end.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::env::{BINARY, TestEnv};
use crate::run::{Runs, copy_of, files, with_toolchain};

/// The fields of each type of entry besides those of all, of each role, and of each type of block.
const FIELDS: [(&str, &str); 16] = [
    ("session", "cwd version"),
    ("model_change", "modelId provider"),
    ("thinking_level_change", "thinkingLevel"),
    ("session_info", "name"),
    ("label", "label targetId"),
    ("custom", "customType data"),
    ("custom_message", "content customType display"),
    ("branch_summary", "details fromId summary"),
    ("message", "message"),
    ("user", "content role"),
    (
        "assistant",
        "api content errorMessage model provider role stopReason usage",
    ),
    ("toolResult", "content isError role toolCallId toolName"),
    (
        "bashExecution",
        "cancelled command excludeFromContext exitCode output role truncated",
    ),
    ("text", "text"),
    ("thinking", "thinking thinkingSignature"),
    ("toolCall", "arguments id name"),
];

/// The fields that every entry or block may have.
const COMMON: [&str; 4] = ["id", "parentId", "timestamp", "type"];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn json(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(examples().join(path)).expect("an example");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().map_or(&[], Vec::as_slice)
}

/// Panics on a field that its kind does not have.
fn check_fields(object: &Value, kind: &str) {
    let own = FIELDS.iter().find(|(name, _)| *name == kind);
    let (_, own) = own.unwrap_or_else(|| panic!("unknown kind {kind}"));
    for key in object.as_object().expect("an object").keys() {
        let known = own.split(' ').any(|own| own == key) || COMMON.contains(&key.as_str());
        assert!(known, "unknown field {key} of {kind}");
    }
}

/// Returns the entries from the root to the last one.
fn active_path(entries: &[Value]) -> Vec<&Value> {
    let by_id: HashMap<&str, &Value> = entries
        .iter()
        .map(|entry| (text(entry, "id"), entry))
        .collect();
    let parent = |entry: &&Value| by_id.get(text(entry, "parentId")).copied();
    let mut path: Vec<&Value> = std::iter::successors(entries.last(), parent).collect();
    path.reverse();
    path
}

/// Checks that each call has one result, right after it; returns the paths that were written or edited.
fn check_calls(path: &[&Value]) -> BTreeSet<String> {
    let mut open: HashMap<&str, &Value> = HashMap::new();
    let mut modified = BTreeSet::new();
    for message in path.iter().map(|entry| &entry["message"]) {
        if message["role"] == "toolResult" {
            let call = open
                .remove(text(message, "toolCallId"))
                .expect("a call before its result");
            assert_eq!(call["name"], message["toolName"]);
            if matches!(text(call, "name"), "write" | "edit") && message["isError"] == false {
                modified.insert(text(&call["arguments"], "path").to_owned());
            }
        } else if message.is_object() {
            assert!(open.is_empty(), "calls without a result before {message}");
        }
        for call in blocks(message)
            .iter()
            .filter(|block| block["type"] == "toolCall")
        {
            assert!(
                open.insert(text(call, "id"), call).is_none(),
                "an id is used twice"
            );
        }
    }
    assert!(open.is_empty(), "calls without a result at the end");
    modified
}

#[test]
fn the_example_session_is_sound_and_as_its_facts_say() {
    let lines = json("sessions/long.jsonl");
    // As many as the README says.
    assert_eq!(lines.len(), 1 + 525);
    check_fields(&lines[0], "session");
    let entries = &lines[1..];
    let (mut ids, mut last) = (HashSet::new(), "");
    for entry in entries {
        check_fields(entry, text(entry, "type"));
        let message = &entry["message"];
        if message.is_object() {
            check_fields(message, text(message, "role"));
        }
        for block in blocks(message) {
            check_fields(block, text(block, "type"));
        }
        let parent = text(entry, "parentId");
        assert!(
            ids.contains(parent) || (ids.is_empty() && parent.is_empty()),
            "{entry}"
        );
        assert!(
            ids.insert(text(entry, "id")),
            "an id is used twice: {entry}"
        );
        assert!(text(entry, "timestamp") >= last, "time goes back: {entry}");
        last = text(entry, "timestamp");
    }
    let path = active_path(entries);
    assert!(path.len() + 10 < entries.len(), "no abandoned branches");

    let facts = std::fs::read(examples().join("sessions/facts.json")).expect("the facts");
    let facts: Value = serde_json::from_slice(&facts).expect("JSON");
    assert_eq!(
        serde_json::json!(check_calls(&path)),
        facts["modified_files"]
    );
    let users = path
        .iter()
        .filter(|entry| entry["message"]["role"] == "user");
    let users: Vec<String> = users
        .map(|entry| match &entry["message"]["content"] {
            Value::String(text) => text.clone(),
            content => {
                let parts = content.as_array().into_iter().flatten();
                parts
                    .map(|part| text(part, "text"))
                    .collect::<Vec<_>>()
                    .join("\n\n")
            }
        })
        .collect();
    assert_eq!(
        users.first().map(String::as_str),
        facts["first_request"].as_str()
    );
    assert_eq!(
        users.last().map(String::as_str),
        facts["latest_request"].as_str()
    );
    for rule in facts["user_rules"].as_array().expect("rules") {
        let rule = rule.as_str().expect("a rule");
        assert!(users.iter().any(|said| said.contains(rule)), "{rule}");
    }
}

#[test]
fn the_example_session_has_no_damage_and_the_size_that_the_readme_names() {
    let session = examples().join("sessions/long.jsonl");
    let session = session.to_str().expect("a path");
    let env = TestEnv::new();
    let doctor = env.run(&["doctor", session]);
    assert_eq!(doctor.code, Some(0), "{doctor}");
    let tokens = env.json(&["inspect", session])["context"]["tokens"].as_u64();
    assert!(matches!(tokens, Some(185_000..=195_000)), "{tokens:?}");
}

#[test]
fn the_long_script_tidies_a_copy_up() {
    let runs = Runs::of("");
    let original = examples().join("projects/textkit");
    let before = files(&original);
    let script = examples().join("scripts/refactor.jsonl");
    let script = format!("scripted:{}", script.display());
    let task = "Tidy this crate up";
    let copy = copy_of(&runs, &original);
    let cwd = copy.to_str().expect("a name");
    let arguments = [
        "-p",
        task,
        "--mode",
        "json",
        "--provider",
        &script,
        "--cwd",
        cwd,
    ];
    let output = with_toolchain(&mut runs.around(BINARY, &arguments)).output();
    let output = output.expect("the program runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let events: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    let of = |kind: &str| {
        events
            .iter()
            .filter(|event| event["type"] == kind)
            .collect::<Vec<_>>()
    };
    let ends = of("tool_end");
    let failed: Vec<_> = ends.iter().filter(|end| end["is_error"] == true).collect();
    assert!(ends.len() == 300 && failed.is_empty(), "{failed:?}");
    assert!(of("auto_compaction_end").len() > 10);
    assert_eq!(of("navigated").len(), 1);
    assert_eq!(of("compaction_end")[0]["result"]["strategy"], "handoff");
    let after = files(&copy);
    assert!(after.contains_key("README.md"));
    assert_eq!(before["Cargo.toml"], after["Cargo.toml"]);
    for gone in ["src/misc.rs", "src/strutil.rs", "src/errors.rs", "TODO.md"] {
        assert!(!after.contains_key(gone), "{gone}");
    }
    let mut tests = runs.around("cargo", &["test", "--offline", "--quiet"]);
    let tests = with_toolchain(&mut tests)
        .current_dir(&copy)
        .output()
        .expect("cargo runs");
    let printed = String::from_utf8_lossy(&tests.stdout);
    assert!(
        tests.status.success() && printed.contains("39 passed"),
        "{printed}"
    );
}
