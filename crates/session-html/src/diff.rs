//! Differences: lines that go and come, and texts that are differences already.

use std::time::Duration;

use askama::filters::Html;
use similar::{ChangeTag, TextDiff};

/// The number of unchanged lines shown on each side.
const CONTEXT: usize = 3;

/// The time limit of the search for the smallest difference; after that a larger one is taken.
const SEARCH: Duration = Duration::from_millis(200);

/// Lines as HTML, and how many come and go.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub html: String,
    pub added: usize,
    pub removed: usize,
}

/// Returns the difference of two texts.
pub(crate) fn between(old: &str, new: &str) -> Difference {
    let found = TextDiff::configure().timeout(SEARCH).diff_lines(old, new);
    let mut difference = Difference::default();
    for (number, group) in found.grouped_ops(CONTEXT).iter().enumerate() {
        if number > 0 {
            difference
                .html
                .push_str("<span class=\"hunk\">\u{22ef}</span>\n");
        }
        for change in group.iter().flat_map(|op| found.iter_changes(op)) {
            difference.line(change.tag(), change.value().trim_end_matches(['\n', '\r']));
        }
    }
    difference
}

/// Returns a text as lines that all come.
pub(crate) fn all_new(text: &str) -> Difference {
    let mut difference = Difference::default();
    for line in text.lines() {
        difference.line(ChangeTag::Insert, line);
    }
    difference
}

impl Difference {
    fn line(&mut self, tag: ChangeTag, text: &str) {
        let (class, sign) = match tag {
            ChangeTag::Equal => ("same", ' '),
            ChangeTag::Delete => ("del", '-'),
            ChangeTag::Insert => ("add", '+'),
        };
        self.added += usize::from(tag == ChangeTag::Insert);
        self.removed += usize::from(tag == ChangeTag::Delete);
        self.html.push_str(&format!(
            "<span class=\"{class}\">{sign}{}</span>\n",
            escaped(text)
        ));
    }

    /// Adds another one.
    pub fn push(&mut self, other: &Self) {
        if !self.html.is_empty() {
            self.html.push_str("<span class=\"hunk\">\u{22ef}</span>\n");
        }
        self.html.push_str(&other.html);
        self.added += other.added;
        self.removed += other.removed;
    }
}

/// Returns a text as HTML, with coloured lines if it is a unified diff or a patch of Codex.
pub(crate) fn plain_or_diff(text: &str) -> String {
    let begins = |with: &str| text.starts_with(with) || text.contains(&format!("\n{with}"));
    let is_diff = (begins("@@ ") && begins("+++ ")) || begins("*** Begin Patch");
    if !is_diff {
        return escaped(text);
    }
    let lines = text.lines().map(|line| {
        let class = match line.as_bytes().first() {
            _ if line.starts_with("+++ ")
                || line.starts_with("--- ")
                || line.starts_with("*** ") =>
            {
                "hunk"
            }
            Some(b'+') => "add",
            Some(b'-') => "del",
            Some(b'@') => "hunk",
            _ => "same",
        };
        format!("<span class=\"{class}\">{}</span>\n", escaped(line))
    });
    lines.collect()
}

/// Returns a text with what HTML reads as markup escaped.
pub(crate) fn escaped(text: &str) -> String {
    askama::filters::escape(text, Html).map_or_else(|never| match never {}, |text| text.to_string())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::{between, plain_or_diff};

    #[test]
    fn lines_that_go_and_come_are_told_apart() {
        let difference = between("a\nb<\nc\n", "a\nd\nc\ne\n");
        assert_eq!((difference.added, difference.removed), (2, 1));
        assert_snapshot!(difference.html, @r#"
        <span class="same"> a</span>
        <span class="del">-b&#60;</span>
        <span class="add">+d</span>
        <span class="same"> c</span>
        <span class="add">+e</span>
        "#);
    }

    #[test]
    fn a_difference_in_an_output_is_recognized() {
        assert_snapshot!(plain_or_diff("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+<y>\n z"), @r#"
        <span class="hunk">--- a</span>
        <span class="hunk">+++ b</span>
        <span class="hunk">@@ -1 +1 @@</span>
        <span class="del">-x</span>
        <span class="add">+&#60;y&#62;</span>
        <span class="same"> z</span>
        "#);
        assert_eq!(plain_or_diff("- a\n+ b & c"), "- a\n+ b &#38; c");
    }
}
