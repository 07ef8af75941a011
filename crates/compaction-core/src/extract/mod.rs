//! The extractive summarizer: a summary without a model, a key or a network.
//!
//! It reads the messages once, keeps what can be quoted (the first and the latest request, the user's
//! rules, figures, decisions with their reasons, todo lists, files, failing commands), puts that on top
//! of the previous summary, and writes the same six sections that the prompts ask of a model. So either
//! can update the other's summary. The same input gives the same text.
//!
//! ```text
//! previous summary -> parse -> Facts --+
//!                                      merge -> fit (shares, then dropping in order) -> text
//! messages --------> scan  -> Facts --+
//! ```
//!
//! **Invariants.** The result is never larger than the cap. Text from messages stands in quotes or on one
//! line of a list, with our own tags neutralised, so that it cannot imitate a section. An update without
//! new messages changes nothing.

mod changed;
mod choice_words;
mod choices;
mod command;
mod commits;
mod fact_index;
mod facts;
mod failed;
mod figures;
mod files;
mod fit;
mod focus;
mod ledger_dedup;
mod lines;
mod merge;
mod names;
mod notes;
mod parse;
mod pasted;
mod phrases;
mod quantity;
mod refusals;
mod removals;
mod reported_failures;
mod rule_words;
mod rules;
mod scan;
mod sections;
mod sentence_kinds;
mod shell_parse;
mod short_form;
mod signals;
mod speech;
mod subsumption;
mod text;
mod todos;
mod tool_effects;
mod user_messages;

pub use todos::{OpenTodos, TodoItem, TodoState, open_todos};
mod command_log;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_fact_index;
#[cfg(test)]
mod tests_files;
#[cfg(test)]
mod tests_pasted;
#[cfg(test)]
mod tests_sentence_kinds;
#[cfg(test)]
mod tests_settled;
#[cfg(test)]
mod tests_subsumption;

use crate::ledger_block::LedgerBlock;
use std::sync::LazyLock;

use crate::source::SourceMessage;

use crate::ledger_block::ActiveFacts;
pub(crate) use fact_index::FactIndex;
use facts::{Facts, Item, Request};
pub(crate) use figures::is_unit;
use fit::{Gauge, fit};
pub(crate) use ledger_dedup::since;
use merge::merge;
pub(crate) use notes::{Change, Spoken};
use parse::parse;
pub(crate) use pasted::without_pasted;
use rules::RuleBook;
pub(crate) use scan::record;
use scan::scan;
pub(crate) use short_form::{
    ShortForm, decision as brief_decision, figure as brief_figure, step as brief_step,
};
pub(crate) use signals::Known;
use signals::{Outcome, judge};
pub(crate) use text::cut_middle;
pub(crate) use text::one_line;
use text::{ends_of, sentences};

/// What a summary is for, and so which sections it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtractKind {
    /// Older history: six sections.
    History,
    /// The start of a turn whose end is kept: three short sections.
    TurnPrefix,
    /// A branch that was left: the six sections without Critical Context.
    Branch,
}

/// What the summarizer works from.
pub struct ExtractInput<'a> {
    /// What the summary is for.
    pub kind: ExtractKind,
    /// What is summarized, oldest first.
    pub messages: &'a [SourceMessage],
    /// The summary carried so far: ours, a model's in six sections, or any text.
    pub previous: Option<&'a str>,
    /// What the user asked to watch for.
    pub focus: Option<&'a str>,
    /// Files that were only read, newest last. The summary does not list them: the file tags do.
    pub read_files: &'a [String],
    /// Files that were written or edited, newest last. All are named in the summary.
    pub modified_files: &'a [String],
    /// The ledger that follows the summary: what it states is not repeated.
    pub ledger: Option<&'a LedgerBlock>,
    /// The largest size of the result, as `count` measures it.
    pub cap: u64,
    /// The token counter.
    pub count: &'a dyn Fn(&str) -> u64,
}

