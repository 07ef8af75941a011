//! What holds for every session: cut files, damaged lines, hostile files, and texts that occur once.

use std::collections::BTreeMap;

use crate::support::{Fixture, check_sound, find};
use session_import::{Format, ImportError, ImportReport, Input, Origin, detect, import};
use session_model::{AgentMessage, Decoded, DiagnosticKind, EntryBody, decode_bytes};

/// Every fixture of JSON lines.
const LINES: [&str; 9] = [
    "claude-compaction.jsonl",
    "claude-branches.jsonl",
    "codex-legacy.jsonl",
    "codex-compaction.jsonl",
    "codex-fork-child.jsonl",
    "qwen-compression.jsonl",
    "qwen-fork.jsonl",
    "gemini-journal.jsonl",
    "copilot-compaction.jsonl",
];

fn import_bytes(format: Format, bytes: Vec<u8>) -> Result<(Decoded, ImportReport), ImportError> {
    let mut out = Vec::new();
    let input = Input::of_bytes(bytes);
    let report = import(format, &input, &Origin::default(), &find, &mut out)?;
    Ok((decode_bytes(out), report))
}

/// Returns the texts of the user's messages, with how often each occurs.
fn user_texts(decoded: &Decoded) -> BTreeMap<String, usize> {
    let mut texts = BTreeMap::new();
    for index in decoded.tree.indices() {
        let entry = decoded.tree.entry(index).expect("every body can be read");
        if let EntryBody::Message(message) = &entry.body
            && let AgentMessage::User(user) = &**message
        {
            for text in user.content.texts() {
                *texts.entry(text.to_owned()).or_default() += 1;
            }
        }
    }
    texts
}

#[test]
fn a_session_cut_at_any_line_is_imported_up_to_there() {
    for name in LINES {
        let bytes = Fixture::named(name).bytes;
        let format = detect(&bytes).expect("a known format");
        let ends: Vec<usize> = bytes
            .iter()
            .enumerate()
            .filter_map(|(at, byte)| (*byte == b'\n').then_some(at + 1))
            .collect();
        let mut most = 0;
        for (start, end) in ends.iter().zip(ends.iter().skip(1)) {
            // Behind a line, and in the middle of the next one.
            for cut in [*start, (start + end) / 2] {
                let (decoded, report) = import_bytes(format, bytes[..cut].to_vec())
                    .unwrap_or_else(|error| panic!("{name} cut at {cut}: {error}"));
                check_sound(&decoded);
                let damaged = report.diagnostics.iter();
                let damaged = damaged.filter(|said| said.kind == DiagnosticKind::DamagedLine);
                assert_eq!(
                    damaged.count(),
                    usize::from(cut != *start),
                    "{name} cut at {cut}"
                );
                most = most.max(decoded.tree.len());
            }
        }
        assert!(most > 5, "{name}");
    }
}

#[test]
fn a_document_cut_anywhere_has_the_messages_before_the_cut() {
    for (name, least) in [
        ("gemini-document.json", 2),
        ("opencode-revert.json", 8),
        ("cline-compaction.json", 8),
        ("goose-export.json", 8),
        ("crush-session.json", 8),
    ] {
        let bytes = Fixture::named(name).bytes;
        let format = detect(&bytes).expect("a known format");
        let mut most = 0;
        for cut in (bytes.len() / 4..bytes.len()).step_by(37) {
            match import_bytes(format, bytes[..cut].to_vec()) {
                Ok((decoded, report)) => {
                    check_sound(&decoded);
                    assert!(!report.diagnostics.is_empty(), "{name} cut at {cut}");
                    most = most.max(user_texts(&decoded).len() + decoded.tree.len());
                }
                Err(error) => assert!(matches!(error, ImportError::Empty(_)), "{error}"),
            }
        }
        assert!(most > least, "{name}: {most}");
    }
}

