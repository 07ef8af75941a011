//! Tool servers that are not the tests' own, called by the program: one written with the client's library, and a
//! public one.

mod own;
mod public;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::run::{Outcome, debug_binary, target, without_settings};

/// Calls both servers; `own` leaves the public one out.
pub fn run(arguments: &[String]) -> Outcome {
    let both = match arguments {
        [] => true,
        [only] if only == "own" => false,
        _ => return Err("cargo xtask tool-server [own]".to_owned()),
    };
    let home = target().join("tool-server");
    std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    // The folder may be named relative to where xtask runs, and the programs run elsewhere.
    let home = std::path::absolute(&home).map_err(|error| error.to_string())?;
    let program = debug_binary()?;
    own::run(&program, &home)?;
    match both {
        true => public::run(&program, &home),
        false => Ok(()),
    }
}

/// The program with one server.
struct Case<'a> {
    program: &'a Path,
    /// Where the settings, the script and the sessions are.
    home: PathBuf,
    /// The folder that is worked in.
    workspace: PathBuf,
}

impl Case<'_> {
    /// Writes the settings with the server, and a script that makes these calls in one answer.
    fn write(&self, name: &str, server: &Value, calls: &[Value]) -> Outcome {
        let settings = json!({ "mcpServers": { name: server } });
        let lines = [
            json!({ "script": 1, "name": name }),
            json!({ "answer": { "calls": calls } }),
            json!({ "answer": { "text": "Done." } }),
        ];
        let script: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.put("settings.json", &settings.to_string())?;
        self.put("script.jsonl", &script)
    }

    fn put(&self, name: &str, text: &str) -> Outcome {
        let path = self.home.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn run(&self, arguments: &[&str]) -> Outcome<Output> {
        let mut command = Command::new(self.program);
        command.current_dir(&self.workspace).stdin(Stdio::null());
        command
            .arg("--settings")
            .arg(self.home.join("settings.json"))
            .args(arguments);
        let output = without_settings(&mut command).output();
        output.map_err(|error| format!("cannot run {}: {error}", self.program.display()))
    }

    /// Returns what `servers` says of the server, which must be ready.
    fn listed(&self) -> Outcome<Value> {
        let output = self.run(&["servers", "--json"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let server = document["servers"][0].take();
        match output.status.success() && server["state"] == "ready" {
            true => Ok(server),
            false => Err(format!("the server is not ready: {text}")),
        }
    }

    /// Plays the script and returns the events.
    fn play(&self, arguments: &[&str]) -> Outcome<Vec<Value>> {
        let script = format!("scripted:{}", self.home.join("script.jsonl").display());
        let own = ["--provider", &script, "--mode", "json"];
        let output = self.run(&[&own, arguments].concat())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("the run failed: {text}{said}"));
        }
        let events = text.lines().map(serde_json::from_str);
        let events = events.collect::<Result<Vec<Value>, _>>();
        events.map_err(|error| format!("what is printed are no events: {error}: {text}"))
    }
}

/// Returns the end of a call: whether it failed, and what it gave.
fn end(events: &[Value], call: &str) -> Outcome<(bool, String)> {
    let end = events
        .iter()
        .find(|event| event["type"] == "tool_end" && event["call_id"] == call)
        .ok_or_else(|| format!("the call {call} did not end: {events:?}"))?;
    let said = end["output"].as_str().unwrap_or_default().to_owned();
    Ok((end["is_error"] == true, said))
}
