//! `sessions`: which sessions there are, and where.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::commands::copy_sessions::{self, SessionsCopyArgs};
use crate::error::Error;
use crate::options::Global;
use crate::stores::finder;
use crate::ui::size::size;
use crate::ui::{BOLD, DIM, WARN, clean, columns, counted, first_line, padded, styled, width};
use session_finder::{AGENTS, Found, Glance, OWN, glance};
use session_store::catalog::sessions_root;

/// List the sessions of this program and of other agents, and say where they are.
#[derive(Debug, Args)]
pub struct SessionsArgs {
    /// What to do with them; those of this project are listed unless given.
    #[command(subcommand)]
    pub command: Option<SessionsCommand>,
}

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List the sessions of this project, the last written first.
    List(SessionsListArgs),
    /// Copy sessions to another folder or to a database, byte for byte.
    Copy(SessionsCopyArgs),
    /// Print the folder that holds all sessions.
    Path(SessionDirArgs),
}

/// Arguments of `sessions list`.
#[derive(Debug, Default, Args)]
pub struct SessionsListArgs {
    /// List the sessions of every directory.
    #[arg(long)]
    pub all: bool,
    /// List those of one agent.
    #[arg(long, value_name = "NAME", value_parser = agent_names())]
    pub agent: Option<String>,
    #[command(flatten)]
    pub dir: SessionDirArgs,
}

/// Where sessions are.
#[derive(Debug, Clone, Default, Args)]
pub struct SessionDirArgs {
    /// The folder that holds all sessions, or postgres://USER@HOST/DATABASE; unless given, AGENT_CLI_SESSION_DIR or a
    /// folder for the user's data.
    #[arg(long, value_name = "DIR")]
    pub session_dir: Option<PathBuf>,
}

/// The fewest characters of an id that are shown: of those that this program makes, the time to the millisecond.
const ID: usize = 13;

pub(super) fn run(args: &SessionsArgs, _: &Global) -> Result<Outcome, Error> {
    match &args.command {
        None => show(&SessionsListArgs::default()),
        Some(SessionsCommand::List(args)) => show(args),
        Some(SessionsCommand::Copy(args)) => copy_sessions::run(args),
        Some(SessionsCommand::Path(args)) => {
            let root = root(args)?;
            let document = json!({ "root": root.to_string_lossy() });
            Ok(Outcome::done(&document, format!("{}\n", root.display())))
        }
    }
}

fn agent_names() -> PossibleValuesParser {
    PossibleValuesParser::new(AGENTS.map(|agent| agent.name).into_iter().chain([OWN]))
}

pub(super) fn root(args: &SessionDirArgs) -> Result<PathBuf, Error> {
    Ok(sessions_root(args.session_dir.as_deref())?)
}

fn show(args: &SessionsListArgs) -> Result<Outcome, Error> {
    let root = root(&args.dir)?;
    let cwd = match args.all {
        true => None,
        false => Some(std::env::current_dir().map_err(|error| Error::io("open", ".", error))?),
    };
    let rows = finder(args.dir.session_dir.as_deref())?
        .list(args.agent.as_deref(), cwd.as_deref())?
        .into_iter();
    let rows = rows.map(|found| {
        crate::cancel::check()?;
        let glance = glance(found.row.locator.as_path());
        Ok((found, glance))
    });
    let rows: Vec<Row> = rows.collect::<Result<_, Error>>()?;
    let document = json!({
        "root": root.to_string_lossy(),
        "cwd": cwd.as_ref().map(|cwd| cwd.to_string_lossy()),
        "sessions": rows.iter().map(|(found, glance)| row_json(found, glance.as_ref())).collect::<Vec<_>>(),
    });
    let text = match (rows.is_empty(), &cwd) {
        (true, Some(_)) => "no sessions of this project; --all lists those of others\n".to_owned(),
        (true, None) => format!(
            "no sessions in {} or of other agents\n",
            clean(&root.display().to_string())
        ),
        (false, _) => table(&rows, cwd.as_deref()),
    };
    Ok(Outcome::done(&document, text))
}

/// A session, and what a look over its lines tells.
type Row = (Found, Option<Glance>);

