//! Bytes of a session, before anybody knows whose they are: in a file, in memory, or unpacked.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use ruzstd::decoding::StreamingDecoder;
use session_import::Input;
use session_model::{LineSource, Span};
use session_store::{Contents, FileSource, ReadObserver, SessionFile, StoreError};
use tempfile::{SpooledData, SpooledTempFile};

/// How much of a file is looked at to tell its format, in bytes.
pub(crate) const HEAD: u64 = 1024 * 1024;

/// Up to how many bytes a converted session is kept in memory.
pub const IN_MEMORY: usize = 16 * 1024 * 1024;

/// Returns whether the user has cancelled.
pub type IsCancelled = fn() -> bool;

/// How a file begins that is compressed with Zstandard.
const ZSTANDARD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The most bytes that are unpacked, and the most for each that is packed: a small file could stand for far more than a
/// disk holds. Sessions are a tenth to a hundredth of their size.
const MOST_UNPACKED: u64 = 8 * 1024 * 1024 * 1024;
const MOST_FOR_A_BYTE: u64 = 1000;

/// Bytes of a session, before anybody knows whose they are.
pub enum Bytes {
    /// In memory.
    Memory(Vec<u8>),
    /// In the file at the path.
    File,
    /// In a file without a name.
    Unnamed(File),
}

impl Bytes {
    /// Returns them unpacked, where they are compressed with Zstandard.
    ///
    /// # Errors
    /// They cannot be read, are damaged, or the user has cancelled.
    pub fn unpacked(self, path: &Path, is_cancelled: IsCancelled) -> Result<Self, StoreError> {
        if !self
            .head(path, ZSTANDARD.len() as u64)?
            .starts_with(&ZSTANDARD)
        {
            return Ok(self);
        }
        let failed = |error| StoreError::io("read", path, error);
        let of_file = |mut file: File| -> std::io::Result<(u64, Box<dyn BufRead>)> {
            file.rewind()?;
            Ok((file.metadata()?.len(), Box::new(BufReader::new(file))))
        };
        let (length, mut packed): (u64, Box<dyn BufRead>) = match self {
            Self::Memory(bytes) => (bytes.len() as u64, Box::new(Cursor::new(bytes))),
            Self::File => of_file(open(path)?).map_err(failed)?,
            Self::Unnamed(file) => of_file(file).map_err(failed)?,
        };
        let mut kept = Cancellable::new(SpooledTempFile::new(IN_MEMORY), is_cancelled);
        let most = length.saturating_mul(MOST_FOR_A_BYTE).min(MOST_UNPACKED);
        let mut left = most;
        let copied = unpack(&mut packed, &mut left, &mut kept);
        if is_cancelled() {
            return Err(StoreError::Cancelled);
        }
        if let Err(reason) = copied {
            let reason = match left {
                0 => format!(
                    "more than {most} bytes once unpacked; unpack it with zstd -d to read it"
                ),
                _ => format!("compressed with Zstandard, and damaged: {reason}"),
            };
            return Err(StoreError::session(path, reason));
        }
        Ok(Self::of_spooled(kept.into_inner()))
    }

    /// Returns the same bytes.
    ///
    /// # Errors
    /// The file cannot be opened again.
    pub fn duplicate(&self, path: &Path) -> Result<Self, StoreError> {
        Ok(match self {
            Self::Memory(bytes) => Self::Memory(bytes.clone()),
            Self::File => Self::File,
            Self::Unnamed(file) => {
                let file = file.try_clone();
                Self::Unnamed(file.map_err(|error| StoreError::io("read", path, error))?)
            }
        })
    }

    /// Returns bytes that were collected.
    pub fn of_spooled(data: SpooledData) -> Self {
        match data {
            SpooledData::InMemory(bytes) => Self::Memory(bytes.into_inner()),
            SpooledData::OnDisk(file) => Self::Unnamed(file),
        }
    }

    /// Returns at most `most` bytes of the beginning.
    fn head(&self, path: &Path, most: u64) -> Result<Vec<u8>, StoreError> {
        let read = |mut file: &File| {
            let mut head = Vec::new();
            let read = file
                .rewind()
                .and_then(|()| file.take(most).read_to_end(&mut head));
            read.map_err(|error| StoreError::io("read", path, error))?;
            Ok(head)
        };
        match self {
            Self::Memory(bytes) => Ok(bytes[..bytes.len().min(most as usize)].to_vec()),
            Self::File => read(&open(path)?),
            Self::Unnamed(file) => read(file),
        }
    }

