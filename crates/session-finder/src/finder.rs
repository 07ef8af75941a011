//! Finding sessions without a path: those of this program and of the agents that people use, by id, the beginning of
//! one, or `newest`.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_executor::block_on;
use session_import::{Input, Origin, detect, import};
use session_model::text::{clean, clean_lines};
use session_model::{SessionTree, decode_bytes};
use session_store::catalog::row_of;
use session_store::{Advice, ReadObserver, SessionCatalog, SessionRow, StoreError, list_all};

use crate::agents::{AGENTS, Agent, Environment, OWN, claude_call};
use crate::bytes::unpacked_beginning;
#[cfg(feature = "databases")]
use crate::database;
use crate::documents;
use crate::project::{project_of, project_root};

/// A session that was found, and whose it is.
#[derive(Debug, Clone)]
pub struct Found {
    /// The agent that wrote it.
    pub agent: &'static str,
    /// What its beginning tells.
    pub row: SessionRow,
    /// It works for another session.
    pub is_subagent: bool,
}

impl Found {
    fn own(row: SessionRow) -> Self {
        Self {
            agent: OWN,
            row,
            is_subagent: false,
        }
    }
}

/// Where to look.
pub struct Finder {
    environment: Environment,
    /// This program's sessions.
    own: Arc<dyn SessionCatalog>,
}

impl Finder {
    /// Returns a finder that looks in the places of this process, and in `own` for the sessions of this program.
    pub fn of_process(own: Arc<dyn SessionCatalog>) -> Self {
        Self {
            environment: Environment::of_process(),
            own,
        }
    }

    /// Returns the sessions of every agent, or of one, the last written first: those whose project is that of
    /// `folder`, or all.
    ///
    /// # Errors
    /// The sessions of this program cannot be read.
    pub fn list(
        &self,
        agent: Option<&str>,
        folder: Option<&Path>,
    ) -> Result<Vec<Found>, StoreError> {
        let is_wanted = |name: &str| agent.is_none_or(|agent| agent == name);
        let mut found = Vec::new();
        if is_wanted(OWN) {
            let rows = block_on(list_all(&*self.own, None))?.into_iter();
            found.extend(rows.map(Found::own));
        }
        for agent in AGENTS.iter().filter(|agent| is_wanted(agent.name)) {
            found.extend(self.rows(agent));
        }
        if let Some(folder) = folder {
            let project = project_of(folder);
            found.retain(|found| project_of(Path::new(&found.row.cwd)) == project);
        }
        found.sort_by(|one, other| {
            let key = |found: &Found| (found.row.modified, found.row.locator.clone());
            key(other).cmp(&key(one))
        });
        Ok(found)
    }

