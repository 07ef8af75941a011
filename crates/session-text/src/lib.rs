//! Figures and outcomes in words, the same in events and in commands.

mod announcement;
pub mod context_bar;
mod entry;
mod loss;
mod turns;

use std::collections::BTreeSet;

use compaction_core::{Freshness, ImageOutcome, Outcome, Restored, TokenCount};
use serde_json::Value;

pub use announcement::{
    Announcement, Tone, compaction_facts, compaction_parts, compaction_title, session_name,
    session_start,
};
pub use entry::{entry_line, entry_text, is_inserted};
pub use loss::{LossRow, loss_rows, messages_left, plural, your_messages};
pub use turns::{Came, Rank, TreeRow, tree_rows};

/// Returns a token figure for people: `950`, `31.8k`, `1.2M`.
pub fn tokens(count: TokenCount) -> String {
    let tenths = |unit: u64| {
        let tenths = count.0.saturating_add(unit / 20) / (unit / 10);
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    match count.0 {
        0..1000 => count.to_string(),
        1000..999_950 => format!("{}k", tenths(1000)),
        _ => format!("{}M", tenths(1_000_000)),
    }
}

/// Returns `count` and the noun, in the plural where it belongs.
pub fn counted(count: usize, noun: &str) -> String {
    match (count, noun) {
        (1, noun) => format!("1 {noun}"),
        (_, "entry") => format!("{count} entries"),
        (_, "match") => format!("{count} matches"),
        (_, "older entry") => format!("{count} older entries"),
        (_, "matching entry") => format!("{count} matching entries"),
        (_, "branch") => format!("{count} branches"),
        (_, noun) => format!("{count} {noun}s"),
    }
}

/// How many damaged lines are named.
const NAMED_LINES: usize = 5;

/// Returns that lines of a session cannot be read, and the command that says more of `file`; nothing where none is damaged.
pub fn damaged_lines(lines: &BTreeSet<u64>, file: &str) -> Option<String> {
    let first = lines.first()?;
    let rest = lines.iter().take(NAMED_LINES).skip(1);
    let named = rest.fold(first.to_string(), |named, line| format!("{named}, {line}"));
    let (word, more) = match lines.len() {
        1 => ("line", ""),
        2..=NAMED_LINES => ("lines", ""),
        _ => ("lines", ", ..."),
    };
    Some(format!(
        "{} that cannot be read ({word} {named}{more}); run agent-cli doctor {file}",
        counted(lines.len(), "damaged line"),
    ))
}

/// Returns on one line what comes back, and apart from it what became of the rest.
pub fn restored_in_words(restored: &Restored) -> String {
    let of = |outcome: Outcome| {
        let files = restored.files.iter();
        files.filter(move |file| file.outcome == outcome)
    };
    let mut back = Vec::new();
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
        back.push(format!("{files} ({}{changed})", tokens(sum)));
    }
    let files = |outcome: Outcome, word: &str| {
        let count = of(outcome).count();
        (count > 0).then(|| format!("{} {word}", counted(count, "file")))
    };
    back.extend(files(Outcome::Reference, "only named"));
    let shown = restored.images_shown().count();
    if shown > 0 {
        let sum: TokenCount = restored.images_shown().map(|image| image.tokens).sum();
        back.push(format!("{} ({})", counted(shown, "image"), tokens(sum)));
    }
    let images = |outcome: ImageOutcome, word: &str| {
        let images = restored.images.iter();
        let count = images.filter(|image| image.outcome == outcome).count();
        (count > 0).then(|| format!("{} {word}", counted(count, "image")))
    };
    let left_out: Vec<String> = [
        files(Outcome::Missing, "missing"),
        files(Outcome::Binary, "no text"),
        files(Outcome::Unreadable, "not readable"),
        files(Outcome::LeftOut, "without room"),
        images(ImageOutcome::OverBudget, "without room"),
        images(ImageOutcome::TooLarge, "too large"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut line = match back.is_empty() {
        true => "brought back: nothing".to_owned(),
        false => format!("brought back: {}", back.join(", ")),
    };
    if !left_out.is_empty() {
        line.push_str(&format!("; left out: {}", left_out.join(", ")));
    }
    line
}

/// Returns a call as people read it, on one line: the tool, and what it is about.
pub fn call_text(name: &str, arguments: &Value) -> String {
    let about = ["command", "path", "pattern", "query"]
        .iter()
        .find_map(|key| arguments.get(key).and_then(Value::as_str));
    let Some(about) = about else {
        return name.to_owned();
    };
    let mut text = name.to_owned();
    let mut goes_on = true;
    for line in about.lines().map(str::trim).filter(|line| !line.is_empty()) {
        // A line that is not at its end needs no separator.
        text.push_str(if goes_on { " " } else { "; " });
        text.push_str(line.strip_suffix('\\').unwrap_or(line).trim_end());
        let opens = ["\\", "&&", "||", "|", ";", "{", "(", "do", "then", "else"];
        goes_on = opens.iter().any(|opens| line.ends_with(opens));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{restored_in_words, tokens};
    use compaction_core::{
        Freshness, ImageOutcome, Outcome, Restored, RestoredFile, RestoredImage, TokenCount,
    };
    use session_model::EntryId;

    #[test]
    fn what_does_not_come_back_is_reported_apart() {
        let file = |path: &str, outcome| RestoredFile {
            path: path.to_owned(),
            shown: path.to_owned(),
            outcome,
            freshness: Freshness::Unknown,
            entry_id: EntryId::new("e1"),
            tokens: TokenCount(20),
            seen: None,
        };
        let image = |outcome| RestoredImage {
            entry_id: EntryId::new("e2"),
            tool: None,
            arguments: None,
            turn: 1,
            outcome,
            tokens: TokenCount(300),
        };
        let restored = Restored {
            files: vec![file("a", Outcome::Embedded), file("c", Outcome::Missing)],
            images: vec![image(ImageOutcome::Shown), image(ImageOutcome::TooLarge)],
            ..Restored::default()
        };
        let want =
            "brought back: 1 file (20), 1 image (300); left out: 1 file missing, 1 image too large";
        assert_eq!(restored_in_words(&restored), want);
        let want = "brought back: nothing";
        assert_eq!(restored_in_words(&Restored::default()), want);
    }

    #[test]
    fn figures_are_short_and_never_jump_a_unit() {
        let shown = [
            0, 999, 1000, 1049, 1050, 31_849, 999_949, 999_950, 12_345_678,
        ]
        .map(|count| tokens(TokenCount(count)));
        let want = [
            "0", "999", "1.0k", "1.0k", "1.1k", "31.8k", "999.9k", "1.0M", "12.3M",
        ];
        assert_eq!(shown, want);
    }
}
