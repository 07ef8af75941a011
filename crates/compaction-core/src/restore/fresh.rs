//! Compares a file with the version that the agent saw last.

use session_facts::{LastSeen, comparable, content_hash};

use crate::restore::Freshness;

/// Returns whether `text` is what was seen last and, where little changed, what did.
pub(super) fn freshness(last_seen: &LastSeen, text: &str) -> (Freshness, Option<String>) {
    let now = comparable(text);
    match last_seen {
        LastSeen::Unknown => (Freshness::Unknown, None),
        LastSeen::Hash(hash) if *hash == content_hash(&now) || *hash == content_hash(text) => {
            (Freshness::Unchanged, None)
        }
        LastSeen::Hash(_) => (Freshness::Changed, None),
        LastSeen::Text(seen) => match comparable(seen) {
            before if before == now => (Freshness::Unchanged, None),
            before => (Freshness::Changed, short_diff(&before, &now)),
        },
    }
}

/// Up to how many lines between the first and the last change are compared.
const COMPARED: usize = 200;

/// The longest difference that is shown, in lines and in bytes.
const MOST_LINES: usize = 40;
const MOST_BYTES: usize = 2000;

/// Returns the removed and added lines, or `None` if they are many.
fn short_diff(before: &str, after: &str) -> Option<String> {
    let old: Vec<&str> = before.split('\n').collect();
    let new: Vec<&str> = after.split('\n').collect();
    let pairs = old.iter().zip(&new);
    let head = pairs.take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[head..], &new[head..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let tail = pairs.take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    if old.len() > COMPARED || new.len() > COMPARED {
        return None;
    }
    let diff = changed_lines(old, new, head);
    (diff.len() <= MOST_LINES).then_some(())?;
    let text = diff.join("\n");
    (text.len() <= MOST_BYTES).then_some(text)
}

/// Returns the lines that differ, each run after a line with its current position; `head` lines precede both.
fn changed_lines(old: &[&str], new: &[&str], head: usize) -> Vec<String> {
    // The number of common lines of the two rests from here on.
    let width = new.len() + 1;
    let mut common = vec![0_u16; (old.len() + 1) * width];
    for (row, old) in old.iter().enumerate().rev() {
        for (column, new) in new.iter().enumerate().rev() {
            let at = row * width + column;
            common[at] = match old == new {
                true => common[at + width + 1] + 1,
                false => common[at + width].max(common[at + 1]),
            };
        }
    }
    let mut lines = Vec::new();
    let (mut row, mut column, mut in_run) = (0, 0, false);
    while row < old.len() || column < new.len() {
        if row < old.len() && column < new.len() && old[row] == new[column] {
            (row, column, in_run) = (row + 1, column + 1, false);
            continue;
        }
        if !in_run {
            lines.push(format!("@@ line {} @@", head + column + 1));
            in_run = true;
        }
        let at = row * width + column;
        let goes = row < old.len() && (column == new.len() || common[at + width] >= common[at + 1]);
        if goes {
            lines.push(format!("-{}", old[row]));
            row += 1;
        } else {
            lines.push(format!("+{}", new[column]));
            column += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::freshness;
    use session_facts::{LastSeen, content_hash};

    use crate::restore::Freshness;

    fn diff(before: &str, after: &str) -> String {
        let (freshness, diff) = freshness(&LastSeen::Text(before.to_owned()), after);
        assert_eq!(freshness, Freshness::Changed);
        diff.unwrap_or_else(|| "too much".to_owned())
    }

    #[test]
    fn a_small_difference_is_told_line_by_line() {
        insta::assert_snapshot!(diff("a\nb\nc\nd\ne\nf", "a\nB\nc\nd\nnew\ne\nf"), @"
        @@ line 2 @@
        -b
        +B
        @@ line 5 @@
        +new
        ");
        insta::assert_snapshot!(diff("a\nb", "a"), @r"
        @@ line 2 @@
        -b
        ");
    }

    #[test]
    fn a_large_difference_is_not_told() {
        let many: String = (0..500).map(|line| format!("{line}\n")).collect();
        assert_eq!(diff("a", &many), "too much");
        assert_eq!(diff("a", &"long ".repeat(1000)), "too much");
    }

    #[test]
    fn line_ends_and_newlines_at_the_end_are_no_change() {
        let text = LastSeen::Text("a\nb\n".to_owned());
        let hash = LastSeen::Hash(content_hash("a\nb"));
        for seen in [text, hash] {
            for same in ["a\nb", "a\r\nb\r\n", "\u{feff}a\nb\n\n"] {
                assert_eq!(freshness(&seen, same).0, Freshness::Unchanged, "{seen:?}");
            }
            assert_eq!(freshness(&seen, "a\nc").0, Freshness::Changed);
        }
        assert_eq!(freshness(&LastSeen::Unknown, "a").0, Freshness::Unknown);
    }
}
