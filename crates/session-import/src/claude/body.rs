//! The second pass: bodies of records, as messages.

use session_model::json::{Members, RawJson};
use session_model::{Block, BranchSummaryDraft, EntryDraft, FirstKept, SUBAGENT, Span, UserParts};

use super::blocks::{attachment_blocks, result_blocks, user_parts};
use super::part::Part;
use super::scan::Scan;
use crate::content::{Answer, compaction, is_blank};
use crate::emitter::{CallResult, Emitter, Place};
use crate::error::ImportError;
use crate::input::Input;
use crate::json;
use crate::report::ImportReport;
use crate::threads::{Kept, Records, ResultAt, Unit, UnitKind, WriteUnit};
use crate::user_message::Ends;

/// The command that compacts.
const COMPACT: &str = "<command-name>/compact</command-name>";

/// Gives the bodies of records.
pub(super) struct Bodies<'a> {
    pub input: &'a Input,
    pub scan: &'a Scan,
    /// All messages are a side chain: it is the file of a subagent.
    pub only_sidechain: bool,
}

impl WriteUnit for Bodies<'_> {
    fn write(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        place: Place,
        written: &[Ends],
    ) -> Result<Ends, ImportError> {
        let mut below = place.clone();
        let ends = match &unit.kind {
            UnitKind::Answer { results } => self.write_answer(emitter, unit, results, &place),
            UnitKind::Message => self.write_message(emitter, unit, place),
            UnitKind::Attachment => self.write_attachment(emitter, unit, place),
            UnitKind::Orphan { blocks } => self.write_orphans(emitter, unit, blocks, place),
            UnitKind::Compaction { summary: None, .. } => {
                emitter.report.lose("compaction without a summary");
                Ok(None)
            }
            UnitKind::Compaction {
                summary: Some(summary),
                kept,
            } => self.write_compaction(emitter, unit, *summary, kept, &place, written),
        }?;
        let uuids = unit.records.iter();
        let mut uuids = uuids.map(|record| self.scan.records.list[*record].uuid());
        let is_gone = uuids.any(|uuid| self.scan.replaced.get(uuid) == Some(&None));
        let Some((first, last)) = ends.clone().filter(|_| is_gone) else {
            return Ok(ends);
        };
        below.parent = last;
        let edit = emitter.edit(&below, &first, None)?;
        Ok(Some((first, edit)))
    }

    fn replacement(&self, call: &str) -> Option<String> {
        self.scan.replaced.get(call)?.clone()
    }

    fn source(&self) -> (&Input, &Records) {
        (self.input, &self.scan.records)
    }

    fn read_result(
        &self,
        text: &str,
        block: usize,
        report: &mut ImportReport,
    ) -> Option<CallResult> {
        read_result(text, block, report)
    }
}

/// Returns one of the results that a record has.
pub(crate) fn read_result(
    text: &str,
    block: usize,
    report: &mut ImportReport,
) -> Option<CallResult> {
    let record = Members::parse(text).unwrap_or_default();
    let message = record.object("message").unwrap_or_default();
    let blocks = message.objects("content").into_iter();
    let mut results = blocks.filter(|block| block.text("type").as_deref() == Some("tool_result"));
    let result = results.nth(block)?;
    let details = record.raw("toolUseResult");
    let details = details.filter(|_| block == 0 && results.next().is_none());
    Some(CallResult {
        content: result_blocks(report, &result),
        is_error: result.flag("is_error"),
        details: details.and_then(|raw| RawJson::parse(raw).ok()),
        ..CallResult::default()
    })
}

/// Adds a block to an answer, unless an earlier record has it, or a part of it.
fn add(blocks: &mut Vec<Block>, block: Block) {
    let last = blocks.len().saturating_sub(1);
    let mut known = blocks.iter().enumerate();
    let known = known.position(|(at, known)| match (known, &block) {
        (Block::ToolCall(known), Block::ToolCall(call)) => known.id == call.id,
        (Block::Text(known), Block::Text(text)) if at == last => text.text.starts_with(&known.text),
        _ => *known == block,
    });
    match known {
        Some(at) => blocks[at] = block,
        None => blocks.push(block),
    }
}

