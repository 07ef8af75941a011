//! Sessions to measure on: any number of entries, the same bytes at every call.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use test_support::{transcript, turns};

/// Changes with every change of what is generated, so that files from before are not used.
const GENERATION: u32 = 2;

/// A compaction comes after so many bytes of turns: about 170k tokens.
const COMPACT_AFTER: usize = 600_000;

/// The least that a compaction keeps, in bytes: about 20k tokens.
const KEEP: usize = 70_000;

/// The last compaction comes so many entries before the end, so that contexts of all sizes are alike.
const TAIL: usize = 400;

/// Bytes of an entry in the mean.
pub const BYTES_PER_ENTRY: usize = 690;

/// Returns a session of `entries` entries in `folder`, generated when it is not there yet.
pub fn session(folder: &Path, entries: usize) -> io::Result<PathBuf> {
    let path = folder.join(format!("session-{GENERATION}-{entries}.jsonl"));
    generated(path, |out| write(out, entries))
}

/// Returns the path of a file that `write` writes, when it is not there yet.
pub fn generated(
    path: PathBuf,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<PathBuf> {
    if path.is_file() {
        return Ok(path);
    }
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    let partial = path.with_extension("partial");
    let mut out = BufWriter::new(File::create(&partial)?);
    write(&mut out)?;
    out.flush()?;
    std::fs::rename(&partial, &path)?;
    Ok(path)
}

/// Writes turns with compactions between them.
fn write(out: &mut impl Write, entries: usize) -> io::Result<()> {
    writeln!(out, "{}", transcript(1, 0)[0])?;
    let (mut left, mut leaf) = (entries, None);
    for round in 0.. {
        let most = if left > TAIL { left - TAIL } else { left };
        let mut lines = turns(2026, round, leaf.as_deref(), COMPACT_AFTER);
        lines.truncate(most);
        for line in &lines {
            writeln!(out, "{line}")?;
        }
        left -= lines.len();
        if left == 0 {
            break;
        }
        let last: Value = serde_json::from_str(&lines[lines.len() - 1])?;
        let id = format!("compact{round}");
        let kept = first_kept(&lines)?;
        let summary = "What was done so far, in a few words. ".repeat(180);
        let compaction = json!({
            "type": "compaction", "id": id, "parentId": last["id"], "timestamp": last["timestamp"],
            "summary": summary, "firstKeptEntryId": kept, "tokensBefore": 170_000,
        });
        writeln!(out, "{compaction}")?;
        left -= 1;
        leaf = Some(id);
    }
    Ok(())
}

/// Returns the newest message of the user from which on enough follows; else the first line.
fn first_kept(lines: &[String]) -> io::Result<Value> {
    let mut bytes = 0;
    let kept = lines.iter().rposition(|line| {
        bytes += line.len();
        bytes >= KEEP && line.contains(r#""role":"user""#)
    });
    let mut entry: Value = serde_json::from_str(&lines[kept.unwrap_or_default()])?;
    Ok(entry["id"].take())
}

#[cfg(test)]
mod tests {
    use super::{BYTES_PER_ENTRY, write};

    #[test]
    fn a_session_has_the_entries_asked_for_and_reads_without_a_remark() {
        for wanted in [50, 999, 2_000] {
            let mut lines = Vec::new();
            write(&mut lines, wanted).expect("memory takes everything");
            let average = lines.len() / wanted;
            assert!(average.abs_diff(BYTES_PER_ENTRY) < 80, "{average}");
            let decoded = session_model::decode_bytes(lines);
            assert_eq!(decoded.tree.len(), wanted);
            assert!(decoded.diagnostics.is_empty(), "{:?}", decoded.diagnostics);
        }
    }
}
