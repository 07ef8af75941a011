//! The tree of a session on the whole screen: turns, branches, labels, compactions. Only visible rows are drawn.

mod draw;

use std::collections::BTreeSet;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use session_model::{EntryId, EntryIndex, Leaf, SessionTree};
use session_protocol::Navigation;
use session_protocol::{Command, Snapshot};
use session_text::{Rank, TreeRow, tree_rows};

use draw::Filter;

/// The tree of a session.
#[derive(Debug)]
pub struct TreeView {
    tree: SessionTree,
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
    filter: Filter,
    mode: Mode,
    /// What the last key has done, where nothing else shows it.
    notice: Option<&'static str>,
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
    /// The view stays, and the text of an entry is copied.
    Copy(EntryId),
}

impl TreeView {
    /// Returns the tree of a session, where it stands chosen.
    pub fn of(session: &Snapshot) -> Self {
        let offers_summary = session.settings.branch_summary.enabled;
        Self::new(&session.tree, session.leaf, offers_summary)
    }

    fn new(tree: &SessionTree, leaf: Leaf, offers_summary: bool) -> Self {
        let rows = tree_rows(tree, leaf, &|_| true);
        let name = tree.name().unwrap_or_default();
        let mut view = Self {
            tree: tree.clone(),
            name: session_model::text::clean(&name),
            branches: tree.leaves().len(),
            rows,
            visible: Vec::new(),
            at: 0,
            folded: BTreeSet::new(),
            query: String::new(),
            filter: Filter::All,
            mode: Mode::Move,
            notice: None,
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
            if self.filter.shows(row) && (query.is_empty() || row.matches(&self.tree, &query)) {
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
        self.notice = None;
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
            KeyCode::Esc if !self.query.is_empty() || self.filter != Filter::All => {
                let keep = self.chosen();
                self.query.clear();
                self.filter = Filter::All;
                self.show(keep);
            }
            KeyCode::Tab => {
                let keep = self.chosen();
                self.filter = self.filter.next();
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
            KeyCode::Char('f') => {
                if let Some(row) = self.chosen() {
                    let entry = Some(self.id(self.rows[row].last));
                    return TreeStep::Go(Command::Fork { entry });
                }
            }
            KeyCode::Char('c') => {
                if let Some(row) = self.chosen() {
                    self.notice = Some("given to the terminal's clipboard");
                    return TreeStep::Copy(self.id(self.rows[row].first));
                }
            }
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
                let id = EntryId::new(self.tree.id(row.first));
                return TreeStep::Do(Command::LabelEntry { id, text: label });
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

    fn id(&self, entry: EntryIndex) -> EntryId {
        EntryId::new(self.tree.id(entry))
    }

    fn is_here(&self) -> bool {
        self.chosen().is_some_and(|row| self.rows[row].is_here)
    }

    fn go(&self, summarize: bool) -> TreeStep {
        match self.chosen().map(|row| &self.rows[row]) {
            None => TreeStep::Close,
            Some(row) if row.is_here => TreeStep::Close,
            Some(row) => TreeStep::Go(navigate(self.id(row.last), summarize)),
        }
    }

    /// Goes to before a message of the user, whose text returns to the editor.
    fn edit(&self) -> TreeStep {
        match self.chosen().map(|row| &self.rows[row]) {
            Some(row) if row.rank == Rank::Turn => {
                TreeStep::Go(navigate(self.id(row.first), false))
            }
            Some(_) | None => TreeStep::Stay,
        }
    }
}

/// Returns how many rows a screen of this height has for the tree.
fn room(height: usize) -> usize {
    height.saturating_sub(4).max(1)
}

fn navigate(target: EntryId, summarize: bool) -> Command {
    Command::Navigate(Navigation {
        target: Some(target),
        summarize,
        focus: None,
        label: None,
    })
}

#[cfg(test)]
mod tests;
