//! `hook`: what another agent runs after it compacted a session, so that its model learns what left the context and
//! how to get it back.

use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use compaction_core::{LedgerItem, LedgerKind, Profile, TokenCount, removed_facts};
use serde::Deserialize;
use serde_json::{Value, json};
use session_model::{AgentMessage, EntryBody, EntryIndex, EntryKind, SessionTree};

use crate::commands::Outcome;
use crate::error::Error;
use crate::files::open_session;
use crate::options::Global;
use crate::ui::first_line;
use session_finder::{AGENTS, Finder};

/// Answer the hook of another agent: what a compaction took out of its context. `setup` registers it.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The agent that runs it, and whose JSON is on standard input.
    #[arg(value_name = "AGENT", value_parser = agents())]
    pub agent: String,
}

fn agents() -> PossibleValuesParser {
    // The plugin for opencode passes what it would export.
    let names = AGENTS.iter().map(|agent| agent.name);
    PossibleValuesParser::new(names.chain(["opencode"]))
}

/// The most that an agent may send, in bytes.
const INPUT: u64 = 1024 * 1024;

/// The most tokens of the answer.
const ANSWER: TokenCount = TokenCount(300);

/// The most characters of one fact.
const FACT: usize = 160;

/// The most bytes of a word or an id in the example.
const WORD: usize = 100;

/// The facts that a model needs even if it asks for nothing, the weightiest first.
const KINDS: [(LedgerKind, &str); 4] = [
    (LedgerKind::Pin, "pinned by the user"),
    (LedgerKind::Rule, "rule of the user"),
    (LedgerKind::Failure, "failed, not seen to pass since"),
    (LedgerKind::Todo, "open"),
];

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
            Finder::of_process(None)?
                .named(&name, &here)?
                .row
                .locator
                .into()
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
    let document = match facts_of(session.tree()) {
        Some(facts) if !is_repeated => answer(&input, &facts),
        _ => json!({}),
    };
    let text = format!("{document}\n");
    Ok(Outcome::done(&document, text))
}

fn answer(input: &Input, facts: &str) -> Value {
    let event = input.hook_event_name.as_deref().unwrap_or("SessionStart");
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": facts } })
}

/// Returns whether the user has said something between the newest compaction and `prompt`, so that the facts were told.
fn has_asked_since(tree: &SessionTree, prompt: &str) -> bool {
    let path = tree.path(tree.leaf());
    let is_compaction = |index: &EntryIndex| tree.kind(*index) == EntryKind::Compaction;
    let after = path.entries().iter().rev();
    after
        .take_while(|index| !is_compaction(index))
        .filter_map(|index| tree.entry(*index).ok())
        .any(|entry| match &entry.body {
            EntryBody::Message(message) => match &**message {
                AgentMessage::User(user) => user.content.joined_text("\n").trim() != prompt.trim(),
                _ => false,
            },
            _ => false,
        })
}

/// Returns what the newest compaction of a session took out of the context, in at most [`ANSWER`] tokens; `None` where
/// nothing was.
fn facts_of(tree: &SessionTree) -> Option<String> {
    let counter = Profile::Own.counter();
    // More than fits, to choose from.
    let removed = removed_facts(tree, TokenCount(4 * ANSWER.0))?;
    let mut call = json!({ "query": example(&removed.items) });
    let id = tree.header().map(|header| header.id.as_str());
    if let Some(id) = id.filter(|id| id.len() <= WORD) {
        call["session"] = json!(id);
    }
    let mut text = format!(
        "{} entries left the context in this compaction. They are on disk: before you say that something is unknown, ask again or guess, call the tool `recall` of the server agent-cli with rare words, for example {call}.\n",
        removed.entries,
    );
    let mut named = Vec::new();
    for (kind, what) in KINDS {
        for item in removed.items.iter().filter(|item| item.kind == kind) {
            let line = format!(
                "- {what}: {} [{}]\n",
                first_line(&item.text, FACT),
                item.entry_id
            );
            if counter.text(&format!("{text}{line}")) > ANSWER {
                continue;
            }
            text.push_str(&line);
            named.push(&item.entry_id);
        }
    }
    let others = removed
        .items
        .iter()
        .map(|item| &item.entry_id)
        .chain(&removed.sources);
    let mut ids: Vec<&str> = Vec::new();
    for id in others.filter(|id| !named.contains(id)) {
        if ids.len() < 5 && !ids.contains(&id.as_str()) && !id.is_empty() {
            ids.push(id.as_str());
        }
    }
    let line = format!("Also worth reading: {}.\n", ids.join(", "));
    if !ids.is_empty() && counter.text(&format!("{text}{line}")) <= ANSWER {
        text.push_str(&line);
    }
    Some(text)
}

/// Returns words to search for: the path of a file that was changed, or what a fact begins with.
fn example(items: &[LedgerItem]) -> String {
    let is_plain = |word: &&str| {
        let mut letters = word.chars();
        word.len() <= WORD
            && letters.all(|letter| letter.is_alphanumeric() || "/._-".contains(letter))
    };
    let mut files = items.iter().filter(|item| item.kind == LedgerKind::File);
    let path = files.find_map(|item| {
        let mut words = item.text.split_whitespace().filter(is_plain);
        words.find(|word| word.contains(['/', '.']))
    });
    let first = items.first().map_or("", |item| item.text.as_str());
    let words: Vec<&str> = first.split_whitespace().filter(is_plain).take(2).collect();
    match (path, words.as_slice()) {
        (Some(path), _) => path.to_owned(),
        (None, []) => "error".to_owned(),
        (None, words) => words.join(" "),
    }
}
