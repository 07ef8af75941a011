//! The prose of a summary: what is left without ledgers and file tags.

use crate::files::without_file_tags;

/// What ends a block.
const CLOSE: &str = "</ledger>";

/// How a block of ours begins, whatever it is for.
const OPENING: &str = "<ledger>\nKept by code";

/// Returns `summary` without the ledgers in it: blocks that stand on lines of their own and begin as ours do. A tag
/// that only looks like one stays.
pub fn without_ledger(summary: &str) -> String {
    let mut out = String::new();
    let mut rest = summary;
    while let Some(at) = rest.find(OPENING) {
        let starts_line = at == 0 || rest[..at].ends_with('\n');
        let body = &rest[at + OPENING.len()..];
        if !starts_line {
            out.push_str(&rest[..at + OPENING.len()]);
            rest = body;
            continue;
        }
        // Where this one does not end, none behind it does.
        let Some(end) = ending(body) else {
            break;
        };
        // Where another begins before, this one only quotes how they begin.
        if body[..end].contains(&format!("\n{OPENING}")) {
            out.push_str(&rest[..at + OPENING.len()]);
            rest = body;
            continue;
        }
        // What another wrote in front without closing it is not ours.
        out.push_str(rest[..at].trim_end());
        rest = &body[end..];
        if rest.trim().is_empty() {
            rest = "";
        }
    }
    out.push_str(rest);
    out
}

/// Returns where a block ends whose text is `body`, the ending tag included.
fn ending(body: &str) -> Option<usize> {
    let close = format!("\n{CLOSE}");
    let mut from = 0;
    while let Some(at) = body[from..].find(&close) {
        let end = from + at + close.len();
        if body[end..].is_empty() || body[end..].starts_with(['\n', '\r']) {
            return Some(end);
        }
        from = end;
    }
    None
}

/// Returns the prose of a summary: without ledger and file tags. This is what the next summary builds on.
pub fn prose_of(summary: &str) -> String {
    without_file_tags(&without_ledger(without_file_tags(summary))).to_owned()
}
