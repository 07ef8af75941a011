//! Markdown of answers as lines for the screen, and how much of an answer that still grows is complete.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use session_model::text::clean_lines;

use crate::text::{columns, line, safe_line, safe_lines, wrap};
use crate::theme::Theme;

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Returns how many bytes at the beginning of a growing text are blocks that more text does not change.
pub fn complete(source: &str) -> usize {
    let mut depth = 0_usize;
    let mut last = 0;
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    last = range.start;
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => last = range.start,
            _ => {}
        }
    }
    // A block begins on its line, also where the parser leaves out its indentation.
    source[..last].rfind('\n').map_or(0, |at| at + 1)
}

/// Returns a Markdown text as lines of at most `width` columns. The text need not be trusted.
pub fn lines(source: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let source = safe_lines(source).join("\n");
    let mut page = Page {
        theme,
        width: width.max(10),
        lines: Vec::new(),
        spans: Vec::new(),
        styles: Vec::new(),
        indents: Vec::new(),
        lists: Vec::new(),
        code: None,
        is_diff: false,
        link: None,
        table: None,
        needs_gap: false,
    };
    for event in Parser::new_ext(&source, options()) {
        page.event(event);
    }
    page.flush();
    page.lines
}

/// What stands in front of the lines of a block.
struct Indent {
    /// In front of its first line.
    first: Option<Span<'static>>,
    /// In front of the others.
    rest: Span<'static>,
}

/// A table that is being read: its alignments, and its rows.
struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<String>>,
}

struct Page {
    theme: Theme,
    width: usize,
    lines: Vec<Line<'static>>,
    /// The paragraph that is being read.
    spans: Vec<Span<'static>>,
    styles: Vec<Style>,
    indents: Vec<Indent>,
    /// The numbers of the open lists' next items; none for bullets.
    lists: Vec<Option<u64>>,
    /// The text of the open block of code.
    code: Option<String>,
    /// The newest block of code is a diff.
    is_diff: bool,
    /// The address of the open link, and what is shown of it.
    link: Option<(String, String)>,
    table: Option<Table>,
    /// A blank line is due before the next block.
    needs_gap: bool,
}

