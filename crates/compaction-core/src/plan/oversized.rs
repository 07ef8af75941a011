//! Outputs that are too large to stay verbatim: each is cut to its share, so that the conversation stays as well.

use session_model::{AgentMessage, Block, Content, EntryId, SessionContext, SessionPath, json};

use crate::cut::CutItem;
use crate::plan::elide_to_fit::{Elision, pinned};
use crate::plan::{CompactionPlan, Disposition, PlanOptions, notice};
use crate::skill_results::skill_results;
use session_model::tokens::{TokenCount, TokenCounter};

/// The part of what stays verbatim that one output may take.
const OUTPUT_SHARE: (u64, u64) = (1, 4);

/// Outputs up to this size are not shortened while there is room.
const LEAST_OUTPUT: TokenCount = TokenCount(2048);

/// Returns the outputs of a context that take more than their share of what stays (`keep`), each with its place, cut in
/// their middle to that. What is pinned and skills stay whole.
pub(super) fn oversized(
    (path, context): (&SessionPath<'_>, &SessionContext),
    items: &[CutItem],
    keep: TokenCount,
    options: &PlanOptions,
) -> Vec<(usize, Elision)> {
    let most = keep
        .scaled(OUTPUT_SHARE.0, OUTPUT_SHARE.1)
        .max(LEAST_OUTPUT);
    let counter = options.profile.counter();
    let large = |message: &AgentMessage| {
        let output = matches!(
            message,
            AgentMessage::ToolResult(_) | AgentMessage::BashExecution(_)
        );
        output && counter.message(message) > most
    };
    // An entry that is small as a whole has no large output.
    let entries = context.entries.iter().enumerate();
    let entries = entries.filter(|(place, _)| items[*place].tokens > most);
    let large: Vec<_> = entries
        .filter(|(_, projected)| projected.messages.iter().any(|message| large(message)))
        .collect();
    if large.is_empty() {
        return Vec::new();
    }
    let pinned = pinned(path, options);
    let skills = skill_results(context);
    let shortened = large.into_iter().filter_map(|(place, projected)| {
        let id = &projected.entry.id;
        let [message] = projected.messages.as_slice() else {
            return None;
        };
        if pinned.contains(id) || skills.contains(id) {
            return None;
        }
        let tokens = counter.message(message);
        let text = text_of(message)?;
        // First by its share of the text, and less if that is still too much.
        let units = u64::try_from(json::utf16_len(&text)).unwrap_or(u64::MAX);
        let mut edge = units.saturating_mul(most.0) / tokens.0.max(1) / 2;
        loop {
            let kept = usize::try_from(edge).unwrap_or(usize::MAX);
            let replacement = Content::Text(cut_output(&text, id, kept, counter));
            let left = counter.message(&message.with_content(replacement.clone()));
            if left <= most || edge < 200 {
                let elision = Elision {
                    entry_id: id.clone(),
                    tokens,
                    saved: tokens.saturating_sub(left),
                    replacement: replacement_for(message, replacement),
                };
                return (left < tokens).then_some((place, elision));
            }
            edge = edge * 9 / 10;
        }
    });
    shortened.collect()
}

/// Returns the text of an output, without images.
fn text_of(message: &AgentMessage) -> Option<String> {
    match message {
        AgentMessage::BashExecution(run) => Some(run.output.clone()),
        AgentMessage::ToolResult(result) => Some(result.content.joined_text("\n")),
        _ => None,
    }
}

/// Results of tools have blocks; images among them stay.
fn replacement_for(message: &AgentMessage, text: Content) -> Content {
    let AgentMessage::ToolResult(result) = message else {
        return text;
    };
    let images = result.content.blocks().iter();
    let images = images
        .filter(|block| matches!(block, Block::Image(_)))
        .cloned();
    let text = Block::text(text.joined_text("\n"));
    Content::Blocks(std::iter::once(text).chain(images).collect())
}

impl CompactionPlan {
    /// Notes that an entry of the kept range is shortened.
    pub(super) fn shorten(&mut self, place: usize, elision: Elision) {
        self.entries[place].disposition = Disposition::Pruned;
        self.entries[place].reason = "too large for what is kept";
        self.elisions.push(elision);
    }
}

/// Returns a text with its middle replaced by a notice that names its entry; `edge` code units stay on either side.
pub(super) fn cut_output(
    text: &str,
    id: &EntryId,
    edge: usize,
    counter: &dyn TokenCounter,
) -> String {
    let head = json::utf16_prefix(text, edge);
    let tail = json::utf16_suffix(&text[head.len()..], edge);
    let left = counter.text(head) + counter.text(tail);
    let gone = counter.text(text).saturating_sub(left);
    let notice = notice(gone);
    let notice = notice.trim_end_matches(']');
    format!("{head}\n{notice}; entry {id} has all of it]\n{tail}")
}
