//! The figures as tables in Markdown, which terminals show well too.

/// A table of figures, and what a reader must know about them.
pub struct Table {
    /// The heading above it; none above the first.
    pub title: &'static str,
    /// The names of the columns.
    pub head: &'static [&'static str],
    /// The cells.
    pub rows: Vec<Vec<String>>,
    /// The notes below the table.
    pub notes: Vec<String>,
}

impl Table {
    /// Returns the table in Markdown. Columns of figures are aligned to the right.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let is_figure = |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let columns = 0..self.head.len();
        let aligned: Vec<String> = columns
            .map(
                |column| match self.rows.iter().all(|row| is_figure(&row[column])) {
                    true => "---:".to_owned(),
                    false => ":---".to_owned(),
                },
            )
            .collect();
        let mut out = match self.title {
            "" => String::new(),
            title => format!("\n## {title}\n\n"),
        };
        out.push_str(&format!("| {} |\n", self.head.join(" | ")));
        out.push_str(&line(&aligned));
        self.rows.iter().for_each(|row| out.push_str(&line(row)));
        out.push('\n');
        for note in &self.notes {
            out.push_str(&format!("- {note}\n"));
        }
        out
    }
}

/// Returns a figure, or a placeholder for a missing one.
pub fn cell(text: Option<String>) -> String {
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
    use super::{Table, quotient, rounded};

    #[test]
    fn figures_stand_to_the_right_and_words_to_the_left() {
        let table = Table {
            title: "Sizes",
            head: &["what", "ms"],
            rows: vec![vec!["a".to_owned(), "1.0".to_owned()]],
            notes: vec!["Measured.".to_owned()],
        };
        let want = "\n## Sizes\n\n| what | ms |\n| :--- | ---: |\n| a | 1.0 |\n\n- Measured.\n";
        assert_eq!(table.markdown(), want);
    }

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
