//! A session as a program embeds it: only what the crate makes public.

use std::path::Path;
use std::time::Duration;

use agent_session::agent_tools::Workspace;
use agent_session::agent_tools::approval::Decision;
use agent_session::compaction_core::TokenCount;
use agent_session::llm_script::{Script, ScriptPlay};
use agent_session::session_store::{
    Delivery, FileCatalog, NewSession, Prompt, PromptImage, SessionCatalog,
};
use agent_session::{
    AgentSession, Ask, Command, EventReceiver, Finished, Limits, LiveModels, Reply, SessionBuilder,
    SessionEvent, TurnEnd,
};
use serde_json::json;

fn play(lines: &[serde_json::Value]) -> ScriptPlay {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    Script::parse(&lines.join("\n")).unwrap().play(0, 0)
}

fn builder(folder: &Path, play: &ScriptPlay) -> SessionBuilder {
    let models = LiveModels::of_script(play, TokenCount(128_000));
    AgentSession::builder(Workspace::open(folder).unwrap(), models)
}

/// Returns the next event that `find` finds something in.
async fn next<T>(events: &mut EventReceiver, find: impl Fn(&SessionEvent) -> Option<T>) -> T {
    loop {
        let event = events.recv().await.expect("the session runs");
        if let Some(found) = find(&event) {
            return found;
        }
    }
}

fn idle(event: &SessionEvent) -> Option<()> {
    matches!(event, SessionEvent::Idle { .. }).then_some(())
}

#[tokio::test]
async fn a_program_prompts_approves_and_compacts() {
    let folder = tempfile::tempdir().unwrap();
    let play = play(&[
        json!({ "answer": { "calls": [{ "name": "bash", "arguments": { "command": "echo from-bash" } }] } }),
        json!({ "answer": { "text": "The command printed from-bash.".repeat(4000) } }),
        json!({ "answer": { "text": "Here is more of it.".repeat(6000) } }),
    ]);
    let (session, handle, mut events) = builder(folder.path(), &play).build();
    let program = async {
        handle.prompt("run echo").await.unwrap();
        let call_id = next(&mut events, |event| match event {
            SessionEvent::ApprovalRequest {
                call_id, subject, ..
            } => {
                assert_eq!(subject, "echo from-bash");
                Some(call_id.clone())
            }
            _ => None,
        });
        let call_id = call_id.await;
        let decision = Decision::Once;
        let approve = Command::Approve { call_id, decision };
        handle.ask(Ask::Do(approve)).await.unwrap();
        let output = next(&mut events, |event| match event {
            SessionEvent::ToolEnd {
                output, is_error, ..
            } => Some((output.clone(), *is_error)),
            _ => None,
        });
        assert_eq!(output.await, ("from-bash\n".to_owned(), false));
        next(&mut events, idle).await;
        handle.prompt("go on").await.unwrap();
        next(&mut events, idle).await;
        let compact = Command::Compact(Default::default());
        let Reply::Compacted(compacted) = handle.ask(Ask::Do(compact)).await.unwrap() else {
            panic!("a compaction was asked for");
        };
        let reported = next(&mut events, |event| match event {
            SessionEvent::CompactionEnd { result, .. } => Some(result.clone()),
            _ => None,
        });
        assert_eq!(reported.await.as_ref(), Some(&compacted.result));
        let summary = compacted.result.summary.unwrap();
        assert!(summary.contains("run echo"), "{summary}");
        handle.close();
        let ended = next(&mut events, |event| {
            matches!(event, SessionEvent::SessionEnd { .. }).then_some(())
        });
        ended.await;
        assert_eq!(events.recv().await, None);
        assert!(handle.ask(Ask::State).await.is_err());
    };
    let (finished, ()) = tokio::join!(session.run(), program);
    assert_eq!((finished.unsaved, finished.locator), (None, None));
}

#[tokio::test]
async fn a_turn_returns_its_answer_and_denies_what_needs_approval() {
    let folder = tempfile::tempdir().unwrap();
    let play = play(&[
        json!({ "answer": { "calls": [{ "name": "bash", "arguments": { "command": "touch made" } }] } }),
        json!({ "answer": { "text": "I may not." } }),
        json!({ "error": { "kind": "auth" } }),
    ]);
    let mut session = builder(folder.path(), &play).start();
    let outcome = session.turn("make a file").await.unwrap();
    assert_eq!(
        (&*outcome.answer, outcome.end),
        ("I may not.", TurnEnd::Done)
    );
    assert_eq!(outcome.denied, ["bash: touch made"]);
    assert!(!folder.path().join("made").exists());
    let outcome = session.turn("again").await.unwrap();
    assert!(matches!(outcome.end, TurnEnd::Failed(_)), "{outcome:?}");
    assert_eq!(session.close().await.unsaved, None);
}

