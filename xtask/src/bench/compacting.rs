//! Compacting: how long planning and applying take, with the ledger and without, and whether they grow with the context
//! alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use agent_session::plan_on_threads;
use compaction_core::{PlanOptions, Strategy, TokenCount, Trigger, VerifyMode};
use session_model::{ContextRules, build_context};
use test_support::needles::transcript;

use super::measure::{Sample, median_peak, median_time, sample};
use super::session;
use super::table::{Table, cell, megabytes, millis, quotient};
use crate::run::Outcome;

/// Bytes of the sessions that are all context, each ten times as large as the one before.
const CONTEXTS: [usize; 2] = [500_000, 5_000_000];

/// Entries of a long session whose context is but its end.
const LONG: usize = 100_000;

/// What a summary has in addition to its prose, and the kind of measurement of `bench-child`.
const VARIANTS: [(&str, &str); 2] = [
    ("extractive summary alone", "compact-plain"),
    ("with ledger and verification", "compact"),
];

/// Measures in processes of their own, by the release build of xtask at `child`.
pub fn measure(child: &Path, folder: &Path, runs: usize) -> Outcome<Table> {
    let mut rows = Vec::new();
    let mut tenths = [None; VARIANTS.len()];
    for bytes in CONTEXTS {
        let file = generated(folder, bytes)?;
        let title = format!("a context of {:.1} MB", bytes as f64 / 1e6);
        tenths = variants(child, &file, &title, runs, tenths, &mut rows)?;
    }
    let file =
        session::session(folder, LONG).map_err(|error| format!("{}: {error}", folder.display()))?;
    let title = format!("the end of {LONG} entries");
    variants(
        child,
        &file,
        &title,
        runs,
        [None; VARIANTS.len()],
        &mut rows,
    )?;
    let note = "Context, plan, extractive summary and the entries to append, of an open session. The ratio to the same \
                without the ledger should stay near one, and ten times the context take ten times as long.";
    Ok(Table {
        title: "Compacting",
        head: &[
            "session",
            "summary",
            "ms",
            "MB",
            "/ without",
            "/ a tenth of it",
        ],
        rows,
        notes: vec![note.to_owned()],
    })
}

/// Adds the rows of one session, each compared with that of its tenth part; returns their times.
fn variants(
    child: &Path,
    file: &Path,
    title: &str,
    runs: usize,
    tenths: [Option<u64>; VARIANTS.len()],
    rows: &mut Vec<Vec<String>>,
) -> Outcome<[Option<u64>; VARIANTS.len()]> {
    eprintln!("compacting {title}: {runs} runs of each");
    let mut times = [None; VARIANTS.len()];
    for (place, (variant, kind)) in VARIANTS.into_iter().enumerate() {
        let samples = samples(child, kind, file, runs)?;
        times[place] = median_time(&samples);
        let plain = times[0].filter(|_| place > 0);
        rows.push(vec![
            title.to_owned(),
            variant.to_owned(),
            cell(times[place].map(millis)),
            cell(median_peak(&samples).map(megabytes)),
            cell(quotient(times[place], plain)),
            cell(quotient(times[place], tenths[place])),
        ]);
    }
    Ok(times)
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
/// `plain` leaves out the ledger and looks nothing up.
pub fn compact(session: &session_model::SessionTree, plain: bool) -> Outcome<u64> {
    let path = session.path(session.leaf());
    let context = build_context(&path, ContextRules::Own);
    // A window that the largest of the contexts does not fill, so that nothing depends on the threshold.
    let mut options = PlanOptions::for_window(TokenCount(4_000_000));
    options.settings.compaction.strategy = Strategy::Extractive.into();
    if plain {
        options.settings.compaction.ledger.max_tokens = Some(TokenCount::ZERO);
        options.settings.compaction.verify.mode = VerifyMode::Off;
    }
    let plan = plan_on_threads(&path, &context, &Trigger::Manual { focus: None }, &options);
    let plan = plan.map_err(|error| error.to_string())?;
    let applied = plan.apply(&plan.answer_extractive());
    applied.map_err(|error| error.to_string())?;
    Ok(plan.entries.len() as u64)
}

#[cfg(test)]
mod tests {
    use session_model::decode_bytes;
    use test_support::needles::transcript;

    use super::compact;

    #[test]
    fn both_ways_compact_a_context_as_large_as_the_session() {
        let lines = transcript(1, 300_000);
        let session = decode_bytes(lines.join("\n").into_bytes());
        for plain in [true, false] {
            assert_eq!(compact(&session.tree, plain), Ok(lines.len() as u64 - 1));
        }
    }
}
