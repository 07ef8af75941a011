//! Events that are more than display: usage, rollbacks, interruptions, and messages of files without items.

use session_model::json::Members;
use session_model::{Block, StopReason, Timestamp, Usage, UserParts};

use super::items;
use super::mapper::Mapper;
use crate::error::ImportError;

impl Mapper<'_, '_> {
    pub fn take_usage(&mut self, usage: Usage, at: Option<Timestamp>) -> Result<(), ImportError> {
        let is_summary = std::mem::take(&mut self.is_summary);
        if let Some(open) = self.open.as_mut().filter(|_| !is_summary)
            && open.answer.usage.is_none()
        {
            open.answer.usage = Some(usage);
            open.is_closed = true;
            self.context_tokens = usage.total_tokens;
            return Ok(());
        }
        if usage.total_tokens == 0 {
            return Ok(());
        }
        self.close()?;
        let kind = if is_summary { "compaction" } else { "other" };
        self.leaf = self.emitter.usage(&self.place(at), kind, usage)?;
        Ok(())
    }

    pub fn take_event(
        &mut self,
        event: &Members<'_>,
        at: Option<Timestamp>,
    ) -> Result<(), ImportError> {
        match event.text("type").as_deref() {
            Some("token_count") if !self.scan.has_usage_records => {
                let info = event.object("info").unwrap_or_default();
                let total = info.object("total_token_usage").unwrap_or_default();
                let last = info.object("last_token_usage").unwrap_or_default();
                let key = |name| total.count(name).unwrap_or(0);
                let key = (
                    key("input_tokens"),
                    key("output_tokens"),
                    key("total_tokens"),
                );
                match key != (0, 0, 0) && self.totals.insert(key) {
                    true => self.take_usage(items::usage_of(&last), at),
                    false => Ok(()),
                }
            }
            Some("thread_rolled_back") => {
                self.close()?;
                for _ in 0..event
                    .count("num_turns")
                    .unwrap_or(0)
                    .min(self.turns.len() as u64)
                {
                    self.leaf = self.turns.pop().unwrap_or_else(|| self.leaf.clone());
                    self.user_messages.pop();
                }
                self.recent.clear();
                Ok(())
            }
            Some("turn_aborted") => {
                if let Some(open) = self.open.as_mut().filter(|open| !open.is_closed) {
                    open.answer.stop = Some(StopReason::Aborted);
                    open.is_closed = true;
                }
                Ok(())
            }
            Some("user_message") if !self.scan.has_user_items => {
                let mut parts = UserParts::default();
                if let Some(text) = event.filled("message") {
                    parts.add(Block::text(text));
                }
                self.take_parts(parts, "", at)
            }
            Some("agent_message") if !self.scan.has_answer_items => {
                let text = event.text("message").unwrap_or_default();
                self.open("", at)?.answer.blocks.push(Block::text(text));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
