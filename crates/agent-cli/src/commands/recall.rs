//! `recall`: finds again what was said, on every branch, also what a compaction took out of the context.

use compaction_core::{Place, Query, RECALL_STEP, Recall, RecallLimits, recall, recall_text};
use regex::RegexBuilder;
use serde_json::json;
use session_model::build_context;

use crate::args::{Global, RecallArgs};
use crate::commands::Outcome;
use crate::error::Error;
use crate::store::SessionFile;
use crate::ui::progress::Reading;
use crate::ui::{BOLD, DIM, clean, counted, styled};

/// How many characters of an entry are read at once.
const READ: usize = 8000;

/// The largest compiled pattern, in bytes.
const PATTERN_LIMIT: usize = 1 << 20;

pub(super) fn run(args: &RecallArgs, global: &Global) -> Result<Outcome, Error> {
    let session = SessionFile::open(&args.session.session)?;
    match &args.id {
        Some(id) => read(&session, id, args),
        None => search(&session, args, global),
    }
}

fn read(session: &SessionFile, id: &str, args: &RecallArgs) -> Result<Outcome, Error> {
    let tree = session.tree();
    let index = tree.find(id).ok_or_else(|| {
        Error::Usage(format!(
            "no entry {id} in this session; search for words to find ids"
        ))
    })?;
    let entry = tree
        .entry(index)
        .map_err(|error| Error::session(&session.path, error.to_string()))?;
    let (role, text) = recall_text(&entry).unwrap_or_else(|| {
        let kind = format!("{:?}", tree.kind(index)).to_lowercase();
        (kind, String::new())
    });
    let total = text.chars().count();
    let most = args.chars.unwrap_or(READ);
    let piece: String = text.chars().skip(args.offset).take(most).collect();
    let next = args.offset.saturating_add(piece.chars().count());
    let left = total.saturating_sub(next);
    let document = json!({
        "entry_id": entry.id,
        "role": role,
        "line": tree.line(index),
        "offset": args.offset,
        "total_chars": total,
        "next_offset": (left > 0).then_some(next),
        "text": piece,
    });
    let mut out = format!(
        "{}\n",
        styled(BOLD, &format!("{}  {role}  {total} characters", clean(id)))
    );
    for line in piece.lines() {
        out.push_str(&format!("{}\n", clean(line)));
    }
    if left > 0 {
        let more = format!("... {left} more; --id {id} --offset {next}\n");
        out.push_str(&styled(DIM, &more));
    }
    Ok(Outcome::done(&document, out))
}

fn search(session: &SessionFile, args: &RecallArgs, global: &Global) -> Result<Outcome, Error> {
    let path = session.tree().path(args.session.leaf(session.tree())?);
    let context = build_context(&path, global.profile().context_rules());
    let text = args.query.join(" ");
    let limits = RecallLimits {
        entries: args.limit,
        excerpt: args
            .chars
            .unwrap_or_else(|| RecallLimits::default().excerpt),
    };
    // Patterns of this crate take time linear in the text; the size of what they compile to is bounded here.
    let pattern =
        match args.regex {
            false => None,
            true => {
                let built = RegexBuilder::new(&text).size_limit(PATTERN_LIMIT).build();
                Some(built.map_err(|error| {
                    Error::Usage(format!("the pattern cannot be used: {error}"))
                })?)
            }
        };
    let find = |text: &str| match &pattern {
        Some(pattern) => pattern
            .find_iter(text)
            .take(1000)
            .map(|found| found.range())
            .collect(),
        None => Vec::new(),
    };
    let query = match args.regex {
        true => Query::Pattern(&find),
        false => Query::Words(&text),
    };
    let bytes = session.decoded.bytes;
    let each = bytes / (session.tree().len().max(1) as u64);
    let mut reading = Reading::new(bytes);
    let mut proceed = || {
        reading.add(usize::try_from(each * RECALL_STEP).unwrap_or(usize::MAX));
        crate::cancel::check().is_ok()
    };
    let found = recall(&path, &context, &query, limits, &mut proceed).ok_or(Error::Cancelled)?;
    if found.found.is_empty() {
        let reason = format!("nothing in {} entries matches", found.searched);
        return Ok(Outcome::nothing_to_do(reason, json!(found)));
    }
    Ok(Outcome::done(&found, text_of(&found)))
}

fn text_of(recall: &Recall) -> String {
    let mut out = String::new();
    for found in &recall.found {
        let place = match found.place {
            Place::InContext => "in the context",
            Place::OutOfContext => "out of the context",
            Place::OtherBranch => "on another branch",
        };
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
    out
}
