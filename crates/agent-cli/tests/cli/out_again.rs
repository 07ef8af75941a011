//! `--out` on a file that holds the result already: accepted only when not one byte would be lost.

use insta::assert_snapshot;

use crate::env::{SMALL, TestEnv, without_figures};

/// Returns the arguments of a compaction of `s.jsonl` into `out.jsonl`.
fn compact() -> Vec<&'static str> {
    [&["compact", "s.jsonl", "--out", "out.jsonl"][..], &SMALL].concat()
}

#[test]
fn the_same_command_twice_succeeds_and_leaves_the_file_as_it_is() {
    let env = TestEnv::sample();
    let first = env.run(&compact()).success();
    let written = env.read("out.jsonl");
    let again = env.run(&compact());
    assert_snapshot!(again.stderr, @"note out.jsonl holds this result already; nothing was written");
    assert_eq!(without_figures(&again.success()), without_figures(&first));
    assert_eq!(env.read("out.jsonl"), written);
    assert_eq!(env.names(), ["out.jsonl", "s.jsonl"]);
}

#[test]
fn the_document_of_the_second_run_names_the_entry_in_the_file() {
    let env = TestEnv::sample();
    let first = env.json(&compact());
    let again = env.json(&compact());
    assert_eq!(
        again["compaction_entry_id"], first["compaction_entry_id"],
        "{again}"
    );
    assert_eq!(again["written_to"], "out.jsonl");
}

#[test]
fn undo_into_the_same_file_twice_succeeds() {
    let env = TestEnv::sample();
    env.run(&[&["compact", "s.jsonl", "--in-place"][..], &SMALL].concat())
        .success();
    let undo = ["undo", "s.jsonl", "--any", "--out", "out.jsonl"];
    env.run(&undo).success();
    let written = env.read("out.jsonl");
    env.run(&undo).success();
    assert_eq!(env.read("out.jsonl"), written);
}

#[test]
fn a_file_with_anything_else_in_it_is_refused() {
    let env = TestEnv::sample();
    env.run(&compact()).success();
    let written = env.read("out.jsonl");
    let refused = |bytes: &[u8]| {
        env.write("out.jsonl", bytes);
        let again = env.run(&compact());
        assert_eq!(again.code, Some(2), "{again}");
        assert_eq!(env.read("out.jsonl"), bytes);
        again.stderr
    };
    // An entry that was appended since.
    let line = br#"{"type":"label","id":"l1","parentId":"e1","targetId":"e1","label":"mine"}"#;
    let said = refused(&[&written[..], line, b"\n"].concat());
    assert_snapshot!(said, @"error: out.jsonl exists; --out never overwrites, choose another name");
    // A torn end, and a file that is the source alone.
    refused(&written[..written.len() - 1]);
    refused(&env.read("s.jsonl"));
    // One changed byte in the part that is copied, and one in the summary.
    for text in ["\"e1\"", "user ["] {
        let found = written.windows(text.len());
        let at = found.rev().position(|bytes| bytes == text.as_bytes());
        let at = written.len() - text.len() - at.expect("the text is there");
        let mut changed = written.clone();
        changed[at + 1] = b'x';
        refused(&changed);
    }
}

#[test]
fn a_session_that_went_on_since_is_refused() {
    let env = TestEnv::sample();
    env.run(&compact()).success();
    let pin = ["pin", "s.jsonl", "--text", "keep this", "--in-place"];
    env.run(&pin).success();
    let again = env.run(&compact());
    assert_eq!(again.code, Some(2), "{again}");
}
