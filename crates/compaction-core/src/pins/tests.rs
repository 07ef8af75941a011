//! What is pinned, what is not any more, and what has no room.

use insta::assert_snapshot;
use session_model::{EntryId, Leaf, SessionTree, decode_bytes};

use super::*;
use crate::rules::Profile;

/// Returns the tree of the notation, with `more` lines behind it.
fn tree(notation: &str, more: &[&str]) -> SessionTree {
    let text = test_support::session(notation) + &more.join("\n");
    decode_bytes(text.into_bytes()).tree
}

fn label_line(id: &str, parent: &str, target: &str, label: Option<&str>) -> String {
    let label = label.map_or(String::new(), |label| format!(r#","label":"{label}""#));
    format!(
        r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:00.000Z","targetId":"{target}"{label}}}"#
    )
}

fn custom_line(id: &str, parent: &str, kind: &str, data: &str) -> String {
    format!(
        r#"{{"type":"custom","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:00.000Z","customType":"{kind}","data":{data}}}"#
    )
}

fn at(tree: &SessionTree, leaf: &str) -> Leaf {
    Leaf::At(tree.find(leaf).unwrap())
}

/// Returns the pins at a leaf: ids and the beginning of each text.
fn pinned(tree: &SessionTree, leaf: &str) -> String {
    let pins = pins_of(&tree.path(at(tree, leaf)));
    let line = |pin: &Pin| {
        let head: String = pin.text.chars().take(12).collect();
        format!("{}: {head}", pin.entry_id)
    };
    pins.iter().map(line).collect::<Vec<_>>().join(" | ")
}

fn pins(tree: &SessionTree, leaf: &str, budget: u64) -> Pins {
    let path = tree.path(at(tree, leaf));
    Pins::of(&path, TokenCount(budget), Profile::Own.counter())
}

#[test]
fn labelled_entries_and_texts_of_their_own_are_pinned_until_the_label_is_cleared() {
    let lines = [
        label_line("l1", "e3", "e1", Some("pin")),
        custom_line("p1", "l1", PIN_ENTRY, r#"{"text":"never push to main"}"#),
        label_line("l2", "p1", "e2", Some("a good place")),
    ];
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    let before = tree("u:5 a:5 u:5", &more);
    assert_snapshot!(pinned(&before, "l2"), @"e1: #1 lorem ips | p1: never push t");

    let lines = [&lines[..], &[label_line("l3", "l2", "e1", None)]].concat();
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_snapshot!(pinned(&tree("u:5 a:5 u:5", &more), "l3"), @"p1: never push t");

    let lines = [&lines[..], &[label_line("l4", "l3", "p1", None)]].concat();
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_snapshot!(pinned(&tree("u:5 a:5 u:5", &more), "l4"), @"");

    // The newest label counts; earlier ones do not matter.
    let again = label_line("l5", "l4", "p1", Some("pin"));
    let lines = [&lines[..], &[again]].concat();
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_snapshot!(pinned(&tree("u:5 a:5 u:5", &more), "l5"), @"p1: never push t");
}

#[test]
fn another_label_takes_the_place_of_a_pin_on_an_entry_and_only_names_a_text() {
    let lines = [
        label_line("l1", "e2", "e1", Some("pin")),
        label_line("l2", "l1", "e1", Some("start")),
        custom_line("p1", "l2", PIN_ENTRY, r#"{"text":"never push to main"}"#),
        label_line("l3", "p1", "p1", Some("a rule")),
    ];
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    assert_snapshot!(pinned(&tree("u:5 a:5", &more), "l3"), @"p1: never push t");
}

#[test]
fn what_was_pinned_on_another_branch_stays_pinned() {
    // The pins are set at the end; after a return to e2 the text is still pinned, and so is the entry that is still on
    // the path.
    let lines = [
        label_line("l1", "e4", "e1", Some("pin")),
        label_line("l2", "l1", "e3", Some("pin")),
        custom_line("p1", "l2", PIN_ENTRY, r#"{"text":"never push to main"}"#),
    ];
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    let tree = tree("u:5 a:5 u:5 a:5", &more);
    assert_snapshot!(pinned(&tree, "p1"), @"e1: #1 lorem ips | e3: #3 lorem ips | p1: never push t");
    assert_snapshot!(pinned(&tree, "e2"), @"e1: #1 lorem ips | p1: never push t");
}

#[test]
fn what_says_nothing_or_is_damaged_is_no_pin() {
    let image = r#"{"type":"message","id":"i1","parentId":"e2","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"image","data":"QUJD","mimeType":"image/png"}],"timestamp":1}}"#;
    let both = r#"{"type":"message","id":"i2","parentId":"i1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","data":"QUJD","mimeType":"image/png"}],"timestamp":1}}"#;
    let lines = [
        image.to_owned(),
        both.to_owned(),
        custom_line("c1", "i2", "other/state", r#"{"text":"no pin"}"#),
        custom_line("c2", "c1", PIN_ENTRY, r#"{"text":7}"#),
        custom_line("c3", "c2", PIN_ENTRY, r#"{"text":"  "}"#),
        custom_line("c4", "c3", PIN_ENTRY, "null"),
        label_line("l1", "c4", "i1", Some("pin")),
        label_line("l2", "l1", "i2", Some("pin")),
        label_line("l3", "l2", "e2", Some("pin")),
        label_line("l4", "l3", "c1", Some("pin")),
        label_line("l5", "l4", "nowhere", Some("pin")),
    ];
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    // e2 calls a tool and says nothing.
    let tree = tree("u:5 call:1:5", &more);
    let pins = pins_of(&tree.path(at(&tree, "l5")));
    assert_eq!(pins.len(), 1, "{pins:?}");
    assert_eq!(pins[0].text, "look\n[image]");
}

#[test]
fn a_summary_is_pinned_by_its_prose() {
    let summary = r###"{"type":"compaction","id":"k1","parentId":"e2","timestamp":"2026-01-01T00:00:00.000Z","summary":"## Goal\nships\n\n<read-files>\na.rs\n</read-files>","firstKeptEntryId":"e2","tokensBefore":9}"###;
    let label = label_line("l1", "k1", "k1", Some("pin"));
    let tree = tree("u:5 a:5", &[summary, &label]);
    let pins = pins_of(&tree.path(at(&tree, "l1")));
    assert_eq!(pins[0].text, "## Goal\nships");
}

#[test]
fn tool_results_and_commands_of_the_user_are_pinned_as_the_model_knew_them() {
    let lines = [
        label_line("l1", "e4", "e3", Some("pin")),
        label_line("l2", "l1", "e4", Some("pin")),
    ];
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    let tree = tree("u:5 call:1:5 res:1:9 b:7", &more);
    let ids: Vec<_> = pins_of(&tree.path(at(&tree, "l2")))
        .into_iter()
        .map(|pin| (pin.entry_id.to_string(), pin.text.is_empty()))
        .collect();
    assert_eq!(ids, [("e3".to_owned(), false), ("e4".to_owned(), false)]);
}

#[test]
fn what_cannot_be_pinned_is_refused_with_clear_words() {
    let lines = [
        label_line("l1", "e3", "e1", Some("pin")),
        custom_line("p1", "l1", PIN_ENTRY, r#"{"text":"never push to main"}"#),
    ];
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    let tree = tree("u:5 a:200 call:1:5 ^e2 u:6", &more);
    let path = tree.path(at(&tree, "p1"));
    let counter = Profile::Own.counter();
    let some = pins(&tree, "p1", 100);
    let refused = |pins: &Pins, target: PinTarget| {
        let refused = pins.add(&path, &target, counter);
        refused.map(|new| new.tokens).unwrap_err().to_string()
    };
    let entry = |id: &str| PinTarget::Entry(EntryId::new(id));
    let text = |text: &str| PinTarget::Text(text.to_owned());
    let all = [
        refused(&some, entry("nope")),
        refused(&some, entry("e3")),
        refused(&some, entry("e4")),
        refused(&some, entry("e1")),
        refused(&some, entry("p1")),
        refused(&some, text(" \n ")),
        refused(&some, text("never push to main ")),
        refused(&some, entry("e2")),
        refused(&pins(&tree, "p1", 80), text("one two three four five")),
        refused(&pins(&tree, "p1", 0), text("one two three four five")),
        some.remove(&path, &EntryId::new("e2"))
            .unwrap_err()
            .to_string(),
        some.remove(&path, &EntryId::new("nope"))
            .unwrap_err()
            .to_string(),
    ];
    assert_snapshot!(all.join("\n"), @"
    no entry nope in this session
    entry e3 has no text to pin; name a message, a tool result or a summary, or pin a text
    entry e4 is on another branch; go there first, or pin its text
    that is pinned already, by entry e1
    that is pinned already, by entry p1
    the text to pin is empty; say what to keep
    that is pinned already, by entry p1
    the pin takes 169 tokens with its id, and 37 of the 100 for pins are left; pin a shorter text, or raise compaction.pins.maxTokens (at most a quarter of the threshold)
    the pin takes 18 tokens with its id, and 17 of the 80 for pins are left; unpin p1 (18 tokens), or raise compaction.pins.maxTokens (at most a quarter of the threshold)
    the pin takes 18 tokens with its id, and 0 of the 0 for pins are left; raise compaction.pins.maxTokens (at most a quarter of the threshold)
    entry e2 is not pinned; list the pins to see what is
    no entry nope in this session
    ");
}

#[test]
fn what_is_pinned_and_unpinned_is_read_back() {
    let start = tree("u:5 a:20", &[]);
    let path = start.path(at(&start, "e2"));
    let counter = Profile::Own.counter();
    let none = pins(&start, "e2", 1000);
    let stamp = |draft: &EntryDraft, id: &str| {
        draft.stamp(&session_model::Stamp {
            id: EntryId::new(id),
            parent: Some(EntryId::new("e2")),
            timestamp: session_model::Timestamp::from_millis(0),
            part_of: None,
        })
    };
    let text = PinTarget::Text("  keep \"this\" ".to_owned());
    let text = none.add(&path, &text, counter).unwrap();
    let entry = PinTarget::Entry(EntryId::new("e2"));
    let entry = none.add(&path, &entry, counter).unwrap();
    let lines = [stamp(&text.draft, "p1"), stamp(&entry.draft, "p2")];
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    let pinned = tree("u:5 a:20", &more);
    let both = pins(&pinned, "p2", 1000);
    let path = pinned.path(at(&pinned, "p2"));
    let read: Vec<_> = both
        .pins
        .iter()
        .map(|(pin, tokens)| (pin.text.clone(), *tokens))
        .collect();
    assert_eq!(
        read,
        [
            (entry.text.clone(), entry.tokens),
            (text.text.clone(), text.tokens)
        ]
    );
    assert_eq!(both.used() + both.around + both.left(), both.budget);

    let cleared = ["e2", "p1"].map(|id| {
        stamp(
            &both.remove(&path, &EntryId::new(id)).unwrap().1,
            &format!("x{id}"),
        )
    });
    let lines = [&lines[..], &cleared].concat();
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    let gone = tree("u:5 a:20", &more);
    assert_eq!(pins(&gone, "p2", 1000).pins, []);
}

#[test]
fn a_pinned_result_is_neither_pruned_nor_shortened_where_it_stands() {
    let notation = "u:9 call:1:1 res:1:400 call:2:1 res:2:400 call:3:1 res:3:500";
    let pin = label_line("l1", "e7", "e3", Some("pin"));
    let pruned = |lines: &[&str], budget: u64| {
        let tree = tree(notation, lines);
        let mut options = crate::PlanOptions::for_window(TokenCount(100_000));
        let compaction = &mut options.settings.compaction;
        compaction.pins.max_tokens = Some(TokenCount(budget));
        compaction.prune.protect_tokens = TokenCount(500);
        compaction.prune.minimum_savings = TokenCount(10);
        compaction.prune.minimum_tokens = TokenCount(10);
        let path = tree.path(tree.leaf());
        let plan = crate::plan_prune(&path, &options, crate::PromptCache::Cold).unwrap();
        let ids = plan.pruned.iter().map(|result| result.entry_id.to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(pruned(&[], 1000), "e3 e5");
    assert_eq!(pruned(&[&pin], 1000), "e5");
    // What has no room in the budget is not held.
    assert_eq!(pruned(&[&pin], 100), "e3 e5");

    let more: Vec<String> = (2..9)
        .map(|call| format!("call:{call}:1 res:{call}:5000"))
        .collect();
    let notation = format!("u:20 call:1:1 res:1:6000 {}", more.join(" "));
    let pin = label_line("l1", "e17", "e3", Some("pin"));
    let shortened = |lines: &[&str], budget: u64| {
        let tree = tree(&notation, lines);
        let mut options = crate::PlanOptions::for_window(TokenCount(40_000));
        options.settings.compaction.pins.max_tokens = Some(TokenCount(budget));
        let plan = crate::plan_elision(&tree.path(tree.leaf()), &options).unwrap();
        let mut elisions = plan.elisions.iter();
        elisions.any(|elision| &*elision.entry_id == "e3")
    };
    assert!(shortened(&[], 8000));
    assert!(!shortened(&[&pin], 8000));
    assert!(shortened(&[&pin], 1000));
}

#[test]
fn a_copy_of_a_path_has_the_same_pins() {
    // Below e2 the pin of e1 was cleared and e2 pinned on a branch that is not copied.
    let lines = [
        label_line("l1", "e2", "e1", Some("pin")),
        custom_line("p1", "l1", PIN_ENTRY, r#"{"text":"never push to main"}"#),
        label_line("l2", "p1", "e1", None),
        label_line("l3", "l2", "e2", Some("pin")),
        custom_line("p2", "l3", PIN_ENTRY, r#"{"text":"ask first"}"#),
    ];
    let all: Vec<&str> = lines.iter().map(String::as_str).collect();
    let source = tree("u:5 a:5", &all);
    let from = source.path(at(&source, "p1"));
    let copied: Vec<String> = all[..2].iter().map(|line| (*line).to_owned()).collect();
    let grown = |drafts: &[EntryDraft]| {
        let mut lines = copied.clone();
        for (place, draft) in drafts.iter().enumerate() {
            lines.push(draft.stamp(&session_model::Stamp {
                id: EntryId::new(&format!("n{place}")),
                parent: Some(EntryId::new("p1")),
                timestamp: session_model::Timestamp::from_millis(0),
                part_of: None,
            }));
        }
        let more: Vec<&str> = lines.iter().map(String::as_str).collect();
        tree("u:5 a:5", &more)
    };
    let copy = grown(&[]);
    let drafts = carry_pins(&from, &copy.path(at(&copy, "p1")));
    assert_snapshot!(pinned(&copy, "p1"), @"e1: #1 lorem ips | p1: never push t");
    assert_snapshot!(pinned(&grown(&drafts), "p1"), @"e2: #2 lorem ips | p1: never push t | n1: ask first");
    // There is no notice if all pins fit.
    let whole = tree("u:5 a:5", &all);
    assert_eq!(carry_pins(&from, &whole.path(at(&whole, "p1"))), []);
}

#[test]
fn whatever_has_room_as_a_pin_has_room_in_a_ledger() {
    use crate::ledger::LedgerReader;
    use crate::outline::{Outline, OutlineBudget};

    let counter = Profile::Own.counter();
    let mut lines: Vec<String> = Vec::new();
    for number in 0..200 {
        let more: Vec<&str> = lines.iter().map(String::as_str).collect();
        let tree = tree("u:5 a:5", &more);
        let parent = match number {
            0 => "e2".to_owned(),
            _ => format!("0a3f99{:02x}", number - 1),
        };
        let path = tree.path(at(&tree, &parent));
        let pins = Pins::of(&path, TokenCount(600), counter);
        let text = match number % 3 {
            0 => format!("never touch number {number}"),
            1 => format!("keep {number}:\n  as it is"),
            _ => format!("nur {number}"),
        };
        if pins
            .add(&path, &PinTarget::Text(text.clone()), counter)
            .is_err()
        {
            break;
        }
        let data = serde_json::json!({ "text": text }).to_string();
        let id = format!("0a3f99{number:02x}");
        lines.push(custom_line(&id, &parent, PIN_ENTRY, &data));
    }
    assert!(lines.len() > 10, "{}", lines.len());
    let more: Vec<&str> = lines.iter().map(String::as_str).collect();
    let tree = tree("u:5 a:5", &more);
    let path = tree.path(tree.leaf());
    let context = session_model::build_context(&path, Profile::Own.context_rules());
    for ledger in [0, 2000] {
        let budget = OutlineBudget {
            tokens: TokenCount(ledger),
            pins: TokenCount(600),
        };
        let outline = Outline::of(&path, &context, context.entries.len());
        let block = outline.ledger(LedgerReader::Session, budget, counter);
        assert_eq!(block.pins_left_out, [], "{}", block.text);
        assert!(block.tokens <= TokenCount(600 + ledger), "{}", block.tokens);
    }
}

/// What `kept` says is what a block does.
#[test]
fn the_newest_pins_that_fit_are_kept() {
    use crate::ledger::LedgerReader;
    use crate::outline::{Outline, OutlineBudget};

    let counter = Profile::Own.counter();
    let line = |number: usize| {
        let text = format!("never touch number {number}");
        let data = serde_json::json!({ "text": text }).to_string();
        let parent = match number {
            0 => "e2".to_owned(),
            _ => format!("0a3f99{:02x}", number - 1),
        };
        custom_line(&format!("0a3f99{number:02x}"), &parent, PIN_ENTRY, &data)
    };
    let lines: Vec<String> = (0..6).map(line).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let tree = tree("u:5 a:5", &lines);
    let path = tree.path(tree.leaf());
    let context = session_model::build_context(&path, Profile::Own.context_rules());
    let mut counts = std::collections::BTreeSet::new();
    for room in (0..300).step_by(10) {
        let pins = Pins::of(&path, TokenCount(room), counter);
        let kept = pins.kept();
        let budget = OutlineBudget {
            tokens: TokenCount(2000),
            pins: TokenCount(room),
        };
        let outline = Outline::of(&path, &context, context.entries.len());
        let block = outline.ledger(LedgerReader::Session, budget, counter);
        let rows = pins.pins.iter().zip(&kept);
        let left = rows.filter(|(_, kept)| !**kept);
        let left: Vec<EntryId> = left.map(|((pin, _), _)| pin.entry_id.clone()).collect();
        assert_eq!(block.pins_left_out, left, "{room}");
        assert!(kept.is_sorted(), "{room}: {kept:?}");
        counts.insert(left.len());
    }
    assert!(counts.len() > 3, "{counts:?}");
}
