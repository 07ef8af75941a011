//! Reading a summary back: one of ours, one of a model in the same sections, or free text.

use super::facts::{Facts, Focus, Request};
use super::ledger_dedup::FIRST_BELOW;
use super::lines::{parse_failure, parse_item, parse_labelled, parse_left, parse_line};
use super::merge::merge;
use super::sections::{ANSWERS, BETWEEN, CARRIED_GOAL, EARLIER, LATEST_ANSWERS};
use super::text::{neutralise, one_line, strip_bullet};

/// Where the second summary of a split turn starts.
const SPLIT_TURN: &str = "\n---\n\n**Turn Context (split turn):**\n";
/// The history of a split turn that had none.
const NO_HISTORY: &str = "No prior history.";

/// A section of a summary, ours or a model's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Section {
    Goal,
    Constraints,
    Done,
    Doing,
    Blocked,
    Decisions,
    Next,
    Critical,
    Turn,
    TurnContext,
    Unknown(String),
}

/// Returns what `summary` says.
pub(super) fn parse(summary: &str) -> Facts {
    let (body, files) = strip_tags(summary);
    let (history, turn) = match body.split_once(SPLIT_TURN) {
        Some((history, turn)) => (history, Some(turn)),
        None => (body.as_str(), None),
    };
    let mut facts = parse_part(history);
    if let Some(turn) = turn {
        let mut turn = parse_part(turn);
        turn.active = true;
        merge(&mut facts, turn);
    }
    facts.note_files(files.iter().map(String::as_str));
    facts
}

/// Returns `summary` without its file tags, and the paths of the modified files that they named.
fn strip_tags(summary: &str) -> (String, Vec<String>) {
    let mut body = String::with_capacity(summary.len());
    let mut files = Vec::new();
    let mut inside: Option<&str> = None;
    for line in summary.split('\n') {
        let trimmed = line.trim_end();
        match (inside, trimmed) {
            (None, "<read-files>") => inside = Some("</read-files>"),
            (None, "<modified-files>") => inside = Some("</modified-files>"),
            (Some(close), _) if trimmed == close => inside = None,
            (Some("</modified-files>"), _) if !trimmed.is_empty() => files.push(trimmed.to_owned()),
            (Some(_), _) => {}
            (None, _) => {
                body.push_str(line);
                body.push('\n');
            }
        }
    }
    (body, files)
}

fn parse_part(text: &str) -> Facts {
    let mut facts = Facts::default();
    let mut sections: Vec<(Section, Vec<&str>)> =
        vec![(Section::Unknown(String::new()), Vec::new())];
    let mut fence: Option<(String, bool)> = None;
    for line in text.split('\n') {
        let mark = line.trim_start();
        let margin = mark.len() == line.len();
        match &fence {
            Some((ticks, _)) if mark.trim_end() == ticks => fence = None,
            // What stands at the margin has left a fence inside a list.
            Some((_, true)) if margin && !mark.is_empty() => fence = None,
            None if mark.starts_with("```") => {
                let ticks = mark.len() - mark.trim_start_matches('`').len();
                fence = Some(("`".repeat(ticks), !margin));
            }
            Some(_) | None => {}
        }
        match heading(line).filter(|_| fence.is_none()) {
            Some(section) => sections.push((section, Vec::new())),
            None => {
                if let Some((_, lines)) = sections.last_mut() {
                    lines.push(line);
                }
            }
        }
    }
    if !sections
        .iter()
        .any(|(section, _)| !matches!(section, Section::Unknown(_)))
    {
        let text = text.trim();
        if text != NO_HISTORY {
            facts.earlier = neutralise(text);
        }
        return facts;
    }
    for (section, lines) in sections {
        match section {
            Section::Goal => parse_goal(&mut facts, &lines),
            section => parse_list(&mut facts, &section, &lines),
        }
    }
    facts
}

/// Returns the section that `line` opens: a Markdown heading, or a known title in bold.
fn heading(line: &str) -> Option<Section> {
    let line = line.trim_end();
    let (title, sure) = match line
        .strip_prefix("**")
        .and_then(|rest| rest.strip_suffix("**"))
    {
        Some(title) => (title, false),
        None => {
            let title = line.trim_start_matches('#');
            let depth = line.len() - title.len();
            (
                title
                    .strip_prefix(' ')
                    .filter(|_| (1..=4).contains(&depth))?,
                true,
            )
        }
    };
    let title = title
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.')
        .trim();
    let plain: String = title.to_lowercase().replace(" and ", " ");
    let words: Vec<_> = plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let section = match words.join(" ").as_str() {
        "goal" | "goals" | "objective" | "original request" => Section::Goal,
        "constraints preferences" | "constraints" | "preferences" | "user preferences" => {
            Section::Constraints
        }
        "progress" | "done" | "completed" => Section::Done,
        "in progress" | "current work" => Section::Doing,
        "blocked" | "blockers" => Section::Blocked,
        "key decisions" | "decisions" => Section::Decisions,
        "next steps" | "next" => Section::Next,
        "critical context" | "context" => Section::Critical,
        "progress so far" | "early progress" => Section::Turn,
        "context needed to continue" | "context for suffix" => Section::TurnContext,
        _ if sure => Section::Unknown(one_line(title, 80)),
        _ => return None,
    };
    Some(section)
}