/// Returns the texts of blocks.
fn blocks_text<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> String {
    let texts = blocks.into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns whether somebody else than the user sent a message of this origin.
fn is_sent(origin: &Members<'_>) -> bool {
    let is_other = origin.text("kind").is_some_and(|kind| kind != "human");
    is_other || origin.raw("from").is_some() || origin.raw("senderTaskId").is_some()
}

impl Bodies<'_> {
    fn write_compaction(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        summary: usize,
        kept: &Kept,
        place: &Place,
        written: &[Ends],
    ) -> Result<Ends, ImportError> {
        let text = self.summary_text(summary)?;
        let list = &self.scan.records.list;
        let mut boundaries = unit.records.iter();
        let boundary = boundaries.find_map(|record| list[*record].boundary.as_deref());
        let tokens = boundary.map_or(0, |boundary| boundary.tokens_before);
        let details = boundary.and_then(|boundary| json::raw_object(&boundary.metadata));
        let draft = match kept {
            Kept::Before(left) => EntryDraft::BranchSummary(Box::new(BranchSummaryDraft {
                from: left.and_then(|left| Some(written[left].clone()?.1)),
                summary: text,
                details,
                from_extension: true,
            })),
            Kept::None => compaction(&text, FirstKept::None, tokens, details, None),
            Kept::From(unit) => {
                let kept = written[*unit].clone();
                let kept = kept.map_or(FirstKept::None, |(first, _)| FirstKept::Entry(first));
                compaction(&text, kept, tokens, details, None)
            }
        };
        let id = emitter.write(list[summary].uuid(), place, &draft)?;
        Ok(Some((id.clone(), id)))
    }

    fn span(&self, record: usize) -> Span {
        self.scan.records.list[record].span
    }

    /// Writes an answer and the results of its calls.
    fn write_answer(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        results: &[Option<ResultAt>],
        place: &Place,
    ) -> Result<Ends, ImportError> {
        let mut answer = Answer {
            api: super::API,
            provider: "anthropic".to_owned(),
            at: place.at,
            ..Answer::default()
        };
        let mut is_synthetic = false;
        for index in &unit.records {
            let text = self.input.text(self.span(*index))?;
            let record = Members::parse(&text).unwrap_or_default();
            let part = Part::of(&record, &mut emitter.report);
            answer.model = part.model.unwrap_or(answer.model);
            answer.usage = part.usage.or(answer.usage);
            answer.stop = part.stop.or(answer.stop);
            part.blocks
                .into_iter()
                .for_each(|block| add(&mut answer.blocks, block));
            is_synthetic |= part.is_synthetic;
        }
        let id = unit.records.first();
        let id = id.map_or("", |record| self.scan.records.list[*record].uuid());
        if is_synthetic && results.is_empty() {
            return self.write_synthetic(emitter, id, place, &answer);
        }
        if answer.blocks.is_empty() && answer.usage.is_none() {
            emitter.report.skip("assistant (empty)");
            return Ok(None);
        }
        let found = self.with_results(emitter, &answer.blocks, results)?;
        let ends = emitter.answer(id, place, answer.draft()?, found)?;
        Ok(Some(ends))
    }

    /// Writes what the program said in the name of the model: the model never sees it.
    fn write_synthetic(
        &self,
        emitter: &mut Emitter<'_>,
        id: &str,
        place: &Place,
        answer: &Answer,
    ) -> Result<Ends, ImportError> {
        let data = serde_json::json!({ "text": blocks_text(&answer.blocks) });
        let id = emitter.custom(id, place, "synthetic", json::raw_of(&data))?;
        let mut last = id.clone();
        if let Some(usage) = answer.usage.filter(|usage| usage.total_tokens > 0) {
            let below = Place {
                parent: last,
                at: place.at,
            };
            last = emitter.usage(&below, "other", usage)?;
        }
        Ok(Some((id, last)))
    }

    /// Writes a message with the role of the user: what the program put there, then what the user said.
    fn write_message(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        place: Place,
    ) -> Result<Ends, ImportError> {
        let head = &self.scan.records.list[unit.records[0]];
        let text = self.input.text(head.span)?;
        let record = Members::parse(&text).unwrap_or_default();
        let message = record.object("message").unwrap_or_default();
        let origin = record.object("origin").unwrap_or_default();
        let is_human = origin.text("kind").as_deref() == Some("human");
        let agent = head.subagent.as_ref().map_or("", |agent| &agent.id);
        let subagent = format!("{} {agent}", &SUBAGENT[1..]);
        let whole = if is_sent(&origin) {
            Some("notification")
        } else if record.flag("isMeta") {
            Some("meta")
        } else if head.is_sidechain
            && !is_human
            && (head.subagent.is_some() || !self.only_sidechain)
        {
            Some(subagent.trim_end())
        } else {
            None
        };
        let mut parts = user_parts(&mut emitter.report, &message, whole);
        let mut texts = parts.inserted.iter().flat_map(|(_, blocks)| blocks);
        let says = |block: &Block, name: &str| matches!(block, Block::Text(text) if text.text.contains(name));
        if texts.clone().any(|block| says(block, COMPACT)) {
            // It guided the summary, and the model must not carry it out behind that.
            let data = serde_json::json!({ "text": blocks_text(parts.own.iter().chain(texts)) });
            let id = emitter.custom(head.uuid(), &place, "command", json::raw_of(&data))?;
            return Ok(Some((id.clone(), id)));
        }
        if texts.any(|block| says(block, "<command-name>")) && self.is_local(unit.records[0])? {
            let own = std::mem::take(&mut parts.own).into_iter();
            own.for_each(|block| parts.insert("command", block));
        }
        emitter.user_parts(head.uuid(), place, parts)
    }

    /// Returns whether a command is one that the program itself carried out: what it printed follows.
    fn is_local(&self, record: usize) -> Result<bool, ImportError> {
        let next = self.scan.records.list.get(record + 1);
        let next = next.map(|next| self.input.text(next.span)).transpose()?;
        Ok(next.is_some_and(|text| text.contains("<local-command-std")))
    }

    /// Writes context that the program added.
    fn write_attachment(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        place: Place,
    ) -> Result<Ends, ImportError> {
        let head = &self.scan.records.list[unit.records[0]];
        let text = self.input.text(head.span)?;
        let record = Members::parse(&text).unwrap_or_default();
        let attachment = record.object("attachment").unwrap_or_default();
        let kind = attachment.text("type").unwrap_or_default();
        let blocks = attachment_blocks(&mut emitter.report, &attachment);
        let said = blocks_text(&blocks);
        if is_blank(&blocks) {
            emitter.report.skip(&format!("attachment/{kind}"));
            return Ok(None);
        }
        let origin = attachment.object("origin").unwrap_or_default();
        let is_prompt = attachment
            .text("commandMode")
            .is_none_or(|mode| mode == "prompt");
        let is_user = kind == "queued_command" && is_prompt && !is_sent(&origin);
        let is_user = is_user && !attachment.flag("isMeta");
        if is_user && self.scan.is_user_text(&said) {
            emitter.report.duplicates += 1;
            return Ok(None);
        }
        let mut parts = UserParts::default();
        for block in blocks {
            match is_user {
                true => parts.add(block),
                false => parts.insert(&format!("attachment/{kind}"), block),
            }
        }
        emitter.user_parts(head.uuid(), place, parts)
    }

    /// Returns the text of a summary.
    fn summary_text(&self, record: usize) -> Result<String, ImportError> {
        let text = self.input.text(self.span(record))?;
        let record = Members::parse(&text).unwrap_or_default();
        let message = record.object("message").unwrap_or_default();
        Ok(message.text("content").unwrap_or_else(|| {
            let blocks = message.objects("content").into_iter();
            let texts = blocks.filter_map(|block| block.text("text"));
            texts.collect::<Vec<_>>().join("\n\n")
        }))
    }
}
