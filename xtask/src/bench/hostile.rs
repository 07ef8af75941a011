//! Sessions that somebody made to be slow: what costs too much where one entry is compared with all others.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::compacting::samples;
use super::measure::{median_peak, median_time};
use super::table::{Table, cell, megabytes, millis, quotient};
use crate::run::Outcome;

/// A session that is all of one kind.
#[derive(Clone, Copy)]
enum Shape {
    /// Lines that are no entries.
    Junk,
    /// Calls of one answer, and their results.
    Calls,
    /// Figures of one message of the user.
    Figures,
    /// Calls that set a list of todos.
    Todos,
}

/// What is measured: the name, how often that is there, by which kind of measurement of `bench-child`, and the goal.
const MEASURES: [(&str, Shape, usize, &str, &str); 8] = [
    (
        "lines `x` opened",
        Shape::Junk,
        10_000_000,
        "open",
        "100 MB",
    ),
    ("calls paired", Shape::Calls, 40_000, "pair", "100 ms"),
    ("calls compacted", Shape::Calls, 20_000, "compact", "-"),
    ("calls compacted", Shape::Calls, 40_000, "compact", "2.3x"),
    ("figures compacted", Shape::Figures, 8_000, "compact", "-"),
    (
        "figures compacted",
        Shape::Figures,
        16_000,
        "compact",
        "2.3x",
    ),
    ("todo lists compacted", Shape::Todos, 4_000, "compact", "-"),
    (
        "todo lists compacted",
        Shape::Todos,
        8_000,
        "compact",
        "2.3x",
    ),
];

/// Measures in processes of their own, by the build of xtask at `child`.
pub fn measure(child: &Path, folder: &Path, runs: usize) -> Outcome<Table> {
    let mut rows = Vec::new();
    let mut before = None;
    for (name, shape, count, kind, goal) in MEASURES {
        eprintln!("{count} {name}: {runs} runs");
        let file = generated(folder, shape, count)?;
        let samples = samples(child, kind, &file, runs)?;
        let time = median_time(&samples);
        let half = before.take().filter(|_| goal.ends_with('x'));
        before = time;
        rows.push(vec![
            format!("{count} {name}"),
            cell(time.map(millis)),
            cell(median_peak(&samples).map(megabytes)),
            cell(quotient(time, half)),
            goal.to_owned(),
        ]);
    }
    let note =
        "Opening and pairing alone; compacting: context, plan, extractive summary with its ledger.";
    Ok(Table {
        title: "Hostile sessions",
        head: &["measured", "ms", "MB", "/ half of them", "goal"],
        rows,
        notes: vec![note.to_owned()],
    })
}

/// Writes a session of a shape; returns its path.
fn generated(folder: &Path, shape: Shape, count: usize) -> Outcome<PathBuf> {
    let path = folder.join("hostile.jsonl");
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    std::fs::write(&path, session(shape, count)).map_err(failed)?;
    Ok(path)
}

/// Returns the lines of a session in which something is there `count` times.
fn session(shape: Shape, count: usize) -> String {
    let mut lines = Lines::default();
    let header = json!({"type": "session", "version": 3, "id": "hostile", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"});
    lines.text = format!("{header}\n");
    match shape {
        Shape::Junk => lines.text.push_str(&"x\n".repeat(count)),
        Shape::Figures => {
            let figures = (0..count).map(|number| format!("- now {number} ms a{number}b"));
            lines.user(&figures.collect::<Vec<_>>().join("\n"));
            // What is kept, so that the figures are summarized.
            lines.user(&"and so on ".repeat(10_000));
        }
        Shape::Calls => {
            lines.user("Read all of them.");
            lines.calls(
                "read",
                (0..count).map(|number| json!({"path": format!("f{number}.rs")})),
            );
        }
        Shape::Todos => {
            lines.user("Keep a list.");
            for number in 0..count {
                let todos = (0..30).map(|place| {
                    let status = if place < number % 30 { "completed" } else { "pending" };
                    json!({"content": format!("step {place} of round {}", number / 30), "status": status})
                });
                lines.calls("todo_write", [json!({"todos": todos.collect::<Vec<_>>()})]);
            }
        }
    }
    lines.user("Go on.");
    lines.text
}

/// Entries, each below the one before it.
#[derive(Default)]
struct Lines {
    text: String,
    entries: usize,
}

impl Lines {
    fn message(&mut self, message: &Value) {
        let parent = self
            .entries
            .checked_sub(1)
            .map(|parent| format!("e{parent}"));
        let entry = json!({"type": "message", "id": format!("e{}", self.entries), "parentId": parent, "message": message});
        // A string takes any text.
        let _ = writeln!(self.text, "{entry}");
        self.entries += 1;
    }

    fn user(&mut self, text: &str) {
        self.message(&json!({"role": "user", "content": text, "timestamp": 1}));
    }

    /// Adds an answer with calls, and their results.
    fn calls(&mut self, name: &str, arguments: impl IntoIterator<Item = Value>) {
        let first = self.entries;
        let id = |number: usize| format!("c{first}-{number}");
        let calls = arguments.into_iter().enumerate().map(|(number, arguments)| {
            json!({"type": "toolCall", "id": id(number), "name": name, "arguments": arguments})
        });
        let calls: Vec<Value> = calls.collect();
        let count = calls.len();
        self.message(&json!({
            "role": "assistant", "content": calls, "api": "x", "provider": "p", "model": "m", "stopReason": "toolUse",
            "timestamp": 1,
        }));
        for number in 0..count {
            self.message(&json!({
                "role": "toolResult", "toolCallId": id(number), "toolName": name, "isError": false, "timestamp": 1,
                "content": [{"type": "text", "text": "ok"}],
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use session_model::{ContextRules, build_context, decode_bytes};

    use super::{Shape, session};

    /// Returns how many messages a context has, and how many lines are none.
    fn check(shape: Shape) -> (usize, u64) {
        let decoded = decode_bytes(session(shape, 5).into_bytes());
        let context = build_context(&decoded.tree.path(decoded.tree.leaf()), ContextRules::Own);
        assert!(context.diagnostics.is_empty(), "{:?}", context.diagnostics);
        let damaged = decoded
            .diagnostics
            .iter()
            .map(session_model::Diagnostic::count)
            .sum();
        (context.messages().count(), damaged)
    }

    #[test]
    fn every_shape_is_a_session() {
        assert_eq!(check(Shape::Junk), (1, 5));
        assert_eq!(check(Shape::Figures), (3, 0));
        assert_eq!(check(Shape::Calls), (8, 0));
        assert_eq!(check(Shape::Todos), (12, 0));
    }
}
