//! The folders that tools stay in, held open.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

mod around;
pub mod resolved;

pub use around::Around;
use resolved::{DenyList, Root};
pub use resolved::{Purpose, ResolvedPath};

/// The most links that one path may lead through.
const MOST_LINKS: usize = 40;

/// The folder of a project's settings, wherever in the workspace it is.
const SETTINGS_FOLDER: &str = ".agent-cli";

/// The name under which git keeps a repository: a folder, or a file that names one.
const REPOSITORY: &str = ".git";

/// The folders that a tool works in, held open. A path is resolved once, and then opened from the held folder without
/// following a link, so that a concurrent change of names cannot lead a tool out.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: Arc<Root>,
    /// Further folders.
    more: Vec<Arc<Root>>,
    deny_list: Arc<DenyList>,
    is_unchanged: Option<fn(&Path) -> bool>,
}

/// The reason why a path names no readable file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathError {
    /// It leads out.
    Outside,
    /// It leads nowhere, for this reason.
    Nowhere(String),
    /// The file is protected, for this reason.
    Protected(&'static str),
}

/// The reason why a workspace cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The folder cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The path leads to something else.
    #[error("{} is not a folder; name the folder to work in", .0.display())]
    NoFolder(PathBuf),
}

/// The allowed access to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Files are read and changed.
    Change,
    /// Files are read.
    Read,
}

impl Workspace {
    /// Returns the workspace in the folder `root`.
    ///
    /// # Errors
    /// There is no such folder, or it cannot be opened.
    pub fn open(root: &Path) -> Result<Self, WorkspaceError> {
        Ok(Self {
            root: open(root, Access::Change)?,
            more: Vec::new(),
            deny_list: Arc::default(),
            is_unchanged: None,
        })
    }

