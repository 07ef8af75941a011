//! What holds for every session: bytes survive, parents form no ring, projections are paired, drafts read back.
//!
//! 256 cases each; `PROPTEST_CASES=100000` asks for more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use session_model::json::{
    Members, RawJson, canonical, canonical_utf16_len, utf16_len, utf16_prefix,
};
use session_model::{
    AgentMessage, AssistantMessage, BashExecution, Block, BranchSummaryDraft, CompactionDraft,
    Content, ContextEditDraft, ContextRules, Cost, CustomDraft, CustomMessage, Decoded, Decoder,
    Entry, EntryBody, EntryDraft, EntryId, EntryIndex, FirstKept, HeaderDraft, ImageBlock,
    LabelDraft, Leaf, LlmMessage, MessageDraft, ModelRef, RoleOrder, SessionInfoDraft, SessionTree,
    Stamp, StopReason, SummaryMessage, SystemMessage, TextBlock, ThinkingBlock, Timestamp,
    ToolCall, ToolResultMessage, Usage, UserMessage, build_context, check_pairs, decode_bytes,
    migrate_lines, pair_calls,
};
use test_support::{any_session, any_session_text, damaged_session};

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;
const ORDERS: [RoleOrder; 2] = [RoleOrder::Any, RoleOrder::Alternating];
const RULES: [ContextRules; 2] = [ContextRules::Own, ContextRules::Pi];

/// Returns `line` with type, id and parentId in front, as the pi family writes it.
fn peers_spelling(line: &str) -> String {
    let members = Members::parse(line)
        .map(|members| members.0)
        .unwrap_or_default();
    let rank = |key: &str| {
        let front = ["type", "id", "parentId"];
        front
            .iter()
            .position(|name| *name == key)
            .unwrap_or(front.len())
    };
    let mut members: Vec<(String, &str)> = members
        .iter()
        .map(|(key, value)| (format!("{}:{}", Value::from(&**key), value.get()), &**key))
        .collect();
    members.sort_by_key(|(_, key)| rank(key));
    let members: Vec<String> = members.into_iter().map(|(member, _)| member).collect();
    format!("{{{}}}", members.join(","))
}

/// Valid sessions, in the spelling whose heads are read fast and in another.
fn any_spelling() -> impl Strategy<Value = Vec<String>> {
    (any_session(), any::<bool>()).prop_map(|(lines, fast)| match fast {
        true => lines.iter().map(|line| peers_spelling(line)).collect(),
        false => lines,
    })
}

fn text(lines: &[String]) -> Vec<u8> {
    let lines = lines.iter().map(|line| format!("{line}\n"));
    lines.collect::<String>().into_bytes()
}

/// Bytes that are nearly sessions: fragments of lines in any order, and noise.
fn nearly_session() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        Just(HEADER.as_bytes().to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        ("[a-d]", "[a-d]").prop_map(|(id, parent)| {
            format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"x\"}}}}\n").into_bytes()
        }),
        ("[a-d]", "[a-d]", "[a-d]").prop_map(|(id, parent, kept)| {
            format!("{{\"type\":\"compaction\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"summary\":\"s\",\"firstKeptEntryId\":\"{kept}\"}}\n").into_bytes()
        }),
        ("[a-d]", "[a-d]").prop_map(|(id, parent)| {
            format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"mes\n").into_bytes()
        }),
        Just(b"{\"type\":\"label\",\"id\":null}\n".to_vec()),
        Just(b"{\"id\":\"a\",\"message\":{\"role\":\"assistant\",\"content\":[[]]},\"type\":\"message\"}\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
    ];
    prop::collection::vec(fragment, 0..24).prop_map(|fragments| fragments.concat())
}

/// Walks every path with a bound, and reads all there is to read.
fn check_tree(decoded: &Decoded, bytes: &[u8]) -> Result<(), TestCaseError> {
    let tree = &decoded.tree;
    for index in tree.indices() {
        let mut at = tree.parent(index);
        let mut steps = 0;
        while let Some(parent) = at {
            steps += 1;
            prop_assert!(steps < tree.len(), "a ring through {}", tree.id(index));
            at = tree.parent(parent);
        }
        let span = tree.span(index);
        let written = &bytes[span.offset as usize..span.end() as usize];
        prop_assert!(!written.contains(&b'\n'));
        prop_assert_eq!(tree.raw_line(index).ok(), Some(written.to_vec()));
        prop_assert!(tree.find(tree.id(index)).is_some());
        if let Ok(entry) = tree.entry(index) {
            prop_assert_eq!(entry.body.kind(), tree.kind(index));
        }
    }
    for index in tree.leaves().into_iter().map(Leaf::At).chain([tree.leaf()]) {
        check_projections(tree, index)?;
    }
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    for said in &decoded.diagnostics {
        prop_assert!(
            said.line.is_none_or(|line| 0 < line && line <= lines),
            "{said:?}"
        );
    }
    prop_assert!(tree.labels().len() <= tree.len());
    prop_assert!(tree.name().is_none_or(|name| !name.is_empty()));
    Ok(())
}

/// Both contexts of `leaf` are paired in both orders, and pairing them again changes nothing.
fn check_projections(tree: &SessionTree, leaf: Leaf) -> Result<(), TestCaseError> {
    for rules in RULES {
        let context = build_context(&tree.path(leaf), rules);
        for order in ORDERS {
            let (messages, _) = context.to_llm(order);
            prop_assert_eq!(check_pairs(&messages, order), vec![]);
            prop_assert_eq!(pair_calls(messages.clone(), order), (messages, vec![]));
        }
    }
    Ok(())
}

