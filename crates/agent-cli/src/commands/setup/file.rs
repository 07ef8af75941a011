//! The files that `setup` changes: how they are read, and written all or none.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use similar::{ChangeTag, TextDiff};
use tempfile::NamedTempFile;

use super::edit::{Found, find, put, take_back};
use super::targets::{Place, SERVER};
use crate::error::Error;
use crate::ui::clean;

/// Larger files are refused.
const LARGEST: u64 = 64 << 20;

/// The mark of the byte order, which editors of some systems write first.
const MARK: char = '\u{feff}';

/// A file as it is and as it should be; without a text where there is none.
#[derive(Debug, Clone)]
pub(super) struct Edited {
    pub file: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// The lines of ours that come and go; none of a backup.
    pub difference: Option<String>,
}

impl Edited {
    /// Returns a file that runs `program` in these places, or has nothing of ours any more, and its backup, as far as
    /// they change.
    pub fn of(
        file: PathBuf,
        places: &[Place],
        agent: &str,
        program: Option<&str>,
    ) -> Result<Vec<Self>, Error> {
        let backup = backup_of(&file);
        let (before, kept) = (read(&file)?, read(&backup)?);
        let whole = before.as_deref().unwrap_or_default();
        let text = whole.trim_start_matches(MARK);
        let mark = &whole[..whole.len() - text.len()];
        let old = kept.as_deref().unwrap_or_default().trim_start_matches(MARK);
        let refused = |reason: String| refusal(&file, &reason);

        let (mut after, mut difference) = (text.to_owned(), String::new());
        // The text that setup wrote, if nobody changed it since.
        let mut written = Ok(old.to_owned());
        let mut is_set_up = false;
        for &place in places {
            let there = match find(text, place, agent).map_err(refused)? {
                Found::Nothing => None,
                Found::Ours(program) => Some(program),
                Found::Other(name) => {
                    let reason =
                        format!("{name} is not what setup wrote; rename or remove it first");
                    return Err(refused(reason));
                }
            };
            let ours = |program: &str| put("", place, agent, program).unwrap_or_default();
            let old_lines = match (&there, place) {
                (Some(_), Place::Text(_)) => text.to_owned(),
                (Some(there), _) => ours(there),
                (None, _) => String::new(),
            };
            let new_lines = program.map(ours).unwrap_or_default();
            let changes = TextDiff::from_lines(&old_lines, &new_lines);
            for change in changes.iter_all_changes() {
                if change.tag() != ChangeTag::Equal {
                    let line = clean(change.value().trim_end());
                    difference += &format!("{}{line}\n", change.tag());
                }
            }
            if let Some(there) = &there {
                is_set_up = true;
                written = written.and_then(|text| put(&text, place, agent, there));
            }
            after = match program {
                Some(program) => put(&after, place, agent, program),
                None => take_back(&after, place, agent, old),
            }
            .map_err(refused)?;
        }
        let (after, backup_after) = match program {
            None if !is_set_up => (before.clone(), kept.clone()),
            None if written.as_deref() == Ok(text) || after.is_empty() => (kept.clone(), None),
            None => (Some(mark.to_owned() + &after), None),
            Some(_) if is_set_up => (Some(mark.to_owned() + &after), kept.clone()),
            Some(_) => (Some(mark.to_owned() + &after), before.clone()),
        };
        let backup = Self {
            file: backup,
            before: kept,
            after: backup_after,
            difference: None,
        };
        let edited = Self {
            file,
            before,
            after,
            difference: Some(difference),
        };
        let both = [backup, edited].into_iter();
        Ok(both
            .filter(|edited| edited.before != edited.after)
            .collect())
    }

    /// Returns what changes, for people: nothing of what others wrote to the file.
    pub fn shown(&self) -> String {
        let name = clean(&self.file.display().to_string());
        match &self.difference {
            Some(difference) => format!("{name}\n{difference}"),
            None if self.after.is_some() => format!("{name} keeps what was there\n"),
            None => String::new(),
        }
    }

    fn stage(&self, text: Option<&str>) -> Result<Option<NamedTempFile>, Error> {
        let Some(text) = text else { return Ok(None) };
        let failed = |error| Error::io("write", &self.file, error);
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        if let Ok(metadata) = self.file.metadata() {
            let set = file.as_file().set_permissions(metadata.permissions());
            set.map_err(failed)?;
        }
        file.as_file().sync_all().map_err(failed)?;
        Ok(Some(file))
    }

    /// Puts a staged file in place of this one; without one, removes this one.
    fn replace(&self, staged: Option<NamedTempFile>) -> Result<(), Error> {
        let done = match staged {
            Some(staged) => staged
                .persist(&self.file)
                .map(drop)
                .map_err(|error| error.error),
            None => std::fs::remove_file(&self.file),
        };
        done.map_err(|error| Error::io("write", &self.file, error))
    }
}

/// Changes the text of a file, unless another program changes it meanwhile.
pub(in crate::commands) fn rewrite(
    file: PathBuf,
    change: impl FnOnce(&str) -> Result<String, String>,
) -> Result<(), Error> {
    let file = real(file)?;
    let before = read(&file)?;
    let after = change(before.as_deref().unwrap_or_default());
    let after = after.map_err(|reason| refusal(&file, &reason))?;
    write(&[Edited {
        file,
        before,
        after: Some(after),
        difference: None,
    }])
}

/// Writes all files, or none.
pub(super) fn write(files: &[Edited]) -> Result<(), Error> {
    let stage = |edited: &Edited| {
        let new = edited.stage(edited.after.as_deref())?;
        Ok((new, edited.stage(edited.before.as_deref())?))
    };
    let staged: Vec<_> = files.iter().map(stage).collect::<Result<_, Error>>()?;
    let mut done = Vec::new();
    for (edited, (new, old)) in files.iter().zip(staged) {
        let replaced = read(&edited.file).and_then(|now| match now == edited.before {
            true => edited.replace(new),
            false => Err(refusal(
                &edited.file,
                "another program changed it meanwhile",
            )),
        });
        if let Err(error) = replaced {
            for (edited, old) in done {
                let _: Result<(), Error> = Edited::replace(edited, old);
            }
            return Err(error);
        }
        done.push((edited, old));
    }
    drop(done);
    for folder in files.iter().filter(|edited| edited.after.is_none()) {
        let folder = folder
            .file
            .parent()
            .filter(|folder| folder.ends_with(SERVER));
        // One that holds something else stays.
        folder.map(std::fs::remove_dir);
    }
    Ok(())
}

fn refusal(file: &Path, reason: &str) -> Error {
    let file = file.display();
    Error::Usage(format!("{file}: {reason}; nothing was changed"))
}

fn backup_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{name}.before-{SERVER}"))
}

pub(super) fn real(file: PathBuf) -> Result<PathBuf, Error> {
    match file.canonicalize() {
        Ok(real) => Ok(real),
        Err(_) if file.is_symlink() => Err(refusal(&file, "the link leads to no file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(file),
        Err(error) => Err(Error::io("open", file, error)),
    }
}

/// Returns the text of a file; none where there is none.
fn read(file: &Path) -> Result<Option<String>, Error> {
    let failed = |error| Error::io("read", file, error);
    match file.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
        Ok(about) if !about.is_file() => return Err(refusal(file, "no regular file")),
        Ok(about) if about.len() > LARGEST => return Err(refusal(file, "larger than 64 MB")),
        Ok(_) => {}
    }
    std::fs::read_to_string(file).map(Some).map_err(failed)
}
