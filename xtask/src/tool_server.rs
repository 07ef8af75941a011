//! Tests the program with a public tool server of the Python package index: the client against a foreign server.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::e2e_llm::install::{pip, step, system_python};
use crate::run::{Outcome, debug_binary, target, without_settings};

/// The server (MIT), a project of those who keep the protocol.
const WHEEL: &str = "mcp-server-time==2026.10.19";

/// Noon in Tokyo, which has no daylight saving time, in UTC.
const ANSWER: &str = "T03:00:00+00:00";

/// Calls the server.
pub fn run(arguments: &[String]) -> Outcome {
    if !arguments.is_empty() {
        return Err("cargo xtask tool-server".to_owned());
    }
    let home = target().join("tool-server");
    std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    // The folder may be named relative to where xtask runs, and the programs run elsewhere.
    let home = std::path::absolute(&home).map_err(|error| error.to_string())?;
    call_it(&debug_binary()?, &home)
}

/// The program with one server.
struct Case<'a> {
    program: &'a Path,
    /// The folder of the settings, the script and the sessions.
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

    /// Returns the output of `servers` about the server, which must be ready.
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
        events.map_err(|error| format!("what is printed are not events: {error}: {text}"))
    }
}

/// Returns the end of a call: true if it failed, and its result.
fn end(events: &[Value], call: &str) -> Outcome<(bool, String)> {
    let end = events
        .iter()
        .find(|event| event["type"] == "tool_end" && event["call_id"] == call)
        .ok_or_else(|| format!("the call {call} did not end: {events:?}"))?;
    let said = end["output"].as_str().unwrap_or_default().to_owned();
    Ok((end["is_error"] == true, said))
}

/// Lists the server's tools, and calls one of them: without leave, which must be refused, and with it.
fn call_it(program: &Path, home: &Path) -> Outcome {
    let system = system_python("a public tool server")?;
    let python = install(home, system)?;
    let case = Case {
        program,
        home: home.to_owned(),
        workspace: home.to_owned(),
    };
    let server = json!({ "command": python, "args": ["-m", "mcp_server_time"] });
    let arguments = json!({
        "source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC",
    });
    let call = json!({ "id": "noon", "name": "time__convert_time", "arguments": arguments });
    case.write("time", &server, &[call])?;
    let listed = case.listed()?;
    let mut tools = listed["tools"].as_array().into_iter().flatten();
    if !tools.any(|tool| tool["name"] == "time__convert_time") {
        return Err(format!("the server's tools are not listed: {listed}"));
    }
    let call = |more: &[&str]| {
        let events = case.play(&[&["-p", "go", "--no-session"], more].concat())?;
        end(&events, "noon")
    };
    let (failed, said) = call(&[])?;
    if !failed || !said.contains("needs approval") {
        return Err(format!("a call without leave was not refused: {said}"));
    }
    let (failed, said) = call(&["--allow", "time__convert_time"])?;
    if failed || !said.contains(ANSWER) {
        return Err(format!(
            "noon in Tokyo is {ANSWER}, but the server said: {said}"
        ));
    }
    println!("   {WHEEL}: listed, refused without leave, called with it");
    Ok(())
}

/// Installs the server unless it is there, and returns its interpreter.
fn install(home: &Path, system: &str) -> Outcome<PathBuf> {
    let venv = home.join("venv");
    let python = match cfg!(windows) {
        true => venv.join("Scripts/python.exe"),
        false => venv.join("bin/python"),
    };
    let mark = home.join("wheel.txt");
    if python.is_file() && std::fs::read_to_string(&mark).is_ok_and(|found| found == WHEEL) {
        return Ok(python);
    }
    println!("   installing {WHEEL} in {}", venv.display());
    let mut make = Command::new(system);
    step(
        make.args(["-m", "venv", "--clear"]).arg(&venv),
        "python3 -m venv failed; where Python comes in parts, its venv part is needed",
    )?;
    let mut install = pip(&python);
    step(
        install.args(["install", "--only-binary", ":all:", WHEEL]),
        "pip could not install the server; it needs the network (a Python package index)",
    )?;
    std::fs::write(&mark, WHEEL).map_err(|error| format!("{}: {error}", mark.display()))?;
    Ok(python)
}
