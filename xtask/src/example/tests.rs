//! Checks of the example session and of growth rounds: a sound tree, paired tool calls, sizes, and facts that hold.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::{example_facts, example_session, growth_round};

fn parsed(lines: &[String]) -> Vec<Value> {
    lines
        .iter()
        .map(|l| serde_json::from_str(l).expect("a JSON object"))
        .collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Entries from the root to the last one in file order.
fn active_path(entries: &[Value]) -> Vec<&Value> {
    let by_id: HashMap<&str, &Value> = entries.iter().map(|e| (text(e, "id"), e)).collect();
    let mut at = entries.last();
    let mut path = Vec::new();
    while let Some(entry) = at {
        path.push(entry);
        at = entry["parentId"].as_str().map(|id| by_id[id]);
    }
    path.reverse();
    path
}

fn blocks(entry: &Value) -> &[Value] {
    entry["message"]["content"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

fn user_texts(path: &[&Value]) -> Vec<String> {
    path.iter()
        .filter(|e| e["message"]["role"] == "user")
        .map(|e| match e["message"]["content"].as_str() {
            Some(text) => text.to_string(),
            None => {
                let parts: Vec<&str> = blocks(e).iter().map(|b| text(b, "text")).collect();
                parts.join("\n\n")
            }
        })
        .collect()
}

/// Characters as the peers' estimate counts them.
fn size(entry: &Value) -> usize {
    let count = |v: &Value| v.as_str().map_or(0, |s| s.chars().count());
    let m = &entry["message"];
    let mut n = count(&m["content"]) + count(&entry["summary"]) + count(&entry["content"]);
    n += count(&m["command"]) + count(&m["output"]);
    for b in blocks(entry) {
        n += count(&b["text"]) + count(&b["thinking"]) + count(&b["name"]);
        if b["type"] == "toolCall" {
            n += b["arguments"].to_string().chars().count();
        }
    }
    n
}

/// Every result follows its call, every call has one result; returns the paths that were written or edited.
fn check_calls(path: &[&Value]) -> BTreeSet<String> {
    let mut open: HashMap<String, Value> = HashMap::new();
    let mut modified = BTreeSet::new();
    for entry in path {
        let m = &entry["message"];
        if m["role"] == "toolResult" {
            let call = open
                .remove(text(m, "toolCallId"))
                .expect("a call before its result");
            assert_eq!(call["name"], m["toolName"]);
            let writes = matches!(text(m, "toolName"), "write" | "edit");
            if writes && m["isError"] == false {
                modified.insert(text(&call["arguments"], "path").to_string());
            }
        } else if entry["type"] == "message" {
            assert!(open.is_empty(), "calls without a result");
        }
        for b in blocks(entry).iter().filter(|b| b["type"] == "toolCall") {
            let old = open.insert(text(b, "id").to_string(), b.clone());
            assert!(old.is_none(), "call id used twice");
        }
    }
    assert!(open.is_empty(), "calls without a result at the end");
    modified
}

#[test]
fn the_tree_is_sound() {
    let entries = parsed(&example_session());
    let (header, entries) = entries.split_first().unwrap();
    assert_eq!(header["type"], "session");
    assert_eq!(header["version"], 3);
    assert!((400..=550).contains(&entries.len()), "{}", entries.len());
    let mut seen = HashSet::new();
    let mut last = String::new();
    for (i, e) in entries.iter().enumerate() {
        match e["parentId"].as_str() {
            Some(parent) => assert!(seen.contains(parent)),
            None => assert_eq!(i, 0),
        }
        assert_eq!(text(e, "id").len(), 8);
        assert!(seen.insert(text(e, "id")), "duplicate id");
        assert!(
            text(e, "timestamp") >= last.as_str(),
            "time does not go back"
        );
        last = text(e, "timestamp").to_string();
        assert_ne!(e["type"], "compaction");
    }
}

#[test]
fn calls_and_facts_agree() {
    let entries = parsed(&example_session()[1..]);
    let path = active_path(&entries);
    let facts = example_facts();
    let modified: Vec<String> = check_calls(&path).into_iter().collect();
    assert_eq!(modified, facts.modified_files);
    let users = user_texts(&path);
    assert_eq!(users.first(), Some(&facts.first_request));
    assert_eq!(users.last(), Some(&facts.latest_request));
    assert!(facts.user_rules.len() >= 6);
    for rule in &facts.user_rules {
        assert!(users.iter().any(|u| u.contains(rule)), "{rule}");
    }
}

#[test]
fn sizes_are_as_promised() {
    let lines = example_session();
    let bytes: usize = lines.iter().map(|l| l.len() + 1).sum();
    assert!(bytes < 1_200_000, "{bytes}");
    let entries = parsed(&lines[1..]);
    let path = active_path(&entries);
    let tokens = path.iter().map(|e| size(e)).sum::<usize>() / 4;
    assert!((150_000..=166_000).contains(&tokens), "{tokens}");
    let is_user = |e: &&Value| e["message"]["role"] == "user";
    let turn = path.iter().rposition(is_user).unwrap();
    let tail: usize = path[turn + 1..].iter().map(|e| size(e)).sum();
    assert!(tail > 90_000, "{tail}");
}

#[test]
fn the_promised_kinds_occur() {
    let entries = parsed(&example_session()[1..]);
    let on_path: HashSet<&str> = active_path(&entries)
        .iter()
        .map(|e| text(e, "id"))
        .collect();
    let off = entries.iter().filter(|e| !on_path.contains(text(e, "id")));
    assert!(off.count() > 10, "abandoned branches");
    for kind in [
        "model_change",
        "thinking_level_change",
        "session_info",
        "label",
        "custom",
        "custom_message",
        "branch_summary",
    ] {
        assert!(entries.iter().any(|e| e["type"] == kind), "{kind}");
    }
    for reason in ["stop", "toolUse", "error", "aborted"] {
        let has = |e: &Value| e["message"]["stopReason"] == reason;
        assert!(entries.iter().any(has), "{reason}");
    }
    let hidden = |e: &&Value| e["message"]["excludeFromContext"] == true;
    assert_eq!(entries.iter().filter(hidden).count(), 1);
    for e in entries
        .iter()
        .filter(|e| e["message"]["role"] == "assistant")
    {
        let u = &e["message"]["usage"];
        let part = |k: &str| u[k].as_u64().unwrap();
        let sum = part("input") + part("output") + part("cacheRead") + part("cacheWrite");
        assert_eq!(sum, part("totalTokens"));
    }
}

#[test]
fn the_same_at_every_call() {
    assert_eq!(example_session(), example_session());
    assert_eq!(growth_round(3, "x").lines, growth_round(3, "x").lines);
}

#[test]
fn rounds_grow_the_session() {
    let mut entries = parsed(&example_session()[1..]);
    let mut rules = HashSet::new();
    for round in 0..24 {
        let leaf = text(entries.last().unwrap(), "id").to_string();
        let grown = growth_round(round, &leaf);
        let new = parsed(&grown.lines);
        assert!(
            (20..=60).contains(&new.len()),
            "round {round}: {}",
            new.len()
        );
        let tokens = new.iter().map(size).sum::<usize>() / 4;
        assert!(
            (25_000..=40_000).contains(&tokens),
            "round {round}: {tokens}"
        );
        assert_eq!(text(&new[0], "parentId"), leaf);
        assert_eq!(text(new.last().unwrap(), "id"), grown.leaf);
        let path: Vec<&Value> = new.iter().collect();
        let modified: Vec<String> = check_calls(&path).into_iter().collect();
        assert_eq!(modified, grown.modified_files);
        let users = user_texts(&path);
        assert!((1..=3).contains(&users.len()));
        assert_eq!(users.last(), Some(&grown.latest_request));
        for rule in &grown.user_rules {
            assert!(users.iter().any(|u| u.contains(rule)), "{rule}");
            assert!(rules.insert(rule.clone()), "rule stated before: {rule}");
        }
        entries.extend(new);
    }
    let ids: HashSet<&str> = entries.iter().map(|e| text(e, "id")).collect();
    assert_eq!(ids.len(), entries.len());
}
