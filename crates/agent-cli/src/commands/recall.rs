//! `recall`: finds again what was said, on every branch, also what a compaction took out of the context, and reads it.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use compaction_core::TokenCount;
use serde_json::json;
use session_model::text::clean_lines;
use session_model::{EntryIndex, Timestamp, build_context};
use session_recall::{
    Hints, Matches, Place, QUOTED, Query, ReadRequest, Recall, RecallFilters, RecallRead,
    RecallRequest, RecallRole, recall_read, usual_read_tokens,
};

use crate::cancel;
use crate::commands::Outcome;
use crate::commands::sessions::SessionDirArgs;
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs};
use crate::stores::{finder, is_same};
use crate::ui::{BOLD, DIM, styled};
use agent_session::tools::recalling::{Search, pattern, search, time};
use session_store::SessionFile;

/// Find again what was said, on every branch, also what a compaction took out of the context.
#[derive(Debug, Args)]
pub struct RecallArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// Distinctive words, exact names or error texts, the best matches first; with --regex a pattern. Words that begin
    /// with - go behind --.
    #[arg(required_unless_present = "read", allow_negative_numbers = true)]
    pub query: Vec<String>,
    /// The query is a regular expression.
    #[arg(long)]
    pub regex: bool,
    /// Which sessions are searched: with project and all also others, of every agent.
    #[arg(long, value_enum, default_value_t)]
    pub scope: ScopeArg,
    #[command(flatten)]
    pub sessions: SessionDirArgs,
    /// Search only entries that stand there.
    #[arg(long, value_enum, default_value_t)]
    pub place: PlaceArg,
    /// Search only what this role wrote.
    #[arg(long, value_enum)]
    pub role: Option<RoleArg>,
    /// Search only calls of this tool and their results.
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Search only what names this file, and results of calls that do.
    #[arg(long, value_name = "FILE")]
    pub path: Option<String>,
    /// Search only the branch of this entry.
    #[arg(long, value_name = "ID")]
    pub branch: Option<String>,
    /// Search only what was written on this date or later; 2026-01-31 or 2026-01-31T10:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<Timestamp>,
    /// Search only what was written before this date.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub before: Option<Timestamp>,
    /// The most entries that are shown.
    #[arg(long, value_name = "N", default_value = "8")]
    pub limit: NonZeroUsize,
    /// Read these entries instead of searching; IDs are comma-separated.
    #[arg(long, value_name = "ID", value_delimiter = ',', conflicts_with_all = SEARCHING)]
    pub read: Vec<String>,
    /// With --read: also show so many entries before and after.
    #[arg(long, value_name = "N", default_value = "0")]
    pub around: usize,
    /// With --read: skip this many characters.
    #[arg(long, value_name = "N")]
    pub offset: Option<usize>,
    /// The most tokens that are printed: 1000 of a search or an entry, 500 for each further entry.
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// The answer is for a model that calls tools.
    #[arg(long, hide = true)]
    pub for_tools: bool,
}

/// The arguments that do not go with reading.
const SEARCHING: [&str; 10] = [
    "query", "regex", "scope", "place", "role", "tool", "path", "branch", "since", "before",
];

/// The default size of a search's answer, in tokens, and the smallest one.
const SEARCH_TOKENS: u64 = 1000;
const LEAST_TOKENS: u64 = 200;

/// Which sessions are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ScopeArg {
    /// This one.
    #[default]
    Session,
    /// Those of its project: a folder, or a repository with its work trees.
    Project,
    /// All.
    All,
}

/// Where entries stand that are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum PlaceArg {
    /// Everywhere.
    #[default]
    Any,
    /// Out of the context, on this branch.
    OutOfContext,
    /// In the context.
    InContext,
    /// On other branches.
    OtherBranch,
}

/// Who wrote what is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// Tools, and commands of the user.
    Tool,
    /// Summaries of compactions and branches.
    Summary,
}

pub(super) fn run(args: &RecallArgs, global: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    let outcome = match args.read.is_empty() {
        false => read(&session, args, global)?,
        true => find(&session, args, global)?,
    };
    Ok(outcome.of(session.report()))
}

fn entry(session: &SessionFile, id: &str) -> Result<EntryIndex, Error> {
    let found = session.tree().find_by_beginning(id.trim());
    found.map_err(|error| Error::Usage(format!("{error}; search for words to find ids")))
}

fn tokens(args: &RecallArgs, usual: u64) -> TokenCount {
    TokenCount(args.max_tokens.unwrap_or(usual).max(LEAST_TOKENS))
}

fn is_cancelled() -> bool {
    cancel::is_cancelled()
}

fn read(session: &SessionFile, args: &RecallArgs, global: &Global) -> Result<Outcome, Error> {
    let tree = session.tree();
    let entries = args.read.iter().map(|id| entry(session, id));
    let request = ReadRequest {
        entries: entries.collect::<Result<_, _>>()?,
        around: args.around,
        offset: args.offset.unwrap_or(0),
        tokens: tokens(args, usual_read_tokens(args.read.len()).0),
        clean: Some(&|text| global.output_filter().text(text)),
    };
    let path = tree.path(args.session.leaf(tree)?);
    let context = build_context(&path, global.profile().context_rules());
    let read: RecallRead =
        recall_read(&path, &context, &request, &is_cancelled).ok_or(Error::Cancelled)?;
    Ok(Outcome::done(&read, for_people(&read.to_text())))
}

