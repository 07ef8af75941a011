//! Content removed from a context that the session no longer holds.
//!
//! Entries are only ever added, so what a compaction removes can be read again. The exception is content that is not in
//! the file: damaged lines, the rest of a long output, the bytes of an image. Only a record could show how much that
//! was.

use serde::Serialize;
use session_model::{
    AgentMessage, Block, Compaction, Content, Diagnostic, DiagnosticKind, SessionContext,
    SessionTree,
};

/// The content that the file does not hold, as far as it shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Places where entries are missing: something names an entry that is not there.
    pub gaps: usize,
    /// Entries that cannot be read.
    pub entries: usize,
    /// Outputs of which a part alone was written, or is left.
    pub results: usize,
    /// Images without their bytes.
    pub images: usize,
}

impl Missing {
    /// Returns true when nothing is known to be missing.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what is missing elsewhere.
    pub(super) fn add(&mut self, other: Self) {
        self.gaps += other.gaps;
        self.entries += other.entries;
        self.results += other.results;
        self.images += other.images;
    }

    /// Notes what of a message was not written.
    pub(super) fn note(&mut self, message: &AgentMessage) {
        let content = match message {
            AgentMessage::BashExecution(run) => {
                self.results += usize::from(run.truncated);
                return;
            }
            AgentMessage::ToolResult(result) => {
                self.results += usize::from(is_in_part(&result.content.joined("\n")));
                &result.content
            }
            AgentMessage::User(said) | AgentMessage::Developer(said) => &said.content,
            AgentMessage::Custom(custom) => &custom.content,
            AgentMessage::Assistant(_)
            | AgentMessage::System(_)
            | AgentMessage::BranchSummary(_)
            | AgentMessage::CompactionSummary(_)
            | AgentMessage::Other { .. } => return,
        };
        self.images += images_without_bytes(content);
    }

    /// Notes what is missing of a context that the next one does not have.
    pub(super) fn note_entries(
        &mut self,
        tree: &SessionTree,
        before: &SessionContext,
        after: &SessionContext,
    ) {
        let entries = before.entries.iter();
        let gaps = entries.filter(|projected| tree.is_orphan(projected.index));
        self.gaps += gaps.count();
        let damaged = |said: &&Diagnostic| said.kind == DiagnosticKind::DamagedBody;
        let count = |context: &SessionContext| -> u64 {
            let damaged = context.diagnostics.iter().filter(damaged);
            damaged.map(Diagnostic::count).sum()
        };
        let entries = count(before).saturating_sub(count(after));
        self.entries += usize::try_from(entries).unwrap_or(usize::MAX);
    }

    /// Notes that a compaction keeps from an entry that the session does not have.
    pub(super) fn note_compaction(&mut self, tree: &SessionTree, compaction: &Compaction) {
        let kept = &compaction.first_kept;
        self.gaps += usize::from(!kept.is_empty() && tree.find(kept).is_none());
    }
}

/// The text that replaces a result whose text the session gave up, as in `prune.rs`.
const REPLACED: &str = "[Output truncated - ";

/// Words of the notice at the end of an output of which more was printed.
const CUT: [&str; 4] = ["truncated", "full output", "omitted", "not shown"];

/// Returns true if an output contains a notice that it is not complete.
fn is_in_part(text: &str) -> bool {
    if text.starts_with(REPLACED) {
        return true;
    }
    let last = text.trim_end().rsplit('\n').next().unwrap_or_default();
    let within = last.trim().strip_prefix('[');
    let within = within.and_then(|last| last.strip_suffix(']'));
    within.is_some_and(|notice| {
        let notice = notice.to_lowercase();
        CUT.iter().any(|word| notice.contains(word))
    })
}

/// Returns how many images a content has only the place of: their bytes are nowhere, or in another file.
fn images_without_bytes(content: &Content) -> usize {
    let mut images = 0;
    for block in content.blocks() {
        match block {
            Block::Image(image) => images += usize::from(!image.has_bytes()),
            Block::Text(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => {}
        }
    }
    images
}