/// Everything about a tree that does not depend on its source.
fn shape(decoded: &Decoded) -> Vec<String> {
    let tree = &decoded.tree;
    let rows = tree.indices().map(|index| {
        let parent = tree.parent(index).map(EntryIndex::as_usize);
        let id = tree.id(index);
        format!(
            "{} {id:?} {parent:?} {:?} {:?}",
            tree.line(index),
            tree.kind(index),
            tree.span(index)
        )
    });
    let ends = (decoded.bytes, decoded.lines, decoded.ends_with_newline);
    let whole = [format!("{:?} {} {ends:?}", tree.header(), tree.version())];
    rows.chain(whole).collect()
}

fn decode_in_blocks(bytes: &[u8], sizes: &[usize]) -> Decoded {
    let mut decoder = Decoder::new();
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (block, after) = rest.split_at((*size).min(rest.len()));
        decoder.feed(block);
        rest = after;
    }
    decoder.finish(Arc::new(bytes.to_vec()))
}

fn path_ids(tree: &SessionTree, index: EntryIndex) -> Vec<&str> {
    let path = tree.path(Leaf::At(index));
    path.entries().iter().map(|index| tree.id(*index)).collect()
}

proptest! {
    #[test]
    fn spans_of_a_sound_session_give_back_every_byte(lines in any_spelling()) {
        let bytes = text(&lines);
        let decoded = decode_bytes(bytes.clone());
        prop_assert_eq!(&decoded.diagnostics, &[]);
        let mut again = format!("{}\n", lines[0]).into_bytes();
        for index in decoded.tree.indices() {
            prop_assert_eq!(decoded.tree.span(index).offset, again.len() as u64);
            again.extend(decoded.tree.raw_line(index).unwrap_or_default());
            again.push(b'\n');
        }
        prop_assert_eq!(again, bytes);
    }

    #[test]
    fn spans_of_a_damaged_session_are_whole_lines_of_it((_, bytes) in damaged_session()) {
        let decoded = decode_bytes(bytes.clone());
        let mut end = 0;
        for index in decoded.tree.indices() {
            let span = decoded.tree.span(index);
            prop_assert!(span.offset >= end, "spans are ascending and do not overlap");
            end = span.end();
            let before = &bytes[..span.offset as usize];
            prop_assert!(matches!(before, [] | [.., b'\n'] | b"\xEF\xBB\xBF"));
            let after = &bytes[end as usize..];
            prop_assert!(matches!(after, [] | [b'\n', ..] | [b'\r', b'\n', ..] | [b'\r']));
        }
        prop_assert_eq!(decoded.bytes, bytes.len() as u64);
    }

    #[test]
    fn blocks_of_any_size_give_the_same_tree(
        (_, bytes) in damaged_session(),
        sizes in prop::collection::vec(1..400_usize, 1..8),
    ) {
        let whole = decode_bytes(bytes.clone());
        let blocks = decode_in_blocks(&bytes, &sizes);
        prop_assert_eq!(shape(&blocks), shape(&whole));
        prop_assert_eq!(blocks.diagnostics, whole.diagnostics);
    }

    #[test]
    fn blocks_of_any_size_give_the_same_tree_of_near_sessions(
        bytes in nearly_session(),
        sizes in prop::collection::vec(1..9_usize, 1..8),
    ) {
        let whole = decode_bytes(bytes.clone());
        let blocks = decode_in_blocks(&bytes, &sizes);
        prop_assert_eq!(shape(&blocks), shape(&whole));
        prop_assert_eq!(blocks.diagnostics, whole.diagnostics);
    }

    #[test]
    fn any_bytes_open(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check_tree(&decode_bytes(bytes.clone()), &bytes)?;
    }

    #[test]
    fn bytes_that_are_nearly_a_session_open_without_a_ring(bytes in nearly_session()) {
        check_tree(&decode_bytes(bytes.clone()), &bytes)?;
    }

    #[test]
    fn damaged_sessions_open_without_a_ring((_, bytes) in damaged_session()) {
        check_tree(&decode_bytes(bytes.clone()), &bytes)?;
    }

    #[test]
    fn a_damaged_line_costs_no_other_entry(
        lines in any_spelling(),
        damaged in any::<Index>(),
        cut in any::<Index>(),
        noise in prop::collection::vec(any::<u8>().prop_filter("one line", |byte| *byte != b'\n'), 0..9),
    ) {
        let damaged = damaged.index(lines.len());
        let mut broken: Vec<Vec<u8>> = lines.iter().map(|line| line.clone().into_bytes()).collect();
        let cut = cut.index(broken[damaged].len());
        broken[damaged].truncate(cut);
        broken[damaged].extend(noise);
        let decoded = decode_bytes([broken.join(&b'\n'), b"\n".to_vec()].concat());
        let read: BTreeMap<u64, EntryIndex> =
            decoded.tree.indices().map(|index| (decoded.tree.line(index), index)).collect();
        for (place, line) in lines.iter().enumerate().skip(1).filter(|(place, _)| *place != damaged) {
            let index = read.get(&(place as u64 + 1)).copied();
            let raw = index.and_then(|index| decoded.tree.raw_line(index).ok());
            prop_assert_eq!(raw.as_deref(), Some(line.as_bytes()), "line {}", place + 1);
        }
    }

    #[test]
    fn a_line_damaged_behind_its_head_is_all_that_its_descendants_lose(
        lines in any_session(),
        damaged in any::<Index>(),
        cut in any::<Index>(),
    ) {
        prop_assume!(lines.len() > 1);
        let mut lines: Vec<String> = lines.iter().map(|line| peers_spelling(line)).collect();
        let sound = decode_bytes(text(&lines)).tree;
        let line = 1 + damaged.index(lines.len() - 1);
        let id = sound.id(sound.indices().nth(line - 1).ok_or_else(|| TestCaseError::reject("no entry"))?);
        let head = lines[line].find(",\"parentId\":").unwrap_or_default();
        let head = head + 1 + lines[line][head + 1..].find(",\"").unwrap_or_default();
        let mut cut = head + cut.index(lines[line].len() - head);
        while !lines[line].is_char_boundary(cut) {
            cut -= 1;
        }
        lines[line].truncate(cut);
        let broken = decode_bytes(text(&lines)).tree;
        for index in broken.indices() {
            let here = broken.id(index);
            let there = sound.find(here).map(|index| path_ids(&sound, index)).unwrap_or_default();
            let want: Vec<&str> = there.into_iter().filter(|other| *other != id).collect();
            let mut got = path_ids(&broken, index);
            got.retain(|other| *other != id);
            prop_assert_eq!(got, want);
        }
    }

    #[test]
    fn every_projection_pairs_calls_and_results(session in any_session_text(), leaf in any::<Index>()) {
        let tree = decode_bytes(session.into()).tree;
        for leaf in tree.leaves() {
            check_projections(&tree, Leaf::At(leaf))?;
        }
        if !tree.is_empty() {
            let leaf = tree.indices().nth(leaf.index(tree.len()));
            check_projections(&tree, leaf.map_or(Leaf::Root, Leaf::At))?;
        }
    }

    #[test]
    fn any_sequence_of_calls_and_results_is_paired_and_loses_no_result(messages in any_messages()) {
        for order in ORDERS {
            let (paired, _) = pair_calls(messages.clone(), order);
            prop_assert_eq!(check_pairs(&paired, order), vec![]);
            prop_assert_eq!(pair_calls(paired.clone(), order), (paired.clone(), vec![]));
            let told: Vec<&str> = paired.iter().flat_map(|message| message.content().texts()).collect();
            for message in &messages {
                for text in message.content().texts() {
                    prop_assert_eq!(told.iter().filter(|told| **told == text).count(), 1, "{}", text);
                }
            }
        }
    }

    #[test]
    fn canonical_text_stays_the_same_and_means_the_same(raw in any_json()) {
        let once = canonical(&raw);
        prop_assert_eq!(canonical(&once), once.clone());
        prop_assert_eq!(canonical_utf16_len(&raw), utf16_len(&once));
        let value = |text: &str| RawJson::parse(text).map(|raw| raw.to_value()).map_err(|error| TestCaseError::fail(error.to_string()));
        prop_assert!(means_the_same(&value(&once)?, &value(&raw)?), "{} became {}", raw, once);
    }

    #[test]
    fn canonical_text_of_what_is_not_json_ends(raw in "(?s).{0,40}") {
        let once = canonical(&raw);
        prop_assert_eq!(canonical_utf16_len(&raw), once.encode_utf16().count());
    }

    #[test]
    fn utf16_lengths_are_those_of_the_encoding(text in "(?s).{0,60}", units in 0..80_usize) {
        prop_assert_eq!(utf16_len(&text), text.encode_utf16().count());
        let prefix = utf16_prefix(&text, units);
        prop_assert!(text.starts_with(prefix) && utf16_len(prefix) <= units);
        if let Some(next) = text[prefix.len()..].chars().next() {
            prop_assert!(utf16_len(prefix) + next.len_utf16() > units, "the longest such prefix");
        }
    }

    #[test]
    fn migrating_version_1_keeps_the_context(
        lines in any_session(),
        kept in prop::collection::vec(kept_index(), 1..6),
        ending in prop_oneof![Just("\n"), Just("\r\n")],
        torn in prop::option::of((any::<Index>(), any::<Index>())),
    ) {
        let mut lines: Vec<String> = version_1(&lines, &kept);
        if let Some((place, cut)) = torn.filter(|_| lines.len() > 1) {
            let place = 1 + place.index(lines.len() - 1);
            let line = &mut lines[place];
            let mut cut = cut.index(line.len());
            while !line.is_char_boundary(cut) {
                cut -= 1;
            }
            line.truncate(cut);
        }
        let bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}{ending}").into_bytes()).collect();
        let first = decode_bytes(bytes.clone());
        prop_assert_eq!(first.tree.version(), 1);
        let ends = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let migrated = migrate_lines(1, ends.split(|byte| *byte == b'\n'));
        let third = decode_bytes(migrated.unwrap_or_default().join(&b'\n'));
        prop_assert_eq!(third.tree.version(), 3);
        prop_assert_eq!(ids(&third.tree), ids(&first.tree));
        for rules in RULES {
            let context = |tree: &SessionTree| {
                let context = build_context(&tree.path(tree.leaf()), rules);
                let messages: Vec<(EntryId, AgentMessage)> = context
                    .messages()
                    .map(|(id, message)| (id.clone(), AgentMessage::clone(message)))
                    .collect();
                (messages, context.thinking_level, context.model)
            };
            prop_assert_eq!(context(&third.tree), context(&first.tree));
        }
    }

    #[test]
    fn a_stamped_draft_is_one_line_that_reads_back(draft in prop_oneof![any_draft(), any_message_draft()], stamp in any_stamp()) {
        let line = draft.stamp(&stamp);
        prop_assert!(!line.contains(['\n', '\r']), "{}", line);
        let (entry, repair) = read_after_root(&line)?;
        prop_assert_eq!(repair, None);
        prop_assert_eq!(&entry.id, &stamp.id);
        prop_assert_eq!(&entry.parent, &stamp.parent);
        prop_assert_eq!(entry.timestamp, Some(stamp.timestamp));
        check_read_back(&draft, &entry.body, &stamp)?;
    }

    #[test]
    fn a_header_reads_back(id in any_text(), cwd in any_text(), parent in prop::option::of(any_text()), millis in any_millis()) {
        let timestamp = Timestamp::from_millis(millis);
        let draft = HeaderDraft { id, timestamp, cwd, parent_session: parent };
        let decoded = decode_bytes(format!("{}\n", draft.line()).into());
        prop_assert_eq!(&decoded.diagnostics, &[]);
        let header = decoded.tree.header().cloned().ok_or_else(|| TestCaseError::fail("no header"))?;
        prop_assert_eq!((header.version, header.id, header.cwd), (3, draft.id, draft.cwd));
        prop_assert_eq!(header.parent_session, draft.parent_session);
        prop_assert_eq!(Timestamp::parse(&header.timestamp), Some(timestamp));
    }
}

