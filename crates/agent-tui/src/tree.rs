//! The tree of a session on the whole screen: turns, branches, labels, compactions. Only visible rows are drawn.

mod rows;

use std::collections::BTreeSet;

use agent_session::Navigation;
use agent_session::runtime::{Command, Snapshot};
use agent_session::wording::{counted, tokens};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};
use session_model::{EntryId, Leaf, SessionTree};

use crate::text::{columns, cut, line};
use crate::theme::Theme;

pub use rows::{Rank, TreeRow};

/// How deep a branch is indented at most.
const DEEPEST: usize = 8;

/// From how many columns on everything about a row is shown.
const WIDE: usize = 60;

/// The tree of a session.
#[derive(Debug)]
pub struct TreeView {
    name: String,
    rows: Vec<TreeRow>,
    branches: usize,
    /// The rows that are neither folded nor filtered away, in their order.
    visible: Vec<usize>,
    /// The place of the chosen row among them.
    at: usize,
    /// The branches that are folded, by their first row.
    folded: BTreeSet<usize>,
    query: String,
    mode: Mode,
    /// Whether a move asks about a summary.
    offers_summary: bool,
}

/// What keys mean.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mode {
    Move,
    Search,
    Label(String),
    /// Whether what is left is summarized before the move.
    AskSummary,
}

/// What comes of a key.
#[derive(Debug)]
pub enum TreeStep {
    /// The view stays.
    Stay,
    /// The view closes.
    Close,
    /// The view closes, and the session moves.
    Go(Command),
    /// The view stays, and the session changes.
    Do(Command),
}

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

impl TreeView {
    /// Returns the tree of a session, where it stands chosen.
    pub fn of(session: &Snapshot) -> Self {
        let offers_summary = session.settings.branch_summary.enabled;
        Self::new(&session.tree, session.leaf, offers_summary)
    }

    fn new(tree: &SessionTree, leaf: Leaf, offers_summary: bool) -> Self {
        let rows = rows::rows(tree, leaf);
        let name = tree.name().unwrap_or_default();
        let mut view = Self {
            name: session_model::text::clean(&name),
            branches: tree.leaves().len(),
            rows,
            visible: Vec::new(),
            at: 0,
            folded: BTreeSet::new(),
            query: String::new(),
            mode: Mode::Move,
            offers_summary,
        };
        view.show(None);
        let here = view.rows.iter().position(|row| row.is_here);
        view.at = here.unwrap_or(view.rows.len().saturating_sub(1));
        view
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Finds out which rows are visible; keeps a row chosen.
    fn show(&mut self, keep: Option<usize>) {
        let query = self.query.to_lowercase();
        let mut hidden_below: Option<usize> = None;
        self.visible.clear();
        for (place, row) in self.rows.iter().enumerate() {
            if let Some(depth) = hidden_below {
                let ends = row.depth < depth || (row.depth == depth && (depth == 0 || row.opens));
                if !ends {
                    continue;
                }
                hidden_below = None;
            }
            if self.folded.contains(&place) {
                hidden_below = Some(row.depth);
            }
            if query.is_empty() || row.matches(&query) {
                self.visible.push(place);
            }
        }
        let last = self.visible.len().saturating_sub(1);
        self.at = match keep {
            Some(row) => self.visible.partition_point(|place| *place < row).min(last),
            None => self.at.min(last),
        };
    }

    fn chosen(&self) -> Option<usize> {
        self.visible.get(self.at).copied()
    }

    /// Takes a key on a screen of this height.
    pub fn key(&mut self, key: KeyEvent, height: usize) -> TreeStep {
        match self.mode.clone() {
            Mode::Move => self.move_key(key, height),
            Mode::Search => self.search_key(key),
            Mode::Label(text) => self.label_key(key, text),
            Mode::AskSummary => {
                self.mode = Mode::Move;
                match key.code {
                    KeyCode::Char('y') => self.go(true),
                    KeyCode::Char('n') | KeyCode::Enter => self.go(false),
                    _ => TreeStep::Stay,
                }
            }
        }
    }

    fn move_key(&mut self, key: KeyEvent, height: usize) -> TreeStep {
        let page = room(height);
        let last = self.visible.len().saturating_sub(1);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return TreeStep::Close,
            KeyCode::Esc if !self.query.is_empty() => {
                let keep = self.chosen();
                self.query.clear();
                self.show(keep);
            }
            KeyCode::Esc | KeyCode::Char('q') => return TreeStep::Close,
            KeyCode::Up | KeyCode::Char('k') => self.at = self.at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.at = (self.at + 1).min(last),
            KeyCode::PageUp => self.at = self.at.saturating_sub(page),
            KeyCode::PageDown => self.at = (self.at + page).min(last),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = last,
            KeyCode::Left => self.fold(),
            KeyCode::Right => {
                if let Some(row) = self.chosen() {
                    self.folded.remove(&row);
                    self.show(Some(row));
                }
            }
            KeyCode::Char('/') => self.mode = Mode::Search,
            KeyCode::Enter if self.offers_summary && !self.is_here() => {
                self.mode = Mode::AskSummary;
            }
            KeyCode::Enter => return self.go(false),
            KeyCode::Char('s') => return self.go(true),
            KeyCode::Char('e') => return self.edit(),
            KeyCode::Char('l') => {
                if let Some(row) = self.chosen() {
                    let label = self.rows[row].label.clone();
                    self.mode = Mode::Label(label.unwrap_or_default());
                }
            }
            _ => {}
        }
        TreeStep::Stay
    }

