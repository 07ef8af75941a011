//! What whoever asks for a compaction decides of it: entries that are pinned, and entries that are left out.
//!
//! Both are entries of the session that exist without this: labels and edits of the context. They are planned with, on
//! a copy of the tree, and written with the compaction in one write, so that a compaction that is cancelled changes
//! nothing and an undo takes them out of the context again.

use compaction_core::{
    PRUNE_ENTRY, PinError, PinTarget, Pins, Profile, Settings, TokenCount, message_counts, notice,
    threshold,
};
use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Content, ContextEditDraft, EntryBody, EntryDraft, EntryId, Leaf, SessionTree,
    Stamp, Timestamp, build_context,
};

use crate::runtime::compaction::{CompactionEntries, CompactionJob};
use session_protocol::CompactionChoices;
use session_protocol::Refusal;
use summarize::{add_details, summary_draft};

/// Choices as the entries that carry them out.
#[derive(Debug, Clone, Default)]
pub(super) struct Chosen {
    /// The session with them.
    place: Option<(SessionTree, Leaf)>,
    drafts: Vec<EntryDraft>,
    /// Where the session stands without them.
    undo_to: Option<EntryId>,
    /// Tokens that they take out of the context.
    pub freed: TokenCount,
}

impl Chosen {
    /// Returns the entries of choices for the session at a leaf.
    ///
    /// # Errors
    /// An entry that is not there, cannot be pinned or cannot be left out.
    pub fn of(
        tree: &SessionTree,
        leaf: Leaf,
        choices: &CompactionChoices,
        (settings, window): (&Settings, TokenCount),
    ) -> Result<Self, Refusal> {
        if *choices == CompactionChoices::default() {
            return Ok(Self::default());
        }
        let mut chosen = Self {
            place: None,
            drafts: Vec::new(),
            undo_to: tree.leaf_id(leaf).map(EntryId::new),
            freed: TokenCount::ZERO,
        };
        let (mut with, mut at) = (tree.clone(), leaf);
        let rules = Profile::Own.rules();
        let threshold = threshold(window, &settings.compaction, &rules);
        let budget = settings.compaction.pins.budget(window, threshold.as_ref());
        let counter = Profile::Own.counter();
        for id in &choices.pin {
            let path = with.path(at);
            let pins = Pins::of(&path, budget, counter);
            let draft = match pins.add(&path, &PinTarget::Entry(id.clone()), counter) {
                Ok(new) => new.draft,
                Err(PinError::Twice(_)) => continue,
                Err(error) => return Err(Refusal::refused(error.to_string())),
            };
            at = append(&mut with, at, &draft);
            chosen.drafts.push(draft);
        }
        let before = tokens(tree, leaf);
        for id in &choices.drop {
            let draft = omission(&with, at, id)?;
            at = append(&mut with, at, &draft);
            chosen.drafts.push(draft);
        }
        chosen.freed = before.saturating_sub(tokens(&with, at));
        chosen.place = Some((with, at));
        Ok(chosen)
    }

    /// Returns the session in which a compaction is planned.
    pub fn place<'a>(&'a self, tree: &'a SessionTree, leaf: Leaf) -> (&'a SessionTree, Leaf) {
        match &self.place {
            Some((tree, leaf)) => (tree, *leaf),
            None => (tree, leaf),
        }
    }

    /// Puts the choices in front of what a compaction writes, and counts what they take out.
    pub fn lead(&self, entries: &mut CompactionEntries) {
        if self.drafts.is_empty() {
            return;
        }
        let freed = self.freed.0;
        entries.result.tokens_before = entries.result.tokens_before.saturating_add(freed);
        match summary_draft(&mut entries.drafts) {
            Some(draft) => {
                let before = entries.result.tokens_before;
                let details = [
                    ("undoTo", json!(self.undo_to)),
                    ("estimatedTokensBefore", json!(before)),
                ];
                add_details(draft, &details);
                if let EntryDraft::Compaction(compaction) = draft {
                    compaction.tokens_before = compaction.tokens_before.saturating_add(freed);
                }
            }
            None => entries.drafts.iter_mut().for_each(|draft| self.mark(draft)),
        }
        entries.drafts.splice(0..0, self.drafts.iter().cloned());
    }

    /// Lets the mark of a pruning lead back to before the choices.
    fn mark(&self, draft: &mut EntryDraft) {
        if let EntryDraft::Custom(mark) = draft
            && mark.custom_type == PRUNE_ENTRY
            && let Some(mut data) = mark.data.as_ref().map(RawJson::to_value)
        {
            data["undoTo"] = json!(self.undo_to);
            mark.data = RawJson::of(&data).ok();
        }
    }
}

