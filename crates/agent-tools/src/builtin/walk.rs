//! A walk through a folder: by name, without what the project ignores, and never through a link.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cap_std::fs::Dir;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::ignored::Rules;
use crate::file::CommitPoint;
use crate::kind::Kind;
use crate::text::{count, reason};
use crate::workspace::resolved::ResolvedPath;

/// The depth limit of a walk, in folders.
const DEEPEST: usize = 256;

/// The number of names of one folder that are visited.
const MOST_NAMES: usize = 100_000;

/// The longest pattern for names, in bytes.
const PATTERN_BYTES: usize = 1000;

/// Something that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) place: ResolvedPath,
    /// Its path, relative to the start of the walk.
    pub(super) names: PathBuf,
    pub(super) kind: Kind,
}

/// The entries that a walk skipped.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// Folders that could not be opened.
    unread: usize,
    /// Folders that are too deep.
    deep: usize,
    /// Folders with too many names.
    wide: usize,
}

impl Passed {
    /// Returns the notices about it.
    pub(super) fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        if self.unread > 0 {
            let folders = count(self.unread, "folder");
            notices.push(format!("{folders} could not be read"));
        }
        if self.deep > 0 {
            let folders = count(self.deep, "folder");
            notices.push(format!(
                "{folders} more than {DEEPEST} deep left out; name one in path"
            ));
        }
        if self.wide > 0 {
            let folders = count(self.wide, "folder");
            notices.push(format!(
                "of {folders} only {MOST_NAMES} names were looked at"
            ));
        }
        notices
    }
}

/// Shows everything below the folder `start` to `visit`, in the order of the names, until it breaks off. What
/// `.gitignore` and `.ignore` name is left out, and so are `.git` and what is protected.
pub(super) fn walk(
    start: &ResolvedPath,
    commit: &CommitPoint,
    mut visit: impl FnMut(&Found) -> ControlFlow<()>,
) -> Result<Passed, String> {
    let mut passed = Passed::default();
    let first = start.folder().map_err(|error| reason(&error))?;
    let rules = Rules::above(start).within(start);
    let mut waiting = Vec::new();
    push(
        &mut waiting,
        &first,
        start,
        Path::new(""),
        &rules,
        &mut passed,
        commit,
    );
    drop(first);
    while let Some((found, rules)) = waiting.pop() {
        if commit.is_cancelled() {
            break;
        }
        if visit(&found).is_break() {
            break;
        }
        if found.kind != Kind::Folder {
            continue;
        }
        if found.names.components().count() >= DEEPEST {
            passed.deep += 1;
            continue;
        }
        let Ok(folder) = found.place.folder() else {
            passed.unread += 1;
            continue;
        };
        let rules = rules.within(&found.place);
        let (place, names) = (&found.place, &found.names);
        push(
            &mut waiting,
            &folder,
            place,
            names,
            &rules,
            &mut passed,
            commit,
        );
    }
    match commit.is_cancelled() {
        true => Err("cancelled".to_owned()),
        false => Ok(passed),
    }
}

/// Puts what is in a folder on top of what waits, the first name topmost.
fn push(
    waiting: &mut Vec<(Found, Rc<Rules>)>,
    folder: &Dir,
    place: &ResolvedPath,
    names: &Path,
    rules: &Rc<Rules>,
    passed: &mut Passed,
    commit: &CommitPoint,
) {
    let Ok(listed) = list(folder, commit) else {
        passed.unread += 1;
        return;
    };
    passed.wide += usize::from(listed.more);
    for (name, kind) in listed.names.into_iter().rev() {
        let place = place.child(&name);
        let is_folder = kind == Kind::Folder;
        if name == ".git" || place.is_protected() || rules.ignore(place.path(), is_folder) {
            continue;
        }
        let names = names.join(&name);
        let found = Found { place, names, kind };
        waiting.push((found, rules.clone()));
    }
}

/// The names in a folder, in their order.
pub(super) struct Listed {
    pub(super) names: Vec<(OsString, Kind)>,
    /// There are more.
    pub(super) more: bool,
}

/// Returns the names in a folder. An entry that is removed meanwhile is left out.
pub(super) fn list(folder: &Dir, commit: &CommitPoint) -> std::io::Result<Listed> {
    let mut names = Vec::new();
    let mut more = false;
    for entry in folder.entries()? {
        if commit.is_cancelled() {
            return Err(std::io::Error::other("cancelled"));
        }
        if names.len() == MOST_NAMES {
            more = true;
            break;
        }
        let entry = entry?;
        if let Ok(kind) = entry.file_type() {
            names.push((entry.file_name(), Kind::of(kind)));
        }
    }
    names.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(Listed { names, more })
}

/// A pattern for names, such as `*.rs` or `src/**/*.rs`.
#[derive(Debug)]
pub(super) struct Pattern {
    set: GlobSet,
    whole: bool,
}

impl Pattern {
    /// Returns the pattern, or what is wrong with it. With a slash it is for all names from the start of a walk on,
    /// else for the last one.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.is_empty() || text.len() > PATTERN_BYTES {
            return Err(format!(
                "must have 1 to {PATTERN_BYTES} bytes; take one such as *.rs"
            ));
        }
        if text.starts_with('/') {
            return Err(
                "is absolute; name the folder in path, and the names in it here".to_owned(),
            );
        }
        let invalid = |error: globset::Error| format!("{}; take one such as *.rs", error.kind());
        let mut builder = GlobBuilder::new(text);
        let glob = builder.literal_separator(true).build().map_err(invalid)?;
        let mut set = GlobSetBuilder::new();
        set.add(glob);
        let set = set.build().map_err(invalid)?;
        let whole = text.contains('/');
        Ok(Self { set, whole })
    }

    /// Returns true if it is for these names.
    pub(super) fn matches(&self, names: &Path) -> bool {
        match self.whole {
            true => self.set.is_match(names),
            false => self
                .set
                .is_match(names.file_name().unwrap_or(OsStr::new(""))),
        }
    }
}
