//! How a tree is drawn: the rows that have room, and which of them are shown at all.

use ratatui::text::{Line, Span};
use session_text::{Rank, TreeRow, counted, tokens};

use super::{Mode, TreeView, room};
use crate::text::{columns, cut, fitting, line};
use crate::theme::Theme;

/// From how many columns on everything about a row is shown.
const WIDE: usize = 60;

/// The keys of the tree, the most wanted first.
const MOVE_KEYS: [&str; 8] = [
    "enter go",
    "s +summary",
    "e edit",
    "f fork",
    "c copy",
    "l label",
    "/ find",
    "tab filter",
];

/// A drawn tree.
#[derive(Debug)]
pub struct Drawn {
    /// The first line.
    pub title: Line<'static>,
    /// The rows, and a line about the chosen one.
    pub rows: Vec<Line<'static>>,
    /// The last line.
    pub keys: Line<'static>,
}

/// Which rows are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// All of them.
    All,
    /// Those on the path to where the session stands.
    Path,
    /// Those with a label.
    Labelled,
    /// Compactions and summaries of branches.
    Summaries,
}

impl Filter {
    /// Returns the filter that the next key gives.
    pub(super) const fn next(self) -> Self {
        match self {
            Self::All => Self::Path,
            Self::Path => Self::Labelled,
            Self::Labelled => Self::Summaries,
            Self::Summaries => Self::All,
        }
    }

    /// Returns its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Path => "this branch",
            Self::Labelled => "labelled",
            Self::Summaries => "summaries",
        }
    }

    /// Returns whether it shows a row.
    pub(super) fn shows(self, row: &TreeRow) -> bool {
        match self {
            Self::All => true,
            Self::Path => row.is_active,
            Self::Labelled => row.label.is_some(),
            Self::Summaries => matches!(row.rank, Rank::Compaction | Rank::Branch),
        }
    }
}

impl TreeView {
    /// Draws the rows that have room.
    pub fn draw(&self, width: usize, height: usize, theme: Theme) -> Drawn {
        let turns = self
            .rows
            .iter()
            .filter(|row| row.rank == Rank::Turn)
            .count();
        let name = if self.name.is_empty() {
            "Session tree"
        } else {
            &self.name
        };
        let turns = counted(turns, "turn");
        let title = format!("{name}   {turns}, {}", counted(self.branches, "branch"));
        let page = room(height);
        let top = self.at.saturating_sub(page / 2);
        let top = top.min(self.visible.len().saturating_sub(page));
        let shown = self.visible.iter().enumerate().skip(top).take(page);
        let mut rows: Vec<Line<'static>> = shown
            .map(|(place, row)| self.row(*row, place == self.at, width, theme))
            .collect();
        rows.resize(page, Line::default());
        rows.push(self.answer(width, theme));
        rows.push(self.about(width, theme));
        let keys = match &self.mode {
            Mode::AskSummary => "summarize the branch that is left?  y yes   n no   esc stay",
            Mode::Move => &fitting(&MOVE_KEYS, "esc", "  ", width),
            Mode::Search => "type to find, enter keeps the rows, esc shows all",
            Mode::Label(_) => "enter sets the label, none removes it, esc keeps it",
        };
        Drawn {
            title: line(cut(&title, width), theme.bold()),
            rows,
            keys: line(cut(keys, width), theme.dim()),
        }
    }

    /// Returns a line with what was answered in the chosen row.
    fn answer(&self, width: usize, theme: Theme) -> Line<'static> {
        let row = self.chosen().map(|row| &self.rows[row]);
        let text = row.map_or("", |row| row.came(&self.tree).answer.as_str());
        match text {
            "" => Line::default(),
            text => line(cut(&format!("  -> {text}"), width), theme.dim()),
        }
    }

    fn about(&self, width: usize, theme: Theme) -> Line<'static> {
        let text = match &self.mode {
            Mode::Search => format!("find: {}_", self.query),
            Mode::Label(text) => format!("label: {text}_"),
            Mode::Move | Mode::AskSummary => {
                let place = match self.visible.is_empty() {
                    true => "no row".to_owned(),
                    false => format!("{} of {}", self.at + 1, self.visible.len()),
                };
                let mut filter = match self.query.is_empty() {
                    true => String::new(),
                    false => format!("   find: {}", self.query),
                };
                if self.filter != Filter::All {
                    filter.push_str(&format!("   only: {}", self.filter.name()));
                }
                let notice = self
                    .notice
                    .unwrap_or("files on disk are not changed by a move");
                let id = self.chosen().map(|row| self.tree.id(self.rows[row].first));
                let id = session_model::text::clean(id.unwrap_or_default());
                format!("{place}   {id}{filter}   {notice}")
            }
        };
        line(cut(&text, width), theme.dim())
    }

    fn row(&self, place: usize, is_chosen: bool, width: usize, theme: Theme) -> Line<'static> {
        let row = &self.rows[place];
        let (lead, mark) = row.lead();
        let arrow = if is_chosen { '>' } else { ' ' };
        let head = format!("{arrow} {lead}{mark} ");
        let label = row
            .label
            .as_ref()
            .map(|label| format!("  \"{}\"", session_model::text::clean(label)));
        let fold = if self.folded.contains(&place) {
            "  [folded]"
        } else {
            ""
        };
        let tools = match row.tools {
            0 => String::new(),
            tools => counted(tools, "tool"),
        };
        let size = tokens(row.came(&self.tree).tokens);
        let figures = match width {
            0..WIDE => format!("{size:>7}"),
            _ => format!("{tools:>9} {size:>7}"),
        };
        let here = if row.is_here && width >= WIDE {
            "  YOU ARE HERE"
        } else {
            ""
        };
        let behind = format!("{}{fold}{here}", label.unwrap_or_default());
        let behind = cut(&behind, width / 3);
        let used = columns(&head) + columns(&behind) + columns(&figures) + 1;
        let room = width.saturating_sub(used);
        let text = cut(row.text(&self.tree), room);
        let gap = room.saturating_sub(columns(&text));
        let style = match (is_chosen, row.is_active) {
            (true, _) => theme.chosen(),
            (false, true) => theme.plain(),
            (false, false) => theme.dim(),
        };
        Line::from(vec![
            Span::styled(format!("{head}{text}"), style),
            Span::styled(format!("{behind}{:gap$} ", ""), style.patch(theme.code())),
            Span::styled(figures, style),
        ])
    }
}
