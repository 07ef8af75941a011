//! A script in a model's place: reading it, and the folder it works on.

use std::path::{Path, PathBuf};

use llm_script::Script;
use tempfile::TempDir;

use crate::error::Error;
use crate::ui::{DIM, styled, tell};

/// A script and where it is.
pub(super) struct ScriptFile {
    path: PathBuf,
    pub script: Script,
}

impl ScriptFile {
    pub fn read(path: &Path) -> Result<Self, Error> {
        if path.as_os_str().is_empty() {
            return Err(Error::Usage(
                "--provider scripted: names no script; say scripted:FILE".to_owned(),
            ));
        }
        // A pipe may never be written to, and a device never ends.
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            let file = path.display();
            let text = format!("cannot read the script {file}: it is not a regular file; name one");
            return Err(Error::Usage(text));
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            let why = match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                std::io::ErrorKind::IsADirectory => {
                    "it is a folder; name a script in it".to_owned()
                }
                std::io::ErrorKind::InvalidData => "it is not text".to_owned(),
                _ => error.to_string(),
            };
            Error::Usage(format!("cannot read the script {}: {why}", path.display()))
        })?;
        let script = Script::parse(&text)
            .map_err(|error| Error::Usage(format!("script {}, {error}", path.display())))?;
        Ok(Self {
            path: path.to_owned(),
            script,
        })
    }

    /// Returns the settings of the script, and how they are called in errors.
    pub fn settings(&self) -> Option<(String, serde_json::Value)> {
        let settings = self.script.header.settings.as_ref()?;
        Some((
            format!("script {}", self.path.display()),
            settings.to_value(),
        ))
    }

    pub fn workspace(&self) -> Result<Option<PathBuf>, Error> {
        let Some(folder) = &self.script.header.workspace else {
            return Ok(None);
        };
        let base = self.path.parent().unwrap_or(Path::new(""));
        let from = base.join(folder);
        match std::fs::canonicalize(&from) {
            Ok(folder) if folder.is_dir() => Ok(Some(folder)),
            Ok(_) | Err(_) => Err(Error::Usage(format!(
                "script {}: its workspace {} is not a folder",
                self.path.display(),
                from.display()
            ))),
        }
    }
}

/// Copies a folder into one that is made for it, and returns that one.
pub(super) fn scratch_copy(from: &Path) -> Result<TempDir, Error> {
    let copy = tempfile::Builder::new()
        .prefix("agent-cli-")
        .tempdir()
        .map_err(|error| Error::io("create", std::env::temp_dir(), error))?;
    copy_folder(from, copy.path())?;
    Ok(copy)
}

/// Leaves a copy for a session that continues in it, and says so.
pub(in crate::commands) fn keep_copy(copy: TempDir) {
    let folder = copy.keep();
    let text = format!("its copy of the folder stays: {}", folder.display());
    tell(&styled(DIM, &text));
}

/// Copies files and folders; links are not followed, build results not taken along.
fn copy_folder(from: &Path, to: &Path) -> Result<(), Error> {
    let failed = |error| Error::io("read", from, error);
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let target = to.join(entry.file_name());
        if kind.is_dir() && entry.file_name() != "target" {
            std::fs::create_dir(&target).map_err(|error| Error::io("create", &target, error))?;
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &target)
                .map_err(|error| Error::io("copy", entry.path(), error))?;
        }
    }
    Ok(())
}
