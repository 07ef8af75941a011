//! What a look over the lines of a session tells for a list: how often it was compacted, and whether it is damaged.

use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use memchr::{memchr_iter, memmem};
use session_import::{Format, detect};
use session_model::Timestamp;

/// How much of a file is read, in bytes: a longer one is read at its beginning and its end.
const MOST: u64 = 16 * 1024 * 1024;

/// How much of a longer file's beginning is read, in bytes.
const BEGINNING: u64 = 4 * 1024 * 1024;

/// How many times are looked at until one can be read.
const KEYS: usize = 16;

/// What a look over the lines of a session tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Glance {
    /// How many compactions there are in what was read.
    pub compactions: u64,
    /// How many lines in it are no JSON objects; the whole file counts as one where it is one document.
    pub damaged_lines: u64,
    /// All of the file was read.
    pub is_whole: bool,
    /// When the last line was written that says so.
    pub last: Option<Timestamp>,
}

/// Returns what a look over the lines of a file tells; `None` where it cannot be read or is compressed.
pub fn glance(path: &Path) -> Option<Glance> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(Metadata::is_file)?.len();
    let mut bytes = Vec::new();
    let is_whole = length <= MOST;
    let first = if is_whole { MOST } else { BEGINNING };
    file.by_ref().take(first).read_to_end(&mut bytes).ok()?;
    let format = detect(&bytes);
    if bytes.starts_with(&[0x28, 0xB5, 0x2F, 0xFD]) {
        return None;
    }
    let is_document = path.extension().is_some_and(|end| end == "json");
    if is_document {
        let is_cut = is_whole && bytes.trim_ascii_end().last() != Some(&b'}');
        return Some(Glance {
            damaged_lines: u64::from(is_cut),
            is_whole,
            last: last_time(&bytes),
            ..Glance::default()
        });
    }
    let mut found = Glance {
        is_whole,
        ..Glance::default()
    };
    if is_whole {
        look(&bytes, format, &mut found);
        return Some(found);
    }
    // Lines that a cut goes through are not looked at.
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    look(&bytes[..end.unwrap_or(0)], format, &mut found);
    bytes.clear();
    let rest = i64::try_from(MOST - BEGINNING).ok()?;
    file.seek(SeekFrom::End(-rest)).ok()?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    let start = bytes.iter().position(|byte| *byte == b'\n');
    look(
        &bytes[start.map_or(0, |start| start + 1)..],
        format,
        &mut found,
    );
    Some(found)
}

/// Returns what a line of a compaction holds; inside of a text its quotes would be escaped.
fn marker(format: Option<Format>) -> Option<&'static [u8]> {
    Some(match format {
        None => b"\"type\":\"compaction\"",
        Some(Format::ClaudeCode) => b"\"subtype\":\"compact_boundary\"",
        Some(Format::Codex) => b"\"type\":\"compacted\"",
        Some(Format::QwenCode) => b"\"subtype\":\"chat_compression\"",
        Some(Format::Copilot) => b"\"type\":\"session.compaction_complete\"",
        Some(_) => return None,
    })
}

/// Returns the last time that the lines name.
fn last_time(bytes: &[u8]) -> Option<Timestamp> {
    const KEY: &[u8] = b"\"timestamp\":\"";
    memmem::rfind_iter(bytes, KEY).take(KEYS).find_map(|at| {
        let text = bytes[at + KEY.len()..].split(|byte| *byte == b'"').next()?;
        Timestamp::parse(std::str::from_utf8(text).ok()?)
    })
}

fn look(bytes: &[u8], format: Option<Format>, found: &mut Glance) {
    found.last = last_time(bytes).or(found.last);
    let finder = marker(format).map(memmem::Finder::new);
    let mut start = 0;
    for end in memchr_iter(b'\n', bytes).chain([bytes.len()]) {
        let line = bytes[start..end].trim_ascii();
        start = end + 1;
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let is_object = line.starts_with(b"{") && line.ends_with(b"}");
        found.damaged_lines += u64::from(!is_object);
        let is_compaction = finder.as_ref().is_some_and(|finder| {
            // The type of an entry of the family stands at its beginning.
            let head = match format {
                None => &line[..line.len().min(256)],
                Some(_) => line,
            };
            finder.find(head).is_some()
        });
        found.compactions += u64::from(is_compaction);
    }
}

#[cfg(test)]
mod tests {
    use super::{Glance, glance};

    fn check(text: &str) -> Glance {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, text).unwrap();
        glance(&path).unwrap()
    }

    #[test]
    fn compactions_and_damaged_lines_are_counted() {
        let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
        let compaction = "{\"type\":\"compaction\",\"id\":\"c\",\"parentId\":null}\n";
        let quoted =
            "{\"type\":\"message\",\"id\":\"m\",\"text\":\"{\\\"type\\\":\\\"compaction\\\"}\"}\n";
        let found = check(&[header, compaction, quoted, "\0\0\0\n", "{\"type\":\"mess"].concat());
        let want = Glance {
            compactions: 1,
            damaged_lines: 2,
            is_whole: true,
            last: None,
        };
        assert_eq!(found, want);
    }

    #[test]
    fn the_last_time_is_that_of_the_last_line_that_has_one() {
        let line = |at: &str| format!("{{\"type\":\"message\",\"timestamp\":\"{at}\"}}\n");
        let lines = line("2026-01-02T03:04:05.000Z") + &line("soon");
        let last = check(&lines).last.map(|at| at.to_string());
        assert_eq!(last.as_deref(), Some("2026-01-02T03:04:05.000Z"));
    }

    #[test]
    fn of_a_long_file_the_beginning_and_the_end_are_read() {
        let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
        let compaction = "{\"type\":\"compaction\",\"id\":\"c\",\"parentId\":null}\n";
        let long = format!(
            "{{\"type\":\"message\",\"text\":\"{}\"}}\n",
            "x".repeat(1 << 20)
        );
        let text = [header, compaction, &long.repeat(18), compaction].concat();
        let want = Glance {
            compactions: 2,
            damaged_lines: 0,
            is_whole: false,
            last: None,
        };
        assert_eq!(check(&text), want);
    }
}
