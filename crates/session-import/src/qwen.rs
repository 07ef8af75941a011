//! qwen-code: a tree of records with parts of the Gemini API; several lines may be one record.

use session_model::json::Members;
use std::slice;

use session_model::{Block, FirstKept, UserParts};

use crate::Origin;
use crate::content::{Answer, compaction, is_blank};
use crate::emitter::{Begin, CallResult, Emitter, Out, Place};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;
use crate::parts::{call_block, call_id, details, plain_blocks, response, usage};
use crate::report::{ImportReport, count};
use crate::threads::{
    Kind, Record, Records, ResultAt, Unit, UnitKind, Units, WriteUnit, write_units,
};
use crate::user_message::{Ends, add_end};

/// What the first pass found.
#[derive(Default)]
struct Scan {
    records: Records,
    title: Option<String>,
}

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    let mut emitter = Emitter::new(Format::QwenCode, out);
    emitter.name_logs([input]);
    let scan = scan(input, &mut emitter)?;
    let records = &scan.records;
    if records.list.is_empty() {
        return Err(ImportError::Empty(Format::QwenCode));
    }
    let units = Units::of(records, &mut emitter.diagnostics);
    emitter.begin(Begin {
        origin,
        bytes: input.bytes,
        at: records.list.iter().find_map(|record| record.at),
        title: scan.title.clone(),
    })?;
    write_units(records, &units, &Bodies { input, records }, emitter)
}

fn scan(input: &Input, emitter: &mut Emitter<'_>) -> Result<Scan, ImportError> {
    let mut scan = Scan::default();
    let report = &mut emitter.report;
    input.records(input.bytes, &mut emitter.diagnostics, |record, line, _| {
        let name = record.text("type").unwrap_or_default();
        count(&mut report.records, &name);
        report.take_head(record);
        let Some(uuid) = record.filled("uuid") else {
            report.skip(&name);
            return Ok(());
        };
        let subtype = record.text("subtype").unwrap_or_default();
        if subtype == "custom_title" {
            let payload = record.object("systemPayload").unwrap_or_default();
            let title = payload.filled("customTitle").or(payload.filled("title"));
            scan.title = title.or(scan.title.take());
        }
        if subtype != "session_artifact_snapshot" {
            scan.records.leaf = Some(uuid.as_str().into());
        }
        let known = scan.records.find(Some(&uuid));
        let kind = match known.map(|known| &mut scan.records.list[known]) {
            // Lines with one uuid are one record.
            Some(known) => {
                let calls = match &mut known.kind {
                    Kind::Answer { calls, .. } => calls,
                    Kind::User { .. } => {
                        known.more.push(line.span);
                        return Ok(());
                    }
                    _ => return Ok(()),
                };
                let before = calls.len();
                calls.extend(call_ids(record, &uuid, before));
                known.more.push(line.span);
                return Ok(());
            }
            None => kind_of(&name, &subtype, record, &uuid),
        };
        if kind == Kind::Link {
            match subtype.is_empty() {
                true => report.skip(&name),
                false => report.skip(&format!("{name}/{subtype}")),
            }
        }
        let place = scan.records.list.len();
        scan.records.by_uuid.insert(uuid.as_str().into(), place);
        scan.records.list.push(Record {
            line: line.number,
            span: line.span,
            more: Vec::new(),
            kind,
            uuid: Some(uuid.into()),
            parent: record.filled("parentUuid").map(Into::into),
            source: None,
            at: record.time("timestamp"),
            is_sidechain: record.flag("isSidechain"),
            subagent: None,
            boundary: None,
        });
        Ok(())
    })?;
    Ok(scan)
}

fn parts_of<'a>(record: &Members<'a>) -> Vec<Members<'a>> {
    let message = record.object("message").unwrap_or_default();
    message.objects("parts")
}