fn ids(tree: &SessionTree) -> Vec<&str> {
    tree.indices().map(|index| tree.id(index)).collect()
}

/// A position that a compaction of version 1 keeps from, in spellings that occur.
fn kept_index() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => (0..40_u64).prop_map(Value::from),
        1 => (0..40_u32).prop_map(|index| Value::from(f64::from(index))),
        1 => (0..40_u32).prop_map(|index| Value::from(index.to_string())),
        1 => Just(Value::Null),
        1 => Just(Value::from(-1)),
    ]
}

/// Returns `lines` as version 1 writes them: no ids, positions in compactions.
fn version_1(lines: &[String], kept: &[Value]) -> Vec<String> {
    let mut kept = kept.iter().cycle();
    let lines = lines.iter().map(|line| {
        let mut entry: Value = serde_json::from_str(line).unwrap_or_default();
        let Some(members) = entry.as_object_mut() else {
            return line.clone();
        };
        for gone in ["version", "parentId", "firstKeptEntryId"] {
            members.remove(gone);
        }
        match members["type"].as_str() {
            Some("session") => {}
            Some("compaction") => {
                members.remove("id");
                let index = kept.next().cloned().unwrap_or_default();
                members.insert("firstKeptEntryIndex".to_owned(), index);
            }
            _ => drop(members.remove("id")),
        }
        peers_spelling(&entry.to_string())
            .replace("\"role\":\"bashExecution\"", "\"role\":\"hookMessage\"")
    });
    lines.collect()
}

