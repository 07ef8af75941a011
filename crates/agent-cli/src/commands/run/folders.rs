//! Where the tools of a run may read and change files, and where they may not.

use std::path::{Path, PathBuf};

use crate::error::Error;
use agent_settings::{AppSettings, Sources};
use agent_tools::Workspace;
use session_store::is_url;

/// How many files of the settings' folder are known by more than their path.
const MOST_FILES: usize = 1000;

/// Returns the workspace in `cwd` with the folders that the settings add. The global settings and the sessions
/// below `sessions` are the user's alone.
pub(in crate::commands) fn workspace(
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
        // A file there may have another name elsewhere.
        workspace = files_in(folder)
            .iter()
            .fold(workspace, |workspace, file| workspace.with_protected(file));
    }
    if is_url(sessions) {
        return Ok(workspace);
    }
    // Where the sessions' folder is the one that is worked in, or above it, only the session itself is kept apart.
    let real = sessions.canonicalize();
    let real = real.unwrap_or_else(|_| sessions.to_owned());
    Ok(match workspace.root().starts_with(&real) {
        true => workspace,
        false => workspace.with_protected(&real),
    })
}

/// Returns the files of the folder of settings, and what its links to such files lead to. Links to anything else, such
/// as instructions that are kept in a repository, are the repository's.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| {
        let is_json = path.extension().is_some_and(|end| end == "json");
        path.is_file() && (is_json || !path.is_symlink())
    });
    files.take(MOST_FILES).collect()
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
    use agent_settings::{AppSettings, Sources};

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

    #[cfg(unix)]
    #[tokio::test]
    async fn settings_are_kept_apart_by_whatever_name() {
        use agent_tools::ToolContext;
        use agent_tools::approval::Approvals;
        use session_model::{ToolCall, json::RawJson};
        use session_tools::standard_tools;

        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap();
        for name in ["config", "work", "sessions"] {
            fs::create_dir(home.join(name)).unwrap();
        }
        fs::write(home.join("config/settings.json"), "{}").unwrap();
        fs::hard_link(home.join("config/settings.json"), home.join("work/twin")).unwrap();
        fs::write(home.join("work/kept.json"), "{}").unwrap();
        let link = home.join("config/approvals.json");
        std::os::unix::fs::symlink(home.join("work/kept.json"), link).unwrap();
        let sources = Sources {
            config_dir: Some(home.join("config")),
            ..Sources::default()
        };
        let (settings, sessions) = (AppSettings::default(), home.join("sessions"));
        let workspace = workspace(&home.join("work"), &settings, &sources, &sessions).unwrap();
        let context = ToolContext::new(workspace, Approvals::allow_all());
        for path in ["twin", "kept.json"] {
            let call = ToolCall {
                id: "call".to_owned(),
                name: "read".to_owned(),
                arguments: Some(RawJson::of(&serde_json::json!({ "path": path })).unwrap()),
                signature: None,
            };
            let read = standard_tools().run(&call, &context).await;
            let text = read.content.joined_text("");
            assert!(text.contains("the user's alone"), "{path}: {text}");
        }
    }
}
