//! Compactions of Codex: a free list of items takes the place of the history.

use session_model::json::{Members, RawJson, utf16_len};
use session_model::{Block, EntryId, FirstKept, Timestamp};

use super::items::{answer_part, is_output, message_blocks, message_parts, output_of};
use super::mapper::Mapper;
use super::scan::{At, is_native};
use crate::content::compaction;
use crate::emitter::PendingCall;
use crate::error::ImportError;
use crate::ids::hash_of;

/// What stands for a summary that only the provider can read.
const UNREADABLE: &str = "The provider compacted the conversation before this point into a form that only it can read. Messages of the user that it kept:";

/// How much of the user's messages an old compaction keeps, in characters: 20,000 tokens.
const KEPT_CHARACTERS: usize = 80_000;

impl Mapper<'_, '_> {
    /// Takes a compaction.
    pub fn take_compacted(
        &mut self,
        compacted: &Members<'_>,
        at: Option<Timestamp>,
        here: At,
    ) -> Result<(), ImportError> {
        let message = compacted.filled("message");
        let raw_items = compacted.items("replacement_history");
        let items = raw_items.iter().copied();
        let items: Vec<Members<'_>> = items.filter_map(Members::parse).collect();
        let mut natives = raw_items.iter().copied().rev();
        let native = natives.find(|raw| Members::parse(raw).is_some_and(|item| is_native(&item)));
        let summary = match &message {
            Some(message) => message.clone(),
            None => {
                let mut parts = vec![UNREADABLE.to_owned()];
                for item in items.iter().filter(|item| is_of(item, "user")) {
                    let own = message_parts(&mut self.emitter.report, item).own;
                    parts.extend(own.into_iter().filter_map(text_of));
                }
                parts.join("\n\n")
            }
        };
        let newest = self.scan.newest_native;
        let is_newest = newest.is_some_and(|at| at.segment == here.segment && at.span == here.span);
        let preserved = native.filter(|_| is_newest).and_then(|native| {
            let data = format!(
                "{{\"openaiRemoteCompaction\":{{\"provider\":{},\"model\":{},\"replacementHistory\":[{}],\"compactionItem\":{native}}}}}",
                serde_json::Value::from(self.scan.provider.as_str()),
                serde_json::Value::from(self.model.as_str()),
                raw_items.join(",")
            );
            RawJson::parse(&data).ok()
        });
        if native.is_some() && preserved.is_none() {
            self.emitter
                .report
                .lose("native form of an older compaction");
        }
        let number = compacted.count("window_number");
        let details = number.map(|number| serde_json::json!({ "windowNumber": number }));
        let details = details.as_ref().and_then(crate::json::raw_of);
        let tokens = self.context_tokens;
        let kept = message.as_ref().and_then(|_| self.kept(&raw_items));
        let is_kept = kept.is_some();
        let kept = kept.map_or(FirstKept::None, FirstKept::Entry);
        let draft = compaction(&summary, kept, tokens, details, preserved);
        self.leaf = self.emitter.write("", &self.place(at), &draft)?;
        if is_kept {
            return Ok(());
        }
        // What only the provider can read is replayed whole: the messages in it must not stand there twice.
        let Some(message) = message else {
            return Ok(());
        };
        match items.is_empty() {
            true => self.copy_user_messages(at),
            false => self.copy_items(&raw_items, &message, at),
        }
    }

    /// Returns the first entry that a list kept, if the list is a summary and the newest items as they are.
    fn kept(&self, items: &[&str]) -> Option<EntryId> {
        let kept = items.get(1..)?;
        let recent = &self.recent[self.recent.len().checked_sub(kept.len())?..];
        let is_same = kept
            .iter()
            .zip(recent)
            .all(|(item, (hash, _))| hash_of(item) == *hash);
        recent.first().filter(|_| is_same)?.1.clone()
    }

    /// Copies the messages and calls that a list kept, its summary aside.
    fn copy_items(
        &mut self,
        items: &[&str],
        summary: &str,
        at: Option<Timestamp>,
    ) -> Result<(), ImportError> {
        for raw in items {
            let item = Members::parse(raw).unwrap_or_default();
            let kind = item.text("type").unwrap_or_default();
            let report = &mut self.emitter.report;
            if let Some(blocks) = answer_part(report, &item, raw) {
                let open = self.open("", at)?;
                open.calls.extend(blocks.iter().filter_map(PendingCall::of));
                open.answer.blocks.extend(blocks);
            } else if is_output(&kind) {
                let result = output_of(report, &item);
                if let (Some(open), Some(id)) = (&mut self.open, item.text("call_id")) {
                    open.kept.insert(id, result);
                    open.is_closed = true;
                }
            } else if is_readable(&item) {
                self.close()?;
                let role = item.text("role").unwrap_or_else(|| "agent".to_owned());
                let blocks = message_blocks(&mut self.emitter.report, &item);
                let mut blocks: Vec<Block> = blocks.into_iter().flatten().collect();
                blocks.retain(|block| !matches!(block, Block::Text(text) if text.text == summary));
                if !blocks.is_empty() {
                    let place = self.place(at);
                    self.leaf = self.emitter.copied(&place, &role, blocks)?;
                }
            } else if !is_native(&item) {
                report.lose(&format!("item kept by a compaction: {kind}"));
            }
        }
        self.close()
    }

    /// Copies the newest messages of the user, as older versions rebuild the context: all of them as one entry.
    fn copy_user_messages(&mut self, at: Option<Timestamp>) -> Result<(), ImportError> {
        let mut kept = Vec::new();
        let mut left = KEPT_CHARACTERS;
        for text in self.user_messages.iter().rev().map_while(Option::as_ref) {
            let Some(rest) = left.checked_sub(utf16_len(text)) else {
                break;
            };
            left = rest;
            kept.push(Block::text(text.as_str()));
        }
        if !kept.is_empty() {
            kept.reverse();
            let place = self.place(at);
            self.leaf = self.emitter.copied(&place, "user", kept)?;
        }
        Ok(())
    }
}

/// Returns the text of a message that a compaction may keep, if it is not too long.
pub(super) fn kept_text(blocks: &[Block]) -> Option<String> {
    let texts: Vec<String> = blocks.iter().cloned().filter_map(text_of).collect();
    let text = texts.join("\n\n");
    (utf16_len(&text) <= KEPT_CHARACTERS).then_some(text)
}

/// Returns whether an item is text that the model sees: a message, or one of another agent.
fn is_readable(item: &Members<'_>) -> bool {
    let kind = item.text("type").unwrap_or_default();
    matches!(kind.as_str(), "message" | "agent_message")
}

fn is_of(item: &Members<'_>, role: &str) -> bool {
    item.text("type").as_deref() == Some("message") && item.text("role").as_deref() == Some(role)
}

fn text_of(block: Block) -> Option<String> {
    match block {
        Block::Text(text) => Some(text.text),
        Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => None,
    }
}
