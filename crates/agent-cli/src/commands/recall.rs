//! `recall`: finds again what was said, on every branch, also what a compaction took out of the context, and reads it.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use session_model::text::clean_lines;
use session_recall::{Access, InSession, Moment, QUOTED, Query, RecallFilters, RecallRequest};

use crate::cancel;
use crate::commands::Outcome;
use crate::commands::sessions::SessionDirArgs;
use crate::error::Error;
use crate::files::{ReadSession, Watching, open_session};
use crate::options::{Global, named_leaf};
use crate::stores::{self, finder, is_same};
use crate::ui::{BOLD, DIM, styled};
use session_finder::{AGENTS, OWN};
use session_tools::asking::{
    Answer, Asking, At, KINDS, answer_tokens, kept_output, read, stored_output,
};

/// Find again what was said, on every branch, also what a compaction took out of the context.
///
/// Without words it is an outline of what is out of the context; with filters alone all that they let through.
#[derive(Debug, Args)]
#[command(
    override_usage = "agent-cli recall [OPTIONS] <SESSION> [WORDS]...\n       agent-cli recall [OPTIONS] --scope all [WORDS]..."
)]
pub struct RecallArgs {
    /// The session, then distinctive words, exact names, error texts or an id, the best matches first. Quoted words must be
    /// there as they are. Words that begin with - go behind --. With --scope no session needs to be named.
    #[arg(value_name = "SESSION] [WORDS", allow_negative_numbers = true)]
    pub words: Vec<OsString>,
    /// Use this entry as the current position instead of the last one; `root` is before everything.
    #[arg(long, value_name = "ID")]
    pub leaf: Option<String>,
    /// Look for this, too, with an answer of its own.
    #[arg(long, value_name = "WORDS")]
    pub query: Vec<String>,
    /// The queries are regular expressions.
    #[arg(long)]
    pub regex: bool,
    /// Which sessions are searched: with project and all also others, of every agent.
    #[arg(long, value_enum, default_value_t)]
    pub scope: ScopeArg,
    #[command(flatten)]
    pub sessions: SessionDirArgs,
    /// Search only entries of this kind.
    #[arg(long, value_parser = KINDS.map(|(name, _)| name))]
    pub kind: Option<String>,
    /// Search only calls of this tool and their results.
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,
    /// Search only calls on this file and their results, the newest first.
    #[arg(long, value_name = "FILE")]
    pub file: Option<String>,
    /// Search only from then on: 2026-01-31, 2026-01-31T10:00:00Z, the id of an entry, or `compaction 2`.
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Search only before then.
    #[arg(long, value_name = "WHEN")]
    pub before: Option<String>,
    /// The most entries that are shown.
    #[arg(long, value_name = "N", default_value = "8")]
    pub limit: NonZeroUsize,
    /// Read these entries instead of searching: ID, ID@CHARACTER to begin there, ID@CHARACTER+LENGTH, or ID..ID;
    /// comma-separated.
    #[arg(long, value_name = "ID", value_delimiter = ',', conflicts_with_all = SEARCHING)]
    pub read: Vec<String>,
    /// With --read: also show so many entries before and after.
    #[arg(long, value_name = "N", default_value = "0")]
    pub around: usize,
    /// The most tokens that are printed: 1000 for a query or an entry, 500 for each further one, at most 4000.
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u64>,
    /// The answer is for a model that calls tools.
    #[arg(long, hide = true)]
    pub for_tools: bool,
}

/// The arguments that do not go with reading.
const SEARCHING: [&str; 8] = [
    "query", "regex", "scope", "kind", "tool", "file", "since", "before",
];

/// Which sessions are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ScopeArg {
    /// This one.
    #[default]
    Session,
    /// Those of the project: a folder, or a repository with its work trees.
    Project,
    /// All.
    All,
}

