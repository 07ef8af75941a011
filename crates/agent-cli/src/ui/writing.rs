//! What happens while models write: one line that changes on a terminal, and a line for every failure anywhere.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use crate::ui::{DIM, WARN, clean, styled, tokens, width};
use agent_session::summarize::{ModelReport, SummaryStep};
use compaction_core::TokenCount;

/// Tells on standard error what models do.
pub struct Writing {
    live: bool,
    started: Instant,
    head: String,
    written: usize,
    shown: bool,
    last: Option<Instant>,
}

impl Default for Writing {
    fn default() -> Self {
        Self {
            live: std::io::stderr().is_terminal(),
            started: Instant::now(),
            head: String::new(),
            written: 0,
            shown: false,
            last: None,
        }
    }
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
                self.written = 0;
                self.last = None;
                self.draw();
            }
            SummaryStep::Writing(characters) => {
                self.written = *characters;
                self.draw();
            }
            SummaryStep::Failed(_) => self.line("warning", &step.to_string()),
            _ => self.line("note", &step.to_string()),
        }
    }

    /// Draws the changing line, at most ten times a second.
    fn draw(&mut self) {
        let soon = self
            .last
            .is_some_and(|last| last.elapsed().as_millis() < 100);
        if !self.live || soon {
            return;
        }
        self.last = Some(Instant::now());
        let written = tokens(TokenCount(self.written as u64 / 4));
        let text = format!(
            "{}  ~{written} tokens  {:.0} s",
            self.head,
            self.started.elapsed().as_secs_f64()
        );
        let text: String = text.chars().take(width().saturating_sub(2)).collect();
        // Progress that cannot be shown is no reason to stop.
        let _ = write!(anstream::stderr(), "\r\x1b[2K{}", styled(DIM, &text));
        let _ = std::io::stderr().flush();
        self.shown = true;
    }

    fn line(&mut self, label: &str, text: &str) {
        self.wipe();
        let label = match label {
            "warning" => styled(WARN, label),
            other => styled(DIM, other),
        };
        let _ = writeln!(anstream::stderr(), "{label}: {}", clean(text));
    }

    fn wipe(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(anstream::stderr(), "\r\x1b[2K");
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.wipe();
    }
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
