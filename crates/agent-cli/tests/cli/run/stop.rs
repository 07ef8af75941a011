//! A run that is stopped: by Ctrl-C or another signal, or because nobody reads it.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::Value;

use super::{Runs, TWICE, filtered};
use crate::env::Output;

/// The second answer lets wait for ten minutes.
const WAITS: &str = r#"{"script":1,"name":"waits","window":16000}
{"answer":{"text":"Hello."}}
{"answer":{"text":"Much later.","pause_ms":600000}}
{"answer":{"text":"After all."}}
"#;

/// A run that is under way.
pub struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    seen: String,
}

impl Running {
    /// Starts a run that prints events.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .args(["--mode", "json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            child,
            stdout,
            seen: String::new(),
        }
    }

    /// Reads until an event of this type was printed.
    pub fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).expect("a line");
            assert!(read > 0, "no {kind} in {}", self.seen);
            self.seen.push_str(&line);
            let event: Value = serde_json::from_str(&line).expect("an event");
            if event["type"] == kind {
                return event;
            }
        }
    }

    pub fn interrupt(&self) {
        signal("INT", self.child.id());
    }

    /// Waits for the end; returns what was printed from now on.
    pub fn end(mut self, runs: &Runs) -> Output {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("text");
        let mut output = self.child.wait_with_output().expect("the program ends");
        output.stdout = rest.into_bytes();
        filtered(&runs.env.filtered(&output))
    }
}

fn signal(name: &str, pid: u32) {
    let mut kill = Command::new("kill");
    let sent = kill.args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.expect("the signal is sent").success());
}

/// How long a test waits for what must happen; only a failing one waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Makes the named pipe `fifo`; what is returned hears when somebody has written to it, and when everybody has closed
/// it. A command that did `exec 3>fifo` holds it open until it ends.
fn listen(runs: &Runs) -> Receiver<&'static str> {
    let path = runs.env.path("fifo");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo runs").success());
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        let mut pipe = std::fs::File::open(path).expect("the pipe");
        pipe.read_exact(&mut [0]).expect("a byte");
        let _ = sender.send("begun");
        pipe.read_to_end(&mut Vec::new()).expect("an end");
        let _ = sender.send("gone");
    });
    heard
}

#[test]
fn ctrl_c_keeps_what_was_done_and_says_how_to_go_on() {
    let runs = Runs::of(WAITS);
    runs.play(&["-p", "hi"]).success();
    let mut running = Running::start(&mut runs.command(&["-c", "-p", "and then?"]));
    running.until("turn_start");
    running.interrupt();
    let output = running.end(&runs);
    assert_eq!(output.code, Some(130), "{output}");
    let kinds: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["type"].take())
        .collect();
    assert_eq!(kinds.last(), Some(&Value::from("session_end")));
    assert_snapshot!(output.stderr, @"error: stopped; to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl");
    // The session can be read, and goes on with what was asked.
    let session = runs.session();
    let name = session.to_str().expect("a path").to_owned();
    assert_eq!(runs.run(&["doctor", &name]).code, Some(0));
    assert_snapshot!(runs.said(&session), @"
    user: hi
    assistant: Hello.
    user: and then?
    ");
    runs.env.write("script.jsonl", TWICE);
    assert_eq!(runs.play(&["-c"]).success(), "Hello again.\n");
    assert_snapshot!(runs.said(&session), @"
    user: hi
    assistant: Hello.
    user: and then?
    assistant: Hello again.
    ");
}

#[test]
fn ctrl_c_before_the_first_answer_loses_no_message() {
    let runs = Runs::of("{\"answer\":{\"text\":\"Late.\",\"pause_ms\":600000}}\n");
    let mut running = Running::start(&mut runs.command(&["-p", "a long request"]));
    running.until("turn_start");
    running.interrupt();
    let output = running.end(&runs);
    assert_eq!(output.code, Some(130), "{output}");
    assert_snapshot!(output.stderr, @"error: stopped; 1 message waits and is sent when you continue; to continue: agent-cli --resume [SESSION] --provider scripted:script.jsonl");
    assert_eq!(
        runs.sessions().len(),
        0,
        "there is no session without an answer"
    );
    runs.env.write("script.jsonl", TWICE);
    assert_eq!(runs.play(&["-c"]).success(), "Hello.\n");
    assert_snapshot!(runs.said(&runs.session()), @"
    user: a long request
    assistant: Hello.
    ");
}

/// Nobody reads what is printed, so the first Ctrl-C cannot end anything.
#[test]
fn a_second_ctrl_c_ends_at_once() {
    let text = "much text ".repeat(20_000);
    let script = serde_json::json!({ "answer": { "text": text } });
    let runs = Runs::of(&format!("{script}\n"));
    let mut running = Running::start(&mut runs.command(&["-p", "talk"]));
    running.until("text_delta");
    let Running {
        mut child, stdout, ..
    } = running;
    let pid = child.id();
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(child.wait().expect("the program ends")));
    let status = (0..100).find_map(|_| {
        signal("INT", pid);
        // Two signals at once would be one.
        ended.recv_timeout(Duration::from_millis(200)).ok()
    });
    assert_eq!(status.expect("ended").code(), Some(130));
    drop(stdout);
}

#[test]
fn other_signals_stop_a_run_and_its_command() {
    for name in ["TERM", "HUP"] {
        let command = "exec 3>fifo; echo begun >&3; exec sleep 300.4711";
        let call = serde_json::json!({ "name": "bash", "arguments": { "command": command } });
        let answer = serde_json::json!({ "answer": { "text": "I wait.", "calls": [call] } });
        let runs = Runs::of(&format!(
            "{answer}\n{{\"answer\":{{\"text\":\"Done.\"}}}}\n"
        ));
        let heard = listen(&runs);
        let running = Running::start(&mut runs.command(&["-p", "wait"]));
        assert_eq!(heard.recv_timeout(PATIENCE), Ok("begun"));
        signal(name, running.child.id());
        let output = running.end(&runs);
        assert_eq!(output.code, Some(130), "{output}");
        assert_eq!(heard.recv_timeout(PATIENCE), Ok("gone"), "{name}");
        std::fs::remove_file(runs.env.path("fifo")).expect("removed");
        // The session can be read, and goes on.
        let session = runs.session();
        let path = session.to_str().expect("a path").to_owned();
        assert_eq!(runs.run(&["doctor", &path]).code, Some(0));
        assert_eq!(runs.play(&["-c", "-p", "and now?"]).success(), "Done.\n");
    }
}

/// Nobody reads what is printed, so the first signal cannot end anything, not even the command.
#[test]
fn a_second_signal_ends_the_command_too() {
    let command = "exec 3>fifo; echo begun >&3; exec sleep 300.4712";
    let long = "much text ".repeat(20_000);
    let arguments = serde_json::json!({ "command": command, "description": long });
    let call = serde_json::json!({ "name": "bash", "arguments": arguments });
    let answer = serde_json::json!({ "answer": { "calls": [call] } });
    let runs = Runs::of(&format!("{answer}\n"));
    let heard = listen(&runs);
    let running = Running::start(&mut runs.command(&["-p", "wait"]));
    assert_eq!(heard.recv_timeout(PATIENCE), Ok("begun"));
    let Running {
        mut child, stdout, ..
    } = running;
    let pid = child.id();
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(child.wait().expect("the program ends")));
    let status = (0..100).find_map(|_| {
        signal("TERM", pid);
        // Two signals at once would be one.
        ended.recv_timeout(Duration::from_millis(200)).ok()
    });
    assert_eq!(status.expect("ended").code(), Some(130));
    assert_eq!(heard.recv_timeout(PATIENCE), Ok("gone"));
    drop(stdout);
}

