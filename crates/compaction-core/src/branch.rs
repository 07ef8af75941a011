//! Branch summaries: what is collected when a branch is left, and where its summary goes.

use std::sync::Arc;

use serde_json::json;
use session_model::{
    AgentMessage, BranchSummaryDraft, CustomDraft, Entry, EntryBody, EntryDraft, EntryId,
    FileDetails, Leaf, SessionTree, SummaryMessage, convert_message,
    json::RawJson,
};

use crate::files::{FileCalls, FileOps};
use crate::plan::requests::{Chapter, Shared, build_requests};
use crate::plan::{HookInput, PlanHash, SummarizerLimits, WindowTooSmall, merge_answers};
use crate::prompts;
use crate::request::{AnswerError, RequestKind, SourceMessage, SummaryAnswer, SummaryRequest};
use crate::rules::Profile;
use crate::serialize::serialize_parts;
use crate::settings::CompactionSettings;
use crate::tokens::TokenCount;

/// The window that is assumed where none is known.
pub const ASSUMED_WINDOW: TokenCount = TokenCount(128_000);

/// The most that a branch summary answers.
const OUTPUT_CAP: TokenCount = TokenCount(4096);

/// The custom type of the entry that makes a move of the leaf durable.
pub const LEAF_ENTRY: &str = "agent-cli/leaf";

/// Instructions of the user for a branch summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchInstructions {
    /// They are added to the prompt.
    Focus(String),
    /// They take the place of the prompt.
    Replace(String),
}

/// What decides a branch plan, beside the tree and the two ends.
#[derive(Debug, Clone)]
pub struct BranchOptions {
    /// The most tokens of conversation that are summarized.
    pub budget: TokenCount,
    /// Whose rules are followed.
    pub profile: Profile,
    /// Bounds of serialization are read from here.
    pub settings: CompactionSettings,
    /// What the summarizer can take and give.
    pub summarizer: SummarizerLimits,
    /// Instructions of the user.
    pub instructions: Option<BranchInstructions>,
}

/// Why there is no branch plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BranchError {
    /// The budget is zero or less.
    #[error("window {window} - branchSummary.reserveTokens {reserve} leaves no budget for a branch summary")]
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
    #[error("{0}")]
    Unreadable(String),
}

/// Returns the budget of a branch summary: the window (128,000 where unknown) less the reserve.
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
pub struct BranchPlan {
    /// The leaf that is left; `None` when the session stood before everything.
    pub from: Option<EntryId>,
    /// The entry that was chosen; `None` for the place before everything.
    pub target: Option<EntryId>,
    /// Where the conversation goes on: the target, or its parent when the target is a message of the user,
    /// whose text then returns to the editor. `None` is the root.
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
    /// The serialized messages.
    pub conversation: String,
    file_list_limit: Option<usize>,
    requests: Vec<SummaryRequest>,
}

/// Returns what leaving `from` for `to` leaves behind, and the requests for its summary.
pub fn plan_branch_summary(
    tree: &SessionTree,
    from: Leaf,
    to: Leaf,
    options: &BranchOptions,
) -> Result<BranchPlan, BranchError> {
    let rules = options.profile.rules();
    let counter = options.profile.counter();
    let ancestor = tree.common_ancestor(from, to);
    let old_path = tree.path(from);
    let shared = ancestor.and_then(|ancestor| {
        let mut places = old_path.entries().iter();
        places.position(|index| *index == ancestor)
    });
    let left = &old_path.entries()[shared.map_or(0, |place| place + 1)..];
    let id_of = |index| EntryId::new(tree.id(index));
    let entries: Vec<Entry> = left
        .iter()
        .filter_map(|index| tree.entry(*index).ok())
        .collect();

    let mut files = FileOps::default();
    for entry in &entries {
        let (details, foreign) = match &entry.body {
            EntryBody::BranchSummary(branch) => (
                &branch.details,
                branch.from_hook || options.profile == Profile::Own && branch.from_extension,
            ),
            EntryBody::Compaction(compaction) if rules.summaries_feed_file_lists => (
                &compaction.details,
                compaction.from_hook || compaction.from_extension,
            ),
            _ => continue,
        };
        if let Some(details) = details.as_ref().filter(|_| !foreign) {
            files.add_details(&FileDetails::of(details));
        }
    }
    let said: Vec<(usize, Arc<AgentMessage>)> = entries
        .iter()
        .enumerate()
        .filter_map(|(place, entry)| Some((place, branch_message(entry, rules.branch_tool_results, options.profile)?)))
        .collect();
    let mut tokens = TokenCount::ZERO;
    let mut first = said.len();
    let mut visited = said.len();
    for (place, (entry, message)) in said.iter().enumerate().rev() {
        visited = place;
        let own = counter.message(message);
        if tokens + own > options.budget {
            let is_summary = matches!(
                entries[*entry].body,
                EntryBody::Compaction(_) | EntryBody::BranchSummary(_)
            );
            if is_summary && u128::from(tokens.0) * 10 < u128::from(options.budget.0) * 9 {
                tokens += own;
                first = place;
            }
            break;
        }
        tokens += own;
        first = place;
    }
    if rules.edited_calls_count {
        let visited = said[visited..].iter().rev().map(|(_, message)| message);
        files.add_messages(visited, FileCalls::AllOfPi);
    } else {
        let all: Vec<_> = entries
            .iter()
            .filter_map(|entry| match &entry.body {
                EntryBody::Message(message) => Some(message.clone()),
                _ => None,
            })
            .collect();
        files.add_messages(all.iter(), FileCalls::Succeeded);
    }

    let messages: Vec<SourceMessage> = said[first..]
        .iter()
        .map(|(place, message)| SourceMessage {
            entry_id: entries[*place].id.clone(),
            message: message.clone(),
        })
        .collect();
    let bounds = options.profile.bounds(&options.settings);
    let parts: Vec<String> = messages
        .iter()
        .filter_map(|source| convert_message(&source.message, bounds.wording))
        .flat_map(|message| serialize_parts(&message, &bounds))
        .collect();
    let conversation = parts.join(bounds.separator());
    let requests = if messages.is_empty() {
        Vec::new()
    } else {
        let (prompt, focus) = match &options.instructions {
            None => (None, None),
            Some(BranchInstructions::Focus(focus)) => (None, Some(focus.clone())),
            Some(BranchInstructions::Replace(prompt)) => (Some(prompt.clone()), None),
        };
        let chapter = Chapter {
            kind: RequestKind::Branch,
            parts,
            separator: bounds.separator(),
            previous: None,
            max_output: OUTPUT_CAP
                .min(options.summarizer.max_output.unwrap_or(OUTPUT_CAP))
                .min(match rules.folds {
                    true => options.summarizer.window.scaled(1, 4),
                    false => OUTPUT_CAP,
                }),
            source: messages.clone(),
        };
        let shared = Shared {
            limits: options.summarizer,
            folds: rules.folds,
            hooks: HookInput {
                prompt,
                context: Vec::new(),
            },
            focus,
            halvings: 0,
        };
        build_requests(&[chapter], &shared, counter)?
    };
    let (new_leaf, editor_text) = landing(tree, to)?;
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
        tokens,
        files,
        conversation,
        file_list_limit: (options.profile == Profile::Own)
            .then_some(options.settings.file_list_limit),
        requests,
    })
}

