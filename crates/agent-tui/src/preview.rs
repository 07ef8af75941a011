//! The preview of a compaction on the whole screen: what would stay, what would be summarized, and what is decided of
//! single entries.

use agent_session::runtime::choices::can_leave;
use agent_session::runtime::{NoPreview, Preview};
use compaction_core::{Disposition, TokenCount};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::{Line, Span};
use session_model::text::first_line;
use session_model::{AgentMessage, EntryId, without_private};
use session_protocol::{CompactionRequest, Snapshot};
use session_text::{counted, tokens, your_messages};

use crate::text::{columns, cut, fitting, line, safe_line, title, wrap};
use crate::theme::Theme;

/// The most characters of a row's text.
const TEXT: usize = 200;

/// What becomes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Keep,
    Summarize,
    Update,
    Pin,
    Drop,
}

impl Fate {
    const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Summarize => "summarize",
            Self::Update => "update",
            Self::Pin => "pin",
            Self::Drop => "drop",
        }
    }
}

/// An entry of the context.
#[derive(Debug)]
struct Row {
    id: EntryId,
    fate: Fate,
    who: String,
    text: String,
    tokens: TokenCount,
    can_drop: bool,
}

/// The preview of a compaction.
#[derive(Debug)]
pub struct PreviewView {
    /// What is asked for.
    pub request: CompactionRequest,
    title: String,
    facts: Vec<(&'static str, String)>,
    rows: Vec<Row>,
    at: usize,
}

/// What comes of a key.
#[derive(Debug)]
pub enum PreviewStep {
    /// The view stays.
    Stay,
    /// The view closes, and nothing has changed.
    Close,
    /// Something else is chosen, so it is planned anew.
    Plan(CompactionRequest),
    /// It is done.
    Run(CompactionRequest),
}

/// Returns the preview, or why there is none.
pub async fn preview(
    session: &Snapshot,
    request: &CompactionRequest,
) -> Result<PreviewView, NoPreview> {
    let found = Preview::of(session, request).await?;
    Ok(PreviewView {
        request: request.clone(),
        title: format!(
            "Preview: compact now   {} -> ~{}   nothing has changed yet",
            tokens(found.tokens_before),
            tokens(found.tokens_after)
        ),
        facts: facts(&found, request),
        rows: rows(session, &found, request),
        at: 0,
    })
}

fn facts(preview: &Preview, request: &CompactionRequest) -> Vec<(&'static str, String)> {
    let plan = &preview.plan;
    let (kept, kept_tokens) = preview.share(Disposition::Kept);
    let (old, old_tokens) = preview.share(Disposition::Summarized);
    let (prefix, prefix_tokens) = preview.share(Disposition::TurnPrefix);
    let mut facts = vec![
        (
            "keep",
            format!(
                "{} verbatim, {}",
                counted(kept, "entry"),
                tokens(kept_tokens)
            ),
        ),
        (
            "summarize",
            format!(
                "{}, {} into at most {}",
                counted(old + prefix, "entry"),
                tokens(old_tokens + prefix_tokens),
                tokens(plan.summary_cap)
            ),
        ),
    ];
    if !plan.ledger.is_empty() {
        let size = tokens(plan.ledger.tokens);
        facts.push((
            "ledger",
            format!("{size} quoted by code: messages, work, failures, todos"),
        ));
    }
    let read = plan.files.read_files().len();
    let changed = plan.files.modified_files().len();
    if read + changed > 0 {
        facts.push((
            "files",
            format!("{changed} changed, {read} only read, all named"),
        ));
    }
    if !plan.elisions.is_empty() {
        let count = counted(plan.elisions.len(), "output");
        facts.push(("shorten", format!("{count} too large for what is kept")));
    }
    if let Some(share) = preview.loss.as_ref().and_then(your_messages) {
        facts.push(("messages", format!("{share}, if no model writes")));
    }
    if let Some(focus) = &request.focus {
        facts.push(("focus", safe_line(focus)));
    }
    facts
}

fn rows(session: &Snapshot, preview: &Preview, request: &CompactionRequest) -> Vec<Row> {
    let planned = preview.plan.entries.iter().zip(&preview.context.entries);
    let choices = &request.choices;
    let mut rows = Vec::new();
    for (planned, projected) in planned {
        let id = &planned.entry_id;
        let is_dropped = choices.drop.contains(id);
        let fate = match planned.disposition {
            _ if is_dropped => Fate::Drop,
            Disposition::Summarized | Disposition::TurnPrefix if planned.pinned => Fate::Pin,
            Disposition::Summarized | Disposition::TurnPrefix => Fate::Summarize,
            Disposition::Kept | Disposition::Pruned => Fate::Keep,
            Disposition::PreviousSummary => Fate::Update,
            Disposition::System | Disposition::NoMessage => continue,
        };
        // What is left out is not in the context any more.
        let message = match is_dropped {
            false => projected.messages.first().cloned(),
            true => {
                let index = session.tree.find(id);
                let entry = index.and_then(|index| session.tree.entry(index).ok());
                entry.and_then(|entry| entry.messages().pop())
            }
        };
        let Some(message) = message else { continue };
        rows.push(Row {
            id: id.clone(),
            fate,
            who: who(&message),
            text: first_line(&without_private(&message.display_text()), TEXT),
            tokens: match is_dropped {
                true => preview.plan.profile.counter().message(&message),
                false => planned.tokens,
            },
            can_drop: can_leave(&message) && fate != Fate::Update,
        });
    }
    rows
}

fn who(message: &AgentMessage) -> String {
    match message {
        AgentMessage::ToolResult(result) => safe_line(&result.tool_name),
        other => other.role().to_owned(),
    }
}

impl PreviewView {
    /// Returns the same view, the row of another one chosen.
    pub fn at_row_of(mut self, before: &Self) -> Self {
        self.at = before.at.min(self.rows.len().saturating_sub(1));
        self
    }

