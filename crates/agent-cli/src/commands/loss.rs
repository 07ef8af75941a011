//! `loss`: what the compactions of a session took out of the model's context, and what their summaries invented.

use clap::Args;
use compaction_core::{CompactionLoss, ContextLoss, EditLoss, Missing, TotalLoss, loss_report};
use serde_json::{Value, json};
use session_text::loss_rows;

use crate::commands::Outcome;
use crate::error::Error;
use crate::files::open_session;
use crate::options::{Global, SessionArgs};
use crate::ui::{
    DIM, GOOD, WARN, clean, counted, first_line, heading, rule, styled, tokens, width,
};

/// Show what compactions took out of the model's context, and what their summaries invented.
#[derive(Debug, Args)]
pub struct LossArgs {
    #[command(flatten)]
    pub session: SessionArgs,
}

/// How many invented quotes of one summary people are shown.
const SHOWN: usize = 3;

pub(super) fn run(args: &LossArgs, global: &Global) -> Result<Outcome, Error> {
    let session = open_session(&args.session.session)?;
    let tree = session.tree();
    let path = tree.path(args.session.leaf(tree)?);
    let profile = global.profile();
    let rules = profile.context_rules();
    let report = loss_report(&path, rules, profile.counter());
    let mut document = json!(report);
    if let Value::Object(members) = &mut document {
        let diagnostics = json!(session.decoded.diagnostics);
        members.insert("diagnostics".to_owned(), diagnostics);
    }
    if report.compactions.is_empty() && report.edits.is_empty() {
        let reason =
            "no compaction and no pruning on the path, so nothing is out of context".to_owned();
        return Ok(Outcome::nothing_to_do(reason, document).of(session.report()));
    }
    let mut text = String::new();
    for (place, loss) in report.compactions.iter().enumerate() {
        text.push_str(&of_compaction(place + 1, loss));
    }
    for loss in &report.edits {
        text.push_str(&of_edits(loss));
    }
    if report.compactions.len() + report.edits.len() > 1 {
        text.push_str(&of_all(&report.totals));
    }
    let hint = "what is out of context is in the session: recall SESSION WORDS finds it, undo takes a compaction back\n";
    text.push_str(&styled(DIM, hint));
    Ok(Outcome::done(&document, text).of(session.report()))
}

fn of_compaction(number: usize, loss: &CompactionLoss) -> String {
    let title = format!(
        "compaction #{number}  {}  {} taken out, summary {}",
        clean(&loss.entry_id),
        tokens(loss.loss.removed_tokens),
        tokens(loss.summary_tokens)
    );
    let mut text = heading(&rule(&title, width()));
    text.push_str(&of_loss(&loss.loss));
    text.push_str(&of_missing(&loss.missing));
    if loss.quotes_not_searched > 0 {
        let what = counted(loss.quotes_not_searched, "quote");
        let much =
            format!("   not searched {what} of the user: there was too much to look through\n");
        text.push_str(&styled(WARN, &much));
    }
    if !loss.invented.is_empty() {
        let what = counted(loss.invented.len(), "quote");
        let line = format!("   invented     {what} that no entry contains\n");
        text.push_str(&styled(WARN, &line));
        for quote in loss.invented.iter().take(SHOWN) {
            let room = width().saturating_sub(18);
            let quote = first_line(quote, room);
            text.push_str(&format!("                \"{quote}\"\n"));
        }
    }
    text
}

fn of_edits(loss: &EditLoss) -> String {
    let title = format!(
        "pruning  {}  {} shortened, {} taken out",
        clean(&loss.entry_id),
        counted(loss.entries, "entry"),
        tokens(loss.loss.removed_tokens)
    );
    let title = heading(&rule(&title, width()));
    format!("{title}{}", of_loss(&loss.loss))
}

fn of_all(totals: &TotalLoss) -> String {
    let title = format!(
        "all of them, held against the context as it is now  {} taken out",
        tokens(totals.loss.removed_tokens)
    );
    let title = heading(&rule(&title, width()));
    format!("{title}{}", of_loss(&totals.loss))
}

/// Returns one line for each kind of which there was something, and what of it is gone.
fn of_loss(loss: &ContextLoss) -> String {
    let mut text = String::new();
    for row in loss_rows(loss) {
        let style = if row.figures.verbatim == row.figures.total {
            GOOD
        } else {
            DIM
        };
        let (bar, figures) = (styled(style, &row.bar()), row.text());
        text.push_str(&format!("   {:<14}{bar} {figures}\n", row.name));
        text.push_str(&named(loss, row.kind));
    }
    if loss.in_part {
        let apart = loss
            .kinds
            .values()
            .map(|kind| kind.not_searched)
            .sum::<usize>();
        let much = format!("   not searched {apart} of them: there was too much to look through\n");
        text.push_str(&styled(WARN, &much));
    }
    text
}

/// Returns the weightiest of a kind that are out of context, each with the entry that recall reads.
fn named(loss: &ContextLoss, kind: &str) -> String {
    let lost = loss.weightiest.get(kind).into_iter().flatten();
    let lines = lost.map(|lost| {
        let id = clean(&lost.entry_id);
        let room = width().saturating_sub(10 + id.chars().count());
        let text = first_line(&clean(&lost.text), room.max(24));
        styled(DIM, &format!("      - {text}  {id}\n"))
    });
    lines.collect()
}

/// Returns a line about what the session itself no longer holds.
fn of_missing(missing: &Missing) -> String {
    let parts = [
        (missing.gaps, "gaps"),
        (missing.entries, "unreadable entries"),
        (missing.results, "cut outputs"),
        (missing.images, "images without bytes"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, what)| format!("{what}: {count}"))
        .collect();
    match parts.is_empty() {
        true => String::new(),
        false => styled(WARN, &format!("   missing      {}\n", parts.join(", "))),
    }
}
