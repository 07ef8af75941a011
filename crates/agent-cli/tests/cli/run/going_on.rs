//! A script that was stopped goes on where it stopped: nothing is answered, said or done twice.
#![cfg(unix)]

use insta::assert_snapshot;

use super::Runs;
use super::stop::Running;

const HANDED_OFF: &str = r###"{"script":1,"name":"long","window":16000}
{"answer":{"text":"A1."}}
{"user":{"say":"p2"}}
{"answer":{"text":"A2."}}
{"user":{"handoff":{"focus":null}}}
{"summary":{"text":"## Goal\nThe first document."}}
{"user":{"say":"p3"}}
{"answer":{"text":"A3."}}
{"user":{"say":"p4"}}
{"answer":{"text":"A4.","pause_ms":600000}}
{"user":{"handoff":{"focus":null}}}
{"summary":{"text":"## Goal\nThe second document."}}
{"user":{"say":"p5"}}
{"answer":{"text":"A5."}}
"###;

/// Plays a script until so many turns have begun, and stops it there; its pauses are over then.
fn stopped(script: &str, arguments: &[&str], turns: usize) -> Runs {
    let runs = Runs::of(script);
    let mut running = Running::start(&mut runs.command(arguments));
    for _ in 0..turns {
        running.until("turn_start");
    }
    running.interrupt();
    assert_eq!(running.end(&runs).code, Some(130));
    let script = script.replace(",\"pause_ms\":600000", "");
    runs.env.write("script.jsonl", script);
    runs
}

/// Returns the text with the ids of entries, which stand in brackets at the ends of lines, as `[ID]`.
fn without_ids(text: &str) -> String {
    let lines = text.lines().map(|line| match line.rsplit_once(" [") {
        Some((before, id)) if id.ends_with(']') => format!("{before} [ID]\n"),
        Some(_) | None => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn a_script_goes_on_behind_a_handoff() {
    let runs = stopped(HANDED_OFF, &["-p", "p1"], 4);
    assert_eq!(runs.play(&["-c"]).success(), "A5.\n");
    let sessions = runs.sessions();
    let said: Vec<String> = sessions.iter().map(|session| runs.said(session)).collect();
    let said = without_ids(&said.join("---\n"));
    assert_snapshot!(said, @"
    user: p1
    assistant: A1.
    user: p2
    assistant: A2.
    ---
    custom: ## Goal
    The first document.

    <ledger>
    Kept by code from the session before. Lines behind > are quoted.
    user
    > p1

    user
    > p2
    </ledger>
    user: p3
    assistant: A3.
    user: p4
    assistant: A4.
    ---
    custom: ## Goal
    The second document.

    <ledger>
    Kept by code from the session before. Lines behind > are quoted.
    document of the session before
    > ## Goal
    > The first document.

    user
    > p3

    user
    > p4
    </ledger>
    user: p5
    assistant: A5.
    ");
}

#[test]
fn a_script_goes_on_in_forks_of_a_session_that_was_handed_off() {
    let script = HANDED_OFF.replace(",\"pause_ms\":600000", "");
    let end = script.find("{\"user\":{\"handoff\":{\"focus\":null}}}\n{\"summary\":{\"text\":\"## Goal\\nThe second").unwrap();
    let runs = Runs::of(&script[..end]);
    assert_eq!(runs.play(&["-p", "p1"]).success(), "A4.\n");
    let script = format!(
        "{}{}\n{}\n",
        &script[..end],
        r#"{"answer":{"text":"A5."}}"#,
        r#"{"answer":{"text":"A6."}}"#
    );
    runs.env.write("script.jsonl", script);
    for (source, answer) in [(1, "A5.\n"), (2, "A6.\n")] {
        let source = runs.sessions().remove(source);
        let source = source.to_str().expect("a path");
        assert_eq!(
            runs.play(&["--fork", source, "-p", "more"]).success(),
            answer
        );
    }
}

#[test]
fn what_the_user_has_done_is_not_done_again() {
    let script = r#"{"script":1,"name":"user","window":16000}
{"user":{"say":"p1"}}
{"answer":{"text":"A1."}}
{"user":{"compact":{"focus":null}}}
{"user":{"label":{"back":1,"text":"the first"}}}
{"user":{"say":"p2"}}
{"user":{"say":"later","delivery":"follow_up"}}
{"answer":{"text":"A2.","pause_ms":600000}}
{"answer":{"text":"A3."}}
"#;
    let runs = stopped(script, &[], 2);
    assert_eq!(runs.play(&["-c"]).success(), "A3.\n");
    let session = runs.session();
    assert_snapshot!(runs.said(&session), @"
    user: p1
    assistant: A1.
    user: p2
    assistant: A2.
    user: later
    assistant: A3.
    ");
    let text = std::fs::read_to_string(session).expect("a session");
    assert_eq!(text.matches("\"the first\"").count(), 1);
}

#[test]
fn what_was_not_done_yet_is_done() {
    let script = r#"{"script":1,"name":"user","window":16000}
{"answer":{"text":"A1."}}
{"user":{"label":{"back":1,"text":"the first"}}}
{"user":{"say":"p2"}}
{"answer":{"text":"A2.","pause_ms":600000}}
{"user":{"say":"p3"}}
{"answer":{"text":"A3."}}
"#;
    let runs = stopped(script, &["-p", "p1"], 2);
    let session = runs.session();
    let text = std::fs::read_to_string(&session).expect("a session");
    let before = text.lines().take_while(|line| !line.contains("\"p2\""));
    let before: String = before.map(|line| format!("{line}\n")).collect();
    std::fs::write(&session, before).expect("a session");
    assert_eq!(runs.play(&["-c"]).success(), "A3.\n");
    let text = std::fs::read_to_string(&session).expect("a session");
    assert_eq!(text.matches("\"the first\"").count(), 1);
    assert_snapshot!(runs.said(&session), @"
    user: p1
    assistant: A1.
    user: p2
    assistant: A2.
    user: p3
    assistant: A3.
    ");
}

#[test]
fn the_first_message_is_not_said_again() {
    let script = r#"{"script":1,"name":"user","window":16000}
{"user":{"say":"p1"}}
{"answer":{"text":"A1.","pause_ms":600000}}
"#;
    let runs = stopped(script, &[], 1);
    assert_eq!(runs.play(&["-c"]).success(), "A1.\n");
    assert_snapshot!(runs.said(&runs.session()), @"
    user: p1
    assistant: A1.
    ");
}
