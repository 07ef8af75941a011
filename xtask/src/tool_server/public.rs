//! A public tool server of the Python package index: the client against a server that is not ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::{Case, end};
use crate::e2e_llm::install::{pip, step, system_python};
use crate::run::Outcome;

/// The server (MIT), a project of those who keep the protocol.
const WHEEL: &str = "mcp-server-time==2026.10.19";

/// Noon in Tokyo, where the clocks are never changed, as UTC has it.
const ANSWER: &str = "T03:00:00+00:00";

/// Lists the server's tools, and calls one of them: without leave, which must be refused, and with it.
pub(super) fn run(program: &Path, home: &Path) -> Outcome {
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
    if !failed || !said.contains("has to be allowed") {
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
