//! From a plan and the answers of a summarizer to the entries that are appended.

use serde_json::{Value, json};
use session_model::json::{Members, RawJson};
use session_model::{
    AgentMessage, CompactionDraft, CustomMessageDraft, EntryDraft, FirstKept, MessageDraft,
    SummaryMessage, acknowledgement, resumed,
};

use crate::ledger::{LedgerBlock, LedgerKind};
use crate::loss::ContextLoss;
use crate::plan::verify::Verified;
use crate::plan::{CompactionPlan, Disposition, Elision, prefix_cap, prompt_hash};
use crate::request::{AnswerError, RequestKind, Summarizer, SummaryAnswer, SummaryRequest};
use crate::restore::RESTORED_CONTEXT;
use crate::rules::Profile;
use crate::serialize::escape_ledger;
use session_model::tokens::TokenCount;

/// What stands between the summary of the history and that of a split turn's beginning.
pub const SPLIT_TURN_HEADING: &str = "\n\n---\n\n**Turn Context (split turn):**\n\n";

/// What stands for the history when there is none before a split turn.
pub const NO_PRIOR_HISTORY: &str = "No prior history.";

/// Why a plan could not be applied. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// An answer cannot be used.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The context would still be due.
    #[error(
        "the context would still exceed the threshold: {after} tokens after, {threshold} allowed"
    )]
    AboveThreshold {
        /// Tokens after.
        after: TokenCount,
        /// The threshold.
        threshold: TokenCount,
    },
    /// Too little of what can be checked stays in context (`compaction.verify.mode = gate`).
    #[error(
        "only {percent}% of what can be checked would stay in context; compaction.verify.minimumPercent asks for {minimum}%; lower it, or set compaction.verify.mode=repair to accept what can be kept"
    )]
    Unverified {
        /// The share that stays in context, in percent.
        percent: u8,
        /// The least that is allowed.
        minimum: u8,
    },
    /// The context would not get smaller.
    #[error("the context would not get smaller: {before} tokens before, {after} after")]
    Inflated {
        /// Tokens before.
        before: TokenCount,
        /// Tokens after.
        after: TokenCount,
    },
}

/// What a plan becomes once its requests are answered.
#[derive(Debug, Clone)]
pub struct AppliedCompaction {
    /// The entries to append, in order, in one write: edits, the compaction, then what is brought back.
    pub drafts: Vec<EntryDraft>,
    /// The summary, file tags included.
    pub summary: String,
    /// Tokens of the context after, in the measure of the plan's decisions.
    pub tokens_after: TokenCount,
    /// The facts that follow the prose in the summary.
    pub ledger: LedgerBlock,
    /// What leaves the context; `None` where it was not looked up.
    pub loss: Option<ContextLoss>,
    /// Who wrote the prose of the summary.
    pub summarizer: Summarizer,
}

impl AppliedCompaction {
    /// Keeps a provider's payload, verbatim, under `key` of the entry's `preserveData`.
    pub fn preserve(&mut self, key: &str, payload: &RawJson) {
        if let Some(compaction) = self.compaction() {
            compaction.preserve_data = with_member(compaction.preserve_data.as_ref(), key, payload);
        }
    }

    /// Says something more, under `key` of the entry's details: what the summary cost, for example.
    pub fn detail(&mut self, key: &str, value: &RawJson) {
        let is_compaction = |draft: &&mut EntryDraft| matches!(draft, EntryDraft::Compaction(_));
        if let Some(draft) = self.drafts.iter_mut().find(is_compaction) {
            add_detail(draft, key, value);
        }
    }

    fn compaction(&mut self) -> Option<&mut CompactionDraft> {
        self.drafts.iter_mut().find_map(|draft| match draft {
            EntryDraft::Compaction(compaction) => Some(&mut **compaction),
            _ => None,
        })
    }
}

/// Says something more, under `key` of a draft's details; drafts of types without details stay as they are.
pub fn add_detail(draft: &mut EntryDraft, key: &str, value: &RawJson) {
    let details = match draft {
        EntryDraft::Compaction(draft) => &mut draft.details,
        EntryDraft::BranchSummary(draft) => &mut draft.details,
        EntryDraft::CustomMessage(draft) => &mut draft.details,
        EntryDraft::Message(draft) => &mut draft.details,
        EntryDraft::ContextEdit(_)
        | EntryDraft::Custom(_)
        | EntryDraft::Label(_)
        | EntryDraft::SessionInfo(_)
        | EntryDraft::ModelChange(_)
        | EntryDraft::ThinkingLevelChange(_) => return,
    };
    *details = with_member(details.as_ref(), key, value);
}