    /// Takes a key on a screen of this height.
    pub fn key(&mut self, key: KeyEvent, height: usize) -> PreviewStep {
        let last = self.rows.len().saturating_sub(1);
        let page = self.room(height);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return PreviewStep::Close,
            KeyCode::Char('c') if control => return PreviewStep::Close,
            KeyCode::Up | KeyCode::Char('k') => self.at = self.at.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.at = (self.at + 1).min(last),
            KeyCode::PageUp => self.at = self.at.saturating_sub(page),
            KeyCode::PageDown => self.at = (self.at + page).min(last),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = last,
            KeyCode::Enter => return PreviewStep::Run(self.request.clone()),
            KeyCode::Char('e') => {
                let review = true;
                let request = self.request.clone();
                return PreviewStep::Run(CompactionRequest { review, ..request });
            }
            KeyCode::Char(' ') => return self.toggle(),
            _ => {}
        }
        PreviewStep::Stay
    }

    /// Goes to the next choice for an entry: as planned, pinned, left out.
    fn toggle(&mut self) -> PreviewStep {
        let Some(row) = self.rows.get(self.at) else {
            return PreviewStep::Stay;
        };
        let mut request = self.request.clone();
        let (pin, drop) = (&mut request.choices.pin, &mut request.choices.drop);
        let is_pinned = pin.contains(&row.id);
        pin.retain(|id| *id != row.id);
        drop.retain(|id| *id != row.id);
        match row.fate {
            Fate::Update => return PreviewStep::Stay,
            Fate::Drop => {}
            Fate::Summarize => pin.push(row.id.clone()),
            Fate::Keep | Fate::Pin if row.can_drop => drop.push(row.id.clone()),
            // What calls tools is not left out; one that was pinned before stays so.
            Fate::Pin if is_pinned => {}
            Fate::Keep | Fate::Pin => return PreviewStep::Stay,
        }
        PreviewStep::Plan(request)
    }

    /// Returns how many lines of facts a screen of this height shows.
    fn fact_rows(&self, height: usize) -> usize {
        self.facts.len().min(height.saturating_sub(8))
    }

    fn room(&self, height: usize) -> usize {
        height.saturating_sub(self.fact_rows(height) + 4).max(1)
    }

    /// Returns the first line, the lines below it, and the last line.
    pub fn draw(
        &self,
        width: usize,
        height: usize,
        theme: Theme,
    ) -> (Line<'static>, Vec<Line<'static>>, Line<'static>) {
        let rule = || line("-".repeat(width), theme.dim());
        let mut lines: Vec<Line<'static>> = self
            .facts
            .iter()
            .take(self.fact_rows(height))
            .map(|(name, text)| {
                Line::from(vec![
                    Span::styled(format!("  {name:<10}"), theme.dim()),
                    Span::raw(cut(text, width.saturating_sub(12))),
                ])
            })
            .collect();
        lines.push(rule());
        let page = self.room(height);
        let top = self.at.saturating_sub(page / 2);
        let top = top.min(self.rows.len().saturating_sub(page));
        let shown = self.rows.iter().enumerate().skip(top).take(page);
        let end = lines.len() + page;
        lines.extend(shown.map(|(place, row)| self.row(row, place == self.at, width, theme)));
        lines.resize(end, Line::default());
        lines.push(rule());
        let keys = [
            "enter compact",
            "space pin/drop",
            "e compact, summary edited first",
        ];
        (
            line(title(&self.title, width), theme.bold()),
            lines,
            line(fitting(&keys, "esc leave", "  ", width), theme.dim()),
        )
    }

    fn row(&self, row: &Row, is_chosen: bool, width: usize, theme: Theme) -> Line<'static> {
        let arrow = if is_chosen { '>' } else { ' ' };
        let head = format!("{arrow} {:<10}{:<11}", row.fate.name(), cut(&row.who, 10));
        let figure = format!("{:>7}", tokens(row.tokens));
        let room = width.saturating_sub(columns(&head) + columns(&figure) + 1);
        let text = cut(&row.text, room);
        let gap = room.saturating_sub(columns(&text)) + 1;
        let style = match (is_chosen, row.fate) {
            (true, _) => theme.chosen(),
            (false, Fate::Keep | Fate::Pin) => theme.good(),
            (false, Fate::Drop) => theme.bad(),
            (false, Fate::Summarize | Fate::Update) => theme.plain(),
        };
        line(format!("{head}{text}{:gap$}{figure}", ""), style)
    }

    /// Returns the preview as plain lines.
    pub fn lines(&self, width: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = vec![line(self.title.clone(), theme.bold())];
        for (name, text) in &self.facts {
            let whole = line(format!("  {name:<10}{text}"), theme.plain());
            lines.extend(wrap(&whole, width, &Span::raw("    ")));
        }
        lines
    }
}
