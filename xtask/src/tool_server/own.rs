//! A server written with the client's library, `crates/test-support/examples/mcp_server.rs`: each of its tools is
//! called, and what it gives must be in the events and in the session.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Case, end};
use crate::run::{Outcome, example};

/// The folder that is worked in; its name has a character that addresses spell out.
const WORKSPACE: &str = "work place";

/// The server's tools, in the order of its pages.
const TOOLS: [&str; 9] = [
    "own__echo",
    "own__add",
    "own__picture",
    "own__sources",
    "own__keep",
    "own__steps",
    "own__roots",
    "own__ask_model",
    "own__fail",
];

/// What a call whose result was lost gives where it may not be repeated.
const LOST: &str = "its result is lost";

/// A call, and what it must give.
struct Call {
    tool: &'static str,
    arguments: Value,
    fails: bool,
    says: &'static str,
}

impl Call {
    fn good(tool: &'static str, arguments: Value, says: &'static str) -> Self {
        Self {
            tool,
            arguments,
            fails: false,
            says,
        }
    }

    fn bad(tool: &'static str, arguments: Value, says: &'static str) -> Self {
        Self {
            fails: true,
            ..Self::good(tool, arguments, says)
        }
    }
}

fn calls() -> Vec<Call> {
    vec![
        Call::good("own__echo", json!({ "text": "hi" }), "hi"),
        // What is said as a text as well is said once.
        Call::good("own__add", json!({ "a": 2, "b": 3 }), r#"{"sum":5}"#),
        Call::bad(
            "own__add",
            json!({ "a": "two", "b": 3 }),
            "own__add: it refused: a is no whole number",
        ),
        Call::good("own__picture", json!({}), "a pixel"),
        Call::good(
            "own__sources",
            json!({}),
            "[plan: https://example.com/plan]\n[file:///notes.txt]\nwhat was noted\n\
             [file:///data, application/x-data: 4 bytes in base64, which are not passed on]",
        ),
        Call::good("own__keep", json!({ "number": 7 }), "kept 7"),
        Call::good("own__steps", json!({}), "told of 3 steps"),
        Call::good("own__roots", json!({}), "/work%20place"),
        Call::good(
            "own__ask_model",
            json!({}),
            "refused with -32601: agent-cli does not ask its model for servers",
        ),
        Call::bad("own__fail", json!({}), "no luck today"),
    ]
}

/// Lists the tools, calls all of them, and again after a crash.
pub(super) fn run(program: &Path, home: &Path) -> Outcome {
    let server = example("mcp_server")?;
    let home = home.join("own");
    let failed = |error: std::io::Error| format!("{}: {error}", home.display());
    if home.exists() {
        std::fs::remove_dir_all(&home).map_err(failed)?;
    }
    let workspace = home.join(WORKSPACE);
    std::fs::create_dir_all(&workspace).map_err(failed)?;
    let case = Case {
        program,
        home: home.clone(),
        workspace,
    };
    let calls = calls();
    let script = calls.iter().enumerate().map(
        |(index, call)| json!({ "id": id(index), "name": call.tool, "arguments": call.arguments }),
    );
    let script: Vec<Value> = script.collect();
    case.write("own", &json!({ "command": server }), &script)?;
    check_list(&case.listed()?)?;
    let sessions = home.join("sessions");
    let sessions = sessions.to_string_lossy();
    let kept = ["--session-dir", &*sessions, "--allow", "own__*"];
    let events = case.play(&[&kept[..], &["-p", "go"]].concat())?;
    check_told(&events)?;
    let session = session(&events)?;
    check_results(&calls, &events, &results(&session)?)?;
    interrupt(&session)?;
    check_repeated(&calls, &case.play(&[&kept[..], &["--continue"]].concat())?)?;
    println!(
        "   the server of test-support: {} tools listed, called, and called again after a crash",
        TOOLS.len()
    );
    Ok(())
}

fn id(index: usize) -> String {
    format!("c{index}")
}

fn check_list(listed: &Value) -> Outcome {
    let tools = listed["tools"].as_array().into_iter().flatten();
    let names: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    match names == TOOLS && listed["left_out"] == json!([]) {
        true => Ok(()),
        false => Err(format!("the server's tools are listed otherwise: {listed}")),
    }
}

/// Checks that a run told of the server before it called it.
fn check_told(events: &[Value]) -> Outcome {
    let mut told = events.iter().filter(|event| event["type"] == "tool_server");
    match told.next() {
        Some(told) if told["state"] == "ready" && told["tools"] == TOOLS.len() => Ok(()),
        told => Err(format!("a run told otherwise of the server: {told:?}")),
    }
}

/// Returns where the session of a run is.
fn session(events: &[Value]) -> Outcome<PathBuf> {
    let mut paths = events.iter().filter_map(|event| event["path"].as_str());
    let path = paths.next().map(PathBuf::from);
    path.ok_or_else(|| format!("no event names the session: {events:?}"))
}

/// Returns the results in a session, by call.
fn results(session: &Path) -> Outcome<Vec<Value>> {
    let text = std::fs::read_to_string(session)
        .map_err(|error| format!("{}: {error}", session.display()))?;
    let entries = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let messages = entries.map(|mut entry: Value| entry["message"].take());
    Ok(messages
        .filter(|message| message["role"] == "toolResult")
        .collect())
}

/// Holds every result, as it was told and as it was kept, against what it must be.
fn check_results(calls: &[Call], events: &[Value], results: &[Value]) -> Outcome {
    for (index, call) in calls.iter().enumerate() {
        let id = id(index);
        let (failed, said) = end(events, &id)?;
        let fits = match call.tool {
            "own__roots" => said.starts_with("file:///") && said.ends_with(call.says),
            _ => said == call.says,
        };
        if !fits || failed != call.fails {
            let tool = call.tool;
            return Err(format!(
                "{tool} should have said {}, but: {said}",
                call.says
            ));
        }
        let kept = results.iter().find(|result| result["toolCallId"] == id);
        let kept = kept.ok_or_else(|| format!("the session has no result of {}", call.tool))?;
        let blocks = kept["content"].as_array().into_iter().flatten();
        let (texts, images): (Vec<_>, Vec<_>) = blocks.partition(|block| block["type"] == "text");
        let pictures = usize::from(call.tool == "own__picture");
        let shown = images
            .iter()
            .filter(|image| image["mimeType"] == "image/png");
        let same = texts.iter().all(|text| text["text"] == said) && texts.len() == 1;
        let same = same && kept["isError"] == failed;
        if !same || shown.count() != pictures || images.len() != pictures {
            return Err(format!(
                "the session has another result of {}: {kept}",
                call.tool
            ));
        }
    }
    Ok(())
}

/// Takes the results from a session, as if the program had been killed while the calls ran.
fn interrupt(session: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("{}: {error}", session.display());
    let text = std::fs::read_to_string(session).map_err(failed)?;
    let before = text
        .lines()
        .take_while(|line| !line.contains("\"toolResult\""));
    let before: String = before.map(|line| format!("{line}\n")).collect();
    std::fs::write(session, before).map_err(failed)
}

/// Checks that tools which say that they may be repeated were called again, and no other.
fn check_repeated(calls: &[Call], events: &[Value]) -> Outcome {
    for (index, call) in calls.iter().enumerate() {
        let (failed, said) = end(events, &id(index))?;
        let right = match call.tool {
            "own__echo" | "own__keep" => !failed && said == call.says,
            _ => failed && said.contains(LOST),
        };
        if !right {
            return Err(format!("after a crash {} said: {said}", call.tool));
        }
    }
    Ok(())
}