    /// Returns the same, with another folder whose files may be read and changed.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn with_folder(mut self, path: &Path) -> Result<Self, WorkspaceError> {
        self.more.push(open(path, Access::Change)?);
        Ok(self)
    }

    /// Returns the same, with another folder whose files may be read, even inside a protected one.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn with_readable(mut self, path: &Path) -> Result<Self, WorkspaceError> {
        self.more.push(open(path, Access::Read)?);
        Ok(self)
    }

    /// Returns the same, with a file or folder that is neither read nor changed, wherever it is; it need not exist.
    #[must_use]
    pub fn with_protected(mut self, path: &Path) -> Self {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let walked = walk(Path::new("/"), &absolute);
        let found = walked.unwrap_or(absolute);
        let mut deny_list = (*self.deny_list).clone();
        deny_list.protect(found);
        self.deny_list = Arc::new(deny_list);
        self
    }

    /// Returns the same, with the files that `is_protected` knows by their names never changed, those of every session
    /// for example.
    #[must_use]
    pub fn with_unchanged(mut self, is_protected: fn(&Path) -> bool) -> Self {
        self.is_unchanged = Some(is_protected);
        self
    }

    /// Returns the folder, without links in its path.
    pub fn root(&self) -> &Path {
        &self.root.path
    }

    /// Returns the file that `path` (relative to the root, or absolute) names, links resolved, whether it
    /// exists or not; or why it may not be touched.
    ///
    /// # Errors
    /// A path that leads out of the folders, or cannot be resolved.
    pub fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        self.locate(path).map(ResolvedPath::into_path)
    }

    /// Returns what [`Workspace::resolve`] does, for a file that is to be changed: settings are refused, because
    /// they would be in force at the next start.
    ///
    /// # Errors
    /// A path that leads out of the folders, cannot be resolved, or is protected from changes.
    pub fn resolve_to_change(&self, path: &str) -> Result<PathBuf, String> {
        self.locate_to_change(path).map(ResolvedPath::into_path)
    }

    /// Returns the one name by which rules know `path`: relative to the root if it is inside, with links resolved. A
    /// path that cannot be used keeps its given name.
    pub fn named(&self, path: &str) -> String {
        let Ok(found) = self.follow(self.root(), path) else {
            return path.to_owned();
        };
        let within = found.strip_prefix(&self.root.path).unwrap_or(&found);
        match within.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => within.to_string_lossy().into_owned(),
        }
    }

    /// Returns the place of a file that is to be read.
    pub fn locate(&self, path: &str) -> Result<ResolvedPath, String> {
        self.locate_from(self.root(), path)
            .map_err(|astray| match astray {
                PathError::Outside => self.outside(path),
                PathError::Nowhere(reason) => format!("path: {reason}"),
                PathError::Protected(reason) => format!("path: {path}: {reason}"),
            })
    }

    /// Returns the place of a file to read. A relative path begins at `base`, which has no links in it.
    pub fn locate_from(&self, base: &Path, path: &str) -> Result<ResolvedPath, PathError> {
        let found = self.follow(base, path)?;
        let root = self.root_of(&found, |_| true).ok_or(PathError::Outside)?;
        let place = ResolvedPath::new(root, self.deny_list.clone(), found);
        match place.is_protected() {
            true => Err(PathError::Protected(resolved::PROTECTED)),
            false => Ok(place),
        }
    }

    /// Returns the place of a file that is to be changed.
    pub fn locate_to_change(&self, path: &str) -> Result<ResolvedPath, String> {
        let readable = self.locate(path)?;
        let found = readable.into_path();
        let root = self.root_of(&found, |access| access == Access::Change);
        let Some(root) = root else {
            return Err(format!(
                "path: {path}: its folder may be read and not changed; say what is to be changed there"
            ));
        };
        // The root counts too, when it is the folder of settings itself.
        let above = root.path.parent().unwrap_or(&root.path);
        let within = found.strip_prefix(above).unwrap_or(&found);
        // Some file systems ignore case.
        let is = |component: Component<'_>, name| component.as_os_str().eq_ignore_ascii_case(name);
        if within.components().any(|at| is(at, SETTINGS_FOLDER)) {
            return Err(format!(
                "path: {path}: settings in {SETTINGS_FOLDER} are the user's alone; say what is to be changed there"
            ));
        }
        // The given path is checked too: it may be that of a link.
        let mut names = within.components().chain(Path::new(path).components());
        if names.any(|at| is(at, REPOSITORY)) {
            return Err(format!(
                "path: {path}: what is in {REPOSITORY} makes git run commands; change it with a git command"
            ));
        }
        let is_unchanged = self
            .is_unchanged
            .is_some_and(|is_unchanged| is_unchanged(&found));
        let place = ResolvedPath::new(root, self.deny_list.clone(), found);
        match is_unchanged || place.is_protected() {
            true => Err(format!("path: {path}: {}", resolved::PROTECTED)),
            false => Ok(place),
        }
    }

    /// Returns the place of the root.
    pub fn top(&self) -> ResolvedPath {
        let path = self.root.path.clone();
        ResolvedPath::new(self.root.clone(), self.deny_list.clone(), path)
    }

    /// Returns the place of a file or folder to read, or the root if `path` is not given.
    pub fn locate_or_top(&self, path: Option<&str>) -> Result<ResolvedPath, String> {
        path.map_or_else(|| Ok(self.top()), |path| self.locate(path))
    }

    /// Returns a path as models see it: relative to the root if it is inside.
    pub fn shown(&self, path: &Path) -> String {
        let within = path.strip_prefix(&self.root.path).unwrap_or(path);
        match within.as_os_str().is_empty() {
            true => ".".to_owned(),
            false => crate::text::one_line(&within.to_string_lossy()),
        }
    }

    /// Returns the deepest folder that holds `path`.
    fn root_of(&self, path: &Path, fits: impl Fn(Access) -> bool) -> Option<Arc<Root>> {
        let roots = self.roots().filter(|root| fits(root.access));
        let holding = roots.filter(|root| path.starts_with(&root.path));
        holding
            .max_by_key(|root| root.path.components().count())
            .cloned()
    }

    fn roots(&self) -> impl Iterator<Item = &Arc<Root>> {
        std::iter::once(&self.root).chain(&self.more)
    }

    /// Returns what `path` names, which is in one of the folders.
    fn follow(&self, base: &Path, path: &str) -> Result<PathBuf, PathError> {
        let nowhere = |reason: &str| PathError::Nowhere(reason.to_owned());
        if path.is_empty() {
            return Err(nowhere("is empty; name a file of the workspace"));
        }
        if path.contains('\0') {
            return Err(nowhere("holds a NUL character, which no file name has"));
        }
        if path == "~" || path.starts_with("~/") {
            let what = "~ stands for nothing here; name the file from the workspace on";
            return Err(PathError::Nowhere(format!("{path}: {what}")));
        }
        let walked = walk(base, Path::new(path));
        let at = match &walked {
            Ok(found) => found,
            Err((at, _)) => at,
        };
        if self.root_of(at, |_| true).is_none() {
            return Err(PathError::Outside);
        }
        walked.map_err(|(_, reason)| PathError::Nowhere(format!("{path}: {reason}")))
    }

    fn outside(&self, path: &str) -> String {
        let root = self.root.path.display();
        let more: Vec<String> = self
            .more
            .iter()
            .map(|folder| folder.path.display().to_string())
            .collect();
        match more.as_slice() {
            [] => format!(
                "path: {path}: outside the workspace {root}; only files in it may be touched"
            ),
            more => format!(
                "path: {path}: outside the workspace {root} and the other folders ({}); only files in them may be touched",
                more.join(", ")
            ),
        }
    }
}

fn open(path: &Path, access: Access) -> Result<Arc<Root>, WorkspaceError> {
    let failed = |source| WorkspaceError::Open {
        path: path.to_owned(),
        source,
    };
    let resolved = path.canonicalize().map_err(failed)?;
    if !resolved.is_dir() {
        return Err(WorkspaceError::NoFolder(path.to_owned()));
    }
    let dir = Dir::open_ambient_dir(&resolved, ambient_authority()).map_err(failed)?;
    Ok(Arc::new(Root {
        path: resolved,
        dir,
        access,
    }))
}

/// One step of a path.
enum Step {
    /// To a name.
    Down(OsString),
    /// To the folder above.
    Up,
}

/// Follows `path` from `root` one name at a time, through links. An error contains the part that was followed.
fn walk(root: &Path, path: &Path) -> Result<PathBuf, (PathBuf, String)> {
    let mut at = root.to_owned();
    let mut steps = VecDeque::new();
    let mut links = 0;
    let mut missing = false;
    lead(path, &mut at, &mut steps);
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
                    Err(error) => return Err((at, crate::text::reason(&error))),
                };
                lead(&target, &mut at, &mut steps);
            }
            Ok(_) => at = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing = true;
                at = next;
            }
            Err(error) => return Err((at, crate::text::reason(&error))),
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
