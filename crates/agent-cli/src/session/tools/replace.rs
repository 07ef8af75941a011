//! A file put in the place of another, or where there was none: whole, or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, OpenOptions};
use uuid::Uuid;

use super::file::{Gate, Target, reason};
use super::place::Place;

/// What the names of files that are being written begin with; 32 hexadecimal digits follow.
const PREFIX: &str = ".agent-cli-";

/// How old such a file is when nobody can be writing it any more.
const ABANDONED: Duration = Duration::from_secs(3600);

/// How many names of a folder are looked at for such files.
const SWEPT: usize = 10_000;

/// Puts `bytes` in the place of the file at `place`, all of them or none. Makes the folders above. `check` has
/// the last word before the change; permissions stay as they were. Everything happens in the folder that was
/// opened, whatever its name leads to by then.
pub(super) fn replace(
    place: &Place,
    bytes: &[u8],
    target: &Target,
    gate: &Gate,
    check: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let said = |error: io::Error| reason(&error);
    let mut made = MadeFolders::default();
    let (folder, name) = place
        .parent(|above, name| made.make(above, name))
        .map_err(said)?;
    let (mut temporary, mut file) = Temporary::new(&folder).map_err(said)?;
    file.write_all(bytes).map_err(said)?;
    if let Target::Old(found) = target {
        file.set_permissions(found.permissions()).map_err(said)?;
    }
    file.sync_data().map_err(said)?;
    drop(file);
    check()?;
    if !gate.pass() {
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
    Ok(())
}

/// A file under a passing name, which goes unless it gets a lasting one.
struct Temporary<'a> {
    folder: &'a Dir,
    name: OsString,
    lasts: bool,
}

impl<'a> Temporary<'a> {
    fn new(folder: &'a Dir) -> io::Result<(Self, File)> {
        let name = OsString::from(format!("{PREFIX}{}", Uuid::new_v4().simple()));
        // The system takes the user's mask off the permissions.
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
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

    /// Takes the name, which nobody may have.
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
        // The first name goes when this is dropped.
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
    /// Makes the folder `name` in `above`, unless somebody else just did.
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
            // Only an empty folder goes; what somebody else put there stays.
            let _ = above.remove_dir(name);
        }
    }
}
