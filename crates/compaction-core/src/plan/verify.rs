//! What a summary lost, looked up before it is stored: reported, repaired or refused.

use crate::ledger::LedgerBlock;
use crate::loss::ContextLoss;
use crate::plan::{ApplyError, CompactionPlan};

/// A summary that was looked through.
pub(crate) struct Verified {
    /// The summary: prose, ledger, file tags.
    pub summary: String,
    /// The ledger in it.
    pub ledger: LedgerBlock,
    /// What is put out of sight; `None` where nobody looked.
    pub loss: Option<ContextLoss>,
}

impl CompactionPlan {
    /// Returns the summary that is stored for this prose.
    pub(crate) fn verified(&self, prose: &str, tags: &str) -> Result<Verified, ApplyError> {
        let ledger = self.ledger.clone();
        Ok(Verified {
            summary: format!("{prose}{}{tags}", ledger.text),
            ledger,
            loss: None,
        })
    }
}
