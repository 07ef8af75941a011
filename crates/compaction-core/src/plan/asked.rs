//! The requests of a plan to a summarizer.

use crate::plan::CompactionPlan;
use crate::plan::requests::{CannotShrink, RequestSource, WindowTooSmall, build_requests};
use crate::request::{Carried, SummaryRequest};

impl CompactionPlan {
    /// Returns the requests that a summarizer must answer, in order.
    pub fn requests(&self) -> &[SummaryRequest] {
        &self.asked.requests
    }

    /// Returns the request for one line about the session, given its new summary and what stays verbatim (the newest of
    /// it, if not all fits). Only a client that shows such lines sends it, and its failure does not fail the
    /// compaction.
    ///
    /// # Errors
    ///
    /// [`WindowTooSmall`] when not even the shortest request fits the summarizer's window.
    pub fn short_request(&self, summary: &str) -> Result<SummaryRequest, WindowTooSmall> {
        let request_source = RequestSource {
            previous: Some(summary.to_owned()),
            ..self.short.clone()
        };
        let counter = self.profile.counter();
        let mut requests = build_requests(
            std::slice::from_ref(&request_source),
            self.asked.shared(),
            counter,
        )?;
        let newest = requests.len() - 1;
        let request = requests.swap_remove(newest);
        Ok(SummaryRequest {
            part: 1,
            parts: 1,
            carried: Carried::Summary(summary.to_owned()),
            source: request_source.source,
            ..request
        })
    }

    /// Returns the plan with every request folded to half its budget, for a summarizer
    /// that found them too large. The largest request is smaller than before.
    ///
    /// # Errors
    ///
    /// [`CannotShrink`] when the requests cannot be folded to half their budget.
    pub fn shrink(self) -> Result<Self, CannotShrink> {
        let asked = self.asked.halved(self.profile.counter())?;
        Ok(Self { asked, ..self })
    }
}
