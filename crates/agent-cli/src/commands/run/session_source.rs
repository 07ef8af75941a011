//! Which session a run works on, and the command that resumes it later.

use agent_tools::Around;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_session::runtime::carried_pins;
use clap::ValueEnum;
use futures_executor::block_on;
use session_model::SessionTree;

use crate::commands::output::newest_form;
use crate::commands::run::RunArgs;
use crate::commands::run::script_progress::ScriptProgress;
use crate::error::Error;
use crate::files::{Watching, open_session};
use crate::options::Global;
use crate::stores::{self, finder};
use crate::ui::{clean, note, progress, shell_name};
use session_finder::{Found, OWN, session_name};
use session_store::catalog::is_kept;
use session_store::{
    Advice, ForkSource, Locator, MemoryStore, NewSession, OpenSession, Query, SessionCatalog,
    SessionFile, StoreError, SyncPolicy, exists, is_url,
};

/// The session that arguments name. Nothing of it is made yet.
pub(super) enum SessionSource {
    /// A new one among those of its folder.
    New,
    /// A new one in this file.
    At(PathBuf),
    /// A new one that is never written.
    Memory,
    /// One that is there.
    Open(OpenSession, Arc<dyn SessionCatalog>),
    /// A copy of this one.
    Fork(Box<SessionFile>),
}

impl SessionSource {
    /// Returns the session that the arguments name, open and locked where it is there; `here` is the folder whose
    /// sessions are looked through.
    pub fn of(args: &RunArgs, root: &Path, here: &Path, policy: SyncPolicy) -> Result<Self, Error> {
        let open = |path: &Path| -> Result<Self, Error> {
            session_finder::refuse(path)?;
            let at = Locator::of_path(path);
            let at = match at.is_remote() || path == Path::new("-") {
                true => at,
                false => {
                    let from_root = std::path::absolute(path);
                    Locator::of_path(&from_root.map_err(|error| Error::io("open", path, error))?)
                }
            };
            let catalog = stores::catalog_of(at.as_path(), policy)?;
            let watched = progress::watch("opening");
            let opened = block_on(catalog.open(&at, &mut Watching))?;
            drop(watched);
            if let Some(stale) = opened.tree().stale_leaf() {
                note(&clean(&stale.message));
            }
            Ok(Self::Open(opened, catalog))
        };
        if args.go_on {
            let none = match &args.prompt {
                Some(_) => {
                    "no session of this folder is there yet; leave out --continue to begin one"
                }
                None => "no session of this folder is there yet; begin one with -p TEXT",
            };
            let catalog = stores::catalog_at(root, policy)?;
            let cwd = here.to_string_lossy();
            let query = Query {
                cwd: Some(&cwd),
                limit: Some(1),
                ..Query::default()
            };
            let newest = block_on(catalog.list(query))?.rows.into_iter().next();
            let Some(row) = newest else {
                let moved = moved(&*catalog)?.unwrap_or_default();
                return Err(Error::NothingToDo(format!("{none}{moved}")));
            };
            return open(row.locator.as_path());
        }
        let fork = |path: &Path| -> Result<Self, Error> {
            let source = open_session(path)?;
            // A copy has no line that cannot be read.
            source.report().report(&mut serde_json::Value::Null);
            Ok(Self::Fork(Box::new(source.into_file())))
        };
        let named = |name: &str| Ok::<_, Error>(finder(Some(root))?.named(name, here));
        // The session of another agent stays as it is.
        let go_on = |found: Found| match found.agent {
            OWN => open(found.row.locator.as_path()),
            _ => fork(found.row.locator.as_path()),
        };
        if let Some(name) = &args.resume {
            if name.trim().is_empty() {
                let text = "--resume names no session; agent-cli sessions list shows the ids";
                return Err(Error::Usage(text.to_owned()));
            }
            return go_on(named(name)??);
        }
        if let Some(source) = &args.fork {
            return match session_name(source) {
                Some(name) => fork(named(name)??.row.locator.as_path()),
                None => fork(source),
            };
        }
        let Some(path) = &args.session else {
            return Ok(match args.no_session {
                true => Self::Memory,
                false => Self::New,
            });
        };
        if is_url(path) || exists(path) {
            return open(path);
        }
        let Some(name) = session_name(path) else {
            return Ok(Self::At(path.clone()));
        };
        match named(name)? {
            Ok(found) => go_on(found),
            Err(StoreError::Usage {
                advice: Advice::ListSessions,
                ..
            }) if name != "newest" && !name.contains(':') => Ok(Self::At(path.clone())),
            Err(error) => Err(error.into()),
        }
    }

