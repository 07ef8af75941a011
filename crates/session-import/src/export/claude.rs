//! Claude Code: a transcript whose records name their parents.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Value, json};
use session_model::{
    AssistantMessage, Block, Content, EntryId, Leaf, SessionTree, StopReason, ThinkingBlock,
    Timestamp, ToolResultMessage,
};

use super::steps::{Branch, Step, StepKind, blocks};
use super::{Begin, ExportError, ExportReport, Target, ids};
use crate::emitter::INTERRUPTED;

/// The version that resumes what is written here.
const VERSION: &str = "2.1.197";

pub(super) fn export(
    tree: &SessionTree,
    leaf: Leaf,
    out: &mut dyn Write,
) -> Result<ExportReport, ExportError> {
    let Begin { ids, cwd, .. } = Begin::of(tree, leaf);
    let id = ids::uuid(&["claude", ids[0], ids[1]]);
    let mut report = ExportReport::new(Target::Claude, id);
    let folder = cwd.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    report.place = Some(format!("projects/{folder}/{}.jsonl", report.session_id));
    let branch = Branch::of(tree, leaf, &mut report);
    let steps = branch.steps(&mut report);
    let entries = branch.path.entries().iter().enumerate();
    let mut writer = Writer {
        out,
        report,
        cwd,
        order: entries
            .map(|(place, index)| (EntryId::new(tree.id(*index)), place))
            .collect(),
        messages: Vec::new(),
        records: 0,
        last: None,
    };
    for step in &steps {
        writer.step(step)?;
    }
    if writer.messages.is_empty() {
        return Err(ExportError::Empty);
    }
    if let Some(name) = tree.name() {
        let title = json!({ "type": "custom-title", "customTitle": name, "sessionId": writer.report.session_id });
        writeln!(writer.out, "{title}")?;
        writer.report.wrote("custom-title");
    }
    Ok(writer.report)
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    report: ExportReport,
    cwd: &'a str,
    /// The places of entries on the branch.
    order: BTreeMap<EntryId, usize>,
    /// The uuids of messages, each with the place of its entry.
    messages: Vec<(usize, String)>,
    records: u64,
    /// The record that the next one follows.
    last: Option<String>,
}

