//! Session files: opened lazily, appended to under a lock, rewritten only as new files.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use session_model::{
    Decoded, Decoder, EntryDraft, EntryId, EntryKind, Header, LineSource, SessionTree, stamp_write,
};

use tempfile::{SpooledData, SpooledTempFile};

use crate::error::{Advice, CHANGED, StoreError};
use crate::new_file::Contents;
use crate::progress::ReadObserver;
use crate::source::FileSource;
use crate::stamp::{fresh_id, now};

/// The number of bytes that one read takes.
const BLOCK: usize = 512 * 1024;

/// The newest version that this program knows.
pub(crate) const NEWEST_VERSION: u64 = 3;

/// The bytes of a session that are not those of the file at its path.
#[derive(Debug)]
enum Elsewhere {
    /// In memory: they did not come from a regular file.
    Memory(Arc<Vec<u8>>),
    /// In another file, which may have no name.
    File(File),
    /// In lines that the source of the tree returns.
    Lines,
}

/// A session that was opened for reading. Nothing is locked and nothing is changed.
#[derive(Debug)]
pub struct SessionFile {
    /// The path; `-` for standard input.
    pub path: PathBuf,
    /// The tree, and what was noticed.
    pub decoded: Decoded,
    /// The place of its bytes, if they are not in the file at `path`.
    elsewhere: Option<Elsewhere>,
    /// The checksum of all its bytes.
    pub(crate) checksum: crc32fast::Hasher,
}

