//! Instructions of the project and skills, as a model is told them.

use insta::assert_snapshot;
use serde_json::{Value, json};
use test_support::{FaultServer, Received, Reply, streams};

use super::{Runs, TWICE};
use crate::env::Output;

fn runs(script: &str) -> Runs {
    let runs = Runs::of(script);
    runs.env.write("config/AGENTS.md", "Answer in French.\n");
    runs.env.write("AGENTS.md", "Use tabs.\n");
    runs.env.write("sub/CLAUDE.md", "Rules of sub.\n");
    runs.env.write(
        ".agents/skills/release/SKILL.md",
        "---\nname: release\ndescription: How to release.\n---\nTag it.\n",
    );
    runs
}

/// Runs a model that reads a file in `sub` and answers; returns what it was asked.
fn asked(runs: &Runs, arguments: &[&str]) -> (Output, Vec<Value>) {
    let replies = [
        streams::chat_tool_call("read", &json!({ "path": "sub/a.txt" })),
        streams::chat_stream("Done."),
    ];
    let server = FaultServer::start(move |nth, _| -> Reply { replies[nth.min(1)].clone() });
    let mut command = runs.bare(&["-p", "go"]);
    command
        .args([
            "--model",
            "test/alpha",
            "--wire",
            "chat",
            "--window",
            "32000",
        ])
        .args(["--base-url", &server.url(), "--api-key-env", "TEST_KEY"])
        .args(arguments)
        .env("TEST_KEY", "sk-planted-0123456789");
    let output = runs.output(&mut command);
    (
        output,
        server.received().iter().map(Received::json).collect(),
    )
}

#[test]
fn a_model_is_told_of_them_in_the_request() {
    let runs = runs("");
    let (output, bodies) = asked(&runs, &[]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(
        output.stderr.contains("note: loaded: sub/CLAUDE.md\n"),
        "{output}"
    );
    let first = bodies[0]["messages"].as_array().expect("messages");
    let system = first[0]["content"].to_string();
    let places = [
        "You are a coding agent.",
        "Answer in French.",
        "Use tabs.",
        "- release: How to release. (.agents/skills/release/SKILL.md)",
    ]
    .map(|text| {
        system
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {system}"))
    });
    assert!(places.is_sorted(), "{system}");
    assert!(!system.contains("Rules of sub."), "{system}");
    let second = bodies[1]["messages"].as_array().expect("messages");
    assert_eq!(second[0], first[0]);
    let roles: Vec<&str> = second
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "user"]);
    assert!(
        second[4].to_string().contains("Rules of sub."),
        "{second:?}"
    );
}

#[test]
fn a_run_without_instructions_tells_nothing() {
    let runs = runs("");
    let (output, bodies) = asked(&runs, &["--no-instructions"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert!(
        output.stderr.contains(" --no-instructions -p ..."),
        "{output}"
    );
    for body in bodies {
        let body = body.to_string();
        for text in ["Answer in French.", "Use tabs.", "release", "Rules of sub."] {
            assert!(!body.contains(text), "{text}: {body}");
        }
    }
}

#[test]
fn the_event_at_the_start_names_the_files() {
    let runs = runs(TWICE);
    runs.env.write("sub/CLAUDE.md", "");
    runs.env.write("config/AGENTS.md", b"\xff");
    let told = |arguments: &[&str]| {
        let output = runs.play(arguments).success();
        let lines = output
            .lines()
            .filter(|line| line.contains(r#""type":"instructions""#));
        lines.collect::<Vec<_>>().join("\n")
    };
    let text = told(&["-p", "one", "--mode", "json"]);
    let text = text.replace(&runs.env.folder().display().to_string(), "[DIR]");
    assert_snapshot!(text, @r#"{"type":"instructions","reason":"start","files":[{"path":"config/AGENTS.md","tokens":0,"state":"refused","note":"is not UTF-8 text: byte 1, line 1; save it as UTF-8"},{"path":"AGENTS.md","tokens":61,"state":"loaded","note":null},{"path":".agents/skills/release/SKILL.md","tokens":19,"state":"listed","note":null}]}"#);
    assert_eq!(
        told(&["-p", "one", "--mode", "json", "--no-instructions"]),
        ""
    );
}
