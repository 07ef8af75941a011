//! Compacting: how long planning and applying take, and whether they grow with the context alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use compaction_core::{PlanOptions, Strategy, TokenCount, Trigger, plan_for_context};
use session_model::{ContextRules, build_context};
use test_support::transcript;

use super::measure::{Sample, median_peak, median_time, sample};
use super::session;
use super::table::{Table, cell, megabytes, millis, quotient};
use crate::run::Outcome;

/// Bytes of the sessions that are all context, each ten times as large as the one before.
const CONTEXTS: [usize; 2] = [500_000, 5_000_000];

/// Entries of a long session whose context is but its end.
const LONG: usize = 100_000;

/// Measures in separate processes, with the release build of xtask at `child`.
pub fn measure(child: &Path, folder: &Path, runs: usize) -> Outcome<Table> {
    let mut rows = Vec::new();
    let mut tenth = None;
    for bytes in CONTEXTS {
        let file = generated(folder, bytes)?;
        let title = format!("a context of {:.1} MB", bytes as f64 / 1e6);
        tenth = one(child, &file, &title, runs, tenth, &mut rows)?;
    }
    let file =
        session::session(folder, LONG).map_err(|error| format!("{}: {error}", folder.display()))?;
    let title = format!("the end of {LONG} entries");
    one(child, &file, &title, runs, None, &mut rows)?;
    let note = "Context, plan, extractive summary, loss report and the entries to append, of an open session. Ten times \
                the context should take ten times as long.";
    Ok(Table {
        title: "Compacting",
        head: &["session", "ms", "MB", "/ a tenth of it"],
        rows,
        notes: vec![note.to_owned()],
    })
}

/// Adds the row of one session, compared with that of its tenth part; returns its time.
fn one(
    child: &Path,
    file: &Path,
    title: &str,
    runs: usize,
    tenth: Option<u64>,
    rows: &mut Vec<Vec<String>>,
) -> Outcome<Option<u64>> {
    eprintln!("compacting {title}: {runs} runs");
    let samples = samples(child, "compact", file, runs)?;
    let time = median_time(&samples);
    rows.push(vec![
        title.to_owned(),
        cell(time.map(millis)),
        cell(median_peak(&samples).map(megabytes)),
        cell(quotient(time, tenth)),
    ]);
    Ok(time)
}

/// Runs `bench-child KIND FILE` so often.
pub fn samples(child: &Path, kind: &str, file: &Path, runs: usize) -> Outcome<Vec<Sample>> {
    (0..runs)
        .map(|_| sample(Command::new(child).args(["bench-child", kind]).arg(file)))
        .collect()
}

/// Returns a session of so many bytes without a compaction, written when it is not there yet.
fn generated(folder: &Path, bytes: usize) -> Outcome<PathBuf> {
    let path = folder.join(format!("context-{bytes}.jsonl"));
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    let lines = transcript(1, bytes);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).map_err(failed)?;
    Ok(path)
}

/// Plans an extractive compaction of an open session, and applies it; returns how many entries it has.
pub fn compact(session: &session_model::SessionTree) -> Outcome<u64> {
    let path = session.path(session.leaf());
    let context = build_context(&path, ContextRules::Own);
    // A window that the largest of the contexts does not fill, so that nothing depends on the threshold.
    let mut options = PlanOptions::for_window(TokenCount(4_000_000));
    options.settings.compaction.strategy = Strategy::Extractive.into();
    let plan = plan_for_context(&path, &context, &Trigger::Manual { focus: None }, &options);
    let plan = plan.map_err(|error| error.to_string())?;
    plan.extractive().map_err(|error| error.to_string())?;
    Ok(plan.entries.len() as u64)
}

#[cfg(test)]
mod tests {
    use session_model::decode_bytes;
    use test_support::transcript;

    use super::compact;

    #[test]
    fn a_context_as_large_as_the_session_is_compacted() {
        let lines = transcript(1, 300_000);
        let session = decode_bytes(lines.join("\n").into_bytes());
        assert_eq!(compact(&session.tree), Ok(lines.len() as u64 - 1));
    }
}
