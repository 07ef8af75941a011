//! Limits of the decoder: long lines, and ids without room.

use std::sync::Arc;

use super::{Decoded, Decoder};
use crate::diagnostic::DiagnosticKind;
use crate::tree::append::AppendEntryError;

const TEXT: &str = concat!(
    "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n",
    "{\"type\":\"custom\",\"id\":\"aaaaaaaa\",\"parentId\":null,\"customType\":\"long enough to be refused\"}\n",
    "{\"type\":\"custom\",\"id\":\"bbbbbbbb\",\"parentId\":null}\n",
    "{\"type\":\"custom\",\"id\":\"cccccccc\",\"parentId\":\"bbbbbbbb\"}\n",
);

fn decode(mut decoder: Decoder, block: usize) -> Decoded {
    for block in TEXT.as_bytes().chunks(block) {
        decoder.feed(block);
        assert!(decoder.carry.len() as u64 <= decoder.longest_line);
    }
    decoder.finish(Arc::new(TEXT.as_bytes().to_vec()))
}

fn ids(decoded: &Decoded) -> Vec<&str> {
    let tree = &decoded.tree;
    tree.indices().map(|index| tree.id(index)).collect()
}

#[test]
fn a_line_that_is_too_long_is_not_held_and_costs_no_other() {
    for block in [1, 7, 64, TEXT.len()] {
        let decoded = decode(Decoder::with_limits(80, u32::MAX), block);
        assert_eq!(ids(&decoded), ["bbbbbbbb", "cccccccc"], "blocks of {block}");
        let said = decoded
            .diagnostics
            .iter()
            .map(|said| (said.kind, said.line));
        let want = [(DiagnosticKind::OversizedLine, Some(2))];
        assert_eq!(said.collect::<Vec<_>>(), want);
        assert_eq!((decoded.bytes, decoded.lines), (TEXT.len() as u64, 4));
        let last = decoded
            .tree
            .indices()
            .next_back()
            .map(|last| decoded.tree.raw_line(last));
        let last = last.and_then(Result::ok).unwrap_or_default();
        assert_eq!(Some(&*last), TEXT.lines().last().map(str::as_bytes));
    }
}

#[test]
fn entries_whose_ids_have_no_room_are_set_aside() {
    let mut decoded = decode(Decoder::with_limits(u32::MAX, 20), TEXT.len());
    assert_eq!(ids(&decoded), ["aaaaaaaa", "bbbbbbbb"]);
    let said = decoded
        .diagnostics
        .iter()
        .map(|said| (said.kind, said.line));
    let want = [(DiagnosticKind::TooManyEntries, Some(4))];
    assert_eq!(said.collect::<Vec<_>>(), want);
    let line = "{\"type\":\"custom\",\"id\":\"dddddddd\",\"parentId\":\"bbbbbbbb\"}";
    let added = decoded.tree.append(line.as_bytes(), TEXT.len() as u64, 5);
    assert_eq!(added, Err(AppendEntryError::TooManyEntries));
    assert_eq!(decoded.tree.find("dddddddd"), None);
}

#[test]
fn the_place_for_a_title_before_the_header_is_no_entry() {
    let text = concat!(
        "{\"type\":\"title\",\"v\":1,\"title\":\"work\",\"pad\":\"   \"}\n",
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n",
        "{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null}\n"
    );
    let decoded = crate::tree::decode_bytes(text.as_bytes().to_vec());
    assert_eq!(ids(&decoded), ["a"]);
    assert!(decoded.diagnostics.is_empty(), "{:?}", decoded.diagnostics);
    assert!(decoded.tree.header().is_some());
}
