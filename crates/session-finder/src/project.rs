//! Which project a folder belongs to: worktrees of one repository are one project.

use std::path::{Path, PathBuf};

/// Returns the folder that tells projects apart: the common directory of the git repository, else the folder itself.
pub fn project_of(folder: &Path) -> PathBuf {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let repository = folder.ancestors().find_map(common_directory);
    repository.unwrap_or(folder)
}

/// Returns the common directory of the repository whose worktree `folder` is.
fn common_directory(folder: &Path) -> Option<PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return git.canonicalize().ok();
    }
    let own = folder.join(line(&git)?.strip_prefix("gitdir:")?.trim());
    let common =
        line(&own.join("commondir")).map_or_else(|| own.clone(), |common| own.join(common));
    common.canonicalize().ok()
}

/// Returns the folder that a session of gemini-cli works in, as a file in a folder above it names it.
pub(crate) fn project_root(session: &Path) -> Option<String> {
    let folders = session.ancestors().skip(1).take(3);
    folders
        .map(|folder| folder.join(".project_root"))
        .find_map(|file| line(&file))
}

/// Returns the first line of a small file.
fn line(file: &Path) -> Option<String> {
    let is_small = file.metadata().ok()?.len() < 8192;
    let text = is_small.then(|| std::fs::read_to_string(file).ok())??;
    Some(text.lines().next()?.to_owned())
}
