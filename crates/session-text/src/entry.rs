//! What an entry says, in the rows of a tree.

use compaction_core::TokenCount;
use session_model::json::RawJson;
use session_model::text::first_line;
use session_model::{
    AgentMessage, Compaction, Entry, EntryBody, EntryIndex, SessionTree, StatedRole, UserMessage,
    without_private,
};

use super::tokens;

/// How many entries before a compaction are looked through for the newest message of the user.
const LOOKED_AT: usize = 10_000;

/// Returns what an entry says on one line of a tree, in at most `most` characters.
pub fn entry_line(tree: &SessionTree, index: EntryIndex, most: usize) -> String {
    match tree.entry(index) {
        Ok(entry) => match &entry.body {
            EntryBody::Compaction(compaction) => {
                let line = compaction_line(tree, index, &entry, compaction);
                first_line(&line, most)
            }
            _ => first_line(&entry_text(&entry), most),
        },
        Err(_) => "(cannot be read)".to_owned(),
    }
}

/// Returns what an entry says.
pub fn entry_text(entry: &Entry) -> String {
    match &entry.body {
        EntryBody::Compaction(compaction) => compaction
            .short_summary
            .clone()
            .unwrap_or_else(|| compaction.summary.clone()),
        EntryBody::BranchSummary(branch) => branch.summary.clone(),
        EntryBody::Message(message) => match &**message {
            AgentMessage::User(user) if is_inserted(user) => "(inserted text)".to_owned(),
            AgentMessage::User(user) if user.words() != user.content.joined_text("\n") => {
                without_private(&user.words()).into_owned()
            }
            AgentMessage::BashExecution(ran) => format!("! {}", without_private(&ran.command)),
            message => without_private(&message.display_text()).into_owned(),
        },
        EntryBody::CustomMessage(message) => message.content.joined_text(" "),
        EntryBody::ModelChange(model) => format!("{}/{}", model.provider, model.model_id),
        EntryBody::ThinkingLevelChange(level) => level.clone(),
        EntryBody::SessionInfo(name) => name.clone().unwrap_or_default(),
        EntryBody::Label { target, label } => {
            format!("{target} {}", label.as_deref().unwrap_or("(cleared)"))
        }
        EntryBody::Custom { custom_type, .. } => custom_type.clone(),
        EntryBody::ContextEdit { target, .. } => format!("edits {target}"),
        EntryBody::Usage { kind, .. } => kind.clone(),
        EntryBody::Unknown(kind) => kind.clone(),
        _ => String::new(),
    }
}

/// Returns whether all text of a message with the role of the user is what an agent put there.
pub fn is_inserted(user: &UserMessage) -> bool {
    user.words().is_empty() && user.content.texts().any(|text| !text.trim().is_empty())
}

/// Returns a compaction with its tokens before and after, its time, and the newest message of the user before it.
fn compaction_line(
    tree: &SessionTree,
    index: EntryIndex,
    entry: &Entry,
    compaction: &Compaction,
) -> String {
    let details = compaction.details.as_ref().map(RawJson::to_value);
    let details = details.unwrap_or_default();
    let estimate = |key: &str| details[key].as_u64();
    let before = estimate("estimatedTokensBefore").unwrap_or(compaction.tokens_before);
    let mut parts = tokens(TokenCount(before));
    if let Some(after) = estimate("estimatedTokensAfter") {
        parts.push_str(&format!(" -> {}", tokens(TokenCount(after))));
    }
    if let Some(at) = entry.timestamp {
        let at = at.to_string().replace('T', " ");
        parts.push_str(&format!("  {}", at.get(..16).unwrap_or_default()));
    }
    let above = std::iter::successors(tree.parent(index), |at| tree.parent(*at));
    let mut above = above.take(LOOKED_AT);
    let said = above.find_map(|at| {
        let is_user = tree.role(at) == Some(StatedRole::User);
        let entry = is_user.then(|| tree.entry(at).ok()).flatten()?;
        match &entry.body {
            EntryBody::Message(message) => match &**message {
                AgentMessage::User(user) if is_inserted(user) => None,
                _ => Some(entry_text(&entry)),
            },
            _ => None,
        }
    });
    match said {
        Some(said) => format!("{parts}  after: {}", said.trim()),
        None => parts,
    }
}
