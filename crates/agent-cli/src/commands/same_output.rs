//! Recognizes a file that holds already what a command is about to write with `--out`.
//!
//! A command that runs twice writes the same lines twice, but for ids and times. Then the first file is as good
//! as a second one, and it is left untouched: no byte is ever replaced.

use std::collections::BTreeMap;
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
    anstream::eprintln!(
        "note {} holds this result already; nothing was written",
        crate::ui::clean(&out.display().to_string())
    );
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
    let names: BTreeMap<&str, &str> = ids
        .iter()
        .map(EntryId::as_str)
        .zip(theirs.iter().map(EntryId::as_str))
        .collect();
    for (line, found) in lines.iter().zip(&found) {
        let mut line = parsed(line)?;
        rename(&mut line, &names);
        let mut found = found.clone();
        without_times(&mut line);
        without_times(&mut found);
        if line != found {
            return None;
        }
    }
    Some(theirs)
}

/// Gives the new entries the ids that they have in the file, wherever a value names one.
fn rename(value: &mut Value, names: &BTreeMap<&str, &str>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text.as_str()) {
                *text = (*name).to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, names)),
        Value::Object(members) => members.values_mut().for_each(|item| rename(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Takes out when an entry was written and how long that took.
fn without_times(entry: &mut Value) {
    if let Some(members) = entry.as_object_mut() {
        members.remove("timestamp");
    }
    if let Some(details) = entry.get_mut("details").and_then(Value::as_object_mut) {
        details.remove("seconds");
    }
}
