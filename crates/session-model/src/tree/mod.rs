//! The tree of a session: heads of all entries, and bodies on demand.

mod append;
mod damage;
mod decode;
mod kinds;
mod labels;
mod link;
mod metered;
mod of_messages;
mod path;
mod replaced;
mod short_ids;
mod stale;
mod unfinished;

pub use stale::{LEAF_ENTRY, SUBAGENT};

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use hashbrown::HashTable;

use crate::body::{BodyError, Known, ReadEntry, read_entry};
use crate::entry::{Entry, EntryBody, EntryId, EntryKind};
use crate::head::{Header, StatedRole};
use crate::source::{LineSource, ReadMeter, SourceError, SourceFailure, Span, TakeLeftOut};

pub use append::AppendEntryError;
pub use decode::{Decoded, Decoder, decode_bytes};
use kinds::Kinds;
pub use path::{PathMark, SessionPath, Turn};
pub use short_ids::FindIdError;

/// The number of an entry: its place in the order of the file, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryIndex(u32);

impl EntryIndex {
    /// Returns the number as an index.
    pub fn as_usize(self) -> usize {
        self.0 as usize
    }
}

const NO_PARENT: u32 = u32::MAX;

/// One entry as the tree holds it: 32 bytes, and its id in a shared text.
#[derive(Debug, Clone)]
struct Row {
    offset: u64,
    len: u32,
    line: u32,
    id_start: u32,
    id_len: u32,
    parent: u32,
    kind: EntryKind,
    role: Option<StatedRole>,
}

/// Where a path ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// At this entry.
    At(EntryIndex),
    /// Before every entry: an empty path.
    Root,
}

/// A session: heads of all entries in the order of the file, and a source of bodies.
///
/// Invariant: parents form no ring, and every parent is an entry of the tree;
/// decoding mends what does not comply and says so in a diagnostic.
#[derive(Clone)]
pub struct SessionTree {
    header: Option<Header>,
    /// Some entry states its id, or there is no entry: what tells version 3 from 1 without a header.
    has_ids: bool,
    rows: Vec<Row>,
    ids: String,
    by_id: HashTable<u32>,
    /// Entries that name a parent that is not there, in the order of the file.
    orphans: Vec<u32>,
    /// The kinds that some entry has.
    kinds: Kinds,
    /// How many bytes all ids may take.
    most_ids: u32,
    /// The path to the last entry, once somebody asked for it; appending goes on with it.
    trunk: OnceLock<Arc<Vec<EntryIndex>>>,
    source: Arc<dyn LineSource>,
    /// Shared by all clones.
    meter: Arc<ReadMeter>,
    /// Lines that are read in place of entries' own.
    replaced: BTreeMap<EntryIndex, Box<[u8]>>,
    /// Lines whose content is damaged, shared by all clones.
    damaged: Arc<Mutex<BTreeSet<u64>>>,
}

impl std::fmt::Debug for SessionTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionTree")
            .field("header", &self.header)
            .field("entries", &self.rows.len())
            .finish_non_exhaustive()
    }
}

impl SessionTree {
    /// Returns the header, or `None` when the session has lost it.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Returns the version of the format; a session without a header is version 3 if its entries have ids, else 1.
    pub fn version(&self) -> u64 {
        let stated = self.header.as_ref().map(|header| header.version);
        stated.unwrap_or(if self.has_ids { 3 } else { 1 })
    }

    /// Returns how many entries there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true when there is no entry.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns all entries in the order of the file.
    pub fn indices(
        &self,
    ) -> impl DoubleEndedIterator<Item = EntryIndex> + ExactSizeIterator + use<> {
        (0..self.rows.len() as u32).map(EntryIndex)
    }

    /// Returns all entries in the order of the file, but parents that are written later before their children.
    pub fn parents_first(&self) -> Vec<EntryIndex> {
        let mut order = Vec::with_capacity(self.len());
        let mut placed = vec![false; self.len()];
        for index in self.indices() {
            let start = order.len();
            let chain = std::iter::successors(Some(index), |at| self.parent(*at));
            order.extend(chain.take_while(|at| !placed[at.as_usize()]));
            order[start..].reverse();
            order[start..]
                .iter()
                .for_each(|at| placed[at.as_usize()] = true);
        }
        order
    }