fn call_ids(record: &Members<'_>, uuid: &str, before: usize) -> Vec<Box<str>> {
    let parts = parts_of(record).into_iter();
    let calls = parts.filter_map(|part| part.object("functionCall"));
    let ids = calls
        .enumerate()
        .map(|(place, call)| call_id(&call, uuid, before + place));
    ids.map(Into::into).collect()
}

fn kind_of(name: &str, subtype: &str, record: &Members<'_>, uuid: &str) -> Kind {
    match name {
        "assistant" => Kind::Answer {
            message_id: None,
            calls: call_ids(record, uuid, 0),
        },
        "user" => Kind::User {
            results: Vec::new(),
            has_more: true,
        },
        "tool_result" => {
            let parts = parts_of(record).into_iter();
            let responses = parts.filter_map(|part| part.object("functionResponse"));
            let ids = responses.map(|response| response.filled("id").map(Into::into));
            Kind::User {
                results: ids.collect(),
                has_more: false,
            }
        }
        "system" if subtype == "chat_compression" => Kind::Summary,
        _ => Kind::Link,
    }
}

/// Gives the bodies of records.
struct Bodies<'a> {
    input: &'a Input,
    records: &'a Records,
}

impl WriteUnit for Bodies<'_> {
    fn write(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        place: Place,
        _written: &[Ends],
    ) -> Result<Ends, ImportError> {
        match &unit.kind {
            UnitKind::Answer { results } => self.write_answer(emitter, unit, results, &place),
            UnitKind::Message => self.write_message(emitter, unit, place),
            UnitKind::Orphan { blocks } => self.write_orphans(emitter, unit, blocks, place),
            UnitKind::Compaction { summary, .. } => match summary {
                Some(summary) => self.write_compaction(emitter, *summary, place),
                None => Ok(None),
            },
            UnitKind::Attachment => Ok(None),
        }
    }

    fn source(&self) -> (&Input, &Records) {
        (self.input, self.records)
    }

    fn read_result(&self, text: &str, block: usize, _: &mut ImportReport) -> Option<CallResult> {
        read_result(text, block)
    }
}

/// Returns one of the results that a record has.
pub(crate) fn read_result(text: &str, block: usize) -> Option<CallResult> {
    let record = Members::parse(text).unwrap_or_default();
    let parts = parts_of(&record).into_iter();
    let mut responses = parts.filter_map(|part| part.object("functionResponse"));
    let function = responses.nth(block)?;
    let status = record.object("toolCallResult").unwrap_or_default();
    let mut result = response(&function);
    result.is_error |= status.text("status").as_deref() == Some("error");
    if block == 0 {
        result.details = details(record.raw("toolCallResult"));
    }
    Some(result)
}