/// Returns the message that an entry contributes to the conversation of a branch.
fn branch_message(entry: &Entry, tool_results: bool, profile: Profile) -> Option<Arc<AgentMessage>> {
    let summary = |text: &str| SummaryMessage {
        summary: text.to_owned(),
        timestamp: entry.timestamp,
    };
    match &entry.body {
        EntryBody::Message(message) => match &**message {
            AgentMessage::ToolResult(_) if !tool_results => None,
            AgentMessage::System(_) if profile == Profile::Own => None,
            _ => Some(message.clone()),
        },
        EntryBody::CustomMessage(message) => Some(Arc::new(AgentMessage::Custom(message.clone()))),
        EntryBody::BranchSummary(branch) if branch.summary.is_empty() && profile == Profile::Own => {
            None
        }
        EntryBody::BranchSummary(branch) => {
            Some(Arc::new(AgentMessage::BranchSummary(summary(&branch.summary))))
        }
        EntryBody::Compaction(compaction) => Some(Arc::new(AgentMessage::CompactionSummary(
            summary(&compaction.summary),
        ))),
        EntryBody::ThinkingLevelChange(_)
        | EntryBody::ModelChange(_)
        | EntryBody::Custom { .. }
        | EntryBody::Label { .. }
        | EntryBody::SessionInfo(_)
        | EntryBody::Usage { .. }
        | EntryBody::ContextEdit { .. }
        | EntryBody::ResetBoundary
        | EntryBody::Unknown(_) => None,
    }
}

/// Returns where the conversation goes on after a move to `to`, and the text that returns to the editor.
fn landing(tree: &SessionTree, to: Leaf) -> Result<(Option<EntryId>, Option<String>), BranchError> {
    let Leaf::At(index) = to else {
        return Ok((None, None));
    };
    let entry = tree
        .entry(index)
        .map_err(|error| BranchError::Unreadable(error.to_string()))?;
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
    /// Returns the requests that a summarizer must answer; none when nothing was said on the branch.
    pub fn requests(&self) -> &[SummaryRequest] {
        &self.requests
    }

    /// Returns the summary entry; it is stamped with `new_leaf` as its parent.
    pub fn apply(&self, answers: &[SummaryAnswer]) -> Result<EntryDraft, AnswerError> {
        let (merged, summarizer) = merge_answers(&self.requests, answers, None)?;
        let summary = format!(
            "{}\n\n{merged}{}",
            prompts::branch_summary_preamble(),
            self.files.tags(self.file_list_limit)
        );
        let details = json!({
            "readFiles": self.files.read_files(),
            "modifiedFiles": self.files.modified_files(),
            "planHash": self.hash(),
            "summarizer": summarizer,
            "undoTo": self.from,
        });
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

    /// Returns the hash of what the plan decides and asks.
    pub fn hash(&self) -> PlanHash {
        let mut parts = vec!["branch plan 1".to_owned()];
        parts.extend(self.collected.iter().map(ToString::to_string));
        parts.extend(self.new_leaf.iter().map(ToString::to_string));
        parts.extend(self.requests.iter().map(|request| request.prompt(None)));
        PlanHash::of(parts.iter().map(String::as_str))
    }
}

/// Returns the entry that makes a move of the leaf durable; it is stamped with the target as its parent.
pub fn leaf_move(reason: &str, from: Option<&EntryId>) -> EntryDraft {
    EntryDraft::Custom(CustomDraft {
        custom_type: LEAF_ENTRY.to_owned(),
        data: RawJson::of(&json!({ "reason": reason, "from": from })).ok(),
    })
}