/// Messages whose calls and results fit together, or not; each text occurs once.
fn any_messages() -> impl Strategy<Value = Vec<LlmMessage>> {
    let id = || (0..3_u8).prop_map(|id| format!("call_{id}"));
    let message = prop_oneof![
        2 => Just((0, Vec::new())),
        4 => prop::collection::vec(id(), 0..4).prop_map(|ids| (1, ids)),
        5 => id().prop_map(|id| (2, vec![id])),
        1 => Just((3, Vec::new())),
    ];
    prop::collection::vec(message, 0..16).prop_map(|messages| {
        let messages = messages.into_iter().enumerate();
        messages
            .map(|(number, (kind, ids))| llm_message(number, kind, ids))
            .collect()
    })
}

fn llm_message(number: usize, kind: u8, ids: Vec<String>) -> LlmMessage {
    let text = Block::text(format!("text {number}"));
    let answer = |content: Vec<Block>, stop_reason| {
        LlmMessage::Assistant(AssistantMessage {
            content: Content::Blocks(content),
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            usage: None,
            stop_reason,
            error_message: None,
            timestamp: None,
        })
    };
    match kind {
        0 => LlmMessage::User(Content::Text(format!("text {number}"))),
        1 => {
            let calls = ids.into_iter().map(|id| {
                Block::ToolCall(ToolCall {
                    id,
                    name: "bash".to_owned(),
                    arguments: None,
                    signature: None,
                })
            });
            answer(
                [text].into_iter().chain(calls).collect(),
                StopReason::ToolUse,
            )
        }
        2 => LlmMessage::ToolResult(ToolResultMessage {
            tool_call_id: ids.concat(),
            tool_name: "bash".to_owned(),
            content: Content::Blocks(vec![text]),
            is_error: false,
            timestamp: None,
            nested_calls: None,
        }),
        _ => answer(Vec::new(), StopReason::Error),
    }
}

