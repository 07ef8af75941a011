//! `hook`: what another agent runs after it compacted a session, so that its model learns what left the context and
//! how to get it back.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use compaction_core::{Profile, Removed, RemovedOutline, TokenCount, removed_outline};
use serde::Deserialize;
use serde_json::json;
use session_model::{EntryKind, SessionPath};

use crate::commands::Outcome;
use crate::commands::mcp::tools::RECALL;
use crate::error::Error;
use crate::files::open_session;
use crate::options::Global;
use crate::stores::finder;
use session_finder::AGENTS;

/// Answer the hook of another agent: what a compaction took out of its context. `setup` registers it.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The agent that runs it, and whose JSON is on standard input.
    #[arg(value_name = "AGENT", value_parser = agents())]
    pub agent: String,
}

fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(AGENTS.map(|agent| agent.name))
}

/// The most that an agent may send, in bytes.
const INPUT: u64 = 1024 * 1024;

/// The most tokens of the answer.
const ANSWER: TokenCount = TokenCount(300);

/// The longest path that is an example of what to search for, and the longest id of a session, in bytes.
const WORD: usize = 100;

/// What agents send: all of them name these members alike.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Input {
    session_id: Option<String>,
    transcript_path: Option<PathBuf>,
    hook_event_name: Option<String>,
    /// Why a session starts.
    source: Option<String>,
}

/// What every answer says, so that a session which stores it shows that it was given.
const LEAD: &str =
    "They are on disk: before you say that something is unknown, ask again or guess,";

pub(super) fn run(args: &HookArgs, _: &Global) -> Result<Outcome, Error> {
    let mut text = Vec::new();
    let mut stdin = std::io::stdin().lock().take(INPUT);
    let read = stdin.read_to_end(&mut text);
    read.map_err(|error| Error::io("read", "standard input", error))?;
    let input: Input = serde_json::from_slice(&text).map_err(|error| {
        Error::Usage(format!("standard input is not the JSON of a hook: {error}"))
    })?;
    let path = match (&input.transcript_path, &input.session_id) {
        (Some(path), _) => path.clone(),
        (None, Some(id)) => {
            let here = std::env::current_dir().map_err(|error| Error::io("open", ".", error))?;
            let name = format!("{}:{id}", args.agent);
            finder(None)?.named(&name, &here)?.row.locator.into()
        }
        (None, None) => {
            let text = "standard input names neither transcript_path nor session_id";
            return Err(Error::Usage(text.to_owned()));
        }
    };
    let nothing = || Outcome::done(&json!({}), "{}\n".to_owned());
    let event = input.hook_event_name.as_deref().unwrap_or("SessionStart");
    let said = |text: &str| {
        let output = json!({ "hookEventName": event, "additionalContext": text });
        let document = json!({ "hookSpecificOutput": output });
        Outcome::done(&document, format!("{document}\n"))
    };
    let is_claude = args.agent == "claude";
    let is_compacting = is_claude && input.source.as_deref() == Some("compact");
    if is_claude && is_of_subagent(&path) {
        return Ok(nothing());
    }
    if !path.exists() {
        // A session that has said nothing yet has no file, nor has a fork of Claude Code whose first prompt compacts it.
        return Ok(match input.session_id.filter(|_| is_compacting) {
            Some(id) => said(&lead(&args.agent, "Entries leave", "error", Some(&id))),
            None => nothing(),
        });
    }
    let session = open_session(&path)?;
    let tree = session.tree();
    let path = tree.path(tree.leaf());
    let is_repeated = input.source.as_deref() != Some("compact") && was_told(&path);
    let removed = match is_compacting && !ends_compacted(&path) {
        true => Removed::AtLeaf,
        false => Removed::ByNewest,
    };
    let text = (!is_repeated)
        .then(|| text_of(&args.agent, &path, removed))
        .flatten();
    // The format is of no use to an agent that wrote it.
    let mut report = session.report();
    report.read_as = None;
    let Some(text) = text else {
        return Ok(nothing().of(report));
    };
    Ok(said(&text).of(report))
}

