//! What the session no longer holds of what was taken out of a context.
//!
//! Entries are only ever added, so what a compaction takes out can be read again. That ends where the file itself lost
//! something: lines of it, the rest of a long output, the bytes of an image. How much that was only a record can tell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Block, Compaction, Content, Diagnostic, DiagnosticKind, SessionContext,
    SessionTree,
};

use super::{ContextLoss, Verbatim};

/// What the file does not hold, as far as it shows.
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
    /// Returns true when nothing is missing that anybody knows of.
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

    /// Returns whether entries are missing, and with them what they said.
    fn has_lost_entries(&self) -> bool {
        self.gaps > 0 || self.entries > 0
    }

    /// Notes what of a message was not written.
    pub(super) fn note(&mut self, message: &AgentMessage) {
        let content = match message {
            AgentMessage::BashExecution(run) => {
                self.results += usize::from(run.truncated);
                return;
            }
            AgentMessage::ToolResult(result) => {
                self.results += usize::from(is_in_part(&result.content.joined_text("\n")));
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

/// What a session that gave up the text of a result says in its place, in the words of `prune.rs` among others.
const REPLACED: &str = "[Output truncated - ";

/// What the notice says that ends an output of which more was printed.
const CUT: [&str; 4] = ["truncated", "full output", "omitted", "not shown"];

/// Returns whether an output says itself that it is not all of it.
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

/// The figures that a compaction wrote down when it was made.
#[derive(Deserialize)]
struct Details {
    loss: Recorded,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    kinds: BTreeMap<String, RecordedKind>,
    #[serde(default)]
    user_messages: RecordedTexts,
    #[serde(default)]
    rules: RecordedTexts,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedKind {
    total: usize,
    in_context: usize,
}

#[derive(Deserialize, Default)]
struct RecordedTexts {
    total: usize,
    verbatim: usize,
}

impl ContextLoss {
    /// Counts what a compaction removed from the context by its own record and no entry holds any more. Asked only where
    /// entries are missing: a record of other rules than ours is no loss.
    pub(super) fn count_gone(&mut self, missing: &Missing, details: Option<&RawJson>) {
        if !missing.has_lost_entries() {
            return;
        }
        let details = details.and_then(|details| serde_json::from_str(details.get()).ok());
        let Some(Details { loss: recorded }) = details else {
            return;
        };
        for (name, kind) in &mut self.kinds {
            let Some(then) = recorded.kinds.get(*name) else {
                continue;
            };
            let out = then.total.saturating_sub(then.in_context);
            let gone = out.saturating_sub(kind.total - kind.in_context);
            // A line that is damaged may say anything.
            let gone = gone.min(MOST);
            kind.gone += gone;
            kind.total += gone;
        }
        count_texts(&mut self.user_messages, &recorded.user_messages);
        count_texts(&mut self.rules, &recorded.rules);
    }

    /// Adds what compactions lost for good.
    pub(super) fn add_gone(&mut self, other: &Self) {
        for (name, kind) in &mut self.kinds {
            let gone = other.kinds.get(name).map_or(0, |kind| kind.gone);
            kind.gone += gone;
            kind.total += gone;
        }
        for (own, other) in [
            (&mut self.user_messages, other.user_messages),
            (&mut self.rules, other.rules),
        ] {
            own.gone += other.gone;
            own.total += other.gone;
        }
    }
}

/// The most of a kind that a record is believed.
const MOST: usize = 1_000_000;

fn count_texts(texts: &mut Verbatim, then: &RecordedTexts) {
    let out = then.total.saturating_sub(then.verbatim);
    let gone = out.saturating_sub(texts.total - texts.verbatim).min(MOST);
    texts.gone += gone;
    texts.total += gone;
}
