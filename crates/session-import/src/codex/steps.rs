//! What the second pass does with lines, as far as each tells by itself: that is found out on other threads.

use session_model::json::Members;
use std::ops::Range;

use session_model::{Span, Timestamp, Usage};

use super::items::{is_output, usage_of};
use super::lead::Lead;
use super::scan::{Scan, Segment};
use crate::input::Line;

/// The type of records of usage.
const USAGE: &str = "token_usage_record";

/// What the second pass does with a line. Ranges are those of texts of the block.
pub(super) enum Step {
    /// Takes a result of the call with this id.
    Output(Range<usize>),
    /// Takes usage of the response with this id.
    Usage {
        response: Range<usize>,
        usage: Usage,
        at: Option<Timestamp>,
    },
    /// Reads it.
    Whole(Range<usize>),
}

/// What is done with the lines of a block.
#[derive(Default)]
pub(super) struct Steps {
    pub list: Vec<(Span, Step)>,
    pub texts: String,
}

impl Steps {
    /// Takes in what is done with a line, if anything is.
    pub fn take(&mut self, line: &Line<'_>, scan: &Scan, segment: &Segment) {
        let lead = Lead::of(line.bytes).filter(|lead| segment.has(lead.ordinal));
        let step = match lead {
            Some(lead) if lead.is_display(scan) => return,
            // What a compaction kept is found by all of an item.
            Some(_) if scan.keeps_items => None,
            Some(lead) if is_output(lead.payload) => Some(Step::Output(self.add(lead.call_id))),
            Some(lead) if lead.kind == USAGE => self.usage(line, segment),
            _ => None,
        };
        let step = step.unwrap_or_else(|| Step::Whole(self.add(&line.text())));
        self.list.push((line.span, step));
    }

    fn usage(&mut self, line: &Line<'_>, segment: &Segment) -> Option<Step> {
        let text = line.text();
        let record = Members::parse(&text)?;
        // What is written twice may say something else behind the beginning.
        if record.text("type").as_deref() != Some(USAGE) || !segment.has(record.count("ordinal")) {
            return None;
        }
        let payload = record.object("payload").unwrap_or_default();
        let usage = payload.object("usage").unwrap_or_default();
        Some(Step::Usage {
            response: self.add(&payload.text("response_id").unwrap_or_default()),
            usage: usage_of(&usage),
            at: record.time("timestamp"),
        })
    }

    fn add(&mut self, text: &str) -> Range<usize> {
        let start = self.texts.len();
        self.texts.push_str(text);
        start..self.texts.len()
    }
}
