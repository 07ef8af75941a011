//! Reading single lines of a summary back: the forms that `sections` writes, and anybody's bullets.

use super::facts::{Facts, Failure, FileWork, Item, LeftOut};
use super::parse::Section;
use super::sections::MADE;
use super::text::one_line;

/// The longest bullet taken over from another's summary, in characters.
const LONGEST: usize = 400;

/// Takes one bullet: a form of ours wherever it stands, else by its section.
pub(super) fn parse_line(facts: &mut Facts, section: &Section, text: &str) {
    if let Some((left, what)) = parse_left(text) {
        match what {
            "more rules" => facts.rules_left = left,
            "more finished items" => facts.done_left = left.count,
            "more changed files" => facts.files_left = left.count,
            _ => {}
        }
        return;
    }
    if text.trim_start_matches('*').starts_with(MADE) {
        facts.extractive = true;
        return;
    }
    let quoted = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|rest| rest.rsplit_once("\" ("));
    if let (Some((rule, id)), Section::Constraints | Section::TurnContext) = (quoted, section) {
        facts.rules.push(Item {
            text: rule.to_owned(),
            id: id.to_owned(),
        });
    } else if let Some(item) = parse_labelled(text, "Plan") {
        facts.plan = Some(item);
    } else if let Some(item) = parse_labelled(text, "Last steps") {
        facts.last_steps = Some(item);
    } else if let Some(item) = parse_labelled(text, "Last answer") {
        facts.answer = Some(item);
    } else if let Some(figure) = text.strip_prefix("Figure: ") {
        facts.figures.push(parse_item(figure));
    } else if let Some(item) = text
        .strip_prefix("[x] ")
        .or_else(|| text.strip_prefix("[X] "))
    {
        parse_done(facts, item);
    } else if let Some(item) = text.strip_prefix("[ ] ") {
        facts.open.push(one_line(item, LONGEST));
    } else {
        let text = one_line(text, LONGEST);
        match section {
            Section::Constraints => facts.rules.push(Item {
                text,
                id: String::new(),
            }),
            Section::Done | Section::Turn => facts.done.push(text),
            Section::Doing => facts.open.push(text),
            Section::Blocked => facts.blocked.push(text),
            Section::Decisions => facts.decisions.push(parse_item(&text)),
            Section::TurnContext if text.starts_with("**") => {
                facts.decisions.push(parse_item(&text));
            }
            Section::Next => facts.next.push(text),
            Section::Unknown(title) if !title.is_empty() => {
                facts.notes.push(format!("{title}: {text}"));
            }
            Section::Goal | Section::Critical | Section::TurnContext | Section::Unknown(_) => {
                facts.notes.push(text);
            }
        }
    }
}

fn parse_done(facts: &mut Facts, text: &str) {
    let ticked = |prefix: &str| {
        text.strip_prefix(prefix)
            .filter(|rest| rest.starts_with('`'))
    };
    if let Some(paths) = ticked("changed: ") {
        facts.note_files(paths.trim_matches('`').split("`, `"));
    } else if let Some(commands) = ticked("passed: ") {
        for command in commands.split("; `") {
            let Item { text, id } = parse_item(command);
            facts.passed.push(Item {
                text: text.trim_matches('`').to_owned(),
                id,
            });
        }
    } else if let Some(file) = parse_file(text) {
        facts.files.push(file);
    } else {
        facts.done.push(one_line(text, LONGEST));
    }
}

fn parse_file(text: &str) -> Option<FileWork> {
    let (rest, wrote) = match text.strip_prefix("edited ") {
        Some(rest) => (rest, false),
        None => (text.strip_prefix("wrote ")?, true),
    };
    let rest = rest.strip_suffix(')')?;
    for (at, _) in rest.match_indices(" (") {
        let path = rest[..at].to_owned();
        let (what, newest) = rest[at + 2..]
            .split_once("; newest: ")
            .unwrap_or((&rest[at + 2..], ""));
        let newest = newest.to_owned();
        let (first, second) = what.split_once(", ").unwrap_or((what, ""));
        let lines = number(first, " lines");
        let edits = number(if wrote { second } else { first }, " edit");
        if wrote == lines.is_some() && (edits.is_some() || (wrote && second.is_empty())) {
            let edits = edits.unwrap_or_default();
            return Some(FileWork {
                path,
                lines,
                edits,
                newest,
            });
        }
    }
    None
}

fn number(text: &str, unit: &str) -> Option<usize> {
    let (number, rest) = text.split_once(unit)?;
    number
        .parse()
        .ok()
        .filter(|_| rest.is_empty() || rest == "s")
}

/// Returns what stands behind a label, `Plan (id): text`.
pub(super) fn parse_labelled(text: &str, label: &str) -> Option<Item> {
    let rest = text.strip_prefix(label)?;
    let (id, rest) = match rest.strip_prefix(" (") {
        Some(rest) => rest.split_once("): ")?,
        None => ("", rest.strip_prefix(": ")?),
    };
    Some(Item {
        text: rest.to_owned(),
        id: id.to_owned(),
    })
}

/// Returns the fact and the id that stands in parentheses at its end.
pub(super) fn parse_item(text: &str) -> Item {
    let parts = text
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once(" ("));
    let (text, id) = match parts {
        Some((fact, id)) if !id.is_empty() && !id.contains([' ', '(', ',']) => (fact, id),
        _ => (text, ""),
    };
    Item {
        text: text.to_owned(),
        id: id.to_owned(),
    }
}

/// Returns what a line of what is left out says, `(3 more rules: recall id, id)`.
pub(super) fn parse_left(text: &str) -> Option<(LeftOut, &str)> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let (count, rest) = inner.split_once(' ')?;
    let count = count.parse().ok()?;
    let (what, ids) = rest.split_once(": recall ").unwrap_or((rest, ""));
    let ids = ids.split(", ").filter(|id| !id.is_empty() && *id != "...");
    let ids = ids.map(str::to_owned).collect();
    let known = [
        "more rules",
        "earlier requests",
        "more finished items",
        "more changed files",
    ];
    known
        .contains(&what)
        .then_some((LeftOut { count, ids }, what))
}

/// Returns a failure with the fenced error lines that follow it.
pub(super) fn parse_failure(text: &str, following: &[&str]) -> Option<Failure> {
    let rest = text.strip_prefix('`')?;
    let (command, rest) = rest.split_once("` failed")?;
    let (rest, fenced) = match rest.strip_suffix(':') {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let Item { text: rest, id } = parse_item(rest);
    let exit = match rest.as_str() {
        "" => None,
        rest => Some(rest.strip_prefix(", exit code ")?.parse().ok()?),
    };
    let mut lines = Vec::new();
    if fenced {
        let (fence, body) = following.split_first()?;
        let end = body.iter().position(|line| line == fence)?;
        let body = body[..end]
            .iter()
            .map(|line| line.strip_prefix("  ").unwrap_or(line));
        lines = body.map(str::to_owned).collect();
    }
    let command = command.to_owned();
    Some(Failure {
        command,
        exit,
        lines,
        id,
        reported: None,
    })
}
