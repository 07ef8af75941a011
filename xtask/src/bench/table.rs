//! The figures as tables in Markdown, which terminals show well too.

use super::measure::{Row, median_peak, median_time};
use super::{compacting, live, terminal, trim};

/// Everything that was measured.
#[derive(Default)]
pub struct Report {
    /// The lines of the table.
    pub rows: Vec<Row>,
    /// What a reader must know about them.
    pub notes: Vec<String>,
    /// The figures of trimming.
    pub trimming: Vec<trim::Row>,
    /// The figures of compacting.
    pub compacting: Vec<compacting::Row>,
    /// The figures of a long life.
    pub living: Vec<live::Row>,
    /// The figures of the terminal.
    pub terminal: Option<terminal::Figures>,
}

impl Report {
    /// Returns the table in Markdown.
    pub fn markdown(&self) -> String {
        if self.rows.is_empty() {
            return self.others();
        }
        let mut out = "| entries | measured | ours ms | ours MB | pi ms | pi MB | ours / scan | pi / ours |\n".to_owned();
        out.push_str("| ---: | :--- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        for row in self.rows.iter().map(row_cells) {
            out.push_str(&format!("| {} |\n", row.join(" | ")));
        }
        out.push('\n');
        for note in &self.notes {
            out.push_str(&format!("- {note}\n"));
        }
        out + &self.others()
    }

    fn others(&self) -> String {
        let mut out = String::new();
        if !self.trimming.is_empty() {
            out.push_str(&format!(
                "\n## Trimming\n\n{}",
                trim::markdown(&self.trimming)
            ));
        }
        if !self.compacting.is_empty() {
            out.push_str(&format!(
                "\n## Compacting\n\n{}",
                compacting::markdown(&self.compacting)
            ));
        }
        if !self.living.is_empty() {
            out.push_str(&format!(
                "\n## A long life\n\n{}",
                live::markdown(&self.living)
            ));
        }
        if let Some(terminal) = &self.terminal {
            out.push_str(&format!(
                "\n## Terminal\n\n{}",
                terminal::markdown(terminal)
            ));
        }
        out
    }
}

fn row_cells(row: &Row) -> [String; 8] {
    let size = format!("{} ({:.1} MB)", row.entries, row.bytes as f64 / 1e6);
    let (ours, pi) = (median_time(&row.ours), median_time(&row.pi));
    [
        size,
        row.label.to_owned(),
        cell(ours.map(millis)),
        cell(median_peak(&row.ours).map(megabytes)),
        cell(pi.map(millis)),
        cell(median_peak(&row.pi).map(megabytes)),
        cell(quotient(ours, row.scan)),
        cell(quotient(pi, ours)),
    ]
}

fn cell(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// Returns nanoseconds as milliseconds.
pub fn millis(nanoseconds: u64) -> String {
    rounded(nanoseconds as f64 / 1e6)
}

/// Returns kilobytes as megabytes.
pub fn megabytes(kilobytes: u64) -> String {
    format!("{:.1}", kilobytes as f64 * 1024.0 / 1e6)
}

/// Returns how many times `under` is in `over`.
pub fn quotient(over: Option<u64>, under: Option<u64>) -> Option<String> {
    let under = under.filter(|under| *under > 0)?;
    Some(rounded(over? as f64 / under as f64) + "x")
}

/// Returns about three digits that mean something.
fn rounded(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{quotient, rounded};

    #[test]
    fn figures_have_three_digits_and_ratios_need_both_sides() {
        assert_eq!(
            [rounded(0.456), rounded(45.67), rounded(4567.8)],
            ["0.46", "45.7", "4568"]
        );
        assert_eq!(quotient(Some(30), Some(20)).as_deref(), Some("1.50x"));
        assert_eq!(quotient(Some(30), Some(0)), None);
        assert_eq!(quotient(None, Some(1)), None);
    }
}
