//! Recognizes a file that holds already what a command is about to write with `--out`.
//!
//! A command that runs twice writes the same lines twice, but for ids and times. Then the first file is as good
//! as a second one, and it is left untouched: no byte is ever replaced.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use serde_json::Value;
use session_model::EntryId;

use session_store::{Contents, SessionFile};

/// The most bytes that may follow the copied session.
const LONGEST_END: u64 = 256 * 1024 * 1024;

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
    if session.version() < 3 || !out.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return None;
    }
    let contents = session.contents().ok()?;
    let ends_with_newline = session.decoded.ends_with_newline;
    let end = end_after(out, contents, ends_with_newline).ok().flatten()?;
    matched(&end, lines, ids)
}

/// Returns what follows the copied session in `out`; none where it does not begin with the session.
fn end_after(
    out: &Path,
    contents: Contents,
    ends_with_newline: bool,
) -> io::Result<Option<String>> {
    let mut file = BufReader::new(File::open(out)?);
    let begins_alike = match contents {
        Contents::Memory(bytes) => begins_with(&mut file, &bytes[..])?,
        Contents::File(source, length) => begins_with(&mut file, source.take(length))?,
        Contents::Empty => true,
    };
    if !begins_alike || (!ends_with_newline && !begins_with(&mut file, &b"\n"[..])?) {
        return Ok(None);
    }
    let mut end = String::new();
    file.take(LONGEST_END).read_to_string(&mut end)?;
    Ok(Some(end))
}

/// Returns whether `file` goes on with all of `wanted`, and reads so far.
fn begins_with(file: &mut impl Read, wanted: impl Read) -> io::Result<bool> {
    let mut wanted = BufReader::new(wanted);
    let (mut left, mut right) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    loop {
        let count = wanted.read(&mut left)?;
        if count == 0 {
            return Ok(true);
        }
        match file.read_exact(&mut right[..count]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if left[..count] != right[..count] {
            return Ok(false);
        }
    }
}

/// Returns the ids that the lines of `end` have in the place of `ids`, when they are the same as `lines` otherwise.
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
