//! From a plan and the answers of a summarizer to the entries that are appended.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use session_facts::{RESTORED_CONTEXT, SourceMessage};
use session_model::json::{Members, RawJson};
use session_model::{
    AgentMessage, CompactionDraft, CustomMessageDraft, EntryDraft, FirstKept, MessageDraft,
    SummaryMessage,
};

use crate::ledger::LedgerBlock;
use crate::loss::{ContextLoss, Readable, Removed};
use crate::outline::{Form, OutlineBudget};
use crate::plan::answers::{merge_answers, short_summary};
use crate::plan::{CompactionPlan, Elision, LEAST_SAVED, prompt_hash};
use crate::prompts;
use crate::request::{AnswerError, Summarizer, SummaryAnswer};
use crate::rules::Profile;
use crate::serialize::escape_ledger;
use session_model::tokens::TokenCount;

/// The reason why a plan could not be applied. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// An answer cannot be used.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The context would not fit the window.
    #[error("the context would still exceed the window: {after} tokens after, {window} allowed")]
    AboveWindow {
        /// Tokens after.
        after: TokenCount,
        /// The window.
        window: TokenCount,
    },
    /// The prose keeps clearly less than an outline would: a refusal, or continued work.
    #[error(
        "the summary names {found} of the {names} files, failing commands and words of the newest request that it must keep"
    )]
    Worthless {
        /// The number of names found in the prose.
        found: usize,
        /// The number of names.
        names: usize,
    },
    /// The prose repeats the instructions.
    #[error("the summary repeats what was asked")]
    Echo,
    /// The prose repeats its lines, as small models do that do not find an end.
    #[error("the summary repeats itself: {distinct} different lines in {lines}")]
    Repeats {
        /// The number of lines.
        lines: usize,
        /// The number of different lines.
        distinct: usize,
    },
    /// The context would hardly get smaller.
    #[error("the compaction would save only {} of {before} tokens", before.saturating_sub(*after))]
    SavesLittle {
        /// Tokens before.
        before: TokenCount,
        /// Tokens after.
        after: TokenCount,
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

/// The result of a plan after its requests are answered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AppliedCompaction {
    /// The entries to append, in order, in one write: edits, the compaction, then what is brought back.
    pub drafts: Vec<EntryDraft>,
    /// The summary, file tags included.
    pub summary: String,
    /// Tokens of the context after, in the measure of the plan's decisions.
    pub tokens_after: TokenCount,
    /// The ledger after the prose of a model in the summary.
    pub ledger: LedgerBlock,
    /// The content that leaves the context; `None` if it was not computed.
    pub loss: Option<ContextLoss>,
    /// The author of the prose.
    pub summarizer: Summarizer,
    messages: Vec<Arc<AgentMessage>>,
}

impl AppliedCompaction {
    /// Returns the messages of the context after it: the system message in force, the summary, and what stays.
    pub fn messages(&self) -> &[Arc<AgentMessage>] {
        &self.messages
    }

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
        _ => return,
    };
    *details = with_member(details.as_ref(), key, value);
}

