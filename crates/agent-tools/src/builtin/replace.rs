//! Replaces a file or creates a new one: completely, or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, OpenOptions};
use uuid::Uuid;

use crate::file::{CommitPoint, Target};
use crate::text::reason;
use crate::workspace::resolved::ResolvedPath;

/// The prefix of the names of files that are being written; 32 hexadecimal digits follow.
const PREFIX: &str = ".agent-cli-";

/// The age after which such a file is abandoned: no process is still writing it.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The number of names in a folder that are searched for such files.
const SWEPT: usize = 10_000;

/// Replaces the file at `place` by `bytes`, completely or not at all, and makes the folders above it. `check` is called
/// last before the change. Owner and permissions are kept; those that could not be kept are returned. All of it happens
/// in the folder that was opened, even if its name leads elsewhere by then.
pub(super) fn replace(
    place: &ResolvedPath,
    bytes: &[u8],
    target: &Target,
    commit: &CommitPoint,
    check: impl FnOnce() -> Result<(), String>,
) -> Result<Option<String>, String> {
    let describe = |error: io::Error| reason(&error);
    let mut made = MadeFolders::default();
    let (folder, name) = place
        .parent(|above, name| made.make(above, name))
        .map_err(describe)?;
    let (mut temporary, mut file) = Temporary::new(&folder, target).map_err(describe)?;
    file.write_all(bytes).map_err(describe)?;
    let lost = match target {
        Target::New => None,
        Target::Old(found) => keep_rights(&file, found).map_err(describe)?,
    };
    file.sync_data().map_err(describe)?;
    drop(file);
    check()?;
    if !commit.reach() {
        return Err("cancelled".to_owned());
    }
    match target {
        Target::Old(_) => temporary.replace(&name),
        Target::New => temporary.take(&name),
    }
    .map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            "somebody else made it meanwhile; nothing was changed; read it first".to_owned()
        }
        _ => reason(&error),
    })?;
    made.keep();
    sweep(&folder);
    Ok(lost)
}

/// Gives a file the owner and the permissions of another; returns a notice if the owner cannot be set.
#[cfg(unix)]
fn keep_rights(file: &File, found: &Metadata) -> io::Result<Option<String>> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let own = file.metadata()?;
    let owner = (own.uid() != found.uid()).then_some(found.uid());
    let group = (own.gid() != found.gid()).then_some(found.gid());
    // The owner is set before the permissions, so that no one else can use them meanwhile. A group of the user can be
    // set without the owner.
    let kept = match (owner, group) {
        (None, None) => true,
        _ if fchown(file, owner, group).is_ok() => true,
        (Some(_), Some(_)) => {
            let _ = fchown(file, None, group);
            false
        }
        _ => false,
    };
    let mut permissions = found.permissions();
    if !kept {
        // Whom a program runs as is no longer what it was.
        permissions.set_mode(permissions.mode() & 0o777);
    }
    file.set_permissions(permissions)?;
    Ok((!kept).then(|| {
        let (uid, gid) = (found.uid(), found.gid());
        format!(
            "the file belonged to user {uid} and group {gid}, which could not be kept; give it back with chown where that matters"
        )
    }))
}

#[cfg(not(unix))]
fn keep_rights(file: &File, found: &Metadata) -> io::Result<Option<String>> {
    file.set_permissions(found.permissions())?;
    Ok(None)
}

/// A file under a temporary name; it is removed unless it gets its final name.
struct Temporary<'a> {
    folder: &'a Dir,
    name: OsString,
    lasts: bool,
}

impl<'a> Temporary<'a> {
    fn new(folder: &'a Dir, target: &Target) -> io::Result<(Self, File)> {
        let name = OsString::from(format!("{PREFIX}{}", Uuid::new_v4().simple()));
        // The system takes the user's mask off the permissions.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // The new file is not readable by others before it has the permissions of the old one.
        #[cfg(unix)]
        match target {
            Target::Old(_) => cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600),
            Target::New => &mut options,
        };
        #[cfg(not(unix))]
        let _ = target;
        let file = folder.open_with(&name, &options)?.into_std();
        let temporary = Self {
            folder,
            name,
            lasts: false,
        };
        Ok((temporary, file))
    }

    /// Takes the place of what is called `name`.
    fn replace(&mut self, name: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, self.folder, name)?;
        self.lasts = true;
        Ok(())
    }

    /// Takes the name, which must be free.
    fn take(&mut self, name: &OsStr) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            use rustix::io::Errno;
            let (folder, own) = (self.folder, self.name.as_os_str());
            match renameat_with(folder, own, folder, name, RenameFlags::NOREPLACE) {
                Ok(()) => {
                    self.lasts = true;
                    return Ok(());
                }
                // Not every file system can do that.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // The temporary name is removed when this is dropped.
        self.folder.hard_link(&self.name, self.folder, name)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.lasts {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// Removes what writes left behind that were killed. What cannot be removed stays.
fn sweep(folder: &Dir) {
    let Ok(entries) = folder.entries() else {
        return;
    };
    let now = SystemTime::now();
    for entry in entries.take(SWEPT).flatten() {
        let name = entry.file_name();
        if !is_passing(&name) {
            continue;
        }
        let Ok(found) = entry.metadata() else {
            continue;
        };
        let modified = found.modified().map(cap_std::time::SystemTime::into_std);
        let age = modified.ok().and_then(|then| now.duration_since(then).ok());
        if found.is_file() && age.is_some_and(|age| age > ABANDONED) {
            let _ = folder.remove_file(&name);
        }
    }
}

fn is_passing(name: &OsStr) -> bool {
    let digits = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
    digits.is_some_and(|digits| {
        digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Folders that were made for a file and go again when it is not written.
#[derive(Default)]
struct MadeFolders(Vec<(Dir, OsString)>);

impl MadeFolders {
    /// Makes the folder `name` in `above`, unless it was just made.
    fn make(&mut self, above: &Dir, name: &OsStr) -> io::Result<()> {
        match above.create_dir(name) {
            Ok(()) => {
                self.0.push((above.try_clone()?, name.to_owned()));
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for (above, name) in self.0.iter().rev() {
            // Only an empty folder is removed, so files of others stay.
            let _ = above.remove_dir(name);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    use super::*;

    #[test]
    fn what_replaces_a_file_is_private_until_it_has_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "x").unwrap();
        let target = Target::Old(path.metadata().unwrap());
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        let (_temporary, file) = Temporary::new(&dir, &target).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_replaced_file_keeps_its_owner_where_that_is_permitted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "x").unwrap();
        // Only root can change the owner of a file.
        let given = chown(&path, Some(12_345), Some(23_456)).is_ok();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o4640)).unwrap();
        let found = path.metadata().unwrap();
        let place = ResolvedPath::in_folder(folder.path(), OsStr::new("file")).unwrap();
        let target = Target::Old(found.clone());
        let lost = replace(&place, b"y", &target, &CommitPoint::default(), || Ok(())).unwrap();
        let now = path.metadata().unwrap();
        assert_eq!((lost, now.mode()), (None, found.mode()), "given: {given}");
        assert_eq!((now.uid(), now.gid()), (found.uid(), found.gid()));
    }
}
