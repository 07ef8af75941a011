//! Sessions of other agents, read by the program: the time and the memory for generated files.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use session_model::Timestamp;
use test_support::Rng;

use super::measure::{median_peak, median_time, whole};
use super::prose::Pools;
use super::session::{BYTES_PER_ENTRY, generated, session};
use super::table::{Table, cell, megabytes, millis};
use crate::run::{Outcome, without_settings};

/// Changes with every change of what is generated, so that files from before are not used.
const GENERATION: u32 = 1;

/// The first moment of a session, in Unix milliseconds.
const START: i64 = 1_767_225_600_000;

/// A word that most entries have, and one that none has.
const WORDS: [&str; 2] = ["offset", "giraffe"];

/// The measurements: a file, its megabytes, the arguments of the program, and the goal in milliseconds.
const MEASURES: [(&str, usize, &str, u32); 12] = [
    ("codex-plain", 1_000, "inspect", 2_000),
    ("codex-plain", 1_000, "recall offset", 2_000),
    ("codex-plain", 1_000, "recall giraffe", 2_000),
    ("codex-full", 1_000, "inspect", 2_000),
    ("codex-full", 1_000, "recall offset", 2_000),
    ("claude", 300, "inspect", 2_000),
    ("claude", 300, "recall offset", 2_000),
    ("claude", 300, "recall giraffe", 2_000),
    ("claude", 100, "mcp", 200),
    ("own", 160, "inspect", 100),
    ("own", 160, "recall offset", 100),
    ("own", 160, "recall giraffe", 100),
];

/// Measures `program` on every file, in separate processes.
pub fn measure(program: &Path, folder: &Path, runs: usize) -> Outcome<Table> {
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    let mut rows = Vec::new();
    for (name, size, call, goal) in MEASURES {
        let file = match name {
            "own" => session(folder, size * 1_000_000 / BYTES_PER_ENTRY),
            _ => {
                let path = folder.join(format!("{name}-{GENERATION}-{size}mb.jsonl"));
                generated(path, |out| write(name, size * 1_000_000, out))
            }
        };
        let file = file.map_err(failed)?;
        eprintln!("{name}, {size} MB, {call}: {runs} runs");
        let mut samples = Vec::new();
        for _ in 0..runs {
            let (call, word) = call.split_once(' ').unwrap_or((call, ""));
            let mut command = Command::new(program);
            without_settings(&mut command).arg(call);
            let command = match call {
                "mcp" => command.arg("--session").arg(&file),
                "recall" => command.arg(&file).arg(word),
                _ => command.arg(&file),
            };
            let requests = if call == "mcp" { requests() } else { vec![] };
            samples.push(whole(command, &requests)?);
        }
        rows.push(vec![
            format!("{name} ({size} MB)"),
            call.to_owned(),
            cell(median_time(&samples).map(millis)),
            cell(median_peak(&samples).map(megabytes)),
            goal.to_string(),
        ]);
    }
    let note = format!(
        "Whole processes; `{}` is in most entries, `{}` in none; mcp: one search by a new process. The goal for memory \
         is 200 MB. codex-full has reasoning and events.",
        WORDS[0], WORDS[1]
    );
    Ok(Table {
        title: "Sessions of other agents",
        head: &["file", "call", "ms", "MB", "goal ms"],
        rows,
        notes: vec![note],
    })
}

/// Returns what a client sends that searches once.
fn requests() -> Vec<Value> {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let call = json!({"name": "recall", "arguments": {"query": WORDS[0]}});
    vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ]
}

/// Writes a session of a kind, of about `bytes`.
fn write(name: &str, bytes: usize, out: &mut impl Write) -> io::Result<()> {
    let mut rng = Rng::new(2026);
    let pools = Pools::new(&mut rng);
    let (mut written, mut turns, mut count) = (0, 0, 0);
    let lines: Vec<(&str, &str)> = include_str!("../../bench/import.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(kind, _)| name.starts_with(kind))
        .filter_map(|(_, line)| line.split_once(' '))
        .collect();
    while written < bytes {
        let rounds = (0..2 + rng.below(30)).map(|_| "round");
        let compacts = (turns % 12 == 11).then_some("compact");
        let first = (turns == 0).then_some("first");
        let steps = compacts.into_iter().chain(first).chain(["turn"]);
        for step in steps.chain(rounds).chain(["end"]) {
            let id = count;
            for (_, line) in lines.iter().filter(|(when, _)| *when == step) {
                let text = filled(line, id, count, &mut rng, &pools);
                count += 1;
                written += text.len();
                out.write_all(text.as_bytes())?;
            }
        }
        turns += 1;
    }
    Ok(())
}

/// Returns a line of which the parts in angle brackets are filled in.
fn filled(line: &str, id: usize, count: usize, rng: &mut Rng, pools: &Pools) -> String {
    let mut pieces = line.split('<');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once('>').unwrap_or((piece, ""));
        text += &match name.split_once('-') {
            Some((low, high)) => {
                let pool = [&pools.prose, &pools.code, &pools.log][rng.below(3)];
                let [low, high] = [low, high].map(|number| number.parse().unwrap_or(1));
                pool.take(rng, low, high)
            }
            None => match name {
                "at" => Timestamp::from_millis(START + 900 * count as i64).to_string(),
                "id" => format!("{id:024x}"),
                "count" => count.to_string(),
                "parent" => count.saturating_sub(1).to_string(),
                "path" => pools.path(rng),
                _ => "gAAAAABp".repeat(40 + rng.below(60)),
            },
        };
        text += rest;
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use session_import::{Format, Input, Origin, detect, import};

    use super::write;

    #[test]
    fn generated_sessions_are_read_without_a_remark() {
        for (name, format) in [
            ("codex-plain", Format::Codex),
            ("codex-full", Format::Codex),
            ("claude", Format::ClaudeCode),
        ] {
            let mut bytes = Vec::new();
            write(name, 2_000_000, &mut bytes).unwrap();
            assert_eq!(detect(&bytes), Some(format));
            let mut lines = Vec::new();
            let report = import(
                format,
                &Input::of_bytes(bytes),
                &Origin::default(),
                &|_| None,
                &mut lines,
            )
            .unwrap();
            assert!(
                report.diagnostics.is_empty() && report.entries["compaction"] > 1,
                "{report:?}"
            );
        }
    }
}
