//! What is on the disk: after a write that stopped at any byte, with two writers at once, and with
//! many.

use std::collections::BTreeSet;
use std::path::Path;

use compaction_core::leaf_move;
use session_model::{ContextRules, DiagnosticKind, EntryId, SessionTree, build_context};
use session_store::StoreError as Error;
use session_store::error::ErrorKind;
use session_store::{SessionFile, SessionWriter};

use crate::env::{Output, TestEnv};

/// A turn whose result is too large for what is kept: compacting it writes edits before the
/// compaction.
const WITH_EDITS: &str = "u:20 call:c1:5 res:c1:1000 a:60 | u:30 a:10 call:c2:5 res:c2:3500";

/// What a reader gets of a session.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    ids: Vec<String>,
    messages: Vec<(EntryId, String)>,
    diagnostics: Vec<DiagnosticKind>,
    /// Entries whose body cannot be read.
    lost: usize,
}

fn seen(path: &Path) -> Seen {
    let session = SessionFile::open(path).expect("the session opens");
    let tree = session.tree();
    let context = build_context(&tree.path(tree.leaf()), ContextRules::Own);
    let messages = context.messages();
    let diagnostics = session
        .decoded
        .diagnostics
        .iter()
        .chain(&context.diagnostics);
    Seen {
        ids: tree
            .indices()
            .map(|index| tree.id(index).to_owned())
            .collect(),
        messages: messages
            .map(|(id, message)| (id.clone(), format!("{message:?}")))
            .collect(),
        diagnostics: diagnostics.map(|said| said.kind).collect(),
        lost: tree
            .indices()
            .filter(|index| tree.entry(*index).is_err())
            .count(),
    }
}

/// Checks a session to which `appended` was written, stopped after each byte.
fn check_every_offset(original: &[u8], appended: &[u8]) {
    // Thousands of appends are synced: in memory, where the system has a place there.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder for the test");
    let path = folder.path().join("torn.jsonl");
    // What a reader sees after each whole line; a line needs no newline to be whole.
    let mut whole: Vec<(usize, Seen)> = Vec::new();
    let ends = appended
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n');
    for end in std::iter::once(0).chain(ends.map(|(at, _)| at + 1)) {
        std::fs::write(&path, [original, &appended[..end]].concat()).expect("written");
        whole.push((end, seen(&path)));
    }
    assert!(
        whole.iter().all(|(_, seen)| seen.diagnostics.is_empty()),
        "no line is damaged"
    );

    for stop in 0..=appended.len() {
        let torn = [original, &appended[..stop]].concat();
        std::fs::write(&path, &torn).expect("written");
        let (end, want) = whole
            .iter()
            .rev()
            .find(|(end, _)| *end <= stop || *end == stop + 1 && stop > 0)
            .expect("nothing appended is whole");
        let got = seen(&path);
        assert_eq!(
            (&got.ids, &got.messages),
            (&want.ids, &want.messages),
            "stopped at {stop}"
        );
        let allowed: &[DiagnosticKind] = match stop.cmp(end) {
            std::cmp::Ordering::Equal => &[],
            std::cmp::Ordering::Less => &[DiagnosticKind::MissingFinalNewline],
            std::cmp::Ordering::Greater => &[DiagnosticKind::DamagedLine, DiagnosticKind::TornTail],
        };
        let odd = got.diagnostics.iter().find(|kind| !allowed.contains(kind));
        assert_eq!(
            (odd, got.diagnostics.is_empty()),
            (None, allowed.is_empty()),
            "stopped at {stop}"
        );

        let mut writer = SessionWriter::open(&path).expect("a torn session opens for writing");
        let parent = got.ids.last().map(String::as_str).unwrap_or_default();
        let line = format!(
            "{{\"type\":\"message\",\"id\":\"next\",\"parentId\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"next\"}}}}"
        );
        writer
            .append(std::slice::from_ref(&line))
            .expect("the append");
        drop(writer);
        let newline = if torn.ends_with(b"\n") { "" } else { "\n" };
        let want_bytes = [&torn[..], newline.as_bytes(), line.as_bytes(), b"\n"].concat();
        assert!(
            std::fs::read(&path).expect("read") == want_bytes,
            "stopped at {stop}"
        );
        let after = seen(&path);
        assert_eq!(after.ids[..got.ids.len()], got.ids, "stopped at {stop}");
        assert_eq!(
            after.ids.last().map(String::as_str),
            Some("next"),
            "stopped at {stop}"
        );
        assert_eq!(
            after.messages[..got.messages.len()],
            got.messages,
            "stopped at {stop}"
        );
        // Torn bytes stay, as a line that is set aside. One that happens to end in `}` is no longer
        // told by its last byte, but by its body: an entry beside the path that cannot be read.
        let set_aside = after.diagnostics.contains(&DiagnosticKind::DamagedLine);
        assert_eq!(got.lost, 0, "stopped at {stop}");
        assert_eq!(
            usize::from(set_aside) + after.lost,
            usize::from(stop > *end),
            "stopped at {stop}"
        );
    }
}

fn appended(env: &TestEnv, arguments: &[&str]) -> (Vec<u8>, Vec<u8>) {
    let original = env.read("s.jsonl");
    env.run(arguments).success();
    let written = env.read("s.jsonl");
    let appended = written.strip_prefix(&original[..]);
    (
        original.clone(),
        appended.expect("appended, nothing else").to_vec(),
    )
}

