//! What tools do: files that are read and changed, commands that fail and pass, todo lists.

use serde_json::{Value, json};

use super::NeedleKind;
use super::draft::{Body, Draft};
use super::names::Names;
use super::transcript;

/// A command, the line that says what is wrong, and what stands around it; `{x}` is that line.
pub struct Failing {
    pub command: &'static str,
    pub error: &'static str,
    pub output: &'static str,
    pub passes: &'static str,
}

const FAILING: &[Failing] = &[
    Failing {
        command: "cargo test -p {w} --lib",
        error: "assertion `left == right` failed: {w} was delivered twice",
        output: "running 14 tests\ntest wraps_around ... ok\n\nthread 'resumes' panicked at src/lib.rs:88:9:\n{x}\n  left: 2\n right: 1\n\ntest result: FAILED. 13 passed; 1 failed; 0 ignored\n\nCommand exited with code 101",
        passes: "running 14 tests\ntest result: ok. 14 passed; 0 failed; 0 ignored",
    },
    Failing {
        command: "npx tsc --noEmit -p {d}",
        error: "{f}(41,17): error TS2345: Argument of type 'string | undefined' is not assignable",
        output: "{x}\n\nFound 1 error.\n\nCommand exited with code 2",
        passes: "(no output)",
    },
    Failing {
        command: "pytest -q {d}",
        error: "E   KeyError: '{w}'",
        output: "..........F.....\n=== FAILURES ===\n    def test_merge(tmp_path):\n>       assert merge(rows)[0]\n{x}\n1 failed, 15 passed in 2.31s\n\nCommand exited with code 1",
        passes: "................\n16 passed in 2.25s",
    },
    Failing {
        command: "go test ./{d}/...",
        error: "panic: send on closed channel {w}",
        output: "=== RUN   TestDrain\n{x}\n\ngoroutine 21 [running]:\nFAIL\nexit status 2\n\nCommand exited with code 2",
        passes: "ok      42 tests, 0.38s",
    },
    Failing {
        command: "make -C {d} image",
        error: "ERROR: failed to solve: {w}: not found",
        output: "#7 resolve image config\n{x}\nmake: *** [Makefile:31: image] Error 1\n\nCommand exited with code 2",
        passes: "#12 exporting layers done\n#13 naming to registry done",
    },
    Failing {
        command: "psql -f {f}",
        error: "ERROR:  column \"{w}\" of relation \"orders\" already exists",
        output: "BEGIN\nALTER TABLE\npsql: {x}\nROLLBACK\n\nCommand exited with code 3",
        passes: "BEGIN\nALTER TABLE\nALTER TABLE\nCOMMIT",
    },
    Failing {
        command: "./gradlew :{w}:assembleDebug",
        error: "e: Unresolved reference: {w}",
        output: "> Task :compileDebugKotlin FAILED\n{x}\n\nBUILD FAILED in 21s\n\nCommand exited with code 1",
        passes: "BUILD SUCCESSFUL in 34s\n61 actionable tasks: 9 executed",
    },
    Failing {
        command: "curl -fsS https://{h}/ready",
        error: "curl: (6) Could not resolve host: {h}",
        output: "{x}\n\nCommand exited with code 6",
        passes: "{\"status\":\"ready\"}",
    },
    Failing {
        command: "terraform -chdir={d} plan",
        error: "Error: Cycle: module.{w}.aws_security_group.this",
        output: "Refreshing state...\n\n{x}\n\nCommand exited with code 1",
        passes: "No changes. Your infrastructure matches the configuration.",
    },
];

/// How a user says that something is broken: a command ({m}) and its error ({x}).
const TOLD: &[&str] = &[
    "btw `{m}` is red on my machine: {x}",
    "I get this from `{m}` and have no idea why: {x}",
    "CI says {x} ({m})",
];

struct Failure {
    command: String,
    error: String,
    output: String,
    passes: &'static str,
}

