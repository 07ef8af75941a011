//! The bar of the status line: how full the window is, and how far it is to compaction.

use compaction_core::TokenCount;
use session_text::tokens;

/// How full the window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextFigures {
    /// Tokens of the context.
    pub tokens: u64,
    /// The window; 0 when unknown.
    pub window: u64,
    /// Compaction is due above this.
    pub threshold: Option<u64>,
    /// Whether the figure is an estimate.
    pub estimated: bool,
}

/// What follows a figure that the provider counted; `~` precedes one that is estimated, as all figures of cards are.
const BILLED: &str = " billed";

/// From so many columns on there is room for it.
const WIDE: usize = 72;

impl ContextFigures {
    /// Returns how much is used, and who counted.
    pub fn used(&self) -> String {
        let used = tokens(TokenCount(self.tokens));
        match self.estimated {
            true => format!("~{used}"),
            false => format!("{used}{BILLED}"),
        }
    }
}

/// The bar of the context.
#[derive(Debug, Clone, Copy)]
pub struct Gauge {
    /// The figures.
    pub figures: ContextFigures,
    /// Tokens of prompt and tools.
    pub fixed: u64,
}

impl Gauge {
    /// Returns the bar, brackets included: `#` prompt and tools, `=` conversation, `.` free, `!` where compaction is
    /// due.
    pub fn bar(&self, cells: usize) -> String {
        let cells = cells.saturating_sub(2).max(1);
        let window = self.figures.window.max(self.figures.tokens).max(1);
        let cell_of = |count: u64| {
            let cell = u128::from(count) * cells as u128 / u128::from(window);
            usize::try_from(cell).unwrap_or(cells).min(cells)
        };
        let filled = cell_of(self.figures.tokens).max(usize::from(self.figures.tokens > 0));
        let fixed = cell_of(self.fixed.min(self.figures.tokens));
        let trigger = self.figures.threshold.map(|at| cell_of(at).min(cells - 1));
        let cell = |place: usize| match place {
            place if trigger == Some(place) => '!',
            place if place < fixed => '#',
            place if place < filled => '=',
            _ => '.',
        };
        let row: String = (0..cells).map(cell).collect();
        format!("[{row}]")
    }

    /// Returns the figures: how much is used, and how much is left until compaction; in few columns without saying who
    /// counted.
    pub fn words(&self, width: usize) -> String {
        let used = self.figures.used();
        let used = match width {
            0..WIDE => used.trim_end_matches(BILLED),
            _ => &used,
        };
        format!("{used}  {}", self.left()).trim_end().to_owned()
    }

    /// Returns how much is left until compaction, or how far it is past it.
    pub fn left(&self) -> String {
        match self.figures.threshold {
            None => String::new(),
            Some(at) if self.figures.tokens > at => {
                format!("{} over", tokens(TokenCount(self.figures.tokens - at)))
            }
            Some(at) => format!("{} left", tokens(TokenCount(at - self.figures.tokens))),
        }
    }

    /// Returns whether compaction is near: less than 15 percent of the way is left.
    pub fn is_close(&self) -> bool {
        let near =
            |at: u64| self.figures.tokens >= at.saturating_sub(TokenCount(at).scaled(15, 100).0);
        self.figures.threshold.is_some_and(near)
    }
}
