//! What messages say and do, as facts: one pass, without a model.
//!
//! Rules, figures and decisions are recognised in what was said, failures, files, commits and test runs in what was
//! done. What a later event settles is gone. The ledger, the extractive summary and the loss report are made from
//! these facts.

mod acts;
mod answers;
mod causes;
mod changed;
mod choices;
mod command;
mod command_log;
mod commits;
mod error_shapes;
mod fact_index;
mod facts;
mod failed;
mod figures;
mod files;
mod focus;
mod names;
mod notes;
mod objects;
mod output_line;
mod pasted;
mod prose;
mod quantity;
mod quoted;
mod refusals;
mod removals;
mod reported_failures;
mod rules;
mod scan;
mod shell_parse;
mod short_form;
mod signals;
mod speech;
mod steps;
mod subsumption;
mod text;
mod todos;
mod tool_effects;
mod user_messages;

#[doc(hidden)]
pub use acts::training;
pub use todos::{OpenTodos, TodoItem, TodoState, open_todos};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_causes;
#[cfg(test)]
mod tests_fact_index;
#[cfg(test)]
mod tests_files;
#[cfg(test)]
mod tests_pasted;
#[cfg(test)]
mod tests_settled;
#[cfg(test)]
mod tests_subsumption;

pub use fact_index::{FactIndex, REJECTED};
pub use figures::is_unit;
pub use focus::focus_lines;
pub use notes::{Change, Noted, Spoken};
pub use pasted::{own_words, without_pasted};
pub use prose::Prose;
pub use quoted::{message_starts, without_rules};
pub use scan::{last_steps, record};
pub use short_form::{
    ShortForm, decision as brief_decision, figure as brief_figure, step as brief_step,
};
pub use signals::Known;
use signals::{Outcome, judge};
pub use text::{cut_middle, neutralise, one_line};
use text::{ends_of, read, sentences};
pub use tool_effects::only_reads;

/// Returns the user's rules that a message states, in their order: byte for byte but for line breaks, neutralised
/// tags and the marker of a cut.
pub fn rules_in(text: &str) -> Vec<String> {
    let said = read(text, acts::Speaker::User);
    let stated = rules::stated(&said).into_iter();
    stated.map(|rule| rules::shown_rule(rule, "")).collect()
}

/// Returns the lines that tell why a command failed, from what it printed; none when it did not fail.
pub fn error_lines_of(output: &str, known: Known) -> Vec<String> {
    match judge(output, known) {
        Outcome::Failed { lines, .. } => lines,
        Outcome::Passed | Outcome::Denied => Vec::new(),
    }
}

/// Returns the first sentence of the goal that a summary names, at most 120 characters long: for lists.
pub fn short_summary(summary: &str) -> String {
    const HEADINGS: [&str; 3] = ["## Goal", "## Objective", "## Original Request"];
    let named = HEADINGS.iter().find_map(|heading| {
        let at = summary.find(heading)?;
        let body = summary[at..].split_once('\n')?.1;
        Some(body.split("\n## ").next().unwrap_or(body))
    });
    // Where no section says it, the text begins with it.
    let goal = named.unwrap_or(
        match summary.contains("\n## ") || summary.starts_with('#') {
            true => "",
            false => summary,
        },
    );
    let lines = goal.lines().map(|line| line.trim_start_matches(['>', ' ']));
    let labels = |line: &&str| !(line.ends_with(':') && line.contains("equest"));
    let goal: Vec<&str> = lines.filter(labels).collect();
    let text = one_line(&first_sentence(&goal.join("\n")), 120);
    if text == "(none)" {
        String::new()
    } else {
        text
    }
}

/// Returns the first sentence of a text.
pub fn first_sentence(text: &str) -> String {
    let first = sentences(&ends_of(text)).into_iter().next();
    first.map(|sentence| sentence.text).unwrap_or_default()
}
