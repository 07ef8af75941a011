//! Lines of a result that are gathered until they are enough.

use crate::context::ToolLimits;

/// Lines, as many as a result may have.
#[derive(Debug)]
pub(super) struct Listing {
    text: String,
    lines: usize,
    limits: ToolLimits,
    full: bool,
}

impl Listing {
    /// Returns an empty one.
    pub(super) fn new(limits: &ToolLimits) -> Self {
        Self {
            text: String::new(),
            lines: 0,
            limits: *limits,
            full: false,
        }
    }

    /// Adds a line without its newline; returns false if it does not fit.
    pub(super) fn add(&mut self, line: &str) -> bool {
        let bytes = self.text.len() + line.len() + 1;
        let fits = bytes <= self.limits.output_bytes && self.lines < self.limits.output_lines;
        // The first one is shown however small the limits are; no line is endless.
        if self.full || !(fits || self.lines == 0) {
            self.full = true;
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
        true
    }

    /// Returns true if a line did not fit.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Returns how many lines there are.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Returns the text with notices at its end.
    pub(super) fn into_text(self, notices: &[String]) -> String {
        let mut text = self.text;
        for notice in notices {
            text.push_str(&format!("[{notice}]\n"));
        }
        text
    }
}