    /// Returns the leaf after opening: the last entry in the order of the file.
    pub fn leaf(&self) -> Leaf {
        match self.rows.len() {
            0 => Leaf::Root,
            len => Leaf::At(EntryIndex(len as u32 - 1)),
        }
    }

    /// Returns the entry whose id is `id`; of several, the last in the order of the file.
    pub fn find(&self, id: &str) -> Option<EntryIndex> {
        let found = self.by_id.find(hash_id(id), |row| {
            self.row_id(&self.rows[*row as usize]) == id
        });
        found.map(|row| EntryIndex(*row))
    }

    /// Returns the id of an entry.
    pub fn id(&self, index: EntryIndex) -> &str {
        self.row_id(self.row(index))
    }

    /// Returns the id of the entry at a leaf; none before everything.
    pub fn leaf_id(&self, leaf: Leaf) -> Option<&str> {
        match leaf {
            Leaf::At(index) => Some(self.id(index)),
            Leaf::Root => None,
        }
    }

    /// Returns the kind of an entry.
    pub fn kind(&self, index: EntryIndex) -> EntryKind {
        self.row(index).kind
    }

    /// Returns false when no entry is of this kind, on whatever branch.
    pub fn has_kind(&self, kind: EntryKind) -> bool {
        self.kinds.has(kind)
    }

    /// Returns the role of an entry's message, if it has one of those. The line is read only where its members stand in
    /// another order than sessions are written in; else its beginning counts, whatever the body behind it.
    ///
    /// # Panics
    ///
    /// Panics when `index` is of another tree and this one has no such row.
    pub fn role(&self, index: EntryIndex) -> Option<StatedRole> {
        if self.kind(index) != EntryKind::Message {
            return None;
        }
        let read = || match self.entry(index).ok()?.body {
            EntryBody::Message(message) => StatedRole::of(message.role()),
            _ => None,
        };
        let stated = self.row(index).role;
        let stated = stated.filter(|_| !self.replaced.contains_key(&index));
        stated.or_else(read)
    }

    /// Returns whether no id is used twice.
    pub(crate) fn ids_are_unique(&self) -> bool {
        self.by_id.len() == self.rows.len()
    }

    /// Returns the parent of an entry, or `None` at a root.
    pub fn parent(&self, index: EntryIndex) -> Option<EntryIndex> {
        let parent = self.row(index).parent;
        (parent != NO_PARENT).then_some(EntryIndex(parent))
    }

    /// Returns whether an entry names a parent that is not there: lines of the session are missing.
    pub fn is_orphan(&self, index: EntryIndex) -> bool {
        self.orphans.binary_search(&index.0).is_ok()
    }

    /// Returns the line of an entry, counted from 1.
    pub fn line(&self, index: EntryIndex) -> u64 {
        u64::from(self.row(index).line)
    }

    /// Returns where the line of an entry is.
    pub fn span(&self, index: EntryIndex) -> Span {
        let row = self.row(index);
        Span {
            offset: row.offset,
            len: row.len,
        }
    }

    /// Returns the bytes of an entry's line as they were written.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the bytes cannot be read from the source.
    ///
    /// # Panics
    ///
    /// Panics when `index` is of another tree and this one has no such row.
    pub fn raw_line(&self, index: EntryIndex) -> Result<Vec<u8>, SourceError> {
        Ok(self.line_of(index)?.into_owned())
    }

    /// Returns which reads of entries have failed since the session was opened, damage not counted.
    pub fn source_failure(&self) -> Option<SourceFailure> {
        self.source.failure()
    }

