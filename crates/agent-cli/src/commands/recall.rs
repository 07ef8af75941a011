//! `recall`: finds again what was said, on every branch, also what a compaction took out of the context.

use std::num::NonZeroUsize;

use clap::Args;
use compaction_core::{Matches, Query, Recall, RecallLimits, Visit, recall, recall_entry};
use serde_json::json;
use session_model::build_context;

use crate::commands::Outcome;
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs};
use crate::ui::progress::Reading;
use crate::ui::{BOLD, DIM, clean, counted, styled};
use agent_session::tools::recalling::{IN_PART, Search, pattern, place_name};
use session_store::SessionFile;

/// Find again what was said, on every branch, also what a compaction took out of the context.
#[derive(Debug, Args)]
pub struct RecallArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// The words to look for; with --regex a pattern.
    #[arg(required_unless_present = "id")]
    pub query: Vec<String>,
    /// The query is a regular expression; the newest matches come first.
    #[arg(long)]
    pub regex: bool,
    /// Read this entry instead of searching.
    #[arg(long, value_name = "ID", conflicts_with_all = ["query", "regex"])]
    pub id: Option<String>,
    /// With --id: skip this many characters.
    #[arg(long, value_name = "N")]
    pub offset: Option<usize>,
    /// The most entries that are shown.
    #[arg(long, value_name = "N", default_value = "10")]
    pub limit: NonZeroUsize,
    /// The most characters that are shown of an entry: 240 of each that is found, 8000 of one that is read.
    #[arg(long, value_name = "N")]
    pub chars: Option<NonZeroUsize>,
}

/// How many characters of an entry are read in one call.
const READ: usize = 8000;

pub(super) fn run(args: &RecallArgs, global: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    match &args.id {
        Some(id) => read(&session, id, args, global),
        None => search(&session, args, global),
    }
}

fn read(
    session: &SessionFile,
    id: &str,
    args: &RecallArgs,
    global: &Global,
) -> Result<Outcome, Error> {
    let tree = session.tree();
    let index = tree.find(id).ok_or_else(|| {
        Error::Usage(format!(
            "no entry {id} in this session; search for words to find ids"
        ))
    })?;
    let path = tree.path(args.session.leaf(tree)?);
    let context = build_context(&path, global.profile().context_rules());
    let most = args.chars.map_or(READ, NonZeroUsize::get);
    let read = recall_entry(&path, &context, index, args.offset.unwrap_or(0), most)
        .map_err(|error| Error::session(&session.path, error.to_string()))?;
    let (role, total) = (&read.role, read.total_chars);
    let mut out = format!(
        "{}\n",
        styled(BOLD, &format!("{}  {role}  {total} characters", clean(id)))
    );
    for line in read.text.lines() {
        out.push_str(&format!("{}\n", clean(line)));
    }
    if let Some(next) = read.next_offset {
        let left = total - next;
        let more = format!("... {left} more; --id {id} --offset {next}\n");
        out.push_str(&styled(DIM, &more));
    }
    Ok(Outcome::done(&read, out))
}

fn search(session: &SessionFile, args: &RecallArgs, global: &Global) -> Result<Outcome, Error> {
    let path = session.tree().path(args.session.leaf(session.tree())?);
    let context = build_context(&path, global.profile().context_rules());
    if args.offset.is_some() {
        let goes_with = "--offset goes with --id, which reads an entry; leave it out";
        return Err(Error::Usage(goes_with.to_owned()));
    }
    let text = args.query.join(" ");
    if text.trim().is_empty() {
        let words = "the words to look for are empty; give some, or --id to read an entry";
        return Err(Error::Usage(words.to_owned()));
    }
    let limits = RecallLimits {
        entries: args.limit.get(),
        excerpt: args
            .chars
            .map_or(RecallLimits::default().excerpt, NonZeroUsize::get),
    };
    let pattern = match args.regex {
        false => None,
        true => Some(Search::new(pattern(&text).map_err(Error::Usage)?)),
    };
    let find = |text: &str| {
        pattern.as_ref().map_or(Matches::default(), |search| {
            search.matches(text, || crate::cancel::check().is_err())
        })
    };
    let query = match args.regex {
        true => Query::Pattern(&find),
        false => Query::Words(&text),
    };
    let bytes = session.decoded.bytes;
    let each = bytes / (session.tree().len().max(1) as u64);
    let mut reading = Reading::new(bytes);
    let mut visit = |_, _: &_| {
        reading.add(usize::try_from(each).unwrap_or(usize::MAX));
        match crate::cancel::check() {
            Ok(()) => Visit::Search,
            Err(_) => Visit::Stop,
        }
    };
    let found = recall(&path, &context, &query, limits, &mut visit).ok_or(Error::Cancelled)?;
    if found.found.is_empty() {
        let mut reason = format!("nothing in {} entries matches", found.searched);
        if found.in_part {
            reason.push_str(&format!("; {IN_PART}"));
        }
        return Ok(Outcome::nothing_to_do(reason, json!(found)));
    }
    Ok(Outcome::done(&found, text_of(&found)))
}

fn text_of(recall: &Recall) -> String {
    let mut out = String::new();
    for found in &recall.found {
        let place = place_name(found.place);
        out.push_str(&format!(
            "{}  {}\n   {}\n",
            styled(BOLD, &clean(&found.entry_id)),
            styled(
                DIM,
                &format!(
                    "{}, {place}, {}",
                    clean(&found.role),
                    counted(found.matches, "match")
                )
            ),
            clean(&found.excerpt)
        ));
    }
    out.push_str(&styled(
        DIM,
        &format!(
            "{} of {} shown, {} searched; recall SESSION --id ID reads one\n",
            recall.found.len(),
            counted(recall.matching, "matching entry"),
            counted(recall.searched, "entry")
        ),
    ));
    if recall.in_part {
        out.push_str(&styled(DIM, &format!("{IN_PART}\n")));
    }
    out
}
