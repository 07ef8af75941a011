//! What a compaction brings back, in words.

use compaction_core::{Freshness, ImageOutcome, Outcome, Restored};

use crate::ui::{clean, counted, tokens};

/// The longest name that is shown, in characters.
const NAME_CHARS: usize = 400;
/// The most files that are named of those that are not there any more.
const MISSING: usize = 3;

/// How a line begins that says what comes back, or what does not.
pub const BACK: &str = "restored";
const NOT_BACK: &str = "left out";

/// Returns the lines that say what comes back after the summary, each with the word before it.
pub fn lines(restored: &Restored) -> Vec<(&'static str, String)> {
    if let Some(failed) = &restored.failed {
        return vec![(BACK, format!("nothing: {}", clean(failed)))];
    }
    let mut lines = Vec::new();
    let mut missing = 0;
    for file in &restored.files {
        if file.outcome == Outcome::Missing {
            missing += 1;
            if missing > MISSING {
                continue;
            }
        }
        let (label, fate) = match file.outcome {
            Outcome::Embedded => (BACK, tokens(file.tokens)),
            Outcome::Reference => (BACK, "named only".to_owned()),
            Outcome::Missing => (NOT_BACK, "not there any more".to_owned()),
            Outcome::Binary => (NOT_BACK, "no text".to_owned()),
            Outcome::Unreadable => (NOT_BACK, "cannot be read".to_owned()),
            Outcome::LeftOut => (NOT_BACK, "no room".to_owned()),
        };
        let fresh = match file.freshness {
            Freshness::Unchanged => ", unchanged",
            Freshness::Changed => ", changed since it was seen",
            Freshness::Deleted | Freshness::Unknown => "",
        };
        lines.push((label, format!("{} ({fate}{fresh})", named(&file.shown))));
    }
    let more = missing.saturating_sub(MISSING);
    if more > 0 {
        let text = format!("{} (not there any more)", counted(more, "other file"));
        lines.push((NOT_BACK, text));
    }
    for image in &restored.images {
        let from = image.tool.as_deref().map_or("the user", |tool| tool);
        let (label, fate) = match image.outcome {
            ImageOutcome::Shown => (BACK, tokens(image.tokens)),
            ImageOutcome::OverBudget => (NOT_BACK, "no room".to_owned()),
            ImageOutcome::TooLarge => (NOT_BACK, "too many bytes".to_owned()),
        };
        let text = format!(
            "image of turn {}, from {} ({fate})",
            image.turn,
            named(from)
        );
        lines.push((label, text));
    }
    if lines.is_empty() {
        lines.push((BACK, "nothing: no files or images were found".to_owned()));
    }
    lines
}

/// Returns a name that a session gives, cut where it is too long to be read.
fn named(name: &str) -> String {
    let clean = clean(name);
    match clean.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}...", &clean[..end]),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use compaction_core::{Restored, RestoredFile, RestoredImage, TokenCount};
    use insta::assert_snapshot;
    use session_model::EntryId;
    use session_text::restored_in_words as in_words;

    use super::*;

    fn file(path: &str, outcome: Outcome) -> RestoredFile {
        RestoredFile {
            path: path.to_owned(),
            shown: path.to_owned(),
            outcome,
            freshness: Freshness::Unknown,
            entry_id: EntryId::new("e1"),
            tokens: TokenCount(20),
            seen: None,
        }
    }

    fn image(outcome: ImageOutcome) -> RestoredImage {
        RestoredImage {
            entry_id: EntryId::new("e2"),
            tool: None,
            arguments: None,
            turn: 1,
            outcome,
            tokens: TokenCount(300),
        }
    }

    #[test]
    fn what_does_not_come_back_is_told_apart() {
        let mut restored = Restored {
            files: vec![
                file("a", Outcome::Embedded),
                file("b", Outcome::LeftOut),
                file("c", Outcome::Missing),
            ],
            images: vec![
                image(ImageOutcome::Shown),
                image(ImageOutcome::OverBudget),
                image(ImageOutcome::TooLarge),
            ],
            ..Restored::default()
        };
        assert_snapshot!(in_words(&restored), @"brought back: 1 file (20), 1 image (300); left out: 1 file missing, 1 file without room, 1 image without room, 1 image too large");
        restored.files.clear();
        restored.images.remove(0);
        assert_snapshot!(in_words(&restored), @"brought back: nothing; left out: 1 image without room, 1 image too large");
    }

    /// Only a few of them can matter to whoever reads the card; `--json` has all.
    #[test]
    fn of_many_missing_files_a_few_are_named() {
        let missing = ["a", "b", "c", "d", "e"].map(|name| file(name, Outcome::Missing));
        let mut files = missing.to_vec();
        files.push(file("f", Outcome::Embedded));
        let restored = Restored {
            files,
            ..Restored::default()
        };
        let lines = lines(&restored).into_iter();
        let lines: Vec<String> = lines
            .map(|(label, text)| format!("{label} {text}"))
            .collect();
        assert_snapshot!(lines.join("\n"), @"
        left out a (not there any more)
        left out b (not there any more)
        left out c (not there any more)
        restored f (20)
        left out 2 other files (not there any more)
        ");
    }

    #[test]
    fn a_long_path_is_cut() {
        let restored = Restored {
            files: vec![file(&"a/".repeat(2500), Outcome::Reference)],
            ..Restored::default()
        };
        let lines = lines(&restored);
        assert!(lines[0].1.len() < 450 && lines[0].1.ends_with("... (named only)"));
    }
}
