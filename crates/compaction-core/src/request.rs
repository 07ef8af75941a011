//! Requests to a summarizer, and its answers.

use std::borrow::Cow;

use serde::Serialize;

use crate::prompts;
use crate::restore::snapshot_of;
use crate::serialize::escape;
use session_facts::SourceMessage;
use session_model::tokens::TokenCount;

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// The history before the kept range.
    History,
    /// The beginning of the turn that the cut splits.
    TurnPrefix,
    /// One line for lists.
    Short,
    /// A branch that is left.
    Branch,
    /// A document for a new session.
    Handoff,
    /// Everything so far, for the strategy `restore`.
    Snapshot,
}

/// The text that a request starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carried {
    /// Nothing: it is the first.
    Nothing,
    /// The summary of the compaction before.
    Summary(String),
    /// The answer to the part before it.
    PreviousPart,
}

/// One request to a summarizer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SummaryRequest {
    /// The purpose.
    pub kind: RequestKind,
    /// The number of the part in its kind, from 1.
    pub part: usize,
    /// The number of parts of its kind.
    pub parts: usize,
    /// The system prompt.
    pub system: String,
    /// The record: the text between the conversation tags.
    pub conversation: String,
    /// The text that it starts from.
    pub carried: Carried,
    /// Additions of hooks.
    pub additional_context: Vec<String>,
    /// The instructions.
    pub instructions: String,
    /// What the user wants the summary to focus on.
    pub focus: Option<String>,
    /// True if text that imitates our tags is escaped in carried and added text.
    pub escapes: bool,
    /// The most that may be answered.
    pub max_output: TokenCount,
    /// The messages of the conversation, for summarizers that need no text. All of the kind's messages are in its first
    /// part.
    pub source: Vec<SourceMessage>,
}

impl SummaryRequest {
    /// Returns the summary that the request starts from, given the answer to the part before it.
    pub fn previous_summary<'a>(&'a self, previous_answer: Option<&'a str>) -> Option<&'a str> {
        match &self.carried {
            Carried::Nothing => None,
            Carried::Summary(summary) => Some(summary.as_str()),
            Carried::PreviousPart => previous_answer,
        }
        .filter(|summary| !summary.is_empty())
    }

    /// Returns the whole user message. `previous_answer` is the answer to the part before it; without one, a
    /// placeholder marks its position.
    pub fn prompt(&self, previous_answer: Option<&str>) -> String {
        let safe = |text: &str| match self.escapes {
            true => escape(text),
            false => text.to_owned(),
        };
        let mut prompt = framed("conversation", &self.conversation);
        let placeholder = (self.carried == Carried::PreviousPart)
            .then(|| format!("(the answer to part {} of {})", self.part - 1, self.parts));
        let previous = self
            .previous_summary(previous_answer)
            .or(placeholder.as_deref());
        if let Some(previous) = previous {
            prompt.push_str(&framed("previous-summary", &safe(previous)));
        }
        if !self.additional_context.is_empty() {
            let lines = self
                .additional_context
                .iter()
                .map(|line| format!("- {}", safe(line)));
            let lines = lines.collect::<Vec<_>>().join("\n");
            prompt.push_str(&framed("additional-context", &lines));
        }
        match &self.focus {
            Some(focus) => {
                prompt.push_str(&prompts::summary_focus(&self.instructions, &safe(focus)));
            }
            None => prompt.push_str(&self.instructions),
        }
        prompt
    }
}

fn framed(tag: &str, text: &str) -> String {
    format!("<{tag}>\n{text}\n</{tag}>\n\n")
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The summarizer was done.
    Complete,
    /// Its output cap cut it off.
    Truncated,
    /// It called a tool instead of answering.
    CalledTool,
}

/// The author of a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
#[non_exhaustive]
pub enum Summarizer {
    /// No model: the conversation is quoted.
    Extractive,
    /// A model.
    Model {
        /// The provider.
        provider: String,
        /// The provider's name for the model.
        model: String,
    },
    /// A provider's native compaction; the readable summary next to it is extractive unless the provider
    /// gives one.
    Native {
        /// The provider.
        provider: String,
        /// The provider's name for the model.
        model: String,
        /// True if the readable summary is the provider's own.
        readable: bool,
    },
    /// The remote endpoint.
    Remote {
        /// Its address, without credentials.
        endpoint: String,
    },
    /// A hook.
    Hook {
        /// Its name.
        name: String,
    },
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryAnswer {
    /// The text.
    pub text: String,
    /// The end of the answer.
    pub end: AnswerEnd,
    /// The author.
    pub summarizer: Summarizer,
}

/// The reason why an answer cannot be used. Such an answer is never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// There are fewer or more answers than requests.
    #[error("{requests} requests, but {answers} answers")]
    Count {
        /// The number of requests in the plan.
        requests: usize,
        /// The number of answers.
        answers: usize,
    },
    /// There is no text in it.
    #[error("the summary is empty")]
    Empty,
    /// It is incomplete.
    #[error("the summary was cut off by its output cap")]
    Truncated,
    /// It is too short for a long conversation.
    #[error(
        "the summary has {tokens} tokens for {replaced} that it replaces; at least {least} are needed"
    )]
    TooShort {
        /// Tokens of the answer.
        tokens: TokenCount,
        /// The tokens that it replaces.
        replaced: TokenCount,
        /// The fewest tokens that are accepted for them.
        least: TokenCount,
    },
    /// It is no summary.
    #[error("the summarizer called a tool instead of writing a summary")]
    CalledTool,
}

