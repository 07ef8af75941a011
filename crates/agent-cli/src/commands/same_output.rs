//! Recognizes a file that holds already what a command is about to write with `--out`.
//!
//! A command that runs twice writes the same lines twice, but for ids and times. Then the first file is as good
//! as a second one, and it is left untouched: no byte is ever replaced.

use std::path::Path;

use serde_json::Value;
use session_model::EntryId;

use session_store::SessionFile;

/// Says that nothing was written, because `out` holds it.
pub(super) fn notice(out: &Path) {
    crate::ui::tell(&format!(
        "note {} holds this result already; nothing was written",
        crate::ui::clean(&out.display().to_string())
    ));
}

/// Returns the ids that the entries `lines` have in `out`, when `out` is a regular file that holds exactly the
/// session and these lines, ids and times aside. What cannot be read is not the same.
pub(super) fn ids_in(
    session: &SessionFile,
    out: &Path,
    lines: &[String],
    ids: &[EntryId],
) -> Option<Vec<EntryId>> {
    // A copy of an older version has new ids in the copied part too.
    if session.version() < 3 || !out.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut copied = session.contents().ok()?.read().ok()?;
    if !session.decoded.ends_with_newline {
        copied.push(b'\n');
    }
    let bytes = std::fs::read(out).ok()?;
    let end = std::str::from_utf8(bytes.strip_prefix(&copied[..])?).ok()?;
    matched(end, lines, ids)
}

/// Returns the ids that the lines of `end` have in place of `ids`, when they are the same as `lines` otherwise.
fn matched(end: &str, lines: &[String], ids: &[EntryId]) -> Option<Vec<EntryId>> {
    let found: Vec<&str> = end.strip_suffix('\n')?.split('\n').collect();
    if found.len() != lines.len() {
        return None;
    }
    let parsed = |line: &str| serde_json::from_str::<Value>(line).ok();
    let found = found.into_iter().map(parsed).collect::<Option<Vec<_>>>()?;
    let id_of = |entry: &Value| Some(EntryId::new(entry.get("id")?.as_str()?));
    let theirs = found.iter().map(id_of).collect::<Option<Vec<_>>>()?;
    for (line, found) in lines.iter().zip(found) {
        let mut line = line.clone();
        for (own, their) in ids.iter().zip(&theirs) {
            line = line.replace(&format!("\"{own}\""), &format!("\"{their}\""));
        }
        if without_times(parsed(&line)?) != without_times(found) {
            return None;
        }
    }
    Some(theirs)
}

/// Takes out when an entry was written and how long that took.
fn without_times(mut entry: Value) -> Value {
    if let Some(members) = entry.as_object_mut() {
        members.remove("timestamp");
    }
    if let Some(details) = entry.get_mut("details").and_then(Value::as_object_mut) {
        details.remove("seconds");
    }
    entry
}
