//! A file of the workspace: a folder that is held open, and the names from there on.
//!
//! Names are followed one by one from the held folder, each opened from the one above, and never through a link. So the
//! opened file is the one that was checked, or the call fails.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use super::Access;
use crate::kind::Kind;

/// The reason why a protected file may not be used.
pub(crate) const PROTECTED: &str = "the settings and sessions of agent-cli are the user's alone; say what is to be looked up or changed there";

/// The reason for files that the system makes up.
const OF_THE_SYSTEM: &str = "belongs to the system, not to the files of a disk; leave it alone";

/// A folder that tools may work in.
#[derive(Debug)]
pub struct Root {
    /// Without links.
    pub(crate) path: PathBuf,
    /// Held open.
    pub(crate) dir: Dir,
    pub(crate) access: Access,
}

/// The device and inode number of a file; they do not depend on its name.
type Node = (u64, u64);

/// The files that are neither read nor changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct DenyList {
    paths: Vec<PathBuf>,
    nodes: Vec<Node>,
}

impl DenyList {
    /// Adds a file or folder.
    pub(crate) fn protect(&mut self, path: PathBuf) {
        if let Ok(found) = path.metadata() {
            self.nodes.extend(node_of(&found));
        }
        self.paths.push(path);
    }

    /// Refuses a protected file, no matter by which name it was opened.
    fn check(&self, opened: &File) -> io::Result<()> {
        if self.nodes.is_empty() {
            return Ok(());
        }
        let node = node_of(&opened.metadata()?);
        match node.is_some_and(|node| self.nodes.contains(&node)) {
            true => Err(io::Error::other(PROTECTED)),
            false => Ok(()),
        }
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere there is none")]
fn node_of(found: &Metadata) -> Option<Node> {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn node_of(_found: &Metadata) -> Option<Node> {
    None
}

/// The purpose for which a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To read it.
    Read,
    /// To learn whether it may be written; it is not changed.
    TryWrite,
}

/// The path of an existing or a new file.
#[derive(Debug, Clone)]
pub struct ResolvedPath {
    root: Arc<Root>,
    deny_list: Arc<DenyList>,
    path: PathBuf,
}

impl ResolvedPath {
    /// Returns the place of `path`, which has no links in it and is in `root`.
    pub(crate) fn new(root: Arc<Root>, deny_list: Arc<DenyList>, path: PathBuf) -> Self {
        Self {
            root,
            deny_list,
            path,
        }
    }

    /// Returns the place of a file in a folder that is not part of a workspace.
    pub(crate) fn in_folder(folder: &Path, name: &OsStr) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        let dir = Dir::open_ambient_dir(&folder, cap_std::ambient_authority())?;
        let path = folder.join(name);
        let root = Root {
            path: folder,
            dir,
            access: Access::Read,
        };
        Ok(Self::new(Arc::new(root), Arc::default(), path))
    }

    /// Returns the whole path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the whole path.
    pub fn into_path(self) -> PathBuf {
        self.path
    }

    /// Returns the folder that the names are followed from.
    pub(crate) fn root(&self) -> &Path {
        &self.root.path
    }

    /// Returns the place of a name in this folder.
    pub(crate) fn child(&self, name: &OsStr) -> Self {
        Self {
            path: self.path.join(name),
            ..self.clone()
        }
    }

    /// Returns the place of the folder above, unless this is the one that is held open.
    pub(crate) fn above(&self) -> Option<Self> {
        let path = self.path.parent()?;
        path.starts_with(&self.root.path).then(|| Self {
            path: path.to_owned(),
            ..self.clone()
        })
    }

    /// Returns true if it is neither read nor changed. A folder that may be read is allowed even inside a protected
    /// one.
    pub(crate) fn is_protected(&self) -> bool {
        let mut protecting = self.deny_list.paths.iter();
        protecting.any(|protected| {
            let readable = self.root.access == Access::Read
                && self.root.path != *protected
                && self.root.path.starts_with(protected);
            self.path.starts_with(protected) && !readable
        })
    }

    /// Opens a regular file, and nothing that could make us wait or do something by being opened.
    pub fn open(&self, purpose: Purpose) -> io::Result<(File, Metadata)> {
        self.check_protected()?;
        let Some((folder, name)) = self.names()? else {
            return Err(Kind::Folder.refused());
        };
        let folder = self.step_all(folder)?;
        Kind::of(folder.symlink_metadata(name)?.file_type()).check_regular()?;
        self.check_path()?;
        let file = open_file(&folder, name, purpose)?;
        let opened = file.metadata()?;
        Kind::of_opened(opened.file_type()).check_regular()?;
        self.deny_list.check(&file)?;
        check_file_system(&file)?;
        Ok((file, opened))
    }

    /// Opens this folder.
    pub(crate) fn folder(&self) -> io::Result<Dir> {
        self.check_protected()?;
        self.check_path()?;
        let below = self.below()?;
        let folder = self.step_all(below)?.into_std_file();
        check_file_system(&folder)?;
        Ok(Dir::from_std_file(folder))
    }

    /// Returns the kind of the entry; a link is not followed.
    pub(crate) fn kind(&self) -> io::Result<Kind> {
        let Some((folder, name)) = self.names()? else {
            return Ok(Kind::Folder);
        };
        let folder = self.step_all(folder)?;
        Ok(Kind::of(folder.symlink_metadata(name)?.file_type()))
    }

    /// Returns the folder above, whose missing part `make` makes, and the name in it.
    pub(crate) fn parent(
        &self,
        mut make: impl FnMut(&Dir, &OsStr) -> io::Result<()>,
    ) -> io::Result<(Dir, OsString)> {
        self.check_protected()?;
        self.check_path()?;
        let Some((folder, name)) = self.names()? else {
            return Err(Kind::Folder.refused());
        };
        let mut at = self.root.dir.try_clone()?;
        for name in folder {
            let next = match step(&at, name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    make(&at, name)?;
                    step(&at, name)?
                }
                found => found?,
            };
            at = self.checked(next)?;
        }
        let folder = at.into_std_file();
        check_file_system(&folder)?;
        Ok((Dir::from_std_file(folder), name.to_owned()))
    }