impl Writer<'_> {
    /// Writes a record that follows the last one, and returns its uuid.
    fn record(&mut self, kind: &str, at: Timestamp, more: Value) -> Result<String, ExportError> {
        self.records += 1;
        let uuid = ids::uuid(&[&self.report.session_id, &self.records.to_string()]);
        let mut record = json!({
            "parentUuid": self.last,
            "isSidechain": false,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.report.session_id,
            "version": VERSION,
            "gitBranch": "",
            "type": kind,
            "uuid": uuid,
            "timestamp": at.to_string(),
        });
        if let (Some(record), Value::Object(more)) = (record.as_object_mut(), more) {
            record.extend(more);
        }
        writeln!(self.out, "{record}")?;
        self.report.wrote(kind);
        self.last = Some(uuid.clone());
        Ok(uuid)
    }

    /// Writes a record that is a message of an entry.
    fn message(&mut self, kind: &str, step: &Step, more: Value) -> Result<String, ExportError> {
        let uuid = self.record(kind, step.at, more)?;
        let place = self.order.get(&step.entry).copied().unwrap_or(0);
        self.messages.push((place, uuid.clone()));
        Ok(uuid)
    }

    fn step(&mut self, step: &Step) -> Result<(), ExportError> {
        match &step.kind {
            StepKind::User { content, is_own } => {
                let content = self.blocks(content);
                let mut more = json!({ "message": { "role": "user", "content": content } });
                if !is_own {
                    more["isMeta"] = json!(true);
                }
                self.message("user", step, more)?;
            }
            StepKind::Answer { answer, results } => {
                let results = results.iter().map(|result| result.as_deref());
                self.answer(step, answer, results)?;
            }
            StepKind::Compaction {
                summary,
                first_kept,
            } => self.compaction(step, summary, first_kept.as_ref())?,
        }
        Ok(())
    }

    fn answer<'r>(
        &mut self,
        step: &Step,
        answer: &AssistantMessage,
        mut results: impl Iterator<Item = Option<&'r ToolResultMessage>>,
    ) -> Result<(), ExportError> {
        let (mut content, mut calls) = (Vec::new(), Vec::new());
        for block in blocks(&answer.content) {
            match block {
                Block::Text(text) => content.push(json!({ "type": "text", "text": text.text })),
                Block::Thinking(block) => match thinking(&answer.api, &block) {
                    Some(block) => content.push(block),
                    None => self.report.lose("thinking"),
                },
                Block::ToolCall(call) => {
                    let id = call.id.replace(|letter: char| !is_of_id(letter), "_");
                    let input = call
                        .arguments
                        .as_ref()
                        .map(session_model::json::RawJson::to_value);
                    let input = input.filter(Value::is_object).unwrap_or(json!({}));
                    content.push(
                        json!({ "type": "tool_use", "id": id, "name": call.name, "input": input }),
                    );
                    calls.push((id, results.next().flatten()));
                }
                Block::Image(_) | Block::Other { .. } => self.report.lose("block of an answer"),
            }
        }
        if content.is_empty() {
            return Ok(());
        }
        let stop = match &answer.stop_reason {
            StopReason::ToolUse => "tool_use",
            StopReason::Length => "max_tokens",
            StopReason::Stop | StopReason::Error | StopReason::Aborted | StopReason::Other(_) => {
                "end_turn"
            }
        };
        let id = ids::uuid(&[&self.report.session_id, &step.entry]).replace('-', "");
        let usage = answer.usage.unwrap_or_default();
        let message = json!({
            "id": format!("msg_{}", &id[..24]),
            "type": "message",
            "role": "assistant",
            "model": answer.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": null,
            "usage": {
                "input_tokens": usage.input,
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
                "output_tokens": usage.output,
            },
        });
        let source = self.message("assistant", step, json!({ "message": message }))?;
        for (id, result) in calls {
            let content = match result {
                Some(result) => self.blocks(&result.content),
                None => {
                    self.report.lose("result that the session does not have");
                    vec![json!({ "type": "text", "text": INTERRUPTED })]
                }
            };
            let is_error = result.is_none_or(|result| result.is_error);
            let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error });
            let more = json!({ "message": { "role": "user", "content": [block] }, "sourceToolAssistantUUID": source });
            self.message("user", step, more)?;
        }
        Ok(())
    }

    /// Writes the boundary and the summary; what was kept stays where it is, and the next record follows it.
    fn compaction(
        &mut self,
        step: &Step,
        summary: &str,
        first_kept: Option<&EntryId>,
    ) -> Result<(), ExportError> {
        let first = first_kept.and_then(|kept| self.order.get(kept).copied());
        let kept = self
            .messages
            .iter()
            .filter(|(place, _)| first.is_some_and(|first| *place >= first));
        let kept: Vec<String> = kept.map(|(_, uuid)| uuid.clone()).collect();
        // The summary is the record behind the next one.
        let anchor = ids::uuid(&[&self.report.session_id, &(self.records + 2).to_string()]);
        let mut metadata = json!({ "trigger": "manual", "preTokens": 0 });
        if let (Some(head), Some(tail)) = (kept.first(), kept.last()) {
            metadata["preservedSegment"] =
                json!({ "headUuid": head, "anchorUuid": anchor, "tailUuid": tail });
            metadata["preservedMessages"] = json!({ "anchorUuid": anchor, "uuids": kept });
        }
        let logical = self.last.take();
        self.record(
            "system",
            step.at,
            json!({
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "isMeta": false,
                "level": "info",
                "logicalParentUuid": logical,
                "compactMetadata": metadata,
            }),
        )?;
        self.record(
            "user",
            step.at,
            json!({
                "isCompactSummary": true,
                "isVisibleInTranscriptOnly": true,
                "message": { "role": "user", "content": summary },
            }),
        )?;
        self.last = kept.last().cloned().or(self.last.take());
        Ok(())
    }

    fn blocks(&mut self, content: &Content) -> Vec<Value> {
        let mut found = Vec::new();
        for block in blocks(content) {
            match block {
                Block::Text(text) => found.push(json!({ "type": "text", "text": text.text })),
                Block::Image(image) if image.has_bytes() => {
                    let source = json!({ "type": "base64", "media_type": image.mime_type, "data": image.data });
                    found.push(json!({ "type": "image", "source": source }));
                }
                Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => {
                    self.report.lose("block of a message");
                }
            }
        }
        found
    }
}

/// Returns whether the service takes this in the id of a call.
fn is_of_id(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// Returns thinking that the service signed.
fn thinking(api: &str, block: &ThinkingBlock) -> Option<Value> {
    let signature = block
        .signature
        .as_ref()
        .filter(|_| api == crate::claude::API)?;
    Some(match block.redacted {
        true => json!({ "type": "redacted_thinking", "data": signature }),
        false => json!({ "type": "thinking", "thinking": block.thinking, "signature": signature }),
    })
}
