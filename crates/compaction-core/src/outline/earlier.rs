//! The newest summary on a path that is not an outline: its content is in no entry that an outline quotes.

use session_model::{Compaction, EntryBody, EntryId, EntryKind, SessionContext, SessionPath};

use crate::prompts;
use crate::prose::prose_of;

/// The parts of a summary by Claude Code: notes of the model for itself, then the summary.
const NOTES: &str = "Analysis:";
const SUMMARY: &str = "\nSummary:";
/// The beginnings of the paragraphs that Claude Code adds after a summary, for the model that continues.
const BEHIND: [&str; 2] = [
    "\nIf you need specific details from before compaction",
    "\nPlease continue the conversation from where we left",
];

/// Returns the newest summary on `path` by another writer than the outline, with its entry.
pub(super) fn newest_foreign(
    path: &SessionPath<'_>,
    context: &SessionContext,
) -> Option<(EntryId, String)> {
    let tree = path.tree();
    if !tree.has_kind(EntryKind::Compaction) {
        return None;
    }
    let reset = path.newest(EntryKind::ResetBoundary);
    let start = reset.map_or(0, |(place, _)| place + 1);
    let newest_first = path.entries().iter().skip(start).rev();
    let mut compactions = newest_first.filter(|index| tree.kind(**index) == EntryKind::Compaction);
    compactions.find_map(|index| {
        let known = context
            .entries
            .iter()
            .find(|projected| projected.index == *index);
        let read;
        let entry = match known {
            Some(projected) => &*projected.entry,
            None => {
                read = tree.entry(*index).ok()?;
                &read
            }
        };
        match &entry.body {
            EntryBody::Compaction(body) if !is_outline(body) => {
                let text = without_notes(&prose_of(&body.summary)).trim().to_owned();
                (!text.is_empty()).then(|| (entry.id.clone(), text))
            }
            _ => None,
        }
    })
}

/// Returns true if a compaction holds an outline, which is made from the entries each time.
fn is_outline(compaction: &Compaction) -> bool {
    compaction.summary.starts_with(&prompts::outline_lead())
}

/// Returns a summary of Claude Code without the model's notes and without the instructions for the model that
/// continues.
fn without_notes(summary: &str) -> &str {
    let (Some(notes), Some(at)) = (summary.find(NOTES), summary.find(SUMMARY)) else {
        return summary;
    };
    if notes > at {
        return summary;
    }
    let text = &summary[at + SUMMARY.len()..];
    let end = BEHIND.iter().filter_map(|start| text.rfind(start)).min();
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::without_notes;

    #[test]
    fn notes_and_instructions_of_claude_code_are_no_part_of_a_summary() {
        let summary = "This session is being continued from a previous conversation.\n\nAnalysis:\nLet me see.\n\nSummary:\n1. Fix it\n\nPlease continue the conversation from where we left it off.";
        assert_eq!(without_notes(summary).trim(), "1. Fix it");
        for plain in [
            "## Goal\nx",
            "Summary:\nx Analysis:",
            "\nSummary: Analysis:",
        ] {
            assert_eq!(without_notes(plain), plain);
        }
    }
}