    /// Returns the beginning, for telling the format.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn beginning(&self, path: &Path) -> Result<Vec<u8>, StoreError> {
        self.head(path, HEAD)
    }

    /// Opens the session of the family that they are.
    ///
    /// # Errors
    /// They are none.
    pub fn session(
        self,
        path: &Path,
        observer: &mut dyn ReadObserver,
    ) -> Result<SessionFile, StoreError> {
        match self {
            Self::Memory(bytes) => SessionFile::of_memory(path, bytes),
            Self::File => SessionFile::open_observed(path, observer),
            Self::Unnamed(file) => SessionFile::of_file(path, file, observer),
        }
    }

    /// Returns the bytes for writing them to a new file.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn contents(self, path: &Path) -> Result<Contents, StoreError> {
        let failed = |error| StoreError::io("read", path, error);
        let mut file = match self {
            Self::Memory(bytes) => return Ok(Contents::Memory(Arc::new(bytes))),
            Self::File => open(path)?,
            Self::Unnamed(file) => file,
        };
        file.rewind().map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        Ok(Contents::File(file, length))
    }

    /// Returns the bytes as an input.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn input(self, path: &Path) -> Result<Input, StoreError> {
        let file = match self {
            Self::Memory(bytes) => return Ok(Input::of_bytes(bytes)),
            Self::File => open(path)?,
            Self::Unnamed(file) => file,
        };
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| StoreError::io("open", path, error))?;
        Ok(Input {
            bytes: metadata.len(),
            source: Arc::new(FileSource::new(file)),
        })
    }
}

fn open(path: &Path) -> Result<File, StoreError> {
    File::open(path).map_err(|error| StoreError::io("open", path, error))
}

/// Unpacks one frame after another, at most `left` bytes.
fn unpack(packed: &mut dyn BufRead, left: &mut u64, out: &mut dyn Write) -> Result<(), String> {
    while !packed
        .fill_buf()
        .map_err(|error| error.to_string())?
        .is_empty()
    {
        let frame = StreamingDecoder::new(&mut *packed).map_err(|error| error.to_string())?;
        let copied = std::io::copy(&mut frame.take(*left), out);
        *left -= copied.map_err(|error| error.to_string())?;
        if *left == 0 {
            return Err("there is more in it than is read".to_owned());
        }
    }
    Ok(())
}

/// Returns the beginning of what is compressed, as far as `packed` and `most` go; of anything else itself.
pub fn unpacked_beginning(packed: Vec<u8>, most: u64) -> Vec<u8> {
    if !packed.starts_with(&ZSTANDARD) {
        return packed;
    }
    let mut bytes = Vec::new();
    // What was read is there, also where the rest is missing.
    let _ = unpack(&mut packed.as_slice(), &mut { most }, &mut bytes);
    bytes
}

/// A file that fails to be written once the user has cancelled.
pub(crate) struct Cancellable {
    file: SpooledTempFile,
    is_cancelled: IsCancelled,
}

impl Cancellable {
    pub fn new(file: SpooledTempFile, is_cancelled: IsCancelled) -> Self {
        Self { file, is_cancelled }
    }

    /// Returns what was written.
    pub fn into_inner(self) -> SpooledData {
        self.file.into_inner()
    }
}

impl Write for Cancellable {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match (self.is_cancelled)() {
            true => Err(std::io::Error::other("cancelled")),
            false => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// Returns a document of a description, which is the member `name`, and messages.
pub(crate) fn document(name: &str, info: &str, messages: impl Iterator<Item = String>) -> Vec<u8> {
    let messages = messages.collect::<Vec<_>>().join(",\n");
    format!("{{\"{name}\":{info},\n\"messages\":[{messages}]}}\n").into_bytes()
}

/// Returns the SHA-256 of all bytes, in hexadecimal digits.
pub(crate) fn sha256(path: &Path, input: &Input) -> Result<String, StoreError> {
    use sha2::{Digest, Sha256};
    let mut hasher = Sha256::new();
    let mut offset = 0;
    while offset < input.bytes {
        let len = HEAD.min(input.bytes - offset);
        let span = Span {
            offset,
            len: len as u32,
        };
        let block = LineSource::line(&*input.source, span);
        let block = block.map_err(|error| StoreError::session(path, error.to_string()))?;
        hasher.update(&block);
        offset += len;
    }
    let digits = hasher.finalize();
    Ok(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}
