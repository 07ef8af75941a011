//! Kinds of directory entries.

use std::io;

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
    /// Something else.
    Other,
}

impl Kind {
    /// Returns the kind of a name in a folder.
    pub(crate) fn of(found: cap_std::fs::FileType) -> Self {
        match () {
            () if found.is_file() => Self::File,
            () if found.is_dir() => Self::Folder,
            () if found.is_symlink() => Self::Link,
            () => special(found),
        }
    }

    /// Returns the kind of what was opened.
    pub(crate) fn of_opened(found: std::fs::FileType) -> Self {
        match () {
            () if found.is_file() => Self::File,
            () if found.is_dir() => Self::Folder,
            () if found.is_symlink() => Self::Link,
            () => special_opened(found),
        }
    }

    /// Returns what it is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Pipe => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Other => "something special",
        }
    }

    /// Refuses everything but regular files.
    pub(crate) fn check_regular(self) -> io::Result<()> {
        match self {
            Self::File => Ok(()),
            Self::Folder | Self::Link | Self::Pipe | Self::Socket | Self::Device | Self::Other => {
                Err(self.refused())
            }
        }
    }

    /// Refuses everything but folders.
    pub(crate) fn check_folder(self) -> io::Result<()> {
        match self {
            Self::Folder => Ok(()),
            Self::File | Self::Link | Self::Pipe | Self::Socket | Self::Device | Self::Other => {
                let what = self.name();
                let message = format!("is {what}, not a folder; name a folder");
                Err(io::Error::other(message))
            }
        }
    }

    /// Returns why it is no file to open.
    pub(crate) fn refused(self) -> io::Error {
        io::Error::other(match self {
            Self::Folder => "is a folder, not a file; name a file in it".to_owned(),
            Self::File | Self::Link | Self::Pipe | Self::Socket | Self::Device | Self::Other => {
                format!("is {}, not a regular file; leave it alone", self.name())
            }
        })
    }
}

#[cfg(unix)]
fn special(found: cap_std::fs::FileType) -> Kind {
    use cap_std::fs::FileTypeExt;
    match () {
        () if found.is_fifo() => Kind::Pipe,
        () if found.is_socket() => Kind::Socket,
        () if found.is_block_device() || found.is_char_device() => Kind::Device,
        () => Kind::Other,
    }
}

#[cfg(not(unix))]
fn special(_found: cap_std::fs::FileType) -> Kind {
    Kind::Other
}

#[cfg(unix)]
fn special_opened(found: std::fs::FileType) -> Kind {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if found.is_fifo() => Kind::Pipe,
        () if found.is_socket() => Kind::Socket,
        () if found.is_block_device() || found.is_char_device() => Kind::Device,
        () => Kind::Other,
    }
}

#[cfg(not(unix))]
fn special_opened(_found: std::fs::FileType) -> Kind {
    Kind::Other
}
