//! The comparison as a table: one column a strategy, one line a figure.

use compaction_core::{LossKind, Strategy, TokenCount};

use super::Row;
use crate::ui::{BOLD, DIM, clean, first_line, padded, styled, tokens};
use session_text::plural;

/// How wide the names of the lines are, and each column.
const NAME: usize = 16;
const COLUMN: usize = 18;

/// A line of the table: what it shows, and the figure of each strategy.
pub(super) struct Line {
    pub name: &'static str,
    pub cells: Vec<String>,
}

/// Returns the lines that say something.
pub(super) fn lines(rows: &[Row]) -> Vec<Line> {
    let line = |name, cell: &dyn Fn(&Row) -> String| Line {
        name,
        cells: rows.iter().map(cell).collect(),
    };
    let figure = |row: &Row, figure: TokenCount| match row.remark() {
        Some(_) => "-".to_owned(),
        None => tokens(figure),
    };
    let mut lines = vec![
        line("tokens before", &|row| figure(row, row.tokens_before)),
        line("tokens after", &|row| figure(row, row.tokens_after)),
        line("summary", &|row| figure(row, row.summary_tokens)),
        line("of it ledger", &|row| match row.ledger_tokens {
            TokenCount::ZERO => "-".to_owned(),
            taken => figure(row, taken),
        }),
        line("written by", &|row| match (&row.failed, &row.by) {
            (Some(_), _) => "failed".to_owned(),
            (None, by) => by.as_deref().map_or("-".to_owned(), clean),
        }),
        line("would ask", &|row| match &row.estimate {
            None => "-".to_owned(),
            Some(asked) => format!("{}, {}", asked.requests, tokens(asked.request_tokens)),
        }),
        line("would cost", &|row| match &row.estimate {
            None => "-".to_owned(),
            Some(asked) => match asked.cost_usd {
                Some(cost) => format!("up to ${cost:.3}"),
                None => "not known".to_owned(),
            },
        }),
        line("requests", &|row| match row.requests_sent {
            0 => "none".to_owned(),
            sent => {
                let read = row.usage.input + row.usage.cache_read + row.usage.cache_write;
                format!("{sent}, {} read", tokens(TokenCount(read)))
            }
        }),
        line("cost", &|row| match (row.cost_usd, row.requests_sent) {
            (Some(cost), _) => format!("${cost:.3}"),
            (None, 0) => "nothing".to_owned(),
            (None, _) => "not known".to_owned(),
        }),
        line("seconds", &|row| format!("{:.1}", row.seconds)),
    ];
    for kind in LossKind::ALL {
        let share = |row: &Row| {
            let found = row.loss.of(*kind);
            share(found.verbatim + found.shortened, found.total)
        };
        lines.push(line(plural(*kind), &share));
    }
    lines.retain(|line| line.cells.iter().any(|cell| cell != "-"));
    lines
}

fn share(left: usize, total: usize) -> String {
    match total {
        0 => "-".to_owned(),
        _ => format!("{}% of {total}", left * 100 / total),
    }
}

/// Returns the table for people.
pub(super) fn text(rows: &[Row]) -> String {
    let mut head = " ".repeat(NAME);
    for row in rows {
        head.push_str(&format!("{:<COLUMN$}", row.strategy));
    }
    let mut text = format!("{}\n", styled(BOLD, head.trim_end()));
    for line in lines(rows) {
        let mut shown = format!("{:<NAME$}", line.name);
        for cell in &line.cells {
            shown.push_str(&padded(&first_line(cell, COLUMN - 1), COLUMN));
        }
        text.push_str(&format!("{}\n", shown.trim_end()));
    }
    for row in rows {
        if let Some(remark) = row.remark() {
            text.push_str(&format!("{}\n", clean(&remark)));
        }
    }
    let by_rules = |name| {
        rows.iter()
            .any(|row| row.strategy == name && row.by.as_deref() == Some("extractive"))
    };
    if by_rules(Strategy::ContextFull.name()) && by_rules(Strategy::Extractive.name()) {
        text.push_str(
            "context-full without a model is the same as extractive; name one with --model\n",
        );
    }
    let hint = "shares are of what would leave the context: what can still be read, whole or in part; nothing was changed\n";
    text.push_str(&styled(DIM, hint));
    text
}