#[test]
fn a_session_that_runs_is_locked_and_can_be_forked() {
    let runs = Runs::of(WAITS);
    runs.play(&["--session", "s.jsonl", "-p", "hi"]).success();
    let mut running = Running::start(&mut runs.command(&["--session", "s.jsonl", "-p", "wait"]));
    running.until("turn_start");
    let pid = format!("process {}", running.child.id());
    let refused = runs.refused(4, &["--session", "s.jsonl", "-p", "me too"]);
    assert_snapshot!(refused.replace(&pid, "process [PID]"), @"error: [DIR]/s.jsonl: locked by process [PID]; wait for it; open it read-only with agent-cli inspect, or continue in a copy with --fork");
    runs.env.write("other.jsonl", TWICE);
    let fork = [
        "--fork",
        "s.jsonl",
        "-p",
        "elsewhere",
        "--provider",
        "scripted:other.jsonl",
    ];
    assert_eq!(runs.run(&fork).success(), "Hello again.\n");
    assert_eq!(runs.run(&["inspect", "s.jsonl"]).code, Some(0));
    running.interrupt();
    assert_eq!(running.end(&runs).code, Some(130));
    assert_snapshot!(runs.said(&runs.session()), @"
    user: hi
    assistant: Hello.
    user: wait
    user: elsewhere
    assistant: Hello again.
    ");
    assert!(!runs.env.path("s.jsonl.lock").exists());
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let runs = Runs::of(WAITS);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = runs.command(&["-p", "hi", "--mode", "json"]);
    command.stdout(writer);
    let output = runs.output(&mut command);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );

    // One that reads the beginning of something long.
    let text = "much text ".repeat(20_000);
    let runs = Runs::of(&format!(
        "{}\n",
        serde_json::json!({ "answer": { "text": text } })
    ));
    let mut running = Running::start(&mut runs.command(&["-p", "hi"]));
    running.until("text_delta");
    let Running { child, stdout, .. } = running;
    drop(stdout);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    // What was said by then is kept.
    let said = runs.said(&runs.session());
    assert!(
        said.starts_with(
            "user: hi
assistant: much text"
        ),
        "{said}"
    );
}

#[test]
fn text_for_nobody_is_no_failure() {
    let runs = Runs::of(TWICE);
    for stream in ["stdout", "stderr"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = runs.command(&["-p", "hi"]);
        match stream {
            "stdout" => command.stdout(writer),
            _ => command.stderr(writer),
        };
        let output = runs.output(&mut command);
        assert_eq!(output.code, Some(0), "{stream}: {output}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn printing_to_a_full_disk() {
    let runs = Runs::of(TWICE);
    for options in [&["-p", "hi"][..], &["-p", "hi", "--mode", "json"]] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = runs.command(options);
        command.stdout(full.expect("/dev/full"));
        let output = runs.output(&mut command);
        assert_eq!(output.code, Some(1), "{output}");
        let last: Vec<&str> = output
            .stderr
            .lines()
            .filter(|line| line.starts_with("error"))
            .collect();
        assert_eq!(
            last.join("\n").split(" (os error").next(),
            Some("error: cannot write to standard output: No space left on device"),
            "{output}"
        );
    }
}