#[test]
fn a_compaction_that_stops_at_any_byte_loses_nothing() {
    let env = TestEnv::new();
    env.session("s.jsonl", WITH_EDITS);
    let compact = ["compact", "s.jsonl", "--in-place", "--window", "3600"];
    let reserve = ["--set", "compaction.reserveTokens=1000"];
    let (original, appended) = appended(&env, &[&compact[..], &reserve].concat());
    let lines = appended.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines > 1, "edits come before the compaction");
    check_every_offset(&original, &appended);
}

#[test]
fn a_move_that_stops_at_any_byte_loses_nothing() {
    let env = TestEnv::sample();
    let branch = ["branch", "s.jsonl", "--to", "e17", "--in-place"];
    let (original, appended) = appended(&env, &branch);
    check_every_offset(&original, &appended);
}

/// Returns the error of an opening that must fail.
fn refused(opened: Result<SessionWriter, Error>) -> Error {
    match opened {
        Err(error) => error,
        Ok(writer) => panic!("opened {:?}", writer.session.path),
    }
}

#[test]
fn the_second_writer_is_refused() {
    let env = TestEnv::sample();
    let path = env.path("s.jsonl");
    let first = SessionWriter::open(&path).expect("the first writer");
    let error = refused(SessionWriter::open(&path));
    assert_eq!(error.kind(), ErrorKind::Session);
    let want = format!("locked by process {}; wait for it", std::process::id());
    assert!(error.to_string().contains(&want), "{error}");
    // The program, too, while it is held; and both may again when it is not.
    let undo = ["undo", "s.jsonl", "--in-place"];
    assert_eq!(env.run(&undo).code, Some(4));
    drop(first);
    assert_eq!(env.names(), ["s.jsonl"]);
    drop(SessionWriter::open(&path).expect("the lock is free"));
    env.run(&undo).success();
}

#[test]
fn a_session_that_grew_since_it_was_read_is_left_alone() {
    let env = TestEnv::sample();
    let path = env.path("s.jsonl");
    let mut writer = SessionWriter::open(&path).expect("the writer");
    // Some other program, which knows no locks.
    let grown = [
        env.read("s.jsonl"),
        b"{\"type\":\"custom\",\"id\":\"other\"}\n".to_vec(),
    ]
    .concat();
    env.write("s.jsonl", &grown);
    let error = writer
        .append(&["{}".to_owned()])
        .expect_err("the file changed");
    assert_eq!(error.kind(), ErrorKind::Session);
    assert!(
        error.to_string().contains("run the command again"),
        "{error}"
    );
    assert_eq!(env.read("s.jsonl"), grown);
}

#[test]
fn writers_at_once_lose_no_line() {
    const WRITERS: usize = 4;
    const MOVES: usize = 10;
    let env = TestEnv::sample();
    let before = env.lines("s.jsonl");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let env = &env;
            scope.spawn(move || {
                for step in 0..MOVES {
                    let target = ["e5", "e10", "e15", "e17"][(writer + step) % 4];
                    moved(env, target);
                }
            });
        }
    });
    // `lines` reads every line as JSON.
    let after = env.lines("s.jsonl");
    assert_eq!(after[..before.len()], before);
    assert_eq!(after.len(), before.len() + WRITERS * MOVES);
    let added = &after[before.len()..];
    let ids: BTreeSet<&str> = added
        .iter()
        .filter_map(|line| line["id"].as_str())
        .collect();
    assert_eq!(ids.len(), added.len(), "every move has an id of its own");
    assert!(
        added
            .iter()
            .all(|line| line["customType"] == "agent-cli/leaf")
    );
    // Each read what the one before it wrote.
    for pair in after[before.len() - 1..].windows(2) {
        assert_eq!(pair[1]["data"]["from"], pair[0]["id"]);
    }
    assert_eq!(env.names(), ["s.jsonl"]);
}

/// Moves the session to `target`, trying again while another writer has it.
fn moved(env: &TestEnv, target: &str) {
    loop {
        let output = env.run(&["branch", "s.jsonl", "--to", target, "--in-place"]);
        match output {
            Output { code: Some(0), .. } => return,
            Output {
                code: Some(4),
                ref stderr,
                ..
            } if stderr.contains("locked by") => {
                std::thread::yield_now();
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_writer_appends_again_and_knows_what_it_wrote() {
    let env = TestEnv::new();
    env.session("s.jsonl", "u:5 a:5");
    let path = env.path("s.jsonl");
    let mut writer = SessionWriter::open(&path).expect("the writer");
    for number in 0..3 {
        let parent = writer.session.tree().path(writer.session.tree().leaf());
        let parent = parent.leaf_id().map(EntryId::new);
        let drafts = [leaf_move("navigate", parent.as_ref())];
        let (lines, ids) = writer.session.stamp(&drafts, parent.as_ref());
        writer.append(&lines).expect("the append");
        let tree = writer.session.tree();
        assert_eq!(tree.len(), 3 + number);
        assert_eq!(tree.path(tree.leaf()).leaf_id(), Some(ids[0].as_str()));
        assert_eq!(
            tree.raw_line(tree.find(&ids[0]).expect("the entry")).ok(),
            Some(lines[0].clone().into_bytes())
        );
    }
    let opened = SessionFile::open(&path).expect("the session opens");
    let ids = |tree: &SessionTree| -> Vec<(String, u64)> {
        let indices = tree.indices();
        indices
            .map(|index| (tree.id(index).to_owned(), tree.line(index)))
            .collect()
    };
    assert_eq!(ids(opened.tree()), ids(writer.session.tree()));
}