fn failure(names: &mut Names) -> Failure {
    let kind = &FAILING[names.place("failing", FAILING.len())];
    // Filled in together, so that a name means the same in all three.
    let texts = names.fill(&[kind.command, kind.error, kind.output].join("\u{1f}"));
    let mut texts = texts.split('\u{1f}').map(str::to_owned);
    let mut next = || texts.next().unwrap_or_default();
    let (command, error, output) = (next(), next(), next());
    Failure {
        output: output.replace("{x}", &error),
        command,
        error,
        passes: kind.passes,
    }
}

fn run(said: &str, command: &str, output: &str, failed: bool) -> Vec<Body> {
    let call = Body::Call {
        said: said.to_owned(),
        tool: "bash".to_owned(),
        arguments: json!({ "command": command }),
    };
    let text = output.to_owned();
    vec![call, Body::Result { text, failed }]
}

/// Returns a command that fails and is not seen to pass.
pub fn open_error(names: &mut Names) -> Draft {
    let failure = failure(names);
    let (kind, error) = (NeedleKind::OpenError, failure.error.as_str());
    if names.rng.below(5) == 0 {
        let told = names.rng.pick(TOLD);
        let said = told.replace("{m}", &failure.command).replace("{x}", error);
        let noted = "I have not looked at that yet; first the part that I am in.".to_owned();
        let bodies = vec![Body::User(said.clone()), Body::Answer(noted)];
        return Draft::once(kind, &said, &[error], 0, bodies);
    }
    const AFTER: &[&str] = &[
        "That one needs a closer look, it is not from this change.",
        "I leave that for now and finish the edit first.",
        "Not obvious. I'll come back to it.",
        "Hm, that fails here as well.",
    ];
    let mut bodies = run("", &failure.command, &failure.output, true);
    bodies.push(Body::Answer(names.rng.pick(AFTER).to_owned()));
    let said = format!("{}: {error}", failure.command);
    Draft::once(kind, &said, &[error], 1, bodies)
}

/// Returns a command that fails, and passes later.
pub fn resolved_error(names: &mut Names) -> Draft {
    const FIXED: &[&str] = &[
        "That was it.",
        "Passes now.",
        "Fixed, the cause was a stale fixture.",
        "Green again.",
        "",
        "One missing case, works now.",
    ];
    let failure = failure(names);
    let said = format!("{}: {}, passes later", failure.command, failure.error);
    let first = run(
        "Let me see where it stands.",
        &failure.command,
        &failure.output,
        true,
    );
    let mut later = run("Once more.", &failure.command, failure.passes, false);
    let fixed = names.rng.pick(FIXED);
    if !fixed.is_empty() {
        later.push(Body::Answer(fixed.to_owned()));
    }
    Draft::once(
        NeedleKind::ResolvedError,
        &said,
        &[&failure.error],
        1,
        first,
    )
    .then(later)
}

/// Ways to change a file: the tool, and its arguments but the path.
fn change(names: &mut Names, path: &str) -> (&'static str, Value, String) {
    let (old, new) = (
        transcript::code(&mut names.rng, 3),
        transcript::code(&mut names.rng, 5),
    );
    match names.rng.below(11) {
        0..=2 => (
            "edit",
            json!({"path": path, "edits": [{"oldText": old, "newText": new}]}),
            format!("Edited {path}: 1 passage replaced"),
        ),
        3 => (
            "edit",
            json!({"path": path, "oldText": old, "newText": new}),
            format!("Successfully replaced text in {path}."),
        ),
        4 => (
            "write",
            json!({"path": path, "content": new}),
            format!("Wrote {} bytes to {path}", new.len()),
        ),
        5 => (
            "str_replace",
            json!({"path": path, "old_str": old, "new_str": new}),
            "The file has been edited.".to_owned(),
        ),
        6 => (
            "write_file",
            json!({"file_path": path, "content": new}),
            "File written.".to_owned(),
        ),
        7 => (
            "create_file",
            json!({"filePath": path, "content": new}),
            format!("Created {path}"),
        ),
        8 => (
            "MultiEdit",
            json!({"file_path": path, "edits": [{"old_string": old, "new_string": new}]}),
            format!("Applied 1 edit to {path}"),
        ),
        9 => (
            "search_replace",
            json!({"path": path, "search": old, "replace": new}),
            "ok".to_owned(),
        ),
        _ => (
            "Edit",
            json!({"file_path": path, "old_string": old, "new_string": new}),
            "The file has been updated.".to_owned(),
        ),
    }
}

