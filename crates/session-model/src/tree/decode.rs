//! Decoding: from blocks of bytes to a tree, without looking into bodies. It never fails on content.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use crate::diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Severity};
use crate::entry::{EntryId, EntryKind};
use crate::head::{EntryHead, Head, Repair, plain_head, read_head};
use crate::json;
use crate::source::LineSource;
use crate::tree::kinds::Kinds;
use crate::tree::unfinished::UnfinishedWrite;
use crate::tree::{NO_PARENT, Row, SessionTree, has_room};

/// A tree, and what was noticed while its lines were read.
#[derive(Debug, Clone)]
pub struct Decoded {
    /// The tree. It has no header and no entries when the bytes were no session.
    pub tree: SessionTree,
    /// What was noticed, in the order of the file; of each kind at most [`Diagnostics::LISTED`], the last of which
    /// counts the others.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of bytes that were read.
    pub bytes: u64,
    /// Number of lines, blank ones included.
    pub lines: u64,
    /// True when the last byte is a line feed (or there is no byte).
    pub ends_with_newline: bool,
}

/// Returns the session that `bytes` spell, kept in memory.
pub fn decode_bytes(bytes: Vec<u8>) -> Decoded {
    let mut decoder = Decoder::new();
    decoder.feed(&bytes);
    decoder.finish(Arc::new(bytes))
}

/// Takes a session block by block and keeps the heads of its entries.
///
/// Feed every byte in order, in blocks of any size, then [`finish`](Self::finish)
/// with a source that gives the same bytes again.
#[derive(Debug)]
pub struct Decoder {
    /// The beginning of a line whose end has not come yet; nothing of one that is too long.
    carry: Vec<u8>,
    /// How long that beginning is.
    carried: u64,
    /// The longest line, in bytes.
    longest_line: u64,
    /// How many bytes all ids may take.
    most_ids: u32,
    offset: u64,
    pub(super) line: u64,
    header: Option<crate::head::Header>,
    pub(super) rows: Vec<Row>,
    pub(super) kinds: Kinds,
    pub(super) ids: String,
    /// Some entry states its id.
    has_ids: bool,
    /// Entries whose parent is not the entry before them, with the id that they name.
    pub(super) parents: Vec<(u32, Box<str>)>,
    /// Parents of lines that are damaged behind a readable head.
    pub(super) damaged_parents: BTreeMap<Box<str>, Option<Box<str>>>,
    pub(super) diagnostics: Diagnostics,
    /// Lines that were set aside because they cannot be read.
    damaged: BTreeSet<u64>,
    carriage_returns: Counted,
    blanks: Counted,
    /// The write of several entries whose last one has not come yet.
    pub(super) unfinished: Option<UnfinishedWrite>,
    /// The line at hand is the last one and has no line feed.
    in_tail: bool,
}

/// A peculiarity that may be on every line: said once, with the first line and how many there are.
#[derive(Debug, Default)]
struct Counted {
    first: u64,
    count: u64,
}

impl Counted {
    fn add(&mut self, line: u64) {
        if self.count == 0 {
            self.first = line;
        }
        self.count += 1;
    }
}