fn find(session: &SessionFile, args: &RecallArgs, global: &Global) -> Result<Outcome, Error> {
    let leaf = args.session.leaf(session.tree())?;
    if args.offset.is_some() || args.around > 0 {
        let goes_with = "--offset and --around go with --read, which reads entries; leave them out";
        return Err(Error::Usage(goes_with.to_owned()));
    }
    if args.branch.is_some() && args.scope != ScopeArg::Session {
        let goes_with = "--branch names an entry of one session; leave out --scope";
        return Err(Error::Usage(goes_with.to_owned()));
    }
    let text = args.query.join(" ");
    if text.trim().is_empty() {
        let words = "the words to look for are empty; give some, or --read to read an entry";
        return Err(Error::Usage(words.to_owned()));
    }
    let pattern = match args.regex {
        false => None,
        true => Some(Search::new(pattern(&text).map_err(Error::Usage)?)),
    };
    let matches = |text: &str| {
        pattern.as_ref().map_or(Matches::default(), |search| {
            search.matches(text, is_cancelled)
        })
    };
    let request = RecallRequest {
        query: match args.regex {
            true => Query::Pattern(&matches),
            false => Query::Words(&text),
        },
        filters: filters(session, args)?,
        entries: args.limit.get(),
        tokens: tokens(args, SEARCH_TOKENS),
        except: None,
        clean: Some(&|text| global.output_filter().text(text)),
        hints: match args.for_tools {
            true => Hints {
                read: "recall_read reads one",
                anywhere: "place any",
            },
            false => Hints {
                read: "recall SESSION --read ID reads one",
                anywhere: "--place any",
            },
        },
    };
    let rules = global.profile().context_rules();
    let found = search(session.tree(), leaf, rules, &request, &is_cancelled);
    let mut found: Recall = found.ok_or(Error::Cancelled)?;
    if args.scope != ScopeArg::Session {
        let mut others = Vec::new();
        for path in other_sessions(session, args)? {
            // One that cannot be opened, or that is locked, hides no other.
            let Ok(other) = open_session(&path) else {
                cancel::check()?;
                continue;
            };
            let tree = other.tree();
            let part = search(tree, tree.leaf(), rules, &request, &is_cancelled);
            let name = path.to_string_lossy().into_owned();
            others.push((name, part.ok_or(Error::Cancelled)?));
        }
        found = found.merged(others, &request);
    }
    let text = found.to_text(&request);
    if found.found.is_empty() {
        let reason = text.trim_start_matches(QUOTED).trim().trim_end_matches('.');
        return Ok(Outcome::nothing_to_do(clean_lines(reason), json!(found)));
    }
    Ok(Outcome::done(&found, for_people(&text)))
}

/// Returns the other sessions that are searched too, the last written first.
fn other_sessions(session: &SessionFile, args: &RecallArgs) -> Result<Vec<PathBuf>, Error> {
    let header = session.tree().header();
    let cwd = header.map_or("", |header| header.cwd.as_str());
    let folder = (args.scope == ScopeArg::Project).then_some(Path::new(cwd));
    let finder = finder(args.sessions.session_dir.as_deref())?;
    let found = finder.list(None, folder)?.into_iter();
    let paths = found.filter(|found| found.row.persisted);
    let paths = paths.map(|found| PathBuf::from(found.row.locator));
    Ok(paths.filter(|path| !is_same(path, &session.path)).collect())
}

fn filters(session: &SessionFile, args: &RecallArgs) -> Result<RecallFilters, Error> {
    let branch = args.branch.as_ref();
    Ok(RecallFilters {
        place: match args.place {
            PlaceArg::Any => None,
            PlaceArg::OutOfContext => Some(Place::OutOfContext),
            PlaceArg::InContext => Some(Place::InContext),
            PlaceArg::OtherBranch => Some(Place::OtherBranch),
        },
        role: args.role.map(|role| match role {
            RoleArg::User => RecallRole::User,
            RoleArg::Assistant => RecallRole::Assistant,
            RoleArg::Tool => RecallRole::Tool,
            RoleArg::Summary => RecallRole::Summary,
        }),
        tool: args.tool.clone(),
        path: args.path.clone(),
        branch: branch.map(|id| entry(session, id)).transpose()?,
        since: args.since,
        before: args.before,
    })
}

/// Returns an answer for people: without what steers a terminal, its entries easy to tell apart.
fn for_people(answer: &str) -> String {
    let answer = clean_lines(answer);
    let mut blocks = answer.split("\n\n[");
    let mut out = styled(DIM, blocks.next().unwrap_or_default());
    out.push('\n');
    for block in blocks {
        let (head, text) = block.split_once('\n').unwrap_or((block, ""));
        out.push_str(&format!("\n{}\n", styled(BOLD, &format!("[{head}"))));
        if !text.is_empty() {
            out.push_str(text);
            out.push('\n');
        }
    }
    out
}
