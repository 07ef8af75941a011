//! The picture in the README: what `compact` prints in a terminal, as SVG.

use std::process::Command;

use crate::run::{Outcome, output, release_binary, root, target, without_settings};

/// The size of one character cell, in pixels.
const CELL: (usize, usize) = (8, 17);
/// The margin around the text, in pixels.
const MARGIN: usize = 14;
/// How many lines are shown.
const LINES: usize = 60;

/// Writes `docs/compact.svg`.
pub fn run() -> Outcome {
    let folder = target().join("picture");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let out = "compacted.jsonl";
    match std::fs::remove_file(folder.join(out)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let text = output(
        without_settings(&mut Command::new(release_binary()?))
            .current_dir(&folder)
            .env("CLICOLOR_FORCE", "1")
            .arg("compact")
            .arg(root().join("examples/sessions/long.jsonl"))
            .args(["--out", out]),
    )?;
    let path = root().join("docs/compact.svg");
    std::fs::write(&path, svg(&text)).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}

/// The look of a run of characters.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Look {
    colour: Option<u8>,
    bold: bool,
    dim: bool,
}

impl Look {
    /// Takes one number of an escape sequence into account.
    fn take(&mut self, code: u8) {
        match code {
            0 => *self = Self::default(),
            1 => self.bold = true,
            2 => self.dim = true,
            30..=37 => self.colour = Some(code - 30),
            _ => {}
        }
    }

    fn attributes(self) -> String {
        const COLOURS: [&str; 8] = [
            "#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#e6edf3",
        ];
        let colour = self
            .colour
            .map_or("#e6edf3", |colour| COLOURS[usize::from(colour)]);
        let weight = if self.bold {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let opacity = if self.dim { " opacity=\"0.6\"" } else { "" };
        format!("fill=\"{colour}\"{weight}{opacity}")
    }
}

/// Returns the picture of a text with escape sequences.
fn svg(text: &str) -> String {
    let lines: Vec<&str> = text.lines().take(LINES).collect();
    let widest = lines
        .iter()
        .map(|line| plain_width(line))
        .max()
        .unwrap_or(0);
    let width = widest * CELL.0 + 2 * MARGIN;
    let height = lines.len() * CELL.1 + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n<g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\" xml:space=\"preserve\">\n"
    );
    for (row, line) in lines.iter().enumerate() {
        let y = MARGIN + (row + 1) * CELL.1 - 4;
        let mut column = 0;
        for (look, run) in runs(line) {
            let x = MARGIN + column * CELL.0;
            let count = run.chars().count();
            column += count;
            if !run.trim().is_empty() {
                out.push_str(&format!(
                    "<text x=\"{x}\" y=\"{y}\" textLength=\"{}\" {}>{}</text>\n",
                    count * CELL.0,
                    look.attributes(),
                    escaped(&run)
                ));
            }
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn plain_width(line: &str) -> usize {
    runs(line).iter().map(|(_, run)| run.chars().count()).sum()
}

/// Splits a line into runs of one look.
fn runs(line: &str) -> Vec<(Look, String)> {
    let mut look = Look::default();
    let mut runs: Vec<(Look, String)> = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("\u{1b}[") {
        runs.push((look, rest[..at].to_owned()));
        let sequence = &rest[at + 2..];
        let end = sequence.find('m').unwrap_or(sequence.len());
        for code in sequence[..end].split(';') {
            look.take(code.parse().unwrap_or(0));
        }
        rest = sequence.get(end + 1..).unwrap_or_default();
    }
    runs.push((look, rest.to_owned()));
    runs.retain(|(_, run)| !run.is_empty());
    runs
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{Look, runs};

    #[test]
    fn escape_sequences_become_looks() {
        let green = Look {
            colour: Some(2),
            bold: true,
            dim: false,
        };
        let found = runs("a\u{1b}[1m\u{1b}[32mb\u{1b}[0mc");
        let want = [(Look::default(), "a"), (green, "b"), (Look::default(), "c")];
        let want = want.map(|(look, run)| (look, run.to_owned()));
        assert_eq!(found, want);
    }
}
