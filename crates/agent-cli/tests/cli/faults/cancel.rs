//! Ctrl-C while a model is waited for, and a reader that went away.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use test_support::{End, Reply, streams};

use crate::faults::{Bench, LONG, SUMMARY, said, spawn, timed};

/// Within this a cancelled program has ended. What is promised is a second; a busy machine needs some more.
const SOON: Duration = Duration::from_secs(5);

/// Sends Ctrl-C to a command once the server has its first request and a moment has passed; it must end at once, as
/// cancelled, and change nothing.
fn cancelled(bench: &Bench, command: &mut Command) {
    let before = bench.env.listing();
    let child = spawn(command);
    assert!(bench.server.wait_until_received(1, LONG));
    // The answer is on its way, or the delay has begun.
    std::thread::sleep(Duration::from_millis(100));
    let mut kill = Command::new("kill");
    let sent = kill.args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("the signal is sent").success());
    let (output, took) = timed(|| child.wait_with_output().expect("the program ends"));
    let output = bench.filtered(&bench.env.filtered(&output));
    assert!(took < SOON, "{took:?}");
    let said = said(&output, 130, "cancelled");
    assert!(
        said.ends_with("error: cancelled; nothing was changed\n"),
        "{said}"
    );
    let mut after = bench.env.listing();
    after.retain(|name, _| name != "record.jsonl");
    assert!(before == after, "{:?}", bench.env.names());
}

#[test]
fn in_mid_stream() {
    let reply = streams::chat_stream(SUMMARY).cut(2, End::Silence(LONG));
    let bench = Bench::replying(vec![reply]);
    cancelled(&bench, &mut bench.compact(&["--fallback", "extractive"]));
    assert!(bench.server.wait_until_left(0, LONG));
    assert_eq!(bench.count(), 1);
}

#[test]
fn before_the_answer() {
    let bench = Bench::replying(vec![Reply::Silent(LONG)]);
    cancelled(
        &bench,
        &mut bench.compact(&["--fallback", "extractive", "--record", "record.jsonl"]),
    );
    assert!(bench.server.wait_until_left(0, LONG));
}

#[test]
fn during_the_delay_before_a_new_attempt() {
    let reply = Reply::text(503, "text/plain", "later").header("retry-after", "25");
    let bench = Bench::replying(vec![reply]);
    cancelled(&bench, &mut bench.compact(&["--set", "http.attempts=3"]));
    assert_eq!(bench.count(), 1);
}

#[test]
fn while_a_native_request_waits() {
    for form in ["in-band", "standalone"] {
        let bench = Bench::replying(vec![Reply::Silent(LONG)]).on("responses");
        cancelled(&bench, &mut bench.compact(&["--native", form]));
        assert!(bench.server.wait_until_left(0, LONG), "{form}");
    }
}

#[test]
fn while_a_handoff_is_written() {
    let bench = Bench::replying(vec![Reply::Silent(LONG)]);
    let mut command = bench.asked(&["handoff", "s.jsonl", "--out", "new.jsonl", "--json"]);
    cancelled(&bench, &mut command);
}

#[test]
fn while_the_remote_endpoint_is_waited_for() {
    let bench = Bench::replying(vec![Reply::Silent(LONG)]);
    let endpoint = format!("compaction.remoteEndpoint={}/summarize", bench.server.url());
    cancelled(&bench, &mut bench.compact(&["--set", &endpoint]));
}

/// Nobody reads what is printed: the work is done all the same.
#[test]
fn closed_standard_output() {
    let bench = Bench::replying(vec![streams::chat_stream(SUMMARY)]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = bench.compact(&[]);
    command.stdout(writer).stderr(Stdio::piped());
    let output = bench.run(&mut command);
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output}"
    );
    assert_eq!(bench.prose(), SUMMARY);
}

/// Nobody reads what is said beside either.
#[test]
fn closed_standard_error() {
    let busy = Reply::text(503, "text/plain", "later");
    let bench = Bench::replying(vec![busy, streams::chat_stream(SUMMARY)]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = bench.compact(&["--set", "http.attempts=2"]);
    command.stderr(writer);
    let output = bench.run(&mut command);
    assert_eq!(output.code, Some(0), "{output}");

    let bench = Bench::replying(vec![Reply::text(401, "text/plain", "no")]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = bench.compact(&[]);
    command.stderr(writer);
    let output = bench.run(&mut command);
    assert_eq!(output.code, Some(5), "{output}");
    assert_eq!(output.json()["error"]["fault"], "auth");
}
