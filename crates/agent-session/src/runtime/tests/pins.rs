//! Pins of a running session.

use compaction_core::{PIN_ENTRY, PinTarget};
use insta::assert_snapshot;

use super::*;
use compaction_core::undoable::Whose;
use session_protocol::{Ask, Call, CompactionRequest, PinsReport, Reply};

fn text(text: &str) -> Command {
    Command::Pin(PinTarget::Text(text.to_owned()))
}

fn entry(id: &str) -> Command {
    Command::Pin(PinTarget::Entry(EntryId::new(id)))
}

fn unpin(id: &str) -> Command {
    Command::Unpin {
        id: EntryId::new(id),
    }
}

/// Asks, and waits for the answer.
pub(super) async fn call(life: &mut Life<'_>, ask: Ask) -> Result<Reply, String> {
    let (command, mut answer) = Call::of(ask);
    life.send(command);
    let answered = poll_fn(|context| {
        life.step(context);
        match answer.try_recv() {
            Ok(answer) => Poll::Ready(answer),
            Err(_) => Poll::Pending,
        }
    });
    answered.await.map_err(|refused| refused.message)
}

async fn pins(life: &mut Life<'_>) -> PinsReport {
    match call(life, Ask::Pins).await {
        Ok(Reply::Pins(pins)) => pins,
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_and_entries_are_pinned_listed_and_unpinned_while_the_session_lives() {
    run(async {
        let harness = Harness::new(&answer("fine"));
        let mut life = harness.open_session("u:10 a:20");
        for command in [text("never push to main"), entry("e2"), unpin("e2")] {
            call(&mut life, Ask::Do(command)).await.unwrap();
        }
        assert_snapshot!(life.news(), @"
        pinned (18; 18 of 1280): never push to main
        pinned (31; 49 of 1280): #2 lorem ipsum dolor sit amet lorem ipsu
        unpinned, 18 left
        ");
        let listed = pins(&mut life).await;
        assert_eq!(listed.pins.len(), 1);
        assert_eq!(listed.pins[0].text, "never push to main");
        assert_eq!(listed.used_tokens, listed.pins[0].tokens);
        let id = listed.pins[0].entry_id.clone();
        // It says nothing to the model, and goes on being kept.
        life.ask("go on").await;
        assert_eq!(pins(&mut life).await.pins.len(), 1);
        call(&mut life, Ask::Do(unpin(&id))).await.unwrap();
        assert_eq!(pins(&mut life).await.pins, []);
        let newest = harness.newest_request().join("\n");
        assert!(!newest.contains("never push"), "{newest}");
        life.close().await;
    });
}

#[test]
fn a_pin_of_a_session_without_an_answer_is_there_when_it_is_opened_again() {
    run(async {
        let harness = Harness::new(&answer("fine"));
        let mut life = harness.live();
        call(&mut life, Ask::Do(text("never push to main")))
            .await
            .unwrap();
        let path = life.path.clone().unwrap();
        life.close().await;
        let mut again = harness.open(&path);
        let listed = pins(&mut again).await;
        assert_eq!(listed.pins.len(), 1);
        assert_eq!(listed.pins[0].text, "never push to main");
        again.ask("go on").await;
        assert_eq!(pins(&mut again).await.pins.len(), 1);
        again.close().await;
    });
}

#[test]
fn what_cannot_be_pinned_is_refused_and_changes_nothing() {
    run(async {
        let harness = Harness::new("").compaction(json!({ "pins": { "maxTokens": 10 } }));
        let mut life = harness.open_session("u:10 a:2000");
        let before = harness.files();
        for command in [entry("nope"), entry("e2"), text(" "), unpin("e1")] {
            life.send(command);
        }
        life.until(|event| matches!(event, SessionEvent::Error { message } if message.contains("not pinned"))).await;
        assert_snapshot!(life.news(), @"
        error: no entry nope in this session; agent-cli tree lists the ids
        error: the pin takes 1551 tokens with its id, and 0 of the 10 for pins are left; pin a shorter text, or raise compaction.pins.maxTokens (at most a quarter of the threshold)
        error: the text to pin is empty; say what to keep
        error: entry e1 is not pinned; list the pins to see what is
        ");
        assert_eq!(harness.files(), before);
        life.close().await;
    });
}

#[test]
fn a_key_in_a_pin_is_taken_out_before_it_is_written() {
    run(async {
        let mut harness = Harness::new("");
        let mut redactor = Redactor::default();
        redactor.add("sk-0123456789abcdef0123");
        harness.redactor = Arc::new(redactor);
        let mut life = harness.open_session("u:10 a:10");
        call(
            &mut life,
            Ask::Do(text("the key is sk-0123456789abcdef0123")),
        )
        .await
        .unwrap();
        let told = life.news();
        assert!(
            told.contains("pinned") && !told.contains("0123456789"),
            "{told}"
        );
        let files = harness.files();
        let text = String::from_utf8_lossy(&files["session.jsonl"]).into_owned();
        assert!(
            text.contains(PIN_ENTRY) && !text.contains("0123456789"),
            "{text}"
        );
        life.close().await;
    });
}

#[test]
fn a_pin_outlives_the_undo_of_the_compaction_before_it() {
    run(async {
        let harness = Harness::new("")
            .compaction(json!({ "strategy": "extractive", "keepRecentTokens": 100 }));
        let mut life = harness.open_session("u:300 a:1200 u:300 a:1200 u:300 a:600");
        life.command_and(compact()).await;
        call(&mut life, Ask::Do(text("never push to main")))
            .await
            .unwrap();
        call(&mut life, Ask::Do(entry("e1"))).await.unwrap();
        life.send(Command::Undo(Whose::Ours));
        life.until(|event| matches!(event, SessionEvent::Navigated { .. }))
            .await;
        let ids: Vec<_> = pins(&mut life)
            .await
            .pins
            .into_iter()
            .map(|pin| pin.text.chars().take(18).collect::<String>())
            .collect();
        assert_eq!(ids, ["#1 lorem ipsum dol", "never push to main"]);
        life.close().await;
    });
}

#[test]
fn a_copy_and_the_session_of_a_handoff_have_the_pins() {
    run(async {
        let harness = Harness::new(&[summary("# Handoff\nall of it"), answer("on")].concat());
        let mut life = harness.open_session("u:300 a:600 u:300 a:600");
        for command in [text("never push to main"), entry("e2")] {
            call(&mut life, Ask::Do(command)).await.unwrap();
        }
        let before = pins(&mut life).await;
        // The pins were set behind the place where the copy ends.
        let fork = Command::Fork {
            entry: Some(EntryId::new("e4")),
        };
        call(&mut life, Ask::Do(fork)).await.unwrap();
        let texts = |pins: &PinsReport| {
            let mut texts: Vec<_> = pins.pins.iter().map(|pin| pin.text.clone()).collect();
            texts.sort();
            texts
        };
        assert_eq!(texts(&pins(&mut life).await), texts(&before));
        life.command_and(Command::Handoff { focus: None }).await;
        assert_eq!(texts(&pins(&mut life).await), texts(&before));
        life.close().await;
    });
}

/// Pins a text and an entry that leaves the context.
async fn pin_two(life: &mut Life<'_>) {
    for command in [text("never push to main"), entry("e1")] {
        call(life, Ask::Do(command)).await.unwrap();
    }
}

#[track_caller]
fn has_both(summary: &str) {
    let pins = ["> never push to main", "> #1 lorem"];
    assert!(pins.iter().all(|pin| summary.contains(pin)), "{summary}");
}

#[test]
fn what_is_pinned_while_a_summary_is_written_is_in_it() {
    run(async {
        let script = [summary("## Goal\nall of it"), answer("on")].concat();
        let harness = Harness::new(&script).compaction(json!({ "keepRecentTokens": 500 }));
        let mut life = harness.open_session("u:300 a:1200 u:300 a:1200 u:300 a:600");
        life.send(Command::Compact(CompactionRequest {
            review: true,
            ..CompactionRequest::default()
        }));
        life.until(|event| matches!(event, SessionEvent::CompactionReview { .. }))
            .await;
        pin_two(&mut life).await;
        life.command_and(Command::Review { summary: None }).await;
        has_both(life.result().summary.as_deref().unwrap());
        life.ask("go on").await;
        let asked = harness.asked.lock().unwrap().last().cloned().unwrap();
        has_both(&asked.messages[0].content().joined_text(""));
        life.close().await;
    });
}

#[test]
fn what_is_pinned_while_a_handoff_is_written_is_in_its_document() {
    run(async {
        let harness = Harness::new("");
        let mut life = harness.open_session("u:300 a:600 u:300 a:600");
        life.send(Command::Handoff { focus: None });
        pin_two(&mut life).await;
        life.until(|event| matches!(event, SessionEvent::SessionSwitch { .. }))
            .await;
        life.rest().await;
        has_both(life.result().summary.as_deref().unwrap());
        life.close().await;
    });
}

#[test]
fn an_output_that_is_pinned_while_a_compaction_shortens_it_stays_whole() {
    run(async {
        let mut harness = Harness::new("").compaction(json!({ "strategy": "prune-only" }));
        let prune = &mut harness.settings.compaction.prune;
        (prune.protect_tokens, prune.minimum_savings) = (TokenCount(100), TokenCount(10));
        let mut life = harness.open_session(
            "u:10 call:c1:10 res:c1:900 a:10 u:10 call:c2:10 res:c2:900 a:10 u:10 call:c3:10 res:c3:900 a:10",
        );
        life.send(compact());
        call(&mut life, Ask::Do(entry("e3"))).await.unwrap();
        life.rest().await;
        let session = SessionFile::open(life.path()).unwrap();
        let edited = session.tree().indices().filter_map(|index| {
            match session.tree().entry(index).unwrap().body {
                EntryBody::ContextEdit { target, .. } => Some(target.to_string()),
                _ => None,
            }
        });
        assert_eq!(edited.collect::<Vec<_>>(), ["e7", "e11"]);
        assert_eq!(life.result().shortened_entries, 2);
        life.close().await;
    });
}
