//! The summary that answers make up.

use session_model::text::one_line;

use crate::outline::Outline;
use crate::request::{AnswerError, RequestKind, Summarizer, SummaryAnswer, SummaryRequest};

/// The heading between the summary of the history and that of a split turn's beginning.
pub const SPLIT_TURN_HEADING: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// The placeholder for the history when there is none before a split turn.
pub const NO_PRIOR_HISTORY: &str = "No prior history.";

/// The longest line for lists, in characters.
const SHORT: usize = 120;

/// Returns one line about the session, for lists: the first line of the goal in the prose, or of the first request.
pub(super) fn short_summary(prose: &str, outline: &Outline) -> Option<String> {
    const HEADINGS: [&str; 3] = ["## Goal\n", "## Objective\n", "## Original Request\n"];
    let goal = HEADINGS
        .iter()
        .find_map(|heading| Some(prose.split_once(heading)?.1));
    let words = |text: &str| {
        let mut lines = text
            .lines()
            .map(|line| line.trim_start_matches(['>', '-', '*', ' ']).trim());
        lines
            .find(|line| !line.is_empty() && *line != "(none)")
            .map(|line| one_line(line, SHORT))
    };
    goal.and_then(|goal| words(goal.split("\n#").next().unwrap_or(goal)))
        .or_else(|| words(outline.first_request()?))
}

/// Returns the summary that the answers make up, and who wrote it.
pub(crate) fn merge_answers(
    requests: &[SummaryRequest],
    answers: &[SummaryAnswer],
    previous: Option<&str>,
) -> Result<(String, Summarizer), AnswerError> {
    if requests.len() != answers.len() {
        return Err(AnswerError::Count {
            requests: requests.len(),
            answers: answers.len(),
        });
    }
    let mut history = None;
    let mut prefix = None;
    let mut summarizer = Summarizer::Extractive;
    for (request, answer) in requests.iter().zip(answers) {
        let text = answer.summary(request.kind)?;
        summarizer = answer.summarizer.clone();
        match request.kind {
            RequestKind::TurnPrefix => prefix = Some(text),
            RequestKind::History
            | RequestKind::Branch
            | RequestKind::Short
            | RequestKind::Snapshot
            | RequestKind::Handoff => history = Some(text),
        }
    }
    let merged = match (history, prefix) {
        (Some(history), None) => history.into_owned(),
        (history, Some(prefix)) => {
            let previous = previous.filter(|previous| !previous.is_empty());
            let history = history.as_deref().or(previous);
            let history = history.unwrap_or(NO_PRIOR_HISTORY);
            format!("{history}{SPLIT_TURN_HEADING}{prefix}")
        }
        (None, None) => return Err(AnswerError::Empty),
    };
    Ok((merged, summarizer))
}
