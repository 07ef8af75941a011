//! What is finished and stays in the terminal's scrollback: messages, answers, tool calls, cards, notices.

use compaction_core::TokenCount;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;
use session_protocol::event::CompactionResult;
use session_text::{Announcement, Tone, compaction_facts, compaction_title, tokens};

use crate::markdown;
use crate::text::{columns, cut, line, prefixed, safe_line, safe_lines, wrap};
use crate::theme::Theme;

/// A part of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// What opens a session.
    Header(Vec<String>),
    /// A message of the user.
    User(String),
    /// Markdown of the model: an answer, or a part of one.
    Answer(String),
    /// What the model thought.
    Thinking {
        /// The text.
        text: String,
        /// How long it took.
        seconds: f64,
    },
    /// A tool call that is done.
    Tool(Box<ToolCard>),
    /// A compaction.
    Compaction {
        /// Why it ran.
        reason: String,
        /// What it did.
        result: Box<CompactionResult>,
    },
    /// What an event said.
    Announcement(Announcement),
    /// Something went wrong.
    Error(String),
    /// What a command answered.
    Text(Vec<String>),
}

/// A tool call that is done.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCard {
    /// The tool.
    pub name: String,
    /// The call as people read it.
    pub call: String,
    /// How long it took.
    pub seconds: f64,
    /// Whether it failed.
    pub is_error: bool,
    /// The beginning of its result.
    pub output: String,
    /// Whether the result is longer than that.
    pub truncated: bool,
    /// What it did.
    pub details: Option<Value>,
}

/// How much of a block is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// What fits among others.
    Folded,
    /// All of it.
    Open,
}

/// How many lines of a diff or a message are shown folded.
const FOLDED_LINES: usize = 14;

/// Returns the lines, or the first of many, as the fold wants it.
fn folded(
    mut lines: Vec<Line<'static>>,
    indent: &str,
    width: usize,
    theme: Theme,
    fold: Fold,
) -> Vec<Line<'static>> {
    let left = lines.len().saturating_sub(FOLDED_LINES);
    if fold == Fold::Folded && left > 0 {
        lines.truncate(FOLDED_LINES);
        let more = format!("{indent}... {left} more lines, ctrl+o shows all");
        lines.push(line(cut(&more, width), theme.dim()));
    }
    lines
}

impl Block {
    /// Returns whether a blank line stands between `before` and this block.
    pub fn has_gap_after(&self, before: &Self) -> bool {
        !matches!(
            (before, self),
            (Self::Tool(_), Self::Tool(_))
                | (
                    Self::Announcement(_),
                    Self::Announcement(_) | Self::Error(_)
                )
                | (Self::Header(_), Self::Announcement(_) | Self::Error(_))
                | (Self::Tool(_) | Self::Text(_), Self::Announcement(_))
                | (Self::Announcement(_) | Self::Text(_), Self::Text(_))
        )
    }

    /// Returns the block in lines of at most `width` columns.
    pub fn lines(&self, width: usize, theme: Theme, fold: Fold) -> Vec<Line<'static>> {
        match self {
            Self::Header(parts) => joined(parts, width, theme.dim()),
            Self::User(text) => {
                let lines = prefixed(&safe_lines(text), "> ", width, theme.bold());
                folded(lines, "  ", width, theme, fold)
            }
            Self::Answer(text) => markdown::lines(text, width, theme),
            Self::Thinking { text, seconds } => thinking(text, *seconds, width, theme, fold),
            Self::Tool(card) => card.lines(width, theme, fold),
            Self::Compaction { reason, result } => compaction(reason, result, width, theme, fold),
            Self::Announcement(said) => {
                let (label, style) = match said.tone {
                    Tone::Mark => return joined(&said.parts, width, theme.dim()),
                    Tone::Note => ("note: ", theme.dim()),
                    Tone::Warning => ("warning: ", theme.warn()),
                };
                labelled(label, style, &said.parts.join(", "), width)
            }
            Self::Error(text) => labelled("error: ", theme.bad(), text, width),
            Self::Text(lines) => {
                let hang = Span::raw("    ");
                let lines = lines
                    .iter()
                    .flat_map(|text| wrap(&line(safe_line_end(text), theme.plain()), width, &hang));
                lines.collect()
            }
        }
    }
}

/// Returns a line without control characters whose indentation stays.
fn safe_line_end(text: &str) -> String {
    safe_lines(text).join(" ").trim_end().to_owned()
}

fn labelled(label: &str, style: Style, text: &str, width: usize) -> Vec<Line<'static>> {
    let text = safe_lines(text).join(" ");
    let whole = Line::from(vec![Span::styled(label.to_owned(), style), Span::raw(text)]);
    wrap(&whole, width, &Span::raw("  "))
}

/// Returns parts with commas between them.
fn joined(parts: &[String], width: usize, style: Style) -> Vec<Line<'static>> {
    let text = line(safe_line_end(&parts.join(", ")), style);
    wrap(&text, width, &Span::raw("   "))
}

fn thinking(
    text: &str,
    seconds: f64,
    width: usize,
    theme: Theme,
    fold: Fold,
) -> Vec<Line<'static>> {
    let words = text.split_whitespace().count();
    let title = format!("~ thought {seconds:.0}s, {words} words");
    let mut lines = vec![line(cut(&title, width), theme.dim())];
    if fold == Fold::Open {
        lines.extend(prefixed(&safe_lines(text), "  ", width, theme.dim()));
    }
    lines
}

