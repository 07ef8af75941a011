//! What happens while models write: how far they are, and a line for every failure.

use crate::ui::{DIM, WARN, clean, progress, styled, tell, tokens};
use compaction_core::TokenCount;
use summarize::{ModelReport, SummaryStep};

/// Tells on standard error what models do.
#[derive(Default)]
pub struct Writing {
    head: String,
}

impl Writing {
    /// Tells one step.
    pub fn step(&mut self, step: &SummaryStep<'_>) {
        match step {
            SummaryStep::Asking {
                candidate,
                request,
                requests,
            } => {
                self.head = match requests {
                    1 => clean(candidate),
                    _ => format!("{}  part {request} of {requests}", clean(candidate)),
                };
                progress::step(&self.head);
            }
            SummaryStep::Writing(characters) => {
                let written = tokens(TokenCount(*characters as u64 / 4));
                progress::step(&format!("{}  ~{written} tokens", self.head));
            }
            SummaryStep::Failed(_) => line(&styled(WARN, "warning"), step),
            _ => line(&styled(DIM, "note"), step),
        }
    }
}

fn line(label: &str, step: &SummaryStep<'_>) {
    tell(&format!("{label}: {}", clean(&step.to_string())));
}

/// Returns who wrote a summary, for the title of a card.
pub fn author(report: &ModelReport) -> String {
    match &report.answered_by {
        None if report.failed.is_empty() => "extractive, no model".to_owned(),
        None => "extractive fallback: all models failed".to_owned(),
        Some(name) => match report.way {
            Some(way) if way.starts_with("native") => format!("by {}, natively", clean(name)),
            _ => format!("by {}", clean(name)),
        },
    }
}

/// Returns what models took, or nothing when none was asked.
pub fn account(report: &ModelReport) -> Option<String> {
    if report.requests_sent == 0 {
        return None;
    }
    let usage = &report.usage;
    let prompt = TokenCount(usage.prompt_tokens());
    let mut text = format!(
        "{} sent",
        crate::ui::counted(report.requests_sent, "request")
    );
    if usage.prompt_tokens() + usage.output > 0 {
        text.push_str(&format!(", {} tokens in", tokens(prompt)));
        if usage.cache_read > 0 {
            let cached = tokens(TokenCount(usage.cache_read));
            text.push_str(&format!(" ({cached} cached)"));
        }
        text.push_str(&format!(", {} out", tokens(TokenCount(usage.output))));
    }
    match (report.cost_usd, report.cost_is_partial) {
        (Some(cost), false) => text.push_str(&format!(", ${cost:.4}")),
        (Some(cost), true) => text.push_str(&format!(", at least ${cost:.4}")),
        (None, _) => {}
    }
    text.push_str(&format!(", {:.1} s", report.seconds));
    Some(text)
}
