//! opencode: the document that `opencode export` prints and `opencode import` takes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use session_model::{
    AssistantMessage, Block, Content, EntryId, ImageBlock, Leaf, SessionTree, StopReason,
    ThinkingBlock, Timestamp, ToolCall, ToolResultMessage, Usage, UserParts,
};

use super::ids::TimeIds;
use super::steps::{Branch, Step, StepKind, blocks};
use super::{Begin, ExportError, ExportReport, Target};

/// The version that imports what is written here.
const VERSION: &str = "1.18.34";

/// The agent of opencode that goes on.
const AGENT: &str = "build";

/// Why a call has no result.
const INTERRUPTED: &str = "Tool execution aborted";

pub(super) fn export(
    tree: &SessionTree,
    leaf: Leaf,
    out: &mut dyn Write,
) -> Result<ExportReport, ExportError> {
    let Begin { ids, cwd, at } = Begin::of(tree, leaf);
    let ids = TimeIds::new(ids.join(" "));
    let begun = at.unwrap_or(Timestamp::from_millis(0));
    let mut report = ExportReport::new(Target::Opencode, ids.session(begun));
    let branch = Branch::of(tree, leaf, &mut report);
    let steps = branch.steps(&mut report);
    let mut writer = Writer {
        ids,
        cwd,
        model: json!({ "providerID": branch.model.provider, "modelID": branch.model.model_id }),
        messages: Vec::new(),
        by_entry: BTreeMap::new(),
        user: String::new(),
        report,
    };
    let Some(last) = steps.last() else {
        return Err(ExportError::Empty);
    };
    let document = Document {
        info: writer.info(tree, begun, last.at, &total(&steps)),
        messages: Messages(RefCell::new((&mut writer, steps.iter()))),
    };
    serde_json::to_writer_pretty(&mut *out, &document).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(writer.report)
}

/// Returns what all answers took.
fn total(steps: &[Step]) -> Usage {
    let mut total = Usage::default();
    for step in steps {
        if let StepKind::Answer { answer, .. } = &step.kind {
            total += answer.usage.unwrap_or_default();
        }
    }
    total
}

#[derive(Serialize)]
struct Document<'a, 'b> {
    info: Value,
    messages: Messages<'a, 'b>,
}

/// Messages that are made while they are written: each takes many times the memory of its text.
struct Messages<'a, 'b>(RefCell<(&'a mut Writer<'b>, std::slice::Iter<'a, Step>)>);

impl Serialize for Messages<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (writer, steps) = &mut *self.0.borrow_mut();
        serializer.collect_seq(steps.flat_map(|step| writer.step(step)))
    }
}

struct Writer<'a> {
    ids: TimeIds,
    cwd: &'a str,
    model: Value,
    /// Those of the present step.
    messages: Vec<Value>,
    /// The message that each entry is in.
    by_entry: BTreeMap<EntryId, String>,
    /// The newest message of the user.
    user: String,
    report: ExportReport,
}

