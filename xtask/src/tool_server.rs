//! A public tool server of the Python package index, called by the program: the client against a server that is not
//! ours.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::e2e_llm::install::{pip, step, system_python};
use crate::run::{Outcome, debug_binary, target, without_settings};

/// The server (MIT), a project of those who keep the protocol.
const WHEEL: &str = "mcp-server-time==2026.10.19";

/// Noon in Tokyo, where the clocks are never changed, as UTC has it.
const ANSWER: &str = "T03:00:00+00:00";

/// Lists the server's tools, and calls one of them: without leave, which must be refused, and with it.
pub fn run(arguments: &[String]) -> Outcome {
    if !arguments.is_empty() {
        return Err("cargo xtask tool-server".to_owned());
    }
    let system = match system_python("a public tool server") {
        Ok(system) => system,
        Err(reason) => {
            println!("   skipped: {reason}");
            return Ok(());
        }
    };
    let home = target().join("tool-server");
    std::fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
    // The folder may be named relative to where xtask runs, and the programs run elsewhere.
    let home = std::path::absolute(&home).map_err(|error| error.to_string())?;
    let python = install(&home, system)?;
    let case = Case {
        program: debug_binary()?,
        home,
    };
    case.write(&python)?;
    case.check_list()?;
    let (failed, said) = case.call(&[])?;
    if !failed || !said.contains("has to be allowed") {
        return Err(format!("a call without leave was not refused: {said}"));
    }
    let (failed, said) = case.call(&["--allow", "time__convert_time"])?;
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

struct Case {
    program: PathBuf,
    home: PathBuf,
}

impl Case {
    /// Writes the settings and the script.
    fn write(&self, python: &Path) -> Outcome {
        let server = json!({ "command": python, "args": ["-m", "mcp_server_time"] });
        let settings = json!({ "mcpServers": { "time": server } });
        let arguments = json!({
            "source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC",
        });
        let call = json!({ "name": "time__convert_time", "arguments": arguments });
        let lines = [
            json!({ "script": 1, "name": "time" }),
            json!({ "answer": { "calls": [call] } }),
            json!({ "answer": { "text": "Done." } }),
        ];
        let script: String = lines.iter().map(|line| format!("{line}\n")).collect();
        for (name, text) in [
            ("settings.json", settings.to_string()),
            ("script.jsonl", script),
        ] {
            let path = self.home.join(name);
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }

    fn run(&self, arguments: &[&str]) -> Outcome<Output> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.home).stdin(Stdio::null());
        command
            .args(["--settings", "settings.json"])
            .args(arguments);
        let output = without_settings(&mut command).output();
        output.map_err(|error| format!("cannot run {}: {error}", self.program.display()))
    }

    fn check_list(&self) -> Outcome {
        let output = self.run(&["servers", "--json"])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let tools = document["servers"][0]["tools"].as_array();
        let listed = tools.is_some_and(|tools| {
            tools
                .iter()
                .any(|tool| tool["name"] == "time__convert_time")
        });
        match listed && output.status.success() {
            true => Ok(()),
            false => Err(format!("the server's tools are not listed: {text}")),
        }
    }

    /// Plays the script and returns whether the call failed, and what it gave.
    fn call(&self, more: &[&str]) -> Outcome<(bool, String)> {
        let script = [
            "-p",
            "go",
            "--no-session",
            "--provider",
            "scripted:script.jsonl",
        ];
        let output = self.run(&[&script[..], &["--mode", "json"], more].concat())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut events = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let end = events.find(|event| event["type"] == "tool_end");
        let end = end.ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("the tool was not called: {text}{said}")
        })?;
        let said = end["output"].as_str().unwrap_or_default().to_owned();
        Ok((end["is_error"] == true, said))
    }
}
