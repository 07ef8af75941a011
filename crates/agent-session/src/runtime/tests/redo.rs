//! What was undone comes again, and another compaction takes the place of the newest.

use compaction_core::Strategy;
use insta::assert_snapshot;

use super::*;
use compaction_core::undoable::{Later, Whose};
use session_protocol::RefusalKind;
use session_protocol::{Ask, Call};

const LONG: &str = "u:300 a:1200 u:300 a:1200 u:300 a:600";

fn harness() -> Harness {
    let script = [
        summary("## Goal\nby the model").repeat(3),
        answer("on"),
        answer("and on"),
    ];
    let settings = json!({ "keepRecentTokens": 500 });
    Harness::new(&[&script[..], &[]].concat().concat()).compaction(settings)
}

fn instead(strategy: Strategy, later: Later) -> Command {
    Command::CompactInstead {
        strategy,
        focus: None,
        later,
    }
}

/// Undoes or redoes, which is done at once; returns what was told.
async fn turn(life: &mut Life<'_>, command: Command) -> String {
    life.send(command);
    life.until(|event| {
        matches!(
            event,
            SessionEvent::Context { .. } | SessionEvent::Error { .. }
        )
    })
    .await;
    life.news()
}

/// Returns the entry at which the session stands.
fn leaf(life: &Life<'_>) -> String {
    let session = SessionFile::open(life.path.as_ref().unwrap()).unwrap();
    let tree = session.tree();
    tree.path(tree.leaf()).leaf_id().unwrap().to_owned()
}

/// Returns what the model would see.
fn context(life: &Life<'_>) -> Vec<String> {
    let session = SessionFile::open(life.path.as_ref().unwrap()).unwrap();
    let tree = session.tree();
    let context = build_context(&tree.path(tree.leaf()), Profile::Own.context_rules());
    context
        .messages()
        .map(|(_, message)| message.display_text())
        .collect()
}

#[test]
fn a_compaction_is_undone_and_redone_and_undone() {
    run(async {
        let harness = harness();
        let mut life = harness.open_session(LONG);
        let before = context(&life);
        life.command_and(compact()).await;
        let after = context(&life);
        assert_ne!(before, after);
        for _ in 0..2 {
            assert_eq!(
                turn(&mut life, Command::Undo(Whose::Ours)).await,
                "navigated"
            );
            assert_eq!(context(&life), before);
            assert_eq!(turn(&mut life, Command::Redo).await, "navigated");
            assert_eq!(context(&life), after);
        }
        assert_snapshot!(turn(&mut life, Command::Redo).await, @"error: nothing was undone on the path");
        let leaf = leaf(&life);
        turn(&mut life, Command::Undo(Whose::Ours)).await;
        life.ask("go on").await;
        let told = turn(&mut life, Command::Redo).await;
        assert_snapshot!(told.replace(&leaf, "ID"), @"error: the session has gone on since the newest undo; what was undone ends in entry ID; go to that entry to continue from it");
        life.close().await;
    });
}

#[test]
fn another_strategy_takes_the_place_of_the_newest_compaction_in_one_write() {
    run(async {
        let harness = harness();
        let mut life = harness.open_session(LONG);
        let before = context(&life);
        life.command_and(compact()).await;
        assert_snapshot!(life.result().strategy, @"context-full");
        let lines = std::fs::read_to_string(life.path.as_ref().unwrap())
            .unwrap()
            .lines()
            .count();
        let told = life
            .command_and(instead(Strategy::Extractive, Later::Stays))
            .await;
        assert_snapshot!(told, @"
        compaction manual extractive
        navigated
        compacted extractive by extractive
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        custom agent-cli/leaf
        compaction
        ");
        let text = std::fs::read_to_string(life.path.as_ref().unwrap()).unwrap();
        assert_eq!(text.lines().count(), lines + 2);
        // It is a compaction as any other.
        turn(&mut life, Command::Undo(Whose::Ours)).await;
        assert_eq!(context(&life), before);
        // In place of the one that was undone, where the session stands.
        let told = life
            .command_and(instead(Strategy::ContextFull, Later::Stays))
            .await;
        assert_snapshot!(told, @"
        compaction manual context-full
        compacted context-full by scripted/script
        ");
        assert_snapshot!(life.written(), @"
        user: #1
        assistant (stop): #2
        user: #3
        assistant (stop): #4
        user: #5
        assistant (stop): #6
        custom agent-cli/leaf
        compaction
        ");
        life.close().await;
    });
}

#[test]
fn what_came_after_a_compaction_is_left_only_when_that_is_said() {
    run(async {
        let harness = harness();
        let mut life = harness.open_session(LONG);
        life.command_and(compact()).await;
        life.ask("go on").await;
        let files = harness.files();
        for strategy in [Strategy::Extractive, Strategy::Off, Strategy::Handoff] {
            life.send(instead(strategy, Later::Stays));
        }
        life.until(
            |event| matches!(event, SessionEvent::Error { message } if message.contains("handoff")),
        )
        .await;
        let told = life.news();
        let id = life.result().entry_id.clone().unwrap();
        assert_snapshot!(told.replace(&id, "ID"), @"
        error: 2 entries came after ID and would be left behind, as by undo; set leave_later to true to do it anyway
        error: off is not a strategy to compact with; name another
        error: a handoff takes the place of nothing; undo, then hand off
        ");
        assert_eq!(harness.files(), files);
        let told = life
            .command_and(instead(Strategy::Extractive, Later::IsLeft))
            .await;
        assert_snapshot!(told, @"
        compaction manual extractive
        navigated
        compacted extractive by extractive
        ");
        assert!(!context(&life).iter().any(|text| text == "go on"));
        life.close().await;
    });
}

#[test]
fn a_compaction_in_the_place_of_another_that_is_cancelled_changes_nothing() {
    run(async {
        let mut harness = harness();
        super::waiting::delay(&mut harness, 60);
        let mut life = harness.open_session(LONG);
        life.command_and(compact()).await;
        let files = harness.files();
        life.send(instead(Strategy::ContextFull, Later::Stays));
        life.until(|event| matches!(event, SessionEvent::CompactionStart { .. }))
            .await;
        life.send(Command::AbortCompaction);
        assert_snapshot!(life.rest().await, @"
        compaction manual context-full
        compacted aborted: Compaction cancelled
        ");
        assert_eq!(harness.files(), files);
        // What comes next is a compaction of the session as it stands.
        let told = life
            .command_and(super::compact_by(Strategy::Extractive))
            .await;
        assert_snapshot!(told, @"
        compaction manual extractive
        compacted: Already compacted
        ");
        life.close().await;
    });
}

#[test]
fn a_caller_hears_that_there_is_nothing_to_take_the_place_of() {
    run(async {
        let harness = harness();
        let mut life = harness.open_session("u:10 a:10");
        let wanted = instead(Strategy::Extractive, Later::Stays);
        let (command, mut answer) = Call::of(Ask::Do(wanted));
        life.send(command);
        let answered = poll_fn(|context| {
            life.step(context);
            match answer.try_recv() {
                Ok(answer) => Poll::Ready(answer),
                Err(_) => Poll::Pending,
            }
        });
        let refused = answered.await.unwrap_err();
        assert_eq!(refused.kind, RefusalKind::NothingToDo);
        life.close().await;
    });
}
