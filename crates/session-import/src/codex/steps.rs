//! What the second pass does with lines, as far as each tells by itself: that is found out on other threads.

use session_model::Timestamp;

use super::items::is_output;
use super::lead::Lead;
use super::scan::{Scan, Segment};
use crate::emitter::PendingCall;
use crate::input::Line;

/// A part of an answer that can be read later.
pub(super) struct Part {
    pub id: Box<str>,
    pub at: Timestamp,
    pub call: Option<PendingCall>,
}

/// What the second pass does with a line.
pub(super) enum Step {
    /// Takes a result of the call with this id.
    Output(Box<str>),
    /// Leaves a part of an answer where it is.
    Part(Part),
    /// Reads it.
    Whole(String),
}

impl Step {
    /// Returns what is done with a line, if anything is; parts of answers are read unless they can be read `later`.
    pub fn of(line: &Line<'_>, scan: &Scan, segment: &Segment, later: bool) -> Option<Self> {
        let whole = || Self::Whole(line.text().into_owned());
        let lead = Lead::of(line.bytes).filter(|lead| segment.has(lead.ordinal));
        let Some(lead) = lead else {
            return Some(whole());
        };
        if lead.is_display(scan) {
            return None;
        }
        if is_output(lead.payload) {
            return Some(Self::Output(lead.call_id.into()));
        }
        let at = Timestamp::parse(lead.at).filter(|_| later);
        let part = at.and_then(|at| {
            let call = lead.calls()?;
            let id = lead.id.into();
            Some(Self::Part(Part { id, at, call }))
        });
        Some(part.unwrap_or_else(whole))
    }
}
