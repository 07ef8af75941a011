//! Damage: each kind opens with its diagnostic, loses no readable entry and leaves every byte as it is.

use std::fmt::Write as _;

use session_model::{
    AgentMessage, ContextRules, Decoded, Diagnostic, DiagnosticKind, Leaf, RoleOrder, SessionPath,
    Severity, build_context, check_pairs, decode_bytes,
};

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;

/// Returns the line of a message of the user; an empty parent is null.
fn user(id: &str, parent: &str, text: &str) -> String {
    message(
        id,
        parent,
        &format!(r#"{{"role":"user","content":"{text}"}}"#),
    )
}

fn message(id: &str, parent: &str, message: &str) -> String {
    let parent = match parent {
        "" => "null".to_owned(),
        id => format!("\"{id}\""),
    };
    format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{message}}}"#)
}

/// Returns a header and the chain `a` to `d`: lines 1 to 5.
fn chain() -> Vec<String> {
    vec![
        HEADER.to_owned(),
        user("a", "", "one"),
        user("b", "a", "two"),
        user("c", "b", "three"),
        user("d", "c", "four"),
    ]
}

fn text(lines: &[String]) -> Vec<u8> {
    let lines = lines.iter().map(|line| format!("{line}\n"));
    lines.collect::<String>().into_bytes()
}

/// Opens `bytes`, checks that they can all still be had, and renders what is read.
fn open(bytes: impl Into<Vec<u8>>) -> String {
    let bytes = bytes.into();
    let decoded = decode_bytes(bytes.clone());
    assert_bytes_untouched(&decoded, &bytes);
    render(&decoded)
}

/// Every entry gives back the line that stands at its number, without the line ending.
fn assert_bytes_untouched(decoded: &Decoded, bytes: &[u8]) {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    for index in decoded.tree.indices() {
        let number = usize::try_from(decoded.tree.line(index)).unwrap_or(usize::MAX);
        let line = lines[number - 1];
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let raw = decoded.tree.raw_line(index);
        assert_eq!(raw.ok().as_deref(), Some(line), "line {number}");
    }
    assert_eq!(decoded.bytes, bytes.len() as u64);
}

/// One line per message of the context of every leaf, one per entry off it, one per diagnostic.
fn render(decoded: &Decoded) -> String {
    let tree = &decoded.tree;
    let mut out = String::new();
    for leaf in tree.leaves() {
        let path = tree.path(Leaf::At(leaf));
        let _ = writeln!(out, "path {}", ids(&path));
        if Leaf::At(leaf) != tree.leaf() {
            continue;
        }
        let context = build_context(&path, ContextRules::Own);
        for (id, message) in context.messages() {
            let _ = writeln!(out, "  {id} {}", told(message));
        }
        for said in &context.diagnostics {
            let _ = writeln!(out, "  ! {:?}: {said}", said.kind);
        }
        let (messages, _) = context.to_llm(RoleOrder::Any);
        assert_eq!(check_pairs(&messages, RoleOrder::Any), []);
    }
    for said in &decoded.diagnostics {
        let _ = writeln!(out, "! {:?}: {said}", said.kind);
    }
    out
}

fn ids(path: &SessionPath<'_>) -> String {
    let ids = path.entries().iter().map(|index| path.tree().id(*index));
    ids.collect::<Vec<_>>().join(" ")
}

fn told(message: &AgentMessage) -> String {
    let text = message.display_text();
    match text.len() {
        0..80 => format!("{}: {text}", message.role()),
        len => format!("{}: {len} bytes", message.role()),
    }
}

