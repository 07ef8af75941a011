//! Plain text tables.

/// Alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Align {
    Left,
    Right,
    Center,
}

/// A table
#[derive(Debug, Clone)]
pub struct Table {
    header: Vec<String>,
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(header: &[&str]) -> Table {
        let mut h = Vec::new();
        let mut a = Vec::new();
        for name in header {
            h.push(name.to_string());
            a.push(Align::Left);
        }
        Table {
            header: h,
            aligns: a,
            rows: Vec::new(),
        }
    }

    /// Sets the alignment of a column.
    pub fn align(&mut self, column: usize, align: Align) -> Result<(), String> {
        if column >= self.aligns.len() {
            return Err(format!("Column {} does not exist!", column));
        }
        self.aligns[column] = align;
        Ok(())
    }

    pub fn row(&mut self, cells: &[&str]) -> Result<(), String> {
        if cells.len() != self.header.len() {
            return Err(format!(
                "Row has {} cells but table has {} columns!",
                cells.len(),
                self.header.len()
            ));
        }
        self.rows.push(cells.iter().map(|c| c.to_string()).collect());
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for (i, name) in self.header.iter().enumerate() {
            let mut width = cell_width(name);
            for row in &self.rows {
                if cell_width(&row[i]) > width {
                    width = cell_width(&row[i]);
                }
            }
            widths.push(width);
        }
        widths
    }

    /// Renders as plain text with a line under the header.
    pub fn render(&self) -> String {
        let widths = self.widths();
        let mut out = String::new();
        let mut cells = Vec::new();
        for (i, name) in self.header.iter().enumerate() {
            cells.push(pad(name, widths[i], self.aligns[i]));
        }
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
        let mut rules = Vec::new();
        for w in &widths {
            rules.push("-".repeat(*w));
        }
        out.push_str(&rules.join("  "));
        out.push('\n');
        for row in &self.rows {
            let mut cells = Vec::new();
            for (i, cell) in row.iter().enumerate() {
                cells.push(pad(cell, widths[i], self.aligns[i]));
            }
            out.push_str(cells.join("  ").trim_end());
            out.push('\n');
        }
        out
    }

    /// Renders as markdown
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        out.push_str(&format!("| {} |\n", self.header.join(" | ")));
        let mut rules = Vec::new();
        for align in &self.aligns {
            rules.push(match align {
                Align::Left => "---",
                Align::Right => "--:",
                Align::Center => ":-:",
            });
        }
        out.push_str(&format!("|{}|\n", rules.join("|")));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(|c| c.replace('|', "\\|")).collect();
            out.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        out
    }
}

// copied from misc because of the wide chars
fn cell_width(s: &str) -> usize {
    let mut w = 0;
    for c in s.chars() {
        w += crate::misc::char_width(c);
    }
    w
}

fn pad(s: &str, width: usize, align: Align) -> String {
    let w = cell_width(s);
    if w >= width {
        return s.to_string();
    }
    let n = width - w;
    match align {
        Align::Left => format!("{}{}", s, " ".repeat(n)),
        Align::Right => format!("{}{}", " ".repeat(n), s),
        Align::Center => {
            let left = n / 2;
            format!("{}{}{}", " ".repeat(left), s, " ".repeat(n - left))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(&["name", "size"]);
        table.align(1, Align::Right).unwrap();
        table.row(&["a.txt", "12"]).unwrap();
        table.row(&["日本.txt", "1,024"]).unwrap();
        table
    }

    #[test]
    fn columns_line_up() {
        let expected = "name       size\n--------  -----\na.txt        12\n日本.txt  1,024\n";
        assert_eq!(sample().render(), expected);
    }

    #[test]
    fn markdown_marks_the_alignment() {
        assert!(sample().to_markdown().starts_with("| name | size |\n|---|--:|\n"));
    }

    #[test]
    fn a_row_of_another_length_is_refused() {
        let mut table = sample();
        assert!(table.row(&["only one"]).is_err());
        assert!(table.align(7, Align::Center).is_err());
        assert_eq!(table.len(), 2);
    }
}