impl Bodies<'_> {
    fn write_answer(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        results: &[Option<ResultAt>],
        place: &Place,
    ) -> Result<Ends, ImportError> {
        let head = &self.records.list[unit.records[0]];
        let mut answer = Answer {
            api: "",
            provider: String::new(),
            at: place.at,
            ..Answer::default()
        };
        let mut calls = 0;
        for span in [head.span].iter().chain(&head.more) {
            let text = self.input.text(*span)?;
            let record = Members::parse(&text).unwrap_or_default();
            answer.model = record.filled("model").unwrap_or(answer.model);
            let is_copy = record.raw("forkedFrom").is_some();
            if let Some(counts) = record.object("usageMetadata").filter(|_| !is_copy) {
                let tokens = |key| counts.count(key).unwrap_or(0);
                answer.usage = Some(usage(
                    tokens("promptTokenCount"),
                    tokens("cachedContentTokenCount"),
                    tokens("candidatesTokenCount"),
                    tokens("thoughtsTokenCount"),
                    tokens("totalTokenCount"),
                ));
            }
            let parts = parts_of(&record);
            answer.blocks.extend(plain_blocks(emitter, &parts));
            for function in parts.iter().filter_map(|part| part.object("functionCall")) {
                let id = call_id(&function, head.uuid(), calls);
                answer.blocks.push(call_block(&function, id));
                calls += 1;
            }
        }
        let found = self.with_results(emitter, &answer.blocks, results)?;
        let ends = emitter.answer(head.uuid(), place, answer.draft()?, found)?;
        Ok(Some(ends))
    }

    fn write_message(
        &self,
        emitter: &mut Emitter<'_>,
        unit: &Unit,
        place: Place,
    ) -> Result<Ends, ImportError> {
        let head = &self.records.list[unit.records[0]];
        let mut blocks = Vec::new();
        let mut whole = None;
        let mut shown = None;
        for span in [head.span].iter().chain(&head.more) {
            let text = self.input.text(*span)?;
            let record = Members::parse(&text).unwrap_or_default();
            let payload = record.object("systemPayload").unwrap_or_default();
            let provenance = record.filled("provenance");
            let subtype = record.filled("subtype");
            shown = payload.filled("displayText").or(shown);
            whole = match provenance.as_deref() {
                None | Some("real_user") => subtype,
                Some(other) => Some(other.to_owned()),
            };
            blocks.extend(plain_blocks(emitter, &parts_of(&record)));
        }
        // What the user typed while a turn ran is wrapped for the model; the words stand next to it.
        let is_wrapped = whole.as_deref() == Some("mid_turn_user_message");
        if let Some(words) = shown.filter(|_| is_wrapped) {
            blocks = vec![Block::text(words)];
            whole = None;
        } else if is_wrapped {
            whole = None;
        }
        let mut parts = UserParts::default();
        for block in blocks
            .into_iter()
            .filter(|block| !is_blank(slice::from_ref(block)))
        {
            match &whole {
                Some(kind) => parts.insert(kind, block),
                None => parts.add(block),
            }
        }
        emitter.user_parts(head.uuid(), place, parts)
    }

    /// Writes a compaction, and copies of the messages that the new history has besides the summary.
    fn write_compaction(
        &self,
        emitter: &mut Emitter<'_>,
        summary: usize,
        mut place: Place,
    ) -> Result<Ends, ImportError> {
        let head = &self.records.list[summary];
        let text = self.input.text(head.span)?;
        let record = Members::parse(&text).unwrap_or_default();
        let payload = record.object("systemPayload").unwrap_or_default();
        let info = payload.object("info").unwrap_or_default();
        let mut history = payload.objects("compressedHistory").into_iter().peekable();
        let mut texts = Vec::new();
        if let Some(first) = history.next() {
            let parts = first.objects("parts").into_iter();
            texts.extend(parts.filter_map(|part| part.text("text")));
        }
        let details = details(payload.raw("info"));
        let tokens = info.count("originalTokenCount").unwrap_or(0);
        let draft = compaction(&texts.join("\n\n"), FirstKept::None, tokens, details, None);
        place.parent = emitter.write(head.uuid(), &place, &draft)?;
        let mut ends = None;
        add_end(&mut ends, place.parent.clone());
        // The model's acknowledgement of the summary says nothing.
        let is_model = |content: &Members<'_>| content.text("role").as_deref() == Some("model");
        history.next_if(is_model);
        for content in history {
            let parts = content.objects("parts");
            let functions = parts.iter().filter(|part| {
                part.raw("functionCall").is_some() || part.raw("functionResponse").is_some()
            });
            for _ in functions {
                emitter.report.lose("call kept by a compaction");
            }
            let blocks = plain_blocks(emitter, &parts);
            if !is_blank(&blocks) {
                let role = content.text("role").unwrap_or_default();
                let blocks = blocks.into_iter().map(said).collect();
                place.parent = emitter.copied(&place, &role, blocks)?;
                add_end(&mut ends, place.parent.clone());
            }
        }
        Ok(ends)
    }
}

/// Returns a block as a message of an extension may have it.
fn said(block: Block) -> Block {
    match block {
        Block::Thinking(thinking) => Block::text(thinking.thinking),
        other => other,
    }
}
