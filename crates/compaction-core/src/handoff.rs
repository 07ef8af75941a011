//! Handoff: a document with which a new session continues. Nothing is appended to the old one.

use session_model::{AgentMessage, SessionContext, SessionPath};

use crate::files::FileOps;
use crate::ledger::{LedgerBlock, LedgerReader};
use crate::outline::{Form, Outline, OutlineBudget};
use crate::plan::dispositions::{Disposition, file_ops, request_source, source_messages};
use crate::plan::requests::{RequestSet, RequestSource, Shared, WindowTooSmall, output_cap};
use crate::plan::{CannotShrink, HookInput, SummarizerLimits, merge_answers};
use crate::prompts;
use crate::prose::{prose_of, without_ledger};
use crate::request::{
    AnswerEnd, AnswerError, RequestKind, Summarizer, SummaryAnswer, SummaryRequest,
};
use crate::rules::Profile;
use crate::serialize::escape_ledger;
use crate::settings::CompactionSettings;
use session_model::tokens::TokenCount;

/// The most that a document takes.
const OUTPUT_CAP: TokenCount = TokenCount(8192);

/// The options of a handoff, in addition to the context.
#[derive(Debug, Clone)]
pub struct HandoffOptions {
    /// Bounds of serialization and the length of file lists are read from here.
    pub settings: CompactionSettings,
    /// The limits of the summarizer.
    pub summarizer: SummarizerLimits,
    /// What the document should focus on.
    pub focus: Option<String>,
}

/// A planned handoff: the requests whose answers make the document.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HandoffPlan {
    /// Files of the whole context.
    pub files: FileOps,
    /// The most that the document takes.
    pub max_output: TokenCount,
    /// The ledger after the prose of a model.
    pub ledger: LedgerBlock,
    outline: Outline,
    pin_budget: TokenCount,
    profile: Profile,
    file_list_limit: usize,
    asked: RequestSet,
}

/// Returns the requests for a document that covers `context`, in the form of summary requests: the context as text,
/// folded if it exceeds the summarizer's window. For a model that can read the whole conversation,
/// [`HandoffPlan::question`] at its end gives better results.
///
/// Returns `None` when the context has no messages.
///
/// # Errors
///
/// [`WindowTooSmall`] when not even the shortest request fits the summarizer's window.
pub fn plan_handoff(
    path: &SessionPath<'_>,
    context: &SessionContext,
    options: &HandoffOptions,
) -> Result<Option<HandoffPlan>, WindowTooSmall> {
    let profile = Profile::Own;
    let previous = context
        .compaction()
        .map(|(_, compaction)| prose_of(&compaction.summary));
    let start = usize::from(previous.is_some());
    let dispositions: Vec<Disposition> = context
        .entries
        .iter()
        .enumerate()
        .map(|(place, projected)| match place {
            place if place < start => Disposition::PreviousSummary,
            _ if projected
                .messages
                .iter()
                .all(|message| matches!(**message, AgentMessage::System(_))) =>
            {
                Disposition::NoMessage
            }
            _ => Disposition::Summarized,
        })
        .collect();
    let source = source_messages(context, &dispositions, Disposition::Summarized);
    if source.is_empty() && previous.is_none() {
        return Ok(None);
    }
    let bounds = profile.bounds(&options.settings);
    let window = options.summarizer.window;
    let max_output = output_cap(OUTPUT_CAP, &profile.rules(), &options.summarizer);
    let request_source = RequestSource {
        previous: previous.filter(|previous| !previous.is_empty()),
        ..request_source(RequestKind::Handoff, source, &bounds, max_output)
    };
    let shared = Shared {
        limits: options.summarizer,
        folds: true,
        escapes: bounds.escapes,
        hooks: HookInput::default(),
        focus: options.focus.clone(),
        halvings: 0,
    };
    // The new session gets no entries of the context.
    let outline = Outline::of(path, context, context.entries.len());
    let budget = OutlineBudget {
        tokens: options.settings.ledger.budget(window, None),
        pins: options.settings.pins.budget(window, None),
    };
    Ok(Some(HandoffPlan {
        ledger: outline.ledger(LedgerReader::NextSession, budget, profile.counter()),
        outline,
        pin_budget: budget.pins,
        files: file_ops(context, &dispositions, &profile.rules()),
        max_output,
        profile,
        file_list_limit: options.settings.file_list_limit,
        asked: RequestSet::new(vec![request_source], shared, profile.counter())?,
    }))
}

impl HandoffPlan {
    /// Returns the requests that a summarizer must answer, in order.
    pub fn requests(&self) -> &[SummaryRequest] {
        &self.asked.requests
    }

    /// Returns the question for the end of the real conversation, for a model that has read all of it.
    pub fn question(&self) -> String {
        let prompt = prompts::handoff_document();
        match &self.asked.shared().focus {
            Some(focus) => prompts::summary_focus(&prompt, focus),
            None => prompt,
        }
    }

    /// Returns the plan with every request folded to half its budget, for a summarizer that found them too large.
    ///
    /// # Errors
    ///
    /// [`CannotShrink`] when the requests cannot be folded to half their budget.
    pub fn shrink(self) -> Result<Self, CannotShrink> {
        let asked = self.asked.halved(self.profile.counter())?;
        Ok(Self { asked, ..self })
    }

    /// Returns the document that the answers make up, its ledger and file lists included, and who wrote it.
    ///
    /// # Errors
    ///
    /// [`AnswerError`] when an answer is missing, empty or cut off.
    pub fn document(&self, answers: &[SummaryAnswer]) -> Result<(String, Summarizer), AnswerError> {
        let (text, summarizer) = merge_answers(self.requests(), answers, None)?;
        let document = match summarizer {
            Summarizer::Extractive => {
                format!("{text}{}", self.files.tags(Some(self.file_list_limit)))
            }
            Summarizer::Model { .. }
            | Summarizer::Native { .. }
            | Summarizer::Remote { .. }
            | Summarizer::Hook { .. } => self.with_files(&text),
        };
        Ok((document, summarizer))
    }

    /// Returns the answers made from the outline, within `cap` tokens.
    pub fn answer_extractive(&self, cap: TokenCount) -> Vec<SummaryAnswer> {
        let budget = OutlineBudget {
            tokens: cap,
            pins: self.pin_budget,
        };
        // The new session cannot look up ids of this one.
        let form = Form {
            with_answers: true,
            with_ids: false,
        };
        let text = self.outline.summary(form, budget, self.profile.counter());
        let answer = SummaryAnswer {
            text,
            end: AnswerEnd::Complete,
            summarizer: Summarizer::Extractive,
        };
        vec![answer; self.requests().len()]
    }

    /// Returns a document that was written at the end of the real conversation, with ledger and file lists. Such a
    /// writer has seen a ledger, and must not repeat it.
    pub fn with_files(&self, text: &str) -> String {
        let text = escape_ledger(&without_ledger(text));
        let tags = self.files.tags(Some(self.file_list_limit));
        format!("{text}{}{tags}", self.ledger.text)
    }
}