#[test]
fn a_damaged_line_costs_that_line_alone() {
    for name in LINES {
        let bytes = Fixture::named(name).bytes;
        let format = detect(&bytes).expect("a known format");
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let (whole, _) = import_bytes(format, bytes.clone()).expect("it is imported");
        for damaged in 0..lines.len() {
            let mut changed = lines.clone();
            changed[damaged] = b"{\"type\":\"user\",\"uuid\":\n";
            let (decoded, _) = import_bytes(format, changed.concat()).expect("it is imported");
            check_sound(&decoded);
            // One line is at most one answer with its results, or the whole base of a fork.
            let is_base = name.contains("fork-child") && damaged == 0;
            let lost = whole.tree.len() - decoded.tree.len().min(whole.tree.len());
            assert!(lost <= 4 || is_base, "{name}, line {}: {lost}", damaged + 1);
        }
    }
}

#[test]
fn every_text_of_the_user_occurs_once() {
    let expected: [(&str, &[&str]); 14] = [
        (
            "claude-compaction.jsonl",
            &["read both files", "kept question", "after compaction"],
        ),
        (
            "claude-branches.jsonl",
            &[
                "first request: fix the parser",
                "second request: rename it",
                "second request, other wording",
                "third request: queued while busy",
            ],
        ),
        (
            "codex-legacy.jsonl",
            &[
                "first: list the files",
                "second: wrong question",
                "second: delete it",
                "third: go on",
                "fourth: and now?",
            ],
        ),
        (
            "codex-compaction.jsonl",
            &["first user message: run the seq command"],
        ),
        (
            "codex-fork-child.jsonl",
            &["base question", "forked question"],
        ),
        (
            "qwen-compression.jsonl",
            &[
                "USETOOL please read a.txt",
                "second question",
                "third after compress",
            ],
        ),
        (
            "qwen-fork.jsonl",
            &["part one, ", "part two", "hurry", "after the rewind"],
        ),
        (
            "gemini-journal.jsonl",
            &["look at @a.txt", "wrong turn", "right turn", "and now?"],
        ),
        (
            "opencode-export.json",
            &[
                "\"USETOOL please read a.txt\"",
                "\"BIGUSAGE second question\"",
                "\"third question after compaction\"",
            ],
        ),
        (
            "opencode-revert.json",
            &["first question", "second question", "undone question"],
        ),
        (
            "copilot-compaction.jsonl",
            &[
                "USETOOL please read a.txt",
                "second question",
                "third question after compaction",
            ],
        ),
        (
            "cline-compaction.json",
            &[
                "USETOOL please read a.txt",
                "second question",
                "USETOOL third question",
                "question after compaction",
            ],
        ),
        ("goose-export.json", &["read a.txt", "what does it say?"]),
        ("crush-session.json", &["read a.txt", "and now?"]),
    ];
    for (name, texts) in expected {
        let bytes = Fixture::named(name).bytes;
        let format = detect(&bytes).expect("a known format");
        let (decoded, _) = import_bytes(format, bytes).expect("it is imported");
        let expected: BTreeMap<String, usize> =
            texts.iter().map(|text| ((*text).to_owned(), 1)).collect();
        assert_eq!(user_texts(&decoded), expected, "{name}");
    }
}

/// Returns a record of Claude Code.
fn record(uuid: &str, parent: &str, content: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{uuid}\",\"parentUuid\":\"{parent}\",\"sessionId\":\"s\",\"message\":{{\"role\":\"user\",\"content\":{content}}}}}\n"
    )
}

fn hostile(text: String) -> (Decoded, ImportReport) {
    let imported = import_bytes(Format::ClaudeCode, text.into_bytes());
    let (decoded, report) = imported.expect("it is imported");
    check_sound(&decoded);
    (decoded, report)
}

#[test]
fn parents_that_form_a_ring_are_cut() {
    let text = record("a", "b", "\"1\"") + &record("b", "c", "\"2\"") + &record("c", "a", "\"3\"");
    let (decoded, report) = hostile(text);
    assert_eq!(user_texts(&decoded).len(), 3);
    assert_eq!(report.diagnostics.len(), 1);
    assert_eq!(report.diagnostics[0].kind, DiagnosticKind::ParentCycle);
    let own = record("a", "a", "\"1\"");
    assert_eq!(user_texts(&hostile(own).0).len(), 1);
}

