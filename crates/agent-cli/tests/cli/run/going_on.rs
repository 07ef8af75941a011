//! A script that was stopped goes on where it stopped: nothing is answered, said or done twice.
#![cfg(unix)]

use insta::assert_snapshot;

use super::Runs;
use super::stop::Running;

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