impl ToolCard {
    fn lines(&self, width: usize, theme: Theme, fold: Fold) -> Vec<Line<'static>> {
        let (mark, style) = match self.is_error {
            true => ("x ", theme.bad()),
            false => ("* ", theme.good()),
        };
        let mut facts: Vec<String> = self.outcome().into_iter().collect();
        if self.seconds >= 1.0 {
            facts.push(format!("{:.1}s", self.seconds));
        }
        let facts: String = facts.iter().map(|fact| format!("  {fact}")).collect();
        let call = safe_line(&self.call);
        let mut lines = Vec::new();
        if fold == Fold::Open && columns(&call) + columns(&facts) + 2 > width {
            lines.extend(prefixed(&safe_lines(&self.call), mark, width, style));
            lines.push(line(facts, theme.dim()));
        } else {
            let room = width.saturating_sub(columns(&facts) + 2);
            lines.push(Line::from(vec![
                Span::styled(mark, style),
                Span::raw(cut(&call, room)),
                Span::styled(facts, theme.dim()),
            ]));
        }
        if self.is_users() && fold == Fold::Folded {
            let output = prefixed(&safe_lines(&self.output), "    ", width, theme.dim());
            lines.extend(folded(output, "    ", width, theme, fold));
        } else if self.is_error && fold == Fold::Folded {
            let why = session_model::text::first_line(&self.output, 2 * width.saturating_sub(4));
            lines.extend(prefixed(&[why], "    ", width, theme.dim()));
        }
        let diff = self.diff().map(safe_lines).unwrap_or_default();
        // The first two lines name the file, as the card does.
        let diff = diff.get(2..).unwrap_or_default();
        let changes = diff.iter().map(|text| {
            let style = match text.chars().next() {
                Some('+') => theme.good(),
                Some('-') => theme.bad(),
                Some(_) | None => theme.dim(),
            };
            line(cut(&format!("    {text}"), width), style)
        });
        lines.extend(folded(changes.collect(), "    ", width, theme, fold));
        if fold == Fold::Open && diff.is_empty() {
            lines.extend(prefixed(
                &safe_lines(&self.output),
                "    ",
                width,
                theme.dim(),
            ));
            if self.truncated {
                let more = "    ... the rest is in the session";
                lines.push(line(more, theme.dim()));
            }
        }
        lines
    }

    /// Returns whether the user ran it.
    fn is_users(&self) -> bool {
        self.name == "!"
    }

    fn diff(&self) -> Option<&str> {
        self.details.as_ref()?.get("diff")?.as_str()
    }

    /// Returns what came of it in a few letters.
    fn outcome(&self) -> Option<String> {
        let detail = |key: &str| self.details.as_ref()?.get(key)?.as_i64();
        if let Some(diff) = self.diff() {
            let count = |sign: char| {
                let lines = diff.lines().skip(2);
                lines.filter(|line| line.starts_with(sign)).count()
            };
            return Some(format!("+{} -{}", count('+'), count('-')));
        }
        if let Some(code) = detail("exit_code").filter(|code| *code != 0) {
            return Some(format!("exit {code}"));
        }
        if self.is_error {
            return Some("failed".to_owned());
        }
        if !matches!(
            self.name.as_str(),
            "!" | "bash" | "read" | "grep" | "find" | "ls"
        ) {
            return None;
        }
        let mut lines = self.output.lines();
        match (lines.next(), lines.count(), self.truncated) {
            (None, ..) | (Some("[no output]"), 0, _) => Some("no output".to_owned()),
            (Some(_), 0, false) => Some("1 line".to_owned()),
            (_, more, truncated) => {
                let plus = if truncated { "+" } else { "" };
                Some(format!("{}{plus} lines", more + 1))
            }
        }
    }
}

fn compaction(
    reason: &str,
    result: &CompactionResult,
    width: usize,
    theme: Theme,
    fold: Fold,
) -> Vec<Line<'static>> {
    let room = width.saturating_sub(5);
    let title = format!("-- {}", compaction_title(reason, result, room, columns));
    let rest = width.saturating_sub(columns(&title) + 1);
    let mut lines = vec![line(
        cut(&format!("{title} {}", "-".repeat(rest)), width),
        theme.bold(),
    )];
    let mut row = |name: &str, text: &str| {
        let whole = Line::from(vec![
            Span::styled(format!("   {name:<9}"), theme.dim()),
            Span::raw(safe_line(text)),
        ]);
        lines.extend(wrap(&whole, width, &Span::raw(" ".repeat(12))));
    };
    let facts = compaction_facts(result);
    if !facts.is_empty() {
        row("entries", &facts.join(", "));
    }
    if result.ledger_tokens > 0 {
        let ledger = tokens(TokenCount(result.ledger_tokens));
        row(
            "ledger",
            &format!("{ledger} tokens quoted by code: messages, files, failures"),
        );
    }
    if result.first_kept_entry_id.is_some() {
        row(
            "on disk",
            "every entry; /recall finds what is out of context",
        );
    }
    let keys = match result.summary.is_some() {
        _ if result.strategy == "handoff" => "/recall WORDS finds what was said before",
        true => "/undo takes it back   /loss what went   ctrl+o reads the summary",
        false => "/undo takes it back   /loss what went",
    };
    row("", keys);
    if fold == Fold::Open
        && let Some(summary) = &result.summary
    {
        lines.push(Line::default());
        let room = width.saturating_sub(3);
        for text in markdown::lines(summary, room, theme) {
            let mut spans = vec![Span::raw("   ")];
            spans.extend(text.spans);
            lines.push(Line::from(spans));
        }
    }
    lines
}