/// Returns `object` with `key` set to `value`; the other members stay byte for byte.
fn with_member(object: Option<&RawJson>, key: &str, value: &RawJson) -> Option<RawJson> {
    let members = object.and_then(|object| Members::parse(object.get()));
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
    /// [`ApplyError`] when an answer is missing, empty, cut off or worthless, or when the result would not be
    /// smaller than the context.
    pub fn apply(&self, answers: &[SummaryAnswer]) -> Result<AppliedCompaction, ApplyError> {
        let (merged, summarizer) =
            merge_answers(self.requests(), answers, self.previous_summary.as_deref())?;
        let is_of_model = !matches!(summarizer, Summarizer::Extractive | Summarizer::Hook { .. });
        if is_of_model && self.profile == Profile::Own {
            self.check_worth(&merged)?;
        }
        self.apply_prose(&merged, summarizer)
    }

    /// Does the same with this prose instead of the answers: an answer that a user has edited.
    ///
    /// # Errors
    ///
    /// [`ApplyError`] when it is empty, or when the result would not be smaller than the context.
    pub fn apply_prose(
        &self,
        prose: &str,
        summarizer: Summarizer,
    ) -> Result<AppliedCompaction, ApplyError> {
        if prose.trim().is_empty() {
            return Err(AnswerError::Empty.into());
        }
        let may_be_outline = matches!(
            summarizer,
            Summarizer::Extractive
                | Summarizer::Native {
                    readable: false,
                    ..
                }
        );
        // An outline that was edited is a text like any other.
        let is_outline = may_be_outline && prose == self.extractive_text();
        let lead = prompts::outline_lead();
        let edited = prose.strip_prefix(&lead).filter(|_| !is_outline);
        let prose = edited.map_or(prose, str::trim_start);
        // The quotes of an outline have marks; the tags in a model's text are escaped.
        let merged = match self.profile {
            Profile::Own if !is_outline => escape_ledger(prose),
            Profile::Own | Profile::Pi => prose.to_owned(),
        };
        let ledger = match is_outline {
            true => LedgerBlock::default(),
            false => self.ledger.clone(),
        };
        let short_summary = short_summary(&merged, &self.outline);
        let tags = self.files.tags(self.file_list_limit);
        let summary = format!("{merged}{}{tags}", ledger.text);
        let tokens_after = self.tokens_after(&summary);
        let before = self.tokens_in_context();
        if self.profile == Profile::Own {
            if tokens_after >= before {
                return Err(ApplyError::Inflated {
                    before,
                    after: tokens_after,
                });
            }
            if before.saturating_sub(tokens_after) < before.scaled(1, LEAST_SAVED) {
                return Err(ApplyError::SavesLittle {
                    before,
                    after: tokens_after,
                });
            }
            let window = self.window;
            if window > TokenCount::ZERO && tokens_after > window {
                return Err(ApplyError::AboveWindow {
                    after: tokens_after,
                    window,
                });
            }
        }
        let loss = (self.profile == Profile::Own).then(|| self.loss_with(&summary));
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
            messages: self.messages_after(&summary),
            drafts,
            summary,
            tokens_after,
            ledger,
            loss,
            summarizer,
        })
    }

    /// Returns the outline as a summary: the extractive summary, without its lists of files.
    pub fn extractive_text(&self) -> String {
        let counter = self.profile.counter();
        let tags = counter.text(&self.files.tags(self.file_list_limit));
        let form = Form {
            with_answers: true,
            with_ids: true,
        };
        let budget = OutlineBudget {
            tokens: self.summary_cap.saturating_sub(tags),
            pins: self.pin_budget,
        };
        self.outline.summary(form, budget, counter)
    }

    /// Returns what carries out the plan without a model.
    ///
    /// # Errors
    ///
    /// [`ApplyError`] when the result would not be smaller than the context.
    pub fn extractive(&self) -> Result<AppliedCompaction, ApplyError> {
        self.apply_prose(&self.extractive_text(), Summarizer::Extractive)
    }

    /// Returns how much of what leaves the context can be read with this summary.
    fn loss_with(&self, summary: &str) -> ContextLoss {
        let counter = self.profile.counter();
        let tokens: BTreeMap<_, _> = self
            .entries
            .iter()
            .map(|entry| (&entry.entry_id, entry.tokens))
            .collect();
        let mut removed = Removed::default();
        let mut readable = Readable::default();
        readable.add_summary(summary);
        let mut remove = |source: &SourceMessage| {
            let tokens = tokens.get(&source.entry_id).copied().unwrap_or_default();
            removed.add(source.clone(), tokens);
        };
        for source in self.requests().iter().flat_map(|request| &request.source) {
            remove(source);
        }
        let elisions: BTreeMap<_, _> = self
            .elisions
            .iter()
            .map(|elision| (&elision.entry_id, elision))
            .collect();
        for source in &self.short.source {
            match elisions.get(&source.entry_id) {
                Some(elision) => {
                    readable.add(&source.message.with_content(elision.replacement.clone()));
                    remove(source);
                }
                None => readable.add(&source.message),
            }
        }
        for source in self
            .short
            .source
            .iter()
            .filter(|source| !elisions.contains_key(&source.entry_id))
        {
            removed.add_kept(source.clone());
        }
        let restored = self.restored.as_ref();
        if let Some(content) = restored.and_then(|restored| restored.content.as_ref()) {
            readable.add_content(content);
        }
        if let Some(pending) = &self.pending {
            readable.add(&AgentMessage::Assistant(pending.clone()));
        }
        readable.finish();
        removed.look_up(&readable, counter)
    }

    /// Returns the messages of the context after, with this summary in it.
    fn messages_after(&self, summary: &str) -> Vec<Arc<AgentMessage>> {
        let in_place = self.profile == Profile::Pi;
        let system = self.system.clone().filter(|_| !in_place);
        let system = system.map(AgentMessage::System);
        let summary = AgentMessage::CompactionSummary(SummaryMessage {
            summary: summary.to_owned(),
            timestamp: None,
        });
        let front = system.into_iter().chain([summary]).map(Arc::new);
        let kept = self.short.source.iter().map(|source| {
            let mut elisions = self.elisions.iter();
            match elisions.find(|elision| elision.entry_id == source.entry_id) {
                Some(elision) => Arc::new(source.message.with_content(elision.replacement.clone())),
                None => source.message.clone(),
            }
        });
        front.chain(kept).collect()
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

    /// Returns the calls that wait for results, to be repeated.
    fn pending_draft(&self) -> Option<EntryDraft> {
        let pending = self.pending.clone()?;
        let draft = MessageDraft::new(AgentMessage::Assistant(pending)).ok()?;
        Some(EntryDraft::Message(Box::new(draft)))
    }

    /// Returns the details of the entry: the file lists that peers read, and the author of the summary.
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