/// JSON texts in odd spellings: blanks, escapes, lone surrogates, number forms, repeated and index-like keys.
fn any_json() -> impl Strategy<Value = String> {
    let escape = prop_oneof![
        6 => "[ -!#-\\[\\]-~é日😀\u{7f}\u{2028}]",
        1 => r#"\\["\\/bfnrt]"#,
        1 => r"\\u00[0-9a-fA-F]{2}",
        1 => r"\\ud8[0-9a-f]{2}",
        1 => r"\\udc[0-9a-f]{2}",
        1 => r"\\ud83d\\ude0[0-9]",
    ];
    let string =
        prop::collection::vec(escape, 0..6).prop_map(|parts| format!("\"{}\"", parts.concat()));
    let number = prop_oneof![
        "-?(0|[1-9][0-9]{0,20})",
        "-?(0|[1-9][0-9]{0,3})\\.[0-9]{1,8}",
        "-?[1-9](\\.[0-9]{1,4})?[eE][+-]?[0-9]{1,2}"
    ];
    let word = prop_oneof![Just("null"), Just("true"), Just("false")].prop_map(str::to_owned);
    let leaf = prop_oneof![3 => string, 3 => number, 1 => word];
    let key =
        prop_oneof![2 => "[a-c]{1,2}", 2 => "(0|[1-9][0-9]?|01|4294967295)", 1 => r"\\u006[1-3]"];
    let blank = || "[ \n\t]{0,1}";
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let item = (blank(), inner.clone(), blank())
            .prop_map(|(before, item, after)| before + &item + &after);
        let member = (key.clone(), blank(), inner)
            .prop_map(|(key, blank, value)| format!("\"{key}\"{blank}:{blank}{value}"));
        prop_oneof![
            prop::collection::vec(item, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(member, 0..5)
                .prop_map(|members| format!("{{{}}}", members.join(","))),
        ]
    })
}

/// Returns true when both mean the same to JavaScript; the parser of trees is not exact in the last digits.
fn means_the_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (
                one.as_f64().unwrap_or(f64::NAN),
                other.as_f64().unwrap_or(f64::NAN),
            );
            (one - other).abs() <= one.abs() * 1e-14
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| means_the_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.into_iter().all(|((key, value), (name, member))| {
                    key == name && means_the_same(value, member)
                })
        }
        _ => one == other,
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z <>&\"\\\\\n\r\t]{0,12}", "(?s).{0,12}"]
}

fn any_millis() -> impl Strategy<Value = i64> {
    0..4_000_000_000_000_i64
}

fn any_stamp() -> impl Strategy<Value = Stamp> {
    let id =
        prop_oneof!["[0-9a-f]{8}", "(?s).{1,12}"].prop_filter("not the root's", |id| id != "root");
    (id, any::<bool>(), any_millis()).prop_map(|(id, root, millis)| Stamp {
        id: EntryId::new(&id),
        parent: (!root).then(|| EntryId::new("root")),
        timestamp: Timestamp::from_millis(millis),
        part_of: None,
    })
}

/// A JSON object, often pretty-printed over several lines.
fn any_raw() -> impl Strategy<Value = RawJson> {
    let object = (any_text(), any_json(), any::<bool>()).prop_map(|(name, value, pretty)| {
        let (open, end) = if pretty {
            ("{\r\n  ", "\n}")
        } else {
            ("{", "}")
        };
        format!(
            "{open}\"name\": {},{}\"value\": {value}{end}",
            Value::from(name),
            &open[1..]
        )
    });
    object.prop_filter_map("JSON", |text| RawJson::parse(&text).ok())
}

fn any_block() -> impl Strategy<Value = Block> {
    let signature = || prop::option::of(any_text());
    prop_oneof![
        (any_text(), signature())
            .prop_map(|(text, signature)| Block::Text(TextBlock { text, signature })),
        (any_text(), any_text()).prop_map(|(data, mime_type)| {
            Block::Image(ImageBlock {
                data: Arc::from(data),
                mime_type,
            })
        }),
        (any_text(), signature(), any::<bool>()).prop_map(|(thinking, signature, redacted)| {
            Block::Thinking(ThinkingBlock {
                thinking,
                signature,
                redacted,
            })
        }),
        (
            any_text(),
            any_text(),
            prop::option::of(any_raw()),
            signature()
        )
            .prop_map(|(id, name, arguments, signature)| {
                Block::ToolCall(ToolCall {
                    id,
                    name,
                    arguments,
                    signature,
                })
            }),
    ]
}

fn any_system() -> impl Strategy<Value = SystemMessage> {
    let sections = prop::collection::btree_map(any_text(), any_text().prop_map(Some), 0..3);
    (any_text(), sections, prop::collection::vec(any_raw(), 0..3)).prop_map(
        |(content, sections, tools)| SystemMessage {
            content: Content::Text(content),
            sections: sections.into_iter().collect(),
            tools_added: tools,
            tools_removed: Vec::new(),
            timestamp: None,
        },
    )
}

fn any_draft() -> BoxedStrategy<EntryDraft> {
    let raw = || prop::option::of(any_raw());
    let id = || any_text().prop_map(|id| EntryId::new(&id));
    let kept = prop::option::of(id()).prop_map(|id| id.map_or(FirstKept::None, FirstKept::Entry));
    let short = prop::option::of(any_text());
    let compaction = (
        (any_text(), short, kept),
        0..u64::MAX / 4,
        raw(),
        raw(),
        any::<bool>(),
        prop::option::of(any_system()),
    );
    let content = prop_oneof![
        any_text().prop_map(Content::Text),
        prop::collection::vec(any_block(), 0..5).prop_map(Content::Blocks),
    ];
    prop_oneof![
        compaction.prop_map(
            |(
                (summary, short_summary, first_kept),
                tokens_before,
                details,
                preserve_data,
                from_extension,
                system,
            )| {
                EntryDraft::Compaction(Box::new(CompactionDraft {
                    summary,
                    short_summary,
                    first_kept,
                    tokens_before,
                    details,
                    preserve_data,
                    from_extension,
                    system,
                }))
            }
        ),
        (prop::option::of(id()), any_text(), raw(), any::<bool>()).prop_map(
            |(from, summary, details, from_extension)| {
                EntryDraft::BranchSummary(Box::new(BranchSummaryDraft {
                    from,
                    summary,
                    details,
                    from_extension,
                }))
            }
        ),
        (id(), prop::option::of(content)).prop_map(|(target, replacement)| {
            EntryDraft::ContextEdit(ContextEditDraft {
                target,
                replacement,
            })
        }),
        (any_text(), raw())
            .prop_map(|(custom_type, data)| EntryDraft::Custom(CustomDraft { custom_type, data })),
        (id(), prop::option::of(any_text()))
            .prop_map(|(target, label)| EntryDraft::Label(LabelDraft { target, label })),
        any_text().prop_map(|name| EntryDraft::SessionInfo(SessionInfoDraft { name })),
        (any_text(), any_text()).prop_map(|(provider, model_id)| {
            EntryDraft::ModelChange(ModelRef { provider, model_id })
        }),
        any_text().prop_map(EntryDraft::ThinkingLevelChange),
    ]
    .boxed()
}

