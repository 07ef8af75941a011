//! A look at the server as an agent starts it: which tools its model will see.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ui::clean;

/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the model of an agent will see.
pub(super) struct Seen {
    pub tools: Vec<String>,
    /// How large the descriptions of the tools are.
    pub bytes: usize,
}

impl Seen {
    pub fn text(&self) -> String {
        let tools: Vec<String> = self.tools.iter().map(|name| clean(name)).collect();
        let tokens = self.bytes / 4;
        format!(
            "checked: the server starts, and the model sees {} (about {tokens} tokens)\n",
            tools.join(", ")
        )
    }
}

/// Starts the server as an agent does, and asks it for its tools.
pub(super) fn seen(program: &str) -> Result<Seen, String> {
    let mut command = Command::new(program);
    command
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let child = command.stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (sender, answers) = mpsc::channel();
    let reader = thread::spawn(move || {
        let lines = stdout
            .into_iter()
            .flat_map(|stdout| BufReader::new(stdout).lines());
        for line in lines.map_while(Result::ok) {
            let answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if sender.send(answer).is_err() {
                break;
            }
        }
    });
    let asked = stdin.map_or(Ok(None), |mut stdin| {
        let info = json!({ "name": "agent-cli-setup", "version": env!("CARGO_PKG_VERSION") });
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        let lines = [
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }),
        ];
        let written = lines.iter().try_for_each(|line| writeln!(stdin, "{line}"));
        // The server runs as long as its input is open.
        written.map(|()| Some(stdin))
    });
    let answer = asked.map_err(|error| error.to_string()).and_then(|_open| {
        let mut answer = answers.recv_timeout(PATIENCE);
        while answer.as_ref().is_ok_and(|answer| answer["id"] != 2) {
            answer = answers.recv_timeout(PATIENCE);
        }
        answer.map_err(|_| "it ended, or took too long".to_owned())
    });
    // It may have ended.
    let _ended = child.kill();
    let _status = child.wait();
    let _joined = reader.join();
    let mut said = String::new();
    if let (Some(mut stderr), true) = (child.stderr.take(), answer.is_err()) {
        let _read = stderr.read_to_string(&mut said);
    }
    let why = |reason: String| match said.trim() {
        "" => reason,
        said => session_model::text::first_line(said, 300),
    };
    let tools = answer.map_err(why)?["result"]["tools"].take();
    let all = tools.as_array().map(Vec::as_slice).unwrap_or_default();
    let names = all.iter().filter_map(|tool| tool["name"].as_str());
    Ok(Seen {
        tools: names.map(str::to_owned).collect(),
        bytes: tools.to_string().len(),
    })
}
