//! Where the tools of a run may read and change files, and where they may not.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::session::tools::Workspace;
use crate::settings::{AppSettings, Sources};

/// Returns the workspace in `cwd` with the folders that the settings add. The global settings and the sessions
/// below `sessions` are the user's alone.
pub(super) fn workspace(
    cwd: &Path,
    settings: &AppSettings,
    sources: &Sources,
    sessions: &Path,
) -> Result<Workspace, Error> {
    let mut workspace = Workspace::open(cwd)?;
    for named in &settings.tools.folders {
        let folder = folder(named, cwd, sources.home.as_deref())?;
        workspace = workspace.with_folder(&folder).map_err(|error| {
            Error::Usage(format!(
                "tools.folders: {error}; name folders that are there"
            ))
        })?;
    }
    if let Some(folder) = &sources.config_dir {
        workspace = workspace.with_protected(folder);
    }
    // Where the sessions' folder is the one that is worked in, or above it, only the session itself is kept apart.
    let real = sessions.canonicalize();
    let real = real.unwrap_or_else(|_| sessions.to_owned());
    Ok(match workspace.root().starts_with(&real) {
        true => workspace,
        false => workspace.with_protected(&real),
    })
}

/// Returns the folder that a setting names; `~` is the user's home.
fn folder(named: &str, cwd: &Path, home: Option<&Path>) -> Result<PathBuf, Error> {
    let below_home = match named.strip_prefix('~') {
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    };
    match (below_home, home) {
        (Some(rest), Some(home)) => Ok(home.join(rest)),
        (Some(_), None) => Err(Error::Usage(format!(
            "tools.folders: {named}: no home folder is known; write the whole path"
        ))),
        (None, _) if named.is_empty() => Err(Error::Usage(
            "tools.folders: a name is empty; name a folder".to_owned(),
        )),
        (None, _) => Ok(cwd.join(named)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{folder, workspace};
    use crate::settings::{AppSettings, Sources};

    #[test]
    fn a_folder_is_named_from_home_or_from_the_workspace_on() {
        let of = |named: &str| {
            let home = Some(Path::new("/home/u"));
            let found = folder(named, Path::new("/work"), home);
            found.map_or_else(|error| error.to_string(), |path| path.display().to_string())
        };
        assert_eq!(of("~/notes"), "/home/u/notes");
        assert_eq!(of("~notes"), "/work/~notes");
        assert_eq!(of("../notes"), "/work/../notes");
        assert_eq!(of("/notes"), "/notes");
        assert!(of("").contains("tools.folders: a name is empty"));
        let homeless = folder("~", Path::new("/work"), None).unwrap_err();
        assert!(homeless.to_string().contains("write the whole path"));
    }

    #[test]
    fn settings_and_sessions_are_kept_apart() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        for name in ["config", "sessions/one", "notes"] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        let sources = Sources {
            home: Some(home.clone()),
            config_dir: Some(home.join("config")),
            ..Sources::default()
        };
        let mut settings = AppSettings::default();
        let sessions = home.join("sessions");
        let whole = workspace(&home, &settings, &sources, &sessions).unwrap();
        for path in ["config/settings.json", "config", "sessions/one/s.jsonl"] {
            let refused = whole.resolve(path).unwrap_err();
            assert!(refused.contains("the user's alone"), "{refused}");
            assert!(whole.resolve_to_change(path).is_err());
        }
        assert!(whole.resolve_to_change("notes/x").is_ok());
        let within = workspace(&sessions.join("one"), &settings, &sources, &sessions).unwrap();
        assert!(within.resolve_to_change("x").is_ok());
        settings.tools.folders = vec!["~/notes".to_owned()];
        let more = workspace(&sessions.join("one"), &settings, &sources, &sessions).unwrap();
        let note = home.join("notes/x");
        assert!(more.resolve_to_change(note.to_str().unwrap()).is_ok());
        settings.tools.folders = vec!["~/missing".to_owned()];
        let missing = workspace(&home, &settings, &sources, &sessions).unwrap_err();
        let missing = missing.to_string();
        assert!(
            missing.contains("tools.folders") && missing.contains("missing"),
            "{missing}"
        );
    }
}