fn any_message_draft() -> impl Strategy<Value = EntryDraft> {
    let dollars = || prop_oneof![0.0..2.0_f64, Just(f64::NAN), Just(1e21)];
    let cost = (dollars(), dollars(), dollars()).prop_map(|(input, output, total)| Cost {
        input,
        output,
        cache_read: 0.0,
        cache_write: 1e-7,
        total,
    });
    let details = prop::option::of(any_raw());
    (any_message(), prop::option::of(cost), details.boxed()).prop_filter_map(
        "a message that can be drafted",
        |(message, cost, details)| {
            let mut draft = MessageDraft::new(message).ok()?;
            (draft.cost, draft.details) = (cost, details);
            Some(EntryDraft::Message(Box::new(draft)))
        },
    )
}

/// Messages of every role that can be written as one.
fn any_message() -> BoxedStrategy<AgentMessage> {
    let content = prop_oneof![
        any_text().prop_map(Content::Text),
        prop::collection::vec(any_block(), 0..5).prop_map(Content::Blocks),
    ];
    let content = content.boxed();
    let content = || content.clone();
    let time = || prop::option::of(any_millis().prop_map(Timestamp::from_millis));
    let text = || prop::option::of(any_text());
    let tokens = || 0..=i64::MAX as u64;
    let usage = (
        tokens(),
        tokens(),
        tokens(),
        tokens(),
        tokens(),
        any::<bool>(),
    )
        .prop_map(
            |(input, output, cache_read, cache_write, total_tokens, incomplete)| Usage {
                input,
                output,
                cache_read,
                cache_write,
                total_tokens,
                incomplete,
            },
        );
    let stop = prop_oneof!["stop|length|toolUse|error|aborted", any_text()]
        .prop_map(|name| StopReason::from_name(&name));
    let names = prop::collection::vec(any_text(), 0..3);
    let sections = prop::collection::btree_map(any_text(), text(), 0..3);
    prop_oneof![
        (any_system(), content(), sections, names, time()).prop_map(
            |(system, content, sections, tools_removed, timestamp)| {
                AgentMessage::System(SystemMessage {
                    content,
                    sections: sections.into_iter().collect(),
                    tools_removed,
                    timestamp,
                    ..system
                })
            }
        ),
        (content(), time(), any::<bool>()).prop_map(|(content, timestamp, developer)| {
            let message = UserMessage { content, timestamp };
            match developer {
                true => AgentMessage::Developer(message),
                false => AgentMessage::User(message),
            }
        }),
        (
            content(),
            (any_text(), any_text(), any_text()),
            prop::option::of(usage),
            stop,
            text(),
            time()
        )
            .prop_map(
                |(
                    content,
                    (api, provider, model),
                    usage,
                    stop_reason,
                    error_message,
                    timestamp,
                )| {
                    AgentMessage::Assistant(AssistantMessage {
                        content,
                        api,
                        provider,
                        model,
                        usage,
                        stop_reason,
                        error_message,
                        timestamp,
                    })
                }
            ),
        (any_text(), any_text(), content(), any::<bool>(), time()).prop_map(
            |(tool_call_id, tool_name, content, is_error, timestamp)| {
                AgentMessage::ToolResult(ToolResultMessage {
                    tool_call_id,
                    tool_name,
                    content,
                    is_error,
                    timestamp,
                    nested_calls: None,
                })
            }
        ),
        (
            (any_text(), any_text(), text()),
            prop::option::of(any::<i64>()),
            any::<[bool; 3]>(),
            time()
        )
            .prop_map(
                |((command, output, full_output_path), exit_code, flags, timestamp)| {
                    AgentMessage::BashExecution(BashExecution {
                        command,
                        output,
                        exit_code,
                        cancelled: flags[0],
                        truncated: flags[1],
                        full_output_path,
                        exclude_from_context: flags[2],
                        timestamp,
                    })
                }
            ),
        (
            any_text(),
            content(),
            any::<bool>(),
            prop::option::of(any_raw()),
            time()
        )
            .prop_map(|(custom_type, content, display, details, timestamp)| {
                AgentMessage::Custom(Arc::new(CustomMessage {
                    custom_type,
                    content,
                    display,
                    details,
                    timestamp,
                }))
            }),
    ]
    .boxed()
}

