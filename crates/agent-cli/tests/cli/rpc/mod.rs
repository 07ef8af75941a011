//! `agent-cli rpc`: every command, every form of a bad line, and how it ends.

mod approvals;
mod commands;
mod ends;
mod lines;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::run::Runs;

/// A program that drives a session. What it reads is printed when a test fails.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// Lines that were read and that nobody has asked for.
    seen: Vec<Value>,
    newest_id: u64,
}

impl Client {
    /// Starts `agent-cli rpc` with the script of `runs` and these options.
    pub fn start(runs: &Runs, options: &[&str]) -> Self {
        let mut arguments = vec!["rpc", "--provider", "scripted:script.jsonl"];
        arguments.extend(options);
        Self::of(runs, &arguments)
    }

    /// Starts the program with these arguments.
    pub fn of(runs: &Runs, arguments: &[&str]) -> Self {
        Self::spawn(&mut runs.bare(arguments))
    }

    /// Starts a program.
    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            stdin,
            stdout,
            seen: Vec::new(),
            newest_id: 0,
        }
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        stdin.write_all(bytes).expect("the program reads");
        stdin.flush().expect("the program reads");
    }

    /// Sends a request; returns its id.
    pub fn send(&mut self, command: &str, mut members: Value) -> u64 {
        self.newest_id += 1;
        members["id"] = json!(self.newest_id);
        members["type"] = json!(command);
        self.send_bytes(format!("{members}\n").as_bytes());
        self.newest_id
    }

    /// Returns the first line, of those not asked for yet, that is like this.
    pub fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.seen.iter().position(&wanted) {
            return self.seen.remove(place);
        }
        loop {
            let line = self.next().expect("the awaited line comes before the end");
            if wanted(&line) {
                return line;
            }
            self.seen.push(line);
        }
    }

    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.stdout.read_line(&mut line).expect("a line");
        (read > 0).then(|| serde_json::from_str(&line).expect("every line is JSON"))
    }

    /// Returns the next event of this type.
    pub fn event(&mut self, kind: &str) -> Value {
        self.wait(|line| line["type"] == kind)
    }

    /// Returns the response to the request of this id.
    pub fn response(&mut self, id: u64) -> Value {
        self.wait(|line| line["type"] == "response" && line["id"] == id)
    }

    /// Sends a request and returns the data of the response, which must be one of success.
    pub fn call(&mut self, command: &str, members: Value) -> Value {
        let id = self.send(command, members);
        let mut response = self.response(id);
        assert_eq!(response["success"], true, "{response}");
        assert_eq!(response["command"], command);
        response["data"].take()
    }

    /// Sends a request and returns the error of the response as `kind: message`.
    pub fn refused(&mut self, command: &str, members: Value) -> String {
        let id = self.send(command, members);
        let response = self.response(id);
        assert_eq!(response["success"], false, "{response}");
        error(&response)
    }

    /// Says something and waits until the turn is over and nothing goes on.
    pub fn prompt(&mut self, text: &str) {
        self.call("prompt", json!({ "text": text }));
        self.event("turn_end");
        self.event("idle");
    }

    /// Passes over the lines that were read and that nobody has asked for.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// Ends the input.
    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Ends the input and waits for the end; returns the exit code, all lines that nobody has asked for, and what
    /// was said on standard error.
    pub fn end(mut self) -> (Option<i32>, Vec<Value>, String) {
        self.end_input();
        while let Some(line) = self.next() {
            self.seen.push(line);
        }
        let output = self.child.wait_with_output().expect("the program ends");
        let said = String::from_utf8(output.stderr).expect("text");
        (output.status.code(), self.seen, said)
    }

    /// Returns the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the standard output: nobody reads any more.
    pub fn close_output(self) -> (Child, Option<ChildStdin>) {
        drop(self.stdout);
        (self.child, self.stdin)
    }
}

/// Returns the error of a response as `kind: message`.
pub fn error(response: &Value) -> String {
    let error = &response["error"];
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    match error["field"].as_str() {
        Some(field) => format!("{} ({field}): {}", text("kind"), text("message")),
        None => format!("{}: {}", text("kind"), text("message")),
    }
}