/// Returns the extractive summary, at most `cap` tokens large.
pub fn extract(input: &ExtractInput<'_>) -> String {
    let mut facts = input.previous.map(parse).unwrap_or_default();
    let scanned = scan(input.messages, input.focus);
    if input.previous.is_none()
        && let Some(text) = scanned.carried
    {
        facts = parse(&text);
    }
    let mut newer = scanned.facts;
    if let Some(holds) = input.ledger.and_then(|ledger| ledger.holds.as_ref()) {
        newer.drop_stale(holds);
        if facts.extractive {
            facts.drop_stale(holds);
        }
    } else {
        // What these messages say settles what they said before.
        // Of files it holds nothing.
        let own = record(input.messages, "");
        newer.drop_stale(&ActiveFacts::of(&own, |place| {
            input.messages[place].entry_id.clone()
        }));
    }
    if !input.messages.is_empty() {
        merge(&mut facts, newer);
    }
    for branch in &scanned.branches {
        take_branch(&mut facts, branch);
    }
    facts.note_files(input.modified_files.iter().map(String::as_str));
    if let Some(ledger) = input.ledger {
        let request = facts.first.as_ref().map(Request::listed);
        facts.dedupe(ledger);
        // Which of the requests a turn began with is said here.
        if let (ExtractKind::TurnPrefix, None, Some(Item { text, id })) =
            (input.kind, &facts.first, request)
        {
            facts.first_in_ledger = false;
            facts.first = Some(Request { text, id });
        }
    }
    let gauge = Gauge {
        cap: input.cap,
        count: input.count,
    };
    fit(&mut facts, input.kind, gauge)
}

/// Returns the user's rules that a message states, in their order: byte for byte but for line breaks, neutralised
/// tags and the marker of a cut.
pub(crate) fn rules_in(text: &str) -> Vec<String> {
    static BOOK: LazyLock<RuleBook> = LazyLock::new(RuleBook::new);
    BOOK.rules_of(&sentences(text), "")
}

/// Returns the lines that tell why a command failed, from what it printed; none when it did not fail.
pub(crate) fn error_lines_of(output: &str, known: Known) -> Vec<String> {
    match judge(output, known) {
        Outcome::Failed { lines, .. } => lines,
        Outcome::Passed | Outcome::Denied => Vec::new(),
    }
}

/// Returns the first sentence of the goal, at most 120 characters long: for lists.
pub fn short_summary(summary: &str) -> String {
    let facts = parse(summary);
    let request = facts.first.or(facts.latest).map(|request| request.text);
    let goal = match request {
        Some(request) if facts.goal.is_empty() => request,
        Some(_) | None if !facts.goal.is_empty() => facts.goal,
        Some(_) | None => facts.earlier,
    };
    let first = sentences(&ends_of(&goal)).into_iter().next();
    first
        .map(|sentence| one_line(&sentence.text, 120))
        .unwrap_or_default()
}

/// How much of a branch's last answer outlives it, in characters.
const ANSWER_OF_BRANCH: usize = 300;

/// Takes over what must outlive a branch that was left: rules, files, decisions, and what it was about.
fn take_branch(facts: &mut Facts, branch: &Item) {
    let about = short_summary(&branch.text);
    let parsed = parse(&branch.text);
    let ended = parsed
        .answer
        .map(|answer| one_line(&answer.text, ANSWER_OF_BRANCH));
    let about = match (about.as_str(), ended) {
        ("", None) => "what it was about is not known".to_owned(),
        (about, None) => about.to_owned(),
        ("", Some(ended)) => format!("it ended with: {ended}"),
        (about, Some(ended)) => format!("{about} It ended with: {ended}"),
    };
    let notes = vec![format!("A branch that was left ({}): {about}", branch.id)];
    let newer = Facts {
        rules: parsed.rules,
        rules_left: parsed.rules_left,
        files: parsed.files,
        decisions: parsed.decisions,
        notes,
        ..Facts::default()
    };
    merge(facts, newer);
}