impl RecallArgs {
    /// Returns the session and the words.
    fn split(&self) -> (Option<PathBuf>, Vec<String>) {
        let first = self.words.first().map(PathBuf::from);
        let session = first.filter(|path| self.scope == ScopeArg::Session || names_session(path));
        let words = self.words.iter().skip(usize::from(session.is_some()));
        let words = words.map(|word| word.to_string_lossy().into_owned());
        (session, words.collect())
    }
}

/// Returns whether an argument can only be a session: a file, or `newest`, or what begins with the name of an agent.
fn names_session(path: &Path) -> bool {
    let name = path.to_str().unwrap_or_default();
    let agent = name.split_once(':').map(|(agent, _)| agent);
    let is_agent = |agent: &str| agent == OWN || AGENTS.iter().any(|known| known.name == agent);
    name == "newest" || agent.is_some_and(is_agent) || path.is_file() || stores::names_session(path)
}

pub(super) fn run(args: &RecallArgs, global: &Global) -> Result<Outcome, Error> {
    let (named, words) = args.split();
    if args.scope == ScopeArg::Session && named.is_none() {
        let text = "name a session, newest or AGENT:newest, then the words; or --scope all";
        return Err(Error::Usage(text.to_owned()));
    }
    if !args.read.is_empty() && !words.is_empty() {
        let text = "--read reads entries and searches for nothing; leave out the words";
        return Err(Error::Usage(text.to_owned()));
    }
    if args.around > 0 && args.read.is_empty() {
        let text = "--around goes with --read, which reads entries; leave it out";
        return Err(Error::Usage(text.to_owned()));
    }
    let session = named.as_deref().map(open_session).transpose()?;
    let clean = |text: &str| global.output_filter().text(text);
    let stored = session.as_ref();
    let stored = stored.and_then(|session| stores::outputs_of(&session.path));
    let stored = stored.as_deref();
    let access = Access {
        clean: Some(&clean),
        outputs: Some(&|path| kept_output(path, |name| stored_output(stored, name))),
    };
    let asked = match (&session, args.read.is_empty()) {
        (Some(session), false) => {
            let at = at(session, args, global)?;
            let path = at.tree.path(at.leaf);
            let count = args.read.len();
            let tokens = answer_tokens(args.max_tokens, count, u64::MAX);
            let stop = cancel::is_cancelled;
            let read = read(at, &path, &args.read, args.around, tokens, access, &stop);
            let wrong = |error| Error::Usage(format!("{error}; search for words to find ids"));
            let read = read.map_err(wrong)?.ok_or(Error::Cancelled)?;
            Outcome::done(&read, for_people(&read.to_text()))
        }
        _ => find(session.as_ref(), &words, args, access, global)?,
    };
    Ok(match session {
        Some(session) => asked.of(session.report()),
        None => asked,
    })
}

fn at<'a>(session: &'a ReadSession, args: &RecallArgs, global: &Global) -> Result<At<'a>, Error> {
    let tree = session.tree();
    Ok(At {
        tree,
        leaf: named_leaf(tree, args.leaf.as_deref())?,
        rules: global.profile().context_rules(),
    })
}