impl Writer<'_> {
    fn info(
        &self,
        tree: &SessionTree,
        begun: Timestamp,
        updated: Timestamp,
        total: &Usage,
    ) -> Value {
        let title = tree.name().unwrap_or_else(|| "Imported session".to_owned());
        json!({
            "id": self.report.session_id,
            "slug": "imported-session",
            "projectID": "global",
            "directory": self.cwd,
            "title": title,
            "agent": AGENT,
            "model": { "id": self.model["modelID"], "providerID": self.model["providerID"] },
            "version": VERSION,
            "cost": 0,
            "tokens": tokens(total),
            "time": { "created": begun.as_millis(), "updated": updated.as_millis() },
        })
    }

    fn step(&mut self, step: &Step) -> Vec<Value> {
        match &step.kind {
            StepKind::User { content, is_own } => {
                let id = self.message_id(step);
                let parts = self.user_parts(&id, content, *is_own, step.at);
                self.push_user(&id, &parts, step.at);
            }
            StepKind::Answer { answer, results } => self.answer(step, answer, results),
            StepKind::Compaction {
                summary,
                first_kept,
            } => self.compaction(step, summary, first_kept.as_ref()),
        }
        std::mem::take(&mut self.messages)
    }

    fn message_id(&mut self, step: &Step) -> String {
        let id = self.ids.next("msg", step.at);
        self.by_entry.insert(step.entry.clone(), id.clone());
        id
    }

    /// Returns a part of a message.
    fn part(&mut self, message: &str, at: Timestamp, kind: &str, mut part: Value) -> Value {
        part["id"] = json!(self.ids.next("prt", at));
        part["sessionID"] = json!(self.report.session_id);
        part["messageID"] = json!(message);
        part["type"] = json!(kind);
        self.report.wrote(kind);
        part
    }

    fn push_user(&mut self, id: &str, parts: &[Value], at: Timestamp) {
        let info = json!({
            "id": id,
            "sessionID": self.report.session_id,
            "role": "user",
            "time": { "created": at.as_millis() },
            "agent": AGENT,
            "model": self.model,
        });
        self.user = id.to_owned();
        self.messages.push(json!({ "info": info, "parts": parts }));
    }

    /// Returns what all answers have.
    fn answer_info(&self, id: &str, at: Timestamp) -> Value {
        json!({
            "id": id,
            "sessionID": self.report.session_id,
            "role": "assistant",
            "parentID": self.user,
            "mode": AGENT,
            "agent": AGENT,
            "path": { "cwd": self.cwd, "root": self.cwd },
            "cost": 0,
            "tokens": tokens(&Usage::default()),
            "modelID": self.model["modelID"],
            "providerID": self.model["providerID"],
            "time": { "created": at.as_millis(), "completed": at.as_millis() },
            "finish": "stop",
        })
    }

    fn user_parts(
        &mut self,
        id: &str,
        content: &Content,
        is_own: bool,
        at: Timestamp,
    ) -> Vec<Value> {
        let mut parts = Vec::new();
        let mut found = UserParts::default();
        for block in blocks(content) {
            match is_own {
                true => found.add(block),
                false => found.insert("", block),
            }
        }
        let inserted = found.inserted.into_iter().flat_map(|(_, blocks)| blocks);
        let all = found.own.into_iter().map(|block| (block, false));
        for (block, is_inserted) in all.chain(inserted.map(|block| (block, true))) {
            match block {
                Block::Text(text) => {
                    let mut part = json!({ "text": text.text });
                    if is_inserted {
                        part["synthetic"] = json!(true);
                    }
                    parts.push(self.part(id, at, "text", part));
                }
                Block::Image(image) if image.has_bytes() => {
                    parts.push(self.part(id, at, "file", file(&image)));
                }
                Block::Image(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other { .. } => {
                    self.report.lose("block of a message");
                }
            }
        }
        parts
    }

    fn answer(
        &mut self,
        step: &Step,
        answer: &AssistantMessage,
        results: &[Option<Rc<ToolResultMessage>>],
    ) {
        let at = step.at;
        if self.user.is_empty() {
            // An answer refers to what it answers.
            let id = self.ids.next("msg", at);
            self.push_user(&id, &[], at);
        }
        let id = self.message_id(step);
        let mut info = self.answer_info(&id, at);
        for (key, own) in [("modelID", &answer.model), ("providerID", &answer.provider)] {
            if !own.is_empty() {
                info[key] = json!(own);
            }
        }
        if let Some(usage) = &answer.usage {
            info["tokens"] = tokens(usage);
        }
        let failure = answer.error_message.as_deref();
        match &answer.stop_reason {
            StopReason::Stop | StopReason::Other(_) => {}
            StopReason::Length => info["finish"] = json!("length"),
            StopReason::ToolUse => info["finish"] = json!("tool-calls"),
            StopReason::Error | StopReason::Aborted => {
                let name = match answer.stop_reason {
                    StopReason::Aborted => "MessageAbortedError",
                    _ => "UnknownError",
                };
                let message = failure.unwrap_or("aborted");
                info["error"] = json!({ "name": name, "data": { "message": message } });
            }
        }
        let mut parts = vec![self.part(&id, at, "step-start", json!({}))];
        let time = json!({ "start": at.as_millis(), "end": at.as_millis() });
        let mut results = results.iter();
        for block in blocks(&answer.content) {
            match block {
                Block::Text(text) => {
                    let part = json!({ "text": text.text, "time": time });
                    parts.push(self.part(&id, at, "text", part));
                }
                Block::Thinking(thinking) => {
                    let metadata = signature(&answer.api, &thinking);
                    if metadata.is_none() && thinking.signature.is_some() {
                        self.report.lose("signature of thinking");
                    }
                    if metadata.is_some() || !(thinking.redacted || thinking.thinking.is_empty()) {
                        let mut part = json!({ "text": thinking.thinking, "time": time });
                        if let Some(metadata) = metadata {
                            part["metadata"] = metadata;
                        }
                        parts.push(self.part(&id, at, "reasoning", part));
                    }
                }
                Block::ToolCall(call) => {
                    let result = results.next().and_then(Option::as_deref);
                    let part = self.tool(&id, at, &call, result);
                    parts.push(part);
                }
                Block::Image(_) | Block::Other { .. } => self.report.lose("block of an answer"),
            }
        }
        let finish = json!({ "reason": info["finish"], "cost": 0, "tokens": info["tokens"] });
        parts.push(self.part(&id, at, "step-finish", finish));
        self.messages.push(json!({ "info": info, "parts": parts }));
    }

    /// Returns a call with its result.
    fn tool(
        &mut self,
        message: &str,
        at: Timestamp,
        call: &ToolCall,
        result: Option<&ToolResultMessage>,
    ) -> Value {
        let arguments = call
            .arguments
            .as_ref()
            .map(session_model::json::RawJson::to_value);
        let input = arguments.filter(Value::is_object).unwrap_or(json!({}));
        let time = json!({ "start": at.as_millis(), "end": at.as_millis() });
        let state = match result {
            None => {
                self.report.lose("result that the session does not have");
                json!({ "status": "error", "input": input, "error": INTERRUPTED, "time": time })
            }
            Some(result) if result.is_error => {
                let error = result.content.joined_text("\n");
                json!({ "status": "error", "input": input, "error": error, "time": time })
            }
            Some(result) => {
                let images = result
                    .content
                    .blocks()
                    .iter()
                    .filter_map(|block| match block {
                        Block::Image(image) if image.has_bytes() => Some(file(image)),
                        _ => None,
                    });
                let images: Vec<Value> = images.collect();
                let attachments: Vec<Value> = images
                    .into_iter()
                    .map(|image| self.part(message, at, "file", image))
                    .collect();
                let mut state = json!({
                    "status": "completed",
                    "input": input,
                    "output": result.content.joined_text("\n"),
                    "title": "",
                    "metadata": {},
                    "time": time,
                });
                if !attachments.is_empty() {
                    state["attachments"] = json!(attachments);
                }
                state
            }
        };
        let part = json!({ "tool": call.name, "callID": call.id, "state": state });
        self.part(message, at, "tool", part)
    }

    /// Writes the request for a summary, and the answer that is the summary.
    fn compaction(&mut self, step: &Step, summary: &str, first_kept: Option<&EntryId>) {
        let at = step.at;
        let id = self.ids.next("msg", at);
        let mut part = json!({ "auto": true, "overflow": false });
        match first_kept.map(|kept| self.by_entry.get(kept)) {
            None => {}
            Some(Some(tail)) => part["tail_start_id"] = json!(tail),
            // What is kept begins with an entry that is no message: with what follows it.
            Some(None) => self
                .report
                .lose("place where what a compaction kept begins"),
        }
        let request = self.part(&id, at, "compaction", part);
        self.push_user(&id, &[request], at);
        let id = self.message_id(step);
        let mut info = self.answer_info(&id, at);
        info["summary"] = json!(true);
        info["mode"] = json!("compaction");
        info["agent"] = json!("compaction");
        let time = json!({ "start": at.as_millis(), "end": at.as_millis() });
        let text = json!({ "text": summary, "time": time });
        let parts = [self.part(&id, at, "text", text)];
        self.messages.push(json!({ "info": info, "parts": parts }));
    }
}

/// Returns the signature of thinking as opencode keeps it for a service.
fn signature(api: &str, thinking: &ThinkingBlock) -> Option<Value> {
    let signature = thinking.signature.as_ref()?;
    match api {
        "anthropic-messages" if thinking.redacted => {
            Some(json!({ "anthropic": { "redactedData": signature } }))
        }
        "anthropic-messages" => Some(json!({ "anthropic": { "signature": signature } })),
        "google-generative-ai" => Some(json!({ "google": { "thoughtSignature": signature } })),
        "openai-responses" => {
            let item: Value = serde_json::from_str(signature).ok()?;
            let (id, encrypted) = (item.get("id")?, item.get("encrypted_content")?);
            Some(json!({ "openai": { "itemId": id, "reasoningEncryptedContent": encrypted } }))
        }
        _ => None,
    }
}

fn file(image: &ImageBlock) -> Value {
    let url = image.data_url();
    json!({ "mime": image.mime_type, "filename": "image", "url": url })
}

fn tokens(usage: &Usage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "reasoning": 0,
        "cache": { "read": usage.cache_read, "write": usage.cache_write },
    })
}
