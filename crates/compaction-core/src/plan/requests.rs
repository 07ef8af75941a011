//! The requests of a plan: caps, folding to the summarizer's window, and shrinking.

use std::borrow::Cow;

use crate::fold::fold;
use crate::plan::options::{HookInput, SummarizerLimits};
use crate::prompts;
use crate::request::{Carried, RequestKind, SummaryRequest};
use crate::rules::Rules;
use crate::serialize::escape;
use session_facts::SourceMessage;
use session_model::tokens::{TokenCount, TokenCounter};

/// The content to summarize for one kind of request, before it is folded.
#[derive(Debug, Clone)]
pub(crate) struct RequestSource {
    pub kind: RequestKind,
    pub parts: Vec<String>,
    pub separator: &'static str,
    pub previous: Option<String>,
    pub max_output: TokenCount,
    pub source: Vec<SourceMessage>,
}

/// The shared parts of all requests of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub limits: SummarizerLimits,
    pub folds: bool,
    pub escapes: bool,
    pub hooks: HookInput,
    pub focus: Option<String>,
    /// The number of times the budget was halved.
    pub halvings: u32,
}

/// The summarizer's window does not hold even one piece of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the summarizer's window of {window} tokens leaves {left} for the conversation; at least {MINIMUM_PART} are needed"
)]
pub struct WindowTooSmall {
    /// The window.
    pub window: TokenCount,
    /// The tokens that remain after prompt, carried summary and answer.
    pub left: TokenCount,
}

/// The least conversation that a request must have room for, in tokens.
pub const MINIMUM_PART: u64 = 256;

/// Returns the cap of an answer: the wanted one, within the limit of the rules, a quarter of the window, and the
/// model's own cap.
pub(crate) fn output_cap(
    wanted: TokenCount,
    rules: &Rules,
    limits: &SummarizerLimits,
) -> TokenCount {
    let quarter = limits.window.scaled(1, 4);
    let own = limits.max_output.unwrap_or(quarter);
    let cap = match rules.cap_limit {
        Some(limit) => wanted.min(TokenCount(limit)).min(quarter).min(own),
        None => own,
    };
    cap.max(TokenCount(1))
}

/// The requests to a summarizer, and the data to split them into smaller ones.
#[derive(Debug, Clone)]
pub(crate) struct RequestSet {
    sources: Vec<RequestSource>,
    shared: Shared,
    pub requests: Vec<SummaryRequest>,
}

/// The budget is too small to be halved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the requests cannot be made smaller")]
pub struct CannotShrink;

impl RequestSet {
    /// Returns the requests for `sources`.
    pub fn new(
        sources: Vec<RequestSource>,
        shared: Shared,
        counter: &dyn TokenCounter,
    ) -> Result<Self, WindowTooSmall> {
        let requests = build_requests(&sources, &shared, counter)?;
        Ok(Self {
            sources,
            shared,
            requests,
        })
    }

    /// Returns what all of the requests share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns the same with every request folded to half its budget, or to less, until the largest request is
    /// smaller than before.
    ///
    /// # Errors
    ///
    /// [`CannotShrink`] when the requests cannot be folded to half their budget.
    pub fn halved(&self, counter: &dyn TokenCounter) -> Result<Self, CannotShrink> {
        let largest = |requests: &[SummaryRequest]| {
            let sizes = requests.iter().map(|request| request.conversation.len());
            sizes.max().unwrap_or(0)
        };
        let before = largest(&self.requests);
        let mut shared = self.shared.clone();
        shared.folds = true;
        while shared.halvings < 32 {
            shared.halvings += 1;
            let requests =
                build_requests(&self.sources, &shared, counter).map_err(|_| CannotShrink)?;
            if largest(&requests) < before {
                return Ok(Self {
                    sources: self.sources.clone(),
                    shared,
                    requests,
                });
            }
        }
        Err(CannotShrink)
    }
}

/// Returns the requests for `sources`.
pub(crate) fn build_requests(
    sources: &[RequestSource],
    shared: &Shared,
    counter: &dyn TokenCounter,
) -> Result<Vec<SummaryRequest>, WindowTooSmall> {
    let mut requests = Vec::new();
    for request_source in sources {
        requests.extend(source_requests(request_source, shared, counter)?);
    }
    Ok(requests)
}