impl CompactionJob {
    /// Plans with choices.
    pub(super) fn choose(&mut self, choices: &CompactionChoices) -> Result<(), Refusal> {
        let settings = (&self.settings, self.models.model.window);
        let mut chosen = Chosen::of(&self.tree, self.leaf, choices, settings)?;
        if let Some((tree, leaf)) = chosen.place.take() {
            (self.tree, self.leaf) = (tree, leaf);
        }
        self.chosen = chosen;
        Ok(())
    }
}

fn tokens(tree: &SessionTree, leaf: Leaf) -> TokenCount {
    let context = build_context(&tree.path(leaf), Profile::Own.context_rules());
    message_counts(&context, Profile::Own.counter())
        .into_iter()
        .sum()
}

/// Returns the edit that takes the message of an entry out of the context; of a tool result, which belongs to its
/// call, its text.
fn omission(tree: &SessionTree, leaf: Leaf, id: &EntryId) -> Result<EntryDraft, Refusal> {
    let path = tree.path(leaf);
    let index = tree
        .find(id)
        .filter(|index| path.entries().contains(index))
        .ok_or_else(|| Refusal::no_entry(id))?;
    let entry = tree.entry(index).ok();
    let replacement = match entry.as_ref().map(|entry| &entry.body) {
        Some(EntryBody::CustomMessage(_)) => None,
        Some(EntryBody::Message(message)) if can_leave(message) => match &**message {
            AgentMessage::ToolResult(_) => {
                let size = Profile::Own.counter().message(message);
                Some(Content::Text(notice(size)))
            }
            _ => None,
        },
        Some(_) | None => {
            return Err(Refusal::refused(format!(
                "entry {id} cannot be left out: it is not a message, or calls tools"
            )));
        }
    };
    let target = id.clone();
    Ok(EntryDraft::ContextEdit(ContextEditDraft {
        target,
        replacement,
    }))
}

/// Returns whether a message can be left out by itself: not what calls tools, whose results would be left alone.
pub fn can_leave(message: &AgentMessage) -> bool {
    match message {
        AgentMessage::Assistant(answer) => answer.content.tool_calls().next().is_none(),
        AgentMessage::System(_)
        | AgentMessage::BranchSummary(_)
        | AgentMessage::CompactionSummary(_) => false,
        _ => true,
    }
}

/// Appends a draft to a copy of a tree, under an id that no entry has.
fn append(tree: &mut SessionTree, leaf: Leaf, draft: &EntryDraft) -> Leaf {
    let free = (tree.len()..).map(|number| format!("choice-{number}"));
    let id = free.into_iter().find(|id| tree.find(id).is_none());
    let line = draft.stamp(&Stamp {
        id: EntryId::new(&id.unwrap_or_default()),
        parent: tree.leaf_id(leaf).map(EntryId::new),
        timestamp: Timestamp::from_millis(0),
        part_of: None,
    });
    match tree.append(line.as_bytes(), 0, 0) {
        Ok(index) => {
            tree.replace_line(index, line.into_bytes());
            Leaf::At(index)
        }
        // A session that is full takes no compaction either, which says so.
        Err(_) => leaf,
    }
}
