//! One measurement in a separate process: does the work once, and reports its time and memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use compaction_core::{PlanOptions, TokenCount, Trigger, plan_for_context};
use futures_executor::block_on;
use session_model::{
    CompactionDraft, ContextRules, EntryDraft, EntryId, FirstKept, SessionTree, build_context,
};
use session_store::{FileCatalog, SessionFile, SessionStore, SyncPolicy};

use super::compacting;
use crate::run::Outcome;

/// As large as the blocks that sessions are read in.
const BLOCK: usize = 512 * 1024;

/// Measures `KIND FILE` and prints one line of JSON.
pub fn run(arguments: &[String]) -> Outcome {
    let [kind, file] = arguments else {
        return Err("usage: bench-child KIND FILE".to_owned());
    };
    let (nanoseconds, answer) = measure(kind, Path::new(file))?;
    let line = serde_json::json!({
        "nanoseconds": nanoseconds,
        "peak_kilobytes": peak_kilobytes("self"),
        "answer": answer,
    });
    println!("{line}");
    Ok(())
}

/// Returns the peak of resident memory, if the system reports it.
pub fn peak_kilobytes(pid: impl std::fmt::Display) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Returns nanoseconds and an answer to compare with the peer's.
fn measure(kind: &str, file: &Path) -> Outcome<(u64, u64)> {
    match kind {
        "idle" => timed(|| Ok(0)),
        "scan" => timed(|| scan(file)),
        "open" => timed(|| Ok(open(file)?.tree().len() as u64)),
        "context" => timed(|| context(file)),
        "plan" => timed(|| plan(file)),
        "compact" => compact(file),
        "append" => append(file, SyncPolicy::Never),
        "append-synced" => append(file, SyncPolicy::Always),
        _ => Err(format!("cannot measure {kind}")),
    }
}

fn timed(work: impl FnOnce() -> Outcome<u64>) -> Outcome<(u64, u64)> {
    let started = Instant::now();
    let answer = work()?;
    Ok((nanoseconds_since(started), answer))
}

fn nanoseconds_since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Returns how many entries the file can have: its line feeds, the header's not counted.
fn scan(path: &Path) -> Outcome<u64> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::open(path).map_err(failed)?;
    let mut block = vec![0; BLOCK];
    let mut lines: u64 = 0;
    loop {
        let count = file.read(&mut block).map_err(failed)?;
        if count == 0 {
            return Ok(lines.saturating_sub(1));
        }
        lines += memchr::memchr_iter(b'\n', &block[..count]).count() as u64;
    }
}

fn open(file: &Path) -> Outcome<SessionFile> {
    SessionFile::open(file).map_err(|error| error.to_string())
}

/// Returns how many messages the context has.
fn context(file: &Path) -> Outcome<u64> {
    let session = open(file)?;
    let path = session.tree().path(session.tree().leaf());
    let context = build_context(&path, ContextRules::Own);
    Ok(context.messages().count() as u64)
}

/// Returns how many entries are summarized or kept.
fn plan(file: &Path) -> Outcome<u64> {
    let session = open(file)?;
    let path = session.tree().path(session.tree().leaf());
    let context = build_context(&path, ContextRules::Own);
    let mut options = PlanOptions::for_window(TokenCount(200_000));
    options.settings.compaction.keep_recent_tokens = TokenCount(20_000);
    let plan = plan_for_context(&path, &context, &Trigger::Manual { focus: None }, &options);
    let plan = plan.map_err(|error| error.to_string())?;
    Ok(plan.entries.len() as u64)
}

/// Compacts an open session with the extractive summarizer; nothing is written.
fn compact(file: &Path) -> Outcome<(u64, u64)> {
    let session = open(file)?;
    timed(|| compacting::compact(session.tree()))
}

/// Appends a compaction to a session that is open already. The commands do so with a policy that forces the line to
/// the disk before this returns.
fn append(path: &Path, policy: SyncPolicy) -> Outcome<(u64, u64)> {
    let catalog = FileCatalog::new("").synced(policy);
    let mut store = catalog
        .open_file(path, &mut ())
        .map_err(|error| error.to_string())?;
    let (draft, parent) = compaction(store.tree());
    timed(|| {
        let written = block_on(store.append_under(parent, vec![draft.into()]));
        written.map_err(|error| error.to_string())?;
        Ok(1)
    })
}

/// Returns a compaction that keeps the leaf alone, and the leaf.
fn compaction(tree: &SessionTree) -> (EntryDraft, Option<EntryId>) {
    let leaf = tree.path(tree.leaf()).leaf_id().map(EntryId::new);
    let draft = CompactionDraft {
        summary: "What was done so far, in a few words. ".repeat(150),
        short_summary: None,
        first_kept: leaf.clone().map_or(FirstKept::None, FirstKept::Entry),
        tokens_before: 150_000,
        details: None,
        preserve_data: None,
        from_extension: false,
        system: None,
    };
    (EntryDraft::Compaction(Box::new(draft)), leaf)
}
