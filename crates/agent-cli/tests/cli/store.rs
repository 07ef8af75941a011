//! What is on the disk: after a write that stopped at any byte, with two writers at once, and with
//! many.

use std::collections::BTreeSet;
use std::path::Path;

use compaction_core::leaf_move;
use futures_executor::block_on;
use session_model::{
    ContextRules, DiagnosticKind, EntryDraft, EntryId, MessageDraft, SessionTree, build_context,
};
use session_store::StoreError as Error;
use session_store::error::ErrorKind;
use session_store::{Batch, FileCatalog, FileStore, NewEntry, SessionFile, SessionStore};

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
fn check_every_offset(original: &[u8], appended: &[u8]) -> usize {
    check_offsets(original, appended, 1)
}

/// Checks a session to which `appended` was written, stopped around each line break and at each `step`th byte. Returns
/// after how many of the lines a change of the context is unfinished.
fn check_offsets(original: &[u8], appended: &[u8], step: usize) -> usize {
    // Thousands of appends are synced: in memory, where the system has a place there.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.expect("a folder for the test");
    let path = folder.path().join("torn.jsonl");
    // What a reader sees after each whole line; a line needs no newline to be whole. The lines of a change of the
    // context count only together.
    let mut whole: Vec<(usize, Seen)> = Vec::new();
    let ends = appended
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n');
    for end in std::iter::once(0).chain(ends.map(|(at, _)| at + 1)) {
        std::fs::write(&path, [original, &appended[..end]].concat()).expect("written");
        whole.push((end, seen(&path)));
    }
    let (before, after) = (&whole[0].1, &whole[whole.len() - 1].1);
    for (end, seen) in &whole {
        let unfinished = seen.diagnostics.contains(&DiagnosticKind::UnfinishedWrite);
        assert_eq!(seen.diagnostics.len(), usize::from(unfinished));
        let want = if unfinished { before } else { seen };
        assert_eq!(
            (&seen.ids, &seen.messages),
            (&want.ids, &want.messages),
            "f2: half of a change counts at {end}"
        );
    }
    assert!(before.diagnostics.is_empty() && after.diagnostics.is_empty());

    let near_break = |stop: usize| whole.iter().any(|(end, _)| end.abs_diff(stop) < 3);
    for stop in (0..=appended.len()).filter(|stop| stop % step == 0 || near_break(*stop)) {
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
        // Whether a write is finished was checked above.
        let odd = |kind: &&DiagnosticKind| **kind != DiagnosticKind::UnfinishedWrite;
        let noticed: Vec<_> = got.diagnostics.iter().filter(odd).collect();
        let odd = noticed.iter().find(|kind| !allowed.contains(kind));
        assert_eq!(
            (odd, noticed.is_empty()),
            (None, allowed.is_empty()),
            "stopped at {stop}"
        );

        let mut writer = opened(&path).expect("a torn session opens for writing");
        let next = NewEntry {
            draft: EntryDraft::Message(Box::new(MessageDraft::user("next"))),
            id: Some(EntryId::new("next")),
        };
        block_on(writer.append(vec![next])).expect("the append");
        drop(writer);
        let newline = if torn.ends_with(b"\n") { "" } else { "\n" };
        let whole = [&torn[..], newline.as_bytes()].concat();
        let bytes = std::fs::read(&path).expect("read");
        let line = bytes.strip_prefix(&whole[..]).expect("only appended to");
        let lines = line.iter().filter(|byte| **byte == b'\n').count();
        assert!(lines == 1 && line.ends_with(b"\n"), "stopped at {stop}");
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
        // told by its last byte, but by its body: an entry beside the path that cannot be read, or one of the
        // unfinished write.
        let unfinished = after.diagnostics.contains(&DiagnosticKind::UnfinishedWrite);
        let set_aside = after.diagnostics.contains(&DiagnosticKind::DamagedLine);
        assert_eq!(got.lost, 0, "stopped at {stop}");
        let torn = usize::from(set_aside) + after.lost;
        let want = usize::from(stop > *end);
        assert!(
            torn == want || unfinished && torn < want,
            "stopped at {stop}"
        );
    }
    let unfinished = whole.iter();
    let unfinished = unfinished.filter(|(_, seen)| !seen.diagnostics.is_empty());
    unfinished.count()
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

/// Options under which the example session is worth pruning.
const PRUNE: [&str; 6] = [
    "--strategy",
    "prune-only",
    "--set",
    "compaction.prune.minimumSavings=100",
    "--set",
    "compaction.prune.protectTokens=200",
];

/// A session with many tool results and, before them, a branch that was left.
fn session_to_prune() -> TestEnv {
    let env = TestEnv::new();
    let turns: Vec<String> = (1..7)
        .map(|turn| format!("u:20 call:c{turn}:5 res:c{turn}:600 a:30"))
        .collect();
    env.session("s.jsonl", &turns.join(" | "));
    env.run(&["branch", "s.jsonl", "--to", "e20", "--in-place"])
        .success();
    env
}

#[test]
fn f2_a_torn_pruning_changes_nothing() {
    let env = session_to_prune();
    let prune = [&["compact", "s.jsonl", "--in-place"], &PRUNE[..]].concat();
    let (original, appended) = appended(&env, &prune);
    let lines = appended.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines > 3, "several edits come before the mark: {lines}");
    assert_eq!(check_every_offset(&original, &appended), lines - 1);
}

