//! What a compaction brings back, in words.

use compaction_core::{Freshness, ImageOutcome, Outcome, Restored, TokenCount};

use crate::ui::{clean, counted, tokens};

/// Returns the lines that say what comes back after the summary.
pub fn lines(restored: &Restored) -> Vec<String> {
    if let Some(failed) = &restored.failed {
        return vec![format!("nothing: {}", clean(failed))];
    }
    let mut lines = Vec::new();
    for file in &restored.files {
        let fate = match file.outcome {
            Outcome::Embedded => tokens(file.tokens),
            Outcome::Reference => "named only".to_owned(),
            Outcome::Missing => "not there any more".to_owned(),
            Outcome::Binary => "left out: no text".to_owned(),
            Outcome::Unreadable => "left out: cannot be read".to_owned(),
            Outcome::LeftOut => "left out: no room".to_owned(),
        };
        let fresh = match file.freshness {
            Freshness::Unchanged => ", unchanged",
            Freshness::Changed => ", changed since it was seen",
            Freshness::Deleted | Freshness::Unknown => "",
        };
        lines.push(format!("{} ({fate}{fresh})", clean(&file.shown)));
    }
    for image in &restored.images {
        let from = image.tool.as_deref().map_or("the user", |tool| tool);
        let fate = match image.outcome {
            ImageOutcome::Shown => tokens(image.tokens),
            ImageOutcome::OverBudget => "left out: no room".to_owned(),
            ImageOutcome::TooLarge => "left out: too many bytes".to_owned(),
        };
        lines.push(format!(
            "image of turn {}, from {} ({fate})",
            image.turn,
            clean(from)
        ));
    }
    if lines.is_empty() {
        lines.push("nothing: no files or images were found".to_owned());
    }
    lines
}

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
