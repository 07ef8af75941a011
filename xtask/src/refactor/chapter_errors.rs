//! Second turn, second half: one error type for everything but templates, which come later.

use super::script::{Line, User, act, edit, read, read_at, say, sh, think, write};

/// Returns the lines of the second half of the turn.
pub fn lines() -> Vec<Line> {
    let mut lines = one_type();
    lines.extend(tables_and_slugs());
    lines.extend(numbers());
    lines.extend(closing());
    lines
}

const ERROR: &str = r#"
//! The one error of the crate.

use std::fmt;

/// What goes wrong in this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A text is not the number, size or Roman numeral that it should be.
    Number {
        /// What it should be.
        expected: &'static str,
        /// The text.
        text: String,
    },
    /// Nothing of a text can stand in a slug.
    Slug {
        /// The text.
        text: String,
    },
    /// A table has no such column.
    Column {
        /// The column, counted from 0.
        column: usize,
        /// How many there are.
        columns: usize,
    },
    /// A row has more or fewer cells than the table has columns.
    Row {
        /// The cells of the row.
        cells: usize,
        /// The columns of the table.
        columns: usize,
    },
    /// An escape sequence means nothing.
    Escape {
        /// The sequence.
        sequence: String,
    },
    /// Changes were made from another text.
    Patch {
        /// The line that differs, counted from 1.
        line: usize,
    },
    /// A template or one of its filters cannot be used.
    Template {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { expected, text } => write!(f, "{text:?} is no {expected}"),
            Self::Slug { text } => write!(f, "{text:?} leaves nothing for a slug"),
            Self::Column { column, columns } => {
                write!(f, "there is no column {column}; the table has {columns}")
            }
            Self::Row { cells, columns } => {
                write!(f, "the row has {cells} cells; the table has {columns} columns")
            }
            Self::Escape { sequence } => write!(f, "the escape {sequence} means nothing"),
            Self::Patch { line } => write!(f, "line {line} is not what the changes start from"),
            Self::Template { reason } => write!(f, "template: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_what_is_wrong() {
        let error = Error::Row { cells: 1, columns: 2 };
        assert_eq!(error.to_string(), "the row has 1 cells; the table has 2 columns");
        let error = Error::Number { expected: "size", text: "3 parsecs".to_string() };
        assert_eq!(error.to_string(), "\"3 parsecs\" is no size");
    }
}
"#;

fn one_type() -> Vec<Line> {
    vec![
        act(
            "Errors now. Where are they made, and who reads them?",
            vec![
                sh("grep -n 'Err(' src/*.rs"),
                sh("grep -n 'Error' src/*.rs tests/*.rs"),
                read("src/lib.rs"),
            ],
        ),
        act(
            "",
            vec![
                read("src/errors.rs"),
                sh("grep -n 'pub fn.*Result' src/*.rs"),
                read("TODO.md"),
            ],
        ),
        think(
            "TextError is used nowhere outside its file and lib.rs. One enum `Error` in error.rs, lower-case messages, variants with fields instead of formatted strings. Templates get one variant for now.",
            "`TextError` has no users, so it can go. One enum `Error` with fields and lower-case messages:",
            vec![write("src/error.rs", ERROR)],
        ),
        act("", vec![sh("rm src/errors.rs")]),
        act(
            "",
            vec![edit(
                "src/lib.rs",
                &[
                    ("pub mod errors;\n", "pub mod error;\n"),
                    ("pub use errors::TextError;\n", "pub use error::Error;\n"),
                ],
            )],
        ),
    ]
}