/// Returns whether a sub-agent of the session was compacted rather than the session: Claude Code names the session either
/// way, and the transcript of the one that waits for the hook was written last.
fn is_of_subagent(transcript: &Path) -> bool {
    let written = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
    let own = written(transcript);
    let folder = transcript.with_extension("").join("subagents");
    let mut others = std::fs::read_dir(folder).into_iter().flatten().flatten();
    others.any(|entry| written(&entry.path()) > own)
}

/// Returns whether nothing was said since the newest compaction. Claude Code writes the record of a compaction after its
/// hooks have run, so that there the newest is an older one.
fn ends_compacted(path: &SessionPath<'_>) -> bool {
    let tree = path.tree();
    let newest = path.newest(EntryKind::Compaction);
    newest.is_some_and(|(place, _)| {
        let mut after = path.entries()[place..].iter();
        !after.any(|index| tree.kind(*index) == EntryKind::Message)
    })
}

/// Returns whether the session stores an answer of this hook behind the newest compaction.
fn was_told(path: &SessionPath<'_>) -> bool {
    let newest = path.newest(EntryKind::Compaction);
    let after = path
        .entries()
        .iter()
        .skip(newest.map_or(0, |(place, _)| place + 1));
    let mut entries = after.filter_map(|index| path.tree().entry(*index).ok());
    entries.any(|entry| {
        let mut messages = entry.messages().into_iter();
        messages.any(|message| message.display_text().contains(LEAD))
    })
}

/// Returns what a compaction took out of the context, in about [`ANSWER`] tokens; `None` where nothing was.
fn text_of(agent: &str, path: &SessionPath<'_>, removed: Removed) -> Option<String> {
    let counter = Profile::Own.counter();
    let taken = counter.text(&lead(agent, "Up to 1000 entries leave", "x", Some("x")));
    let outline = removed_outline(path, removed, ANSWER.saturating_sub(taken))?;
    let RemovedOutline {
        entries,
        text: quotes,
        changed,
    } = outline;
    let is_plain = |path: &String| {
        path.len() <= WORD
            && path
                .chars()
                .all(|c| c.is_alphanumeric() || "/._-".contains(c))
    };
    let example = changed.filter(is_plain);
    let example = example.as_deref().unwrap_or("error");
    let id = path.tree().header().map(|header| header.id.as_str());
    let what = match removed {
        Removed::AtLeaf => format!("Up to {entries} entries leave"),
        _ => format!("{entries} entries left"),
    };
    let mut text = lead(agent, &what, example, id);
    if !quotes.is_empty() {
        text.push_str("Of what left (lines behind > are quoted from the entry in brackets):\n");
        text.push_str(&quotes);
        text.push('\n');
    }
    Some(text)
}

/// Returns how the text begins: what leaves the context, and how it is found again.
fn lead(agent: &str, what: &str, example: &str, session: Option<&str>) -> String {
    let tool = tool(agent);
    let mut call = json!({ "queries": [example] });
    if let Some(id) = session.filter(|id| id.len() <= WORD) {
        call["session"] = json!(id);
    }
    format!(
        "{what} the context in this compaction. {LEAD} call the tool {tool} with rare words, for example {call}; without queries it shows what left.\n"
    )
}

/// Returns how an agent's model calls the tool that searches.
fn tool(agent: &str) -> String {
    let is_plugin = std::env::var_os("CLAUDE_PLUGIN_ROOT").is_some();
    match agent {
        "claude" if is_plugin => format!("`mcp__plugin_agent-cli_agent-cli__{RECALL}`"),
        "claude" | "qwen" => format!("`mcp__agent-cli__{RECALL}`"),
        "opencode" | "pi" | "omp" => format!("`{RECALL}`"),
        _ => format!("`{RECALL}` of the server agent-cli"),
    }
}
