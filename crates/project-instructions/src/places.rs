//! Where instructions and skills are looked for, and how their files are called.

use std::path::{Component, Path, PathBuf};

use session_model::text::misleads;

/// The folders in which instructions and skills are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The folder of the user's own settings.
    pub config_dir: Option<PathBuf>,
    /// The folders from the project's root down to the workspace, which is the last; without links.
    pub project: Vec<PathBuf>,
}

impl Places {
    /// Returns the project's root, which no link may lead out of.
    pub(super) fn root(&self) -> Option<&Path> {
        self.project.first().map(PathBuf::as_path)
    }

    /// Returns the workspace.
    pub(super) fn workspace(&self) -> Option<&Path> {
        self.project.last().map(PathBuf::as_path)
    }

    /// Returns how a file is called: from the workspace on where it is in it. None for a name that would not fit in a
    /// line.
    pub(super) fn shown(&self, path: &Path) -> Option<String> {
        let within = self
            .workspace()
            .and_then(|root| path.strip_prefix(root).ok());
        let text = within.unwrap_or(path).to_str()?;
        (!text.contains(misleads)).then(|| text.to_owned())
    }

    pub(super) fn folders_to(&self, path: &Path) -> Vec<PathBuf> {
        let Some(within) = self
            .workspace()
            .and_then(|root| path.strip_prefix(root).ok())
        else {
            return Vec::new();
        };
        let deepest = match path.is_dir() {
            true => Some(within),
            false => within.parent(),
        };
        let folders = deepest.into_iter().flat_map(Path::ancestors);
        let folders = folders.filter(|folder| *folder != Path::new(""));
        let mut folders: Vec<PathBuf> = folders.map(Path::to_owned).collect();
        folders.reverse();
        folders
    }

    pub(super) fn folders_of(&self, path: &str, names: &[PathBuf]) -> Vec<PathBuf> {
        let Some(path) = plain_name(path) else {
            return Vec::new();
        };
        let folders = names.iter().filter(|name| path.ends_with(name));
        let folders = folders.filter_map(|name| {
            let own = path.components().count() - name.components().count();
            let folder: PathBuf = path.components().take(own).collect();
            (own > 0).then_some(folder)
        });
        folders.collect()
    }
}

/// Returns a name that leads down from a folder; none for an empty or absolute one, or one that leads up.
pub(super) fn plain_name(name: &str) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in Path::new(name).components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    let usable = plain != Path::new("") && !name.contains(misleads);
    usable.then_some(plain)
}
