//! What compactions took out of a context, in rows and shares.

use compaction_core::{ContextLoss, LiteralKind};

use super::counted;

/// How much of a kind of facts is in context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossRow {
    /// The kind, as documents name it.
    pub kind: &'static str,
    /// The kind, as people read it.
    pub name: &'static str,
    /// How many are left.
    pub left: usize,
    /// Of how many.
    pub total: usize,
    /// How they are left: in context, or verbatim.
    pub how: &'static str,
}

impl LossRow {
    /// Returns the share as ten cells in brackets.
    pub fn bar(&self) -> String {
        let filled = self.left * 10 / self.total.max(1);
        format!("[{}{}]", "=".repeat(filled), ".".repeat(10 - filled))
    }

    /// Returns the share in whole percent, rounded down.
    pub fn percent(&self) -> usize {
        self.left * 100 / self.total.max(1)
    }

    /// Returns the share in figures.
    pub fn figures(&self) -> String {
        let Self {
            left, total, how, ..
        } = self;
        format!("{:>3}%  {left} of {total} {how}", self.percent())
    }
}

/// Returns a row for each kind of which there was something.
pub fn loss_rows(loss: &ContextLoss) -> Vec<LossRow> {
    let kinds = LiteralKind::ALL.into_iter().filter_map(|kind| {
        let found = loss.kinds.get(kind.name())?;
        Some(LossRow {
            kind: kind.name(),
            name: plural(kind),
            left: found.in_context,
            total: found.total,
            how: "in context",
        })
    });
    let said = [
        ("user_messages", "your messages", loss.user_messages),
        ("rules", "your rules", loss.rules),
    ];
    let said = said.into_iter().map(|(kind, name, found)| LossRow {
        kind,
        name,
        left: found.verbatim,
        total: found.total,
        how: "verbatim",
    });
    kinds.chain(said).filter(|row| row.total > 0).collect()
}

/// Returns the name of a kind as people read it.
pub fn plural(kind: LiteralKind) -> &'static str {
    match kind {
        LiteralKind::Path => "paths",
        LiteralKind::Error => "errors",
        LiteralKind::Number => "figures",
        LiteralKind::Identifier => "names",
        LiteralKind::Url => "addresses",
        LiteralKind::Command => "commands",
    }
}

/// Returns a share in whole percent, rounded down: 100% is all of it.
pub fn whole_percent(percent: f64) -> String {
    format!("{:.0}", percent.floor())
}

/// Returns how much of what can be checked stays in context; `None` where nothing can be checked.
pub fn in_context(loss: &ContextLoss) -> Option<String> {
    let percent = loss.in_context_percent()?;
    let total = loss.total();
    let rest = match total - loss.in_context() {
        0 => String::new(),
        rest => format!("; recall finds the other {rest}"),
    };
    let rules = match loss.rules.total {
        0 => String::new(),
        total => format!(", {} of {total} rules", loss.rules.verbatim),
    };
    Some(format!(
        "{}% of {} that can be checked{rules}{rest}",
        whole_percent(percent),
        counted(total, "fact")
    ))
}
