//! The second pass: records in their order, as entries.

use std::collections::{BTreeMap, BTreeSet};

use session_model::json::{Members, RawJson};
use session_model::{EntryDraft, EntryId, ModelRef, Timestamp, UserParts};

use super::compacted::kept_text;
use super::items::{self, answer_part, is_output, message_parts, output_of};
use super::lead::Lead;
use super::outputs::{Output, Outputs};
use super::scan::{At, Scan, is_native};
use crate::content::Answer;
use crate::emitter::{CallResult, Emitter, PendingCall, Place};
use crate::error::ImportError;
use crate::ids::hash_of;
use crate::input::Line;
use crate::report::ImportReport;
use crate::results::LaterPlace;

/// The longest item that is kept although it is not mapped to a message, in bytes.
const LONGEST_KEPT: usize = 16 * 1024;

/// The items of one response, until the next one begins.
pub(super) struct Open {
    id: String,
    pub answer: Answer,
    pub calls: Vec<PendingCall>,
    /// Results that a compaction kept with the calls.
    pub kept: BTreeMap<String, CallResult>,
    /// Something followed that a response does not have.
    pub is_closed: bool,
}

pub(super) struct Mapper<'a, 'w> {
    pub scan: &'a Scan,
    pub emitter: Emitter<'w>,
    /// The entry that the next one stands under.
    pub leaf: EntryId,
    pub open: Option<Open>,
    /// For each turn of the user, the entry before it.
    pub turns: Vec<EntryId>,
    /// The texts of the user's messages, for compactions that name none; `None` for those longer than these keep.
    pub user_messages: Vec<Option<String>>,
    pub model: String,
    effort: Option<String>,
    /// Tokens of the context after the newest answer.
    pub context_tokens: u64,
    /// Totals that were counted: they are written again and again.
    pub totals: BTreeSet<(u64, u64, u64)>,
    /// The next usage is that of a summary.
    pub is_summary: bool,
    outputs: Outputs,
    /// Hashes of the items of this branch, each with the entry that it became once that is written; where a compaction
    /// has its summary before what it kept.
    pub recent: Vec<(u64, Option<EntryId>)>,
    /// The first entry of the message that was written last.
    message: Option<EntryId>,
}

impl<'a, 'w> Mapper<'a, 'w> {
    pub fn new(scan: &'a Scan, outputs: Outputs, emitter: Emitter<'w>) -> Self {
        Self {
            scan,
            leaf: emitter.root.clone(),
            emitter,
            open: None,
            turns: Vec::new(),
            user_messages: Vec::new(),
            model: String::new(),
            effort: None,
            context_tokens: 0,
            totals: BTreeSet::new(),
            is_summary: false,
            outputs,
            recent: Vec::new(),
            message: None,
        }
    }

    pub fn place(&self, at: Option<Timestamp>) -> Place {
        Place {
            parent: self.leaf.clone(),
            at,
        }
    }

    /// Writes what the first record says of the session.
    pub fn write_meta(&mut self) -> Result<(), ImportError> {
        let data = RawJson::parse(&self.scan.meta).ok();
        if let Some(data) = data.filter(|data| data.get() != "{}") {
            let place = self.place(self.scan.begun);
            self.leaf = self
                .emitter
                .custom("", &place, "session_meta", Some(data))?;
        }
        Ok(())
    }

    /// Takes the next line.
    pub fn line(&mut self, line: &Line<'_>, segment: usize) -> Result<(), ImportError> {
        let scan = self.scan;
        let source = &scan.segments[segment];
        let lead = Lead::of(line.bytes).filter(|lead| source.has(lead.ordinal));
        if let Some(lead) = lead {
            // What a compaction kept is found by all of an item.
            let is_result = is_output(lead.payload) && !scan.keeps_items;
            if lead.is_display(scan) || (is_result && self.is_taken(lead.call_id)) {
                return Ok(());
            }
        }
        let text = line.text();
        let here = At {
            segment,
            span: line.span,
        };
        match Members::parse(&text) {
            Some(record) if source.has(record.count("ordinal")) => self.take(&record, &text, here),
            _ => Ok(()),
        }
    }

