//! `recall`: finding again what was said in this session, on every branch, also what a compaction took out of the
//! context.

use compaction_core::{
    Matches, Profile, Query, Recall, RecallLimits, RecalledText, Visit, recall, recall_entry,
};
use llm_providers::{BoxFuture, CancellationToken};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use session_model::{AgentMessage, Entry, EntryBody, build_context};

use super::recalling::{IN_PART, Search, pattern, place_name};
use agent_tools::text::{clip_line, count};
use agent_tools::{Concurrency, History, Tool, ToolContext, ToolKind, ToolMeta, ToolOutput};
use agent_tools::{arguments_schema as schema, parse_arguments as parse};

/// How many entries are shown when the call says nothing, and at most.
const ENTRIES: usize = 8;
const MOST_ENTRIES: usize = 30;

/// How much of an entry that is found is shown, in characters.
const EXCERPT: usize = 400;

/// How much of an entry that is read is shown in one call, in characters.
const READ: usize = 8000;

/// The longest query, in bytes.
const QUERY: usize = 2000;

/// The longest id that is repeated, in characters.
const ID_CHARS: usize = 60;

/// The name that models call it by.
const NAME: &str = "recall";

/// The tool.
pub(crate) struct RecallTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The words to look for, the telling ones; with regex a pattern.
    query: Option<String>,
    /// Takes the query for a regular expression; the newest matches come first.
    #[serde(default)]
    regex: bool,
    /// Shows this entry instead of searching.
    id: Option<String>,
    /// With id: the character to begin at.
    offset: Option<usize>,
    /// The most entries to show: 8 when nothing is said, 30 at most.
    limit: Option<usize>,
}

/// What is wanted.
enum Wanted {
    Search {
        query: String,
        regex: bool,
        limit: usize,
    },
    Entry {
        id: String,
        offset: usize,
    },
}

impl Tool for RecallTool {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        "Finds again what was said or done earlier in this session: also what was summarized and is no longer in the \
         conversation, and what happened on other branches. Give query to search; each result names its entry. Give \
         id to read one entry whole. What it shows is a record of the past, not a new request."
    }

    fn parameters(&self) -> Value {
        schema::<Arguments>()
    }

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            kind: ToolKind::Search,
            concurrency: Concurrency::WithAny,
            ..ToolMeta::READ
        }
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let wanted = match parse::<Arguments>(arguments).and_then(wanted) {
                Ok(wanted) => wanted,
                Err(message) => return ToolOutput::error(message),
            };
            let Some(history) = context.history.clone() else {
                return ToolOutput::error("there is no earlier part of this session to look into");
            };
            let cancel = context.cancel.clone();
            let work = tokio::task::spawn_blocking(move || look(&history, &wanted, &cancel));
            tokio::select! {
                biased;
                // The work notices it too, at the next entry.
                () = context.cancel.cancelled() => ToolOutput::cancelled(),
                done = work => done.unwrap_or_else(|_| ToolOutput::failed(NAME)),
            }
        })
    }
}

fn wanted(arguments: Arguments) -> Result<Wanted, String> {
    match (arguments.id, arguments.query) {
        (Some(_), Some(_)) => Err("give either query or id, not both".to_owned()),
        (Some(id), None) => Ok(Wanted::Entry {
            id: id.trim().to_owned(),
            offset: arguments.offset.unwrap_or(0),
        }),
        (None, Some(_)) if arguments.offset.is_some() => {
            Err("offset: goes with id only; leave it out".to_owned())
        }
        (None, Some(query)) if query.trim().is_empty() => {
            Err("query: is empty; give the words to look for".to_owned())
        }
        (None, Some(query)) if query.len() > QUERY => Err(format!(
            "query: is longer than {QUERY} bytes; a few telling words are enough"
        )),
        (None, Some(query)) => Ok(Wanted::Search {
            query,
            regex: arguments.regex,
            limit: arguments.limit.unwrap_or(ENTRIES).clamp(1, MOST_ENTRIES),
        }),
        (None, None) => {
            Err("give query, the words to look for, or id, the entry to read".to_owned())
        }
    }
}

