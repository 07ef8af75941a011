//! The bar of a context with colours: what fills the window, by category, with the trigger and the cut in it.

use anstyle::{AnsiColor, Style};
use compaction_core::TokenCount;

pub use session_text::context_bar::{Bar, Category, Cell, Shares};

use crate::ui::{BOLD, DIM, styled};

/// The window of a session's model.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Its tokens.
    pub tokens: TokenCount,
    /// Whether the model's own is not known.
    pub is_assumed: bool,
}

/// Returns the headline, the bar and its legend in lines of at most `width`; `billed` is what a provider counted.
pub fn section(bar: &Bar, title: &str, billed: Option<TokenCount>, width: usize) -> String {
    let headline = bar.headline(title, billed);
    let (line, legend) = (line(bar, width), bar.legend(width));
    format!(
        "{}\n{line}\n{}\n",
        styled(BOLD, &headline),
        styled(DIM, &legend)
    )
}

fn style_of(cell: Cell) -> Style {
    let colour = |category| match category {
        Category::System => AnsiColor::Cyan,
        Category::Summary => AnsiColor::Magenta,
        Category::User => AnsiColor::Green,
        Category::Answers => AnsiColor::Blue,
        Category::Outputs => AnsiColor::Yellow,
        Category::Other => AnsiColor::White,
    };
    match cell {
        Cell::Goes(category) => colour(category).on_default().dimmed(),
        Cell::Stays(category) => colour(category).on_default(),
        Cell::Cut | Cell::Trigger => AnsiColor::Red.on_default().bold(),
        Cell::Free | Cell::Reserve => DIM,
    }
}

/// Returns the bar in `cells` characters, brackets included.
fn line(bar: &Bar, cells: usize) -> String {
    let cells = bar.cells(cells);
    let runs = cells.chunk_by(|one, next| style_of(*one) == style_of(*next));
    let runs = runs.map(|run| {
        let letters: String = run.iter().map(|cell| cell.letter()).collect();
        styled(style_of(run[0]), &letters)
    });
    format!("[{}]", runs.collect::<String>())
}
