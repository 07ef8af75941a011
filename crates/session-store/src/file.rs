//! Session files: opened lazily, appended to under a lock, written anew only elsewhere.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use session_model::{Decoded, Decoder, EntryDraft, EntryId, EntryKind, SessionTree, stamp_write};

use crate::digest::Digest;
use crate::error::StoreError;
use crate::new_file::Contents;
use crate::progress::ReadObserver;
use crate::source::FileSource;
use crate::stamp::{fresh_id, now};

/// How much of a file is read in one call, in bytes.
const BLOCK: usize = 512 * 1024;

/// The newest version that this program knows.
pub(crate) const NEWEST_VERSION: u64 = 3;

/// A session that was opened for reading. Nothing is locked and nothing is changed.
#[derive(Debug)]
pub struct SessionFile {
    /// Where it is; `-` for standard input.
    pub path: PathBuf,
    /// The tree, and what was noticed.
    pub decoded: Decoded,
    /// Its bytes, when they are in memory because they did not come from a regular file.
    pub(crate) memory: Option<Arc<Vec<u8>>>,
    /// Of all its bytes.
    pub(crate) digest: Digest,
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
        if path == Path::new("-") {
            return Self::from_memory(path, read_stdin(observer)?);
        }
        let metadata = file_metadata(path)?;
        let mut file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
        if !metadata.is_file() {
            return Self::from_memory(path, read_stream(path, &mut file)?);
        }
        observer.begin(metadata.len());
        let (decoder, digest) = read_all(path, &mut file, Digest::default(), observer)?;
        Self::decoded(path, file, decoder, digest)
    }

    /// Reads the session again. What is known of it must still be its beginning.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and a beginning that changed.
    pub(crate) fn read_again(&self) -> Result<Self, StoreError> {
        let path = &self.path;
        let mut file = File::open(path).map_err(|error| StoreError::io("open", path, error))?;
        let digest = Digest::marked(self.decoded.bytes);
        let (decoder, digest) = read_all(path, &mut file, digest, &mut ())?;
        match digest.extends(&self.digest) {
            true => Self::decoded(path, file, decoder, digest),
            false => Err(StoreError::session(path, CHANGED)),
        }
    }

    fn decoded(
        path: &Path,
        file: File,
        decoder: Decoder,
        digest: Digest,
    ) -> Result<Self, StoreError> {
        let decoded = decoder.finish(Arc::new(FileSource::new(file)));
        check_decoded(path, &decoded)?;
        Ok(Self {
            path: path.to_owned(),
            decoded,
            memory: None,
            digest,
        })
    }

    fn from_memory(path: &Path, bytes: Vec<u8>) -> Result<Self, StoreError> {
        let mut first = true;
        check_block(path, &bytes, &mut first)?;
        let mut decoder = Decoder::new();
        decoder.feed(&bytes);
        let bytes = Arc::new(bytes);
        let decoded = decoder.finish(bytes.clone());
        check_decoded(path, &decoded)?;
        Ok(Self {
            path: path.to_owned(),
            decoded,
            memory: Some(bytes),
            digest: Digest::default(),
        })
    }

    /// Returns the tree.
    pub fn tree(&self) -> &SessionTree {
        &self.decoded.tree
    }

    /// Returns the version of the format that the file has.
    pub fn version(&self) -> u64 {
        self.tree().version()
    }

    /// Returns the nearest readable entry from `parent` on towards the root, and `parent` itself if it is another.
    ///
    /// Peers skip a line that they cannot read and everything before it, so nothing new is attached to one.
    pub fn readable_parent(&self, parent: Option<&EntryId>) -> (Option<EntryId>, Option<EntryId>) {
        let tree = self.tree();
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

    /// Returns the bytes that were read, for copying.
    pub fn contents(&self) -> Result<Contents, StoreError> {
        match &self.memory {
            Some(bytes) => Ok(Contents::Memory(bytes.clone())),
            None => {
                let file = File::open(&self.path)
                    .map_err(|error| StoreError::io("open", &self.path, error))?;
                Ok(Contents::File(file, self.decoded.bytes))
            }
        }
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

/// Returns what the system tells of a path that must be a file.
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

/// Why a session is not written that is not what was read.
pub(crate) const CHANGED: &str =
    "changed while it was open (another program wrote to it); run the command again";

/// Feeds all of a file to a decoder and a digest.
fn read_all(
    path: &Path,
    file: &mut File,
    mut digest: Digest,
    observer: &mut dyn ReadObserver,
) -> Result<(Decoder, Digest), StoreError> {
    let mut decoder = Decoder::new();
    let mut block = vec![0; BLOCK];
    let mut first = true;
    loop {
        let count = file
            .read(&mut block)
            .map_err(|error| StoreError::io("read", path, error))?;
        if count == 0 {
            return Ok((decoder, digest));
        }
        check_block(path, &block[..count], &mut first)?;
        decoder.feed(&block[..count]);
        digest.update(&block[..count]);
        check_version(path, &decoder)?;
        observer.read(count)?;
    }
}

/// Returns all of standard input; a user who cancels need not wait for its end.
fn read_stdin(observer: &mut dyn ReadObserver) -> Result<Vec<u8>, StoreError> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        // Nobody listens any more once the user has cancelled.
        let _ = sender.send(read.map(|_| bytes));
    });
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(read) => return read.map_err(|error| StoreError::io("read", "-", error)),
            Err(RecvTimeoutError::Timeout) => observer.read(0)?,
            Err(RecvTimeoutError::Disconnected) => {
                let error = std::io::Error::other("the reader ended early");
                return Err(StoreError::io("read", "-", error));
            }
        }
    }
}

