//! `hook`: what another agent runs after it compacted a session, so that its model learns what left the context and
//! how to get it back.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use compaction_core::{Profile, TokenCount, removed_outline};
use serde::Deserialize;
use serde_json::{Value, json};
use session_model::{AgentMessage, EntryBody, EntryIndex, EntryKind, SessionTree};

use crate::commands::Outcome;
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
    /// What the user says now, where the event is one of every prompt.
    prompt: Option<String>,
}

pub(super) fn run(args: &HookArgs, _: &Global) -> Result<Outcome, Error> {
    let mut text = Vec::new();
    let mut stdin = std::io::stdin().lock().take(INPUT);
    let read = stdin.read_to_end(&mut text);
    read.map_err(|error| Error::io("read", "standard input", error))?;
    let input: Input = serde_json::from_slice(&text)
        .map_err(|error| Error::Usage(format!("standard input is no JSON of a hook: {error}")))?;
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
    let session = open_session(&path)?;
    let is_repeated = input
        .prompt
        .as_ref()
        .is_some_and(|prompt| has_asked_since(session.tree(), prompt));
    let document = match removed_from(session.tree()) {
        Some(removed) if !is_repeated => answer(&input, &removed),
        _ => json!({}),
    };
    let text = format!("{document}\n");
    // The format is of no use to an agent that wrote it.
    let mut report = session.report();
    report.read_as = None;
    Ok(Outcome::done(&document, text).of(report))
}

fn answer(input: &Input, removed: &str) -> Value {
    let event = input.hook_event_name.as_deref().unwrap_or("SessionStart");
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": removed } })
}

/// Returns whether the user has said something between the newest compaction and `prompt`, so that it was reminded.
fn has_asked_since(tree: &SessionTree, prompt: &str) -> bool {
    let path = tree.path(tree.leaf());
    let is_compaction = |index: &EntryIndex| tree.kind(*index) == EntryKind::Compaction;
    let after = path.entries().iter().rev();
    after
        .take_while(|index| !is_compaction(index))
        .filter_map(|index| tree.entry(*index).ok())
        .any(|entry| match &entry.body {
            EntryBody::Message(message) => match &**message {
                AgentMessage::User(user) => {
                    let words = user.words();
                    !words.trim().is_empty() && words.trim() != prompt.trim()
                }
                _ => false,
            },
            _ => false,
        })
}

/// Returns what the newest compaction of a session took out of the context, in about [`ANSWER`] tokens; `None` where
/// nothing was.
fn removed_from(tree: &SessionTree) -> Option<String> {
    let counter = Profile::Own.counter();
    let lead = |entries: usize, call: &Value| {
        format!(
            "{entries} entries left the context in this compaction. They are on disk: before you say that something is unknown, ask again or guess, call the tool `recall` of the server agent-cli with rare words, for example {call}.\n",
        )
    };
    let taken = counter.text(&lead(1000, &json!({ "query": "x", "session": "x" })));
    let removed = removed_outline(tree, ANSWER.saturating_sub(taken))?;
    let is_plain = |path: &&String| {
        path.len() <= WORD
            && path
                .chars()
                .all(|c| c.is_alphanumeric() || "/._-".contains(c))
    };
    let example = removed.changed.as_ref().filter(is_plain);
    let mut call = json!({ "query": example.map_or("error", String::as_str) });
    let id = tree.header().map(|header| header.id.as_str());
    if let Some(id) = id.filter(|id| id.len() <= WORD) {
        call["session"] = json!(id);
    }
    let mut text = lead(removed.entries, &call);
    if !removed.text.is_empty() {
        text.push_str("Of what left (lines behind > are quoted from the entry in brackets):\n");
        text.push_str(&removed.text);
        text.push('\n');
    }
    Some(text)
}
