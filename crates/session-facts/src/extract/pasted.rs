//! Which lines of a text show something instead of saying it: output, logs, traces, code, tables, documents of others.
//!
//! They are recognized by their structure, so in any language. What they contain is nobody's rule, decision or figure.

use super::rules::is_heading;
use super::signals::states_error;
use super::text::{strip_bullet, words};
use crate::phrases::Phrases;

/// Blocks that a harness puts into user messages; what stands in them is not the user's word.
static BLOCKS: Phrases = Phrases::named("pasted.blocks");

/// Last words of a line behind which somebody else speaks: "The page says:".
static SAYS: Phrases = Phrases::named("pasted.says");
/// Last words of a line behind which something is shown: "This is the log:".
static SHOWS: Phrases = Phrases::named("pasted.shows");

/// How many pasted lines in a row stay where a message is shortened.
const SHOWN: usize = 2;

/// Returns the lines of a text, those that only show something as empty ones.
pub(super) fn own_lines(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.split('\n').collect();
    let pasted = pasted(&lines);
    let own = lines.into_iter().zip(pasted);
    own.map(|(line, pasted)| if pasted { "" } else { line })
        .collect()
}

/// Returns what a message says in its author's words, on one line: nothing that only shows something.
pub fn own_words(text: &str) -> String {
    let lines = own_lines(text).into_iter().map(str::trim);
    let is_marker = |line: &str| line.starts_with("[... ") && line.ends_with(LEFT_OUT);
    let lines = lines.filter(|line| !line.is_empty() && !is_marker(line));
    lines.collect::<Vec<_>>().join(" ")
}

/// How the line ends that stands for pasted lines.
const LEFT_OUT: &str = " more pasted lines]";

/// Returns a message with long pasted parts cut to the line that says what went wrong, or else to the first one, and a
/// marker that counts the others.
pub fn without_pasted(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let pasted = pasted(&lines);
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let run = pasted[at..].iter().take_while(|pasted| **pasted).count();
        if run <= SHOWN {
            let end = at + run.max(1);
            out.extend(lines[at..end].iter().map(|line| (*line).to_owned()));
            at = end;
            continue;
        }
        let run = &lines[at..at + run];
        let telling = run.iter().find(|line| states_error(line));
        out.push(telling.unwrap_or(&run[0]).trim_end().to_owned());
        out.push(format!("[... {}{LEFT_OUT}", run.len() - 1));
        at += run.len();
    }
    out.join("\n")
}

/// Returns for each line whether it only shows something.
fn pasted(lines: &[&str]) -> Vec<bool> {
    let mut pasted = vec![false; lines.len()];
    blocks(lines, &mut pasted);
    let mut at = 0;
    let mut introduced = None;
    while at < lines.len() {
        if pasted[at] || lines[at].trim().is_empty() {
            at += 1;
            continue;
        }
        let length = lines[at..]
            .iter()
            .zip(&pasted[at..])
            .take_while(|(line, pasted)| !line.trim().is_empty() && !**pasted)
            .count();
        let run = &lines[at..at + length];
        let own = &mut pasted[at..at + length];
        let is_list = strip_bullet(run[0].trim()).1;
        match introduced.take() {
            Some(Introduces::Words) => own.fill(true),
            Some(Introduces::Output) if !is_list => own.fill(true),
            Some(Introduces::Output) | None => mark(run, own),
        }
        // What follows behind a blank line.
        let last = own.last().is_some_and(|pasted| !*pasted);
        introduced = run
            .last()
            .filter(|_| last)
            .and_then(|line| introduces(line));
        at += length;
    }
    pasted
}

/// Marks the closed fences and the blocks of a harness. What never closes is prose after all.
fn blocks(lines: &[&str], pasted: &mut [bool]) {
    let mut open: Option<(usize, String)> = None;
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        match &open {
            Some((start, close)) => {
                let fence = close.starts_with(['`', '~']);
                let closes = match fence {
                    true => {
                        line.starts_with(close.as_str()) && line.trim_matches(['`', '~']).is_empty()
                    }
                    false => line.ends_with(close.as_str()),
                };
                if closes {
                    pasted[*start..=at].fill(true);
                    open = None;
                }
            }
            None => match opener(line) {
                Some(close) if close.starts_with('<') && line.ends_with(&close) => {
                    pasted[at] = true;
                }
                close => open = close.map(|close| (at, close)),
            },
        }
    }
}

