//! Codex: a rollout of the older dialect, whose history is its items.

use std::io::Write;
use std::rc::Rc;

use serde_json::{Value, json};
use session_model::{
    AssistantMessage, Block, Content, Leaf, SessionTree, Timestamp, ToolResultMessage, Usage,
    UserParts,
};

use super::steps::{Branch, Step, StepKind, blocks};
use super::{Begin, ExportError, ExportReport, Target, ids};
use crate::emitter::INTERRUPTED;

/// The version that resumes what is written here.
const VERSION: &str = "0.171.0";

/// The longest id of a call that the service takes.
const LONGEST_CALL_ID: usize = 64;

pub(super) fn export(
    tree: &SessionTree,
    leaf: Leaf,
    out: &mut dyn Write,
) -> Result<ExportReport, ExportError> {
    let Begin { ids, cwd, at } = Begin::of(tree, leaf);
    let id = ids::uuid(&["codex", ids[0], ids[1]]);
    let mut report = ExportReport::new(Target::Codex, id);
    let branch = Branch::of(tree, leaf, &mut report);
    let compaction = branch.newest_compaction();
    let before = &branch.path.entries()[..compaction.unwrap_or(0)];
    let after = &branch.path.entries()[compaction.map_or(0, |place| place + 1)..];
    let history = branch.steps_of(before, &mut report);
    let begun = at.or(history.first().map(|step| step.at));
    let begun = begun.unwrap_or(Timestamp::from_millis(0));
    let mut writer = Writer {
        out,
        report,
        at: begun,
        total: Usage::default(),
    };
    writer.line(
        "session_meta",
        &json!({
            "id": writer.report.session_id,
            "timestamp": begun.to_string(),
            "cwd": cwd,
            "originator": "agent-cli",
            "cli_version": VERSION,
            "source": "cli",
        }),
    )?;
    for step in &history {
        writer.step(step)?;
    }
    if let Some(place) = compaction {
        let kept = branch.compacted_steps(place);
        let message = kept.iter().find_map(|step| match &step.kind {
            StepKind::Compaction { summary, .. } => Some(summary.clone()),
            _ => None,
        });
        // What is lost of it was counted where it stands.
        let mut counted = ExportReport::new(Target::Codex, String::new());
        let items = kept.iter().flat_map(|step| items(&step.kind, &mut counted));
        let list: Vec<Value> = items.collect();
        writer.at = kept.iter().map(|step| step.at).max().unwrap_or(writer.at);
        let compacted = json!({ "message": message, "replacement_history": list });
        writer.line("compacted", &compacted)?;
    }
    let steps = branch.steps_of(after, &mut writer.report);
    for step in &steps {
        writer.step(step)?;
    }
    let mut report = writer.report;
    if report.written.len() < 2 {
        return Err(ExportError::Empty);
    }
    let begun = begun.to_string();
    let day = begun[..10].replace('-', "/");
    let time = begun[..19].replace(':', "-");
    report.place = Some(format!(
        "sessions/{day}/rollout-{time}-{}.jsonl",
        report.session_id
    ));
    Ok(report)
}

struct Writer<'w> {
    out: &'w mut dyn Write,
    report: ExportReport,
    at: Timestamp,
    total: Usage,
}

