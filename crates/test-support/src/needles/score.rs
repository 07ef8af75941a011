//! What became of a needle: looked up in the texts of a context, line by line.
//!
//! A needle is kept when one line has all that makes it up, wherever that line stands; a changed file has to stand
//! among changed files as well. What must not be shown is looked for in the summary alone: the kept range is what was
//! said, word for word. The form of a summary is not known here, so headings, tags and labels of any kind tell what a
//! line is about.

use super::{Needle, NeedleKind};

/// What can be read after a compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The summary, with the ledger and the lists of files.
    pub summary: String,
    /// All other messages: what they say, and the arguments of their calls.
    pub rest: String,
}

/// What became of a needle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is there.
    Kept,
    /// It is not, or not any more as what it is.
    Missed,
    /// It is not shown wrongly.
    Clean,
    /// It is: with the line of the summary.
    Wrong(String),
}

impl Verdict {
    /// Returns true for what is as it should be.
    pub const fn is_good(&self) -> bool {
        match self {
            Self::Kept | Self::Clean => true,
            Self::Missed | Self::Wrong(_) => false,
        }
    }
}

/// A line and what it stands under.
struct Line<'a> {
    text: &'a str,
    /// Tags, headings and the label in front, in lower case.
    under: String,
}

const CHANGED: &[&str] = &[
    "modified", "changed", "edited", "edit", "written", "write", "wrote", "created", "updated",
];
const FAILED: &[&str] = &[
    "fail",
    "failed",
    "failing",
    "error",
    "not",
    "refused",
    "denied",
    "blocked",
    "could",
    "unchanged",
];
const BROKEN: &[&str] = &[
    "blocked",
    "failing",
    "failed",
    "failure",
    "failures",
    "error",
    "errors",
    "open",
    "unresolved",
    "problem",
    "problems",
    "red",
    "broken",
];
const FIXED: &[&str] = &[
    "resolved", "fixed", "passes", "passed", "passing", "gone", "green", "solved", "mended",
    "since",
];
const OPEN: &[&str] = &[
    "todo",
    "todos",
    "next",
    "open",
    "pending",
    "remaining",
    "in_progress",
    "progress",
    "left",
    "task",
    "tasks",
];
const DONE: &[&str] = &["[x]", "done", "completed", "finished", "complete"];
const CHOSEN: &[&str] = &[
    "decision",
    "decisions",
    "decided",
    "chose",
    "chosen",
    "settled",
    "choice",
    "choices",
];
const REFUSED: &[&str] = &[
    "rejected",
    "reject",
    "turned",
    "not",
    "no",
    "nah",
    "instead",
    "rather",
    "against",
    "dropped",
    "forget",
    "object",
    "declined",
    "ruled",
    "reverted",
    "nicht",
    "abandoned",
    "avoid",
    "refused",
    "undone",
    "withdrawn",
    "discarded",
];
const REPLACED: &[&str] = &[
    "instead",
    "replaced",
    "replaces",
    "superseded",
    "was",
    "formerly",
    "previously",
    "earlier",
    "old",
    "outdated",
    "until",
    "longer",
    "withdrawn",
];
const RULES: &[&str] = &["rule", "rules", "constraint", "constraints", "preferences"];
const QUOTES: &[&str] = &["messages", "message", "said", "requests", "user"];

/// Returns what became of a needle.
pub fn judge(needle: &Needle, seen: &Seen) -> Verdict {
    let all = |line: &str| needle.literals.iter().all(|literal| holds(line, literal));
    match needle.kind {
        NeedleKind::Rule
        | NeedleKind::Pin
        | NeedleKind::OpenError
        | NeedleKind::NextStep
        | NeedleKind::Decision
        | NeedleKind::Number
        | NeedleKind::ReadFile
        | NeedleKind::OpenTodo => {
            let mut lines = seen.summary.lines().chain(seen.rest.lines());
            kept(lines.any(all))
        }
        NeedleKind::ModifiedFile => {
            let listed = lines(&seen.summary).any(|line| all(line.text) && says(&line, CHANGED));
            kept(listed || seen.rest.lines().any(all))
        }
        NeedleKind::FailedCall => shown(&seen.summary, needle, |line| {
            says(line, CHANGED) && !words_in(line.text, FAILED)
        }),
        NeedleKind::ResolvedError => shown(&seen.summary, needle, |line| {
            words_in(&line.under, BROKEN) && !is_fixed(line)
        }),
        NeedleKind::FinishedTodo | NeedleKind::FinishedStep => {
            shown(&seen.summary, needle, |line| {
                (line.text.contains("[ ]") || words_in(&line.under, OPEN)) && !says(line, DONE)
            })
        }
        NeedleKind::Distractor => shown(&seen.summary, needle, |line| words_in(&line.under, RULES)),
        NeedleKind::Rejected => shown(&seen.summary, needle, |line| {
            says(line, CHOSEN) && !says(line, REFUSED)
        }),
        NeedleKind::Superseded => {
            let new = needle.instead.as_deref().unwrap_or_default();
            let told: Vec<Line<'_>> = lines(&seen.summary).collect();
            // Words of the user that are quoted as such are read in their order, up to the kept range.
            let corrected = |line: &Line<'_>| {
                words_in(&line.under, QUOTES)
                    && (holds(&seen.rest, new)
                        || told
                            .iter()
                            .any(|other| words_in(&other.under, QUOTES) && holds(other.text, new)))
            };
            shown(&seen.summary, needle, |line| {
                !holds(line.text, new) && !words_in(line.text, REPLACED) && !corrected(line)
            })
        }
    }
}

