//! A summary on the whole screen, before it is applied.

use compaction_core::TokenCount;
use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};
use session_text::tokens;

use crate::markdown;
use crate::pager::{Pager, Stay};
use crate::text::{line, safe_line, wrap};
use crate::theme::Theme;

/// A summary that waits to be applied.
#[derive(Debug)]
pub struct ReviewView {
    /// The summary, as it was written or edited.
    pub summary: String,
    is_edited: bool,
    /// What went wrong with the editor, or with what came from it.
    error: Option<String>,
    sizes: (u64, u64),
    /// The page that shows it.
    pub page: Pager,
}

/// What comes of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum ReviewStep {
    /// The view stays.
    Stay,
    /// It is applied; with a text where it was edited.
    Apply(Option<String>),
    /// It is edited.
    Edit,
    /// It is not wanted.
    Cancel,
}

impl ReviewView {
    /// Returns the view of a summary and of the sizes of the context before and after.
    pub fn new(
        summary: String,
        error: Option<String>,
        sizes: (u64, u64),
        width: usize,
        theme: Theme,
    ) -> Self {
        let mut view = Self {
            summary,
            is_edited: error.is_some(),
            error,
            sizes,
            page: Pager::new(String::new(), Vec::new()),
        };
        view.show(width, theme);
        view
    }

    /// Takes in what an editor has brought.
    pub fn edited(&mut self, text: Result<String, String>, width: usize, theme: Theme) {
        match text {
            Ok(text) if text.trim().is_empty() => {
                self.error = Some("the editor left an empty file; the summary stays".to_owned());
            }
            Ok(text) => {
                self.error = None;
                self.is_edited |= text.trim() != self.summary.trim();
                self.summary = text;
            }
            Err(error) => self.error = Some(error),
        }
        self.show(width, theme);
    }

    fn show(&mut self, width: usize, theme: Theme) {
        let (before, after) = self.sizes;
        let size = |count| tokens(TokenCount(count));
        let edited = if self.is_edited { ", edited" } else { "" };
        let title = format!(
            "Summary{edited}: {} -> ~{}   not applied yet",
            size(before),
            size(after)
        );
        let mut lines: Vec<Line<'static>> = Vec::new();
        if let Some(error) = &self.error {
            let text = line(format!("error: {}", safe_line(error)), theme.bad());
            lines.extend(wrap(&text, width, &Span::raw("  ")));
            lines.push(Line::default());
        }
        lines.extend(markdown::lines(&self.summary, width, theme));
        self.page = Pager::new(title, lines);
    }

    /// Takes a key on a screen of this height.
    pub fn key(&mut self, key: KeyEvent, height: usize) -> ReviewStep {
        match key.code {
            KeyCode::Enter => ReviewStep::Apply(self.is_edited.then(|| self.summary.clone())),
            KeyCode::Char('e') => ReviewStep::Edit,
            _ => match self.page.key(key, height) {
                Stay::Open => ReviewStep::Stay,
                Stay::Closed => ReviewStep::Cancel,
            },
        }
    }
}
