//! `recall` and `recall_read`: finding again what was said in this session, on every branch, also what a compaction
//! took out of the context, and reading it.

use compaction_core::{Profile, TokenCount};
use llm_providers::{BoxFuture, CancellationToken, Redactor};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use session_model::{EntryIndex, Timestamp, build_context};
use session_recall::{
    Hints, Matches, Place, Query, ReadRequest, Recall, RecallFilters, RecallRead, RecallRequest,
    RecallRole, recall_read, usual_read_tokens,
};

use super::earlier::earlier;
use super::recalling::{Search, pattern, search, time};
use agent_tools::text::clip_line;
use agent_tools::{Concurrency, History, Tool, ToolContext, ToolKind, ToolMeta, ToolOutput};
use agent_tools::{arguments_schema as schema, parse_arguments as parse};

/// How many entries are shown when the call says nothing, and at most.
const ENTRIES: usize = 8;
pub(super) const MOST_ENTRIES: usize = 30;

/// The least that an answer may take, in tokens.
const LEAST_TOKENS: u64 = 200;

/// What an answer of a search takes when the call says nothing, and at most, in tokens.
const SEARCH_TOKENS: u64 = 1000;
const MOST_SEARCH_TOKENS: u64 = 4000;

/// The most for reading.
const MOST_READ_TOKENS: u64 = 8000;

/// The most entries that one call reads.
const MOST_IDS: usize = 5;

/// The longest query, in bytes.
const QUERY: usize = 2000;

/// The longest error about an id that is repeated, in characters.
const ERROR_CHARS: usize = 240;

/// The name that models call the search by.
pub(crate) const RECALL: &str = "recall";

/// The name that models call the reading by.
const READ: &str = "recall_read";

const META: ToolMeta = ToolMeta::READ
    .of_kind(ToolKind::Search)
    .concurrent(Concurrency::WithAny)
    .reading_the_session();

/// The tool that searches.
pub(crate) struct RecallTool;

/// The tool that reads.
pub(crate) struct RecallReadTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArguments {
    pub(super) query: String,
    /// query is a pattern
    pub(super) regex: Option<bool>,
    #[serde(default)]
    place: PlaceArgument,
    #[serde(default)]
    role: RoleArgument,
    tool: Option<String>,
    path: Option<String>,
    /// id of an entry on it
    branch: Option<String>,
    /// date
    since: Option<String>,
    before: Option<String>,
    /// default 8, at most 30
    limit: Option<usize>,
    /// default 1000, at most 4000
    max_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PlaceArgument {
    Any,
    #[default]
    OutOfContext,
    InContext,
    OtherBranch,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RoleArgument {
    #[default]
    Any,
    User,
    Assistant,
    Tool,
    Summary,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    /// up to 5
    ids: Vec<String>,
    /// also so many entries before and after
    around: Option<usize>,
    /// character to begin at
    offset: Option<usize>,
    /// default 1000, at most 8000
    max_tokens: Option<u64>,
}

impl Tool for RecallTool {
    fn name(&self) -> &str {
        RECALL
    }

    fn description(&self) -> &str {
        "Searches this whole session, also what was summarized or left on other branches. Use it before saying that \
         something is unknown or asking the user again. Give distinctive words, exact names, paths or error texts. \
         Then read with recall_read."
    }

    fn parameters(&self) -> Value {
        schema::<SearchArguments>()
    }

    fn meta(&self) -> ToolMeta {
        META
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let arguments = parse::<SearchArguments>(arguments).and_then(|arguments| {
            arguments.check()?;
            Ok(arguments)
        });
        run(RECALL, arguments, context, |look, arguments| {
            look.search(arguments)
        })
    }
}

impl Tool for RecallReadTool {
    fn name(&self) -> &str {
        READ
    }

    fn description(&self) -> &str {
        "Reads entries of this session by the ids that recall and summaries name."
    }

    fn parameters(&self) -> Value {
        schema::<ReadArguments>()
    }

    fn meta(&self) -> ToolMeta {
        META
    }

    fn run<'a>(
        &'a self,
        arguments: &'a Value,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let arguments = parse::<ReadArguments>(arguments);
        run(READ, arguments, context, |look, arguments| {
            look.read(arguments)
        })
    }
}

/// Runs a look into the session on a thread of its own, until it is done or cancelled.
fn run<'a, A: Send + 'static>(
    tool: &'static str,
    arguments: Result<A, String>,
    context: &'a ToolContext,
    look: fn(&Look, &A) -> Result<ToolOutput, String>,
) -> BoxFuture<'a, ToolOutput> {
    Box::pin(async move {
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(message) => return ToolOutput::error(message),
        };
        let Some(history) = context.history.clone() else {
            return ToolOutput::error("there is no earlier part of this session to look into");
        };
        let into = Look {
            history,
            cancel: context.cancel.clone(),
            redactor: context.redactor.clone(),
        };
        let work = tokio::task::spawn_blocking(move || look(&into, &arguments));
        tokio::select! {
            biased;
            // The work notices it too, at the next entry.
            () = context.cancel.cancelled() => ToolOutput::cancelled(),
            done = work => match done {
                Ok(Ok(output)) => output,
                Ok(Err(message)) => ToolOutput::error(message),
                Err(_) => ToolOutput::failed(tool),
            },
        }
    })
}