fn source_requests(
    request_source: &RequestSource,
    shared: &Shared,
    counter: &dyn TokenCounter,
) -> Result<Vec<SummaryRequest>, WindowTooSmall> {
    let mut carried = match &request_source.previous {
        Some(summary) => Carried::Summary(summary.clone()),
        None => Carried::Nothing,
    };
    let mut parts = Cow::Borrowed(request_source.parts.as_slice());
    let conversations = if shared.folds {
        let fixed = fixed_tokens(request_source, shared, counter);
        // A carried summary that takes half the window is read as part of the record instead.
        if let Carried::Summary(summary) = &carried
            && counter.text(summary) > shared.limits.window.scaled(1, 2)
        {
            parts
                .to_mut()
                .insert(0, format!("[Earlier summary]: {}", escape(summary)));
            carried = Carried::Nothing;
        }
        let first = match &carried {
            Carried::Summary(summary) => counter.text(summary),
            Carried::Nothing | Carried::PreviousPart => TokenCount::ZERO,
        };
        let whole = budget(shared, fixed + first);
        let one = fold(&parts, request_source.separator, whole, counter);
        if one.len() == 1 {
            require(shared, whole)?;
            one
        } else {
            drop(one);
            // Later parts carry an answer of any size up to the cap.
            let each = budget(shared, fixed + first.max(request_source.max_output));
            require(shared, each)?;
            fold(&parts, request_source.separator, each, counter)
        }
    } else {
        vec![parts.join(request_source.separator)]
    };
    let count = conversations.len();
    let mut source = Some(request_source.source.clone());
    let requests = conversations
        .into_iter()
        .enumerate()
        .map(|(at, conversation)| {
            let carried = match at {
                0 => carried.clone(),
                _ => Carried::PreviousPart,
            };
            SummaryRequest {
                kind: request_source.kind,
                part: at + 1,
                parts: count,
                system: prompts::summarization_system(),
                conversation,
                instructions: instructions(request_source.kind, &carried, &shared.hooks),
                carried,
                additional_context: shared.hooks.context.clone(),
                focus: shared.focus.clone(),
                escapes: shared.escapes,
                max_output: request_source.max_output,
                source: source.take().unwrap_or_default(),
            }
        });
    Ok(requests.collect())
}

fn instructions(kind: RequestKind, carried: &Carried, hooks: &HookInput) -> String {
    if let Some(prompt) = &hooks.prompt {
        return prompt.clone();
    }
    match (kind, carried) {
        (RequestKind::History, Carried::Nothing) => prompts::compaction_summary(),
        (RequestKind::History, Carried::Summary(_) | Carried::PreviousPart) => {
            prompts::compaction_update_summary()
        }
        (RequestKind::TurnPrefix, _) => prompts::compaction_turn_prefix(),
        (RequestKind::Short, _) => prompts::compaction_short_summary(),
        (RequestKind::Branch, _) => prompts::branch_summary(),
        (RequestKind::Handoff, _) => prompts::handoff_document(),
        (RequestKind::Snapshot, _) => prompts::state_snapshot(),
    }
}

/// Returns what every request of a source holds in addition to conversation and carried summary, its answer included.
fn fixed_tokens(
    request_source: &RequestSource,
    shared: &Shared,
    counter: &dyn TokenCounter,
) -> TokenCount {
    let longest = instructions(request_source.kind, &Carried::PreviousPart, &shared.hooks);
    let texts = [prompts::summarization_system(), longest]
        .into_iter()
        .chain(shared.hooks.context.iter().cloned())
        .chain(shared.focus.clone());
    let texts: TokenCount = texts.map(|text| counter.text(&text)).sum();
    // Tags, lead-ins and the frame of the message.
    texts + request_source.max_output + TokenCount(96)
}

/// Returns the tokens of conversation that fit: nine tenths of the window (estimates err) less what else is there.
fn budget(shared: &Shared, beside: TokenCount) -> TokenCount {
    let window = shared.limits.window.scaled(9, 10);
    let left = window.saturating_sub(beside);
    TokenCount(left.0 >> shared.halvings.min(63))
}

fn require(shared: &Shared, left: TokenCount) -> Result<(), WindowTooSmall> {
    if left.0 < MINIMUM_PART {
        return Err(WindowTooSmall {
            window: shared.limits.window,
            left,
        });
    }
    Ok(())
}