#[test]
fn deep_nesting_and_long_lines_end() {
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let (decoded, _) = hostile(record("a", "", &deep) + &record("b", "a", "\"after\""));
    assert_eq!(user_texts(&decoded).len(), 1);
    let long = format!("\"{}\"", "x".repeat(8 << 20));
    let (decoded, _) = hostile(record("a", "", &long) + &record("b", "a", "\"after\""));
    assert_eq!(user_texts(&decoded).len(), 2);
    // A chain that is long, each link below the one before it.
    let chain: String = (1..20_000)
        .map(|at| record(&at.to_string(), &(at - 1).to_string(), "\"x\""))
        .collect();
    assert_eq!(hostile(chain).0.tree.len(), 20_000);
}

#[test]
fn lone_surrogates_and_bytes_that_are_no_text_are_replaced() {
    let (decoded, _) = hostile(record("a", "", "\"cut \\ud83d\""));
    assert_eq!(
        user_texts(&decoded).keys().collect::<Vec<_>>(),
        ["cut \u{fffd}"]
    );
    let mut bytes = record("a", "", "\"one\"").into_bytes();
    let at = bytes
        .windows(3)
        .position(|part| part == b"one")
        .expect("it is there");
    bytes[at] = 0xFF;
    let imported = import_bytes(Format::ClaudeCode, bytes);
    let (decoded, _) = imported.expect("it is imported");
    assert_eq!(
        user_texts(&decoded).keys().collect::<Vec<_>>(),
        ["\u{fffd}ne"]
    );
}

#[test]
fn ids_that_cannot_serve_are_replaced() {
    let long = "x".repeat(200);
    let text = record("root", "", "\"1\"")
        + &record("\\u001b[2J", "root", "\"2\"")
        + &record(&long, "", "\"3\"");
    let (decoded, _) = hostile(text);
    let ids: Vec<&str> = decoded
        .tree
        .indices()
        .map(|index| decoded.tree.id(index))
        .collect();
    assert_eq!(ids, ["00000001", "00000002", "00000003", "00000004"]);
}

#[test]
fn a_file_of_nothing_is_an_error() {
    for format in Format::ALL {
        for bytes in [&b""[..], b"\n\n", b"nothing", b"[1,2]", b"\xff\xfe"] {
            let error = import_bytes(format, bytes.to_vec());
            assert!(
                matches!(error, Err(ImportError::Empty(_))),
                "{format:?} {bytes:?}"
            );
        }
    }
}

/// Returns numbers that look random and are the same each time.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    }
}

#[test]
fn whatever_happens_to_lines_and_bytes_gives_a_session_or_an_error() {
    const DOCUMENTS: [&str; 3] = [
        "gemini-document.json",
        "opencode-export.json",
        "opencode-revert.json",
    ];
    const ROUNDS: u64 = 20;
    for name in LINES.into_iter().chain(DOCUMENTS) {
        let whole = Fixture::named(name).bytes;
        let format = detect(&whole).expect("a known format");
        for seed in 0..ROUNDS {
            let mut number = numbers(seed + 1);
            let mut lines: Vec<Vec<u8>> = whole
                .split_inclusive(|byte| *byte == b'\n')
                .map(<[u8]>::to_vec)
                .collect();
            for _ in 0..=number(6) {
                let at = number(lines.len());
                match number(5) {
                    0 => drop(lines.remove(at)),
                    1 => lines.insert(at, lines[number(lines.len())].clone()),
                    2 => {
                        let other = number(lines.len());
                        lines.swap(at, other);
                    }
                    3 => lines[at].truncate(number(200)),
                    _ => {
                        let line = &mut lines[at];
                        let place = number(line.len());
                        if let Some(byte) = line.get_mut(place) {
                            *byte = b"\"{}[],:0nx\\"[number(11)];
                        }
                    }
                }
                if lines.is_empty() {
                    break;
                }
            }
            let imported = import_bytes(format, lines.concat());
            let Ok((decoded, _)) = imported else {
                continue;
            };
            assert!(
                decoded.diagnostics.is_empty(),
                "{name} {seed}: {:?}",
                decoded.diagnostics
            );
            for index in decoded.tree.indices() {
                assert!(decoded.tree.entry(index).is_ok(), "{name} {seed}");
            }
        }
    }
}
