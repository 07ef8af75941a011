//! Branch summaries: the collected contents of a branch that is left, and the leaf for its summary.

mod collect;

use serde_json::json;
use session_model::{
    AgentMessage, BodyError, BranchSummaryDraft, CustomDraft, Diagnostic, DiagnosticKind, Entry,
    EntryBody, EntryDraft, EntryId, Leaf, SessionTree, Severity, json::RawJson,
};

use crate::files::{FileCalls, FileOps};
use crate::ledger::{LedgerBlock, LedgerReader};
use crate::outline::{Form, Outline, OutlineBudget};
use crate::plan::requests::{RequestSet, RequestSource, Shared, output_cap};
use crate::plan::{
    CannotShrink, HookInput, PlanHash, SummarizerLimits, WindowTooSmall, merge_answers, prompt_hash,
};
use crate::prompts;
use crate::prose::without_ledger;
use crate::request::{
    AnswerEnd, AnswerError, RequestKind, Summarizer, SummaryAnswer, SummaryRequest,
};
use crate::rules::Profile;
use crate::serialize::{Bounds, escape_ledger};
use crate::settings::CompactionSettings;
use session_facts::SourceMessage;
use session_model::tokens::{TokenCount, TokenCounter};

use collect::{branch_messages, choose, readable_entries, summary_files};

/// The window that is assumed where none is known.
pub const ASSUMED_WINDOW: TokenCount = TokenCount(128_000);

/// The smallest limit of a branch's ledger, for short branches.
const LEAST_LEDGER: TokenCount = TokenCount(256);

/// The most that a branch summary answers.
const OUTPUT_CAP: TokenCount = TokenCount(4096);

/// The custom type of the entry that makes a move of the leaf durable.
pub use session_model::LEAF_ENTRY;

/// Instructions of the user for a branch summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchInstructions {
    /// They are added to the prompt.
    Focus(String),
    /// They take the place of the prompt.
    Replace(String),
}

/// The options of a branch plan, in addition to the tree and the two ends.
#[derive(Debug, Clone)]
pub struct BranchOptions {
    /// The most tokens of conversation that are summarized.
    pub budget: TokenCount,
    /// The profile whose rules are followed.
    pub profile: Profile,
    /// Bounds of serialization are read from here.
    pub settings: CompactionSettings,
    /// The limits of the summarizer.
    pub summarizer: SummarizerLimits,
    /// Instructions of the user.
    pub instructions: Option<BranchInstructions>,
}

/// The reason why there is no branch plan.
#[derive(Debug, thiserror::Error)]
pub enum BranchError {
    /// The budget is zero or less.
    #[error(
        "window {window} - branchSummary.reserveTokens {reserve} leaves no budget for a branch summary"
    )]
    NoBudget {
        /// The window.
        window: TokenCount,
        /// The reserve.
        reserve: TokenCount,
    },
    /// The summarizer's window is too small for any request.
    #[error(transparent)]
    Window(#[from] WindowTooSmall),
    /// An entry of the branch cannot be read.
    #[error(transparent)]
    Unreadable(#[from] BodyError),
}

/// Returns the budget of a branch summary: the window (128,000 where unknown) less the reserve.
///
/// # Errors
///
/// [`BranchError::NoBudget`] when the reserve takes the whole window.
pub fn branch_budget(window: TokenCount, reserve: TokenCount) -> Result<TokenCount, BranchError> {
    let window = match window {
        TokenCount::ZERO => ASSUMED_WINDOW,
        known => known,
    };
    match window.saturating_sub(reserve) {
        TokenCount::ZERO => Err(BranchError::NoBudget { window, reserve }),
        budget => Ok(budget),
    }
}

/// A change of branch that has been thought through but not carried out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BranchPlan {
    /// The leaf that is left; `None` when the session was before its first entry.
    pub from: Option<EntryId>,
    /// The entry that was chosen; `None` for the place before everything.
    pub target: Option<EntryId>,
    /// The leaf at which the conversation continues: the target, or its parent when the target is a message of the
    /// user, whose text then returns to the editor. `None` is the root.
    pub new_leaf: Option<EntryId>,
    /// The text that returns to the editor.
    pub editor_text: Option<String>,
    /// The deepest entry on both paths.
    pub common_ancestor: Option<EntryId>,
    /// The entries that are left behind, oldest first.
    pub collected: Vec<EntryId>,
    /// The messages that are summarized, oldest first.
    pub messages: Vec<SourceMessage>,
    /// Their tokens.
    pub tokens: TokenCount,
    /// Files of all collected entries.
    pub files: FileOps,
    /// The ledger after the prose of a model.
    pub ledger: LedgerBlock,
    outline: Outline,
    /// The serialized messages.
    pub conversation: String,
    /// Warnings: entries that cannot be read, a budget that nothing fits.
    pub diagnostics: Vec<Diagnostic>,
    file_list_limit: Option<usize>,
    profile: Profile,
    asked: Option<RequestSet>,
}