    pub fn tree(&self) -> Option<&SessionTree> {
        match self {
            Self::New | Self::At(_) | Self::Memory => None,
            Self::Open(store, _) => Some(store.tree()),
            Self::Fork(source) => Some(source.tree()),
        }
    }

    /// Returns what of a script the session holds, and the sessions that were handed on to it.
    pub fn script_progress(&self) -> ScriptProgress {
        match self {
            Self::New | Self::At(_) | Self::Memory => ScriptProgress::default(),
            Self::Open(store, _) => {
                ScriptProgress::of(store.tree(), store.tree().indices(), store.queued())
            }
            Self::Fork(source) => {
                let path = source.tree().path(source.tree().leaf());
                ScriptProgress::of(source.tree(), path.entries().iter().copied(), &[])
            }
        }
    }

    /// Returns the folder that the session has worked in so far, unless its header may not choose one; `root` holds
    /// the sessions that are kept, and the user is in `here`.
    pub fn cwd(&self, root: &Path, here: &Path) -> Result<Option<PathBuf>, Error> {
        let header = self.tree().and_then(SessionTree::header);
        let named = header.map(|header| PathBuf::from(&header.cwd));
        let Some(cwd) = named.filter(|cwd| !cwd.as_os_str().is_empty()) else {
            return Ok(None);
        };
        // One that is not there is refused as such.
        let Ok(folder) = cwd.canonicalize() else {
            return Ok(Some(cwd));
        };
        let path = self.path();
        let around = Around {
            here: here.canonicalize().ok(),
            is_ours: path.is_some_and(|path| is_kept(root, path)),
            ..Around::default()
        };
        match around.why_not_work_in(&folder) {
            None => Ok(Some(cwd)),
            Some(why) => Err(Error::session(
                path.unwrap_or(&cwd),
                format!(
                    "its working folder {} {why}, and a session file from elsewhere does not choose where tools work; name the folder with --cwd DIR",
                    crate::ui::clean(&cwd.display().to_string())
                ),
            )),
        }
    }

    /// Returns the file of the session that is opened or copied.
    fn path(&self) -> Option<&Path> {
        match self {
            Self::New | Self::At(_) | Self::Memory => None,
            Self::Open(store, _) => store.locator().map(Locator::as_path),
            Self::Fork(source) => Some(source.path.as_path()),
        }
    }

    /// Returns an error where the session has nothing that it could go on with by itself.
    pub fn check_work(&self) -> Result<(), Error> {
        match self {
            Self::New | Self::Memory => Err(Error::Usage(
                "say what to do: -p PROMPT runs a session; --help lists the commands over session files"
                    .to_owned(),
            )),
            Self::At(path) => Err(Error::session(
                path,
                "no such session file; check the path, or begin it with -p TEXT",
            )),
            Self::Open(store, _) if store.tree().is_empty() && store.queued().is_empty() => {
                Err(Error::NothingToDo(
                    "the session is empty; say what to do with -p TEXT".to_owned(),
                ))
            }
            Self::Open(..) | Self::Fork(_) => Ok(()),
        }
    }

    /// Returns the error for a working folder that is gone.
    pub fn without_folder(&self, cwd: &Path) -> Error {
        Error::session(
            self.path().unwrap_or(cwd),
            format!(
                "its working folder {} is gone; if it was moved, name the new one with --cwd DIR, or --cwd . for this one",
                cwd.display()
            ),
        )
    }