fn parse_goal(facts: &mut Facts, lines: &[&str]) {
    let mut prose = String::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        let quoted = lines[at..]
            .iter()
            .take_while(|line| line.starts_with('>'))
            .count();
        let quote = || unquote(&lines[at..at + quoted]);
        let request = |id: &str| {
            Some(Request {
                text: quote(),
                id: id.to_owned(),
            })
        };
        if line == FIRST_BELOW {
            facts.first_in_ledger = true;
        } else if let Some(id) =
            label(line, "First request after the earlier summary").filter(|_| quoted > 0)
        {
            facts.first = request(id);
            facts.first_follows_summary = true;
        } else if let Some(id) = label(line, "First request").filter(|_| quoted > 0) {
            facts.first = request(id);
        } else if let Some(id) = label(line, "Latest request").filter(|_| quoted > 0) {
            facts.latest = request(id);
        } else if let Some(asked) = parse_labelled(line, ANSWERS).filter(|_| facts.latest.is_some())
        {
            facts.latest_answers = Some(asked);
        } else if let Some(asked) = parse_labelled(line, LATEST_ANSWERS) {
            facts.latest_answers = Some(asked);
        } else if line == CARRIED_GOAL {
            facts.goal = quote();
        } else if line == BETWEEN {
            let listed = lines[at..]
                .iter()
                .take_while(|line| line.starts_with("- "))
                .count();
            for line in &lines[at..at + listed] {
                match parse_left(&line[2..]) {
                    Some((left, "earlier requests")) => facts.between_left = left,
                    Some(_) | None => facts.between.push(parse_item(&line[2..])),
                }
            }
            at += listed;
            continue;
        } else {
            if !(is_nothing(line) && prose.is_empty()) {
                prose.push_str(line);
                prose.push('\n');
            }
            continue;
        }
        at += quoted;
    }
    let prose = prose.trim();
    if !prose.is_empty() {
        facts.goal = neutralise(prose);
    }
}

/// Returns the id of a label line, `First request (id):`; empty when it has none.
fn label<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(label)?.strip_suffix(':')?;
    match rest {
        "" => Some(""),
        rest => rest.strip_prefix(" (")?.strip_suffix(')'),
    }
}

fn unquote(lines: &[&str]) -> String {
    let lines = lines
        .iter()
        .map(|line| line.strip_prefix("> ").unwrap_or(&line[1..]));
    lines.collect::<Vec<_>>().join("\n")
}

fn is_nothing(text: &str) -> bool {
    let text = text
        .trim()
        .trim_start_matches(['-', '*', ' '])
        .trim_end_matches('.');
    let text = text.trim_matches(['(', ')', '[', ']']).trim();
    ["", "none", "n/a", "nothing", "in the ledger below"]
        .iter()
        .any(|nothing| text.eq_ignore_ascii_case(nothing))
}

fn parse_list(facts: &mut Facts, section: &Section, lines: &[&str]) {
    let mut at = 0;
    let mut focus = false;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if is_nothing(line) {
            focus = false;
            continue;
        }
        let following = &lines[at..];
        if let Some(words) = line
            .strip_prefix("Focus (")
            .and_then(|rest| rest.strip_suffix("):"))
        {
            let words = words.to_owned();
            facts.focus = Some(Focus {
                words,
                lines: Vec::new(),
            });
            focus = true;
            continue;
        }
        if line == EARLIER {
            let quoted = following
                .iter()
                .take_while(|line| line.starts_with('>'))
                .count();
            facts.earlier = unquote(&following[..quoted]);
            at += quoted;
            continue;
        }
        let (text, bullet) = match line.strip_prefix("- ") {
            Some(text) => (text, true),
            None => strip_bullet(line),
        };
        if let Some(focus) = facts.focus.as_mut().filter(|_| focus) {
            focus.lines.push(parse_item(text));
            continue;
        }
        if let Some(failure) = parse_failure(text, following) {
            let fenced = failure.lines.len();
            facts.failures.push(failure);
            at += if fenced > 0 { fenced + 2 } else { 0 };
            continue;
        }
        let more = following.iter().take_while(|next| {
            !is_nothing(next)
                && (next.starts_with([' ', '\t']) || (!bullet && !strip_bullet(next).1))
        });
        let more = more.count();
        if more == 0 {
            parse_line(facts, section, text);
        } else {
            let all: Vec<_> = std::iter::once(text)
                .chain(following[..more].iter().copied())
                .collect();
            parse_line(facts, section, &all.join(" "));
        }
        at += more;
    }
}