/// Returns true when a summary has the words of a needle among rules.
pub fn is_among_rules(needle: &Needle, seen: &Seen) -> bool {
    let as_other = Needle {
        kind: NeedleKind::Distractor,
        ..needle.clone()
    };
    !judge(&as_other, seen).is_good()
}

fn kept(found: bool) -> Verdict {
    match found {
        true => Verdict::Kept,
        false => Verdict::Missed,
    }
}

/// Returns the first line that names the needle and shows it wrongly.
fn shown(summary: &str, needle: &Needle, wrongly: impl Fn(&Line<'_>) -> bool) -> Verdict {
    let name = needle.literals.first().map_or("", String::as_str);
    let mut found = lines(summary).filter(|line| holds(line.text, name) && wrongly(line));
    found
        .next()
        .map_or(Verdict::Clean, |line| Verdict::Wrong(line.text.to_owned()))
}

/// Returns true where a literal stands in a line and is not a part of a longer word or number.
fn holds(line: &str, literal: &str) -> bool {
    let edge = |inner: Option<char>, outer: Option<char>| {
        let word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        !(inner.is_some_and(word) && outer.is_some_and(word))
    };
    let mut found = line.match_indices(literal);
    found.any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + literal.len()..].chars().next();
        let decimal =
            literal.starts_with(|letter: char| letter.is_ascii_digit()) && before == Some('.');
        !decimal && edge(literal.chars().next(), before) && edge(literal.chars().next_back(), after)
    })
}

/// Returns true when a line or what it stands under has one of the words.
fn says(line: &Line<'_>, words: &[&str]) -> bool {
    words_in(line.text, words) || words_in(&line.under, words)
}

/// Returns true when a line, or what it stands under, says that a failure is fixed. "Not seen to pass since" does not say so.
fn is_fixed(line: &Line<'_>) -> bool {
    words_in(line.text, FIXED) || words_in(&line.under, FIXED) && !words_in(&line.under, &["not"])
}

fn words_in(text: &str, words: &[&str]) -> bool {
    let text = text.to_lowercase();
    let parts = text.split(|letter: char| !(letter.is_alphanumeric() || "[]".contains(letter)));
    let mut parts = parts.flat_map(|part| [part, part.trim_matches(['[', ']'])]);
    parts.any(|part| words.contains(&part))
        || words
            .iter()
            .any(|word| word.contains('_') && text.contains(word))
}

/// Returns the lines of a summary with what they stand under.
fn lines(summary: &str) -> impl Iterator<Item = Line<'_>> {
    // The open tags, each with the headings that it stands under.
    let mut tags: Vec<(String, (String, String))> = Vec::new();
    let (mut heading, mut below) = (String::new(), String::new());
    summary.lines().map(move |text| {
        let bare = text.trim();
        let opened = tag(bare);
        let closes = opened
            .as_ref()
            .is_some_and(|name| bare.ends_with(&format!("</{name}>")));
        if let Some(name) = &opened
            && !closes
        {
            let above = (std::mem::take(&mut heading), std::mem::take(&mut below));
            tags.push((name.clone(), above));
        }
        if let Some(title) = bare.strip_prefix('#') {
            title.trim_start_matches('#').clone_into(&mut heading);
            below.clear();
        } else if let Some(title) = subheading(bare) {
            title.clone_into(&mut below);
        }
        let label = label(bare);
        let own = opened.filter(|_| closes).unwrap_or_default();
        // What stands above a tag is about it only where both are in one block.
        let open = tags.iter().enumerate();
        let open = open.map(|(depth, (name, (heading, below)))| match depth {
            0 => format!("{name} "),
            _ => format!("{name} {heading} {below} "),
        });
        let open: String = open.collect();
        let under = format!("{open}{own} {heading} {below} {label}").to_lowercase();
        for name in bare
            .split("</")
            .skip(1)
            .filter_map(|rest| rest.split('>').next())
        {
            if let Some(place) = tags.iter().rposition(|(open, _)| open == name) {
                (heading, below) = tags.swap_remove(place).1;
                tags.truncate(place);
            }
        }
        Line { text, under }
    })
}

/// Returns the name of the tag that a line begins with.
fn tag(line: &str) -> Option<String> {
    let inner = line.strip_prefix('<')?;
    let name: String = inner
        .chars()
        .take_while(|letter| letter.is_ascii_alphanumeric() || "-_".contains(*letter))
        .collect();
    (!name.is_empty() && !inner.starts_with('/')).then_some(name)
}

/// Returns what a line says that is a heading without marks: bold, or with a colon at its end.
fn subheading(line: &str) -> Option<&str> {
    if line.starts_with(['-', '>', '*', '`']) && !line.starts_with("**") {
        return None;
    }
    let bold = line
        .strip_prefix("**")
        .and_then(|rest| rest.trim_end_matches(':').strip_suffix("**"));
    bold.filter(|title| !title.contains("**")).or_else(|| {
        let title = line.strip_suffix(':')?;
        (title.chars().count() <= 60).then_some(title)
    })
}

/// Returns the label that an item begins with: `- decision: ...`, `[error e12] ...`.
fn label(line: &str) -> &str {
    let item = line.trim_start_matches(['-', '*', ' ', '>']);
    if let Some(inner) = item.strip_prefix('[') {
        return inner.split(']').next().unwrap_or_default();
    }
    match item.split_once(':') {
        Some((label, _)) if label.split_whitespace().count() <= 3 && label.len() <= 28 => label,
        _ => "",
    }
}
