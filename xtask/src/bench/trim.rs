//! Trimming: how long fitting a conversation into a window takes, and whether it grows with its length alone.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use llm_providers::trim;
use serde_json::json;
use session_model::json::RawJson;
use test_support::Rng;

use super::measure::{median_peak, median_time, sample};
use super::prose::Pools;
use super::table::{Table, cell, megabytes, millis, quotient};
use crate::run::Outcome;

/// How many bytes one tool output has: a short one, and about what a screen shows.
const BYTES: [usize; 2] = [600, 4_000];

/// How many tool outputs there are, each ten times as many as those before.
const OUTPUTS: [usize; 2] = [10_000, 100_000];

/// What 10,000 outputs may take, in milliseconds.
const GOAL: u32 = 50;

/// Measures every size in processes of its own, by the release build of xtask at `child`.
pub fn measure(child: &Path, runs: usize) -> Outcome<Table> {
    let mut rows = Vec::new();
    for bytes in BYTES {
        let mut tenth = None;
        for outputs in OUTPUTS {
            eprintln!("trimming {outputs} outputs of {bytes} bytes: {runs} runs");
            let mut samples = Vec::new();
            for _ in 0..runs {
                let mut run = Command::new(child);
                run.args(["bench-child", "trim", &format!("{outputs}x{bytes}")]);
                samples.push(sample(&mut run)?);
            }
            let median = median_time(&samples);
            rows.push(vec![
                outputs.to_string(),
                bytes.to_string(),
                cell(median.map(millis)),
                cell(median_peak(&samples).map(megabytes)),
                cell(quotient(median, tenth)),
            ]);
            tenth = median;
        }
    }
    let note = format!(
        "A budget of zero: every output and every argument is rewritten but the newest. The goal is {GOAL} ms for \
         10000 outputs, and 10x for ten times as many."
    );
    Ok(Table {
        title: "Trimming",
        head: &[
            "tool outputs",
            "bytes each",
            "ms",
            "MB",
            "/ a tenth of them",
        ],
        rows,
        notes: vec![note],
    })
}

/// Trims as much as can be trimmed of `OUTPUTSxBYTES`, and returns nanoseconds and how many items were rewritten.
pub fn child(size: &str) -> Outcome<(u64, u64)> {
    let (outputs, bytes) = size
        .split_once('x')
        .and_then(|(outputs, bytes)| Some((outputs.parse().ok()?, bytes.parse().ok()?)))
        .ok_or_else(|| format!("{size} is not OUTPUTSxBYTES"))?;
    let items = items(outputs, bytes)?;
    // About four bytes a token; what counts better is slower by itself, not by how often it is asked.
    let count = |text: &str| text.len() as u64 / 4;
    let started = Instant::now();
    let trimmed = black_box(trim(items, 0, &count));
    let took = started.elapsed();
    Ok((
        u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
        trimmed.rewritten as u64,
    ))
}

/// Returns calls of a tool, each with its output behind it, as the Responses wire has them.
fn items(outputs: usize, bytes: usize) -> Outcome<Vec<RawJson>> {
    let mut rng = Rng::new(7);
    let pools = Pools::new(&mut rng);
    let mut items = Vec::with_capacity(2 * outputs);
    for number in 0..outputs {
        let id = format!("call_{number}");
        let arguments = json!({"command": "cargo test", "path": pools.path(&mut rng)}).to_string();
        let call =
            json!({"type": "function_call", "call_id": id, "name": "bash", "arguments": arguments});
        let text = pools.log.take(&mut rng, bytes, bytes);
        let output =
            format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{text}"}}"#);
        for item in [call.to_string(), output] {
            items.push(RawJson::parse(&item).map_err(|error| error.to_string())?);
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::child;

    #[test]
    fn everything_but_the_newest_pair_is_rewritten() {
        let outputs = 20;
        let (_, rewritten) = child(&format!("{outputs}x600")).unwrap_or_default();
        assert!(rewritten >= outputs - 1, "{rewritten}");
    }
}