    fn take(&mut self, record: &Members<'_>, line: &str, here: At) -> Result<(), ImportError> {
        let at = record.time("timestamp");
        let (kind, payload, raw) = items::unwrapped(record, line);
        match kind.as_str() {
            "response_item" => {
                let metadata = record.object("metadata").unwrap_or_default();
                if metadata.flag("compaction_output") {
                    // The compaction that follows has it as its summary.
                    self.emitter.report.skip("response_item (a summary)");
                    self.close()?;
                    self.is_summary = true;
                    return Ok(());
                }
                self.take_item(&payload, raw, at)?;
                if self.scan.keeps_items {
                    let written = self.open.is_none().then(|| self.leaf.clone());
                    self.recent
                        .push((hash_of(raw), self.message.take().or(written)));
                }
                Ok(())
            }
            "turn_context" => self.take_turn_context(&payload, at),
            "token_usage_record" => {
                let response = payload.text("response_id").unwrap_or_default();
                self.is_summary |= self.scan.summaries.contains(&response);
                let usage = payload.object("usage").unwrap_or_default();
                self.take_usage(items::usage_of(&usage), at)
            }
            "compacted" => {
                self.close()?;
                self.take_compacted(&payload, at, here)
            }
            "event_msg" => self.take_event(&payload, at),
            _ => Ok(()),
        }
    }

    fn take_turn_context(
        &mut self,
        context: &Members<'_>,
        at: Option<Timestamp>,
    ) -> Result<(), ImportError> {
        if let Some(model) = context.filled("model").filter(|model| *model != self.model) {
            self.close()?;
            let draft = EntryDraft::ModelChange(ModelRef {
                provider: self.scan.provider.clone(),
                model_id: model.clone(),
            });
            self.leaf = self.emitter.write("", &self.place(at), &draft)?;
            self.model = model;
        }
        if let Some(effort) = context.filled("effort")
            && self.effort.as_ref() != Some(&effort)
        {
            self.close()?;
            let draft = EntryDraft::ThinkingLevelChange(effort.clone());
            self.leaf = self.emitter.write("", &self.place(at), &draft)?;
            self.effort = Some(effort);
        }
        Ok(())
    }

    fn take_item(
        &mut self,
        item: &Members<'_>,
        raw: &str,
        at: Option<Timestamp>,
    ) -> Result<(), ImportError> {
        let kind = item.text("type").unwrap_or_default();
        let id = item.text("id").unwrap_or_default();
        if is_output(&kind) {
            return self.add_output(item, at);
        }
        if let Some(blocks) = answer_part(&mut self.emitter.report, item, raw) {
            if !blocks.is_empty() {
                let open = self.open(&id, at)?;
                let calls = blocks.iter().filter_map(PendingCall::of);
                open.calls.extend(calls);
                open.answer.blocks.extend(blocks);
            }
            return Ok(());
        }
        match kind.as_str() {
            "message" => self.take_message(item, &id, at),
            "agent_message" => {
                self.close()?;
                let mut blocks = Vec::new();
                for content in item.objects("content") {
                    blocks.extend(items::content_block(&mut self.emitter.report, &content));
                }
                if !blocks.is_empty() {
                    let place = self.place(at);
                    self.leaf = self.emitter.hidden(&id, &place, "agent_message", blocks)?;
                }
                Ok(())
            }
            "ghost_snapshot" => {
                self.emitter.report.skip("response_item/ghost_snapshot");
                Ok(())
            }
            _ if is_native(item) => {
                self.emitter.report.skip(&format!("response_item/{kind}"));
                Ok(())
            }
            _ => self.keep_item(&kind, &id, raw, at),
        }
    }

    /// Keeps an item that is no message, where the model does not see it.
    fn keep_item(
        &mut self,
        kind: &str,
        id: &str,
        raw: &str,
        at: Option<Timestamp>,
    ) -> Result<(), ImportError> {
        let data = RawJson::parse(raw).ok();
        let Some(data) = data.filter(|data| data.get().len() <= LONGEST_KEPT) else {
            self.emitter.report.skip(&format!("response_item/{kind}"));
            return Ok(());
        };
        self.close()?;
        self.emitter
            .report
            .lose(&format!("{kind}: kept, but not in the context"));
        let place = self.place(at);
        self.leaf = self.emitter.custom(id, &place, kind, Some(data))?;
        Ok(())
    }