#[tokio::test]
async fn commands_are_denied_where_nobody_reads_events() {
    let folder = tempfile::tempdir().unwrap();
    let play = play(&[
        json!({ "answer": { "calls": [{ "name": "bash", "arguments": { "command": "touch made" } }] } }),
        json!({ "answer": { "text": "done" } }),
    ]);
    let (session, handle, events) = builder(folder.path(), &play).build();
    drop(events);
    handle.prompt("touch").await.unwrap();
    let program = async {
        while play.answers_left() > 0 {
            tokio::task::yield_now().await;
        }
        handle.close();
    };
    tokio::join!(session.run(), program);
    assert!(!folder.path().join("made").exists());
}

/// A model that calls a tool for ever, each time with a long answer.
fn endless() -> ScriptPlay {
    let call = json!({ "answer": { "text": "word ".repeat(200), "calls": [{ "name": "ls", "arguments": {} }] } });
    play(&vec![call; 3000])
}

#[tokio::test(start_paused = true)]
async fn a_session_waits_for_a_reader_who_is_behind() {
    const MOST: usize = 100_000;
    let folder = tempfile::tempdir().unwrap();
    let play = endless();
    let builder = builder(folder.path(), &play).event_bytes(MOST);
    let (session, handle, mut events) = builder.build();
    let program = async {
        handle.prompt("work").await.unwrap();
        // Nobody reads for a long time.
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let waiting = events.waiting_bytes();
        assert!(waiting > MOST && waiting < 2 * MOST, "{waiting}");
        let left = play.answers_left();
        assert!(left > 2500, "{left}");
        // Commands are heard all the same, and nothing was dropped.
        handle.ask(Ask::State).await.unwrap();
        handle.close();
        let mut asked = 0;
        while let Some(event) = events.recv().await {
            asked += usize::from(matches!(event, SessionEvent::Answer { .. }));
        }
        assert!((3000 - left).abs_diff(asked) <= 1, "{left} {asked}");
    };
    let (finished, ()): (Finished, ()) = tokio::join!(session.run(), program);
    assert_eq!(finished.unsaved, None);
}

#[tokio::test]
async fn a_limit_ends_the_turn_of_a_model_that_calls_tools_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let play = endless();
    let mut limits = Limits::default();
    limits.turns = Some(3);
    let (session, handle, mut events) = builder(folder.path(), &play).limits(limits).build();
    let program = async {
        handle.prompt("work").await.unwrap();
        let end = next(&mut events, |event| match event {
            SessionEvent::TurnEnd { end, error } => Some((end.to_string(), error.clone().unwrap())),
            _ => None,
        });
        let (end, error) = end.await;
        assert_eq!(end, "limit");
        assert!(error.contains("limits.turns"), "{error}");
        next(&mut events, idle).await;
        assert_eq!(play.answers_left(), 2997);
        handle.close();
    };
    tokio::join!(session.run(), program);
}

#[tokio::test]
async fn a_prompt_with_an_image_waits_and_is_stored_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let play = play(&[json!({ "answer": { "text": "a dot" } })]);
    let sessions = folder.path().join("sessions");
    let catalog = FileCatalog::new(&sessions);
    let new = NewSession {
        cwd: folder.path().to_string_lossy().into_owned(),
        parent: None,
    };
    let mut store = catalog.create(new).await.unwrap();
    let prompt = Prompt {
        text: "what is this?".to_owned(),
        images: vec![PromptImage {
            data: "iVBORw0KGgo=".to_owned(),
            mime_type: "image/png".to_owned(),
        }],
    };
    store
        .queue(prompt.clone(), Delivery::FollowUp)
        .await
        .unwrap();
    let at = store.locator().unwrap().clone();
    store.close().await.unwrap();
    // It waits in a file, and is the same when that is read again.
    let store = catalog.open(&at, &mut ()).await.unwrap();
    assert_eq!(store.queued()[0].images, prompt.images);
    let (session, handle, mut events) = builder(folder.path(), &play)
        .store(store, std::sync::Arc::new(catalog))
        .build();
    let program = async {
        handle.send(Command::Resume).await.unwrap();
        next(&mut events, idle).await;
        handle.close();
    };
    tokio::join!(session.run(), program);
    let text = std::fs::read_to_string(at.as_path()).unwrap();
    assert!(
        text.contains("iVBORw0KGgo=") && text.contains("what is this?"),
        "{text}"
    );
}
