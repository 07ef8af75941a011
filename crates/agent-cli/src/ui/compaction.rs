//! The card of a compaction: before and after, what was kept, how to undo it.

use compaction_core::{AppliedCompaction, CompactionPlan, prose_of};
use session_model::{EntryId, SessionContext};

use crate::ui::bar::{self, Bar, Category, Shares, Window};
use crate::ui::plan::{content_rows, entry_rows, shares};
use crate::ui::writing::{account, author};
use crate::ui::{BOLD, DIM, GOOD, clean, counted, first_line, rule, styled, tokens, width};
use session_text::your_messages;
use summarize::ModelReport;

/// What the card shows in addition to the plan and its outcome.
pub struct CardFacts<'a> {
    /// The window.
    pub window: Window,
    /// Where the result is, as a person would name it again, and its entry; `None` for a dry run.
    pub written_to: Option<(&'a str, Option<&'a EntryId>)>,
    /// Seconds from reading to writing.
    pub seconds: f64,
    /// What models did.
    pub report: &'a ModelReport,
    /// What else is to be known.
    pub notes: &'a [String],
    /// What of the session cannot be read.
    pub unreadable: Option<String>,
}

pub fn card(
    plan: &CompactionPlan,
    context: &SessionContext,
    applied: &AppliedCompaction,
    facts: &CardFacts<'_>,
) -> String {
    let width = width();
    let (goes, stays) = shares(plan, context);
    let threshold = plan.threshold.as_ref().map(|threshold| threshold.tokens);
    let before = Bar {
        window: facts.window.tokens,
        is_assumed: facts.window.is_assumed,
        threshold,
        goes,
        stays,
    };
    let mut left = stays;
    for elision in &plan.elisions {
        let mut messages = context.messages();
        if let Some((_, message)) = messages.find(|(id, _)| **id == elision.entry_id) {
            left.take(Category::of(message), elision.saved);
        }
    }
    left.add(
        Category::Summary,
        plan.profile.counter().text(&applied.summary),
    );
    if let Some(restored) = &plan.restored {
        left.add(Category::Other, restored.tokens);
    }
    let after = Bar {
        goes: Shares::default(),
        stays: left,
        ..before
    };
    let shown = bar::section(&before, "Before", plan.measure.billed, width);
    let after = bar::section(&after, "After ", None, width);
    let mut out = format!("{shown}\n{after}\n");
    out.push_str(&facts_lines(plan, applied, facts, width));
    out.push_str(&summary_lines(applied, width));
    out
}

fn facts_lines(
    plan: &CompactionPlan,
    applied: &AppliedCompaction,
    facts: &CardFacts<'_>,
    width: usize,
) -> String {
    let before = plan.tokens_in_context();
    let gone = before.saturating_sub(applied.tokens_after);
    let done = match facts.written_to {
        Some(_) => "compacted",
        None => "would be compacted",
    };
    let title = format!(
        "{done}  {} -> {}  (-{})  {}  {:.1}s",
        tokens(before),
        tokens(applied.tokens_after),
        tokens(gone),
        author(facts.report),
        facts.seconds
    );
    let mut out = format!("{}\n", styled(GOOD, &rule(&title, width)));
    let mut row = |name: &str, text: String| out.push_str(&crate::ui::row("   ", name, &text));
    let summary = plan.profile.counter().text(&applied.summary);
    let notes = facts.notes.iter().map(|note| ("note", clean(note)));
    let rows = entry_rows(plan, &format!(" into {} tokens", tokens(summary))).into_iter();
    for (name, text) in rows.chain(notes).chain(content_rows(plan, &applied.ledger)) {
        row(name, text);
    }
    if let Some(account) = account(facts.report) {
        row("model", account);
    }
    if let Some(native) = facts.report.native_tokens_after {
        row(
            "native",
            format!(
                "the provider's own form takes ~{}; others read the summary",
                tokens(native)
            ),
        );
    }
    if let Some(left) = applied.loss.as_ref().and_then(your_messages) {
        row("messages", left);
    }
    row(
        "on disk",
        match &facts.unreadable {
            None => "every entry; recall finds what is out of context".to_owned(),
            Some(unreadable) => clean(unreadable),
        },
    );
    // A command that is to be copied stays on one line.
    if let Some((path, entry)) = facts.written_to {
        if let Some(entry) = entry {
            let entry = clean(entry);
            out.push_str(&format!(
                "   read        agent-cli recall {path} --read {entry}\n"
            ));
        }
        out.push_str(&format!(
            "   undo        agent-cli undo {path} --in-place\n"
        ));
    }
    out
}

/// How many lines of each section of the summary the card shows.
const SHOWN_LINES: usize = 4;

fn summary_lines(applied: &AppliedCompaction, width: usize) -> String {
    let mut out = format!("\n{}\n", styled(BOLD, &rule("summary", width)));
    let text = prose_of(&applied.summary);
    let mut shown = 0;
    let mut left = 0;
    let tell_left = |out: &mut String, left: &mut usize| {
        if *left > 0 {
            let more = format!("     ... {}\n", counted(*left, "more line"));
            out.push_str(&styled(DIM, &more));
        }
        *left = 0;
    };
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let clean = first_line(line, width.saturating_sub(3));
        if line.starts_with('#') {
            tell_left(&mut out, &mut left);
            shown = 0;
            out.push_str(&format!("   {}\n", styled(BOLD, &clean)));
        } else if shown < SHOWN_LINES {
            shown += 1;
            out.push_str(&format!("   {clean}\n"));
        } else {
            left += 1;
        }
    }
    tell_left(&mut out, &mut left);
    out
}
