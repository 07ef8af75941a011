//! `loss`: what the compactions of a session put out of the model's sight, and what their summaries invented.

use compaction_core::{CompactionLoss, ContextLoss, EditLoss, LiteralKind, TotalLoss, loss_report};
use serde_json::{Value, json};

use crate::args::{Global, LossArgs};
use crate::commands::Outcome;
use crate::error::Error;
use crate::store::SessionFile;
use crate::ui::{BOLD, DIM, GOOD, WARN, clean, counted, first_line, rule, styled, tokens, width};

/// How many invented quotes of one summary people are shown.
const SHOWN: usize = 3;

pub(super) fn run(args: &LossArgs, global: &Global) -> Result<Outcome, Error> {
    let session = SessionFile::open(&args.session.session)?;
    let tree = session.tree();
    let path = tree.path(args.session.leaf(tree)?);
    let profile = global.profile();
    let mut proceed = || crate::cancel::check().is_ok();
    let rules = profile.context_rules();
    let report = loss_report(&path, rules, profile.counter(), &mut proceed);
    let report = report.ok_or(Error::Cancelled)?;
    let mut document = json!(report);
    if let Value::Object(members) = &mut document {
        let diagnostics = json!(session.decoded.diagnostics);
        members.insert("diagnostics".to_owned(), diagnostics);
    }
    if report.compactions.is_empty() && report.edits.is_empty() {
        let reason =
            "no compaction and no pruning on the path, so nothing is out of sight".to_owned();
        return Ok(Outcome::nothing_to_do(reason, document));
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
    let hint = "what is out of sight is in the session: recall SESSION WORDS finds it, undo takes a compaction back\n";
    text.push_str(&styled(DIM, hint));
    Ok(Outcome::done(&document, text))
}

fn of_compaction(number: usize, loss: &CompactionLoss) -> String {
    let title = format!(
        "compaction #{number}  {}  {} taken out, summary {}",
        clean(&loss.entry_id),
        tokens(loss.loss.removed_tokens),
        tokens(loss.summary_tokens)
    );
    let mut text = format!("{}\n", styled(BOLD, &rule(&title, width())));
    text.push_str(&of_loss(&loss.loss));
    if !loss.invented.is_empty() {
        let what = counted(loss.invented.len(), "quote");
        let line = format!("   invented     {what} that the user never said\n");
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
    let title = styled(BOLD, &rule(&title, width()));
    format!("{title}\n{}", of_loss(&loss.loss))
}

fn of_all(totals: &TotalLoss) -> String {
    let title = format!(
        "all of them, held against the context as it is now  {} taken out",
        tokens(totals.loss.removed_tokens)
    );
    let title = styled(BOLD, &rule(&title, width()));
    format!("{title}\n{}", of_loss(&totals.loss))
}

/// Returns one line for each kind of which there was something.
fn of_loss(loss: &ContextLoss) -> String {
    let mut text = String::new();
    for kind in LiteralKind::ALL {
        let found = loss.kinds.get(kind.name());
        if let Some(found) = found.filter(|found| found.total > 0) {
            text.push_str(&line(
                plural(kind),
                found.in_context,
                found.total,
                "in sight",
            ));
        }
    }
    let messages = ("your messages", loss.user_messages);
    for (name, found) in [messages, ("your rules", loss.rules)] {
        if found.total > 0 {
            text.push_str(&line(name, found.verbatim, found.total, "word for word"));
        }
    }
    text
}

fn line(name: &str, left: usize, total: usize, how: &str) -> String {
    let percent = left * 100 / total;
    let filled = left * 10 / total;
    let bar = format!("[{}{}]", "=".repeat(filled), ".".repeat(10 - filled));
    let style = if left == total { GOOD } else { DIM };
    format!(
        "   {name:<14}{} {percent:>3}%  {left} of {total} {how}\n",
        styled(style, &bar)
    )
}

/// Returns the name of a kind as people read it.
pub(super) fn plural(kind: LiteralKind) -> &'static str {
    match kind {
        LiteralKind::Path => "paths",
        LiteralKind::Error => "errors",
        LiteralKind::Number => "figures",
        LiteralKind::Identifier => "names",
        LiteralKind::Url => "addresses",
        LiteralKind::Command => "commands",
    }
}
