//! How large the context is at each entry, against what the newest answer was billed: an import that puts the conversation
//! together wrongly shows there.

use session_model::{Diagnostic, DiagnosticKind, EntryId, Severity, Usage};

use crate::ids::{ByHash, hash_of};

/// Bytes of a session per token.
const BYTES_PER_TOKEN: u64 = 4;

/// The most tokens of system prompt and tools, which sessions do not have: the first answer was billed for them as well.
const MOST_FIXED: u64 = 100_000;

/// How far estimate and bill may be apart, the fixed part aside: tokenizers differ, and tools are added.
const FACTOR: u64 = 3;
const SLACK: u64 = 20_000;

/// An entry: the bytes of its chain before and with it, and those that the newest compaction took out of the context.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    start: u64,
    end: u64,
    removed: u64,
    /// How many answers with usage had been written when the newest one of the chain was.
    newest: u32,
}

/// The size of the context at each entry.
#[derive(Default)]
pub(crate) struct ContextSizes {
    of_entry: ByHash<Size>,
    /// For each answer with usage the estimate of its context, and what was billed for that.
    answers: Vec<(u64, u64)>,
}

impl ContextSizes {
    fn at(&self, id: &EntryId) -> Size {
        let size = self.of_entry.get(&hash_of(id)).copied();
        size.unwrap_or_default()
    }

    /// Takes in an entry that adds so many bytes.
    pub fn add(&mut self, above: &EntryId, id: &EntryId, bytes: u64) {
        let above = self.at(above);
        let size = Size {
            start: above.end,
            end: above.end + bytes,
            ..above
        };
        self.of_entry.insert(hash_of(id), size);
    }

    /// Takes in a compaction that leaves its summary and what begins with an entry.
    pub fn compact(&mut self, above: &EntryId, id: &EntryId, kept: Option<&EntryId>, summary: u64) {
        let end = self.at(above).end;
        let removed = kept.map_or(end, |kept| self.at(kept).start);
        self.add(above, id, summary);
        self.of_entry.entry(hash_of(id)).or_default().removed = removed;
    }

    /// Takes in what was billed for an answer.
    pub fn bill(&mut self, above: &EntryId, id: &EntryId, usage: &Usage) {
        let above = self.at(above);
        let tokens = (above.end - above.removed.min(above.end)) / BYTES_PER_TOKEN;
        if usage.prompt_tokens() > 0 {
            self.answers.push((tokens, usage.prompt_tokens()));
            let newest = self.answers.len() as u32;
            self.of_entry.entry(hash_of(id)).or_default().newest = newest;
        }
    }

    /// Returns what is reported where the newest answer of a branch was billed for much more than is there.
    pub fn mismatch(&self, leaf: &EntryId) -> Option<Diagnostic> {
        let newest = (self.at(leaf).newest as usize).checked_sub(1)?;
        let (estimated, billed) = self.answers.get(newest)?;
        let (first, fixed) = self.answers.first()?;
        let fixed = fixed.saturating_sub(*first).min(MOST_FIXED);
        let text = format!(
            "the newest answer was billed {billed} tokens of input, but the context here has about {estimated}: a part of the conversation is missing or on another branch"
        );
        let is_lost = billed.saturating_sub(fixed) > estimated * FACTOR + SLACK;
        is_lost.then(|| Diagnostic::new(Severity::Error, DiagnosticKind::ContextMismatch, text))
    }
}
