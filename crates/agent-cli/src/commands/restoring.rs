//! What the files that a session has touched hold now, for commands that compact it by `restore`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use compaction_core::{
    CompactionPlan, Freshness, Outcome, Profile, RestoreInput, RestoreSettings, Strategy,
    TokenCount, touched_files,
};
use serde::Serialize;
use serde_json::{Value, json};
use session_model::{EntryId, SessionContext, SessionPath};

use crate::args::{Global, PlanArgs};
use crate::commands::run::folders::workspace;
use crate::commands::run::rights::redactor;
use crate::error::Error;
use crate::extensions::secret_variables;
use crate::models::block_on;
use crate::session::folder::sessions_root;
use crate::session::servers;
use crate::session::tools::restoring::{Disk, Stopped, unseen};

/// What was found on the disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// What a plan is given.
    pub input: RestoreInput,
    /// What people should know of it.
    pub note: Option<String>,
}

/// Returns what is found of a session's files; nothing where the strategy brings nothing back.
pub(super) fn find(
    path: &SessionPath<'_>,
    context: &SessionContext,
    strategy: Strategy,
    args: &PlanArgs,
    global: &Global,
) -> Result<Found, Error> {
    if strategy != Strategy::Restore {
        return match &args.workspace {
            Some(_) => Err(Error::Usage(
                "--workspace is where --strategy restore reads files; leave it out".to_owned(),
            )),
            None => Ok(Found::default()),
        };
    }
    if global.profile() == Profile::Pi {
        return Err(Error::Usage(
            "pi has no strategy restore; leave out --profile pi".to_owned(),
        ));
    }
    let settings = global.load_settings()?.compaction.restore;
    let touched = touched_files(context);
    let header = path.tree().header();
    let cwd = header.map_or_else(PathBuf::new, |header| PathBuf::from(&header.cwd));
    let disk = match (&args.workspace, own_folder(&cwd, global)?) {
        (Some(named), _) => {
            let disk = disk(named, &cwd, global);
            disk.map_err(|error| Error::Usage(format!("--workspace: {error}")))?
        }
        (None, Ok(folder)) => match disk(&folder, &cwd, global) {
            Ok(disk) => disk,
            // The summary is worth having all the same.
            Err(error) => return Ok(failed(&error)),
        },
        (None, Err(why)) => return Ok(only_named(touched, &settings, why)),
    };
    let cancel = crate::cancel::token();
    let read = block_on(disk.read_beside(touched, settings, &cancel))?;
    Ok(Found {
        input: read.map_err(|Stopped| Error::Cancelled)?,
        note: None,
    })
}

fn failed(error: &Error) -> Found {
    Found {
        input: RestoreInput {
            failed: Some(error.to_string()),
            ..RestoreInput::default()
        },
        note: None,
    }
}

fn only_named(
    touched: Vec<compaction_core::TouchedFile>,
    settings: &RestoreSettings,
    why: String,
) -> Found {
    Found {
        input: unseen(touched, settings),
        note: Some(why),
    }
}

/// Returns the folder that the session worked in, or why its files are not read without a word of the user.
fn own_folder(cwd: &Path, global: &Global) -> Result<Result<PathBuf, String>, Error> {
    let shown = crate::ui::clean(&cwd.display().to_string());
    let not_read = |what: &str| format!("{what}; name it with --workspace DIR");
    if !cwd.is_absolute() || !cwd.is_dir() {
        return Ok(Err(not_read(&format!(
            "files are only named: the session's folder {shown} is not here"
        ))));
    }
    // What a session says of itself is a stranger's word: it opens a project, not all that the user has.
    let home = global.settings_sources()?.home;
    let home = home.map(|home| home.canonicalize().unwrap_or(home));
    let folder = cwd.canonicalize();
    let folder = folder.map_err(|error| Error::io("open", cwd, error))?;
    let is_too_much =
        folder.parent().is_none() || home.is_some_and(|home| home.starts_with(&folder));
    Ok(match is_too_much {
        true => Err(not_read(&format!(
            "files are only named: the session's folder {shown} holds more than a project"
        ))),
        false => Ok(folder),
    })
}

/// Returns the files of `folder` for a session that worked in `cwd`.
fn disk(folder: &Path, cwd: &Path, global: &Global) -> Result<Disk, Error> {
    let settings = global.load_app_settings()?;
    let sources = global.settings_sources()?;
    let sessions = sessions_root(settings.session.dir.as_deref().map(Path::new))?;
    let servers = servers::configured(&settings.mcp_servers);
    let redactor = Arc::new(redactor(&secret_variables(&settings)?, &servers));
    let workspace = Arc::new(workspace(folder, &settings, &sources, &sessions)?);
    Ok(Disk::new(workspace, cwd, redactor))
}

/// What comes back, as JSON documents have it.
#[derive(Serialize)]
struct Document<'a> {
    files: Vec<File<'a>>,
    images: Vec<Image<'a>>,
    tokens: TokenCount,
    outside: &'a [String],
    failed: Option<&'a str>,
    note: Option<&'a str>,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    outcome: Outcome,
    freshness: Freshness,
    entry_id: &'a EntryId,
    tokens: TokenCount,
}

#[derive(Serialize)]
struct Image<'a> {
    entry_id: &'a EntryId,
    tool: Option<&'a str>,
    turn: usize,
    tokens: TokenCount,
}

impl Found {
    /// Says in the document of a plan what comes back by it.
    pub(super) fn tell(&self, plan: &CompactionPlan, document: &mut Value) {
        let Some(restored) = &plan.restored else {
            return;
        };
        let files = restored.files.iter().map(|file| File {
            path: &file.path,
            outcome: file.outcome,
            freshness: file.freshness,
            entry_id: &file.entry_id,
            tokens: file.tokens,
        });
        let images = restored.images.iter().map(|image| Image {
            entry_id: &image.entry_id,
            tool: image.tool.as_deref(),
            turn: image.turn,
            tokens: image.tokens,
        });
        document["restored"] = json!(Document {
            files: files.collect(),
            images: images.collect(),
            tokens: restored.tokens,
            outside: &self.input.outside,
            failed: restored.failed.as_deref(),
            note: self.note.as_deref(),
        });
    }

    /// Returns what people are told of it.
    pub(super) fn notes(&self) -> Vec<String> {
        let outside = match self.input.outside.len() {
            0 => None,
            outside => {
                let files = crate::ui::counted(outside, "file");
                Some(format!("{files} outside the workspace left alone"))
            }
        };
        self.note.iter().cloned().chain(outside).collect()
    }
}