#[test]
fn f2_doctor_names_a_torn_pruning_and_undo_passes_over_it() {
    let env = session_to_prune();
    let (original, messages) = (env.read("s.jsonl"), env.messages("s.jsonl"));
    let undone_before = env.json(&["undo", "s.jsonl", "--any", "--dry-run"]);
    let prune = [&["compact", "s.jsonl", "--in-place"], &PRUNE[..]].concat();
    let (_, appended) = appended(&env, &prune);
    let undone_after = env.json(&["undo", "s.jsonl", "--any", "--dry-run"]);
    assert_eq!(undone_after["kind"], "pruning");
    let ends = appended.iter().enumerate();
    let ends = ends.filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let ends: Vec<usize> = ends.collect();
    // At each end of a line but the last, and within the line after it.
    for stop in ends[..ends.len() - 1]
        .iter()
        .flat_map(|end| [end + 1, end + 60])
    {
        env.write("s.jsonl", [&original[..], &appended[..stop]].concat());
        let found = env.run(&["doctor", "s.jsonl", "--json"]).json();
        let found = found["diagnostics"].as_array().cloned().unwrap_or_default();
        let unfinished = found
            .iter()
            .filter(|said| said["kind"] == "unfinished_write");
        assert_eq!(unfinished.count(), 1, "stopped at {stop}: {found:?}");
        assert_eq!(env.messages("s.jsonl"), messages, "stopped at {stop}");
        let undone = env.json(&["undo", "s.jsonl", "--any", "--dry-run"]);
        for key in ["kind", "undone", "leaf", "left_behind"] {
            assert_eq!(undone[key], undone_before[key], "stopped at {stop}");
        }
        // It is pruned anew, and that is undone.
        env.run(&prune).success();
        assert_ne!(env.messages("s.jsonl"), messages, "stopped at {stop}");
        let undone = env.json(&["undo", "s.jsonl", "--any", "--in-place"]);
        assert_eq!(undone["kind"], "pruning");
        assert_eq!(env.messages("s.jsonl"), messages, "stopped at {stop}");
    }
}

#[test]
fn f2_a_torn_restoration_or_replacement_changes_nothing() {
    let env = TestEnv::sample();
    env.write("src/lib.rs", "fn main() {}\n".repeat(40));
    env.write("notes.md", "a note\n".repeat(40));
    let small = crate::env::SMALL;
    let restore = [
        "compact",
        "s.jsonl",
        "--in-place",
        "--strategy",
        "restore",
        "--workspace",
        ".",
    ];
    let (original, written) = appended(&env, &[&restore[..], &small].concat());
    let lines = written.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines > 1, "what is brought back follows the compaction");
    assert_eq!(check_offsets(&original, &written, 61), lines - 1);
    let redo = ["redo", "s.jsonl", "--in-place", "--strategy", "extractive"];
    let (original, written) = appended(&env, &[&redo[..], &small].concat());
    let lines = written.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines > 1, "the move comes before the compaction");
    assert_eq!(check_offsets(&original, &written, 61), lines - 1);
}

#[test]
fn f2_what_a_peer_adds_after_a_torn_pruning_follows_the_entry_before_it() {
    let env = session_to_prune();
    let messages = env.messages("s.jsonl");
    let prune = [&["compact", "s.jsonl", "--in-place"], &PRUNE[..]].concat();
    let (original, appended) = appended(&env, &prune);
    let mut ends = appended
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n');
    let end = ends.nth(1).expect("two edits").0 + 1;
    let edits = String::from_utf8_lossy(&appended[..end]).into_owned();
    let last: serde_json::Value =
        serde_json::from_str(edits.lines().last().expect("an edit")).expect("JSON");
    let message = serde_json::json!({
        "type": "message", "id": "peer", "parentId": last["id"],
        "message": { "role": "user", "content": "go on" },
    });
    let bytes = [
        &original[..],
        edits.as_bytes(),
        format!("{message}\n").as_bytes(),
    ]
    .concat();
    env.write("s.jsonl", &bytes);
    let after = env.messages("s.jsonl");
    let (after, before) = (after.as_array().expect("a list"), messages.as_array());
    assert_eq!(Some(&after[..after.len() - 1].to_vec()), before);
}