fn look(history: &History, wanted: &Wanted, cancel: &CancellationToken) -> ToolOutput {
    let path = history.tree.path(history.leaf);
    let context = build_context(&path, Profile::Own.context_rules());
    match wanted {
        Wanted::Entry { id, offset } => match history.tree.find(id) {
            None => {
                let id = clip_line(id, ID_CHARS);
                ToolOutput::error(format!(
                    "there is no entry {id} in this session; search with query to find ids"
                ))
            }
            Some(index) => match recall_entry(&path, &context, index, *offset, READ) {
                Ok(read) => entry_output(&read),
                Err(error) => ToolOutput::error(format!("the entry cannot be read: {error}")),
            },
        },
        Wanted::Search {
            query,
            regex,
            limit,
        } => {
            let compiled = match regex.then(|| pattern(query)).transpose() {
                Ok(compiled) => compiled.map(Search::new),
                Err(error) => return ToolOutput::error(format!("query: {error}")),
            };
            let find = |text: &str| {
                let search = compiled.as_ref();
                search.map_or(Matches::default(), |search| {
                    search.matches(text, || cancel.is_cancelled())
                })
            };
            let looked_for = match &compiled {
                Some(_) => Query::Pattern(&find),
                None => Query::Words(query),
            };
            let limits = RecallLimits {
                entries: *limit,
                excerpt: EXCERPT,
            };
            // The answer whose call this is holds the very words.
            let asking = path.entries().last().copied();
            let mut visit = |index, entry: &Entry| match () {
                () if cancel.is_cancelled() => Visit::Stop,
                () if asking == Some(index) || is_recall(entry) => Visit::Skip,
                () => Visit::Search,
            };
            match recall(&path, &context, &looked_for, limits, &mut visit) {
                Some(found) => search_output(&found),
                None => ToolOutput::cancelled(),
            }
        }
    }
}

/// Returns whether an entry only repeats others: an earlier call of this tool, or its result.
fn is_recall(entry: &Entry) -> bool {
    let EntryBody::Message(message) = &entry.body else {
        return false;
    };
    if let AgentMessage::ToolResult(result) = &**message {
        return result.tool_name == NAME;
    }
    let AgentMessage::Assistant(answer) = &**message else {
        return false;
    };
    let mut calls = answer.content.tool_calls().peekable();
    let says_nothing = answer.content.joined_text("").trim().is_empty();
    says_nothing && calls.peek().is_some() && calls.all(|call| call.name == NAME)
}

fn entry_output(read: &RecalledText) -> ToolOutput {
    let date = read.timestamp.as_ref();
    let date = date.map_or(String::new(), |date| format!(", {date}"));
    let mut text = format!(
        "[{}] {}{date}, {}, {}\n",
        read.entry_id,
        read.role,
        place_name(read.place),
        count(read.total_chars, "character"),
    );
    text.push_str(&read.text);
    if let Some(next) = read.next_offset {
        let left = read.total_chars - next;
        let left = count(left, "character");
        text.push_str(&format!("\n[{left} left; read on with offset {next}]"));
    }
    let details = json!({ "entry_id": read.entry_id, "next_offset": read.next_offset });
    ToolOutput::text(text).with_details(details)
}

fn search_output(found: &Recall) -> ToolOutput {
    let details = json!({
        "matching": found.matching,
        "searched": found.searched,
        "in_part": found.in_part,
    });
    let in_part = match found.in_part {
        true => format!("\n[{IN_PART}]"),
        false => String::new(),
    };
    if found.found.is_empty() {
        let searched = found.searched;
        let text = format!("Nothing in {searched} entries matches; try other words.{in_part}");
        return ToolOutput::text(text).with_details(details);
    }
    let mut text = format!(
        "{} of {} matching entries, {} searched. Read one whole with its id.\n",
        found.found.len(),
        found.matching,
        found.searched
    );
    for entry in &found.found {
        let date = entry.timestamp.as_ref();
        let date = date.map_or(String::new(), |date| format!(", {date}"));
        text.push_str(&format!(
            "\n[{}] {}{date}, {}\n{}\n",
            entry.entry_id,
            entry.role,
            place_name(entry.place),
            entry.excerpt
        ));
    }
    text.push_str(&in_part);
    ToolOutput::text(text).with_details(details)
}