fn row_json(found: &Found, glance: Option<&Glance>) -> Value {
    let row = &found.row;
    json!({
        "agent": found.agent,
        "path": row.locator.as_path().to_string_lossy(),
        "id": row.id,
        "cwd": row.cwd,
        "started": row.started.map(|at| at.to_string()),
        "modified": row.modified.to_string(),
        "bytes": row.bytes,
        "name": row.name,
        "first_prompt": row.first_prompt,
        "locked": row.locked,
        "persisted": row.persisted,
        "pending": row.pending,
        "compactions": glance.map(|glance| glance.compactions),
        "damaged_lines": glance.map(|glance| glance.damaged_lines),
        "read_whole": glance.is_some_and(|glance| glance.is_whole),
    })
}

/// Returns the rows for people; those of several directories under a heading each.
fn table(rows: &[Row], cwd: Option<&Path>) -> String {
    let ids: Vec<&str> = rows
        .iter()
        .map(|(found, _)| found.row.id.as_str())
        .collect();
    let ids = short_ids(&ids);
    let widest = ids.values().map(|id| columns(id)).max();
    let id_width = widest.unwrap_or_default();
    let agents = rows.iter().map(|(found, _)| found.agent.len());
    let agent_width = agents.max().unwrap_or_default().max("agent".len());
    let head = format!(
        "  {:16}  {:>6}  {:agent_width$}  {:id_width$}  what",
        "written (UTC)", "size", "agent", "id"
    );
    let mut text = styled(DIM, &head);
    text.push('\n');
    // Directories in the order of their newest sessions.
    let mut directories: Vec<&str> = Vec::new();
    for (found, _) in rows {
        if !directories.contains(&found.row.cwd.as_str()) {
            directories.push(&found.row.cwd);
        }
    }
    let several = directories.len() > 1;
    for directory in directories {
        if cwd.is_none() || several {
            text.push_str(&styled(BOLD, &clean(directory)));
            text.push('\n');
        }
        for (found, glance) in rows.iter().filter(|(found, _)| found.row.cwd == directory) {
            let id = ids.get(found.row.id.as_str()).copied().unwrap_or_default();
            let glance = glance.unwrap_or_default();
            text.push_str(&line(found, glance, agent_width, (id, id_width)));
        }
    }
    text
}

fn line(
    found: &Found,
    glance: Glance,
    agent_width: usize,
    (id, id_width): (&str, usize),
) -> String {
    let row = &found.row;
    let written = row.modified.to_string().replace('T', " ");
    let written = written.get(..16).unwrap_or_default();
    let notes = [
        row.locked.then(|| "open".to_owned()),
        (!row.persisted).then(|| "not answered yet".to_owned()),
        (row.pending > 0).then(|| format!("{} to send", counted(row.pending, "message"))),
        (glance.compactions > 0).then(|| compactions(glance)),
        (glance.damaged_lines > 0).then(|| "damaged".to_owned()),
    ];
    let notes = notes.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let id = padded(&clean(id), id_width);
    let agent = padded(found.agent, agent_width);
    let head = format!("  {written}  {:>6}  {agent}  {id}  ", size(row.bytes));
    let used = columns(&head) + notes.len() + 2 * usize::from(!notes.is_empty());
    let what = row.name.as_ref().or(row.first_prompt.as_ref());
    let what = what.map_or("", String::as_str);
    let mut text = head + &first_line(what, width().saturating_sub(used).max(16));
    if !notes.is_empty() {
        text.push_str(&styled(WARN, &format!("  {notes}")));
    }
    text.trim_end().to_owned() + "\n"
}

fn compactions(glance: Glance) -> String {
    let count = usize::try_from(glance.compactions).unwrap_or(usize::MAX);
    let least = if glance.is_whole { "" } else { "at least " };
    format!("{least}{}", counted(count, "compaction"))
}

/// Returns for each id what is shown of it: its beginning, or all where several begin so.
fn short_ids<'a>(ids: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
    let short = |id: &'a str| match id.char_indices().nth(ID) {
        Some((end, _)) => &id[..end],
        None => id,
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for id in ids {
        *counts.entry(short(id)).or_default() += 1;
    }
    let shown = ids.iter().map(|id| {
        let alone = counts.get(short(id)) == Some(&1);
        (*id, if alone { short(id) } else { *id })
    });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::short_ids;

    #[test]
    fn an_id_is_shown_as_far_as_it_takes() {
        let ids = [
            "019e19b4-eb48-746a-1",
            "019e19b4-eb48-746a-2",
            "019e19b4-eb49-746a-1",
            "7a",
        ];
        let shown = short_ids(&ids);
        let want = [ids[0], ids[1], "019e19b4-eb49", "7a"];
        assert_eq!(ids.map(|id| shown[id]), want);
    }
}