    fn search_key(&mut self, key: KeyEvent) -> TreeStep {
        let keep = self.chosen();
        match key.code {
            KeyCode::Enter => {
                self.mode = Mode::Move;
                return TreeStep::Stay;
            }
            KeyCode::Esc => {
                self.mode = Mode::Move;
                self.query.clear();
            }
            KeyCode::Backspace => {
                self.query.pop();
            }
            KeyCode::Char(letter) => self.query.push(letter),
            _ => {}
        }
        self.show(keep);
        TreeStep::Stay
    }

    fn label_key(&mut self, key: KeyEvent, mut text: String) -> TreeStep {
        match key.code {
            KeyCode::Esc => {
                self.mode = Mode::Move;
                return TreeStep::Stay;
            }
            KeyCode::Enter => {
                self.mode = Mode::Move;
                let Some(row) = self.chosen().and_then(|row| self.rows.get_mut(row)) else {
                    return TreeStep::Stay;
                };
                let label = (!text.trim().is_empty()).then(|| text.trim().to_owned());
                row.label.clone_from(&label);
                return TreeStep::Do(Command::LabelEntry {
                    id: EntryId::new(&row.first),
                    text: label,
                });
            }
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char(letter) => text.push(letter),
            _ => {}
        }
        self.mode = Mode::Label(text);
        TreeStep::Stay
    }

    /// Folds the branch of the chosen row.
    fn fold(&mut self) {
        let Some(row) = self.chosen() else {
            return;
        };
        let depth = self.rows[row].depth;
        let start = match depth {
            0 => row,
            _ => (0..=row)
                .rev()
                .find(|place| self.rows[*place].depth == depth && self.rows[*place].opens)
                .unwrap_or(row),
        };
        self.folded.insert(start);
        self.show(Some(start));
    }

    fn is_here(&self) -> bool {
        self.chosen().is_some_and(|row| self.rows[row].is_here)
    }

    fn go(&self, summarize: bool) -> TreeStep {
        match self.chosen().map(|row| &self.rows[row]) {
            None => TreeStep::Close,
            Some(row) if row.is_here => TreeStep::Close,
            Some(row) => TreeStep::Go(navigate(&row.last, summarize)),
        }
    }

    /// Goes to before a message of the user, whose text returns to the editor.
    fn edit(&self) -> TreeStep {
        match self.chosen().map(|row| &self.rows[row]) {
            Some(row) if row.rank == Rank::Turn => TreeStep::Go(navigate(&row.first, false)),
            Some(_) | None => TreeStep::Stay,
        }
    }

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
        rows.push(self.about(width, theme));
        let keys = match (&self.mode, width) {
            (Mode::AskSummary, _) => "summarize the branch that is left?  y yes   n no   esc stay",
            (Mode::Move, 0..70) => "enter go  s +summary  e edit  / find  esc",
            (Mode::Move, _) => {
                "enter go  s go+summarize  e edit message  left/right fold  l label  / find  esc"
            }
            (Mode::Search, _) => "type to find, enter keeps the rows, esc shows all",
            (Mode::Label(_), _) => "enter sets the label, none removes it, esc keeps it",
        };
        Drawn {
            title: line(cut(&title, width), theme.bold()),
            rows,
            keys: line(cut(keys, width), theme.dim()),
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
                let filter = match self.query.is_empty() {
                    true => String::new(),
                    false => format!("   find: {}", self.query),
                };
                let id = self.chosen().map(|row| self.rows[row].first.as_str());
                let id = session_model::text::clean(id.unwrap_or_default());
                format!("{place}   {id}{filter}   files on disk are not changed by a move")
            }
        };
        line(cut(&text, width), theme.dim())
    }

    fn row(&self, place: usize, is_chosen: bool, width: usize, theme: Theme) -> Line<'static> {
        let row = &self.rows[place];
        let mark = match (row.rank, row.is_active, row.is_here) {
            (_, _, true) => '@',
            (Rank::Compaction, ..) => 'C',
            (Rank::Branch, ..) => 's',
            (Rank::Turn | Rank::Other, true, false) => 'o',
            (Rank::Turn | Rank::Other, false, false) => 'x',
        };
        let depth = row.depth.min(DEEPEST);
        let lead = match (depth, row.opens) {
            (0, _) => String::new(),
            (depth, true) => format!("{}+-", "| ".repeat(depth - 1)),
            (depth, false) => "| ".repeat(depth),
        };
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
        let figures = match width {
            0..WIDE => format!("{:>7}", tokens(row.tokens)),
            _ => format!("{tools:>9} {:>7}", tokens(row.tokens)),
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
        let text = cut(&row.text, room);
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

/// Returns how many rows a screen of this height has for the tree.
fn room(height: usize) -> usize {
    height.saturating_sub(3).max(1)
}

fn navigate(target: &str, summarize: bool) -> Command {
    Command::Navigate(Navigation {
        target: Some(EntryId::new(target)),
        summarize,
        focus: None,
        label: None,
    })
}

#[cfg(test)]
mod tests;