/// Returns what leaving `from` for `to` leaves behind, and the requests for its summary.
///
/// # Errors
///
/// [`BranchError`] when the reserve takes the whole window, no request fits the summarizer's window, or an entry of the
/// branch cannot be read.
pub fn plan_branch_summary(
    tree: &SessionTree,
    from: Leaf,
    to: Leaf,
    options: &BranchOptions,
) -> Result<BranchPlan, BranchError> {
    let rules = options.profile.rules();
    let bounds = options.profile.bounds(&options.settings);
    let ancestor = tree.common_ancestor(from, to);
    let old_path = tree.path(from);
    let shared = ancestor.and_then(|ancestor| {
        let mut places = old_path.entries().iter();
        places.position(|index| *index == ancestor)
    });
    let (new_leaf, editor_text) = leaf_after_move(tree, to)?;
    // A message whose text returns to the editor is left as well: without it the request would be unknown.
    let returns = !rules.branch_leaves_out_target && editor_text.is_some() && shared.is_some();
    let returns = returns && ancestor.map(Leaf::At) == Some(to);
    let first = shared.map_or(0, |place| if returns { place } else { place + 1 });
    let ancestor = match ancestor {
        Some(ancestor) if returns => tree.parent(ancestor),
        ancestor => ancestor,
    };
    let left = &old_path.entries()[first..];
    let id_of = |index| EntryId::new(tree.id(index));
    let mut diagnostics = Vec::new();
    let entries = readable_entries(tree, left, &mut diagnostics);
    let said = branch_messages(&entries, options, &bounds);
    let chosen = choose(&said, &entries, options.budget);
    let kept = &said[chosen.first..];
    if kept.is_empty()
        && let Some(newest) = said.last()
    {
        let text = format!(
            "no summary: the newest message of the branch takes {} tokens, the budget is {}",
            newest.tokens, options.budget
        );
        let said = Diagnostic::new(Severity::Warning, DiagnosticKind::OverBudget, text);
        diagnostics.push(said.of_entry(entries[newest.entry].id.clone()));
    }
    let mut files = summary_files(&entries, options.profile);
    if rules.edited_calls_count {
        let visited = said[chosen.visited..].iter().rev();
        files.add_messages(visited.map(|said| &said.message), FileCalls::AllOfPi);
    } else {
        let all = entries.iter().filter_map(|entry| match &entry.body {
            EntryBody::Message(message) => Some(message),
            _ => None,
        });
        files.add_messages(all, FileCalls::Succeeded);
    }
    let messages: Vec<SourceMessage> = kept
        .iter()
        .map(|said| SourceMessage {
            entry_id: entries[said.entry].id.clone(),
            message: said.message.clone(),
        })
        .collect();
    let parts: Vec<String> = kept.iter().flat_map(|said| said.parts.clone()).collect();
    let conversation = parts.join(bounds.separator());
    let outline = outline_of(&entries);
    let ledger = match options.profile {
        Profile::Own if !messages.is_empty() => {
            let window = options.summarizer.window;
            let half = options.settings.ledger.budget(window, None).scaled(1, 2);
            // No more than a part of the branch's size; pins hold on every branch.
            let budget = OutlineBudget {
                tokens: half.min(chosen.tokens.max(LEAST_LEDGER)),
                pins: TokenCount::ZERO,
            };
            outline.ledger(LedgerReader::OtherBranch, budget, options.profile.counter())
        }
        Profile::Own | Profile::Pi => LedgerBlock::default(),
    };
    let asked = branch_requests(parts, &messages, options, &bounds)?;
    Ok(BranchPlan {
        from: old_path.leaf_id().map(EntryId::new),
        target: match to {
            Leaf::At(index) => Some(id_of(index)),
            Leaf::Root => None,
        },
        new_leaf,
        editor_text,
        common_ancestor: ancestor.map(id_of),
        collected: left.iter().map(|index| id_of(*index)).collect(),
        messages,
        tokens: chosen.tokens,
        files,
        ledger,
        outline,
        conversation,
        diagnostics,
        file_list_limit: (options.profile == Profile::Own)
            .then_some(options.settings.file_list_limit),
        profile: options.profile,
        asked,
    })
}

