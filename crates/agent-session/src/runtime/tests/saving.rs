//! What cannot be written is not lost, and is written once.

use std::io::Write;

use insta::assert_snapshot;
use serde_json::json;

use super::*;

const OTHER: &str = r#"{"type":"custom","id":"other","parentId":null,"customType":"other"}"#;

/// Another program adds a whole line to the session.
fn append_as_other(path: &Path) {
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    writeln!(file, "{OTHER}").unwrap();
}

/// Another program changes what the session begins with, and adds a line; returns what it was.
pub(super) fn spoil(path: &Path) -> Vec<u8> {
    let before = std::fs::read(path).unwrap();
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(b" ").unwrap();
    append_as_other(path);
    before
}

/// The session is what it was.
pub(super) fn restore(path: &Path, before: &[u8]) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.write_all(before).unwrap();
    file.set_len(before.len() as u64).unwrap();
}

fn is_text(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TextDelta { .. })
}

/// Returns what is told without the paths.
fn without_paths(life: &Life<'_>, told: &str) -> String {
    told.replace(&life.path().display().to_string(), "FILE")
}

#[test]
fn a_message_that_cannot_be_written_waits_and_goes_first_later() {
    run(async {
        let harness = Harness::new(&[answer("a"), answer("b"), answer("c")].concat());
        let mut life = harness.live();
        life.ask("one").await;
        let before = spoil(life.path());
        let told = life.ask("two").await;
        assert_snapshot!(without_paths(&life, &told), @"
        error: cannot write the session: FILE: changed while it was open (another program wrote to it); run the command again
        idle, 1 wait
        ");
        restore(life.path(), &before);
        assert_snapshot!(life.ask("three").await, @"
        user: two
        answer (stop): b
        turn done
        user: three
        answer (stop): c
        turn done
        ");
        assert_snapshot!(life.written(), @"
        system: 
        model script
        user: one
        assistant (stop): a
        user: two
        assistant (stop): b
        user: three
        assistant (stop): c
        ");
        assert_eq!(life.close().await.unsaved, None);
    });
}

#[test]
fn an_answer_that_cannot_be_written_is_written_with_the_next_prompt() {
    run(async {
        let harness = Harness::new(&[answer("a"), answer(&words(40)), answer("c")].concat());
        let mut life = harness.live();
        life.ask("one").await;
        life.say("two");
        life.until(is_text).await;
        let before = spoil(life.path());
        let told = life.rest().await;
        assert_snapshot!(without_paths(&life, &told), @"
        user: two
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        turn failed: cannot write the session: FILE: changed while it was open (another program wrote to it); run the command again
        ");
        restore(life.path(), &before);
        assert_snapshot!(life.ask("three").await, @"
        user: three
        answer (stop): c
        turn done
        ");
        assert_snapshot!(life.written(), @"
        system: 
        model script
        user: one
        assistant (stop): a
        user: two
        assistant (stop): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        user: three
        assistant (stop): c
        ");
        life.close().await;
    });
}

#[test]
fn the_event_of_an_answer_names_no_entry_that_was_not_written() {
    run(async {
        let harness = Harness::new(&[answer("a"), answer(&words(40))].concat());
        let mut life = harness.live();
        let named = |life: &Life<'_>| match life.heard.iter().rev().find_map(|event| match event {
            SessionEvent::Answer { entry_id, .. } => Some(entry_id.clone()),
            _ => None,
        }) {
            Some(entry_id) => entry_id,
            None => panic!("no answer was reported"),
        };
        life.ask("one").await;
        let id = named(&life).expect("an answer that is written has an id");
        let text = std::fs::read_to_string(life.path()).unwrap();
        assert!(text.contains(&format!(r#""id":"{id}""#)), "{id} in {text}");
        life.say("two");
        life.until(is_text).await;
        let before = spoil(life.path());
        life.rest().await;
        assert_eq!(named(&life), None);
        restore(life.path(), &before);
        assert_eq!(life.close().await.unsaved, None);
    });
}

#[test]
fn results_that_cannot_be_written_follow_their_calls_later() {
    run(async {
        let read = json!([{ "name": "read", "arguments": { "path": "a.txt" } }]);
        let mut harness = Harness::new(&[answer("a"), calls(read), answer("c")].concat());
        harness.slow_tools();
        let mut life = harness.live();
        life.ask("one").await;
        life.say("two");
        life.until(|event| matches!(event, SessionEvent::ToolStart { .. }))
            .await;
        let before = spoil(life.path());
        life.rest().await;
        restore(life.path(), &before);
        life.ask("three").await;
        assert_snapshot!(life.written(), @r#"
        system: 
        model script
        user: one
        assistant (stop): a
        user: two
        assistant (toolUse): read({"path":"a.txt"})
        toolResult: done
        user: three
        assistant (stop): c
        "#);
        life.close().await;
    });
}

#[test]
fn a_compaction_that_cannot_be_written_is_forgotten_and_loses_nothing() {
    run(async {
        let script = [answer(&words(40)), answer("c"), summaries()].concat();
        let harness = Harness::new(&script).compaction(json!({ "keepRecentTokens": 500 }));
        let mut life = harness.open_session("u:300 a:1200 u:300 a:1200");
        life.say("two");
        life.until(is_text).await;
        let before = spoil(life.path());
        life.rest().await;
        let told = life.command_and(compact()).await;
        assert_snapshot!(without_paths(&life, &told), @"
        compaction manual context-full
        compacted: Compaction failed: FILE: changed while it was open (another program wrote to it); run the command again
        ");
        restore(life.path(), &before);
        // Written with what was left, then the file is in the way once more.
        life.send(compact());
        life.until(|event| matches!(event, SessionEvent::CompactionProgress { .. }))
            .await;
        let before = spoil(life.path());
        let told = life.rest().await;
        assert_snapshot!(without_paths(&life, &told), @"
        compaction manual context-full
        compacted: Compaction failed: FILE: changed while it was open (another program wrote to it); run the command again
        ");
        restore(life.path(), &before);
        life.ask("three").await;
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        system: 
        user: two
        assistant (stop): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        user: three
        assistant (stop): c
        ");
        life.close().await;
    });
}

#[test]
fn what_is_said_before_a_prompt_is_not_said_twice_when_it_could_not_be_written() {
    run(async {
        let harness = Harness::new(&[answer("a"), answer("b"), answer("c")].concat());
        let mut life = harness.open_session("model u:10 a:10");
        let before = spoil(life.path());
        life.ask("one").await;
        life.ask("two").await;
        restore(life.path(), &before);
        life.ask("three").await;
        assert_snapshot!(life.written(), @"
        model script
        user: #2
        assistant (stop): #3
        system: 
        user: one
        assistant (stop): a
        user: two
        assistant (stop): b
        user: three
        assistant (stop): c
        ");
        life.close().await;
    });
}

#[test]
fn a_label_and_a_move_that_cannot_be_written_are_forgotten() {
    run(async {
        let harness = Harness::new(&answer("a"));
        let mut life = harness.open_session("u:10 a:10");
        let before = spoil(life.path());
        life.send(Command::Label {
            count: 1,
            text: Some("here".to_owned()),
        });
        let told = life.command_and(Command::Navigate(to(Some("e1")))).await;
        assert_snapshot!(without_paths(&life, &told), @"
        error: cannot write the session: FILE: changed while it was open (another program wrote to it); run the command again
        error: FILE: changed while it was open (another program wrote to it); run the command again
        ");
        restore(life.path(), &before);
        life.ask("one").await;
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        system: 
        user: one
        assistant (stop): a
        ");
        life.close().await;
    });
}

#[test]
fn a_session_that_ends_before_its_answer_is_written_says_so() {
    run(async {
        let harness = Harness::new(&[answer("a"), answer(&words(40))].concat());
        let mut life = harness.live();
        life.ask("one").await;
        life.say("two");
        life.until(is_text).await;
        let before = spoil(life.path());
        life.rest().await;
        life.send(Command::Close);
        life.until(|event| matches!(event, SessionEvent::SessionEnd { .. }))
            .await;
        restore(life.path(), &before);
        let finished = life.close().await;
        let unsaved = without_paths(&life, &finished.unsaved.unwrap());
        assert_snapshot!(unsaved, @"FILE: changed while it was open (another program wrote to it); run the command again");
    });
}

#[test]
fn a_message_without_a_place_is_refused_and_can_be_said_again() {
    run(async {
        let harness = Harness::new(&answer("a"));
        std::fs::remove_dir(harness.sessions()).unwrap();
        std::fs::write(harness.sessions(), "in the way").unwrap();
        let mut life = harness.live();
        life.say("one");
        life.until(|event| matches!(event, SessionEvent::Error { .. }))
            .await;
        let told = life.news();
        assert!(
            told.starts_with("error: the message is not kept: "),
            "{told}"
        );
        std::fs::remove_file(harness.sessions()).unwrap();
        life.said.clear();
        assert_snapshot!(life.ask("one").await, @"
        user: one
        answer (stop): a
        turn done
        ");
        life.close().await;
    });
}

#[test]
fn an_omission_that_cannot_be_written_leaves_the_answer_where_it_is() {
    run(async {
        let script = [
            line_of(&json!({ "answer": { "text": words(40), "stop": "length" } })),
            answer("b"),
            summaries(),
        ];
        let harness = Harness::new(&script.concat()).compaction(json!({ "keepRecentTokens": 500 }));
        let mut life = harness.open_session("u:300 a:1200 u:300 a:1200");
        life.say("two");
        life.until(|event| matches!(event, SessionEvent::AutoCompactionStart { .. }))
            .await;
        let before = spoil(life.path());
        let told = life.rest().await;
        assert_snapshot!(without_paths(&life, &told), @"
        user: two
        answer (length): lorem ipsum dolor sit amet lorem ipsum d
        auto-compaction incomplete context-full
        auto-compacted: Incomplete response recovery failed: FILE: changed while it was open (another program wrote to it); run the command again
        turn failed: Incomplete response recovery failed: FILE: changed while it was open (another program wrote to it); run the command again
        ");
        restore(life.path(), &before);
        life.ask("three").await;
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        system: 
        user: two
        assistant (length): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        user: three
        assistant (stop): b
        ");
        life.close().await;
    });
}

#[test]
fn a_session_goes_on_when_another_program_appends_in_the_middle_of_a_run() {
    run(async {
        let script = [answer("a"), answer(&words(40)), answer("c")].concat();
        let harness = Harness::new(&script);
        let mut life = harness.live();
        life.ask("one").await;
        life.say("two");
        life.until(is_text).await;
        append_as_other(life.path());
        assert_snapshot!(life.rest().await, @"
        user: two
        answer (stop): lorem ipsum dolor sit amet lorem ipsum d
        turn done
        ");
        assert_snapshot!(life.ask("three").await, @"
        user: three
        answer (stop): c
        turn done
        ");
        assert_snapshot!(life.written(), @"
        system: 
        model script
        user: one
        assistant (stop): a
        user: two
        assistant (stop): lorem ipsum dolor sit amet lorem ipsum dolor sit amet lorem 
        user: three
        assistant (stop): c
        ");
        let lines = std::fs::read_to_string(life.path()).unwrap();
        assert_eq!(lines.lines().filter(|line| *line == OTHER).count(), 1);
        assert_eq!(life.close().await.unsaved, None);
    });
}

#[test]
fn a_run_can_move_to_another_thread() {
    fn assert_send<T: Send>(_: T) {}
    let harness = Harness::new("");
    let (events, _) = queue(EVENT_BYTES);
    let (_commands, receiver) = command_channel();
    let new = NewSession {
        cwd: harness.work().to_string_lossy().into_owned(),
        parent: None,
    };
    let store = harness.catalog().create_file(new).unwrap();
    let session = AgentSession::new(harness.config(Box::new(store)), events, receiver);
    assert_send(session.run());
}

#[test]
fn damage_is_reported_once_before_the_first_request() {
    run(async {
        let harness = Harness::new(&[answer("a"), answer("b")].concat());
        let text = test_support::session("u:10 a:10 u:10 a:10");
        let torn = |(number, line): (usize, &str)| match number {
            2 => format!("{}\n", &line[..line.len() / 2]),
            _ => format!("{line}\n"),
        };
        let path = harness.file(&text.lines().enumerate().map(torn).collect::<String>());
        let mut life = harness.open(&path);
        let told = life.ask("one").await;
        assert!(
            told.contains("1 damaged line that cannot be read (line 3); run agent-cli doctor"),
            "{told}"
        );
        let told = life.ask("two").await;
        assert!(!told.contains("damaged"), "{told}");
        // The damage stays, so what is left is not checked.
        drop(life);
    });
}