    fn take_message(
        &mut self,
        item: &Members<'_>,
        id: &str,
        at: Option<Timestamp>,
    ) -> Result<(), ImportError> {
        let parts = message_parts(&mut self.emitter.report, item);
        self.take_parts(parts, id, at)
    }

    /// Writes a message with the role of the user.
    pub fn take_parts(
        &mut self,
        parts: UserParts,
        id: &str,
        at: Option<Timestamp>,
    ) -> Result<(), ImportError> {
        self.close()?;
        // Codex counts what it does not know as a turn.
        let is_unknown = |(kind, _): &(String, _)| kind == UserParts::UNKNOWN;
        if !parts.own.is_empty() || parts.inserted.iter().any(is_unknown) {
            self.turns.push(self.leaf.clone());
            self.user_messages.push(kept_text(&parts.own));
        }
        if let Some((first, last)) = self.emitter.user_parts(id, self.place(at), parts)? {
            self.leaf = last;
            self.message = Some(first);
        }
        Ok(())
    }

    /// Returns whether a call of the response that is open has this id: its result is written with it.
    fn is_taken(&mut self, call_id: &str) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        let is_own = open.calls.iter().any(|call| call.id == call_id);
        open.is_closed |= is_own;
        is_own
    }

    /// Takes a result: those of known calls are written with these.
    fn add_output(&mut self, item: &Members<'_>, at: Option<Timestamp>) -> Result<(), ImportError> {
        let id = item.text("call_id").unwrap_or_default();
        let open = self.open.as_mut();
        if let Some(open) = open {
            open.is_closed = true;
            if open.calls.iter().any(|call| call.id == id) {
                return Ok(());
            }
        }
        // A result that a call has taken is not among those that are left.
        if self.outputs.take(&id).is_none() {
            return Ok(());
        }
        self.close()?;
        let mut result = output_of(&mut self.emitter.report, item);
        result.id = item.text("id").unwrap_or_default();
        let place = self.place(at);
        self.leaf = self.emitter.orphan(&place, result)?;
        Ok(())
    }

    /// Returns the response that is open; one that ended is written first.
    pub fn open(&mut self, id: &str, at: Option<Timestamp>) -> Result<&mut Open, ImportError> {
        if self.open.as_ref().is_some_and(|open| open.is_closed) {
            self.close()?;
        }
        let (provider, model) = (&self.scan.provider, &self.model);
        Ok(self.open.get_or_insert_with(|| Open {
            id: id.to_owned(),
            answer: Answer {
                api: super::API,
                provider: provider.clone(),
                model: model.clone(),
                at,
                ..Answer::default()
            },
            calls: Vec::new(),
            kept: BTreeMap::new(),
            is_closed: false,
        }))
    }

    /// Writes the response that is open, with the results of its calls.
    pub fn close(&mut self) -> Result<(), ImportError> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        let mut results = Vec::new();
        for call in open.calls {
            let result = match open.kept.remove(&call.id) {
                Some(kept) => Some(kept),
                None => self.read_output(&call.id)?,
            };
            results.push((call, result));
        }
        let place = self.place(open.answer.at);
        let draft = open.answer.draft()?;
        let (answer, end) = self.emitter.answer(&open.id, &place, draft, results)?;
        self.leaf = end;
        let waiting = self.recent.iter_mut().rev();
        for (_, entry) in waiting.take_while(|(_, entry)| entry.is_none()) {
            *entry = Some(answer.clone());
        }
        Ok(())
    }

    /// Returns the next result of a call; or only where it stands, if it is read later.
    fn read_output(&mut self, call: &str) -> Result<Option<CallResult>, ImportError> {
        let Some(Output { at, time, id }) = self.outputs.take(call) else {
            return Ok(None);
        };
        let At { segment, span } = at;
        let found = match self.emitter.reads_later() {
            true => CallResult {
                later: Some(LaterPlace {
                    log: segment,
                    span,
                    block: 0,
                }),
                ..CallResult::default()
            },
            false => {
                let text = self.scan.segments[segment].input.text(span)?;
                items::read_result(&text, &mut self.emitter.report)
            }
        };
        Ok(Some(CallResult {
            id: id.into(),
            at: time,
            ..found
        }))
    }

    pub fn finish(mut self) -> Result<ImportReport, ImportError> {
        self.close()?;
        let leaf = self.leaf.clone();
        self.emitter.finish(&leaf)
    }
}
