//! A new session goes on from a document.

use insta::assert_snapshot;
use serde_json::json;

use super::*;
use session_store::{AppendFile, Locator, MemoryStore};

const TWO_TURNS: &str = "u:300 a:1200 u:300 a:1200";

fn handoff() -> Command {
    Command::Handoff {
        focus: Some("the end".to_owned()),
    }
}

/// Returns the session of the folder that is not `old`.
fn successor(harness: &Harness, old: &Path) -> PathBuf {
    let files = harness.files();
    let old = old.file_name().unwrap().to_string_lossy().into_owned();
    let mut new = files
        .keys()
        .filter(|name| **name != old && !name.contains("pending"));
    let found = harness.sessions().join(new.next().unwrap());
    assert_eq!(new.next(), None);
    found
}

#[test]
fn a_handoff_writes_its_document_into_a_new_session_at_once() {
    run(async {
        let harness = Harness::new(&[summary("the document"), answer("on from there")].concat());
        let mut life = harness.open_session(TWO_TURNS);
        let before = harness.files();
        assert_snapshot!(life.command_and(handoff()).await, @"
        compaction manual handoff
        another session
        compacted handoff by scripted/script
        ");
        let old = life.path().to_owned();
        let path = successor(&harness, &old);
        assert_snapshot!(written(&path), @"custom message handoff");
        let session = SessionFile::open(&path).unwrap();
        let header = session.tree().header().unwrap();
        assert_eq!(
            header.parent_session.as_deref().map(Path::new),
            Some(old.as_path())
        );
        assert_eq!(harness.files()["session.jsonl"], before["session.jsonl"]);
        life.ask("go on").await;
        assert_snapshot!(harness.newest_request().join("\n"), @"
        user: the document

        <ledger>
        Kept by code from the ses
        user: go on
        ");
        assert_snapshot!(written(&path), @"
        custom message handoff
        system: 
        model script
        user: go on
        assistant (stop): on from there
        ");
        let finished = life.close().await;
        assert_eq!(finished.locator, Some(Locator::of_path(&path)));
        assert_eq!(harness.files()["session.jsonl"], before["session.jsonl"]);
    });
}

#[test]
fn what_waits_moves_to_the_new_session() {
    run(async {
        let harness = Harness::new(&[summary(&words(100)), answer("a"), answer("b")].concat());
        let mut life = harness.open_session(TWO_TURNS);
        life.send(handoff());
        life.until(|event| matches!(event, SessionEvent::CompactionStart { .. }))
            .await;
        life.say("one");
        life.deliver("two", Delivery::FollowUp);
        assert_snapshot!(life.rest().await, @"
        compaction manual handoff
        another session
        compacted handoff by scripted/script
        user: one
        answer (stop): a
        turn done
        user: two
        answer (stop): b
        turn done
        ");
        let path = successor(&harness, life.path());
        assert_snapshot!(written(&path), @"
        custom message handoff
        system: 
        model script
        user: one
        assistant (stop): a
        user: two
        assistant (stop): b
        ");
        life.close().await;
        assert!(read_pending(life.path()).unwrap().is_none());
    });
}

#[test]
fn a_manual_handoff_without_a_document_says_so() {
    run(async {
        let harness = Harness::new(&[summary(" "), summary(" ")].concat());
        let mut life = harness.open_session(TWO_TURNS);
        let before = harness.files();
        assert_snapshot!(life.command_and(handoff()).await, @"
        compaction manual handoff
        progress: the summary is empty; asking once more
        progress: scripted/script (summary): the summary is empty
        compacted: Compaction failed: the summary is empty
        ");
        assert_eq!(harness.files(), before);
        life.close().await;
    });
}

#[test]
fn a_handoff_at_the_threshold_waits_for_the_end_of_the_turn() {
    run(async {
        let read = json!([{ "name": "read", "arguments": { "path": "a.txt" } }]);
        let script = [
            window(8192),
            calls(read),
            answer("read"),
            summary("the document of what was read").repeat(9),
            answer("more"),
        ];
        let harness = Harness::new(&script.concat())
            .compaction(json!({ "strategy": "handoff", "autoContinue": "always" }));
        harness.put_lines("a.txt", 3000);
        let mut life = harness.open_session("u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000");
        assert_snapshot!(life.ask("look").await, @"
        user: look
        answer (tool_use):  +1
        tool read
        answer (stop): read
        auto-compaction threshold handoff
        another session
        auto-compacted handoff by scripted/script
        answer (stop): more
        turn done
        ");
        let path = successor(&harness, life.path());
        assert_snapshot!(written(&path), @"
        custom message handoff
        system: 
        model script
        developer: The older part of this conversation has been summarized to m
        assistant (stop): more
        ");
        life.close().await;
    });
}

#[test]
fn an_automatic_handoff_without_a_document_falls_back_to_a_summary() {
    run(async {
        let script = [
            window(8192),
            summary(" ").repeat(2),
            summaries(),
            answer("on"),
        ];
        let harness = Harness::new(&script.concat())
            .compaction(json!({ "strategy": "handoff", "keepRecentTokens": 500 }));
        let mut life = harness.open_session("u:300 a:1200 u:300 a:1200 u:300 a:1200 u:300 a:1000");
        assert_snapshot!(life.ask(&words(3000)).await, @"
        auto-compaction threshold handoff
        progress: the summary is empty; asking once more
        progress: scripted/script (summary): the summary is empty
        auto-compacted context-full by scripted/script
        user: lorem ipsum dolor sit amet lorem ipsum d
        answer (stop): on
        turn done
        ");
        life.close().await;
        assert_eq!(harness.files().len(), 1);
    });
}

#[test]
fn a_manual_compaction_by_handoff_does_not_fall_back() {
    run(async {
        let script = [summary(" ").repeat(2), summaries()];
        let harness = Harness::new(&script.concat()).compaction(json!({ "strategy": "handoff" }));
        let mut life = harness.open_session(TWO_TURNS);
        assert_snapshot!(life.command_and(compact()).await, @"
        compaction manual handoff
        progress: the summary is empty; asking once more
        progress: scripted/script (summary): the summary is empty
        compacted: Compaction failed: the summary is empty
        ");
        life.close().await;
    });
}

#[test]
fn a_session_in_memory_is_handed_off_in_memory() {
    run(async {
        let harness = Harness::new(&[answer("a"), summary("the document"), answer("b")].concat());
        let mut life = harness.live_in(Box::new(MemoryStore::new("/work")));
        life.ask("one").await;
        assert_snapshot!(life.command_and(handoff()).await, @"
        compaction manual handoff
        another session
        compacted handoff by scripted/script
        ");
        life.ask("two").await;
        assert_snapshot!(harness.newest_request().join("\n"), @"
        user: the document

        <ledger>
        Kept by code from the ses
        user: two
        ");
        life.said.clear();
        life.close().await;
        assert!(harness.files().is_empty());
    });
}

#[test]
fn the_file_of_a_session_that_takes_over_is_kept_from_tools() {
    run(async {
        let harness = Harness::new("");
        let path = harness.work().join("session.jsonl");
        std::fs::rename(harness.session(TWO_TURNS), &path).unwrap();
        let (sender, _events) = queue(EVENT_BYTES);
        let store = harness.catalog().open_file(&path, &mut ()).unwrap();
        let mut config = harness.config(Box::new(store));
        config.catalog = Arc::new(harness.catalog().making_in(harness.work()));
        let (_commands, receiver) = command_channel();
        let mut session = AgentSession::new(config, sender, receiver);
        let copy = session.fork(None).await.unwrap().path.unwrap();
        let workspace = &session.tool_context.workspace;
        assert!(workspace.resolve("other.jsonl").is_ok());
        assert!(workspace.resolve(&copy).is_err());
        let outputs = session.tool_context.overflow.unwrap();
        assert_eq!(outputs, Path::new(&format!("{copy}.outputs")));
    });
}

/// Files that can be appended to; no whole one can be written.
#[derive(Debug)]
struct NoNewFiles;

impl FileLayer for NoNewFiles {
    fn open(&self, path: &Path, new: bool) -> std::io::Result<Box<dyn AppendFile>> {
        SystemFiles.open(path, new)
    }

    fn fill(
        &self,
        _: &std::fs::File,
        _: &mut dyn FnMut(&mut dyn std::io::Write) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn a_handoff_that_cannot_be_written_leaves_no_file() {
    run(async {
        let mut harness = Harness::new(&[summary("the document"), answer("a")].concat());
        harness.files = Arc::new(NoNewFiles);
        let mut life = harness.open_session(TWO_TURNS);
        let before = harness.files();
        let told = life.command_and(handoff()).await;
        assert!(told.contains("the disk is full"), "{told}");
        assert_eq!(harness.files(), before);
        life.ask("two").await;
        life.close().await;
    });
}