impl Page {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, Style::new()),
            Event::Code(text) => self.text(&text, self.theme.code()),
            Event::Html(text) => {
                self.text(text.trim_end(), Style::new());
                self.flush();
            }
            Event::InlineHtml(text) => self.text(&text, Style::new()),
            // Quotes keep the lines in which they were said.
            Event::SoftBreak | Event::HardBreak => self.flush(),
            Event::Rule => {
                self.gap();
                self.spans.push(Span::styled("---", self.theme.dim()));
                self.flush();
                self.needs_gap = true;
            }
            Event::TaskListMarker(done) => {
                self.text(if done { "[x] " } else { "[ ] " }, Style::new());
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), Style::new()),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text, Style::new()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.styles.push(self.theme.bold());
            }
            Tag::Emphasis => self.styles.push(Style::new().italic()),
            Tag::Strong => self.styles.push(self.theme.bold()),
            Tag::Strikethrough => self.styles.push(Style::new().crossed_out()),
            Tag::BlockQuote(_) => {
                self.gap();
                self.indents.push(Indent {
                    first: None,
                    rest: Span::styled("> ", self.theme.dim()),
                });
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap();
                let is_diff = |name: &str| matches!(name, "diff" | "patch");
                self.is_diff = matches!(kind, CodeBlockKind::Fenced(name) if is_diff(&name));
                self.code = Some(String::new());
            }
            Tag::HtmlBlock => self.gap(),
            Tag::List(number) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(number);
            }
            Tag::Item => {
                self.flush();
                self.needs_gap = false;
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let marker = format!("{number}. ");
                        *number += 1;
                        marker
                    }
                    Some(None) | None => "- ".to_owned(),
                };
                let rest = " ".repeat(marker.len());
                self.indents.push(Indent {
                    first: Some(Span::raw(marker)),
                    rest: Span::raw(rest),
                });
            }
            Tag::Link { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), String::new()));
            }
            Tag::Image { dest_url, .. } => {
                self.text("image: ", self.theme.dim());
                self.link = Some((dest_url.into_string(), String::new()));
            }
            Tag::Table(alignments) => {
                self.gap();
                self.table = Some(Table {
                    alignments,
                    rows: Vec::new(),
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => {
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(String::new());
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.needs_gap = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
                self.needs_gap = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.indents.pop();
                self.needs_gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.needs_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                self.indents.pop();
                self.needs_gap = false;
            }
            TagEnd::Link | TagEnd::Image => {
                if let Some((address, shown)) = self.link.take()
                    && !address.trim().is_empty()
                    && address != shown
                {
                    let address = format!(" ({})", safe_line(&address));
                    self.text(&address, self.theme.dim());
                }
            }
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, style: Style) {
        // Entities may stand for control characters.
        let text = &clean_lines(text);
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return;
        }
        if let Some((_, shown)) = &mut self.link {
            shown.push_str(text);
        }
        let table = self.table.as_mut();
        if let Some(cell) = table.and_then(|table| table.rows.last_mut()?.last_mut()) {
            cell.push_str(text);
            return;
        }
        let style = self
            .styles
            .iter()
            .fold(Style::new(), |all, one| all.patch(*one))
            .patch(style);
        for (place, part) in text.split('\n').enumerate() {
            if place > 0 {
                self.flush();
            }
            if !part.is_empty() {
                self.spans.push(Span::styled(part.to_owned(), style));
            }
        }
    }

    /// Leaves a blank line before a block that is not the first.
    fn gap(&mut self) {
        if std::mem::take(&mut self.needs_gap) && !self.lines.is_empty() {
            let quotes = self.indents.iter().map(|indent| indent.rest.clone());
            self.lines.push(Line::from(quotes.collect::<Vec<_>>()));
        }
    }

    /// Returns what stands in front of the next line, and in front of those that follow it.
    fn prefixes(&mut self) -> (Vec<Span<'static>>, Vec<Span<'static>>) {
        let first = self.indents.iter_mut();
        let first = first.map(|indent| indent.first.take().unwrap_or(indent.rest.clone()));
        let first = first.collect();
        let rest = self.indents.iter().map(|indent| indent.rest.clone());
        (first, rest.collect())
    }

    /// Ends the paragraph that is being read.
    fn flush(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let text = Line::from(std::mem::take(&mut self.spans));
        self.push(&text);
    }

    fn push(&mut self, text: &Line<'_>) {
        let (first, rest) = self.prefixes();
        let used: usize = rest.iter().map(|span| columns(&span.content)).sum();
        let room = self.width.saturating_sub(used).max(8);
        for (place, line) in wrap(text, room, &Span::raw("")).into_iter().enumerate() {
            let mut spans = if place == 0 {
                first.clone()
            } else {
                rest.clone()
            };
            spans.extend(line.spans);
            self.lines.push(Line::from(spans));
        }
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        for text in code.lines() {
            let style = match text.chars().next().filter(|_| self.is_diff) {
                Some('+') => self.theme.good(),
                Some('-') => self.theme.bad(),
                Some(_) | None => self.theme.code(),
            };
            let indent = if text.is_empty() { "" } else { "  " };
            self.push(&line(format!("{indent}{text}"), style));
        }
        self.needs_gap = true;
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else {
            return;
        };
        let count = table.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of = |column: usize| {
            let cells = table.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| columns(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..count).map(width_of).collect();
        for (place, row) in table.rows.iter().enumerate() {
            let cells = widths.iter().enumerate().map(|(column, width)| {
                let cell = row.get(column).map_or("", String::as_str);
                let gap = width - columns(cell);
                let before = match table.alignments.get(column) {
                    Some(Alignment::Right) => gap,
                    Some(Alignment::Center) => gap / 2,
                    Some(Alignment::None | Alignment::Left) | None => 0,
                };
                let after = gap - before;
                format!("{:before$}{cell}{:after$}", "", "")
            });
            let text = cells.collect::<Vec<_>>().join("  ");
            let style = if place == 0 {
                self.theme.bold()
            } else {
                Style::new()
            };
            self.push(&line(text.trim_end(), style));
        }
        self.needs_gap = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{complete, lines};
    use crate::text::text_of;
    use crate::theme::Theme;

    fn check(source: &str, width: usize) -> String {
        let lines = lines(source, width, Theme::None);
        let texts: Vec<String> = lines.iter().map(text_of).collect();
        texts.join("\n")
    }

    #[test]
    fn markdown_becomes_lines_that_fit() {
        let source = "# Title\n\nSome *text* with `code` and a [link](https://e.com/x).\n\n- one that is long enough to wrap\n- two\n  1. inner\n\n```rust\nfn a() {}\n\n    b\n```\n\n> quoted\n\n| a | bb |\n|---|---:|\n| ccc | 1 |\n\n---\nend";
        insta::assert_snapshot!(check(source, 30), @"
        Title

        Some text with code and a link
        (https://e.com/x).

        - one that is long enough to
          wrap
        - two
          1. inner

          fn a() {}

              b

        > quoted

        a    bb
        ccc   1

        ---

        end
        ");
    }

    #[test]
    fn hostile_answers_steer_no_terminal() {
        let shown = check("a\u{1b}[2Jb &#27;[31m `\u{9b}x` [t](\u{202e}u)", 60);
        assert!(
            !shown.chars().any(session_model::text::misleads),
            "{shown:?}"
        );
    }

    #[test]
    fn only_blocks_that_more_text_does_not_change_are_complete() {
        assert_eq!(complete("one\n\ntwo"), 5);
        assert_eq!(complete("one\ntwo"), 0);
        assert_eq!(complete("one\n\n```\na\n\nb"), 5);
        assert_eq!(complete("- a\n- b\n\ntext"), 9);
        assert_eq!(complete(""), 0);
    }
}