/// Returns the outline of the entries of a branch.
fn outline_of(entries: &[Entry]) -> Outline {
    let messages = entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Message(message) if !matches!(**message, AgentMessage::System(_)) => {
            Some(SourceMessage {
                entry_id: entry.id.clone(),
                message: message.clone(),
            })
        }
        _ => None,
    });
    let messages: Vec<SourceMessage> = messages.collect();
    Outline::of_messages(&messages, &|_| true)
}

/// Returns the requests for the summary of a branch; none when it has no messages.
fn branch_requests(
    parts: Vec<String>,
    messages: &[SourceMessage],
    options: &BranchOptions,
    bounds: &Bounds,
) -> Result<Option<RequestSet>, WindowTooSmall> {
    if messages.is_empty() {
        return Ok(None);
    }
    let rules = options.profile.rules();
    let (prompt, focus) = match &options.instructions {
        None => (None, None),
        Some(BranchInstructions::Focus(focus)) => (None, Some(focus.clone())),
        Some(BranchInstructions::Replace(prompt)) => (Some(prompt.clone()), None),
    };
    let request_source = RequestSource {
        kind: RequestKind::Branch,
        parts,
        separator: bounds.separator(),
        previous: None,
        max_output: output_cap(OUTPUT_CAP, &rules, &options.summarizer),
        source: messages.to_vec(),
    };
    let shared = Shared {
        limits: options.summarizer,
        folds: rules.folds,
        escapes: bounds.escapes,
        hooks: HookInput {
            prompt,
            context: Vec::new(),
        },
        focus,
        halvings: 0,
    };
    RequestSet::new(vec![request_source], shared, options.profile.counter()).map(Some)
}

/// Returns the leaf at which the conversation continues after a move to `to`, and the text that returns to the editor.
fn leaf_after_move(
    tree: &SessionTree,
    to: Leaf,
) -> Result<(Option<EntryId>, Option<String>), BranchError> {
    let Leaf::At(index) = to else {
        return Ok((None, None));
    };
    let entry = tree.entry(index)?;
    let text = match &entry.body {
        EntryBody::Message(message) => match &**message {
            AgentMessage::User(user) => Some(user.content.joined_text("")),
            _ => None,
        },
        EntryBody::CustomMessage(message) => Some(message.content.joined_text("")),
        _ => None,
    };
    Ok(match text {
        Some(text) => (entry.parent, Some(text)),
        None => (Some(entry.id), None),
    })
}

impl BranchPlan {
    /// Returns the requests that a summarizer must answer; none when the branch has no messages.
    pub fn requests(&self) -> &[SummaryRequest] {
        self.asked.as_ref().map_or(&[], |asked| &asked.requests)
    }