impl SearchArguments {
    fn check(&self) -> Result<(), String> {
        if self.query.trim().is_empty() {
            return Err("query: is empty; give the words to look for".to_owned());
        }
        if self.query.len() > QUERY {
            let long = "a few distinctive words are enough";
            return Err(format!("query: is longer than {QUERY} bytes; {long}"));
        }
        Ok(())
    }

    fn place(&self) -> Option<Place> {
        match self.place {
            PlaceArgument::Any => None,
            PlaceArgument::OutOfContext => Some(Place::OutOfContext),
            PlaceArgument::InContext => Some(Place::InContext),
            PlaceArgument::OtherBranch => Some(Place::OtherBranch),
        }
    }

    pub(super) fn role(&self) -> Option<RecallRole> {
        match self.role {
            RoleArgument::Any => None,
            RoleArgument::User => Some(RecallRole::User),
            RoleArgument::Assistant => Some(RecallRole::Assistant),
            RoleArgument::Tool => Some(RecallRole::Tool),
            RoleArgument::Summary => Some(RecallRole::Summary),
        }
    }
}

/// What a call looks into.
pub(super) struct Look {
    history: std::sync::Arc<History>,
    pub(super) cancel: CancellationToken,
    pub(super) redactor: std::sync::Arc<Redactor>,
}

impl Look {
    fn find(&self, id: &str) -> Result<EntryIndex, String> {
        let id = id.trim().trim_matches(['[', ']']);
        let found = self.history.tree.find_by_beginning(id);
        found.map_err(|error| {
            let error = error.to_string();
            let error = clip_line(&error, ERROR_CHARS);
            format!("{error}; search with recall to find ids")
        })
    }

    fn search(&self, arguments: &SearchArguments) -> Result<ToolOutput, String> {
        // Summaries name entries; whoever searches for such an id means the entry.
        let named = ReadArguments {
            ids: vec![arguments.query.clone()],
            around: None,
            offset: None,
            max_tokens: arguments.max_tokens,
        };
        if let Ok(output) = self.read(&named) {
            return Ok(output);
        }
        let Some((mut text, details)) = self.search_entries(arguments, arguments.place())? else {
            return Ok(ToolOutput::cancelled());
        };
        let mut sessions = vec![self.history.clone()];
        if arguments.place() != Some(Place::InContext) {
            for history in earlier(&self.history) {
                let look = self.into(&history);
                // All of it is out of the context, and an id of this session names no branch of that one.
                if let Ok(Some((found, details))) = look.search_entries(arguments, None)
                    && details["matching"] != 0
                {
                    let id = history.tree.header().map_or("", |header| &header.id);
                    text.push_str(&format!(
                        "\n\nIn session {id}, which this one continues:\n{found}"
                    ));
                }
                sessions.push(history);
            }
            for history in sessions {
                text.push_str(&self.search_outputs(arguments, &history)?);
            }
        }
        Ok(ToolOutput::text(text).with_details(details))
    }

    /// Returns the same look into another session.
    fn into(&self, history: &std::sync::Arc<History>) -> Self {
        Self {
            history: history.clone(),
            cancel: self.cancel.clone(),
            redactor: self.redactor.clone(),
        }
    }