/// Returns all of what is no regular file, unless its beginning is no session.
fn read_stream(path: &Path, file: &mut File) -> Result<Vec<u8>, StoreError> {
    let failed = |error| StoreError::io("read", path, error);
    let mut bytes = Vec::new();
    file.take(BLOCK as u64)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    check_block(path, &bytes, &mut true)?;
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Refuses what is binary from its first byte on. Zeroes further inside may be damage.
fn check_block(path: &Path, block: &[u8], first: &mut bool) -> Result<(), StoreError> {
    let text = block.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(block);
    let begins_like_json = text.trim_ascii_start().first() == Some(&b'{');
    if std::mem::take(first) && block.contains(&0) && !begins_like_json {
        return Err(StoreError::session(path, BINARY));
    }
    Ok(())
}

const BINARY: &str = "a binary file, no session; sessions are JSON lines";

fn check_version(path: &Path, decoder: &Decoder) -> Result<(), StoreError> {
    match decoder.header().map(|header| header.version) {
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
    if let Some(version) = decoded.tree.header().map(|header| header.version)
        && version > NEWEST_VERSION
    {
        let reason = format!(
            "a session of version {version}; this program knows versions 1 to {NEWEST_VERSION}; use a newer one"
        );
        return Err(StoreError::session(path, reason));
    }
    let tree = &decoded.tree;
    // Other JSON has types too: without a header, at least one of them must be an entry's.
    let known = |index| tree.kind(index) != EntryKind::Unknown;
    if tree.header().is_some() || tree.indices().any(known) {
        return Ok(());
    }
    use session_model::DiagnosticKind as Kind;
    let has = |kind| decoded.diagnostics.iter().any(|said| said.kind == kind);
    Err(StoreError::session(
        path,
        if tree.is_empty() && !(has(Kind::DamagedLine) || has(Kind::NotAnEntry)) {
            "empty; a session begins with a line of type \"session\""
        } else if has(Kind::NotAnEntry) || !tree.is_empty() {
            "JSON, but no session; a session begins with a line of type \"session\""
        } else {
            "no session: not one line is a JSON object; name a session's .jsonl file"
        },
    ))
}