/// Returns what closes the fence or block that `line` opens.
fn opener(line: &str) -> Option<String> {
    for mark in ["`", "~"] {
        let run = line.len() - line.trim_start_matches(mark).len();
        if run >= 3 {
            return (!line[run..].contains('`')).then(|| mark.repeat(run));
        }
    }
    let name = line.strip_prefix('<')?;
    let name = name.split([' ', '>']).next()?;
    BLOCKS.contains(&name).then(|| format!("</{name}>"))
}

/// Marks the lines of a paragraph that show something. What stands between two of them does too, and so does what a
/// command printed.
fn mark(run: &[&str], pasted: &mut [bool]) {
    let mut prompted = false;
    let mut introduced = None;
    let mut last: Option<usize> = None;
    let marked = run.iter().filter(|line| shows(line)).count();
    let dense = marked * 3 >= run.len();
    for (at, line) in run.iter().enumerate() {
        let trimmed = line.trim();
        let (_, bullet) = strip_bullet(trimmed);
        let indented = line.starts_with([' ', '\t']) && !bullet;
        if shows(line) {
            if let Some(last) = last.filter(|_| dense) {
                pasted[last..at].fill(true);
            }
            last = Some(at);
            pasted[at] = true;
            prompted |= is_prompt(trimmed);
        } else {
            let continues = indented && at > 0 && pasted[at - 1];
            let shown = match introduced {
                Some(Introduces::Words) => true,
                Some(Introduces::Output) => !bullet,
                None => false,
            };
            pasted[at] = prompted || continues || shown;
        }
        if introduced.is_none() && !pasted[at] {
            introduced = introduces(line);
        }
    }
    let code = |line: &&str| line.starts_with("    ") || line.starts_with('\t');
    let bullets = run.iter().any(|line| strip_bullet(line.trim()).1);
    if !bullets && run.iter().all(code) {
        pasted.fill(true);
    }
}

/// What follows a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Introduces {
    /// The words of somebody else, lists included.
    Words,
    /// Output or a document; a list behind it says what to do about it.
    Output,
}

/// Returns what a line announces that ends with a colon.
fn introduces(line: &str) -> Option<Introduces> {
    let line = line.trim();
    if !line.ends_with([':', '：']) || is_heading(line) {
        return None;
    }
    let words = words(line);
    let last = words.last()?.as_str();
    match () {
        () if SAYS.contains(&last) => Some(Introduces::Words),
        () if SHOWS.contains(&last) => Some(Introduces::Output),
        () => None,
    }
}

/// Returns true for a line that shows something and says nothing.
fn shows(line: &str) -> bool {
    let trimmed = line.trim();
    is_quoted(trimmed)
        || is_prompt(trimmed)
        || is_log(trimmed)
        || is_frame(trimmed)
        || is_data(trimmed)
        || is_diff(trimmed)
        || states_error(trimmed) && names_place_or_code(trimmed)
}

/// Returns true for quotes, drawn frames, tables, and paths of screenshots.
fn is_quoted(line: &str) -> bool {
    let table = line.starts_with('|') && line.len() > 1 && line.ends_with('|');
    line.starts_with('>')
        || table
        || line.starts_with("+--")
        || line.contains(['│', '─', '┃', '↑', '⠇'])
        || ((line.starts_with("'/") || line.starts_with("\"/")) && line.ends_with(['\'', '"']))
}

/// Returns true for a line that a shell or an interpreter prompts on.
fn is_prompt(line: &str) -> bool {
    let opens = ["$ ", "➜ ", "❯ ", "% ", "PS C:", ">>> ", "# ~"];
    let at_host = line.split_once(['$', '#']).is_some_and(|(before, _)| {
        before.contains('@') && before.contains(':') && !before.contains(' ')
    });
    opens.iter().any(|open| line.starts_with(open)) || at_host
}

