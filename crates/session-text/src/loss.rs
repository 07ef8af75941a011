//! What compactions took out of a context, in rows and sentences.

use compaction_core::{ContextLoss, KindLoss, LossKind};

/// How much of a kind the model can still read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossRow {
    /// The kind, as documents name it.
    pub kind: &'static str,
    /// The kind, as people read it.
    pub name: &'static str,
    /// The figures.
    pub figures: KindLoss,
}

impl LossRow {
    /// Returns the shares as ten cells in brackets: `=` verbatim, `-` in part, `.` not in context.
    pub fn bar(&self) -> String {
        let total = self.figures.total.max(1);
        let verbatim = self.figures.verbatim * 10 / total;
        let some =
            (self.figures.total - self.figures.gone - self.figures.not_searched) * 10 / total;
        let part = some.saturating_sub(verbatim);
        format!(
            "[{}{}{}]",
            "=".repeat(verbatim),
            "-".repeat(part),
            ".".repeat(10 - verbatim - part)
        )
    }

    /// Returns the figures in words.
    pub fn text(&self) -> String {
        remains(&self.figures)
    }
}

/// Returns what is left of a kind: `12 of 18 verbatim, 4 in part, 2 named`.
fn remains(figures: &KindLoss) -> String {
    let mut text = format!("{} of {} verbatim", figures.verbatim, figures.total);
    for (count, how) in [
        (figures.shortened, "in part"),
        (figures.named, "named"),
        (figures.not_searched, "not searched"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {how}"));
        }
    }
    text
}

/// Returns a row for each kind of which there was something.
pub fn loss_rows(loss: &ContextLoss) -> Vec<LossRow> {
    let rows = LossKind::ALL.iter().map(|kind| LossRow {
        kind: kind.name(),
        name: plural(*kind),
        figures: loss.of(*kind),
    });
    rows.filter(|row| row.figures.total > 0).collect()
}

/// Returns the name of a kind as people read it.
pub fn plural(kind: LossKind) -> &'static str {
    match kind {
        LossKind::UserMessage => "your messages",
        LossKind::Answer => "answers",
        LossKind::Result => "tool output",
        LossKind::Image => "images",
        LossKind::File => "files",
        LossKind::FailingCommand => "failing runs",
        LossKind::Todo => "open todos",
        _ => kind.name(),
    }
}

/// Returns how much of the user's messages the model can still read; `None` where none was taken out.
pub fn your_messages(loss: &ContextLoss) -> Option<String> {
    let figures = loss.of(LossKind::UserMessage);
    (figures.total > 0).then(|| remains(&figures))
}

/// Returns the same from the figures alone.
pub fn messages_left(figures: &KindLoss) -> String {
    format!("your messages: {}", remains(figures))
}
