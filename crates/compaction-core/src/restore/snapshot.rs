//! The snapshot in an answer, without the scratchpad around it.
//!
//! The snapshot is searched for first, so that a tag of the scratchpad that is quoted in it survives. A scratchpad may
//! quote the snapshot's tags in turn, contain others, or lack its end. If the structure is ambiguous, text is rather
//! lost than a scratchpad taken for a summary: an answer without remaining text is requested once more.

use std::borrow::Cow;

/// The tags of the scratchpads of some models.
const SCRATCHPADS: [&str; 4] = ["analysis", "think", "thinking", "scratchpad"];

/// The tag of a snapshot.
const SNAPSHOT: &str = "state_snapshot";

/// A tag of one of those names.
#[derive(Debug, Clone, Copy)]
struct Tag {
    /// Its beginning and its end, in bytes.
    start: usize,
    end: usize,
    name: &'static str,
    closes: bool,
}

impl Tag {
    fn opens(&self, name: &str) -> bool {
        !self.closes && self.name == name
    }

    fn is_scratchpad(&self) -> bool {
        self.name != SNAPSHOT
    }
}

/// The tags of an answer, and which tag ends each scratchpad.
struct Scan<'a> {
    text: &'a str,
    tags: Vec<Tag>,
    ends: Vec<Option<usize>>,
}

/// Returns the snapshot of an answer, or all of an answer that has none, without scratchpads; empty if there is nothing
/// else.
pub(crate) fn snapshot_of(answer: &str) -> Cow<'_, str> {
    let scan = Scan::new(answer);
    let found = match scan.snapshot() {
        Some(snapshot) => Cow::Borrowed(snapshot.trim()),
        None => Cow::Owned(scan.without_scratchpads().trim().to_owned()),
    };
    match says_something(&found) {
        true => found,
        false => Cow::Borrowed(""),
    }
}

/// Returns true when there is a letter or a digit outside of tags.
fn says_something(text: &str) -> bool {
    let mut in_tag = false;
    text.char_indices().any(|(at, character)| {
        match character {
            // A less-than sign of a comparison opens no tag.
            '<' => {
                let next = text[at + 1..].chars().next();
                in_tag = next.is_some_and(|next| next == '/' || next.is_ascii_alphabetic());
            }
            '>' => in_tag = false,
            _ => return !in_tag && character.is_alphanumeric(),
        }
        false
    })
}

/// Returns the tags in a text, in order. Letter case and attributes make no difference.
fn tags(text: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let names = SCRATCHPADS.into_iter().chain([SNAPSHOT]);
    let mut from = 0;
    // Without a closing bracket no tag ends, so the search stops.
    while let Some(start) = text[from..].find('<').map(|at| from + at) {
        from = start + 1;
        let closes = text[from..].starts_with('/');
        let name_start = from + usize::from(closes);
        let rest = &text[name_start..];
        let named = names.clone().find(|name| {
            let head = rest.get(..name.len());
            let next = rest.as_bytes().get(name.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(name))
                && next
                    .is_some_and(|next| next.is_ascii_whitespace() || matches!(next, b'>' | b'/'))
        });
        let Some(name) = named else {
            continue;
        };
        let rest = &rest[name.len()..];
        let Some(length) = rest
            .find(['<', '>'])
            .filter(|at| rest[*at..].starts_with('>'))
        else {
            continue;
        };
        let end = name_start + name.len() + length + 1;
        // One that closes itself holds nothing.
        if !rest[..length].ends_with('/') {
            tags.push(Tag {
                start,
                end,
                name,
                closes,
            });
        }
        from = end;
    }
    tags
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        let tags = tags(text);
        let ends = scratchpad_ends(text, &tags);
        Self { text, tags, ends }
    }

    /// Returns the text in the snapshot's tags, if they are outside of scratchpads.
    fn snapshot(&self) -> Option<&'a str> {
        let mut at = 0;
        while let Some(tag) = self.tags.get(at) {
            if tag.opens(SNAPSHOT) {
                return Some(&self.text[tag.end..self.snapshot_end(at)]);
            }
            // A scratchpad that does not end may hold the snapshot.
            at = self.ends[at].unwrap_or(at) + 1;
        }
        None
    }

    /// Returns the offset at which the snapshot ends that opens at `open`, in bytes: at the tag that balances it,
    /// unless another unbalanced one follows outside of scratchpads; at the end of the text if none does.
    fn snapshot_end(&self, open: usize) -> usize {
        let mut end = None;
        let mut depth = 0_usize;
        let mut at = open;
        while let Some(tag) = self.tags.get(at) {
            let behind = end.is_some();
            if behind && tag.is_scratchpad() && !tag.closes {
                match self.ends[at] {
                    Some(last) => at = last + 1,
                    None => break,
                }
                continue;
            }
            if tag.opens(SNAPSHOT) {
                depth += 1;
            } else if tag.name == SNAPSHOT {
                let ends = if behind { depth == 0 } else { depth == 1 };
                depth = depth.saturating_sub(1);
                if ends {
                    end = Some(tag.start);
                }
            }
            at += 1;
        }
        end.unwrap_or(self.text.len())
    }

    /// Returns the text without scratchpads: closed ones, then one that does not end.
    fn without_scratchpads(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut from = 0;
        let mut at = 0;
        while let Some(tag) = self.tags.get(at) {
            if tag.closes || !tag.is_scratchpad() {
                at += 1;
                continue;
            }
            out.push_str(&self.text[from..tag.start]);
            // Not balanced: what is between the first and the last tag is none of the summary.
            let end = self.ends[at].or_else(|| {
                let last = |last: &Tag| last.name == tag.name && last.closes;
                self.tags.iter().rposition(last).filter(|end| *end > at)
            });
            let Some(end) = end else {
                return out;
            };
            from = self.tags[end].end;
            at = end + 1;
        }
        out.push_str(&self.text[from..]);
        out
    }
}

/// Returns for each tag that opens a scratchpad which tag ends it: the one that balances it, else the first one behind
/// which the snapshot follows immediately.
fn scratchpad_ends(text: &str, tags: &[Tag]) -> Vec<Option<usize>> {
    let mut ends = vec![None; tags.len()];
    for name in SCRATCHPADS {
        let mut open = Vec::new();
        for (at, tag) in tags.iter().enumerate().filter(|(_, tag)| tag.name == name) {
            if !tag.closes {
                open.push(at);
            } else if let Some(opened) = open.pop() {
                ends[opened] = Some(at);
            }
        }
        let mut before_snapshot = None;
        for (at, tag) in tags.iter().enumerate().rev() {
            let is_last = || {
                let next = tags.get(at + 1);
                next.is_some_and(|next| {
                    next.opens(SNAPSHOT) && text[tag.end..next.start].trim().is_empty()
                })
            };
            if tag.name == name && tag.closes && is_last() {
                before_snapshot = Some(at);
            } else if tag.opens(name) && ends[at].is_none() {
                ends[at] = before_snapshot;
            }
        }
    }
    ends
}

#[cfg(test)]
mod tests;
