//! `setup`: registers this program with the agents that people use, and takes that back.

mod edit;
mod targets;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use similar::TextDiff;

use crate::commands::Outcome;
use crate::error::Error;
use crate::options::Global;
use crate::ui::clean;
use session_finder::Environment;

use targets::{Change, SERVER, TARGETS, Target};

/// Give another agent recall: register the server of `mcp` and the hook that runs after a compaction, or write an
/// extension.
#[derive(Debug, Args)]
pub struct SetupArgs {
    /// The agent.
    #[arg(value_name = "AGENT", value_parser = agents())]
    pub agent: String,
    /// Show what would be changed; write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Take back what setup wrote.
    #[arg(long)]
    pub undo: bool,
}

fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(TARGETS.iter().map(|target| target.agent))
}

/// A file as it is and as it should be.
struct Edited {
    file: PathBuf,
    before: String,
    after: String,
}

pub(super) fn run(args: &SetupArgs, _: &Global) -> Result<Outcome, Error> {
    let target = TARGETS.iter().find(|target| target.agent == args.agent);
    let target = target.ok_or_else(|| Error::Usage(format!("no agent {}", args.agent)))?;
    let edited = edited(target, &Environment::of_process(), &program(), args.undo)?;
    let names = edited
        .iter()
        .map(|edited| edited.file.to_string_lossy().into_owned());
    let document =
        json!({ "agent": args.agent, "dry_run": args.dry_run, "files": names.collect::<Vec<_>>() });
    if edited.is_empty() {
        let reason = match args.undo {
            true => format!("{} is not set up", args.agent),
            false => format!("{} is set up already", args.agent),
        };
        return Ok(Outcome::nothing_to_do(reason, document));
    }
    if !args.dry_run {
        crate::cancel::begin_write()?;
    }
    let mut text = String::new();
    for edited in &edited {
        if !args.dry_run {
            edited.write()?;
        }
        text.push_str(&edited.diff());
    }
    text.push_str(match (args.dry_run, args.undo) {
        (true, _) => "nothing is written yet; leave out --dry-run to write it\n",
        (false, true) => "taken back; restart the agent\n",
        (false, false) => "done; restart the agent. --undo takes it back\n",
    });
    if !args.undo {
        text.push_str(target.asks());
    }
    Ok(Outcome::done(&document, text))
}

/// Returns the files that change.
fn edited(
    target: &Target,
    environment: &Environment,
    program: &str,
    undo: bool,
) -> Result<Vec<Edited>, Error> {
    let changes = target.changes(environment, program);
    let changes =
        changes.ok_or_else(|| Error::Usage("no home folder is known; set HOME".to_owned()))?;
    let mut files: Vec<Edited> = Vec::new();
    for Change { file, edit } in changes {
        // A link to a file that is kept elsewhere stays a link.
        let file = file.canonicalize().unwrap_or(file);
        let place = match files.iter().position(|known| known.file == file) {
            Some(place) => place,
            None => {
                let before = read(&file)?;
                let after = before.clone();
                files.push(Edited {
                    file,
                    before,
                    after,
                });
                files.len() - 1
            }
        };
        let known = &mut files[place];
        let after = match undo {
            true if known.after.is_empty() => continue,
            true => edit::take_back(&known.after, &edit),
            false => edit::put(&known.after, &edit),
        };
        known.after = after.map_err(|reason| {
            Error::Usage(format!(
                "{}: {reason}; nothing was changed",
                shown(&known.file)
            ))
        })?;
    }
    files.retain(|edited| edited.before != edited.after);
    Ok(files)
}

impl Edited {
    fn diff(&self) -> String {
        let diff = TextDiff::from_lines(&self.before, &self.after);
        let mut unified = diff.unified_diff();
        let name = shown(&self.file);
        let text = unified.context_radius(2).header(&name, &name).to_string();
        text.lines().map(|line| clean(line) + "\n").collect()
    }

    /// Replaces the file as a whole; one in which nothing is left is removed.
    fn write(&self) -> Result<(), Error> {
        let failed = |error| Error::io("write", &self.file, error);
        let folder = self.file.parent().unwrap_or(Path::new("."));
        if edit::is_empty(&self.after) && !edit::is_empty(&self.before) {
            std::fs::remove_file(&self.file).map_err(failed)?;
            if folder.ends_with(SERVER) {
                // One that holds something else stays.
                let _ = std::fs::remove_dir(folder);
            }
            return Ok(());
        }
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(self.after.as_bytes()).map_err(failed)?;
        if let Ok(metadata) = self.file.metadata() {
            file.as_file()
                .set_permissions(metadata.permissions())
                .map_err(failed)?;
        }
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&self.file)
            .map_err(|error| failed(error.error))?;
        Ok(())
    }
}

/// Returns the text of a file; nothing where there is none.
fn read(file: &Path) -> Result<String, Error> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Error::io("read", file, error)),
    }
}

fn shown(file: &Path) -> String {
    clean(&file.display().to_string())
}

/// Returns how agents call this program: by its name where that finds it, else by its path.
fn program() -> String {
    let name = env!("CARGO_PKG_NAME");
    let Ok(own) = std::env::current_exe() else {
        return name.to_owned();
    };
    let own = own.canonicalize().unwrap_or(own);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path);
    let first = folders.find_map(|folder| folder.join(name).canonicalize().ok());
    match first == Some(own.clone()) {
        true => name.to_owned(),
        false => own.to_string_lossy().into_owned(),
    }
}
