//! The preview of a compaction, and what it has in common with the card: what stays, what is summarized, what comes back.

use compaction_core::{
    AppliedCompaction, ApplyError, CompactionPlan, Disposition, SummaryRequest, TokenCount,
};
use session_model::SessionContext;
use session_text::{restored_in_words, your_messages};

use crate::ui::bar::{self, Bar, Category, Shares, Window};
use crate::ui::{BOLD, DIM, clean, counted, ledger, row, rule, styled, tokens, width};

/// Returns the shares of what goes and of what stays.
pub fn shares(plan: &CompactionPlan, context: &SessionContext) -> (Shares, Shares) {
    let mut goes = Shares::default();
    let mut stays = Shares::default();
    let counter = plan.profile.counter();
    if let Some((_, system)) = &context.system {
        stays.add(Category::System, counter.message(system));
    }
    for (planned, projected) in plan.entries.iter().zip(&context.entries) {
        let part = match planned.disposition {
            Disposition::Kept | Disposition::Pruned => &mut stays,
            Disposition::Summarized
            | Disposition::TurnPrefix
            | Disposition::PreviousSummary
            | Disposition::System
            | Disposition::NoMessage => &mut goes,
        };
        for message in &projected.messages {
            part.add(Category::of(message), counter.message(message));
        }
    }
    (goes, stays)
}

/// A name, and the text next to it.
type Row = (&'static str, String);

/// Returns what becomes of the entries; `size` says how large the summary is or what it is of.
pub fn entry_rows(plan: &CompactionPlan, size: &str) -> Vec<Row> {
    let count = |fate| plan.ids(fate).count();
    let mut rows = Vec::new();
    if let Some(first) = plan.first_kept() {
        let kept = counted(count(Disposition::Kept), "entry");
        let size = tokens(size_of(plan, Disposition::Kept));
        rows.push((
            "kept",
            format!("{kept} verbatim ({size}), from {}", clean(first)),
        ));
    }
    if count(Disposition::Pruned) > 0 {
        let elided = counted(count(Disposition::Pruned), "entry");
        rows.push(("elided", format!("{elided} that did not fit")));
    }
    let prefix = match count(Disposition::TurnPrefix) {
        0 => String::new(),
        entries => format!(" + {entries} of the turn in progress"),
    };
    let summarized = counted(count(Disposition::Summarized), "entry");
    rows.push(("summarized", format!("{summarized}{prefix}{size}")));
    rows
}

/// Returns what is in the context besides entries: the ledger, names of files, and what comes back.
pub fn content_rows(plan: &CompactionPlan, ledger: &compaction_core::LedgerBlock) -> Vec<Row> {
    let mut rows: Vec<Row> = ledger::rows(ledger).collect();
    let (changed, read) = (plan.files.modified_files(), plan.files.read_files());
    let files = format!("{} changed, {} read, all named", changed.len(), read.len());
    rows.push(("files", files));
    rows.extend(plan.restored.iter().map(|restored| {
        let text = match &restored.failed {
            Some(failed) => format!("nothing: {}", clean(failed)),
            None => restored_in_words(restored).replacen("brought back: ", "", 1),
        };
        ("restored", text)
    }));
    rows
}

fn size_of(plan: &CompactionPlan, fate: Disposition) -> TokenCount {
    let entries = plan.entries.iter();
    let of_fate = entries.filter(|entry| entry.disposition == fate);
    of_fate.map(|entry| entry.tokens).sum()
}

pub fn compaction_text(
    plan: &CompactionPlan,
    context: &SessionContext,
    window: Window,
    extractive: &Result<AppliedCompaction, ApplyError>,
    notes: &[String],
) -> String {
    let width = width();
    let counter = plan.profile.counter();
    let (goes, stays) = shares(plan, context);
    let bar = Bar {
        window: window.tokens,
        is_assumed: window.is_assumed,
        threshold: plan.threshold.as_ref().map(|threshold| threshold.tokens),
        goes,
        stays,
    };
    let mut out = bar::section(&bar, "Context", plan.measure.billed, width);
    if let Some(threshold) = &plan.threshold {
        out.push_str(&styled(DIM, &format!("trigger: {}\n", threshold.explain)));
    }
    let hash = plan.hash();
    let title = format!(
        "preview {}: nothing has changed yet",
        hash.as_str().get(..8).unwrap_or_default()
    );
    out.push_str(&format!("\n{}\n", styled(BOLD, &rule(&title, width))));
    let summarized =
        size_of(plan, Disposition::Summarized) + size_of(plan, Disposition::TurnPrefix);
    let mut rows = entry_rows(plan, &format!(" ({})", tokens(summarized)));
    rows.extend(content_rows(plan, &plan.ledger));
    rows.extend(notes.iter().map(|note| ("note", clean(note))));
    match extractive {
        Ok(applied) => {
            let summary = tokens(counter.text(&applied.summary));
            let after = tokens(applied.tokens_after);
            rows.push((
                "extractive",
                format!("{summary} tokens; {after} in context after"),
            ));
            rows.extend(
                applied
                    .loss
                    .as_ref()
                    .and_then(your_messages)
                    .map(|left| ("messages", left)),
            );
        }
        Err(refused) => rows.push(("extractive", format!("none: {refused}"))),
    }
    let requests = plan.requests();
    let size = |request: &SummaryRequest| {
        counter.text(&request.prompt(None)) + counter.text(&request.system)
    };
    if !requests.is_empty() {
        let asked: TokenCount = requests.iter().map(size).sum();
        let answered: TokenCount = requests.iter().map(|request| request.max_output).sum();
        let count = counted(requests.len(), "request");
        let text = format!(
            "{count}: {} tokens in, at most {} out",
            tokens(asked),
            tokens(answered)
        );
        rows.push(("to a model", text));
    }
    out.extend(rows.iter().map(|(name, text)| row("  ", name, text)));
    out.push_str(&styled(
        DIM,
        "  without a model the extractive summary is used: no network, no cost\n",
    ));
    out
}
