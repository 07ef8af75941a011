//! Bodies of entries from a file, read where they stand.

use std::borrow::Cow;
use std::fs::File;
use std::io;

use session_model::{LineSource, SourceError, Span};

/// A file whose lines are read on demand, without a position that threads would share.
#[derive(Debug)]
pub struct FileSource {
    file: File,
}

impl FileSource {
    /// Returns a source over an open file.
    pub fn new(file: File) -> Self {
        Self { file }
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
        match self.read_at(&mut buffer, span.offset) {
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
}