    /// Returns the bytes of `span` as the session has them, which may hold several lines; `None` where this tree reads
    /// other lines in place of some, so that their entries have to be read one by one.
    ///
    /// # Errors
    ///
    /// [`SourceError`] when the bytes cannot be read from the source.
    pub fn source_bytes(&self, span: Span) -> Result<Option<Cow<'_, [u8]>>, SourceError> {
        self.meter.add(0)?;
        match self.replaced.is_empty() {
            true => self.source.stored(span).map(Some),
            false => Ok(None),
        }
    }

    /// Gives what lines in [`source_bytes`](Self::source_bytes) leave out; see [`LineSource::left_out`].
    pub fn left_out(
        &self,
        stored: &[u8],
        lines: &[Range<usize>],
        take: &mut TakeLeftOut<'_>,
    ) -> bool {
        self.source.left_out(stored, lines, take)
    }

    fn line_of(&self, index: EntryIndex) -> Result<Cow<'_, [u8]>, SourceError> {
        self.meter.add(1)?;
        match self.replaced.get(&index) {
            Some(line) => Ok(Cow::Borrowed(line)),
            None => self.source.line(self.span(index)),
        }
    }

    /// Returns an entry with its body.
    ///
    /// # Errors
    ///
    /// [`BodyError`] when the bytes cannot be read from the source, or are not JSON.
    ///
    /// # Panics
    ///
    /// Panics when `index` is of another tree and this one has no such row.
    pub fn entry(&self, index: EntryIndex) -> Result<Entry, BodyError> {
        self.read(index).map(|read| read.entry)
    }

    /// Returns an entry with its body, and what had to be repaired to read it.
    ///
    /// # Errors
    ///
    /// [`BodyError`] when the bytes cannot be read from the source, or are not JSON.
    ///
    /// # Panics
    ///
    /// Panics when `index` is of another tree and this one has no such row.
    pub fn entry_with_repair(
        &self,
        index: EntryIndex,
    ) -> Result<(Entry, Option<String>), BodyError> {
        self.read(index).map(|read| (read.entry, read.repair))
    }

    /// Returns an entry with its body, from the line that [`source_bytes`](Self::source_bytes) gave and that leaves
    /// nothing out.
    ///
    /// # Errors
    ///
    /// [`BodyError`] when the line is not JSON.
    ///
    /// # Panics
    ///
    /// Panics when `index` is of another tree and this one has no such row.
    pub fn entry_of_line(&self, index: EntryIndex, line: &[u8]) -> Result<Entry, BodyError> {
        self.read_line(index, line).map(|read| read.entry)
    }

    fn parent_id(&self, index: EntryIndex) -> Option<EntryId> {
        self.parent(index)
            .map(|parent| EntryId::new(self.id(parent)))
    }

    pub(crate) fn read(&self, index: EntryIndex) -> Result<ReadEntry, BodyError> {
        self.read_line(index, &self.line_of(index)?)
    }

    fn read_line(&self, index: EntryIndex, line: &[u8]) -> Result<ReadEntry, BodyError> {
        let known = Known {
            id: EntryId::new(self.id(index)),
            parent: self.parent_id(index),
            kind: self.kind(index),
            line: self.line(index),
            version: self.version(),
        };
        let read = read_entry(line, known);
        if read.is_err() {
            self.note_damaged(self.line(index));
        }
        read
    }

    /// Returns the children of every entry, in the order of the file; roots are under `None`.
    pub fn children(&self) -> BTreeMap<Option<EntryIndex>, Vec<EntryIndex>> {
        let mut children: BTreeMap<Option<EntryIndex>, Vec<EntryIndex>> = BTreeMap::new();
        for index in self.indices() {
            children.entry(self.parent(index)).or_default().push(index);
        }
        children
    }

    /// Returns the leaves: entries without children, in the order of the file.
    pub fn leaves(&self) -> Vec<EntryIndex> {
        let mut has_child = vec![false; self.rows.len()];
        for row in &self.rows {
            if row.parent != NO_PARENT {
                has_child[row.parent as usize] = true;
            }
        }
        let all = self.indices();
        all.filter(|index| !has_child[index.as_usize()]).collect()
    }

    fn of_kind(&self, kind: EntryKind) -> impl DoubleEndedIterator<Item = EntryIndex> {
        self.indices()
            .filter(move |index| self.kind(*index) == kind)
    }

    fn row(&self, index: EntryIndex) -> &Row {
        &self.rows[index.as_usize()]
    }

    fn row_id(&self, row: &Row) -> &str {
        let start = row.id_start as usize;
        &self.ids[start..start + row.id_len as usize]
    }
}

/// Returns whether one more entry with an id of `id` bytes can be numbered.
fn has_room(rows: &[Row], ids: &str, id: usize, most_ids: u32) -> bool {
    let numbers = (rows.len() as u64) < u64::from(NO_PARENT);
    numbers && (ids.len() as u64).saturating_add(id as u64) <= u64::from(most_ids)
}

fn hash_id(id: &str) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(id.as_bytes());
    hasher.finish()
}