    /// Returns the names below the root.
    fn below(&self) -> io::Result<&Path> {
        let below = self.path.strip_prefix(&self.root.path);
        below.map_err(|_| io::Error::other("is outside the workspace"))
    }

    /// Returns the names of the folder above and the last name, which the root itself has not.
    fn names(&self) -> io::Result<Option<(&Path, &OsStr)>> {
        let below = self.below()?;
        Ok(below.parent().zip(below.file_name()))
    }

    fn step_all(&self, names: &Path) -> io::Result<Dir> {
        let mut at = self.root.dir.try_clone()?;
        for name in names {
            at = self.checked(step(&at, name)?)?;
        }
        Ok(at)
    }

    fn checked(&self, folder: Dir) -> io::Result<Dir> {
        let folder = folder.into_std_file();
        self.deny_list.check(&folder)?;
        Ok(Dir::from_std_file(folder))
    }

    fn check_protected(&self) -> io::Result<()> {
        match self.is_protected() {
            true => Err(io::Error::other(PROTECTED)),
            false => Ok(()),
        }
    }

    fn check_path(&self) -> io::Result<()> {
        match cfg!(target_os = "linux") && is_system(&self.path) {
            true => Err(io::Error::other(OF_THE_SYSTEM)),
            false => Ok(()),
        }
    }
}

/// Returns true if a Linux path leads to a pseudo file system. Shared memory files are not among them.
fn is_system(path: &Path) -> bool {
    let made_up = ["/proc", "/sys", "/dev"];
    made_up.iter().any(|folder| path.starts_with(folder)) && !path.starts_with("/dev/shm")
}

/// The magic numbers of Linux's pseudo file systems: proc, sysfs, debugfs, tracefs, securityfs, cgroup (both),
/// configfs, bpf, efivarfs, pstore, selinuxfs, binfmt_misc, devpts, mqueue, nsfs.
#[cfg(target_os = "linux")]
const PSEUDO_FILE_SYSTEMS: [u32; 16] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0x6265_6570,
    0xcafe_4a11,
    0xde5e_81e4,
    0x6165_676c,
    0xf97c_ff8c,
    0x4249_4e4d,
    0x1cd1,
    0x1980_0202,
    0x6e73_6673,
];

/// Refuses what the kernel makes up, wherever it is mounted.
#[cfg(target_os = "linux")]
pub(crate) fn check_file_system(opened: &File) -> io::Result<()> {
    let stats = rustix::fs::fstatfs(opened)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the numbers have 32 bits, whatever type holds them"
    )]
    let kind = stats.f_type as u32;
    match PSEUDO_FILE_SYSTEMS.contains(&kind) {
        true => Err(io::Error::other(OF_THE_SYSTEM)),
        false => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
fn check_file_system(_opened: &File) -> io::Result<()> {
    Ok(())
}

/// Opens the folder `name`, which is no link.
#[cfg(unix)]
pub(crate) fn step(at: &Dir, name: &OsStr) -> io::Result<Dir> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // One may go through a folder whose names one may not read.
    #[cfg(target_os = "linux")]
    let flags = flags | OFlags::PATH;
    Ok(Dir::from(openat(at, name, flags, Mode::empty())?))
}

/// Opens the folder `name`, which is no link.
#[cfg(not(unix))]
pub(crate) fn step(at: &Dir, name: &OsStr) -> io::Result<Dir> {
    match at.symlink_metadata(name)?.is_symlink() {
        true => Err(io::ErrorKind::NotADirectory.into()),
        false => at.open_dir(name),
    }
}

#[cfg(unix)]
fn open_file(folder: &Dir, name: &OsStr, purpose: Purpose) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, openat};
    let access = match purpose {
        Purpose::Read => OFlags::RDONLY,
        Purpose::TryWrite => OFlags::WRONLY,
    };
    // A pipe that took the file's place meanwhile is noticed afterwards instead of waited for.
    let careful = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    match openat(folder, name, access | careful, Mode::empty()) {
        Ok(opened) => Ok(File::from(opened)),
        Err(rustix::io::Errno::LOOP) => Err(Kind::Link.refused()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn open_file(folder: &Dir, name: &OsStr, purpose: Purpose) -> io::Result<File> {
    let mut options = cap_std::fs::OpenOptions::new();
    match purpose {
        Purpose::Read => options.read(true),
        Purpose::TryWrite => options.write(true),
    };
    Ok(folder.open_with(name, &options)?.into_std())
}
