//! A text that takes the whole screen and is scrolled.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;

/// A text on the whole screen.
#[derive(Debug)]
pub struct Pager {
    /// What it is.
    pub title: String,
    /// Its lines.
    pub lines: Vec<Line<'static>>,
    /// The first line on the screen.
    pub top: usize,
}

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// The view stays.
    Open,
    /// The view closes.
    Closed,
}

impl Pager {
    /// Returns a text, its beginning on the screen.
    pub fn new(title: impl Into<String>, lines: Vec<Line<'static>>) -> Self {
        Self {
            title: title.into(),
            lines,
            top: 0,
        }
    }

    /// Returns the same text, its end on the screen.
    pub fn at_end(mut self, height: usize) -> Self {
        self.top = self.lines.len().saturating_sub(rows(height));
        self
    }

    /// Takes a key on a screen of this height.
    pub fn key(&mut self, key: KeyEvent, height: usize) -> Stay {
        let page = rows(height);
        let last = self.lines.len().saturating_sub(page);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return Stay::Closed,
            KeyCode::Char('c' | 'o') if control => return Stay::Closed,
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter => self.top += 1,
            KeyCode::PageUp => self.top = self.top.saturating_sub(page),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top += page,
            KeyCode::Home | KeyCode::Char('g') => self.top = 0,
            KeyCode::End | KeyCode::Char('G') => self.top = last,
            _ => {}
        }
        self.top = self.top.min(last);
        Stay::Open
    }

    /// Returns the lines on a screen of this height, title and help aside.
    pub fn shown(&self, height: usize) -> &[Line<'static>] {
        let top = self.top.min(self.lines.len());
        let end = (top + rows(height)).min(self.lines.len());
        &self.lines[top..end]
    }
}

/// Returns how many rows of a screen are left next to title and help.
pub fn rows(height: usize) -> usize {
    height.saturating_sub(2).max(1)
}