/// Returns true for a line with a time or a level in front.
fn is_log(line: &str) -> bool {
    const LEVELS: [&str; 9] = [
        "INFO", "WARN", "WARNING", "ERROR", "DEBUG", "TRACE", "FATAL", "CRITICAL", "NOTICE",
    ];
    let bare = line.trim_start_matches(['[', '(']);
    let first = bare
        .split([' ', ']', ')', 'T', ','])
        .next()
        .unwrap_or_default();
    let digits = first.bytes().filter(u8::is_ascii_digit).count();
    let marks = first.matches([':', '-', '.', '/']).count();
    let plain = first
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'-' | b'.' | b'/' | b'Z'));
    // 2026-01-02, 12:30:01.5, [12:30:01]
    let time = plain && digits >= 6 && marks >= 2;
    let level = bare.split([' ', ']', ':', '|']).next().unwrap_or_default();
    let known = LEVELS.contains(&level);
    let bracketed = line.starts_with('[')
        && line.split_once("] ").is_some_and(|(tag, rest)| {
            tag.len() > 2 && tag != "[ ]" && tag != "[x" && !rest.is_empty() && !tag.contains("](")
        });
    time || known && line.len() > level.len() + 2 || bracketed && !line.contains("](")
}

/// Returns true for a line of a stack trace or of a compiler's report.
fn is_frame(line: &str) -> bool {
    let opens = [
        "File \"",
        "Traceback (",
        "--> ",
        "thread '",
        "stack backtrace",
        "Caused by:",
        "error[",
        "warning[",
    ];
    let numbered = line.split_once(" |").is_some_and(|(number, _)| {
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    });
    let at = line
        .strip_prefix("at ")
        .is_some_and(|rest| rest.ends_with(')') && rest.contains('(') || has_position(rest));
    let frame = line.split_once(": ").is_some_and(|(number, rest)| {
        number.bytes().all(|b| b.is_ascii_digit()) && rest.contains("::")
    });
    opens.iter().any(|open| line.starts_with(open))
        || numbered
        || at
        || frame
        || line.split(' ').next().is_some_and(has_position)
}

/// Returns true for `src/a.rs:12:3`, `a.ts(28,2):` and the like.
fn has_position(word: &str) -> bool {
    let word = word.trim_end_matches([':', ')']);
    let Some((path, position)) = word.split_once([':', '(']) else {
        return false;
    };
    let numbers = position.split([':', ',']);
    let numbers: Vec<&str> = numbers.collect();
    path.contains('.')
        && numbers.len() == 2
        && numbers
            .iter()
            .all(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns true for a line of JSON, of code, or of markup.
fn is_data(line: &str) -> bool {
    let bracket = matches!(
        line,
        "{" | "}" | "[" | "]" | "}," | "]," | "{}" | "[]" | "};" | "});" | ")" | "})"
    );
    let member = line.starts_with('"')
        && line[1..]
            .split_once('"')
            .is_some_and(|(_, rest)| rest.starts_with(':') || rest == ",");
    let object = (line.starts_with('{') && line.ends_with('}'))
        || (line.starts_with("[{") && line.ends_with(']'));
    let code = line.ends_with(['{', ';']) && line.contains(['(', '=', '.', '{']);
    let tag = line.starts_with('<')
        && line.ends_with('>')
        && line[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let comment = ["// ", "/*", "<!--"]
        .iter()
        .any(|open| line.starts_with(open));
    bracket || member || object || code || tag || comment
}

/// Returns true for a line of a diff, plain or numbered.
fn is_diff(line: &str) -> bool {
    let opens = ["@@ ", "diff --git ", "+++ ", "--- a/", "index "];
    let added = line
        .strip_prefix('+')
        .is_some_and(|rest| rest.starts_with(|first: char| first == ' ' || first.is_ascii_digit()));
    added || opens.iter().any(|open| line.starts_with(open)) && !line.ends_with([':', '.'])
}

/// Returns true where an error is printed rather than told: it stands first and names a kind, a code or a place.
fn names_place_or_code(line: &str) -> bool {
    let first = line.split([':', ' ']).next().unwrap_or_default();
    first.contains(['[', '/', '.']) || first.ends_with("Error") || first.ends_with("Exception")
}
