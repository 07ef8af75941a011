//! `recall` and `recall_read`: finding again what was said in this session, on every branch, also what a compaction
//! took out of the context, and reading it.

use compaction_core::Profile;
use llm_providers::{BoxFuture, CancellationToken, Redactor};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use session_model::{EntryIndex, TokenCount};
use session_recall::{Access, Kind, Moment, Query, RecallFilters, RecallRead, RecallRequest};

use super::asking::{Answer, Asking, At, KINDS, answer_tokens, kept_output, read};
use super::earlier::earlier;
use super::recalling::RECALL;
use agent_tools::text::clip_line;
use agent_tools::{
    Archive, Concurrency, History, Tool, ToolContext, ToolKind, ToolMeta, ToolOutput,
};
use agent_tools::{arguments_schema as schema, parse_arguments as parse};

/// How many entries are shown when the call says nothing, and at most.
const ENTRIES: usize = 8;
const MOST_ENTRIES: usize = 30;

/// What an answer takes at most, in tokens.
const MOST_SEARCH_TOKENS: u64 = 4000;
const MOST_READ_TOKENS: u64 = 8000;

/// The most queries and the most ids of one call.
const MOST_QUERIES: usize = 8;
const MOST_IDS: usize = 20;

/// The longest query, in bytes.
const QUERY: usize = 2000;

/// The longest error about an id that is repeated, in characters.
const ERROR_CHARS: usize = 240;

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
struct SearchArguments {
    /// each of rare words, "a phrase", or an id
    #[serde(default, alias = "query", deserialize_with = "one_or_many")]
    queries: Vec<String>,
    /// queries are patterns
    regex: Option<bool>,
    kind: Option<KindArgument>,
    tool: Option<String>,
    /// calls on it
    file: Option<String>,
    /// date, id or compaction N
    since: Option<String>,
    before: Option<String>,
    limit: Option<usize>,
    max_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum KindArgument {
    User,
    Assistant,
    Call,
    Result,
    Error,
    Summary,
    Custom,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    /// ID, ID@CHARACTER+LENGTH, or ID..ID
    #[serde(deserialize_with = "one_or_many")]
    ids: Vec<String>,
    /// also so many entries before and after
    around: Option<usize>,
    max_tokens: Option<u64>,
}

/// Reads a list of texts, or one.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Texts::deserialize(from)? {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    })
}

impl Tool for RecallTool {
    fn name(&self) -> &str {
        RECALL
    }

    fn description(&self) -> &str {
        "Searches this whole session, also what was summarized or left on other branches. Use it before saying that \
         something is unknown or asking the user again. Without queries: an outline of what left the context."
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
            archive: context.archive.clone(),
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
        if self.queries.len() > MOST_QUERIES {
            let count = self.queries.len();
            return Err(format!(
                "queries: {count} given; give at most {MOST_QUERIES}"
            ));
        }
        if self.queries.iter().any(|query| query.trim().is_empty()) {
            return Err("queries: one is empty; give the words to look for".to_owned());
        }
        if self.queries.iter().any(|query| query.len() > QUERY) {
            let long = "a few distinctive words are enough";
            return Err(format!("queries: one is longer than {QUERY} bytes; {long}"));
        }
        Ok(())
    }

    fn kind(&self) -> Option<Kind> {
        self.kind.map(|kind| KINDS[kind as usize].1)
    }
}

/// What a call looks into.
struct Look {
    history: std::sync::Arc<History>,
    cancel: CancellationToken,
    redactor: std::sync::Arc<Redactor>,
    archive: Option<std::sync::Arc<dyn Archive>>,
}

