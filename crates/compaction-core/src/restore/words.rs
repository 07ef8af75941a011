//! The text around files and images that are restored.

use askama::Template;
use session_model::fence_for;

use crate::prompts::render;
use crate::restore::Freshness;
use crate::serialize::escape;

/// The longest path that is shown, in characters.
const PATH_CHARS: usize = 400;

/// Returns an untrusted text on one line: control characters and characters that turn or hide others are removed, our
/// frames cannot be imitated, and a long text is cut.
pub(super) fn one_line(text: &str, chars: usize) -> String {
    let misleads = |character: char| {
        character.is_control()
            || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let clean = text.chars().filter(|character| !misleads(*character));
    let mut line: String = clean.clone().take(chars).collect();
    if clean.clone().nth(chars).is_some() {
        line.push_str("...");
    }
    escape(&line)
}

/// Returns a path as it is shown.
pub(super) fn shown_path(path: &str) -> String {
    one_line(path, PATH_CHARS)
}

/// Returns what opens the message, with the list of what is named only.
pub(super) fn lead_in(references: &[String]) -> String {
    #[derive(Template)]
    #[template(path = "restored-context.md")]
    struct Prompt<'a> {
        references: &'a str,
    }
    render(&Prompt {
        references: &references.join("\n"),
    })
}

/// Returns the line of a file that is named only; its path was cleaned.
pub(super) fn reference(path: &str, freshness: Freshness) -> String {
    match freshness {
        Freshness::Unchanged => format!("- {path} (unchanged since you last saw it)"),
        Freshness::Changed => format!("- {path} (changed since you last saw it)"),
        Freshness::Deleted => format!("- {path} (deleted)"),
        Freshness::Unknown => format!("- {path}"),
    }
}

/// Returns the block of a file; its path was cleaned.
pub(super) fn file(path: &str, freshness: Freshness, text: &str, diff: Option<&str>) -> String {
    #[derive(Template)]
    #[template(path = "restored-file.md")]
    struct Prompt<'a> {
        path: &'a str,
        freshness: Freshness,
        fence: &'a str,
        text: &'a str,
        diff: &'a str,
        diff_fence: &'a str,
    }
    let diff = diff.unwrap_or_default();
    render(&Prompt {
        path,
        freshness,
        fence: &fence_for(text),
        text: text.strip_suffix('\n').unwrap_or(text),
        diff,
        diff_fence: &fence_for(diff),
    })
}

/// Returns the description of an image's origin; the name of the tool was cleaned.
pub(super) fn image(turn: usize, tool: Option<&str>, arguments: Option<&str>) -> String {
    #[derive(Template)]
    #[template(path = "restored-image.md")]
    struct Prompt<'a> {
        turn: usize,
        tool: Option<&'a str>,
        arguments: &'a str,
    }
    render(&Prompt {
        turn,
        tool,
        arguments: arguments.unwrap_or_default(),
    })
}

/// Returns the text for a summarizer that replaces content restored before.
pub(super) fn brought_back_before(paths: &[String]) -> String {
    #[derive(Template)]
    #[template(path = "restored-before.md")]
    struct Prompt<'a> {
        paths: &'a str,
    }
    render(&Prompt {
        paths: &paths.join("\n"),
    })
}
