//! Answers and the results of their calls, as entries.

use serde_json::json;
use session_model::json::RawJson;
use session_model::{AgentMessage, Block, Content, EntryDraft, EntryId, MessageDraft};

use crate::emitter::{Emitter, INTERRUPTED, Place};
use crate::error::ImportError;
use crate::results::{CallResult, PendingCall, result_draft, short_result};

impl Emitter<'_> {
    /// Writes an answer and the results of its calls, in their order; a call that has none gets one that says so.
    pub fn answer(
        &mut self,
        id: &str,
        place: &Place,
        draft: MessageDraft,
        results: Vec<(PendingCall, Option<CallResult>)>,
    ) -> Result<(EntryId, EntryId), ImportError> {
        let usage = match draft.message() {
            AgentMessage::Assistant(answer) => answer.usage,
            _ => None,
        };
        let answer = self.write(id, place, &EntryDraft::Message(Box::new(draft)))?;
        if let Some(usage) = usage {
            self.report.usage += usage;
            self.context.bill(&place.parent, &answer, &usage);
        }
        let mut end = answer.clone();
        for (call, result) in results {
            let below = Place {
                parent: end,
                at: place.at,
            };
            end = self.result(&below, call, result)?;
        }
        Ok((answer, end))
    }

    /// Writes the result of a call.
    pub fn result(
        &mut self,
        place: &Place,
        call: PendingCall,
        result: Option<CallResult>,
    ) -> Result<EntryId, ImportError> {
        let result = result.unwrap_or_else(|| {
            self.report.interrupted_calls += 1;
            CallResult {
                content: vec![Block::text(INTERRUPTED)],
                is_error: true,
                details: RawJson::of(&json!({ "interrupted": true })).ok(),
                ..CallResult::default()
            }
        });
        let at = result.at.or(place.at);
        let (source_id, replacement) = (result.id.clone(), result.replacement.clone());
        let mut place = Place {
            parent: place.parent.clone(),
            at,
        };
        let written = match result.later {
            Some(later) => self.short(&source_id, &place, later, |line, stamp| {
                short_result(line, stamp, &call, at, later);
            })?,
            None => {
                let draft = result_draft(call, result, at, &mut self.report)?;
                self.write(&source_id, &place, &draft)?
            }
        };
        let Some(replacement) = replacement else {
            return Ok(written);
        };
        place.parent.clone_from(&written);
        let content = Content::Blocks(vec![Block::text(replacement)]);
        self.edit(&place, &written, Some(content))
    }
}