    /// Returns what a search of the entries finds, as text and details; `None` when it was cancelled.
    fn search_entries(
        &self,
        arguments: &SearchArguments,
        place: Option<Place>,
    ) -> Result<Option<(String, Value)>, String> {
        let (tree, leaf) = (&self.history.tree, self.history.leaf);
        let at = |key: &str, text: &Option<String>| -> Result<Option<Timestamp>, String> {
            let parsed = text.as_deref().map(time).transpose();
            parsed.map_err(|error| format!("{key}: {error}"))
        };
        let filters = RecallFilters {
            place,
            role: arguments.role(),
            tool: filled(arguments.tool.as_ref()),
            path: filled(arguments.path.as_ref()),
            branch: match filled(arguments.branch.as_ref()) {
                Some(id) => Some(self.find(&id)?),
                None => None,
            },
            since: at("since", &arguments.since)?,
            before: at("before", &arguments.before)?,
        };
        let is_regex = arguments.regex.unwrap_or(false);
        let compiled = match is_regex.then(|| pattern(&arguments.query)).transpose() {
            Ok(compiled) => compiled.map(Search::new),
            Err(error) => return Err(format!("query: {error}")),
        };
        let stop = || self.cancel.is_cancelled();
        let find = |text: &str| {
            let search = compiled.as_ref();
            search.map_or(Matches::default(), |search| search.matches(text, stop))
        };
        let clean = |text: &str| self.redactor.clean_answer(text);
        let request = RecallRequest {
            query: match &compiled {
                Some(_) => Query::Pattern(&find),
                None => Query::Words(&arguments.query),
            },
            filters,
            entries: arguments.limit.unwrap_or(ENTRIES).clamp(1, MOST_ENTRIES),
            tokens: tokens(arguments.max_tokens, SEARCH_TOKENS, MOST_SEARCH_TOKENS),
            // The answer whose call this is holds the very words.
            except: tree.path(leaf).entries().last().copied(),
            clean: Some(&clean),
            hints: Hints {
                read: "recall_read reads them by id",
                anywhere: "place=any",
            },
        };
        let rules = Profile::Own.context_rules();
        let found = search(tree, leaf, rules, &request, &stop);
        Ok(found.map(|found| search_output(&found, &request)))
    }

    /// Reads entries of this session, or of one that it continues.
    fn read(&self, arguments: &ReadArguments) -> Result<ToolOutput, String> {
        self.read_here(arguments).or_else(|error| {
            let earlier = earlier(&self.history);
            let mut read = earlier
                .iter()
                .map(|history| self.into(history).read_here(arguments));
            read.find_map(Result::ok).ok_or(error)
        })
    }

    fn read_here(&self, arguments: &ReadArguments) -> Result<ToolOutput, String> {
        let ids = &arguments.ids;
        if ids.is_empty() || ids.len() > MOST_IDS {
            let count = ids.len();
            return Err(format!("ids: {count} given; give 1 to {MOST_IDS}"));
        }
        let entries = ids.iter().map(|id| self.find(id));
        let clean = |text: &str| self.redactor.clean_answer(text);
        let request = ReadRequest {
            entries: entries.collect::<Result<_, _>>()?,
            around: arguments.around.unwrap_or(0),
            offset: arguments.offset.unwrap_or(0),
            tokens: tokens(
                arguments.max_tokens,
                usual_read_tokens(ids.len()).0,
                MOST_READ_TOKENS,
            ),
            clean: Some(&clean),
        };
        let path = self.history.tree.path(self.history.leaf);
        let context = build_context(&path, Profile::Own.context_rules());
        let read = recall_read(&path, &context, &request, &|| self.cancel.is_cancelled());
        Ok(read.map_or_else(ToolOutput::cancelled, |read| read_output(&read)))
    }
}

/// Returns a text that says something.
fn filled(text: Option<&String>) -> Option<String> {
    let text = text.map(|text| text.trim().to_owned());
    text.filter(|text| !text.is_empty())
}

fn tokens(given: Option<u64>, usual: u64, most: u64) -> TokenCount {
    TokenCount(given.unwrap_or(usual).clamp(LEAST_TOKENS, most))
}

fn search_output(found: &Recall, request: &RecallRequest<'_>) -> (String, Value) {
    let details = json!({
        "matching": found.matching,
        "elsewhere": found.elsewhere,
        "searched": found.searched,
        "in_part": found.in_part,
    });
    (found.to_text(request), details)
}

fn read_output(read: &RecallRead) -> ToolOutput {
    let entries = read
        .entries
        .iter()
        .map(|entry| json!({ "entry_id": entry.entry_id, "next_offset": entry.next_offset }));
    let details = json!({ "entries": entries.collect::<Vec<_>>() });
    ToolOutput::text(read.to_text()).with_details(details)
}