impl Writer<'_> {
    fn line(&mut self, kind: &str, payload: &Value) -> Result<(), ExportError> {
        let at = self.at.to_string();
        let line = json!({ "timestamp": at, "type": kind, "payload": payload });
        writeln!(self.out, "{line}")?;
        self.report.wrote(kind);
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), ExportError> {
        self.at = self.at.max(step.at);
        match &step.kind {
            // Only the newest one counts for the context; what it removed is here.
            StepKind::Compaction { .. } => {
                self.report.lose("older compaction");
                return Ok(());
            }
            // What lists of sessions and the screen show.
            StepKind::User {
                content,
                is_own: true,
            } => {
                let message = UserParts::words(content);
                let event = json!({ "type": "user_message", "message": message, "images": [] });
                self.line("event_msg", &event)?;
            }
            StepKind::Answer { answer, .. } => {
                for text in answer.content.texts() {
                    let event = json!({ "type": "agent_message", "message": text });
                    self.line("event_msg", &event)?;
                }
            }
            StepKind::User { .. } => {}
        }
        for item in items(&step.kind, &mut self.report) {
            self.line("response_item", &item)?;
        }
        match &step.kind {
            StepKind::Answer { answer, .. } => self.usage(answer.usage),
            _ => Ok(()),
        }
    }

    /// Writes what an answer took, and all of them so far.
    fn usage(&mut self, usage: Option<Usage>) -> Result<(), ExportError> {
        let Some(usage) = usage else { return Ok(()) };
        self.total += usage;
        let [total, last] = [self.total, usage].map(|usage| {
            json!({
                "input_tokens": usage.prompt_tokens(),
                "cached_input_tokens": usage.cache_read,
                "cache_write_input_tokens": usage.cache_write,
                "output_tokens": usage.output,
                "reasoning_output_tokens": 0,
                "total_tokens": usage.prompt_tokens().saturating_add(usage.output),
            })
        });
        let info = json!({ "total_token_usage": total, "last_token_usage": last });
        self.line("event_msg", &json!({ "type": "token_count", "info": info }))
    }
}

/// Returns the items of a step; `report` counts what is lost.
fn items(step: &StepKind, report: &mut ExportReport) -> Vec<Value> {
    match step {
        StepKind::User { content, is_own } => {
            // What no marker in it tells from the user's words has another role.
            let is_told = *is_own || UserParts::words(content).is_empty();
            let role = if is_told { "user" } else { "developer" };
            let content = input(content, report);
            vec![json!({ "type": "message", "role": role, "content": content })]
        }
        StepKind::Compaction { summary, .. } => {
            let content = json!([{ "type": "input_text", "text": summary }]);
            vec![json!({ "type": "message", "role": "user", "content": content })]
        }
        StepKind::Answer { answer, results } => answer_items(answer, results, report),
    }
}

fn answer_items(
    answer: &AssistantMessage,
    results: &[Option<Rc<ToolResultMessage>>],
    report: &mut ExportReport,
) -> Vec<Value> {
    let (mut items, mut outputs) = (Vec::new(), Vec::new());
    let mut results = results.iter();
    let blocks = blocks(&answer.content);
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            Block::Text(text) => {
                let content = json!([{ "type": "output_text", "text": text.text }]);
                items.push(json!({ "type": "message", "role": "assistant", "content": content }));
            }
            Block::Thinking(_) => report.lose("thinking"),
            Block::Image(_) | Block::Other { .. } => report.lose("block of an answer"),
            Block::ToolCall(call) => {
                let id: String = call.id.chars().take(LONGEST_CALL_ID).collect();
                items.push(json!({
                    "type": "function_call",
                    "name": call.name,
                    "arguments": call.arguments_text(),
                    "call_id": id,
                }));
                calls.push((id, results.next().and_then(Option::as_deref)));
            }
        }
    }
    for (id, result) in calls {
        let output = match result {
            None => {
                report.lose("result that the session does not have");
                json!(INTERRUPTED)
            }
            Some(result) => output(&result.content, report),
        };
        outputs.push(json!({ "type": "function_call_output", "call_id": id, "output": output }));
    }
    items.append(&mut outputs);
    items
}

/// Returns an output: a text, or a list where there are images.
fn output(content: &Content, report: &mut ExportReport) -> Value {
    let has_images = content
        .blocks()
        .iter()
        .any(|block| matches!(block, Block::Image(_)));
    match has_images {
        true => Value::Array(input(content, report)),
        false => json!(content.joined_text("\n")),
    }
}

fn input(content: &Content, report: &mut ExportReport) -> Vec<Value> {
    if let Content::Text(text) = content {
        return vec![json!({ "type": "input_text", "text": text })];
    }
    let mut parts = Vec::new();
    for block in content.blocks() {
        match block {
            Block::Text(text) => parts.push(json!({ "type": "input_text", "text": text.text })),
            Block::Image(image) if image.has_bytes() => {
                let url = image.data_url();
                parts.push(json!({ "type": "input_image", "image_url": url }));
            }
            Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => {
                report.lose("block of a message");
            }
        }
    }
    parts
}