#[test]
fn f2_edits_of_older_files_count_as_before() {
    let env = session_to_prune();
    let prune = [&["compact", "s.jsonl", "--in-place"], &PRUNE[..]].concat();
    let (original, appended) = appended(&env, &prune);
    let messages = env.messages("s.jsonl");
    let mut older = original;
    for line in String::from_utf8_lossy(&appended).lines() {
        let mut entry: serde_json::Value = serde_json::from_str(line).expect("JSON");
        entry.as_object_mut().expect("an entry").remove("partOf");
        older.extend(format!("{entry}\n").bytes());
    }
    env.write("s.jsonl", &older);
    assert_eq!(env.messages("s.jsonl"), messages);
}

#[test]
fn a_move_that_stops_at_any_byte_loses_nothing() {
    let env = TestEnv::sample();
    let branch = ["branch", "s.jsonl", "--to", "e17", "--in-place"];
    let (original, appended) = appended(&env, &branch);
    check_every_offset(&original, &appended);
}

/// Returns the error of an opening that must fail.
fn refused(opened: Result<FileStore, Error>) -> Error {
    match opened {
        Err(error) => error,
        Ok(store) => panic!("opened {:?}", store.locator()),
    }
}

/// Returns a session that is open for writing.
fn opened(path: &Path) -> Result<FileStore, Error> {
    FileCatalog::new("").open_file(path, &mut ())
}

#[test]
fn the_second_writer_is_refused() {
    let env = TestEnv::sample();
    let path = env.path("s.jsonl");
    let first = opened(&path).expect("the first writer");
    let error = refused(opened(&path));
    assert_eq!(error.kind(), ErrorKind::Session);
    let want = format!("locked by process {}; wait for it", std::process::id());
    assert!(error.to_string().contains(&want), "{error}");
    // The program, too, while it is held; and both may again when it is not.
    let undo = ["undo", "s.jsonl", "--any", "--in-place"];
    assert_eq!(env.run(&undo).code, Some(4));
    drop(first);
    assert_eq!(env.names(), ["s.jsonl"]);
    drop(opened(&path).expect("the lock is free"));
    env.run(&undo).success();
}

#[test]
fn a_session_that_grew_since_it_was_read_is_left_alone() {
    let env = TestEnv::sample();
    let path = env.path("s.jsonl");
    let mut writer = opened(&path).expect("the writer");
    let entries = writer.tree().len();
    // Some other program, which knows no locks.
    let grown = [
        env.read("s.jsonl"),
        b"{\"type\":\"custom\",\"id\":\"other\"}\n".to_vec(),
    ]
    .concat();
    env.write("s.jsonl", &grown);
    let batch = Batch {
        parent: None,
        entries: vec![leaf_move("navigate", None).into()],
        expected: Some(entries),
    };
    let error = block_on(writer.write(batch)).expect_err("the file changed");
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
    let mut writer = opened(&path).expect("the writer");
    for number in 0..3 {
        let parent = writer.tree().path(writer.tree().leaf());
        let parent = parent.leaf_id().map(EntryId::new);
        let draft = leaf_move("navigate", parent.as_ref());
        let ids = block_on(writer.append(vec![draft.into()])).expect("the append");
        let tree = writer.tree();
        assert_eq!(tree.len(), 3 + number);
        assert_eq!(tree.path(tree.leaf()).leaf_id(), Some(ids[0].as_str()));
        let line = tree.raw_line(tree.find(&ids[0]).expect("the entry"));
        let bytes = std::fs::read(&path).expect("read");
        let written = [&line.expect("a line")[..], b"\n"].concat();
        assert!(bytes.ends_with(&written));
    }
    let opened = SessionFile::open(&path).expect("the session opens");
    let ids = |tree: &SessionTree| -> Vec<(String, u64)> {
        let indices = tree.indices();
        indices
            .map(|index| (tree.id(index).to_owned(), tree.line(index)))
            .collect()
    };
    assert_eq!(ids(opened.tree()), ids(writer.tree()));
}