const EDITING: &[&str] = &[
    "",
    "",
    "Now the caller.",
    "The same for the other side.",
    "A small change here.",
    "This is where it goes wrong.",
    "And the matching type.",
    "Renaming the field in this one too.",
];

/// Returns a file that is changed.
pub fn modified_file(names: &mut Names) -> Draft {
    let path = names.file();
    let (tool, arguments, text) = change(names, &path);
    let said = names.rng.pick(EDITING).to_owned();
    let phrase = format!("{tool} {path}");
    let call = Body::Call {
        said,
        tool: tool.to_owned(),
        arguments,
    };
    let bodies = vec![
        call,
        Body::Result {
            text,
            failed: false,
        },
    ];
    Draft::once(NeedleKind::ModifiedFile, &phrase, &[&path], 0, bodies)
}

/// Returns a file whose change fails; the file is not touched again.
pub fn failed_call(names: &mut Names) -> Draft {
    const WHY: &[&str] = &[
        "Could not find the exact text in {p}. The old text must match exactly.",
        "Found 3 occurrences of the text in {p}; it must be unique.",
        "EACCES: permission denied, open '{p}'",
        "The user refused this call.",
        "File has been changed since it was read. Read it again.",
        "ENOENT: no such file or directory, open '{p}'",
        "Blocked by a hook: {p} is frozen",
        "Error: old_string was not found",
    ];
    let path = names.file();
    let (tool, arguments, _) = change(names, &path);
    let why = WHY[names.place("why", WHY.len())].replace("{p}", &path);
    let said = names.rng.pick(EDITING).to_owned();
    let phrase = format!("{tool} {path}: {why}");
    let call = Body::Call {
        said,
        tool: tool.to_owned(),
        arguments,
    };
    let leave = "I leave that file as it is.".to_owned();
    let bodies = vec![
        call,
        Body::Result {
            text: why,
            failed: true,
        },
        Body::Answer(leave),
    ];
    Draft::once(NeedleKind::FailedCall, &phrase, &[&path], 0, bodies)
}

/// Ways to read a file: the tool and its arguments.
fn reading(names: &mut Names, path: &str) -> (&'static str, Value) {
    match names.rng.below(9) {
        0 => ("read", json!({"path": path, "offset": 40, "limit": 80})),
        1 => ("read_file", json!({ "absolute_path": path })),
        2 => ("Read", json!({ "file_path": path })),
        3 => (
            "read_file",
            json!({"path": path, "start_line": 1, "end_line": 120}),
        ),
        4 => ("view", json!({ "path": path })),
        5 => ("view_file", json!({ "absolute_path": path })),
        6 => ("ReadFile", json!({ "filename": path })),
        _ => ("read", json!({ "path": path })),
    }
}

/// Returns a file that is read.
pub fn read_file(names: &mut Names) -> Draft {
    let path = names.file();
    let length = names.rng.range(8, 40);
    let text = transcript::code(&mut names.rng, length);
    let (tool, arguments) = reading(names, &path);
    let phrase = format!("{tool} {path}");
    let said = String::new();
    let call = Body::Call {
        said,
        tool: tool.to_owned(),
        arguments,
    };
    let bodies = vec![
        call,
        Body::Result {
            text,
            failed: false,
        },
    ];
    Draft::once(NeedleKind::ReadFile, &phrase, &[&path], 0, bodies)
}

/// Returns an item of a todo list that stays open.
pub fn open_todo(names: &mut Names) -> Draft {
    let task = names.task();
    let bodies = vec![Body::Todo {
        task: task.clone(),
        done: false,
    }];
    Draft::once(NeedleKind::OpenTodo, &task, &[&task], 0, bodies)
}

/// Returns an item of a todo list that is done later.
pub fn finished_todo(names: &mut Names) -> Draft {
    let task = names.task();
    let bodies = vec![Body::Todo {
        task: task.clone(),
        done: false,
    }];
    let later = vec![Body::Todo {
        task: task.clone(),
        done: true,
    }];
    Draft::once(NeedleKind::FinishedTodo, &task, &[&task], 0, bodies).then(later)
}