/// The length of an id that is made of a position.
const POSITION: usize = 8;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Returns a decoder that has seen nothing yet.
    pub fn new() -> Self {
        Self::with_limits(u32::MAX, u32::MAX)
    }

    /// Returns one for lines of at most `longest_line` bytes, and ids of at most `most_ids` bytes together.
    fn with_limits(longest_line: u32, most_ids: u32) -> Self {
        Self {
            unfinished: None,
            carry: Vec::new(),
            carried: 0,
            longest_line: u64::from(longest_line),
            most_ids,
            offset: 0,
            line: 0,
            header: None,
            rows: Vec::new(),
            kinds: Kinds::default(),
            ids: String::new(),
            has_ids: false,
            parents: Vec::new(),
            damaged_parents: BTreeMap::new(),
            diagnostics: Diagnostics::default(),
            damaged: BTreeSet::new(),
            carriage_returns: Counted::default(),
            blanks: Counted::default(),
            in_tail: false,
        }
    }

    /// Returns the header, once its line has been fed.
    pub fn header(&self) -> Option<&crate::head::Header> {
        self.header.as_ref()
    }

    /// Takes the next block.
    pub fn feed(&mut self, block: &[u8]) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', block) {
            let piece = &block[start..end];
            if self.carried == 0 {
                self.take_line(piece);
            } else {
                self.carry(piece);
                self.take_carried();
            }
            self.offset += 1;
            start = end + 1;
        }
        self.carry(&block[start..]);
    }

    /// Keeps a piece of a line whose end has not come yet. Of a line that is too long only the length is kept.
    fn carry(&mut self, piece: &[u8]) {
        self.carried += piece.len() as u64;
        match self.carried > self.longest_line {
            true => self.carry = Vec::new(),
            false => self.carry.extend_from_slice(piece),
        }
    }

    /// Takes the line that was carried, and returns whether there is more on it than white space.
    fn take_carried(&mut self) -> bool {
        let mut line = std::mem::take(&mut self.carry);
        let length = std::mem::take(&mut self.carried);
        let is_blank = match length > self.longest_line {
            true => {
                self.line += 1;
                self.offset += length;
                self.say_oversized();
                false
            }
            false => {
                self.take_line(&line);
                line.trim_ascii().is_empty()
            }
        };
        line.clear();
        self.carry = line;
        !is_blank
    }

    /// Returns the tree over `source`, which must give the bytes that were fed.
    pub fn finish(mut self, source: Arc<dyn LineSource>) -> Decoded {
        let ends_with_newline = self.carried == 0;
        if !ends_with_newline {
            let damaged = self.diagnostics.count(DiagnosticKind::DamagedLine);
            self.in_tail = true;
            let is_written = self.take_carried();
            if self.diagnostics.count(DiagnosticKind::DamagedLine) > damaged {
                let kind = DiagnosticKind::TornTail;
                let text = "the last line is cut off; it is kept and set aside";
                self.say(Severity::Warning, kind, text);
            } else if is_written {
                let kind = DiagnosticKind::MissingFinalNewline;
                let text = "no newline at the end; the next append adds one first";
                self.say(Severity::Note, kind, text);
            }
        }
        self.set_unfinished_aside();
        self.say_counted();
        if self.header.is_none() && !self.rows.is_empty() {
            let kind = DiagnosticKind::MissingHeader;
            let text = "no session header can be read; the entries are opened without it";
            self.diagnostics
                .push(Diagnostic::new(Severity::Warning, kind, text));
        }
        let by_id = self.index_ids();
        let mut tree = SessionTree {
            header: self.header.take(),
            has_ids: self.has_ids || self.rows.is_empty(),
            rows: std::mem::take(&mut self.rows),
            ids: std::mem::take(&mut self.ids),
            by_id,
            orphans: Vec::new(),
            kinds: self.kinds,
            most_ids: self.most_ids,
            trunk: OnceLock::new(),
            source,
            meter: Arc::default(),
            replaced: BTreeMap::new(),
            damaged: Arc::new(Mutex::new(std::mem::take(&mut self.damaged))),
        };
        self.link_parents(&mut tree);
        self.cut_rings(&mut tree);
        let mut diagnostics = self.diagnostics.into_vec();
        diagnostics.sort_by_key(|diagnostic| diagnostic.line.unwrap_or(u64::MAX));
        Decoded {
            tree,
            diagnostics,
            bytes: self.offset,
            lines: self.line,
            ends_with_newline,
        }
    }

    fn say(&mut self, severity: Severity, kind: DiagnosticKind, text: impl Into<String>) {
        if severity == Severity::Error {
            self.damaged.insert(self.line);
        }
        let diagnostic = Diagnostic::new(severity, kind, text).at_line(self.line);
        self.diagnostics.push(diagnostic);
    }

    fn say_oversized(&mut self) {
        let kind = DiagnosticKind::OversizedLine;
        self.say(Severity::Error, kind, "longer than 4 GiB; set aside");
    }

    fn say_repaired(&mut self, repair: Option<Repair>) {
        if let Some(repair) = repair {
            let text =
                format!("its head was read after repair ({repair}); its bytes are untouched");
            self.say(Severity::Note, DiagnosticKind::RepairedHead, text);
        }
    }

    fn say_counted(&mut self) {
        let counted = [
            (
                &self.carriage_returns,
                DiagnosticKind::CarriageReturns,
                "lines end in CR LF",
            ),
            (&self.blanks, DiagnosticKind::BlankLines, "blank lines"),
        ];
        for (counted, kind, what) in counted {
            if counted.count > 0 {
                let text = format!("{what} ({} in all); they are read as usual", counted.count);
                let said = Diagnostic::new(Severity::Note, kind, text);
                self.diagnostics.push(said.at_line(counted.first));
            }
        }
    }

    /// Takes one line without its line feed; `self.offset` is where it starts.
    fn take_line(&mut self, line: &[u8]) {
        self.line += 1;
        let start = self.offset;
        self.offset += line.len() as u64;
        let mut body = line;
        let mut skipped = 0;
        if start == 0
            && let Some(rest) = line.strip_prefix(BYTE_ORDER_MARK)
        {
            body = rest;
            skipped = BYTE_ORDER_MARK.len() as u64;
            let kind = DiagnosticKind::ByteOrderMark;
            self.say(Severity::Note, kind, "begins with a byte-order mark");
        }
        if let [rest @ .., b'\r'] = body {
            body = rest;
            self.carriage_returns.add(self.line);
        }
        if body.trim_ascii().is_empty() {
            self.blanks.add(self.line);
            return;
        }
        if line.len() as u64 > self.longest_line {
            return self.say_oversized();
        }
        let mut offset = start + skipped;
        for (number, record) in json::records(body).enumerate() {
            if number == 1 {
                let text = "two records on one line; both are read, but agents may read neither";
                self.say(Severity::Warning, DiagnosticKind::SharedLine, text);
            }
            self.take_record(record, offset);
            offset += record.len() as u64;
        }
    }

    fn take_record(&mut self, body: &[u8], offset: u64) {
        // A line may be cut off just behind a closing brace, so the tail is looked at as a whole.
        let head = match self.in_tail && !json::is_json(body) {
            true => Head::Damaged,
            false => read_head(body),
        };
        // A torn line that ends in a brace must not finish a write once more lines follow it.
        let head = match self.finishes_write(&head) && !json::is_json(body) {
            true => Head::Damaged,
            false => head,
        };
        match head {
            Head::Header(header, repair) => {
                self.say_repaired(repair);
                if self.header.is_some() {
                    let kind = DiagnosticKind::ExtraHeader;
                    self.say(Severity::Warning, kind, "another session header; ignored");
                } else {
                    self.header = Some(*header);
                }
            }
            // oh-my-pi keeps a place of fixed length for the title in front of the header.
            Head::Entry(head)
                if head.kind == "title" && head.id.is_none() && self.header.is_none() => {}
            Head::Entry(mut head) => {
                self.say_repaired(head.repair.take());
                self.take_entry(&head, offset, body.len() as u32);
            }
            Head::NotAnEntry => {
                let kind = DiagnosticKind::NotAnEntry;
                self.say(
                    Severity::Warning,
                    kind,
                    "no entry (it has no type); set aside",
                );
            }
            Head::Damaged => {
                if let Some(head) = plain_head(body) {
                    let id = head.id.unwrap_or_default();
                    let parent = head.parent.flatten().map(|parent| Box::from(&*parent));
                    self.damaged_parents.insert(Box::from(&*id), parent);
                }
                let kind = DiagnosticKind::DamagedLine;
                self.say(Severity::Error, kind, "not readable as JSON; set aside");
            }
        }
    }

    fn take_entry(&mut self, head: &EntryHead<'_>, offset: u64, len: u32) {
        let id_len = head.id.as_ref().map_or(0, |id| id.len());
        if !has_room(&self.rows, &self.ids, id_len.max(POSITION), self.most_ids) {
            let kind = DiagnosticKind::TooManyEntries;
            let text = "one entry more than can be numbered; set aside";
            return self.say(Severity::Error, kind, text);
        }
        self.follow_write(head);
        let row = self.rows.len() as u32;
        let previous = row.checked_sub(1).unwrap_or(NO_PARENT);
        let position = self.rows.len() as u64 + 1;
        let linear = self
            .header
            .as_ref()
            .is_some_and(|header| header.version < 2)
            || (self.header.is_none() && head.id.is_none());
        let id_start = self.ids.len() as u32;
        self.has_ids |= head.id.is_some();
        let mut parent = NO_PARENT;
        match (&head.id, linear) {
            (Some(id), false) if !id.is_empty() => self.ids.push_str(id),
            _ => {
                self.ids.push_str(&EntryId::of_position(position));
                if !linear {
                    let kind = DiagnosticKind::MissingId;
                    self.say(Severity::Warning, kind, "no id; its position serves as one");
                }
            }
        }
        let id_len = self.ids.len() as u32 - id_start;
        match &head.parent {
            _ if linear => parent = previous,
            Some(None) => {}
            Some(Some(id)) => {
                let before = self.rows.last().map(|row| {
                    let start = row.id_start as usize;
                    &self.ids[start..start + row.id_len as usize]
                });
                if before == Some(&**id) {
                    parent = previous;
                } else {
                    self.parents.push((row, Box::from(&**id)));
                }
            }
            None => {
                parent = previous;
                if parent != NO_PARENT {
                    let kind = DiagnosticKind::MissingParent;
                    let text = "names no parent; joined to the entry before it";
                    self.say(Severity::Warning, kind, text);
                }
            }
        }
        let kind = EntryKind::from_name(&head.kind);
        self.kinds.add(kind);
        self.rows.push(Row {
            offset,
            len,
            line: u32::try_from(self.line).unwrap_or(u32::MAX),
            id_start,
            id_len,
            parent,
            kind,
            role: head.role,
        });
    }
}

#[cfg(test)]
mod tests;
