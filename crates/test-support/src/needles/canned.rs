//! Summaries as a model might write them: plausible, of a given size, and with a part of the needles.

use super::rng::Rng;
use super::{Needle, NeedleKind};

/// The sections of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Six sections under headings.
    Sections,
    /// A scratchpad, then nine sections in tags.
    Snapshot,
}

/// Where a line belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Constraints,
    Done,
    Blocked,
    Decisions,
    Next,
    Critical,
}

/// Returns a summary of at most `most` tokens that has one needle of `one_of`, beginning with a place that depends on
/// the seed. What it says of other facts is right: what is over stands there as over.
pub fn canned_summary(
    needles: &[Needle],
    form: Form,
    seed: u64,
    one_of: usize,
    most: u64,
    tokens: impl Fn(&str) -> u64,
) -> String {
    let mut rng = Rng::new(seed);
    let mut facts: Vec<(Section, String)> = needles
        .iter()
        .enumerate()
        .filter(|(place, _)| (place + seed as usize).is_multiple_of(one_of.max(1)))
        .filter_map(|(_, needle)| Some((section(needle.kind), fact(needle)?)))
        .collect();
    rng.shuffle(&mut facts);
    let written = |facts: &[(Section, String)]| write(form, facts);
    // Halving finds how many of the facts fit; what is left over becomes talk.
    let (mut low, mut high) = (0, facts.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        match tokens(&written(&facts[..middle])) <= most {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    facts.truncate(low);
    let mut size = tokens(&written(&facts));
    loop {
        let line = talk(&mut rng);
        size += tokens(&line) + 2;
        if size > most {
            return written(&facts);
        }
        facts.push((Section::Done, line));
    }
}

fn section(kind: NeedleKind) -> Section {
    match kind {
        NeedleKind::Rule | NeedleKind::Pin => Section::Constraints,
        NeedleKind::ModifiedFile
        | NeedleKind::ResolvedError
        | NeedleKind::FinishedTodo
        | NeedleKind::FinishedStep => Section::Done,
        NeedleKind::OpenError => Section::Blocked,
        NeedleKind::Decision | NeedleKind::Rejected | NeedleKind::Distractor => Section::Decisions,
        NeedleKind::NextStep | NeedleKind::OpenTodo => Section::Next,
        NeedleKind::Number
        | NeedleKind::ReadFile
        | NeedleKind::Superseded
        | NeedleKind::FailedCall => Section::Critical,
    }
}

/// Returns how a model says it.
fn fact(needle: &Needle) -> Option<String> {
    let first = needle.literals.first()?;
    let second = needle.literals.get(1).map_or("", String::as_str);
    Some(match needle.kind {
        NeedleKind::Rule | NeedleKind::Pin => format!("- {first}"),
        NeedleKind::ModifiedFile => format!("- [x] Changed `{first}`"),
        NeedleKind::OpenError => format!("- Fails: {first}"),
        NeedleKind::NextStep | NeedleKind::OpenTodo => format!("- {first}"),
        NeedleKind::Decision => format!("- **{first}**: {second}"),
        NeedleKind::Number => format!("- The {second} is {first}"),
        NeedleKind::ReadFile => format!("- Looked at `{first}`"),
        NeedleKind::Superseded => {
            format!(
                "- The {second} is {}, it was {first} before",
                needle.instead.as_deref()?
            )
        }
        NeedleKind::ResolvedError => format!("- [x] Fixed: {first}"),
        NeedleKind::FailedCall | NeedleKind::Distractor => return None,
        NeedleKind::Rejected => format!("- Rejected: {first} {second}"),
        NeedleKind::FinishedTodo | NeedleKind::FinishedStep => format!("- [x] {first}"),
    })
}

fn talk(rng: &mut Rng) -> String {
    const WHAT: &[&str] = &[
        "Traced the flow of the request",
        "Compared both implementations",
        "Cleaned up the tests",
        "Looked through the callers",
        "Moved the check to the boundary",
        "Ran the module's tests",
        "Simplified the branching",
        "Read the surrounding code",
        "Checked the edge cases",
    ];
    const WHERE: &[&str] = &[
        "in the importer",
        "of the report page",
        "around the cache layer",
        "in the sync loop",
        "of the export job",
        "behind the login form",
        "in the webhook receiver",
    ];
    const THEN: &[&str] = &[
        "nothing surprising came up",
        "the behaviour is the same as before",
        "it reads better now",
        "the user was content with it",
        "no other place was affected",
        "this took two attempts",
    ];
    let (what, place, then) = (rng.pick(WHAT), rng.pick(WHERE), rng.pick(THEN));
    format!("- [x] {what} {place}; {then}.")
}

fn write(form: Form, facts: &[(Section, String)]) -> String {
    let of = |section: Section| {
        let own = facts.iter().filter(|(place, _)| *place == section);
        let own: Vec<&str> = own.map(|(_, line)| line.as_str()).collect();
        match own.is_empty() {
            true => "- (none)".to_owned(),
            false => own.join("\n"),
        }
    };
    let [constraints, done, blocked, decisions, next, critical] = [
        Section::Constraints,
        Section::Done,
        Section::Blocked,
        Section::Decisions,
        Section::Next,
        Section::Critical,
    ]
    .map(of);
    let goal =
        "Work through the reports on the project one after the other, in small reviewed steps.";
    match form {
        Form::Sections => format!(
            "## Goal\n{goal}\n\n## Constraints & Preferences\n{constraints}\n\n## Progress\n### Done\n{done}\n\n### In Progress\n- (none)\n\n### Blocked\n{blocked}\n\n## Key Decisions\n{decisions}\n\n## Next Steps\n{next}\n\n## Critical Context\n{critical}"
        ),
        Form::Snapshot => format!(
            "<analysis>\nThe record has many small tasks; I list what lasts.\n</analysis>\n\n<state_snapshot>\n<primary_request_and_intent>\n{goal}\n{constraints}\n</primary_request_and_intent>\n<key_technical_concepts>\n{decisions}\n</key_technical_concepts>\n<files_and_code_sections>\n{done}\n</files_and_code_sections>\n<errors_and_fixes>\n{blocked}\n</errors_and_fixes>\n<problem_solving>\n{critical}\n</problem_solving>\n<all_user_messages>\n- (many short ones)\n</all_user_messages>\n<pending_tasks>\n{next}\n</pending_tasks>\n<current_work>\nThe newest report.\n</current_work>\n<next_step>\nGo on with it.\n</next_step>\n</state_snapshot>"
        ),
    }
}
