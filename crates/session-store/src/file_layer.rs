//! The file operations of a store that can fail halfway, so that tests can make each of them fail.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

/// A file that is appended to.
pub trait AppendFile: Send {
    /// Returns the length in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Writes at the end, in one system call; may write less.
    fn write_once(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Returns the offset at which the newest write of this handle ended.
    fn position(&mut self) -> io::Result<u64>;
    /// Forces data to the disk.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file to `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

impl AppendFile for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn write_once(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }

    fn position(&mut self) -> io::Result<u64> {
        self.stream_position()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// The file system through which a file store writes.
pub trait FileLayer: fmt::Debug + Send + Sync {
    /// Opens a file for appending. One that is `new` must not be there yet; only its owner may read it.
    fn open(&self, path: &Path, new: bool) -> io::Result<Box<dyn AppendFile>>;

    /// Writes all of a new file, and forces it to the disk.
    fn fill(
        &self,
        file: &File,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()>;
}

/// The files of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

impl FileLayer for SystemFiles {
    fn open(&self, path: &Path, new: bool) -> io::Result<Box<dyn AppendFile>> {
        let mut options = OpenOptions::new();
        options.append(true);
        if new {
            options.create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        Ok(Box::new(options.open(path)?))
    }

    fn fill(
        &self,
        file: &File,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut writer = BufWriter::new(file);
        write(&mut writer)?;
        writer.flush()?;
        drop(writer);
        file.sync_all()
    }
}