fn tables_and_slugs() -> Vec<Line> {
    vec![
        act("", vec![read("src/error.rs"), read("src/lib.rs")]),
        act(
            "",
            vec![
                read("src/table.rs"),
                sh("grep -n 'is_err\\|unwrap()' src/table.rs tests/smoke.rs"),
            ],
        ),
        act(
            "Tables first.",
            vec![edit(
                "src/table.rs",
                &[
                    (
                        "use crate::width::",
                        "use crate::error::Error;\nuse crate::width::",
                    ),
                    (
                        "    pub fn align(&mut self, column: usize, align: Align) -> Result<(), String> {\n        if column >= self.aligns.len() {\n            return Err(format!(\"Column {} does not exist!\", column));\n        }\n        self.aligns[column] = align;\n        Ok(())\n",
                        "    pub fn align(&mut self, column: usize, align: Align) -> Result<(), Error> {\n        let columns = self.aligns.len();\n        let place = self.aligns.get_mut(column);\n        *place.ok_or(Error::Column { column, columns })? = align;\n        Ok(())\n",
                    ),
                    (
                        "    pub fn row(&mut self, cells: &[&str]) -> Result<(), String> {\n        if cells.len() != self.header.len() {\n            return Err(format!(\n                \"Row has {} cells but table has {} columns!\",\n                cells.len(),\n                self.header.len()\n            ));\n        }\n",
                        "    pub fn row(&mut self, cells: &[&str]) -> Result<(), Error> {\n        let (cells_given, columns) = (cells.len(), self.header.len());\n        if cells_given != columns {\n            return Err(Error::Row { cells: cells_given, columns });\n        }\n",
                    ),
                ],
            )],
        ),
        act(
            "The test can now say which error it wants.",
            vec![edit(
                "src/table.rs",
                &[(
                    "        assert!(table.row(&[\"only one\"]).is_err());\n        assert!(table.align(7, Align::Center).is_err());\n",
                    "        assert_eq!(table.row(&[\"only one\"]), Err(Error::Row { cells: 1, columns: 2 }));\n        let missing = Error::Column { column: 7, columns: 2 };\n        assert_eq!(table.align(7, Align::Center), Err(missing));\n",
                )],
            )],
        ),
        act(
            "",
            vec![read("src/table.rs"), sh("grep -n 'Error::' src/*.rs")],
        ),
        act("", vec![read("src/slug.rs")]),
        act(
            "`SlugError` goes.",
            vec![edit(
                "src/slug.rs",
                &[
                    (
                        "use std::collections::HashMap;\n\n#[derive(Debug)]\npub struct SlugError {\n    pub input: String,\n}\n\nimpl std::fmt::Display for SlugError {\n    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {\n        write!(f, \"nothing left of {:?}\", self.input)\n    }\n}\n\nimpl std::error::Error for SlugError {}\n",
                        "use std::collections::HashMap;\n\nuse crate::error::Error;\n",
                    ),
                    (
                        "pub fn slugify(s: &str) -> Result<String, SlugError> {",
                        "pub fn slugify(s: &str) -> Result<String, Error> {",
                    ),
                    (
                        "pub fn slugify_with(s: &str, separator: char, max: usize) -> Result<String, SlugError> {",
                        "pub fn slugify_with(s: &str, separator: char, max: usize) -> Result<String, Error> {",
                    ),
                    (
                        "        return Err(SlugError {\n            input: s.to_string(),\n        });\n",
                        "        return Err(Error::Slug { text: s.to_string() });\n",
                    ),
                    (
                        "    pub fn slug(&mut self, s: &str) -> Result<String, SlugError> {",
                        "    pub fn slug(&mut self, s: &str) -> Result<String, Error> {",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/slug.rs",
                &[
                    (
                        "    if folded == \"\" && c.is_ascii() {",
                        "    if folded.is_empty() && c.is_ascii() {",
                    ),
                    (
                        "        *count = *count + 1;\n        if *count == 1 {\n            return Ok(base);\n        }\n        let n = *count;\n        Ok(format!(\"{}-{}\", base, n))\n",
                        "        *count += 1;\n        match *count {\n            1 => Ok(base),\n            n => Ok(format!(\"{base}-{n}\")),\n        }\n",
                    ),
                    (
                        "        Slugger {\n            seen: HashMap::new(),\n        }\n",
                        "        Self::default()\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![
                sh("grep -rn 'SlugError\\|TextError' src tests || true"),
                read("src/slug.rs"),
                read("src/error.rs"),
            ],
        ),
    ]
}

fn numbers() -> Vec<Line> {
    vec![
        act(
            "Numbers.",
            vec![read("src/number.rs"), sh("grep -n 'BytesError' src/*.rs")],
        ),
        think(
            "BytesError has three variants that nobody distinguishes. Error::Number with expected 'size', 'grouped number', 'Roman numeral'. parse_grouped: '--5' is taken as -5 by trim_start_matches; make that an error. i64::MIN cannot be parsed back: parse the sign together with the digits.",
            "`parse_grouped` also accepts `--5` and refuses `i64::MIN`; parsing the sign with the digits mends both.",
            vec![edit(
                "src/number.rs",
                &[
                    (
                        "/// error of parse_bytes\n#[derive(Debug, PartialEq)]\npub enum BytesError {\n    Empty,\n    BadNumber,\n    BadUnit(String),\n}\n",
                        "use crate::error::Error;\n",
                    ),
                    (
                        "pub fn parse_grouped(s: &str) -> Result<i64, String> {\n    let t = s.trim();\n    let negative = t.starts_with('-');\n    let t = t.trim_start_matches('-');\n    if t.is_empty() {\n        return Err(\"empty number\".to_string());\n    }\n    let groups: Vec<&str> = t.split(',').collect();\n    for (i, g) in groups.iter().enumerate() {\n        if i > 0 && g.len() != 3 {\n            return Err(format!(\"Bad group {:?} in {:?}\", g, s));\n        }\n        if i == 0 && groups.len() > 1 && (g.is_empty() || g.len() > 3) {\n            return Err(format!(\"Bad group {:?} in {:?}\", g, s));\n        }\n    }\n    let plain = groups.concat();\n    match plain.parse::<i64>() {\n        Ok(n) => Ok(if negative { -n } else { n }),\n        Err(e) => Err(e.to_string()),\n    }\n}\n",
                        "pub fn parse_grouped(s: &str) -> Result<i64, Error> {\n    let wrong = || Error::Number {\n        expected: \"grouped number\",\n        text: s.to_string(),\n    };\n    let (sign, digits) = match s.trim().strip_prefix('-') {\n        Some(digits) => (\"-\", digits),\n        None => (\"\", s.trim()),\n    };\n    let groups: Vec<&str> = digits.split(',').collect();\n    let all_digits = digits.chars().all(|c| c.is_ascii_digit() || c == ',');\n    let first_fits = groups.len() == 1 || (1..=3).contains(&groups[0].len());\n    let rest_fits = groups[1..].iter().all(|group| group.len() == 3);\n    if !(all_digits && first_fits && rest_fits) {\n        return Err(wrong());\n    }\n    format!(\"{sign}{}\", groups.concat()).parse().map_err(|_| wrong())\n}\n",
                    ),
                ],
            )],
        ),
        act(
            "",
            vec![edit(
                "src/number.rs",
                &[
                    (
                        "pub fn parse_bytes(s: &str) -> Result<u64, BytesError> {\n    let s = s.trim();\n    if s.is_empty() {\n        return Err(BytesError::Empty);\n    }\n",
                        "pub fn parse_bytes(s: &str) -> Result<u64, Error> {\n    let wrong = || Error::Number {\n        expected: \"size\",\n        text: s.to_string(),\n    };\n    let s = s.trim();\n",
                    ),
                    (
                        "    let number: f64 = match s[..split].parse() {\n        Ok(n) => n,\n        Err(_) => return Err(BytesError::BadNumber),\n    };\n",
                        "    let number: f64 = s[..split].parse().map_err(|_| wrong())?;\n",
                    ),
                    (
                        "        _ => return Err(BytesError::BadUnit(unit.to_string())),\n",
                        "        _ => return Err(wrong()),\n",
                    ),
                    (
                        "pub fn from_roman(s: &str) -> Result<u32, String> {",
                        "pub fn from_roman(s: &str) -> Result<u32, Error> {",
                    ),
                    (
                        "        return Err(format!(\"Not a roman number: {}\", s));\n",
                        "        return Err(Error::Number {\n            expected: \"Roman numeral\",\n            text: s.to_string(),\n        });\n",
                    ),
                ],
            )],
        ),
        act("", vec![read("src/number.rs")]),
        act(
            "A test for the two cases that changed.",
            vec![edit(
                "src/number.rs",
                &[(
                    "        assert!(parse_grouped(\"12,34\").is_err());\n",
                    "        assert_eq!(parse_grouped(&group_thousands(i64::MIN)), Ok(i64::MIN));\n        assert!(parse_grouped(\"--5\").is_err());\n        assert!(parse_grouped(\"12,34\").is_err());\n",
                )],
            )],
        ),
        act(
            "",
            vec![
                read("src/number.rs"),
                sh("grep -n 'BytesError\\|Result<.*String>\\|static str>' src/*.rs || true"),
            ],
        ),
    ]
}

fn closing() -> Vec<Line> {
    vec![
        act("The rest of the errors belongs to escape, diff, filters and template. Before I stop, one look at what the two halves touched.", vec![read("src/lib.rs"), read("src/error.rs"), read("src/slug.rs")]),
        act("", vec![read("src/table.rs"), read("src/width.rs"), sh("grep -c '' src/*.rs")]),
        act("", vec![sh("cat TODO.md"), read_at("tests/smoke.rs", 1, 20)]),
        say(
            "Widths and padding are in `width.rs` alone (was `misc.rs`; all function names kept). `Error` in `error.rs` replaces `TextError`, `SlugError`, `BytesError` and the strings of `table.rs` and `number.rs`; messages are lower case. `Table::render` is as it was, `table_format` untouched.

Also mended: `parse_grouped` took `--5` for -5 and could not read `i64::MIN`.

Still with errors of their own: `escape`, `diff`, `filters`, `template`.",
        ),
        Line::User(User::Prompt(
            "Fine. Next the module names, the two failing tests, and docs for case conversion, numbers, wrapping, tables and slugs. Tick things off in TODO.md as you go.",
        )),
    ]
}