    /// Makes what is to be made, and returns the catalog of the sessions that continue it.
    pub fn store(
        self,
        root: &Path,
        cwd: &Path,
        policy: SyncPolicy,
    ) -> Result<(OpenSession, Arc<dyn SessionCatalog>), Error> {
        let text = cwd.to_string_lossy().into_owned();
        let new = NewSession {
            cwd: text.clone(),
            parent: None,
        };
        let catalog = || stores::catalog_at(root, policy);
        Ok(match self {
            Self::New => {
                let catalog = catalog()?;
                (block_on(catalog.create(new))?, catalog)
            }
            Self::At(path) => {
                let files = stores::files_next_to(&path, policy);
                (Box::new(files.create_at(&path, new)?), Arc::new(files))
            }
            Self::Memory => (Box::new(MemoryStore::new(&text)), catalog()?),
            Self::Open(store, catalog) => (store, catalog),
            Self::Fork(source) => {
                let locator = Locator::of_path(&source.path);
                let tree = newest_form(&source)?;
                let leaf = tree.leaf();
                let source = ForkSource::Read {
                    tree: &tree,
                    locator: Some(&locator).filter(|at| at.as_os_str() != "-"),
                };
                let catalog = catalog()?;
                let copy = catalog.fork(source, leaf, &text, &carried_pins);
                (block_on(copy)?, catalog)
            }
        })
    }
}

/// Returns how to continue the newest session of a folder that is gone: it may have another name now.
pub(in crate::commands) fn moved(catalog: &dyn SessionCatalog) -> Result<Option<String>, Error> {
    let rows = block_on(catalog.list(Query::default()))?.rows.into_iter();
    let mut gone = rows.filter(|row| row.persisted && !Path::new(&row.cwd).is_dir());
    Ok(gone.next().map(|row| {
        let cwd = clean(&row.cwd);
        let id = clean(&row.id);
        format!("; {cwd} is gone: if it was moved to here, agent-cli --resume {id} --cwd . continues its newest session")
    }))
}

/// How somebody goes on with a session: the options that name it and its model.
pub(in crate::commands) struct ResumeCommand {
    options: String,
    by_id: bool,
    names_folder: bool,
}

impl ResumeCommand {
    pub fn of(args: &RunArgs, global: &Global) -> Self {
        let text = |path: &PathBuf| path.display().to_string();
        let wire = args.wire.as_ref().and_then(ValueEnum::to_possible_value);
        let given = [
            ("--provider", args.provider.clone()),
            ("--model", args.model.clone()),
            ("--base-url", args.base_url.clone()),
            ("--wire", wire.map(|wire| wire.get_name().to_owned())),
            ("--api-key-env", args.api_key_env.clone()),
            ("--window", args.window.map(|window| window.to_string())),
            ("--settings", global.settings.as_ref().map(text)),
        ];
        let mut options = String::new();
        for (name, value) in given {
            if let Some(value) = value {
                options.push_str(&format!(" {name} {}", shell_name(Path::new(&value))));
            }
        }
        if args.no_instructions {
            options.push_str(" --no-instructions");
        }
        for set in &global.set {
            options.push_str(&format!(" --set {}", shell_name(Path::new(set))));
        }
        Self {
            options,
            by_id: args.session_dir.is_none() && args.session.is_none(),
            names_folder: args.cwd.is_some(),
        }
    }

    /// Returns the command that goes on with a session that works in `cwd`, for a user who stays in this folder.
    pub fn command(&self, id: &str, path: &Path, cwd: &Path) -> String {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let which = match self.by_id && name.contains(id) {
            true => format!("--resume {id}"),
            false => format!("--session {}{}", shell_name(path), self.cwd(cwd)),
        };
        format!("agent-cli {which}{}", self.options)
    }

    /// Returns the option that names the folder, where the file that is named next to it does not choose it.
    fn cwd(&self, cwd: &Path) -> String {
        let here = std::env::current_dir().and_then(std::fs::canonicalize);
        match self.names_folder || here.is_ok_and(|here| here != cwd) {
            true if !self.by_id => format!(" --cwd {}", shell_name(cwd)),
            true | false => String::new(),
        }
    }
}