impl SummaryAnswer {
    /// Returns the summary that answers a request of this kind, or why there is none. The tags of a snapshot are
    /// removed before it is checked if the answer is empty.
    ///
    /// # Errors
    ///
    /// [`AnswerError`] when the answer is empty or was cut off.
    pub fn summary(&self, kind: RequestKind) -> Result<Cow<'_, str>, AnswerError> {
        match self.end {
            AnswerEnd::Truncated => return Err(AnswerError::Truncated),
            AnswerEnd::CalledTool => return Err(AnswerError::CalledTool),
            AnswerEnd::Complete => {}
        }
        let text = match (kind, &self.summarizer) {
            // An extractive or hand-written answer has no scratchpad, but may quote one.
            (RequestKind::Snapshot, Summarizer::Extractive | Summarizer::Hook { .. }) => {
                Cow::Borrowed(self.text.trim())
            }
            (
                RequestKind::Snapshot,
                Summarizer::Model { .. } | Summarizer::Native { .. } | Summarizer::Remote { .. },
            ) => snapshot_of(&self.text),
            (
                RequestKind::History
                | RequestKind::TurnPrefix
                | RequestKind::Short
                | RequestKind::Branch
                | RequestKind::Handoff,
                _,
            ) => Cow::Borrowed(bare(&self.text)),
        };
        match text.is_empty() {
            true => Err(AnswerError::Empty),
            false => Ok(text),
        }
    }
}

/// Of what a summary replaces, the part that it must have at least: a model that answers "done" has not summarized.
const LEAST_PART: u64 = 1000;

/// No summary is too short that has as many tokens as the headings and a sentence take; from so many replaced tokens on,
/// none has fewer.
const LEAST_MOST: TokenCount = TokenCount(40);
const MUCH: TokenCount = TokenCount(8000);

/// Fails for a model's summary that is too short for the `replaced` tokens.
///
/// # Errors
///
/// [`AnswerError::TooShort`].
pub fn check_length(tokens: TokenCount, replaced: TokenCount) -> Result<(), AnswerError> {
    let least = match replaced >= MUCH {
        true => LEAST_MOST,
        false => replaced.scaled(1, LEAST_PART),
    };
    match tokens < least {
        true => Err(AnswerError::TooShort {
            tokens,
            replaced,
            least,
        }),
        false => Ok(()),
    }
}

/// Returns a summary without what some models put around it: thinking that their server did not part from the
/// answer, calls that were written as text, and tags that wrap all of it.
fn bare(text: &str) -> &str {
    let mut text = text.trim();
    for tag in ["think", "thinking", "analysis", "scratchpad", "tool_call"] {
        let start = format!("<{tag}>");
        let end = format!("</{tag}>");
        while let Some(rest) = text.strip_prefix(&start) {
            // Thinking that never ends was cut off before the summary began.
            text = rest
                .find(&end)
                .map_or("", |at| rest[at + end.len()..].trim());
        }
        // Some templates open the thinking in the request, so that the answer only ends it.
        if let Some((before, rest)) = text.split_once(&format!("\n{end}\n"))
            && !before.contains(&start)
        {
            text = rest.trim();
        }
    }
    for tag in ["summary", "notes", "previous-summary"] {
        let inner = text.strip_prefix(&format!("<{tag}>"));
        let inner = inner.and_then(|rest| rest.trim_end().strip_suffix(&format!("</{tag}>")));
        text = inner.map_or(text, str::trim);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{AnswerEnd, AnswerError, RequestKind, Summarizer, SummaryAnswer, check_length};
    use session_model::tokens::TokenCount;

    fn summary(text: &str) -> Result<String, AnswerError> {
        let answer = SummaryAnswer {
            text: text.to_owned(),
            end: AnswerEnd::Complete,
            summarizer: Summarizer::Extractive,
        };
        answer.summary(RequestKind::History).map(Into::into)
    }

    #[test]
    fn thinking_and_wrapping_tags_are_no_part_of_a_summary() {
        let plain = Ok("## Goal\nx".to_owned());
        assert_eq!(summary("\n## Goal\nx\n"), plain);
        assert_eq!(summary("<think>let me see</think>\n## Goal\nx"), plain);
        assert_eq!(summary("<summary>\n## Goal\nx\n</summary>\n"), plain);
        let both = "<analysis>a</analysis><summary>## Goal\nx</summary>";
        assert_eq!(summary(both), plain);
        assert_eq!(summary("They asked.\n</think>\n\n## Goal\nx"), plain);
        let call = "<tool_call>\n{}\n</tool_call>\n";
        assert_eq!(summary(&format!("{call}{call}## Goal\nx")), plain);
        let inside = "## Goal\nparse <think>a</think>";
        assert_eq!(summary(inside), Ok(inside.to_owned()));
    }

    #[test]
    fn what_is_empty_without_them_is_no_summary() {
        for text in [
            "",
            "  \n",
            "<think>only thought</think>",
            "<think>cut off",
            "<summary></summary>",
        ] {
            assert_eq!(summary(text), Err(AnswerError::Empty), "{text}");
        }
    }

    #[test]
    fn a_summary_has_a_thousandth_of_what_it_replaces_or_40_tokens_for_much() {
        let check = |tokens, replaced| {
            let checked = check_length(TokenCount(tokens), TokenCount(replaced));
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(check(1, 1999), Ok(()));
        let short = "the summary has 2 tokens for 3000 that it replaces; at least 3 are needed";
        assert_eq!(check(2, 3_000), Err(short.to_owned()));
        let short = "the summary has 13 tokens for 13000 that it replaces; at least 40 are needed";
        assert_eq!(check(13, 13_000), Err(short.to_owned()));
        assert_eq!(check(40, 1_000_000), Ok(()));
    }
}
