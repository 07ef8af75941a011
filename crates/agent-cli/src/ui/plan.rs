//! The preview of a compaction: what stays, what is summarized, what is asked.

use compaction_core::{
    AppliedCompaction, ApplyError, CompactionPlan, Disposition, RequestKind, SummaryRequest,
    TokenCount,
};
use session_model::{SessionContext, without_private};
use session_text::your_messages;

use crate::ui::bar::Window;
use crate::ui::bar::{self, Bar, Category, Shares};
use crate::ui::{
    BOLD, DIM, clean, counted, first_line, ledger, restored, row, rule, styled, tokens, width,
};

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

/// Returns the preview of a compaction.
pub fn compaction_text(
    plan: &CompactionPlan,
    context: &SessionContext,
    window: Window,
    extractive: &Result<AppliedCompaction, ApplyError>,
    notes: &[String],
) -> String {
    let width = width();
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
    out.push('\n');
    let title = format!(
        "preview {}: nothing has changed yet",
        plan.hash().as_str().get(..8).unwrap_or_default()
    );
    out.push_str(&styled(BOLD, &rule(&title, width)));
    out.push('\n');
    out.push_str(&fates(plan, context));
    for note in notes {
        out.push_str(&row("  ", "note", &clean(note)));
    }
    match extractive {
        Ok(applied) => {
            let summary = plan.profile.counter().text(&applied.summary);
            let text = format!(
                "{} tokens; {} in context after",
                tokens(summary),
                tokens(applied.tokens_after)
            );
            out.push_str(&row("  ", "extractive", &text));
            if let Some(left) = applied.loss.as_ref().and_then(your_messages) {
                out.push_str(&row("  ", "messages", &left));
            }
        }
        Err(refused) => out.push_str(&row("  ", "extractive", &format!("none: {refused}"))),
    }
    out.push_str(&requests(plan));
    out
}

/// Returns the lines that say what stays and what is summarized.
fn fates(plan: &CompactionPlan, context: &SessionContext) -> String {
    let width = width();
    let of = |fate: Disposition| {
        let entries = plan
            .entries
            .iter()
            .filter(move |entry| entry.disposition == fate);
        let count = entries.clone().count();
        let sum: TokenCount = entries.map(|entry| entry.tokens).sum();
        (count, sum)
    };
    let mut out = String::new();
    let mut entries = |name: &str, (count, sum): (usize, TokenCount), note: String| {
        if count > 0 {
            let figures = format!("{:>12} {:>8}", counted(count, "entry"), tokens(sum));
            let line = format!("  {name:<12}{figures}   {note}");
            out.push_str(&format!("{}\n", line.trim_end()));
        }
    };
    // Strategies that keep nothing verbatim have no such place.
    let kept_from = plan.first_kept().map(|first| {
        let text = first_text(context, plan.cut.first_kept(), width.saturating_sub(56));
        format!("verbatim, from {} {text}", clean(first))
    });
    entries("keep", of(Disposition::Kept), kept_from.unwrap_or_default());
    entries(
        "elide",
        of(Disposition::Pruned),
        "too large for what is kept".to_owned(),
    );
    entries("summarize", of(Disposition::Summarized), String::new());
    let turn = plan.turn_start().map(|id| {
        let place = plan.entries.iter().position(|entry| entry.entry_id == *id);
        let text = place.map(|place| first_text(context, place, width.saturating_sub(60)));
        format!(
            "beginning of turn {} {}",
            clean(id),
            text.unwrap_or_default()
        )
    });
    entries(
        "summarize",
        of(Disposition::TurnPrefix),
        turn.unwrap_or_default(),
    );
    entries(
        "update",
        of(Disposition::PreviousSummary),
        "the summary of the compaction before".to_owned(),
    );
    let (read, modified) = (
        plan.files.read_files().len(),
        plan.files.modified_files().len(),
    );
    if read + modified > 0 {
        let names = format!("{modified} changed, {read} only read; all named in the entry");
        out.push_str(&row("  ", "files", &names));
    }
    for (label, text) in plan.restored.iter().flat_map(restored::lines) {
        let label = match label {
            restored::BACK => "bring back",
            other => other,
        };
        out.push_str(&row("  ", label, &text));
    }
    for (name, text) in ledger::rows(&plan.ledger) {
        out.push_str(&row("  ", name, &text));
    }
    let pinned = plan.entries.iter().filter(|entry| entry.pinned).count();
    if pinned > 0 {
        let pins = counted(pinned, "pin");
        let text = format!("{pins} among what is summarized, kept verbatim");
        out.push_str(&row("  ", "pinned", &text));
    }
    let kept = &plan.keep;
    if kept.effective != kept.asked {
        let text = format!(
            "asked {}, effective {} (half the trigger, measured usage), kept {}",
            tokens(kept.asked),
            tokens(kept.effective),
            tokens(kept.kept)
        );
        out.push_str(&row("  ", "recent", &text));
    }
    out
}

fn first_text(context: &SessionContext, place: usize, width: usize) -> String {
    let messages = context.entries[place..].iter();
    let mut messages = messages.flat_map(|projected| &projected.messages);
    let text = messages
        .next()
        .map(|message| without_private(&message.display_text()).into_owned());
    let line = first_line(&text.unwrap_or_default(), width.max(16));
    format!("\"{line}\"")
}

/// How many requests people are shown.
const SHOWN_REQUESTS: usize = 8;

/// Returns the lines that say what a model would be asked.
fn requests(plan: &CompactionPlan) -> String {
    let counter = plan.profile.counter();
    let mut out = String::new();
    let requests = plan.requests();
    let size = |request: &SummaryRequest| {
        counter.text(&request.prompt(None)) + counter.text(&request.system)
    };
    for request in requests.iter().take(SHOWN_REQUESTS) {
        let name = match request.kind {
            RequestKind::History => "history",
            RequestKind::TurnPrefix => "turn prefix",
            RequestKind::Short => "short",
            RequestKind::Branch => "branch",
            RequestKind::Handoff => "handoff",
            RequestKind::Snapshot => "snapshot",
        };
        let part = match request.parts {
            1 => String::new(),
            parts => format!(" (part {} of {parts})", request.part),
        };
        let text = format!(
            "{name}{part}: {} tokens in, at most {} out",
            tokens(size(request)),
            tokens(request.max_output)
        );
        out.push_str(&row("  ", "request", &text));
    }
    if requests.len() > SHOWN_REQUESTS {
        let all: TokenCount = requests.iter().map(size).sum();
        let text = format!(
            "... {} in all, {} tokens in; --json lists them",
            requests.len(),
            tokens(all)
        );
        out.push_str(&row("  ", "requests", &text));
    }
    out.push_str(&styled(
        DIM,
        "  without a model the extractive summary is used: no network, no cost\n",
    ));
    out
}