/// Returns `object` with `key` set to `value`; the other members stay byte for byte.
fn with_member(object: Option<&RawJson>, key: &str, value: &RawJson) -> Option<RawJson> {
    let members = object.and_then(|object| Members::parse(object.get()).ok());
    let kept = members.iter().flat_map(|members| &members.0);
    let kept = kept.filter(|(name, _)| name != key);
    let kept = kept.map(|(name, value)| (name.as_ref(), value.get()));
    let all = kept.chain([(key, value.get())]);
    let texts = all.map(|(name, value)| format!("{}:{value}", Value::from(name)));
    let text = texts.collect::<Vec<_>>().join(",");
    RawJson::parse(&format!("{{{text}}}")).ok()
}

impl CompactionPlan {
    /// Returns the entries that carry out the plan with these answers, one for each request in order.
    ///
    /// # Errors
    ///
    /// [`ApplyError`] when an answer is missing, empty, cut off or refused by verification, or when the result would not be
    /// smaller than the context.
    pub fn apply(&self, answers: &[SummaryAnswer]) -> Result<AppliedCompaction, ApplyError> {
        let (merged, summarizer) =
            merge_answers(self.requests(), answers, self.previous_summary.as_deref())?;
        self.apply_prose(&merged, summarizer)
    }

    /// Does the same with this prose in the place of what answers say: an answer that somebody has edited.
    ///
    /// # Errors
    ///
    /// [`ApplyError`] as for answers.
    pub fn apply_prose(
        &self,
        prose: &str,
        summarizer: Summarizer,
    ) -> Result<AppliedCompaction, ApplyError> {
        if prose.trim().is_empty() {
            return Err(AnswerError::Empty.into());
        }
        let merged = match self.profile {
            Profile::Own => escape_ledger(prose),
            Profile::Pi => prose.to_owned(),
        };
        let ledger = self.ledger_for(&merged, &summarizer);
        let short_summary = short_summary(&merged, &ledger);
        let tags = self.files.tags(self.file_list_limit, &ledger.files);
        let Verified {
            summary,
            ledger,
            loss,
        } = self.verified(&merged, ledger, &tags)?;
        let tokens_after = self.tokens_after(&summary);
        let before = self.tokens_in_context();
        if self.profile == Profile::Own {
            if tokens_after >= before {
                return Err(ApplyError::Inflated {
                    before,
                    after: tokens_after,
                });
            }
            let threshold = self.threshold.as_ref().map(|threshold| threshold.tokens);
            if let Some(threshold) = threshold.filter(|threshold| tokens_after > *threshold) {
                return Err(ApplyError::AboveThreshold {
                    after: tokens_after,
                    threshold,
                });
            }
        }
        let mut details = self.details(&summarizer, tokens_after);
        if let Some(hash) = prompt_hash(self.requests(), &summarizer) {
            details["promptHash"] = json!(hash);
        }
        if !ledger.is_empty() {
            details["ledger"] = ledger.details();
        }
        if let Some(restored) = &self.restored {
            details["restored"] = restored.details();
        }
        if let Some(loss) = &loss {
            details["loss"] = loss.details();
        }
        let mut drafts: Vec<EntryDraft> = self.elisions.iter().map(Elision::draft).collect();
        drafts.push(EntryDraft::Compaction(Box::new(CompactionDraft {
            summary: summary.clone(),
            short_summary,
            first_kept: match self.first_kept() {
                Some(first) => FirstKept::Entry(first.clone()),
                None => FirstKept::None,
            },
            tokens_before: self.measure.stored.0,
            details: RawJson::of(&details).ok(),
            preserve_data: None,
            from_extension: matches!(summarizer, Summarizer::Hook { .. }),
            system: self.system.clone(),
        })));
        drafts.extend(self.attachments());
        drafts.extend(self.pending_draft());
        Ok(AppliedCompaction {
            drafts,
            summary,
            tokens_after,
            ledger,
            loss,
            summarizer,
        })
    }

    /// Returns the estimate of the context as it is.
    pub fn tokens_in_context(&self) -> TokenCount {
        let entries: TokenCount = self.entries.iter().map(|entry| entry.tokens).sum();
        entries + self.system_tokens()
    }

    /// Returns the estimate of the context after, with this summary in it.
    pub fn tokens_after(&self, summary: &str) -> TokenCount {
        let stays = |disposition| matches!(disposition, Disposition::Kept | Disposition::Pruned);
        let kept = self.entries.iter().filter(|entry| stays(entry.disposition));
        let kept: TokenCount = kept.map(|entry| entry.tokens).sum();
        let elided: TokenCount = self.elisions.iter().map(|elision| elision.saved).sum();
        // The sentence to go on stands behind the summary.
        let summary = match self.restored {
            Some(_) => resumed(summary),
            None => summary.to_owned(),
        };
        let message = AgentMessage::CompactionSummary(SummaryMessage {
            summary,
            timestamp: None,
        });
        let summary = self.profile.counter().message(&message);
        kept.saturating_sub(elided) + summary + self.system_tokens() + self.tokens_behind()
    }