    /// Returns the sessions in which words of `queries` may be, and how many of them are of other agents, which come first:
    /// of this program's those that the index of their store names, the best first. `None` where it has none.
    ///
    /// # Errors
    /// The sessions of this program cannot be read; `observer` stopped it.
    pub fn candidates(
        &self,
        queries: &[String],
        observer: &mut dyn ReadObserver,
    ) -> Result<Option<(Vec<Found>, usize)>, StoreError> {
        let mut ranked: Vec<(usize, SessionRow)> = Vec::new();
        for query in queries {
            match block_on(self.own.candidates(query, observer))? {
                Some(rows) => ranked.extend(rows.into_iter().enumerate()),
                None => return Ok(None),
            }
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let mut known = BTreeSet::new();
        let own = ranked.into_iter().map(|(_, row)| row);
        let own = own.filter(|row| known.insert(row.locator.clone()));
        let others: Vec<Found> = AGENTS.iter().flat_map(|agent| self.rows(agent)).collect();
        let count = others.len();
        let all = others.into_iter().chain(own.map(Found::own));
        Ok(Some((all.collect(), count)))
    }

    /// Returns what a list tells of the sessions of another agent.
    fn rows(&self, agent: &Agent) -> Vec<Found> {
        let found = |row, is_subagent| Found {
            agent: agent.name,
            row,
            is_subagent,
        };
        let files = agent.files(&self.environment);
        let rows = files.iter().filter_map(|file| {
            let mut row = match documents::read(file) {
                Ok(Some(bytes)) => row_of(file, |_| decode(bytes)),
                _ => row_of(file, decode),
            }?;
            row.name = row.name.or_else(|| subagent_name(file));
            if row.cwd.is_empty() {
                row.cwd = project_root(file).unwrap_or_default();
            }
            Some(found(row, is_subagent(agent.name, file)))
        });
        let mut rows: Vec<Found> = rows.collect();
        // gemini-cli begins a file when it resumes, and continues in the one that was there.
        let speaking = rows.iter().filter(|found| found.row.first_prompt.is_some());
        let speaking: BTreeSet<String> = speaking.map(|found| found.row.id.clone()).collect();
        rows.retain(|found| found.row.first_prompt.is_some() || !speaking.contains(&found.row.id));
        #[cfg(feature = "databases")]
        let rows = {
            // Where a session is in both, the database has it in full.
            let databases = agent.databases(&self.environment).into_iter();
            let databases = databases.flat_map(|path| database::rows(&path, decode));
            let mut kept: Vec<Found> = databases.map(|(row, child)| found(row, child)).collect();
            let is_new = |found: &Found| !kept.iter().any(|known| known.row.id == found.row.id);
            let others: Vec<Found> = rows.into_iter().filter(is_new).collect();
            kept.extend(others);
            kept
        };
        rows
    }

    /// Returns the transcript of Claude Code in which the call of this id was made just now, and that of the session if it
    /// is one of a sub-agent.
    pub fn claude_call(&self, id: &str) -> Option<(PathBuf, Option<PathBuf>)> {
        claude_call(&self.environment, id)
    }

    /// Returns the session that a name means: an id, the beginning of one, or `newest` (of the project of `folder`),
    /// each with `AGENT:` before it for the sessions of one agent; or the file of a session that is listed.
    ///
    /// # Errors
    /// [`StoreError::Usage`] where no session, or more than one, is meant.
    pub fn named(&self, name: &str, folder: &Path) -> Result<Found, StoreError> {
        let (agent, id) = agent_and_id(name);
        if id == "newest" {
            let mut newest = self.list(agent, Some(folder))?.into_iter();
            let newest = newest.find(|found| !found.is_subagent && found.row.persisted);
            let of_agent = agent.map_or(String::new(), |agent| format!(" of {agent}"));
            return newest.ok_or_else(|| {
                unknown(format!("no session{of_agent} was found for this project"))
            });
        }
        let mut found = self.list(agent, None)?;
        if let Some(at) = found
            .iter()
            .position(|found| found.row.locator.as_os_str() == name)
        {
            return Ok(found.swap_remove(at));
        }
        found.retain(|found| !id.is_empty() && found.row.id.starts_with(id));
        if found.iter().any(|found| found.row.id == id) {
            found.retain(|found| found.row.id == id);
        }
        match found.len() {
            0 => Err(unknown(format!(
                "no file and no session is called {}",
                clean(name)
            ))),
            1 => Ok(found.remove(0)),
            count => {
                let some = found.iter().take(5);
                let some = some.map(|found| format!("\n  {}  {}", found.agent, found.row.locator));
                let some = clean_lines(&some.collect::<String>());
                Err(StoreError::usage(format!(
                    "{count} sessions are called {}; name more of the id, or the file:{some}",
                    clean(name)
                )))
            }
        }
    }
}

/// How much of a compressed session is unpacked to list it, in bytes.
const BEGINNING: u64 = 256 * 1024;

/// Returns the tree of a session's beginning, of whichever format.
pub(crate) fn decode(bytes: Vec<u8>) -> Option<SessionTree> {
    let bytes = unpacked_beginning(bytes, BEGINNING);
    let Some(format) = detect(&bytes) else {
        return Some(decode_bytes(bytes).tree);
    };
    let mut lines = Vec::new();
    let input = Input::of_bytes(bytes);
    import(format, &input, &Origin::default(), &|_| None, &mut lines).ok()?;
    Some(decode_bytes(lines).tree)
}

/// Returns whether a file is of a subagent, which works for another session.
fn is_subagent(agent: &str, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(path);
    match agent {
        // Older versions kept them next to the sessions, newer ones also deeper, in those of workflows.
        "claude" => name.starts_with("agent-") || folder.ends_with("subagents"),
        "gemini" => folder
            .parent()
            .is_some_and(|above| above.ends_with("chats")),
        "cline" => name.split('.').next() != folder.file_name().and_then(|name| name.to_str()),
        _ => false,
    }
}

/// Returns what a subagent was started for, which Claude Code writes next to its session.
fn subagent_name(path: &Path) -> Option<String> {
    let file = Some(path.with_extension("meta.json")).filter(|_| is_subagent("claude", path))?;
    let is_short = file.metadata().ok()?.len() <= BEGINNING;
    let bytes = is_short.then(|| std::fs::read(file).ok()).flatten()?;
    let about: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let texts = ["agentType", "description"].map(|key| about[key].as_str());
    let texts: Vec<&str> = texts.into_iter().flatten().collect();
    Some(texts.join(": ")).filter(|name| !name.is_empty())
}

/// Returns the error about a name that no session has.
fn unknown(text: String) -> StoreError {
    StoreError::Usage {
        text,
        advice: Advice::ListSessions,
    }
}

/// Returns the agent that a name begins with, and the rest.
fn agent_and_id(name: &str) -> (Option<&str>, &str) {
    let is_agent = |name: &str| name == OWN || AGENTS.iter().any(|agent| agent.name == name);
    match name.split_once(':') {
        Some((agent, id)) if is_agent(agent) => (Some(agent), id),
        _ => (None, name),
    }
}

/// Returns the name of a session that an argument is; `None` where it is a path, of a file that is there or not.
pub fn session_name(argument: &Path) -> Option<&str> {
    let is_path = argument == Path::new("-")
        || argument.components().count() > 1
        || argument.symlink_metadata().is_ok();
    let name = argument.to_str().filter(|_| !is_path)?;
    let is_name = argument.extension().is_none() || agent_and_id(name).0.is_some();
    is_name.then_some(name)
}
