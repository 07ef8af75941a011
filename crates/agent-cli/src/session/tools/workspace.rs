//! The folder that tools stay in.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::Error;

/// The most links that one path may lead through.
const MOST_LINKS: usize = 40;

/// The folder of a project's settings, wherever in the workspace it is.
const SETTINGS_FOLDER: &str = ".agent-cli";

/// What a tool works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Without links.
    root: PathBuf,
}

impl Workspace {
    /// Returns the workspace in the folder `root`.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let resolved = root
            .canonicalize()
            .map_err(|error| Error::io("open", root, error))?;
        match resolved.is_dir() {
            true => Ok(Self { root: resolved }),
            false => Err(Error::Usage(format!(
                "{} is no folder; name the folder to work in",
                root.display()
            ))),
        }
    }

    /// Returns the folder, without links in its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the file that `path` (relative to the root, or absolute) names, links resolved, whether it
    /// exists or not; or why it may not be touched.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        if path.is_empty() {
            return Err("path: is empty; name a file of the workspace".to_owned());
        }
        if path.contains('\0') {
            return Err("path: holds a NUL character, which no file name has".to_owned());
        }
        if path == "~" || path.starts_with("~/") {
            let what = "~ stands for nothing here; name the file from the workspace on";
            return Err(format!("path: {path}: {what}"));
        }
        let walked = walk(&self.root, path);
        let outside = match &walked {
            Ok(found) => !found.starts_with(&self.root),
            Err((at, _)) => !at.starts_with(&self.root),
        };
        if outside {
            return Err(format!(
                "path: {path}: outside the workspace {}; only files in it may be touched",
                self.root.display()
            ));
        }
        walked.map_err(|(_, reason)| format!("path: {path}: {reason}"))
    }

    /// Returns what [`Workspace::resolve`] does, for a file that is to be changed: settings are refused, because
    /// they would be in force at the next start.
    pub fn resolve_to_change(&self, path: &str) -> Result<PathBuf, String> {
        let found = self.resolve(path)?;
        // The root counts too, when it is the folder of settings itself.
        let above = self.root.parent().unwrap_or(&self.root);
        let within = found.strip_prefix(above).unwrap_or(&found);
        let is_settings = |component: Component<'_>| {
            // Some file systems do not tell upper case from lower.
            component.as_os_str().eq_ignore_ascii_case(SETTINGS_FOLDER)
        };
        match within.components().any(is_settings) {
            true => Err(format!(
                "path: {path}: settings in {SETTINGS_FOLDER} are the user's alone; say what is to be changed there"
            )),
            false => Ok(found),
        }
    }
}

/// One step of a path.
enum Step {
    /// To a name.
    Down(OsString),
    /// To the folder above.
    Up,
}

/// Follows `path` from `root` one name at a time, through links. An error says how far it came.
fn walk(root: &Path, path: &str) -> Result<PathBuf, (PathBuf, String)> {
    let mut at = root.to_owned();
    let mut steps = VecDeque::new();
    let mut links = 0;
    let mut missing = false;
    lead(Path::new(path), &mut at, &mut steps);
    while let Some(step) = steps.pop_front() {
        let name = match step {
            Step::Down(name) => name,
            Step::Up if missing => {
                let reason = "goes up from a folder that does not exist; leave the .. out";
                return Err((at, reason.to_owned()));
            }
            Step::Up => {
                at.pop();
                continue;
            }
        };
        let next = at.join(name);
        match next.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                links += 1;
                let target = match next.read_link() {
                    Ok(target) if links <= MOST_LINKS => target,
                    Ok(_) => return Err((at, "leads through a ring of links".to_owned())),
                    Err(error) => return Err((at, super::file::reason(&error))),
                };
                lead(&target, &mut at, &mut steps);
            }
            Ok(_) => at = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing = true;
                at = next;
            }
            Err(error) => return Err((at, super::file::reason(&error))),
        }
    }
    Ok(at)
}

/// Puts the steps of `path` in front of those to come.
fn lead(path: &Path, at: &mut PathBuf, steps: &mut VecDeque<Step>) {
    let mut found = Vec::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => at.push(component),
            Component::CurDir => {}
            Component::ParentDir => found.push(Step::Up),
            Component::Normal(name) => found.push(Step::Down(name.to_owned())),
        }
    }
    for step in found.into_iter().rev() {
        steps.push_front(step);
    }
}