fn find(
    session: Option<&ReadSession>,
    words: &[String],
    args: &RecallArgs,
    access: Access<'_>,
    global: &Global,
) -> Result<Outcome, Error> {
    let words = (!words.is_empty()).then(|| words.join(" "));
    let queries: Vec<String> = words.into_iter().chain(args.query.clone()).collect();
    if queries.iter().any(|query| query.trim().is_empty()) {
        let text = "the words to look for are empty; give some, or --read to read an entry";
        return Err(Error::Usage(text.to_owned()));
    }
    let own = session
        .map(|session| at(session, args, global))
        .transpose()?;
    let tokens = answer_tokens(args.max_tokens, queries.len(), u64::MAX);
    let asking = Asking {
        queries,
        is_regex: args.regex,
        request: RecallRequest {
            query: Query::All,
            filters: filters(own.filter(|_| args.scope == ScopeArg::Session), args)?,
            entries: args.limit.get(),
            tokens,
            except: None,
            access,
            hint: match args.for_tools {
                true => "recall_read reads them by id",
                false => "recall SESSION --read ID reads one",
            },
        },
    };
    let stop = cancel::is_cancelled;
    let answers = match own.filter(|_| args.scope == ScopeArg::Session) {
        Some(own) => asking.of_session(own, &stop),
        None if asking.is_outline() => {
            let text = "give words or filters to search several sessions";
            return Err(Error::Usage(text.to_owned()));
        }
        None => {
            let (all, most) = sessions(session, args, &asking.queries)?;
            let open = |path: &PathBuf| open_session(path).ok();
            let rules = global.profile().context_rules();
            let all = all.into_iter();
            asking.of_sessions(all, most, open, |opened| opened.tree(), rules, &stop)
        }
    };
    let answers = answers.map_err(Error::Usage)?.ok_or(Error::Cancelled)?;
    let (text, document) = (asking.text(&answers), asking.document(&answers));
    if answers.iter().all(Answer::is_empty) {
        let reason = text.trim_start_matches(QUOTED).trim().trim_end_matches('.');
        return Ok(Outcome::nothing_to_do(clean_lines(reason), document));
    }
    Ok(Outcome::done(&document, for_people(&text)))
}

/// How many of the sessions that an index names are read, whatever is found in them.
const INDEXED: usize = 40;

/// Returns the sessions that are searched, the named one first, then the last written, or those behind which an index has
/// the best first; and how many are searched even if what is asked for is found before.
fn sessions(
    session: Option<&ReadSession>,
    args: &RecallArgs,
    queries: &[String],
) -> Result<(Vec<(InSession, PathBuf)>, usize), Error> {
    let header = session.and_then(|session| session.tree().header());
    let here = std::env::current_dir().map_err(|error| Error::io("open", ".", error))?;
    let cwd = header.map_or(here, |header| PathBuf::from(&header.cwd));
    let folder = (args.scope == ScopeArg::Project).then_some(&*cwd);
    let finder = finder(args.sessions.session_dir.as_deref())?;
    let has_words = folder.is_none() && !args.regex && !queries.is_empty();
    let indexed = match has_words {
        true => finder.candidates(queries, &mut Watching)?,
        false => None,
    };
    let (found, most) = match indexed {
        Some((found, others)) => (found, others + INDEXED),
        None => (finder.list(None, folder)?, usize::MAX),
    };
    let found = found.into_iter();
    let found = found.filter(|found| found.row.persisted).map(|found| {
        let row = found.row;
        let named = InSession {
            agent: found.agent.to_owned(),
            id: row.id,
            title: row.name.or(row.first_prompt).unwrap_or_default(),
        };
        (named, PathBuf::from(row.locator))
    });
    let mut all: Vec<(InSession, PathBuf)> = found.collect();
    if let Some(session) = session
        && !all.iter().any(|(_, path)| is_same(path, &session.path))
    {
        let named = InSession {
            agent: OWN.to_owned(),
            id: header.map_or_else(String::new, |header| header.id.clone()),
            title: session.tree().name().unwrap_or_default(),
        };
        all.insert(0, (named, session.path.clone()));
    }
    Ok((all, most))
}

/// Returns the filters; only a session that is searched alone has ids and compactions.
fn filters(own: Option<At<'_>>, args: &RecallArgs) -> Result<RecallFilters, Error> {
    let path = own.map(|own| own.tree.path(own.leaf));
    let moment = |key: &str, text: &Option<String>| {
        let parsed = text.as_ref().map(|text| Moment::parse(text, path.as_ref()));
        let parsed = parsed.transpose();
        parsed.map_err(|error| Error::Usage(format!("--{key}: {error}")))
    };
    let kind = args.kind.as_ref();
    let kind = kind.and_then(|kind| KINDS.iter().find(|(name, _)| name == kind));
    Ok(RecallFilters {
        kind: kind.map(|(_, kind)| *kind),
        tool: args.tool.clone(),
        file: args.file.clone(),
        since: moment("since", &args.since)?,
        before: moment("before", &args.before)?,
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