impl SessionFile {
    /// Opens a session: a path, or `-` for standard input.
    ///
    /// # Errors
    /// The file is missing, cannot be read, or is no session that this version knows.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_observed(path, &mut ())
    }

    /// Opens a session as [`open`](Self::open) does; `observer` learns of the progress and may stop it.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and what the observer returns.
    pub fn open_observed(path: &Path, observer: &mut dyn ReadObserver) -> Result<Self, StoreError> {
        if let Some(bytes) = Self::read_pipe(path, observer)? {
            return Self::of_memory(path, bytes);
        }
        let file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
        Self::read_file(path, file, observer)
    }

    /// Returns all bytes of standard input (`-`) or of a pipe, which can be read only once; `None` for a regular file.
    ///
    /// # Errors
    /// The file is missing, or cannot be read; and what the observer returns.
    pub fn read_pipe(
        path: &Path,
        observer: &mut dyn ReadObserver,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        if path == Path::new("-") {
            return read_stream(path, || Ok(io::stdin()), observer).map(Some);
        }
        if file_metadata(path)?.is_file() {
            return Ok(None);
        }
        let pipe = path.to_owned();
        read_stream(path, move || File::open(pipe), observer).map(Some)
    }

    /// Opens a session whose bytes are in another file than `path` names.
    ///
    /// # Errors
    /// Those of [`open_observed`](Self::open_observed).
    pub fn of_file(
        path: &Path,
        file: File,
        observer: &mut dyn ReadObserver,
    ) -> Result<Self, StoreError> {
        let failed = |error| StoreError::io("read", path, error);
        let again = file.try_clone().map_err(failed)?;
        (&file).rewind().map_err(failed)?;
        let session = Self::read_file(path, file, observer)?;
        Ok(Self {
            elsewhere: Some(Elsewhere::File(again)),
            ..session
        })
    }

    fn read_file(
        path: &Path,
        mut file: File,
        observer: &mut dyn ReadObserver,
    ) -> Result<Self, StoreError> {
        observer.begin(file.metadata().map_or(0, |metadata| metadata.len()));
        let mut reading = Reading::new(path);
        reading.read(&mut file, observer)?;
        reading.finish(file)
    }

    /// Reads the session again. What is known of it must still be its beginning.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and a beginning that changed.
    pub(crate) fn read_again(&self) -> Result<Self, StoreError> {
        let path = &self.path;
        let mut file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
        let mut reading = Reading::new(path);
        reading.read((&mut file).take(self.decoded.bytes), &mut ())?;
        if reading.checksum.clone().finalize() != self.checksum.clone().finalize() {
            return Err(StoreError::session(path, CHANGED));
        }
        reading.read(&mut file, &mut ())?;
        reading.finish(file)
    }

    /// Opens a session whose bytes are in memory.
    ///
    /// # Errors
    /// The bytes are no session that this version knows.
    pub fn of_memory(path: &Path, bytes: Vec<u8>) -> Result<Self, StoreError> {
        let mut reading = Reading::new(path);
        reading.feed(&bytes)?;
        let bytes = Arc::new(bytes);
        let session = reading.finish_over(bytes.clone())?;
        Ok(Self {
            elsewhere: Some(Elsewhere::Memory(bytes)),
            ..session
        })
    }

    /// Opens a session that comes in blocks. It is kept in memory, or if it is longer than `most`, in a file without a
    /// name.
    ///
    /// # Errors
    /// It cannot be kept, or is no session that this version knows.
    pub fn of_blocks(
        path: &Path,
        blocks: impl IntoIterator<Item = Vec<u8>>,
        most: usize,
    ) -> Result<Self, StoreError> {
        let mut reading = Reading::new(path);
        let mut kept = SpooledTempFile::new(most);
        for block in blocks {
            reading.feed(&block)?;
            let kept = kept.write_all(&block);
            kept.map_err(|error| StoreError::io("keep what was read of", path, error))?;
        }
        match kept.into_inner() {
            SpooledData::InMemory(bytes) => reading.finish_over(Arc::new(bytes.into_inner())),
            SpooledData::OnDisk(file) => reading.finish(file),
        }
    }

    /// Returns the session that `file` holds, whose bytes are known.
    pub(crate) fn of_bytes(path: &Path, bytes: &[u8], file: File) -> Result<Self, StoreError> {
        let mut reading = Reading::new(path);
        reading.feed(bytes)?;
        reading.finish(file)
    }

    /// Takes lines that were appended at the end into what is known of the session.
    pub(crate) fn take_in(&mut self, lines: &[String]) {
        if !self.decoded.ends_with_newline {
            self.checksum.update(b"\n");
        }
        for line in lines {
            self.checksum.update(line.as_bytes());
            self.checksum.update(b"\n");
        }
        take_in(&mut self.decoded, lines);
    }

    /// Returns the tree.
    pub fn tree(&self) -> &SessionTree {
        &self.decoded.tree
    }

    /// Returns the version of the format that the file has.
    pub fn version(&self) -> u64 {
        self.tree().version()
    }

    /// Returns the bytes that were read, for copying.
    ///
    /// # Errors
    /// The file cannot be opened again.
    pub fn contents(&self) -> Result<Contents, StoreError> {
        let failed = |error| StoreError::io("read", &self.path, error);
        match &self.elsewhere {
            Some(Elsewhere::Memory(bytes)) => Ok(Contents::Memory(bytes.clone())),
            Some(Elsewhere::File(file)) => {
                let mut file = file.try_clone().map_err(failed)?;
                file.rewind().map_err(failed)?;
                Ok(Contents::File(file, self.decoded.bytes))
            }
            Some(Elsewhere::Lines) => {
                Contents::of_lines(self.tree(), self.decoded.bytes).map_err(failed)
            }
            None => {
                let file = File::open(&self.path)
                    .map_err(|error| StoreError::io("open", &self.path, error))?;
                Ok(Contents::File(file, self.decoded.bytes))
            }
        }
    }

    /// Reads lines through another source from now on, which has the same lines at the same places; every entry is one
    /// line, and there is nothing else but the header.
    #[must_use]
    pub fn reading_through(
        mut self,
        wrap: impl FnOnce(Arc<dyn LineSource>) -> Arc<dyn LineSource>,
    ) -> Self {
        self.decoded.tree.read_through(wrap);
        self.elsewhere = Some(Elsewhere::Lines);
        self
    }

    /// Returns an id that no entry of the session has: eight hex digits.
    pub fn fresh_id(&self, taken: &[EntryId]) -> EntryId {
        fresh_id(self.tree(), &[], taken)
    }

    /// Returns the lines of `drafts`, stamped as a chain that begins under `parent`, and their ids.
    pub fn stamp(
        &self,
        drafts: &[EntryDraft],
        parent: Option<&EntryId>,
    ) -> (Vec<String>, Vec<EntryId>) {
        let mut ids = Vec::new();
        for _ in drafts {
            ids.push(self.fresh_id(&ids));
        }
        let named: Vec<_> = ids.iter().cloned().zip(drafts.iter().cloned()).collect();
        (stamp_write(&named, parent.cloned(), now()), ids)
    }
}

/// Returns the nearest readable entry from `parent` on towards the root, and `parent` itself if it is another.
///
/// Peers skip a line that they cannot read and everything before it, so nothing new is attached to one.
pub fn readable_parent(
    tree: &SessionTree,
    parent: Option<&EntryId>,
) -> (Option<EntryId>, Option<EntryId>) {
    let mut at = parent.and_then(|parent| tree.find(parent));
    let mut skipped = None;
    while let Some(index) = at.filter(|index| tree.entry(*index).is_err()) {
        skipped = parent.cloned();
        at = tree.parent(index);
    }
    match skipped {
        None => (parent.cloned(), None),
        skipped => (at.map(|index| EntryId::new(tree.id(index))), skipped),
    }
}

/// Returns the metadata of a path that must be a file.
pub(crate) fn file_metadata(path: &Path) -> Result<std::fs::Metadata, StoreError> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            StoreError::session(path, "no such session file; check the path")
        }
        _ => StoreError::io("open", path, error),
    })?;
    match metadata.is_dir() {
        true => Err(StoreError::session(
            path,
            "a directory; name a session file in it",
        )),
        false => Ok(metadata),
    }
}