/// Returns `message` as it reads back when it was written at `written`: with a time, with usage, and with raw
/// values in canonical spelling.
fn read_form(
    message: &AgentMessage,
    draft: Option<&MessageDraft>,
    written: Timestamp,
) -> AgentMessage {
    let raw = |raw: &RawJson| RawJson::parse(&canonical(raw.get())).expect("canonical JSON");
    let mut message = message.clone();
    if let Some(content) = message.content().map(comparable) {
        message = message.with_content(content);
    }
    let time = match &mut message {
        AgentMessage::System(system) => {
            system.content = comparable(&system.content);
            system.tools_added = system.tools_added.iter().map(raw).collect();
            &mut system.timestamp
        }
        AgentMessage::User(message) | AgentMessage::Developer(message) => &mut message.timestamp,
        AgentMessage::Assistant(answer) => {
            let usage = answer.usage.unwrap_or_default();
            answer.usage = Some(Usage {
                incomplete: false,
                ..usage
            });
            &mut answer.timestamp
        }
        AgentMessage::ToolResult(result) => &mut result.timestamp,
        AgentMessage::BashExecution(command) => &mut command.timestamp,
        AgentMessage::Custom(custom) => {
            let custom = Arc::make_mut(custom);
            let given = draft.and_then(|draft| draft.details.clone());
            custom.details = custom.details.take().or(given).as_ref().map(raw);
            &mut custom.timestamp
        }
        AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_)
        | AgentMessage::Other { .. } => panic!("no draft holds {message:?}"),
    };
    time.get_or_insert(written);
    message
}

/// Reads `line` back after a header and an entry called `root`.
fn read_after_root(line: &str) -> Result<(Entry, Option<String>), TestCaseError> {
    let root = r#"{"type":"custom","id":"root","parentId":null}"#;
    let decoded = decode_bytes(format!("{HEADER}\n{root}\n{line}\n").into());
    prop_assert_eq!(&decoded.diagnostics, &[]);
    prop_assert_eq!(decoded.tree.len(), 2);
    let last = decoded.tree.indices().next_back();
    let read = last.map(|index| decoded.tree.entry_with_repair(index));
    read.and_then(Result::ok)
        .ok_or_else(|| TestCaseError::fail("not readable"))
}

fn raw_text(raw: Option<&RawJson>) -> Option<String> {
    raw.map(|raw| canonical(raw.get()))
}

/// Returns `content` with arguments in canonical spelling; absent ones are written as an empty object.
fn comparable(content: &Content) -> Content {
    let Content::Blocks(blocks) = content else {
        return content.clone();
    };
    let blocks = blocks.iter().map(|block| match block {
        Block::ToolCall(call) => Block::ToolCall(ToolCall {
            arguments: RawJson::parse(&call.arguments_text()).ok(),
            ..call.clone()
        }),
        other => other.clone(),
    });
    Content::Blocks(blocks.collect())
}

fn check_read_back(
    draft: &EntryDraft,
    body: &EntryBody,
    stamp: &Stamp,
) -> Result<(), TestCaseError> {
    match (draft, body) {
        (EntryDraft::Compaction(draft), EntryBody::Compaction(read)) => {
            let kept = match &draft.first_kept {
                FirstKept::Entry(id) => id,
                FirstKept::None => &stamp.id,
            };
            prop_assert_eq!(&read.first_kept, kept);
            prop_assert_eq!(&read.summary, &draft.summary);
            prop_assert_eq!(&read.short_summary, &draft.short_summary);
            prop_assert_eq!(read.tokens_before, draft.tokens_before);
            prop_assert_eq!(
                raw_text(read.details.as_ref()),
                raw_text(draft.details.as_ref())
            );
            prop_assert_eq!(
                raw_text(read.preserve_data.as_ref()),
                raw_text(draft.preserve_data.as_ref())
            );
            prop_assert_eq!(
                (read.from_extension, read.from_hook),
                (draft.from_extension, draft.from_extension)
            );
            check_system(draft.system.as_ref(), read.system.as_deref(), stamp)
        }
        (EntryDraft::BranchSummary(draft), EntryBody::BranchSummary(read)) => {
            prop_assert_eq!(&*read.from, draft.from.as_deref().unwrap_or("root"));
            prop_assert_eq!(&read.summary, &draft.summary);
            prop_assert_eq!(
                raw_text(read.details.as_ref()),
                raw_text(draft.details.as_ref())
            );
            prop_assert_eq!(
                (read.from_extension, read.from_hook),
                (draft.from_extension, draft.from_extension)
            );
            Ok(())
        }
        (
            EntryDraft::ContextEdit(draft),
            EntryBody::ContextEdit {
                target,
                replacement,
            },
        ) => {
            prop_assert_eq!(target, &draft.target);
            let content = |content: &Option<Content>| content.as_ref().map(comparable);
            prop_assert_eq!(content(replacement), content(&draft.replacement));
            Ok(())
        }
        (EntryDraft::Custom(draft), EntryBody::Custom { custom_type, data }) => {
            prop_assert_eq!(custom_type, &draft.custom_type);
            prop_assert_eq!(raw_text(data.as_ref()), raw_text(draft.data.as_ref()));
            Ok(())
        }
        (EntryDraft::Message(draft), EntryBody::Message(read)) => {
            let want = read_form(draft.message(), Some(draft), stamp.timestamp);
            let got = read_form(read, None, stamp.timestamp);
            prop_assert_eq!(got, want);
            Ok(())
        }
        (EntryDraft::Label(draft), EntryBody::Label { target, label }) => {
            prop_assert_eq!(target, &draft.target);
            let want = draft.label.clone().filter(|label| !label.is_empty());
            prop_assert_eq!(label, &want);
            Ok(())
        }
        (EntryDraft::SessionInfo(draft), EntryBody::SessionInfo(name)) => {
            prop_assert_eq!(name.as_deref().unwrap_or_default(), draft.name.trim());
            Ok(())
        }
        (EntryDraft::ModelChange(draft), EntryBody::ModelChange(read)) => {
            prop_assert_eq!(read, draft);
            Ok(())
        }
        (EntryDraft::ThinkingLevelChange(draft), EntryBody::ThinkingLevelChange(read)) => {
            prop_assert_eq!(read, draft);
            Ok(())
        }
        (draft, body) => Err(TestCaseError::fail(format!("{draft:?} became {body:?}"))),
    }
}

