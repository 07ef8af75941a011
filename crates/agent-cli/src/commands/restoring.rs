//! What the files that a session has touched hold now, for commands that compact it by `restore`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use compaction_core::{CompactionPlan, RestoreInput, Strategy, touched_files};
use serde_json::{Value, json};

use crate::commands::plan::Planning;
use crate::commands::run::folders::workspace;
use crate::commands::run::rights::policies;
use crate::error::Error;
use crate::models::block_on;
use crate::models::secret_variables;
use crate::options::Global;
use agent_tools::Around;
use agent_tools::approval::{ApprovalStore, Approvals};
use session_store::catalog::{is_kept, sessions_root};
use session_tools::restoring::{Disk, Stopped, unseen};
use session_tools::rights::redactor;

/// What was found on the disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// The strategy that it is for.
    pub strategy: Strategy,
    /// What a plan is given.
    pub input: RestoreInput,
    /// What people should know of it.
    pub note: Option<String>,
}

/// Returns what is found of a session's files; nothing where the strategy brings nothing back.
pub(super) fn find(planning: &Planning<'_>, strategy: Strategy) -> Result<Found, Error> {
    let (args, global) = (planning.args, planning.global);
    let nothing = Found {
        strategy,
        ..Found::default()
    };
    if strategy != Strategy::Restore {
        return Ok(nothing);
    }
    let settings = global.load_settings()?.compaction.restore;
    let touched = touched_files(planning.context);
    let header = planning.path.tree().header();
    let cwd = header.map_or_else(PathBuf::new, |header| PathBuf::from(&header.cwd));
    let own = own_folder(&args.session.session, &cwd, global)?;
    let disk = match (&args.workspace, own) {
        (Some(named), _) => {
            let disk = disk(named, &cwd, global);
            disk.map_err(|error| Error::Usage(format!("--workspace: {error}")))?
        }
        (None, Ok(folder)) => match disk(&folder, &cwd, global) {
            Ok(disk) => disk,
            // The summary is worth having all the same.
            Err(error) => {
                let failed = Some(error.to_string());
                return Ok(Found {
                    input: RestoreInput {
                        failed,
                        ..RestoreInput::default()
                    },
                    ..nothing
                });
            }
        },
        (None, Err(why)) => {
            return Ok(Found {
                input: unseen(touched, &settings),
                note: Some(why),
                ..nothing
            });
        }
    };
    let cancel = crate::cancel::token();
    let read = block_on(disk.read_beside(touched, settings, &cancel))?;
    Ok(Found {
        input: read.map_err(|Stopped| Error::Cancelled)?,
        ..nothing
    })
}

/// Returns the folder that the session worked in, or why its files are not read without a word of the user.
fn own_folder(
    session: &Path,
    cwd: &Path,
    global: &Global,
) -> Result<Result<PathBuf, String>, Error> {
    let shown = crate::ui::clean(&cwd.display().to_string());
    let not_read = |why: &str| {
        format!(
            "files are only named: the session's folder {shown} {why}; name it with --workspace DIR"
        )
    };
    if !cwd.is_absolute() || !cwd.is_dir() {
        return Ok(Err(not_read("is not here")));
    }
    let folder = cwd.canonicalize();
    let folder = folder.map_err(|error| Error::io("open", cwd, error))?;
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let home = global.settings_sources()?.home.or_else(std::env::home_dir);
    let settings = global.app_settings()?;
    // Where no such folder is known, no session lies in it.
    let sessions = sessions_root(settings.session.dir.as_deref().map(Path::new)).ok();
    let around = Around {
        here: std::env::current_dir().ok().map(real),
        home: home.filter(|home| home.is_absolute()).map(real),
        temp: real(std::env::temp_dir()),
        is_ours: sessions.is_some_and(|sessions| is_kept(&sessions, session)),
    };
    Ok(match around.why_not(&folder) {
        Some(why) => Err(not_read(why)),
        None => Ok(folder),
    })
}

/// Returns the files of `folder` for a session that worked in `cwd`.
fn disk(folder: &Path, cwd: &Path, global: &Global) -> Result<Disk, Error> {
    let settings = global.app_settings()?;
    let sources = global.settings_sources()?;
    let sessions = sessions_root(settings.session.dir.as_deref().map(Path::new))?;
    let servers = agent_tools::mcp::configured(&settings.mcp_servers);
    let redactor = Arc::new(redactor(&secret_variables(settings)?, &servers));
    let workspace = Arc::new(workspace(folder, settings, &sources, &sessions)?);
    // Nobody is asked.
    let approvals = Approvals::new(policies(settings, false, &[])?, false);
    let memory = ApprovalStore::of(sources.config_dir.as_deref(), workspace.root());
    Ok(Disk::new(
        workspace,
        cwd,
        redactor,
        approvals.remembering(memory),
    ))
}

impl Found {
    /// Says in the document of a plan what comes back by it.
    pub(super) fn tell(&self, plan: &CompactionPlan, document: &mut Value) {
        let Some(restored) = &plan.restored else {
            return;
        };
        let files = restored.files.iter().map(|file| {
            json!({
                "path": file.path,
                "outcome": file.outcome,
                "freshness": file.freshness,
                "entry_id": file.entry_id,
                "tokens": file.tokens,
            })
        });
        let images = restored.images.iter().map(|image| {
            json!({
                "entry_id": image.entry_id,
                "tool": image.tool,
                "turn": image.turn,
                "outcome": image.outcome,
                "tokens": image.tokens,
            })
        });
        let pending = plan.pending.iter();
        let pending = pending.flat_map(|answer| answer.content.tool_calls());
        document["restored"] = json!({
            "files": files.collect::<Vec<_>>(),
            "images": images.collect::<Vec<_>>(),
            "tokens": restored.tokens,
            "pending_calls": pending.map(|call| &call.name).collect::<Vec<_>>(),
            "outside": self.input.outside,
            "failed": restored.failed,
            "note": self.note,
        });
    }

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
