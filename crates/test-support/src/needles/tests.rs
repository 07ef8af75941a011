//! Tests of planting, judging and writing summaries.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

fn planted(seed: u64) -> Planted {
    planted_as(Phrasings::Known, seed)
}

fn planted_as(phrasings: Phrasings, seed: u64) -> Planted {
    plant(&transcript(seed, 200_000), phrasings, seed, 4)
}

/// Returns both sets of phrasings with seeds.
fn sets() -> impl Iterator<Item = (Phrasings, u64)> {
    Phrasings::ALL
        .into_iter()
        .flat_map(|phrasings| (0..8).map(move |seed| (phrasings, seed)))
}

fn entries(planted: &Planted) -> Vec<Value> {
    let lines = planted.lines.iter();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn a_planted_session_is_one_chain_whose_calls_have_their_results() {
    for (phrasings, seed) in sets() {
        let planted = planted_as(phrasings, seed);
        let entries = entries(&planted);
        let mut ids = BTreeSet::new();
        let mut open: Vec<String> = Vec::new();
        for pair in entries.windows(2) {
            let [before, entry] = pair else { continue };
            let parent = if before["type"] == "session" {
                &Value::Null
            } else {
                &before["id"]
            };
            assert_eq!(&entry["parentId"], parent, "{entry}");
            assert!(
                ids.insert(entry["id"].to_string()),
                "{} comes twice",
                entry["id"]
            );
            let message = &entry["message"];
            if message["role"] == "toolResult" {
                let call = message["toolCallId"].as_str().expect("an id");
                assert_eq!(open.iter().position(|id| id == call), Some(0), "{call}");
                open.remove(0);
            } else if entry["type"] == "message" {
                assert!(
                    open.is_empty(),
                    "{entry} stands between a call and its result"
                );
            }
            for block in message["content"].as_array().into_iter().flatten() {
                open.extend(
                    block["type"]
                        .eq("toolCall")
                        .then(|| block["id"].as_str().expect("an id").to_owned()),
                );
            }
        }
        assert!(open.is_empty());
    }
}

#[test]
fn the_same_seed_plants_the_same_and_every_kind_reaches_from_the_beginning_to_the_end() {
    let (one, other) = (planted(3), planted(3));
    assert_eq!(one.lines, other.lines);
    assert_ne!(one.lines, planted(4).lines);
    let blind_alone = [NeedleKind::FinishedStep, NeedleKind::Distractor];
    for kind in NeedleKind::ALL {
        if blind_alone.contains(&kind) {
            continue;
        }
        let depths: Vec<u8> = one
            .needles
            .iter()
            .filter(|needle| needle.kind == kind)
            .map(|needle| needle.depth)
            .collect();
        assert_eq!(depths.len(), 4, "{kind:?}");
        assert!(depths[0] <= 25 && depths[3] >= 75, "{kind:?}: {depths:?}");
    }
}

#[test]
fn the_entry_of_a_needle_says_it_and_nothing_else_in_the_base_does() {
    for (phrasings, seed) in sets() {
        let base = transcript(seed, 200_000).concat();
        let planted = planted_as(phrasings, seed);
        let entries = entries(&planted);
        for needle in &planted.needles {
            let entry = entries
                .iter()
                .find(|entry| entry["id"] == needle.entry_id.as_str());
            let entry = entry.unwrap_or_else(|| panic!("no entry for {needle:?}"));
            let strings = strings(entry);
            let first = &needle.literals[0];
            assert!(
                strings.iter().any(|text| text.contains(first)),
                "{needle:?} in {entry}"
            );
            assert!(
                needle.kind == NeedleKind::Decision || !base.contains(first),
                "{needle:?}"
            );
        }
    }
}

/// Returns all strings of a value.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().flat_map(strings).collect(),
        Value::Object(members) => members.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[test]
fn the_two_sets_share_no_words() {
    let said = |phrasings| -> BTreeSet<String> {
        let planted = plant(&transcript(0, 200_000), phrasings, 0, 30);
        let needles = planted.needles.into_iter();
        needles.map(|needle| needle.said).collect()
    };
    let [known, blind] = Phrasings::ALL.map(said);
    assert!(known.is_disjoint(&blind));
}

#[test]
fn everything_is_kept_where_nothing_was_taken_and_missed_where_all_was() {
    for (phrasings, seed) in sets() {
        let planted = planted_as(phrasings, seed);
        let whole: Vec<String> = entries(&planted).iter().flat_map(strings).collect();
        let seen = Seen {
            summary: String::new(),
            rest: whole.join("\n"),
        };
        for needle in &planted.needles {
            assert!(judge(needle, &seen).is_good(), "{needle:?}");
            let gone = judge(needle, &Seen::default());
            assert_eq!(gone.is_good(), !needle.kind.should_stay(), "{needle:?}");
        }
    }
}

#[test]
fn a_summary_of_a_model_has_its_share_and_shows_nothing_wrongly() {
    let planted = planted(2);
    let size = |text: &str| text.chars().count() as u64 / 4;
    for form in [Form::Sections, Form::Snapshot] {
        let summary = canned_summary(&planted.needles, form, 5, 3, 3_000, size);
        assert!(
            size(&summary) <= 3_000 && size(&summary) > 2_600,
            "{}",
            size(&summary)
        );
        let seen = Seen {
            summary,
            rest: String::new(),
        };
        let verdicts = planted
            .needles
            .iter()
            .map(|needle| (needle, judge(needle, &seen)));
        let (stay, over): (Vec<_>, Vec<_>) =
            verdicts.partition(|(needle, _)| needle.kind.should_stay());
        let kept = stay.iter().filter(|(_, verdict)| verdict.is_good()).count();
        assert!(
            (stay.len() / 4..=stay.len() / 2).contains(&kept),
            "{kept} of {}",
            stay.len()
        );
        for (needle, verdict) in over {
            assert_eq!(verdict, Verdict::Clean, "{needle:?}");
        }
    }
}

fn needle(kind: NeedleKind, literals: &[&str], instead: Option<&str>) -> Needle {
    Needle {
        kind,
        entry_id: "e1".to_owned(),
        last_entry_id: "e1".to_owned(),
        depth: 0,
        said: String::new(),
        literals: literals.iter().map(|&text| text.to_owned()).collect(),
        instead: instead.map(str::to_owned),
    }
}

/// Judges a needle against a summary and says what came of it.
fn check(kind: NeedleKind, literals: &[&str], instead: Option<&str>, summary: &str) -> bool {
    let seen = Seen {
        summary: summary.to_owned(),
        rest: String::new(),
    };
    judge(&needle(kind, literals, instead), &seen).is_good()
}

#[test]
fn what_was_replaced_counts_as_wrong_only_where_it_stands_as_current() {
    let is_fine = |summary: &str| {
        check(
            NeedleKind::Superseded,
            &["30 s", "idle timeout"],
            Some("45 s"),
            summary,
        )
    };
    assert!(!is_fine("## Critical Context\n- The idle timeout is 30 s"));
    assert!(!is_fine(
        "<user_messages>\n- set the idle timeout to 30 s\n</user_messages>"
    ));
    assert!(is_fine("- The idle timeout is 45 s, no longer 30 s"));
    assert!(is_fine("- idle timeout 45 s (formerly 30 s)"));
    assert!(is_fine("- The idle timeout is 130 s"));
    assert!(is_fine(
        "<user_messages>\n- set the idle timeout to 30 s\n- make it 45 s\n</user_messages>"
    ));
    assert!(!is_fine(
        "<user_messages>\n- make it 45 s\n</user_messages>\n<facts>\n- idle timeout 30 s\n</facts>"
    ));
}

#[test]
fn what_is_over_counts_as_wrong_only_where_it_stands_as_open() {
    let error = |summary: &str| check(NeedleKind::ResolvedError, &["E0502 here"], None, summary);
    assert!(!error("### Blocked\n- `cargo test`: E0502 here"));
    assert!(!error("<ledger>\nfailing command: E0502 here\n</ledger>"));
    assert!(!error("Failed, and not seen to pass since:\n- E0502 here"));
    assert!(error("### Blocked\n- E0502 here, fixed since"));
    assert!(error("### Done\n- E0502 here"));
    let todo = |summary: &str| {
        check(
            NeedleKind::FinishedTodo,
            &["split it in two"],
            None,
            summary,
        )
    };
    assert!(!todo("## Next Steps\n1. split it in two"));
    assert!(!todo("- [ ] split it in two"));
    assert!(todo("### In Progress\n- [x] split it in two"));
    let way = |summary: &str| {
        check(
            NeedleKind::Rejected,
            &["a regex over it", "slow"],
            None,
            summary,
        )
    };
    assert!(!way("## Key Decisions\n- **a regex over it**: short"));
    assert!(!way("- decided on a regex over it"));
    assert!(way("## Key Decisions\n- not a regex over it"));
    assert!(way("## Progress\n- proposed a regex over it"));
}

#[test]
fn a_file_counts_as_changed_only_among_changed_files() {
    let changed = |summary: &str| check(NeedleKind::ModifiedFile, &["src/a.rs"], None, summary);
    assert!(changed("<modified-files>\nsrc/a.rs\n</modified-files>"));
    assert!(!changed("<read-files>\nsrc/a.rs\n</read-files>"));
    assert!(!changed(
        "<modified-files>\nsrc/b.rs\n</modified-files>\nsrc/a.rs"
    ));
    let failed = |summary: &str| check(NeedleKind::FailedCall, &["src/a.rs"], None, summary);
    assert!(!failed("<modified-files>\nsrc/a.rs\n</modified-files>"));
    assert!(!failed("- edited `src/a.rs`"));
    assert!(failed("- edit of src/a.rs failed"));
    assert!(failed("<read-files>\nsrc/a.rs\n</read-files>"));
}
