//! The prose of a summary: what is left without ledgers and file tags.

use crate::files::without_file_tags;

/// The end of a block.
const CLOSE: &str = "</ledger>";

/// The beginning of every ledger block.
const OPENING: &str = "<ledger>\nKept by code";

/// Returns `summary` without the ledgers in it: blocks on lines of their own that begin as ours do. A tag that only
/// looks like one stays.
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
        // If this block has no end, no later one has.
        let Some(end) = ending(body) else {
            break;
        };
        // If another block begins before the end, this beginning is only a quote.
        if body[..end].contains(&format!("\n{OPENING}")) {
            out.push_str(&rest[..at + OPENING.len()]);
            rest = body;
            continue;
        }
        // An unclosed beginning in front is text of another author.
        out.push_str(rest[..at].trim_end());
        rest = &body[end..];
        if rest.trim().is_empty() {
            rest = "";
        }
    }
    out.push_str(rest);
    out
}

/// Returns the offset at which a block ends whose text is `body`, the ending tag included.
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
