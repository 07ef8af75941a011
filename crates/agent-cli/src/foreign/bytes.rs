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

use super::{HEAD, IN_MEMORY};
use crate::error::Error;

/// How a file begins that is compressed with Zstandard.
const ZSTANDARD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The most bytes that are unpacked; a small file could stand for far more than a disk holds.
const MOST_UNPACKED: u64 = 8 * 1024 * 1024 * 1024;

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
    pub fn unpacked(self, path: &Path) -> Result<Self, Error> {
        if !self
            .head(path, ZSTANDARD.len() as u64)?
            .starts_with(&ZSTANDARD)
        {
            return Ok(self);
        }
        let mut packed: Box<dyn BufRead> = match self {
            Self::Memory(bytes) => Box::new(Cursor::new(bytes)),
            Self::File => Box::new(BufReader::new(open(path)?)),
            Self::Unnamed(mut file) => {
                file.rewind()
                    .map_err(|error| Error::io("read", path, error))?;
                Box::new(BufReader::new(file))
            }
        };
        let mut kept = Cancellable(SpooledTempFile::new(IN_MEMORY));
        let mut left = MOST_UNPACKED;
        let copied = unpack(&mut packed, &mut left, &mut kept);
        crate::cancel::check()?;
        if let Err(reason) = copied {
            let reason = format!("compressed with Zstandard, and damaged: {reason}");
            return Err(Error::session(path, reason));
        }
        Ok(Self::of_spooled(kept.0.into_inner()))
    }

    /// Returns the same bytes.
    pub fn duplicate(&self, path: &Path) -> Result<Self, Error> {
        Ok(match self {
            Self::Memory(bytes) => Self::Memory(bytes.clone()),
            Self::File => Self::File,
            Self::Unnamed(file) => {
                let file = file.try_clone();
                Self::Unnamed(file.map_err(|error| Error::io("read", path, error))?)
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
    fn head(&self, path: &Path, most: u64) -> Result<Vec<u8>, Error> {
        let read = |mut file: &File| {
            let mut head = Vec::new();
            let read = file
                .rewind()
                .and_then(|()| file.take(most).read_to_end(&mut head));
            read.map_err(|error| Error::io("read", path, error))?;
            Ok(head)
        };
        match self {
            Self::Memory(bytes) => Ok(bytes[..bytes.len().min(most as usize)].to_vec()),
            Self::File => read(&open(path)?),
            Self::Unnamed(file) => read(file),
        }
    }

    /// Returns the beginning, for telling the format.
    pub fn beginning(&self, path: &Path) -> Result<Vec<u8>, Error> {
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
    pub fn contents(self, path: &Path) -> Result<Contents, Error> {
        let failed = |error| Error::io("read", path, error);
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
    pub fn input(self, path: &Path) -> Result<Input, Error> {
        let file = match self {
            Self::Memory(bytes) => return Ok(Input::of_bytes(bytes)),
            Self::File => open(path)?,
            Self::Unnamed(file) => file,
        };
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| Error::io("open", path, error))?;
        Ok(Input {
            bytes: metadata.len(),
            source: Arc::new(FileSource::new(file)),
        })
    }
}

fn open(path: &Path) -> Result<File, Error> {
    File::open(path).map_err(|error| Error::io("open", path, error))
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
pub(super) struct Cancellable(pub SpooledTempFile);

impl Write for Cancellable {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match crate::cancel::is_cancelled() {
            true => Err(std::io::Error::other("cancelled")),
            false => self.0.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Returns the SHA-256 of all bytes, in hexadecimal digits.
pub(super) fn sha256(path: &Path, input: &Input) -> Result<String, Error> {
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
        let block = block.map_err(|error| Error::session(path, error.to_string()))?;
        hasher.update(&block);
        offset += len;
    }
    let digits = hasher.finalize();
    Ok(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}