impl Look {
    fn at(&self) -> At<'_> {
        At {
            tree: &self.history.tree,
            leaf: self.history.leaf,
            rules: Profile::Own.context_rules(),
        }
    }

    fn output(&self, path: &str) -> Option<(String, bool)> {
        kept_output(path, |name| self.archive.as_ref()?.output(name))
    }

    fn search(&self, arguments: &SearchArguments) -> Result<ToolOutput, String> {
        // The answer whose call this is holds the very words.
        let path = self.history.tree.path(self.history.leaf);
        let asks = path.entries().last().copied();
        let Some((mut text, answers)) = self.ask(arguments, asks)? else {
            return Ok(ToolOutput::cancelled());
        };
        for history in earlier(&self.history, self.archive.as_deref()) {
            // An id of this session names no point of that one.
            if let Ok(Some((found, answers))) = self.into(&history).ask(arguments, None)
                && !answers.iter().all(Answer::is_empty)
            {
                let id = history.tree.header().map_or("", |header| &header.id);
                text.push_str(&format!(
                    "\n\nIn session {id}, which this one continues:\n{found}"
                ));
            }
        }
        let details = answers.iter().map(|answer| match answer {
            Answer::Found(found) => json!({
                "matching": found.matching,
                "searched": found.searched,
                "in_part": found.in_part,
            }),
            Answer::Read(read) => read_details(read),
            Answer::Outline { .. } => json!({}),
        });
        let details: Vec<Value> = details.collect();
        Ok(ToolOutput::text(text).with_details(json!({ "answers": details })))
    }

    /// Returns the same look into another session.
    fn into(&self, history: &std::sync::Arc<History>) -> Self {
        Self {
            history: history.clone(),
            cancel: self.cancel.clone(),
            redactor: self.redactor.clone(),
            archive: self.archive.clone(),
        }
    }

    /// Returns the answers of this session and their text; `None` when it was cancelled.
    fn ask(
        &self,
        arguments: &SearchArguments,
        except: Option<EntryIndex>,
    ) -> Result<Option<(String, Vec<Answer>)>, String> {
        let path = self.history.tree.path(self.history.leaf);
        let at = |key: &str, text: &Option<String>| -> Result<Option<Moment>, String> {
            let text = filled(text.as_ref());
            let parsed = text
                .map(|text| Moment::parse(&text, Some(&path)))
                .transpose();
            parsed.map_err(|error| format!("{key}: {}", clip_line(&error, ERROR_CHARS)))
        };
        let clean = |text: &str| self.redactor.clean_answer(text);
        let count = arguments.queries.len();
        let asking = Asking {
            queries: arguments.queries.clone(),
            is_regex: arguments.regex.unwrap_or(false),
            request: RecallRequest {
                query: Query::All,
                filters: RecallFilters {
                    kind: arguments.kind(),
                    tool: filled(arguments.tool.as_ref()),
                    file: filled(arguments.file.as_ref()),
                    since: at("since", &arguments.since)?,
                    before: at("before", &arguments.before)?,
                },
                entries: arguments.limit.unwrap_or(ENTRIES).clamp(1, MOST_ENTRIES),
                tokens: answer_tokens(arguments.max_tokens, count, MOST_SEARCH_TOKENS),
                except,
                access: Access {
                    clean: Some(&clean),
                    outputs: Some(&|path| self.output(path)),
                },
                hint: "recall_read reads them by id",
            },
        };
        let answers = asking.of_session(self.at(), &|| self.cancel.is_cancelled());
        let answers = answers.map_err(|error| format!("queries: {error}"))?;
        Ok(answers.map(|answers| (asking.text(&answers), answers)))
    }

    /// Reads entries of this session, or of one that it continues.
    fn read(&self, arguments: &ReadArguments) -> Result<ToolOutput, String> {
        self.read_here(arguments).or_else(|error| {
            let earlier = earlier(&self.history, self.archive.as_deref());
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
        let clean = |text: &str| self.redactor.clean_answer(text);
        let access = Access {
            clean: Some(&clean),
            outputs: Some(&|path| self.output(path)),
        };
        let around = arguments.around.unwrap_or(0);
        let tokens: TokenCount = answer_tokens(arguments.max_tokens, ids.len(), MOST_READ_TOKENS);
        let path = self.history.tree.path(self.history.leaf);
        let stop = || self.cancel.is_cancelled();
        let read = read(self.at(), &path, ids, around, tokens, access, &stop);
        let read = read.map_err(|error| {
            let error = clip_line(&error, ERROR_CHARS);
            format!("{error}; search with recall to find ids")
        })?;
        Ok(read.map_or_else(ToolOutput::cancelled, |read| {
            ToolOutput::text(read.to_text()).with_details(read_details(&read))
        }))
    }
}

/// Returns a text that says something.
fn filled(text: Option<&String>) -> Option<String> {
    let text = text.map(|text| text.trim().to_owned());
    text.filter(|text| !text.is_empty())
}

fn read_details(read: &RecallRead) -> Value {
    let entries = read
        .entries
        .iter()
        .map(|entry| json!({ "entry_id": entry.entry_id, "next_offset": entry.next_offset }));
    json!({ "entries": entries.collect::<Vec<_>>() })
}
