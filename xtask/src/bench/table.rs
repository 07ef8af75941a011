//! The figures as one table: as text, as Markdown, and all of them as JSON.

use serde_json::{Value, json};

use super::measure::{Row, Sample, median_peak, median_time};
use super::{compacting, live, trim};

const HEADINGS: [&str; 8] = [
    "entries",
    "measured",
    "ours ms",
    "ours MB",
    "pi ms",
    "pi MB",
    "ours / scan",
    "pi / ours",
];

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
}

impl Report {
    /// Returns the table for a terminal.
    pub fn text(&self) -> String {
        if self.rows.is_empty() {
            return self.others();
        }
        let cells = self.cells();
        let widths: Vec<usize> = (0..HEADINGS.len())
            .map(|column| {
                let all = cells.iter().map(|row| row[column].chars().count());
                all.max().unwrap_or(0).max(HEADINGS[column].len())
            })
            .collect();
        let mut out = line(&HEADINGS.map(str::to_owned), &widths);
        let mut before = "";
        for row in &cells {
            if row[0] != before && !before.is_empty() {
                out.push('\n');
            }
            before = &row[0];
            out.push_str(&line(row, &widths));
        }
        out.push('\n');
        for note in &self.notes {
            out.push_str(note);
            out.push('\n');
        }
        out + &self.others()
    }

    /// Returns the table in Markdown.
    pub fn markdown(&self) -> String {
        if self.rows.is_empty() {
            return self.others();
        }
        let mut out = format!("| {} |\n", HEADINGS.join(" | "));
        out.push_str("| ---: | :--- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
        for row in self.cells() {
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
        out
    }

    /// Returns every figure.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(row_json).collect();
        json!({
            "rows": rows,
            "notes": self.notes,
            "trimming": trim::json(&self.trimming),
            "compacting": compacting::json(&self.compacting),
            "living": live::json(&self.living),
        })
    }

    fn cells(&self) -> Vec<[String; 8]> {
        self.rows.iter().map(row_cells).collect()
    }
}

fn line(row: &[String; 8], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).enumerate();
    let cells: Vec<String> = cells
        .map(|(column, (cell, width))| match column {
            1 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        })
        .collect();
    format!("{}\n", cells.join("  ").trim_end())
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

fn row_json(row: &Row) -> Value {
    json!({
        "entries": row.entries,
        "bytes": row.bytes,
        "measured": row.label,
        "ours": samples_json(&row.ours),
        "pi": samples_json(&row.pi),
        "scan_nanoseconds": row.scan,
    })
}

fn samples_json(samples: &[Sample]) -> Value {
    let times: Vec<u64> = samples.iter().map(|sample| sample.nanoseconds).collect();
    match times.is_empty() {
        true => Value::Null,
        false => json!({
            "median_nanoseconds": median_time(samples),
            "peak_kilobytes": median_peak(samples),
            "nanoseconds": times,
        }),
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
