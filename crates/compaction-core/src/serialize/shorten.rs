//! Shortens long results for a summarizer: repeated lines once, files as outlines, errors with their ends.

use std::borrow::Cow;

use session_model::json;

/// The most of a line of an outline, in characters.
const OUTLINED: usize = 120;

/// Returns the outline of a file that was read and exceeds the limit: its first lines, and of the others those that
/// define something or head a section. `None` if the outline is not shorter, or there are no such lines.
pub(super) fn outline(tool: &str, text: &str, limit: usize) -> Option<String> {
    const OPENS: [&str; 24] = [
        "fn ",
        "pub ",
        "struct ",
        "enum ",
        "impl ",
        "impl<",
        "trait ",
        "mod ",
        "class ",
        "def ",
        "async ",
        "function ",
        "export ",
        "interface ",
        "type ",
        "const ",
        "static ",
        "public ",
        "private ",
        "protected ",
        "func ",
        "#[test]",
        "# ",
        "## ",
    ];
    let reads = matches!(
        tool.to_lowercase().as_str(),
        "read" | "view" | "cat" | "read_file" | "readfile"
    );
    if !reads || json::utf16_len(text) <= limit {
        return None;
    }
    let head = json::utf16_prefix(text, limit / 4);
    let head = &head[..head.rfind('\n').unwrap_or(head.len())];
    let mut outline = head.to_owned();
    let mut left = 0_usize;
    let (mut lines, mut used) = (0, json::utf16_len(head));
    for line in text[head.len()..].lines() {
        let defines = OPENS.iter().any(|open| line.trim_start().starts_with(open));
        let line: String = line.chars().take(OUTLINED).collect();
        let length = json::utf16_len(&line) + 1;
        if !defines || used + length > limit {
            left += 1;
            continue;
        }
        outline.push('\n');
        outline.push_str(&line);
        used += length;
        lines += 1;
    }
    (lines > 0).then(|| format!("{outline}\n[... outline; {left} other lines left out]"))
}

/// The number of repetitions from which a line is folded.
const REPEATS: usize = 4;

/// Returns a text in which a line that is repeated several times in a row occurs once, with the count.
pub(super) fn folded_lines(text: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = text.split('\n').collect();
    let repeats = lines
        .windows(REPEATS)
        .any(|run| run.iter().all(|line| line == &run[0]));
    if !repeats {
        return Cow::Borrowed(text);
    }
    let mut folded: Vec<Cow<'_, str>> = Vec::new();
    for run in lines.chunk_by(|one, next| one == next) {
        folded.push(Cow::Borrowed(run[0]));
        match run.len() {
            count if count >= REPEATS => {
                folded.push(Cow::Owned(format!("[the line before came {count} times]")));
            }
            _ => folded.extend(run[1..].iter().map(|line| Cow::Borrowed(*line))),
        }
    }
    Cow::Owned(folded.join("\n"))
}

/// Returns the beginning of a failed call's output and more of its end, which contains the error.
pub(super) fn ends(text: &str, limit: usize) -> String {
    let units = json::utf16_len(text);
    if units <= limit {
        return text.to_owned();
    }
    let head = json::utf16_prefix(text, limit / 4);
    let tail = json::utf16_suffix(&text[head.len()..], limit - limit / 4);
    let left = units - json::utf16_len(head) - json::utf16_len(tail);
    format!("{head}\n[... {left} characters left out]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::{ends, folded_lines, outline};

    #[test]
    fn a_file_that_was_read_is_cut_to_its_outline() {
        let body = "    let x = 1;\n".repeat(40);
        let text = format!("//! Head.\nuse a;\n{body}pub fn one() {{\n{body}}}\n## Part\n{body}");
        let outlined = outline("read", &text, 200).expect("an outline");
        assert!(outlined.starts_with("//! Head.\nuse a;\n"), "{outlined}");
        assert!(
            outlined.contains("\npub fn one() {\n## Part\n[... outline; "),
            "{outlined}"
        );
        assert_eq!(outline("bash", &text, 200), None);
        assert_eq!(outline("read", "short", 200), None);
        assert_eq!(outline("read", &"word ".repeat(100), 200), None);
    }

    #[test]
    fn repeated_lines_are_folded_and_errors_keep_their_end() {
        let text = format!("start\n{}end", "waiting\n".repeat(5));
        assert_eq!(
            folded_lines(&text),
            "start\nwaiting\n[the line before came 5 times]\nend"
        );
        assert_eq!(folded_lines("a\na\na\nb"), "a\na\na\nb");
        let cut = ends(&format!("{}the cause", "x".repeat(400)), 40);
        assert!(
            cut.starts_with("xxxxxxxxxx\n[... 369 characters left out]\n"),
            "{cut}"
        );
        assert!(cut.ends_with("the cause"), "{cut}");
    }
}
