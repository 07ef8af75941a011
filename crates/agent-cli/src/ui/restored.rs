//! What a compaction brings back, in words.

use compaction_core::{Freshness, Outcome, Restored, TokenCount};

use crate::ui::{counted, tokens};

/// Returns what comes back on one line: how many files and images, and what became of the other files.
pub fn in_words(restored: &Restored) -> String {
    let of = |outcome: Outcome| {
        let files = restored.files.iter();
        files.filter(move |file| file.outcome == outcome)
    };
    let mut parts = Vec::new();
    let embedded = of(Outcome::Embedded).count();
    if embedded > 0 {
        let sum: TokenCount = of(Outcome::Embedded).map(|file| file.tokens).sum();
        let changed = of(Outcome::Embedded)
            .filter(|file| file.freshness == Freshness::Changed)
            .count();
        let changed = match changed {
            0 => String::new(),
            changed => format!(", {changed} changed since"),
        };
        let files = counted(embedded, "file");
        parts.push(format!("{files} ({}{changed})", tokens(sum)));
    }
    let others = [
        (Outcome::Reference, "only named"),
        (Outcome::Missing, "missing"),
        (Outcome::Binary, "no text"),
        (Outcome::Unreadable, "not readable"),
    ];
    for (outcome, word) in others {
        let count = of(outcome).count();
        if count > 0 {
            parts.push(format!("{} {word}", counted(count, "file")));
        }
    }
    if !restored.images.is_empty() {
        let sum: TokenCount = restored.images.iter().map(|image| image.tokens).sum();
        let images = counted(restored.images.len(), "image");
        parts.push(format!("{images} ({})", tokens(sum)));
    }
    match parts.is_empty() {
        true => "nothing".to_owned(),
        false => parts.join(", "),
    }
}
