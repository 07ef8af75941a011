//! Compactions of which somebody decides more: entries that are pinned or left out, a summary that is edited.

use insta::assert_snapshot;

use super::*;
use crate::runtime::{NoPreview, Preview};
use compaction_core::undoable::Whose;
use session_protocol::{CompactionChoices, CompactionRequest};

const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:600";

fn harness() -> Harness {
    let script = summary("## Goal\nby the model").repeat(3);
    let settings = json!({ "keepRecentTokens": 500 });
    Harness::new(&script).compaction(settings)
}

fn request(pin: &[&str], drop: &[&str], review: bool) -> CompactionRequest {
    let ids = |ids: &[&str]| ids.iter().copied().map(EntryId::new).collect();
    CompactionRequest {
        choices: CompactionChoices {
            pin: ids(pin),
            drop: ids(drop),
        },
        review,
        ..CompactionRequest::default()
    }
}

fn review(summary: Option<&str>) -> Command {
    let summary = summary.map(str::to_owned);
    Command::Review { summary }
}

async fn until_review(life: &mut Life<'_>) -> String {
    life.until(|event| matches!(event, SessionEvent::CompactionReview { .. }))
        .await;
    life.news()
}

async fn preview(life: &mut Life<'_>, request: &CompactionRequest) -> Result<Preview, NoPreview> {
    match super::pins::call(life, session_protocol::Ask::Snapshot).await {
        Ok(session_protocol::Reply::Snapshot(snapshot)) => {
            crate::runtime::Preview::of(&snapshot, request).await
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_summary_that_is_read_first_is_written_as_it_was_edited() {
    run(async {
        let harness = harness();
        let mut life = harness.open_session(LONG);
        life.send(Command::Compact(request(&[], &[], true)));
        let before = harness.files();
        assert_snapshot!(until_review(&mut life).await, @"
        compaction manual context-full
        review: ## Goal
        by the model
        ");
        assert_eq!(harness.files(), before, "nothing is written before");
        life.send(review(Some(&words(9_000))));
        assert_snapshot!(until_review(&mut life).await, @"review again: the context would not get smaller: 3034 tokens before, 8125 after");
        assert_eq!(harness.files(), before);
        let told = life.command_and(review(Some("## Goal\nby the user"))).await;
        assert_snapshot!(told, @"compacted context-full by scripted/script");
        let summary = life.result().summary.clone().unwrap();
        assert!(summary.starts_with("## Goal\nby the user"), "{summary}");
        life.send(review(None));
        life.until(|event| matches!(event, SessionEvent::Error { .. }))
            .await;
        assert_snapshot!(life.news(), @"error: no summary waits to be read");
        life.close().await;
    });
}

#[test]
fn a_summary_that_is_read_first_can_stay_or_be_cancelled() {
    run(async {
        let harness = harness();
        let mut life = harness.open_session(LONG);
        let before = harness.files();
        life.send(Command::Compact(request(&["e2"], &[], true)));
        until_review(&mut life).await;
        assert_snapshot!(life.command_and(Command::AbortCompaction).await, @"compacted aborted: Compaction cancelled");
        assert_eq!(harness.files(), before);
        life.send(Command::Compact(request(&[], &[], true)));
        until_review(&mut life).await;
        assert_snapshot!(life.command_and(review(None)).await, @"compacted context-full by scripted/script");
        life.close().await;
    });
}

#[test]
fn what_is_pinned_stays_and_what_is_left_out_goes_until_an_undo() {
    run(async {
        let harness = harness();
        let mut life = harness.open_session(LONG);
        let plain = preview(&mut life, &request(&[], &[], false)).await.unwrap();
        let wanted = request(&["e1"], &["e2"], false);
        let chosen = preview(&mut life, &wanted).await.unwrap();
        assert_eq!(plain.tokens_before, chosen.tokens_before);
        assert!(chosen.plan.entries.iter().any(|entry| entry.pinned));
        let has = |preview: &Preview, id: &str| {
            let entries = &preview.plan.entries;
            entries
                .iter()
                .any(|entry| *entry.entry_id == *id && entry.tokens.0 > 0)
        };
        assert!(has(&plain, "e2") && !has(&chosen, "e2"));
        life.send(Command::Compact(wanted));
        assert_snapshot!(life.rest().await, @"
        compaction manual context-full
        compacted context-full by scripted/script
        ");
        let result = life.result().clone();
        assert_eq!(result.tokens_before, plain.tokens_before.0);
        let summary = result.summary.unwrap();
        assert!(
            summary.contains("#1 lorem") && !summary.contains("#2 lorem"),
            "{summary}"
        );
        let requests = chosen.plan.requests().iter();
        let asked: String = requests.map(|request| request.prompt(None)).collect();
        assert!(
            asked.contains("#3 lorem") && !asked.contains("#2 lorem"),
            "{asked}"
        );
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        label
        omission
        compaction
        ");
        life.send(Command::Undo(Whose::Ours));
        life.until(|event| matches!(event, SessionEvent::Navigated { .. }))
            .await;
        assert!(life.written().contains("#2"));
        assert!(!life.written().contains("omission"), "{}", life.written());
        life.close().await;
    });
}

#[test]
fn what_cannot_be_left_out_or_pinned_fails_before_anything_is_asked() {
    run(async {
        let harness = harness();
        let mut life = harness.open_session("u:300 a:900 call:1:5 res:1:900 a:20 u:300 a:600");
        let before = harness.files();
        let mut told = Vec::new();
        for wanted in [
            request(&[], &["e3"], false),
            request(&[], &["nowhere"], false),
            request(&["nowhere"], &[], false),
        ] {
            life.send(Command::Compact(wanted));
            told.push(life.rest().await);
        }
        assert_snapshot!(told.join("\n"), @"
        compaction manual context-full
        compacted: Compaction failed: entry e3 cannot be left out: it is not a message, or calls tools
        compaction manual context-full
        compacted: Compaction failed: no entry nowhere in this session
        compaction manual context-full
        compacted: Compaction failed: no entry nowhere in this session
        ");
        assert_eq!(harness.files(), before);
        assert!(harness.asked.lock().unwrap().is_empty());
        life.close().await;
    });
}

#[test]
fn names_thinking_and_settings_change_while_the_session_runs() {
    run(async {
        let harness = harness();
        let mut life = harness.open_session("u:300 a:900");
        let set = |name: &str, value: &str| Command::Set {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        life.send(Command::SetName("the parser".to_owned()));
        life.send(set("compaction.thresholdTokens", "700"));
        life.send(set("compaction.nothing", "1"));
        life.until(|event| matches!(event, SessionEvent::Error { .. }))
            .await;
        assert_snapshot!(life.news(), @"error: there is no setting compaction.nothing; /settings lists them");
        let threshold = life.heard.iter().rev().find_map(|event| match event {
            SessionEvent::Context { threshold, .. } => *threshold,
            _ => None,
        });
        assert_eq!(threshold, Some(700));
        let session = SessionFile::open(life.path()).unwrap();
        assert_eq!(session.tree().name().as_deref(), Some("the parser"));
        life.close().await;
    });
}