    /// Returns the estimate of the context after, with the largest prose that is useful in it.
    pub(super) fn most_tokens_after(&self) -> TokenCount {
        let counter = self.profile.counter();
        let tags = counter.text(&self.files.tags(self.file_list_limit, &self.ledger.files));
        let resume = match self.restored {
            Some(_) => counter.text(&resumed("")),
            None => TokenCount::ZERO,
        };
        let summary = self.most_prose() + self.ledger.tokens + tags + resume;
        let shortened: TokenCount = self.elisions.iter().map(|elision| elision.saved).sum();
        let kept = self.keep.kept.saturating_sub(shortened);
        kept + self.system_tokens() + summary + self.tokens_behind()
    }

    /// Returns what prose may take: where only the beginning of a turn is summarized, the previous summary comes before
    /// it verbatim.
    fn most_prose(&self) -> TokenCount {
        let history = |request: &SummaryRequest| request.kind != RequestKind::TurnPrefix;
        let carried = self.previous_summary.as_ref();
        match carried.filter(|_| !self.requests().iter().any(history)) {
            Some(carried) => {
                let counter = self.profile.counter();
                let carried = counter.text(carried) + counter.text(SPLIT_TURN_HEADING);
                self.summary_cap.max(carried + prefix_cap(self.summary_cap))
            }
            None => self.summary_cap,
        }
    }

    /// Returns what stands behind the summary although nothing is kept: its acknowledgement, what is brought back
    /// and calls that wait.
    fn tokens_behind(&self) -> TokenCount {
        let Some(restored) = &self.restored else {
            return TokenCount::ZERO;
        };
        let answers = self.pending.clone().into_iter().chain([acknowledgement()]);
        let answers = answers.map(AgentMessage::Assistant);
        let counter = self.profile.counter();
        let answers: TokenCount = answers.map(|answer| counter.message(&answer)).sum();
        answers + restored.tokens
    }

    /// Returns the message that brings files and images back.
    fn attachments(&self) -> Option<EntryDraft> {
        let restored = self.restored.as_ref()?;
        let content = restored.content.clone()?;
        Some(EntryDraft::CustomMessage(CustomMessageDraft {
            custom_type: RESTORED_CONTEXT.to_owned(),
            content,
            display: false,
            details: RawJson::of(&restored.message_details()).ok(),
        }))
    }

    /// Returns the calls that wait for results, said again.
    fn pending_draft(&self) -> Option<EntryDraft> {
        let pending = self.pending.clone()?;
        let draft = MessageDraft::new(AgentMessage::Assistant(pending)).ok()?;
        Some(EntryDraft::Message(Box::new(draft)))
    }

    pub(super) fn system_tokens(&self) -> TokenCount {
        // Where the rules leave system messages in place, they are among the entries.
        let in_place = self.profile == Profile::Pi;
        let system = self.system.as_ref().filter(|_| !in_place);
        let system = system.map(|system| AgentMessage::System(system.clone()));
        let counter = self.profile.counter();
        system.map_or(TokenCount::ZERO, |system| counter.message(&system))
    }

    /// Returns the details of the entry: the file lists that peers read, and where the summary comes from.
    fn details(&self, summarizer: &Summarizer, tokens_after: TokenCount) -> Value {
        json!({
            "readFiles": self.files.read_files(),
            "modifiedFiles": self.files.modified_files(),
            "planHash": self.hash(),
            "undoTo": self.leaf,
            "strategy": self.strategy,
            "trigger": self.trigger,
            "summarizer": summarizer,
            "requests": self.requests().len(),
            "keep": self.keep,
            "estimatedTokensBefore": self.tokens_in_context(),
            "estimatedTokensAfter": tokens_after,
        })
    }
}

/// Returns the first sentence of the goal, or of the first message of the user where the prose names none.
fn short_summary(prose: &str, ledger: &LedgerBlock) -> Option<String> {
    let firsts = ledger.items.iter();
    let mut firsts = firsts.filter(|item| item.kind == LedgerKind::FirstMessage);
    let named = session_facts::short_summary(prose);
    let short = match named.is_empty() {
        false => named,
        true => session_facts::short_summary(&firsts.next()?.text),
    };
    Some(short).filter(|short| !short.is_empty())
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
