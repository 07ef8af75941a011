//! The second set of what tools do; see [`Phrasings::HeldOut`](super::Phrasings).

use serde_json::{Value, json};

use super::names::Names;
use super::phrases_tools::Failing;
use super::transcript;

pub const FAILING: &[Failing] = &[
    Failing {
        command: "mypy {f}",
        error: "{f}:57: error: Incompatible return value type (got \"None\", expected \"{w}\")  [return-value]",
        output: "{x}\nFound 1 error in 1 file (checked 12 source files)\nExit code: 1",
        passes: "Success: no issues found in 12 source files\nExit code: 0",
    },
    Failing {
        command: "npx jest {d}",
        error: "TypeError: Cannot read properties of undefined (reading '{w}')",
        output: "FAIL {d}/index.test.js\n  ● renders the empty state\n\n    {x}\n\n      12 |   const a = b.c;\n\nTests:       1 failed, 8 passed, 9 total\nProcess exited with status 1",
        passes: "PASS\nTests:       9 passed, 9 total\nProcess exited with status 0",
    },
    Failing {
        command: "cargo clippy --all-targets --manifest-path {d}/Cargo.toml",
        error: "error[E0599]: no method named `{w}` found for struct `Pool` in the current scope",
        output: "    Checking pool v0.3.1\n{x}\n  --> src/pool.rs:19:14\n   |\n19 |     pool.take();\n   |          ^^^^ method not found in `Pool`\n\nerror: could not compile `pool` (lib) due to 1 previous error\n[exit 101]",
        passes: "    Checking pool v0.3.1\n    Finished `dev` profile in 4.02s\n[exit 0]",
    },
    Failing {
        command: "kubectl apply -f {f}",
        error: "The Deployment \"{w}\" is invalid: spec.selector: Invalid value: field is immutable",
        output: "configmap/app unchanged\n{x}\n(exit status 1)",
        passes: "configmap/app unchanged\ndeployment.apps configured",
    },
    Failing {
        command: "mvn -q -pl {w} verify",
        error: "[ERROR] {w}Test.shouldRoundDown:41 expected: <12> but was: <13>",
        output: "[INFO] Running tests\n{x}\n[INFO] BUILD FAILURE\nReturn code 1",
        passes: "Return code 0",
    },
    Failing {
        command: "dotnet build {d}",
        error: "{f}(88,9): error CS0103: The name '{w}' does not exist in the current context",
        output: "  Determining projects to restore...\n{x}\n\nBuild FAILED.\n    0 Warning(s)\n    1 Error(s)\nexit 1",
        passes: "Build succeeded.\n    0 Warning(s)\n    0 Error(s)",
    },
    Failing {
        command: "docker compose up -d {w}",
        error: "Error response from daemon: driver failed programming external connectivity on endpoint {w}: port is already allocated",
        output: " Container db  Running\n{x}\nexit code 1",
        passes: " Container db  Running\n Container app  Started",
    },
    Failing {
        command: "bundle exec rspec {d}",
        error: "NoMethodError: undefined method `{w}' for nil:NilClass",
        output: "...F..\n\nFailures:\n\n  1) Cart adds up\n     Failure/Error: subject.total\n\n     {x}\n\n6 examples, 1 failure",
        passes: "......\n\n6 examples, 0 failures",
    },
    Failing {
        command: "ansible-playbook -l {h} site.yml",
        error: "fatal: [{h}]: UNREACHABLE! => {\"changed\": false, \"msg\": \"Connection timed out\"}",
        output: "PLAY [all] ****\n{x}\n\nPLAY RECAP ****\nok=0 changed=0 unreachable=1 failed=0\nrc=4",
        passes: "PLAY [all] ****\n\nPLAY RECAP ****\nok=7 changed=1 unreachable=0 failed=0\nrc=0",
    },
    Failing {
        command: "cmake --build {d}",
        error: "undefined reference to `{w}::flush()'",
        output: "[ 80%] Linking CXX executable app\n/usr/bin/ld: main.o: in function `main':\n{x}\ncollect2: error: ld returned 1 exit status\nmake: *** [all] Error 2",
        passes: "[100%] Built target app",
    },
];

/// How a user says that something is broken: a command ({m}) and its error ({x}).
pub const TOLD: &[&str] = &[
    "{m} blows up over here with {x}",
    "colleague reports: {x} (he ran `{m}`)",
    "hab grad `{m}` laufen lassen: {x}",
    "`{m}` donne {x} chez moi",
    "跑 `{m}` 的时候报错：{x}",
];

pub const LEFT_OPEN: &[&str] = &[
    "Unrelated to what I am doing, as far as I can tell.",
    "I'll park this one.",
    "Strange. Later.",
    "I do not know yet where that comes from.",
];

pub const FIXED: &[&str] = &[
    "",
    "There we go.",
    "Clean now.",
    "All good after the second edit.",
    "Jetzt läuft es.",
];

