//! The cards of compactions, prunings and branch summaries.

use askama::Template;
use compaction_core::{CompactionLoss, LossKind, prose_of};
use session_model::{Compaction, TokenCount};

use crate::gate::Gate;
use crate::markdown;
use crate::sizes::CompactionSizes;
use crate::timeline::short;

/// The number of texts of a kind that are listed as out of context.
const LISTED: usize = 5;

/// The facts about a compaction.
pub(crate) struct Facts<'a> {
    pub number: usize,
    pub compaction: &'a Compaction,
    pub sizes: &'a CompactionSizes,
    pub loss: Option<&'a CompactionLoss>,
    /// Other facts, by name.
    pub rows: Vec<(String, String)>,
    /// The tokens of the summary.
    pub summary_tokens: String,
}

#[derive(Template)]
#[template(path = "compaction.html")]
struct Card {
    number: usize,
    before: String,
    after: String,
    change: String,
    percent: u64,
    rows: Vec<(String, String)>,
    lost: Vec<(String, Vec<String>)>,
    lost_title: String,
    summary: String,
    summary_tokens: String,
}

/// Returns the inside of the card of a compaction.
pub(crate) fn compaction(facts: Facts<'_>, gate: &Gate<'_>) -> String {
    let sizes = facts.sizes;
    let count = |(entries, tokens): (usize, _)| match entries {
        0 => "nothing".to_owned(),
        1 => format!("1 entry, ~{}", short(tokens)),
        _ => format!("{entries} entries, ~{}", short(tokens)),
    };
    let mut rows = vec![
        ("Summarized".to_owned(), count(sizes.summarized)),
        ("Kept verbatim".to_owned(), count(sizes.kept)),
    ];
    if sizes.shortened > 0 {
        rows.push((
            "Shortened".to_owned(),
            format!("{} outputs", sizes.shortened),
        ));
    }
    if let Some(billed) = sizes.billed {
        rows.push((
            "Billed before".to_owned(),
            format!("{} tokens, fixed part included", short(billed)),
        ));
    }
    rows.extend(
        facts
            .rows
            .into_iter()
            .map(|(name, text)| (name, gate.line(&text, 200))),
    );
    let lost = facts.loss.map(|loss| lost(loss, gate)).unwrap_or_default();
    let mut room = gate.cap;
    let card = Card {
        number: facts.number,
        before: short(sizes.before),
        after: short(sizes.after),
        change: match sizes.after > sizes.before {
            true => format!("{} more", short(sizes.after.saturating_sub(sizes.before))),
            false => format!("{} less", short(sizes.before.saturating_sub(sizes.after))),
        },
        percent: match sizes.before {
            TokenCount::ZERO => 100,
            before => sizes.after.percent_of(before).min(100),
        },
        rows,
        lost_title: facts.loss.map(lost_title).unwrap_or_default(),
        lost,
        summary: markdown::html(&gate.cut(&prose_of(&facts.compaction.summary), &mut room)),
        summary_tokens: facts.summary_tokens,
    };
    card.render().unwrap_or_default()
}

fn lost_title(loss: &CompactionLoss) -> String {
    let messages = loss.loss.of(LossKind::UserMessage);
    match messages.total {
        0 => String::new(),
        total => format!(
            "{} of {total} of your messages still in context verbatim, {} in part",
            messages.verbatim, messages.shortened
        ),
    }
}

/// Returns the weightiest of what is out of context, by kind.
fn lost(loss: &CompactionLoss, gate: &Gate<'_>) -> Vec<(String, Vec<String>)> {
    let kinds = LossKind::ALL
        .iter()
        .map(|kind| (kind.name(), plural(*kind)));
    let lists = kinds.filter_map(|(key, name)| {
        let texts = loss.loss.weightiest.get(key)?.iter().take(LISTED);
        let texts: Vec<String> = texts.map(|lost| gate.line(&lost.text, 160)).collect();
        (!texts.is_empty()).then(|| (name.to_owned(), texts))
    });
    let invented = loss
        .invented
        .iter()
        .take(LISTED)
        .map(|quote| gate.line(quote, 160));
    let invented: Vec<String> = invented.collect();
    let invented = (!invented.is_empty()).then(|| ("quoted, but in no entry".to_owned(), invented));
    lists.chain(invented).collect()
}

/// Returns the name of a kind as people read it.
const fn plural(kind: LossKind) -> &'static str {
    match kind {
        LossKind::UserMessage => "your messages",
        LossKind::Answer => "answers",
        LossKind::Result => "tool output",
        LossKind::Image => "images",
        LossKind::File => "files",
        LossKind::FailingCommand => "failing commands",
        LossKind::Todo => "open todos",
        _ => kind.name(),
    }
}
