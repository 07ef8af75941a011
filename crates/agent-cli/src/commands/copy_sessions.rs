//! `sessions copy`: sessions of one store in another, byte for byte.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use futures_executor::block_on;
use serde_json::json;
use session_store::{
    Locator, OutputStore, SessionCatalog, SessionRow, StoreError, SyncPolicy, is_url, list_all,
};

use crate::commands::Outcome;
use crate::error::Error;
use crate::stores::{self, session_path};
use crate::ui::{clean, counted};

/// Arguments of `sessions copy`.
#[derive(Debug, Args)]
pub struct SessionsCopyArgs {
    /// A session: a file, an id or the address of one; or a folder of sessions or the address of a database, for all in
    /// it.
    pub from: PathBuf,
    /// The folder that holds all sessions, or postgres://USER@HOST/DATABASE.
    pub to: PathBuf,
}

pub(super) fn run(args: &SessionsCopyArgs) -> Result<Outcome, Error> {
    let to = stores::catalog_at(&args.to, SyncPolicy::Always)?;
    let is_all = args.from.is_dir() || is_url(&args.from) && !stores::names_session(&args.from);
    let (from, sessions) = match is_all {
        true => all(&args.from)?,
        false => one(&args.from)?,
    };
    let (mut copied, mut present, mut text) = (Vec::new(), Vec::new(), String::new());
    for (at, row) in &sessions {
        crate::cancel::check()?;
        let session = block_on(from.read(at, &mut ()))?;
        // Copying continues where an earlier copy ended.
        let (copy, known) = match block_on(to.adopt(&session)) {
            Ok(copy) => (copy, None),
            Err(StoreError::AlreadyThere { id }) => (block_on(to.find(&id))?, Some(id)),
            Err(error) => return Err(error.into()),
        };
        let outputs = copy_outputs(from.outputs(at), to.outputs(&copy))?;
        match known.filter(|_| outputs == 0) {
            Some(_) if is_all => {
                present.push(at.to_string());
                continue;
            }
            Some(id) => return Err(StoreError::AlreadyThere { id }.into()),
            None => {}
        }
        text.push_str(&format!("{}\n", clean(&copy.to_string())));
        let pending = row.as_ref().map_or(0, |row| row.pending);
        if pending > 0 {
            let messages = counted(pending, "message");
            text.push_str(&format!("  {messages} to send stay where they are\n"));
        }
        if outputs > 0 {
            let outputs = counted(outputs, "whole output");
            text.push_str(&format!("  with {outputs} of tools\n"));
        }
        copied.push(json!({
            "from": at.to_string(),
            "to": copy.to_string(),
            "pending": pending,
            "outputs": outputs,
        }));
    }
    let document = json!({ "copied": copied, "present": present });
    let known = format!("{} there already", counted(present.len(), "session"));
    if copied.is_empty() {
        return Ok(Outcome::nothing_to_do(known, document));
    }
    if !present.is_empty() {
        text.push_str(&format!("{known}\n"));
    }
    Ok(Outcome::done(&document, text))
}

/// Copies the whole outputs of a session that are not there yet, and returns how many these are.
fn copy_outputs(
    from: Option<Arc<dyn OutputStore>>,
    to: Option<Arc<dyn OutputStore>>,
) -> Result<usize, Error> {
    let Some((from, to)) = from.zip(to) else {
        return Ok(0);
    };
    let known = block_on(to.names())?;
    let mut names = block_on(from.names())?;
    names.retain(|name| !known.contains(name));
    for name in &names {
        crate::cancel::check()?;
        if let Some(bytes) = block_on(from.get(name))? {
            block_on(to.put(name, bytes))?;
        }
    }
    Ok(names.len())
}

/// A catalog, and the sessions in it that are copied, each with what a list tells of it.
type Sources = (Arc<dyn SessionCatalog>, Vec<(Locator, Option<SessionRow>)>);

fn all(from: &Path) -> Result<Sources, Error> {
    let catalog = stores::catalog_at(from, SyncPolicy::Always)?;
    let rows = block_on(list_all(&*catalog, None))?.into_iter();
    let rows = rows.filter(|row| row.persisted);
    let sessions = rows.map(|row| (row.locator.clone(), Some(row))).collect();
    Ok((catalog, sessions))
}

fn one(from: &Path) -> Result<Sources, Error> {
    let path = session_path(from)?;
    session_finder::refuse(&path)?;
    let catalog = stores::catalog_of(&path, SyncPolicy::Always)?;
    Ok((catalog, vec![(Locator::of_path(&path), None)]))
}