#[test]
fn a_sound_session_opens_without_a_word() {
    insta::assert_snapshot!(open(text(&chain())), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ");
}

#[test]
fn a_torn_last_line_is_set_aside_and_the_rest_reads() {
    let mut bytes = text(&chain());
    bytes.truncate(bytes.len() - 9);
    insta::assert_snapshot!(open(bytes), @"
    path a b c
      a user: one
      b user: two
      c user: three
    ! DamagedLine: line 5: not readable as JSON; set aside
    ! TornTail: line 5: the last line is cut off; it is kept and set aside
    ");
}

/// Kept one by one, the diagnostics of a file of short lines take many times its size.
#[test]
fn of_many_damaged_lines_the_first_are_listed_and_all_are_counted() {
    let mut lines = chain();
    lines.splice(2..2, std::iter::repeat_n("x".to_owned(), 100_000));
    let decoded = decode_bytes(text(&lines));
    assert_eq!(decoded.diagnostics.len(), 1000);
    let damaged = &decoded.diagnostics[999];
    assert_eq!(
        (damaged.kind, damaged.line),
        (DiagnosticKind::DamagedLine, Some(1002))
    );
    assert_eq!((damaged.more, damaged.count()), (99_000, 99_001));
    assert_eq!(
        damaged.to_string(),
        "line 1002: not readable as JSON; set aside (99000 more of this kind are not listed)"
    );
    let counted = decoded
        .diagnostics
        .iter()
        .filter(|said| said.more > 0)
        .count();
    assert_eq!(counted, 1);
}

#[test]
fn a_last_line_torn_at_any_byte_costs_no_other_entry() {
    let whole = text(&chain());
    let before = text(&chain()[..4]).len();
    for end in before + 1..whole.len() - 1 {
        let decoded = decode_bytes(whole[..end].to_vec());
        assert_eq!(decoded.tree.len(), 3, "cut at {end}");
        assert!(!decoded.ends_with_newline, "cut at {end}");
        let kinds = decoded
            .diagnostics
            .iter()
            .map(|said| (said.kind, said.line));
        let want = [
            (DiagnosticKind::DamagedLine, Some(5)),
            (DiagnosticKind::TornTail, Some(5)),
        ];
        assert_eq!(kinds.collect::<Vec<_>>(), want, "cut at {end}");
        assert_bytes_untouched(&decoded, &whole[..end]);
    }
}

#[test]
fn a_line_torn_just_after_a_closing_brace_is_torn_too() {
    let last = message(
        "e",
        "d",
        r#"{"role":"assistant","content":[{"type":"text","text":"five"}]}"#,
    );
    let cut = last.find("]}").unwrap_or(last.len());
    let bytes = [text(&chain()), last.as_bytes()[..cut].to_vec()].concat();
    insta::assert_snapshot!(open(bytes), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! DamagedLine: line 6: not readable as JSON; set aside
    ! TornTail: line 6: the last line is cut off; it is kept and set aside
    ");
}

#[test]
fn a_missing_final_newline_is_noted_and_costs_nothing() {
    let mut bytes = text(&chain());
    bytes.pop();
    insta::assert_snapshot!(open(bytes), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! MissingFinalNewline: line 5: no newline at the end; the next append adds one first
    ");
}

#[test]
fn a_damaged_middle_line_with_a_readable_head_is_bridged_to_its_own_parent() {
    let mut lines = chain();
    // A branch in between, so that "the entry before" would be the wrong place to join.
    lines.insert(3, user("x", "a", "other branch"));
    lines[4].truncate(60);
    insta::assert_snapshot!(open(text(&lines)), @"
    path a x
    path a b d
      a user: one
      b user: two
      d user: four
    ! DamagedLine: line 5: not readable as JSON; set aside
    ! MissingParent: line 6: its parent c is not there; joined to b
    ");
}

#[test]
fn damaged_lines_in_a_row_are_bridged_to_the_nearest_readable_ancestor() {
    let mut lines = chain();
    lines[2].truncate(60);
    lines[3].truncate(60);
    insta::assert_snapshot!(open(text(&lines)), @"
    path a d
      a user: one
      d user: four
    ! DamagedLine: line 3: not readable as JSON; set aside
    ! DamagedLine: line 4: not readable as JSON; set aside
    ! MissingParent: line 5: its parent c is not there; joined to a
    ");
}

#[test]
fn a_damaged_root_with_a_readable_head_leaves_its_child_a_root() {
    let mut lines = chain();
    lines.insert(1, user("z", "", "another tree"));
    lines[2].truncate(60);
    insta::assert_snapshot!(open(text(&lines)), @"
    path z
    path b c d
      b user: two
      c user: three
      d user: four
    ! DamagedLine: line 3: not readable as JSON; set aside
    ! MissingParent: line 4: its parent a is not there; it starts the session
    ");
}

#[test]
fn an_ancestor_damaged_beyond_its_head_is_bridged_to_the_entry_before_it() {
    let mut lines = chain();
    lines[3] = "\u{1}garbage".to_owned();
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b d
      a user: one
      b user: two
      d user: four
    ! DamagedLine: line 4: not readable as JSON; set aside
    ! MissingParent: line 5: its parent c is not there; joined to b
    ");
}

#[test]
fn a_body_damaged_behind_a_sound_head_keeps_its_place_on_the_path() {
    let mut lines = chain();
    lines[3] = lines[3].replace("three", "th\"ree");
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      d user: four
      ! DamagedBody: line 4: left out of the context: line 4 cannot be read: expected `,` or `}` at line 1 column 82
    ");
}

#[test]
fn a_damaged_compaction_shows_what_it_hid() {
    let mut lines = chain();
    lines.insert(
        4,
        r#"{"type":"compaction","id":"k","parentId":"c","summary":"gone" "firstKeptEntryId":"c"}"#
            .to_owned(),
    );
    lines[5] = user("d", "k", "four");
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c k d
      a user: one
      b user: two
      c user: three
      d user: four
      ! DamagedBody: line 5: left out of the context: line 5 cannot be read: expected `,` or `}` at line 1 column 63
    ");
}

#[test]
fn where_the_newest_compaction_is_damaged_the_one_before_it_is_in_force() {
    let compaction = |id: &str, parent: &str, summary: &str, kept: &str| {
        format!(
            r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","summary":"{summary}","firstKeptEntryId":"{kept}"}}"#
        )
    };
    let mut lines = chain();
    lines.insert(3, compaction("k", "b", "what was", "b"));
    lines[4] = user("c", "k", "three");
    lines.push(compaction("l", "d", "gone", "d").replace("\"gone\",", "\"gone\" "));
    lines.push(user("e", "l", "five"));
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b k c d l e
      k compactionSummary: what was
      b user: two
      c user: three
      d user: four
      e user: five
      ! DamagedBody: line 7: left out of the context: line 7 cannot be read: expected `,` or `}` at line 1 column 63
    ");
}

/// Chains of damaged lines, each with a child that can be read: the child joins what the chain hangs on.
#[test]
fn twenty_thousand_damaged_lines_in_a_chain_are_bridged_for_each_child() {
    const LONG: usize = 20_000;
    let damaged = |number: usize| {
        let parent = match number {
            0 => "a".to_owned(),
            number => format!("g{}", number - 1),
        };
        let mut line = user(&format!("g{number}"), &parent, "torn");
        line.truncate(line.len() - 10);
        line
    };
    let child = |number: usize| user(&format!("c{number}"), &format!("g{number}"), "child");
    let orders: [Vec<usize>; 3] = [
        (0..LONG).collect(),
        (0..LONG).rev().collect(),
        // Odd ones forward, even ones back.
        (0..LONG)
            .filter(|number| number % 2 == 1)
            .chain((0..LONG).rev().filter(|number| number % 2 == 0))
            .collect(),
    ];
    for order in orders {
        let mut lines = vec![
            HEADER.to_owned(),
            user("a", "", "one"),
            user("x", "a", "two"),
        ];
        lines.extend((0..LONG).map(damaged));
        lines.extend(order.into_iter().map(child));
        let decoded = decode_bytes(text(&lines));
        let tree = &decoded.tree;
        assert_eq!(tree.len(), LONG + 2);
        let joined = tree.indices().skip(1);
        let elsewhere =
            joined.filter(|index| tree.parent(*index).map(|at| tree.id(at)) != Some("a"));
        assert_eq!(elsewhere.count(), 0);
        let said = decoded.diagnostics.iter();
        let missing = said.filter(|said| said.kind == DiagnosticKind::MissingParent);
        assert_eq!(missing.map(Diagnostic::count).sum::<u64>(), LONG as u64);
    }
}

/// Chains that end in a ring of their own, and chains that hang on nothing: each child joins the entry before it.
#[test]
fn twenty_thousand_damaged_lines_that_lead_nowhere_are_passed_over() {
    const LONG: usize = 20_000;
    for end in ["g9999", "nowhere"] {
        let damaged = |number: usize| {
            let parent = match number {
                0 => end.to_owned(),
                number => format!("g{}", number - 1),
            };
            let mut line = user(&format!("g{number}"), &parent, "torn");
            line.truncate(line.len() - 10);
            line
        };
        let child = |number: usize| user(&format!("c{number}"), &format!("g{number}"), "child");
        let mut lines = vec![HEADER.to_owned(), user("a", "", "one")];
        lines.extend((0..LONG).map(damaged));
        lines.extend((0..LONG).rev().map(child));
        let decoded = decode_bytes(text(&lines));
        let tree = &decoded.tree;
        let chain = tree.path(tree.leaf());
        assert_eq!(chain.entries().len(), LONG + 1, "{end}");
    }
}

#[test]
fn a_byte_order_mark_is_noted() {
    let bytes = [b"\xEF\xBB\xBF".to_vec(), text(&chain())].concat();
    insta::assert_snapshot!(open(bytes), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! ByteOrderMark: line 1: begins with a byte-order mark
    ");
}

#[test]
fn a_byte_order_mark_before_an_entry_is_not_part_of_it() {
    let bytes = [b"\xEF\xBB\xBF".to_vec(), text(&chain()[1..])].concat();
    insta::assert_snapshot!(open(bytes), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! ByteOrderMark: line 1: begins with a byte-order mark
    ! MissingHeader: no session header can be read; the entries are opened without it
    ");
}

#[test]
fn carriage_returns_are_noted_once_with_their_number() {
    let bytes = chain().join("\r\n") + "\r\n";
    insta::assert_snapshot!(open(bytes), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! CarriageReturns: line 1: lines end in CR LF (5 in all); they are read as usual
    ");
}

#[test]
fn blank_lines_are_noted_once_with_their_number() {
    let mut lines = chain();
    lines.insert(2, String::new());
    lines.insert(4, " \t".to_owned());
    lines.push(String::new());
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! BlankLines: line 3: blank lines (3 in all); they are read as usual
    ");
}

#[test]
fn duplicate_ids_are_both_kept_and_a_child_joins_the_nearest_before_it() {
    let lines = [
        HEADER.to_owned(),
        user("a", "", "one"),
        user("b", "a", "first b"),
        user("c", "b", "of the first"),
        user("b", "a", "second b"),
        user("d", "b", "of the second"),
    ];
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c
    path a b d
      a user: one
      b user: second b
      d user: of the second
    ! DuplicateId: line 5: the id b was already used on line 3; both entries are kept
    ");
    let decoded = decode_bytes(text(&lines));
    let found = decoded.tree.find("b").map(|index| decoded.tree.line(index));
    assert_eq!(found, Some(5), "the last of namesakes is found");
}

#[test]
fn a_line_that_stands_twice_makes_no_ring() {
    let mut lines = chain();
    lines.push(lines[2].clone());
    lines.push(user("e", "b", "after the copy"));
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
    path a b e
      a user: one
      b user: two
      e user: after the copy
    ! DuplicateId: line 6: the id b was already used on line 3; both entries are kept
    ");
}

#[test]
fn a_missing_parent_is_replaced_by_the_entry_before() {
    let mut lines = chain();
    lines.remove(3);
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b d
      a user: one
      b user: two
      d user: four
    ! MissingParent: line 4: its parent c is not there; joined to b
    ");
}

#[test]
fn a_missing_parent_of_the_first_entry_makes_it_a_root() {
    let mut lines = chain();
    lines.remove(1);
    insta::assert_snapshot!(open(text(&lines)), @"
    path b c d
      b user: two
      c user: three
      d user: four
    ! MissingParent: line 2: its parent a is not there; it starts the session
    ");
}

#[test]
fn an_entry_that_is_its_own_parent_is_joined_to_the_one_before() {
    let mut lines = chain();
    lines[3] = user("c", "c", "three");
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! ParentCycle: line 4: its parents form a ring; joined to the entry before it
    ");
}

#[test]
fn a_first_entry_that_is_its_own_parent_becomes_a_root() {
    let mut lines = chain();
    lines[1] = user("a", "a", "one");
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! ParentCycle: line 2: its parents form a ring; it starts a tree of its own
    ");
}

#[test]
fn a_ring_of_two_is_cut_at_its_earliest_entry() {
    let mut lines = chain();
    lines[2] = user("b", "c", "two");
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! ParentCycle: line 3: its parents form a ring; joined to the entry before it
    ");
}

#[test]
fn a_ring_through_the_whole_session_is_cut_at_its_earliest_entry() {
    let mut lines = chain();
    lines[1] = user("a", "d", "one");
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! ParentCycle: line 2: its parents form a ring; it starts a tree of its own
    ");
}

#[test]
fn a_ring_that_joining_closes_again_is_cut_once_more() {
    // b and c form a ring; joined to a, which hangs below d and thereby below c, b closes another.
    let lines = [
        HEADER.to_owned(),
        user("a", "d", "one"),
        user("b", "c", "two"),
        user("c", "b", "three"),
        user("d", "c", "four"),
    ];
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! ParentCycle: line 2: its parents form a ring; it starts a tree of its own
    ! ParentCycle: line 3: its parents form a ring; joined to the entry before it
    ");
}

#[test]
fn a_parent_that_comes_later_is_no_ring() {
    let lines = [
        HEADER.to_owned(),
        user("b", "a", "two"),
        user("a", "", "one"),
        user("c", "b", "three"),
    ];
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c
      a user: one
      b user: two
      c user: three
    ");
}

#[test]
fn of_duplicate_keys_the_last_counts() {
    let mut lines = chain();
    lines[3] = message(
        "c",
        "b",
        r#"{"role":"user","content":"no","content":"three"}"#,
    );
    lines[4] = r#"{"id":"x","type":"message","parentId":"c","id":"d","message":{"role":"user","content":"four"}}"#.to_owned();
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
      ! RepairedBody: line 4: read after repair (duplicate field `content`); its bytes are untouched
    ! RepairedHead: line 5: its head was read after repair (duplicate field `id`); its bytes are untouched
    ");
}

#[test]
fn duplicate_keys_of_a_header_are_told() {
    let mut lines = chain();
    lines[0] = r#"{"type":"session","version":3,"id":"s","cwd":"/old","cwd":"/new"}"#.to_owned();
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! RepairedHead: line 1: its head was read after repair (duplicate field `cwd`); its bytes are untouched
    ");
    let decoded = decode_bytes(text(&lines));
    let cwd = decoded.tree.header().map(|header| header.cwd.as_str());
    assert_eq!(cwd, Some("/new"));
}

#[test]
fn lone_surrogates_become_replacement_characters_and_the_line_stays() {
    let mut lines = chain();
    lines[3] = user(
        "c",
        "b",
        r"cut \ud83d here, \ude00 there, \ud83d\ude00 whole, \\ud83d told",
    );
    insta::assert_snapshot!(open(text(&lines)), @r"
    path a b c d
      a user: one
      b user: two
      c user: cut � here, � there, 😀 whole, \ud83d told
      d user: four
      ! RepairedBody: line 4: read after repair (unexpected end of hex escape); its bytes are untouched
    ");
    let decoded = decode_bytes(text(&lines));
    let raw = decoded
        .tree
        .find("c")
        .and_then(|index| decoded.tree.raw_line(index).ok());
    assert_eq!(raw.as_deref(), Some(lines[3].as_bytes()));
}

#[test]
fn lone_surrogates_in_arguments_stay_as_peers_count_them() {
    let mut lines = chain();
    lines[4] = message(
        "d",
        "c",
        r#"{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{"z":"\ud83d","a":1.0}}]}"#,
    );
    insta::assert_snapshot!(open(text(&lines)), @r#"
    path a b c d
      a user: one
      b user: two
      c user: three
      d assistant: bash({"z":"\ud83d","a":1})
    "#);
}

#[test]
fn lone_surrogates_in_ids_and_types_still_link() {
    let lines = [
        HEADER.to_owned(),
        user(r"a\ud83d", "", "one"),
        user("b", r"a\ud83d", "two"),
    ];
    insta::assert_snapshot!(open(text(&lines)), @"
    path a� b
      a� user: one
      b user: two
    ! RepairedHead: line 2: its head was read after repair (unexpected end of hex escape); its bytes are untouched
    ! RepairedHead: line 3: its head was read after repair (unexpected end of hex escape); its bytes are untouched
    ");
}

#[test]
fn lenient_numbers_and_null_usage_are_read() {
    let cases = [
        ("null", None),
        (r#"{"input":10,"output":5}"#, Some((10, 5, true))),
        (
            r#"{"input":1e1,"output":5.0,"cacheRead":null,"cacheWrite":0}"#,
            Some((10, 5, false)),
        ),
        (
            r#"{"input":"10","output":" 5 ","cacheRead":0,"cacheWrite":0}"#,
            Some((10, 5, false)),
        ),
        (
            r#"{"input":-3,"output":5.9,"cacheRead":0,"cacheWrite":0,"cost":{"total":1}}"#,
            Some((0, 5, false)),
        ),
        (
            r#"{"input":[],"output":true,"cacheRead":0,"cacheWrite":0}"#,
            Some((0, 0, false)),
        ),
        ("12", None),
    ];
    for (usage, want) in cases {
        let mut lines = chain();
        lines[4] = message(
            "d",
            "c",
            &format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"four"}}],"usage":{usage},"timestamp":"1767225600000"}}"#
            ),
        );
        let decoded = decode_bytes(text(&lines));
        let context = build_context(&decoded.tree.path(decoded.tree.leaf()), ContextRules::Own);
        let last = context
            .messages()
            .next_back()
            .map(|(_, message)| message.clone());
        let Some(AgentMessage::Assistant(answer)) = last.as_deref() else {
            panic!("{usage}: {last:?}");
        };
        let read = answer
            .usage
            .map(|usage| (usage.input, usage.output, usage.incomplete));
        assert_eq!(read, want, "{usage}");
        assert_eq!(
            answer.timestamp.map(session_model::Timestamp::as_millis),
            Some(1_767_225_600_000)
        );
        assert_eq!(answer.content.joined_text(""), "four");
        let said = &context.diagnostics[0];
        assert_eq!(
            (said.kind, said.line, said.severity),
            (DiagnosticKind::RepairedBody, Some(5), Severity::Note)
        );
    }
}

#[test]
fn members_of_another_type_than_expected_do_not_hide_the_message() {
    let mut lines = chain();
    lines[1] = message(
        "a",
        "",
        r#"{"role":"user","content":[{"type":"text","text":7},"bare",null]}"#,
    );
    lines[2] = message("b", "a", r#"{"role":"user","content":{"odd":true}}"#);
    lines[3] = message("c", "b", r#"{"role":7,"content":null}"#);
    lines[4] =
        r#"{"type":"message","id":"d","parentId":"c","timestamp":5,"message":null}"#.to_owned();
    insta::assert_snapshot!(open(text(&lines)), @r#"
    path a b c d
      a user: 7
    bare
    []
      b user: {"odd":true}
      c 7: 
      d : 
      ! RepairedBody: line 2: read after repair (invalid type: integer `7`, expected a string); its bytes are untouched
      ! RepairedBody: line 3: read after repair (invalid type: map, expected a text, a list of blocks, or null); its bytes are untouched
      ! RepairedBody: line 4: read after repair (invalid type: integer `7`, expected a string); its bytes are untouched
      ! RepairedBody: line 5: read after repair (invalid type: integer `5`, expected a string); its bytes are untouched
    "#);
}

#[test]
fn a_compaction_with_numbers_as_texts_still_bounds_the_context() {
    let mut lines = chain();
    lines.push(r#"{"type":"compaction","id":"k","parentId":"d","timestamp":1767225600000,"summary":"so far","firstKeptEntryId":"d","tokensBefore":"1000"}"#.to_owned());
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d k
      k compactionSummary: so far
      d user: four
      ! RepairedBody: line 6: read after repair (invalid type: integer `1767225600000`, expected a string); its bytes are untouched
    ");
}

#[test]
fn a_header_version_spelt_as_text_is_still_version_3() {
    let mut lines = chain();
    lines[0] = HEADER.replace(":3,", ":\"3\",");
    lines.push(user("e", "a", "a branch"));
    insta::assert_snapshot!(open(text(&lines)), @r#"
    path a b c d
    path a e
      a user: one
      e user: a branch
    ! RepairedHead: line 1: its head was read after repair (invalid type: string "3", expected a number or null); its bytes are untouched
    "#);
}

#[test]
fn a_corrupt_header_costs_no_entry() {
    let mut lines = chain();
    lines[0].truncate(40);
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! DamagedLine: line 1: not readable as JSON; set aside
    ! MissingHeader: no session header can be read; the entries are opened without it
    ");
}

#[test]
fn a_missing_header_costs_no_entry() {
    insta::assert_snapshot!(open(text(&chain()[1..])), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! MissingHeader: no session header can be read; the entries are opened without it
    ");
}

#[test]
fn entries_of_version_1_open_as_such_without_a_header() {
    let lines = [
        r#"{"type":"session","id":"s","times"#.to_owned(),
        r#"{"type":"message","message":{"role":"user","content":"one"}}"#.to_owned(),
        r#"{"type":"message","message":{"role":"user","content":"two"}}"#.to_owned(),
        r#"{"type":"compaction","summary":"so far","firstKeptEntryIndex":2,"tokensBefore":9}"#
            .to_owned(),
        r#"{"type":"message","message":{"role":"user","content":"three"}}"#.to_owned(),
    ];
    insta::assert_snapshot!(open(text(&lines)), @"
    path 00000001 00000002 00000003 00000004
      00000003 compactionSummary: so far
      00000002 user: two
      00000004 user: three
    ! DamagedLine: line 1: not readable as JSON; set aside
    ! MissingHeader: no session header can be read; the entries are opened without it
    ");
    assert_eq!(decode_bytes(text(&lines)).tree.version(), 1);
}

#[test]
fn an_extra_header_is_ignored() {
    let mut lines = chain();
    lines.insert(3, HEADER.replace("/p", "/q"));
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! ExtraHeader: line 4: another session header; ignored
    ");
    let decoded = decode_bytes(text(&lines));
    let cwd = decoded.tree.header().map(|header| header.cwd.as_str());
    assert_eq!(cwd, Some("/p"));
}

#[test]
fn an_entry_without_an_id_is_named_by_its_position() {
    let mut lines = chain();
    lines[3] = lines[3].replace(r#""id":"c","#, "");
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b 00000003 d
      a user: one
      b user: two
      00000003 user: three
      d user: four
    ! MissingId: line 4: no id; its position serves as one
    ! MissingParent: line 5: its parent c is not there; joined to 00000003
    ");
}

#[test]
fn an_entry_with_an_empty_or_odd_id_is_named_by_its_position() {
    let mut lines = chain();
    lines[2] = lines[2].replace(r#""id":"b","#, r#""id":"","#);
    lines[3] = lines[3].replace(r#""id":"c","#, r#""id":7,"#);
    insta::assert_snapshot!(open(text(&lines)), @"
    path a 00000002 00000003 d
      a user: one
      00000002 user: two
      00000003 user: three
      d user: four
    ! MissingId: line 3: no id; its position serves as one
    ! RepairedHead: line 4: its head was read after repair (invalid type: integer `7`, expected a string); its bytes are untouched
    ! MissingId: line 4: no id; its position serves as one
    ! MissingParent: line 4: its parent b is not there; joined to 00000002
    ! MissingParent: line 5: its parent c is not there; joined to 00000003
    ");
}

#[test]
fn an_entry_without_a_parent_joins_the_entry_before() {
    let mut lines = chain();
    lines[3] = lines[3].replace(r#""parentId":"b","#, "");
    lines[4] = lines[4].replace(r#""parentId":"c","#, r#""parentId":{},"#);
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! MissingParent: line 4: names no parent; joined to the entry before it
    ! RepairedHead: line 5: its head was read after repair (invalid type: map, expected a string); its bytes are untouched
    ! MissingParent: line 5: names no parent; joined to the entry before it
    ");
}

#[test]
fn bytes_that_are_no_text_are_replaced_when_read_only() {
    let mut bytes = text(&chain());
    let at = bytes.windows(5).position(|word| word == b"three");
    let at = at.unwrap_or_default();
    bytes.splice(at + 2..at + 2, [0xFF, 0xC3]);
    insta::assert_snapshot!(open(bytes), @"
    path a b c d
      a user: one
      b user: two
      c user: th��ree
      d user: four
      ! RepairedBody: line 4: read after repair (invalid unicode code point); its bytes are untouched
    ");
}

#[test]
fn bytes_that_are_no_text_do_not_cost_a_system_message_its_tools() {
    let system = message(
        "a",
        "",
        r#"{"role":"system","content":"rule#s","toolsAdded":[{"name":"bash","z":1,"a":2}]}"#,
    );
    let mut bytes = text(&[HEADER.to_owned(), system]);
    let at = bytes.iter().position(|byte| *byte == b'#');
    bytes[at.unwrap_or_default()] = 0xFF;
    insta::assert_snapshot!(open(bytes), @r#"
    path a
      a system: rule�s

    {"name":"bash","z":1,"a":2}
      ! RepairedBody: line 2: read after repair (invalid unicode code point); its bytes are untouched
    "#);
}

#[test]
fn bytes_that_are_no_text_in_a_head_cost_the_entry_no_child() {
    let mut bytes = text(&chain());
    let at = bytes.windows(8).position(|word| word == br#""id":"c""#);
    bytes[at.unwrap_or_default() + 6] = 0xFF;
    insta::assert_snapshot!(open(bytes), @"
    path a b � d
      a user: one
      b user: two
      � user: three
      d user: four
    ! RepairedHead: line 4: its head was read after repair (invalid unicode code point); its bytes are untouched
    ! MissingParent: line 5: its parent c is not there; joined to �
    ");
}

#[test]
fn nul_bytes_after_a_crash_are_one_damaged_line() {
    let bytes = [text(&chain()[..3]), vec![0; 4096]].concat();
    insta::assert_snapshot!(open(bytes), @"
    path a b
      a user: one
      b user: two
    ! DamagedLine: line 4: not readable as JSON; set aside
    ! TornTail: line 4: the last line is cut off; it is kept and set aside
    ");
}

#[test]
fn json_that_is_no_entry_is_set_aside() {
    let mut lines = chain();
    lines.insert(2, "{}".to_owned());
    lines.insert(3, "[]".to_owned());
    lines.insert(4, r#"["message","zz",null]"#.to_owned());
    lines.insert(5, "null".to_owned());
    lines.insert(6, r#"{"type":5,"id":"q"}"#.to_owned());
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d user: four
    ! NotAnEntry: line 3: no entry (it has no type); set aside
    ! DamagedLine: line 4: not readable as JSON; set aside
    ! DamagedLine: line 5: not readable as JSON; set aside
    ! DamagedLine: line 6: not readable as JSON; set aside
    ! NotAnEntry: line 7: no entry (it has no type); set aside
    ");
}

#[test]
fn unknown_types_are_kept_on_the_path() {
    let mut lines = chain();
    lines[3] =
        r#"{"type":"from_the_future","id":"c","parentId":"b","name":{"not":"text"},"n":1.50}"#
            .to_owned();
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      d user: four
    ");
}

#[test]
fn a_huge_line_reads_whole() {
    let mut lines = chain();
    lines[3] = user("c", "b", &"x".repeat(9 << 20));
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: 9437184 bytes
      d user: four
    ");
}

#[test]
fn arguments_nested_beyond_reason_are_read_and_told() {
    let depth = 200_000;
    let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let mut lines = chain();
    lines[4] = message(
        "d",
        "c",
        &format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"t","name":"bash","arguments":{nested}}}]}}"#
        ),
    );
    insta::assert_snapshot!(open(text(&lines)), @"
    path a b c d
      a user: one
      b user: two
      c user: three
      d assistant: 400006 bytes
    ");
}

#[test]
fn nothing_at_all_is_an_empty_session() {
    for bytes in ["", "\n", "\n \n\r\n", "  "] {
        let decoded = decode_bytes(bytes.into());
        assert!(
            decoded.tree.is_empty() && decoded.tree.header().is_none(),
            "{bytes:?}"
        );
        assert_eq!(decoded.tree.leaf(), Leaf::Root);
        let path = decoded.tree.path(decoded.tree.leaf());
        assert_eq!(
            build_context(&path, ContextRules::Own).messages().count(),
            0
        );
    }
    insta::assert_snapshot!(open("\n \n\r\n"), @"
    ! BlankLines: line 1: blank lines (3 in all); they are read as usual
    ! CarriageReturns: line 3: lines end in CR LF (1 in all); they are read as usual
    ");
}

#[test]
fn bytes_that_are_no_session_are_damaged_lines_and_nothing_else() {
    insta::assert_snapshot!(open("\u{89}PNG\nnot a session\n"), @"
    ! DamagedLine: line 1: not readable as JSON; set aside
    ! DamagedLine: line 2: not readable as JSON; set aside
    ");
}

#[test]
fn several_damages_at_once_are_each_told_on_their_line() {
    let lines = [
        format!("\u{FEFF}{HEADER}"),
        user("a", "", "one"),
        String::new(),
        "{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"mess".to_owned(),
        user("c", "b", "three"),
        user("c", "c", "four"),
        user("d", "nowhere", r"five \udead"),
        "{\"type\":\"mess".to_owned(),
    ];
    insta::assert_snapshot!(open(lines.join("\r\n")), @"
    path a c c d
      a user: one
      c user: three
      c user: four
      d user: five �
      ! RepairedBody: line 7: read after repair (lone leading surrogate in hex escape); its bytes are untouched
    ! ByteOrderMark: line 1: begins with a byte-order mark
    ! CarriageReturns: line 1: lines end in CR LF (7 in all); they are read as usual
    ! BlankLines: line 3: blank lines (1 in all); they are read as usual
    ! DamagedLine: line 4: not readable as JSON; set aside
    ! MissingParent: line 5: its parent b is not there; joined to a
    ! DuplicateId: line 6: the id c was already used on line 5; both entries are kept
    ! MissingParent: line 7: its parent nowhere is not there; joined to c
    ! DamagedLine: line 8: not readable as JSON; set aside
    ! TornTail: line 8: the last line is cut off; it is kept and set aside
    ");
}

#[test]
fn two_records_on_one_line_are_both_read() {
    let lines = chain();
    let joined = [&lines[..2], &[lines[2..4].concat()], &lines[4..]].concat();
    let decoded = decode_bytes(text(&joined));
    let tree = &decoded.tree;
    let ids: Vec<&str> = tree.indices().map(|index| tree.id(index)).collect();
    assert_eq!(ids, ["a", "b", "c", "d"]);
    let said: Vec<_> = decoded
        .diagnostics
        .iter()
        .map(|said| (said.kind, said.line))
        .collect();
    assert_eq!(said, [(DiagnosticKind::SharedLine, Some(3))]);
    let plain = decode_bytes(text(&lines));
    let bodies = |decoded: &Decoded| {
        let entries = decoded
            .tree
            .indices()
            .map(|index| decoded.tree.entry(index).ok());
        entries.collect::<Vec<_>>()
    };
    assert_eq!(bodies(&decoded), bodies(&plain));
}
