//! Bodies of entries, read from the file when they are needed.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::sync::{Mutex, PoisonError};

use session_model::{LineSource, SourceError, SourceFailure, Span};

/// A file whose lines are read on demand, without a position that threads would share.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    failure: Mutex<Option<SourceFailure>>,
}

impl FileSource {
    /// Returns a source over an open file.
    pub fn new(file: File) -> Self {
        Self {
            file,
            failure: Mutex::new(None),
        }
    }

    fn note_failure(&self, error: &io::Error) {
        let reason = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it became shorter while it was open".to_owned(),
            _ => error.to_string(),
        };
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let first = SourceFailure { count: 0, reason };
        failure.get_or_insert(first).count += 1;
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        self.file.read_exact_at(buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        use std::os::windows::fs::FileExt;
        while !buffer.is_empty() {
            let count = self.file.seek_read(buffer, offset)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut buffer[count..];
            offset += count as u64;
        }
        Ok(())
    }
}

impl LineSource for FileSource {
    fn line(&self, span: Span) -> Result<Cow<'_, [u8]>, SourceError> {
        let mut buffer = vec![0; span.len as usize];
        let read = self.read_at(&mut buffer, span.offset);
        if let Err(error) = &read {
            self.note_failure(error);
        }
        match read {
            Ok(()) => Ok(Cow::Owned(buffer)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(SourceError::OutOfBounds { span })
            }
            Err(error) => Err(SourceError::Read {
                span,
                source: Box::new(error),
            }),
        }
    }

    fn failure(&self) -> Option<SourceFailure> {
        let failure = self.failure.lock();
        failure.unwrap_or_else(PoisonError::into_inner).clone()
    }
}