/// Returns the tool, its arguments and its answer for a file that is changed.
pub fn change(names: &mut Names, path: &str) -> (&'static str, Value, String) {
    let old = transcript::code(&mut names.rng, 3);
    let new = transcript::code(&mut names.rng, 5);
    match names.place("change", 11) {
        0 => {
            let (gone, come) = (marked('-', &old), marked('+', &new));
            let patch =
                format!("*** Begin Patch\n*** Update File: {path}\n@@\n{gone}{come}*** End Patch");
            (
                "apply_patch",
                json!({ "input": patch }),
                format!("Success. Updated the following files:\nM {path}"),
            )
        }
        1 => (
            "edit_file",
            json!({"target_file": path, "instructions": "adapt the loop", "code_edit": new}),
            "Applied.".to_owned(),
        ),
        2 => {
            let diff = format!("<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE");
            (
                "replace_in_file",
                json!({"path": path, "diff": diff}),
                "The content was successfully saved.".to_owned(),
            )
        }
        3 => (
            "str_replace_editor",
            json!({"command": "create", "path": path, "file_text": new}),
            format!("File created successfully at: {path}"),
        ),
        4 => (
            "str_replace_based_edit_tool",
            json!({"command": "insert", "path": path, "insert_line": 12, "insert_text": new}),
            "Inserted.".to_owned(),
        ),
        5 => (
            "write_to_file",
            json!({"path": path, "content": new}),
            "Saved.".to_owned(),
        ),
        6 => (
            "fs_write",
            json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new}),
            String::new(),
        ),
        7 => (
            "replace",
            json!({"file_path": path, "old_string": old, "new_string": new}),
            format!("Successfully modified file: {path} (1 replacements)."),
        ),
        8 => (
            "insert_edit_into_file",
            json!({"filePath": path, "explanation": "guard the empty case", "code": new}),
            "The edit is in place.".to_owned(),
        ),
        9 => (
            "replace_string_in_file",
            json!({"filePath": path, "oldString": old, "newString": new}),
            "done".to_owned(),
        ),
        _ => (
            "update_file",
            json!({"filename": path, "content": new}),
            "200 OK".to_owned(),
        ),
    }
}

fn marked(mark: char, lines: &str) -> String {
    lines
        .lines()
        .map(|line| format!("{mark}{line}\n"))
        .collect()
}

pub const WHY: &[&str] = &[
    "Failed to find expected lines in {p}",
    "apply failed: hunk 1 does not match {p}",
    "Permission denied: {p}",
    "The edit was declined by the user.",
    "No match for the search block. Re-read the file and try again.",
    "Read-only file system (os error 30)",
    "{p} is outside of the allowed folders",
    "tool timed out after 30 seconds, nothing was written",
    "Der Zugriff wurde verweigert.",
];

/// Returns the tool and its arguments for a file that is read.
pub fn reading(names: &mut Names, path: &str) -> (&'static str, Value) {
    match names.place("reading", 10) {
        0 => (
            "read_file",
            json!({"target_file": path, "should_read_entire_file": true}),
        ),
        1 => (
            "str_replace_editor",
            json!({"command": "view", "path": path}),
        ),
        2 => (
            "fs_read",
            json!({"operations": [{"mode": "Line", "path": path}]}),
        ),
        3 => ("read_many_files", json!({ "paths": [path] })),
        4 => ("open_file", json!({"path": path, "line_number": 30})),
        5 => (
            "view_file",
            json!({"AbsolutePath": path, "StartLine": 1, "EndLine": 90}),
        ),
        6 => (
            "shell",
            json!({"command": ["bash", "-lc", format!("sed -n '1,200p' {path}")]}),
        ),
        7 => ("bash", json!({"command": format!("cat {path}")})),
        8 => ("read", json!({"filePath": path, "offset": 10})),
        _ => ("read_text_file", json!({"path": path, "head": 100})),
    }
}

/// Returns the tool and its arguments for a todo list.
pub fn todos(items: &[(String, bool)], dialect: u64) -> (&'static str, Value) {
    let numbered = items.iter().enumerate();
    let list = |item: &dyn Fn(usize, &str, bool) -> Value| -> Vec<Value> {
        numbered
            .clone()
            .map(|(number, (task, done))| item(number + 1, task, *done))
            .collect()
    };
    match dialect % 4 {
        0 => {
            let plan = list(
                &|_, task, done| json!({"step": task, "status": if done { "completed" } else { "pending" }}),
            );
            ("update_plan", json!({ "plan": plan }))
        }
        1 => {
            let todos = list(&|number, task, done| {
                let status = if done { "completed" } else { "in_progress" };
                json!({"id": number.to_string(), "content": task, "status": status, "priority": "medium"})
            });
            ("todowrite", json!({ "todos": todos }))
        }
        2 => {
            let items = list(&|number, task, done| {
                let status = if done { "completed" } else { "not-started" };
                json!({"id": number, "title": task, "description": "", "status": status})
            });
            (
                "manage_todo_list",
                json!({"operation": "write", "todoList": items}),
            )
        }
        _ => {
            let todos = list(
                &|_, task, done| json!({"description": task, "status": if done { "completed" } else { "pending" }}),
            );
            ("write_todos", json!({ "todos": todos }))
        }
    }
}