    /// Returns the answers made from the outline, within `cap` tokens.
    pub fn answer_extractive(
        &self,
        cap: TokenCount,
        counter: &dyn TokenCounter,
    ) -> Vec<SummaryAnswer> {
        let form = Form {
            with_answers: true,
            with_ids: true,
        };
        let budget = OutlineBudget {
            tokens: cap,
            pins: TokenCount::ZERO,
        };
        let answer = SummaryAnswer {
            text: self.outline.summary(form, budget, counter),
            end: AnswerEnd::Complete,
            summarizer: Summarizer::Extractive,
        };
        vec![answer; self.requests().len()]
    }

    /// Returns the plan with every request folded to half its budget, for a summarizer that found them too large.
    ///
    /// # Errors
    ///
    /// [`CannotShrink`] when the requests cannot be folded to half their budget, or there are none.
    pub fn shrink(self) -> Result<Self, CannotShrink> {
        let asked = self.asked.as_ref().ok_or(CannotShrink)?;
        let asked = asked.halved(self.profile.counter())?;
        Ok(Self {
            asked: Some(asked),
            ..self
        })
    }

    /// Returns the summary entry; it is stamped with `new_leaf` as its parent.
    ///
    /// # Errors
    ///
    /// [`AnswerError`] when an answer is missing, empty or cut off.
    pub fn apply(&self, answers: &[SummaryAnswer]) -> Result<EntryDraft, AnswerError> {
        let (merged, summarizer) = merge_answers(self.requests(), answers, None)?;
        let merged = match self.profile {
            Profile::Own => escape_ledger(&without_ledger(&merged)),
            Profile::Pi => merged,
        };
        let none = LedgerBlock::default();
        let ledger = match &summarizer {
            Summarizer::Extractive => &none,
            Summarizer::Model { .. }
            | Summarizer::Native { .. }
            | Summarizer::Remote { .. }
            | Summarizer::Hook { .. } => &self.ledger,
        };
        let summary = format!(
            "{}\n\n{merged}{}{}",
            prompts::branch_summary_preamble(),
            ledger.text,
            self.files.tags(self.file_list_limit)
        );
        let mut details = json!({
            "readFiles": self.files.read_files(),
            "modifiedFiles": self.files.modified_files(),
            "planHash": self.hash(),
            "summarizer": summarizer,
            "undoTo": self.from,
        });
        if let Some(hash) = prompt_hash(self.requests(), &summarizer) {
            details["promptHash"] = json!(hash);
        }
        if !ledger.is_empty() {
            details["ledger"] = ledger.details();
        }
        Ok(EntryDraft::BranchSummary(Box::new(BranchSummaryDraft {
            from: self.from.clone(),
            summary,
            details: RawJson::of(&details).ok(),
            from_extension: false,
        })))
    }

    /// Returns the entry that makes a move without a summary durable; it is stamped with `new_leaf` as its parent.
    pub fn move_only(&self) -> EntryDraft {
        leaf_move("navigate", self.from.as_ref())
    }

    /// Returns the hash of the plan's decisions and requests.
    pub fn hash(&self) -> PlanHash {
        let mut parts = vec!["branch plan 1".to_owned()];
        parts.extend(self.collected.iter().map(ToString::to_string));
        parts.extend(self.new_leaf.iter().map(ToString::to_string));
        parts.extend(self.requests().iter().map(|request| request.prompt(None)));
        parts.extend(Some(self.ledger.text.clone()).filter(|text| !text.is_empty()));
        PlanHash::of(parts)
    }
}

/// Returns the entry that makes a move of the leaf durable; it is stamped with the target as its parent.
pub fn leaf_move(reason: &str, from: Option<&EntryId>) -> EntryDraft {
    EntryDraft::Custom(CustomDraft {
        custom_type: LEAF_ENTRY.to_owned(),
        data: RawJson::of(&json!({ "reason": reason, "from": from })).ok(),
    })
}