/// Takes lines that were appended at the end into a tree.
pub(crate) fn take_in(decoded: &mut Decoded, lines: &[String]) {
    decoded.bytes += u64::from(!decoded.ends_with_newline);
    decoded.ends_with_newline = true;
    for line in lines {
        decoded.lines += 1;
        // Lines that are not entries of the tree (a header, say) are kept too.
        let (start, number) = (decoded.bytes, decoded.lines);
        let _ = decoded.tree.append(line.as_bytes(), start, number);
        decoded.bytes += line.len() as u64 + 1;
    }
}

/// A session that is being read.
struct Reading<'a> {
    path: &'a Path,
    decoder: Decoder,
    checksum: crc32fast::Hasher,
    begun: bool,
}

impl<'a> Reading<'a> {
    fn new(path: &'a Path) -> Self {
        Self {
            path,
            decoder: Decoder::new(),
            checksum: crc32fast::Hasher::new(),
            begun: false,
        }
    }

    /// Takes bytes in. What is binary from its first byte on is refused; zeroes further inside may be damage.
    fn feed(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if !std::mem::replace(&mut self.begun, true) && is_binary(bytes) {
            return Err(StoreError::session(self.path, BINARY).advising(Advice::TryFormats));
        }
        self.decoder.feed(bytes);
        self.checksum.update(bytes);
        check_version(self.path, self.decoder.header())
    }

    /// Takes in all that comes out of `from`.
    fn read(
        &mut self,
        mut from: impl Read,
        observer: &mut dyn ReadObserver,
    ) -> Result<(), StoreError> {
        let mut block = vec![0; BLOCK];
        loop {
            let count = from
                .read(&mut block)
                .map_err(|error| StoreError::io("read", self.path, error))?;
            if count == 0 {
                return Ok(());
            }
            self.feed(&block[..count])?;
            observer.read(count)?;
        }
    }

    fn finish(self, file: File) -> Result<SessionFile, StoreError> {
        self.finish_over(Arc::new(FileSource::new(file)))
    }

    fn finish_over(self, source: Arc<dyn LineSource>) -> Result<SessionFile, StoreError> {
        let decoded = self.decoder.finish(source);
        check_decoded(self.path, &decoded)?;
        Ok(SessionFile {
            path: self.path.to_owned(),
            decoded,
            elsewhere: None,
            checksum: self.checksum,
        })
    }
}

/// Returns all bytes of a file that is not a regular one, unless they do not begin as a session. Opening a pipe and
/// reading from it may block without limit; a user who cancels need not wait for it.
///
/// # Errors
/// Failed reads, and what the observer returns.
pub fn read_stream<R: Read>(
    path: &Path,
    open: impl FnOnce() -> io::Result<R> + Send + 'static,
    observer: &mut dyn ReadObserver,
) -> Result<Vec<u8>, StoreError> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let read = || {
            let (mut stream, mut bytes) = (open()?, Vec::new());
            stream.by_ref().take(BLOCK as u64).read_to_end(&mut bytes)?;
            if !is_binary(&bytes) {
                stream.read_to_end(&mut bytes)?;
            }
            Ok(bytes)
        };
        // The receiver is gone once the user has cancelled.
        let _ = sender.send(read());
    });
    let failed = |error| StoreError::io("read", path, error);
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(read) => return read.map_err(failed),
            Err(RecvTimeoutError::Timeout) => observer.read(0)?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed(io::Error::other("the reader ended early")));
            }
        }
    }
}

/// Returns true if the first block of a file is binary.
fn is_binary(block: &[u8]) -> bool {
    let text = block.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(block);
    block.contains(&0) && text.trim_ascii_start().first() != Some(&b'{')
}

const BINARY: &str = "a binary file, no session; sessions are JSON lines";

fn check_version(path: &Path, header: Option<&Header>) -> Result<(), StoreError> {
    match header.map(|header| header.version) {
        Some(version) if version > NEWEST_VERSION => Err(StoreError::session(
            path,
            format!(
                "a session of version {version}; this program knows versions 1 to {NEWEST_VERSION}; use a newer one"
            ),
        )),
        _ => Ok(()),
    }
}

fn check_decoded(path: &Path, decoded: &Decoded) -> Result<(), StoreError> {
    let tree = &decoded.tree;
    check_version(path, tree.header())?;
    // Other JSON has types too: without a header, at least one of them must be an entry's.
    let known = |index| tree.kind(index) != EntryKind::Unknown;
    if tree.header().is_some() || tree.indices().any(known) {
        return Ok(());
    }
    use session_model::DiagnosticKind as Kind;
    let has = |kind| decoded.diagnostics.iter().any(|found| found.kind == kind);
    if tree.is_empty() && !(has(Kind::DamagedLine) || has(Kind::NotAnEntry)) {
        let reason = "empty; a session begins with a line of type \"session\"";
        return Err(StoreError::session(path, reason));
    }
    let reason = match has(Kind::NotAnEntry) || !tree.is_empty() {
        true => "JSON, but no session; a session begins with a line of type \"session\"",
        false => "no session: not one line is a JSON object; name a session's .jsonl file",
    };
    Err(StoreError::session(path, reason).advising(Advice::TryFormats))
}
