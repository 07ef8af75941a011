//! `sessions`: which sessions there are, and where.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::commands::copy_sessions::{self, SessionsCopyArgs};
use crate::commands::run::moved;
use crate::error::Error;
use crate::options::Global;
use crate::stores::{self, finder};
use crate::ui::size::size;
use crate::ui::{BOLD, DIM, WARN, clean, columns, counted, first_line, padded, styled, width};
use session_finder::{AGENTS, Found, Glance, OWN, glance};
use session_model::Timestamp;
use session_store::SyncPolicy;
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
    /// List those whose title, id, folder or agent has these words.
    pub words: Vec<String>,
    /// List at most so many.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
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

/// The fewest characters of an id that are shown.
const ID: usize = 8;

/// The fewest columns of a title, and the width from which sizes and the time of day are shown.
const TITLE: usize = 40;
const WIDE: usize = 100;

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
    let mut rows: Vec<Row> = rows.collect::<Result<_, Error>>()?;
    let words: Vec<String> = args.words.iter().map(|word| word.to_lowercase()).collect();
    rows.retain(|(found, _)| has_words(found, &words));
    rows.sort_by_key(|row| std::cmp::Reverse(written(row)));
    let all = rows.len();
    rows.truncate(args.limit.unwrap_or(all));
    let document = json!({
        "root": root.to_string_lossy(),
        "cwd": cwd.as_ref().map(|cwd| cwd.to_string_lossy()),
        "matching": all,
        "sessions": rows.iter().map(|(found, glance)| row_json(found, glance.as_ref())).collect::<Vec<_>>(),
    });
    let text = match (rows.is_empty(), &cwd) {
        (true, _) if !words.is_empty() => "no session has these words\n".to_owned(),
        (true, Some(_)) => {
            let catalog = stores::catalog_at(&root, SyncPolicy::Always)?;
            let moved = moved(&*catalog)?.unwrap_or_default();
            format!("no sessions of this project; --all lists those of others{moved}\n")
        }
        (true, None) => format!(
            "no sessions in {} or of other agents\n",
            clean(&root.display().to_string())
        ),
        (false, _) => table(&rows, cwd.as_deref()),
    };
    let text = match all - rows.len() {
        0 => text,
        more => format!("{text}{more} more; a larger --limit or words show them\n"),
    };
    Ok(Outcome::done(&document, text))
}

/// A session, and what a look over its lines tells.
type Row = (Found, Option<Glance>);

/// Returns when a session was written: what its lines say outlasts a copy or a restored backup of the file.
fn written((found, glance): &Row) -> Timestamp {
    let last = glance.and_then(|glance| glance.last);
    last.unwrap_or(found.row.modified)
}

fn has_words(found: &Found, words: &[String]) -> bool {
    let row = &found.row;
    let texts = [
        row.name.as_deref(),
        row.first_prompt.as_deref(),
        Some(&*row.cwd),
        Some(&*row.id),
    ];
    let texts: Vec<&str> = texts.into_iter().flatten().chain([found.agent]).collect();
    let text = texts.join("\n").to_lowercase();
    words.iter().all(|word| text.contains(word))
}

fn row_json(found: &Found, glance: Option<&Glance>) -> Value {
    let row = &found.row;
    json!({
        "agent": found.agent,
        "path": row.locator.as_path().to_string_lossy(),
        "id": row.id,
        "cwd": row.cwd,
        "started": row.started.map(|at| at.to_string()),
        "modified": row.modified.to_string(),
        "last_entry": glance.and_then(|glance| glance.last).map(|at| at.to_string()),
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
    let when = match width() < WIDE {
        true => format!("{:10}", "written"),
        false => format!("{:16}  {:>6}", "written (UTC)", "size"),
    };
    let head = format!(
        "  {when}  {:agent_width$}  {:id_width$}  what",
        "agent", "id"
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
        for row in rows.iter().filter(|(found, _)| found.row.cwd == directory) {
            let id = ids.get(row.0.row.id.as_str()).copied().unwrap_or_default();
            text.push_str(&line(row, agent_width, (id, id_width)));
        }
    }
    text
}

fn line(row: &Row, agent_width: usize, (id, id_width): (&str, usize)) -> String {
    let when = written(row).to_string().replace('T', " ");
    let (found, glance) = (&row.0, row.1.unwrap_or_default());
    let row = &found.row;
    let when = match width() < WIDE {
        true => when.get(..10).unwrap_or_default().to_owned(),
        false => format!(
            "{}  {:>6}",
            when.get(..16).unwrap_or_default(),
            size(row.bytes)
        ),
    };
    let head = format!(
        "  {when}  {}  {}  ",
        padded(found.agent, agent_width),
        padded(&clean(id), id_width)
    );
    let room = width().saturating_sub(columns(&head));
    let notes = [
        row.locked.then(|| "open".to_owned()),
        (!row.persisted).then(|| "not answered yet".to_owned()),
        (row.pending > 0).then(|| format!("{} to send", counted(row.pending, "message"))),
        (glance.damaged_lines > 0).then(|| "damaged".to_owned()),
        (glance.compactions > 0).then(|| compactions(glance)),
    ];
    let mut notes: Vec<String> = notes.into_iter().flatten().collect();
    // How often it was compacted is of less use than what it is.
    if glance.compactions > 0 && room < TITLE + 2 + notes.join(", ").len() {
        notes.pop();
    }
    let notes = notes.join(", ");
    let used = notes.len() + 2 * usize::from(!notes.is_empty());
    let what = row.name.as_ref().or(row.first_prompt.as_ref());
    let what = what.map_or("", String::as_str);
    let mut text = head + &first_line(what, room.saturating_sub(used).max(16));
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

/// Returns for each id what is shown of it: the shortest beginning that no other one has.
fn short_ids<'a>(ids: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let common = |one: &str, other: Option<&&str>| {
        let pairs = one
            .char_indices()
            .zip(other.copied().unwrap_or_default().chars());
        pairs.take_while(|((_, a), b)| a == b).count()
    };
    let shown = sorted.iter().enumerate().map(|(place, id)| {
        let before = place.checked_sub(1).and_then(|before| sorted.get(before));
        let least = common(id, before).max(common(id, sorted.get(place + 1))) + 1;
        let end = id.char_indices().nth(least.max(ID));
        (*id, end.map_or(*id, |(end, _)| &id[..end]))
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
