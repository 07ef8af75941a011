//! `timeline`: what happened, turn by turn.

use clap::Args;
use serde_json::json;
use session_recall::{TimelineEvent, TimelineKind, timeline};

use crate::commands::Outcome;
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs};
use crate::ui::{BOLD, DIM, clean, first_line, styled, width};

/// Show what happened, turn by turn: messages of the user, commits, test runs, compactions.
#[derive(Debug, Args)]
pub struct TimelineArgs {
    #[command(flatten)]
    pub session: SessionArgs,
}

pub(super) fn run(args: &TimelineArgs, _: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let events = timeline(&tree.path(args.session.leaf(tree)?));
    let document = json!({ "events": events });
    if events.is_empty() {
        let reason = "nothing of the kind happened on this branch";
        return Ok(Outcome::nothing_to_do(reason.to_owned(), document).of(session.report()));
    }
    let text: String = events.iter().map(line).collect();
    Ok(Outcome::done(&document, text).of(session.report()))
}

fn line(event: &TimelineEvent) -> String {
    let what = match (event.kind, event.failed) {
        (TimelineKind::Message, _) => "",
        (TimelineKind::Commit, Some(true)) => "commit failed: ",
        (TimelineKind::Commit, _) => "commit: ",
        (TimelineKind::Tests, Some(true)) => "tests failed: ",
        (TimelineKind::Tests, Some(false)) => "tests passed: ",
        (TimelineKind::Tests, None) => "tests: ",
        (TimelineKind::Compaction, _) => "compaction: ",
        (TimelineKind::BranchSummary, _) => "branch summary: ",
    };
    let date = event.timestamp.as_deref().and_then(|date| date.get(..16));
    let date = date.map_or(String::new(), |date| date.replace('T', " "));
    let turn = match event.kind {
        TimelineKind::Message => format!("{:>4}", event.turn),
        _ => " ".repeat(4),
    };
    let head = format!("{turn}  {date:16}  {}  ", clean(&event.entry_id));
    let room = width().saturating_sub(head.len()).max(20);
    let text = first_line(&format!("{what}{}", event.text), room);
    match event.kind {
        TimelineKind::Message => format!("{}{}\n", styled(DIM, &head), styled(BOLD, &text)),
        _ => format!("{}{text}\n", styled(DIM, &head)),
    }
}