fn check_system(
    draft: Option<&SystemMessage>,
    read: Option<&AgentMessage>,
    stamp: &Stamp,
) -> Result<(), TestCaseError> {
    let (Some(draft), Some(AgentMessage::System(read))) = (draft, read) else {
        prop_assert!(
            draft.is_none() && read.is_none(),
            "{draft:?} became {read:?}"
        );
        return Ok(());
    };
    prop_assert_eq!(&read.content, &draft.content);
    prop_assert_eq!(&read.sections, &draft.sections);
    prop_assert_eq!(read.timestamp, Some(stamp.timestamp));
    let tools = |system: &SystemMessage| -> Vec<String> {
        system
            .tools_added
            .iter()
            .map(|tool| canonical(tool.get()))
            .collect()
    };
    prop_assert_eq!(tools(read), tools(draft));
    Ok(())
}

#[test]
fn messages_are_spelt_as_peers_spell_them() {
    let stamp = Stamp {
        id: EntryId::new("22a2720e"),
        parent: None,
        timestamp: Timestamp::from_millis(1_778_547_747_762),
        part_of: None,
    };
    let written = |draft: MessageDraft| EntryDraft::Message(Box::new(draft)).stamp(&stamp);
    let answer = AgentMessage::Assistant(AssistantMessage {
        content: Content::Blocks(vec![Block::text("done")]),
        api: "openai-completions".to_owned(),
        provider: "p".to_owned(),
        model: "m".to_owned(),
        usage: Some(Usage {
            input: 12,
            output: 7,
            total_tokens: 19,
            ..Usage::default()
        }),
        stop_reason: StopReason::Stop,
        error_message: None,
        timestamp: Some(Timestamp::from_millis(1_778_547_747_721)),
    });
    let answer = MessageDraft::new(answer).expect("an answer");
    let head = r#"{"type":"message","id":"22a2720e","parentId":null,"timestamp":"2026-05-12T01:02:27.762Z","message":"#;
    let body = r#"{"role":"assistant","content":[{"type":"text","text":"done"}],"api":"openai-completions","provider":"p","model":"m","usage":{"input":12,"output":7,"cacheRead":0,"cacheWrite":0,"totalTokens":19,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1778547747721}}"#;
    assert_eq!(written(answer.clone()), format!("{head}{body}"));
    let cost = Cost {
        input: 0.25,
        total: 0.25,
        ..Cost::default()
    };
    let paid = body.replace(
        r#""cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}"#,
        r#""cost":{"input":0.25,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}"#,
    );
    assert_eq!(written(answer.with_cost(cost)), format!("{head}{paid}"));
    let result = AgentMessage::ToolResult(ToolResultMessage {
        tool_call_id: "c1".to_owned(),
        tool_name: "edit".to_owned(),
        content: Content::Blocks(vec![Block::text("ok")]),
        is_error: false,
        timestamp: None,
        nested_calls: None,
    });
    let diff = RawJson::parse("{\n\"diff\": \"-a\"}").expect("details");
    let result = MessageDraft::new(result).expect("a result");
    let body = r#"{"role":"toolResult","toolCallId":"c1","toolName":"edit","content":[{"type":"text","text":"ok"}],"details":{ "diff": "-a"},"isError":false,"timestamp":1778547747762}}"#;
    assert_eq!(written(result.with_details(diff)), format!("{head}{body}"));
    let body =
        r#"{"role":"user","content":[{"type":"text","text":"hi"}],"timestamp":1778547747762}}"#;
    assert_eq!(written(MessageDraft::user("hi")), format!("{head}{body}"));
}

#[test]
fn what_would_not_read_back_cannot_be_drafted() {
    let summary = || SummaryMessage {
        summary: "s".to_owned(),
        timestamp: None,
    };
    let content = Content::Blocks(vec![Block::Other {
        kind: "video".to_owned(),
    }]);
    let refused = [
        AgentMessage::CompactionSummary(summary()),
        AgentMessage::BranchSummary(summary()),
        AgentMessage::Other {
            role: "poet".to_owned(),
            content: Content::default(),
        },
        AgentMessage::User(UserMessage {
            content,
            timestamp: None,
        }),
    ]
    .map(|message| MessageDraft::new(message).expect_err("refused").to_string());
    assert_eq!(
        refused,
        [
            "a message of the role compactionSummary is not written by itself; write its entry",
            "a message of the role branchSummary is not written by itself; write its entry",
            "the role poet is unknown and cannot be serialized",
            "a block of the type video is unknown and cannot be serialized",
        ]
    );
}

#[test]
fn the_fast_spelling_and_the_other_give_the_same_ids() {
    let lines = [r#"{"id":"a","message":{},"parentId":null,"type":"message"}"#];
    let fast = peers_spelling(lines[0]);
    assert_eq!(
        fast,
        r#"{"type":"message","id":"a","parentId":null,"message":{}}"#
    );
    let ids: BTreeSet<String> = [lines[0], &fast]
        .iter()
        .map(|line| ids(&decode_bytes(format!("{line}\n").into()).tree).concat())
        .collect();
    assert_eq!(ids.len(), 1);
}
