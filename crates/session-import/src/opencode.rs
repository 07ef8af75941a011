//! opencode: what `opencode export` prints, one JSON document with messages and their parts.

use session_model::json::Members;
use session_model::{Block, Cost, EntryId, FirstKept, StopReason, Usage, UserParts};

use crate::Origin;
use crate::content::{Answer, compaction, image_of_url};
use crate::emitter::{Begin, CLEARED, CallResult, Emitter, Out, PendingCall, Place};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::{Input, cut_off};
use crate::json;
use crate::partial::Document;
use crate::parts::details;
use crate::report::{ImportReport, count};

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    let (_, text) = input.document()?;
    let empty = || ImportError::Empty(Format::Opencode);
    let document = Document::read(&text).ok_or_else(empty)?;
    let info = document.raw("info").and_then(Members::parse);
    let info = info.ok_or_else(empty)?;
    let mut emitter = Emitter::new(Format::Opencode, out);
    if document.is_cut {
        emitter.diagnostics.push(cut_off());
    }
    let report = &mut emitter.report;
    report.session_id = info.text("id").unwrap_or_default();
    report.cwd = info.text("directory").unwrap_or_default();
    report.version = info.text("version");
    report.parent_session = info.filled("parentID");
    let messages = messages(&document, report);
    let revert = info.object("revert").unwrap_or_default();
    emitter.begin(Begin {
        origin,
        bytes: input.bytes,
        at: info.object("time").and_then(|time| time.time("created")),
        title: info.filled("title"),
    })?;
    let mut writer = Writer {
        leaf: emitter.root.clone(),
        emitter,
        messages: &messages,
        first: Vec::new(),
        context_tokens: 0,
    };
    let undone = revert.text("messageID");
    let mut before_undone = None;
    for (index, message) in messages.iter().enumerate() {
        if undone.as_ref() == Some(&message.id) {
            before_undone = Some(writer.leaf.clone());
            if revert.raw("partID").is_some() {
                writer.emitter.report.lose("undone from within a message");
            }
        }
        let first = writer.write(index)?;
        writer.first.push(first);
    }
    writer.leaf = before_undone.unwrap_or(writer.leaf);
    writer.emitter.finish(&writer.leaf)
}

/// A message and its parts.
struct Message<'a> {
    id: String,
    is_user: bool,
    info: Members<'a>,
    parts: Vec<(String, Members<'a>)>,
}

impl Message<'_> {
    fn has(&self, kind: &str) -> bool {
        self.parts.iter().any(|(own, _)| own == kind)
    }

    /// Returns the part that asks for a compaction.
    fn compaction_request(&self) -> Option<&Members<'_>> {
        let mut parts = self.parts.iter().filter(|(kind, _)| kind == "compaction");
        parts.next().map(|(_, part)| part)
    }

    fn is_summary(&self) -> bool {
        !self.is_user && self.info.flag("summary")
    }

    fn texts(&self) -> String {
        let texts = self.parts.iter().filter(|(kind, _)| kind == "text");
        let texts = texts.filter_map(|(_, part)| part.text("text"));
        texts.collect::<Vec<_>>().join("\n\n")
    }
}

fn messages<'a>(document: &Document<'a>, report: &mut ImportReport) -> Vec<Message<'a>> {
    let messages = document.messages.iter().copied();
    let messages = messages.filter_map(Members::parse).map(|message| {
        let info = message.object("info").unwrap_or_default();
        let role = info.text("role").unwrap_or_default();
        count(&mut report.records, &role);
        let parts = message.objects("parts").into_iter();
        let parts = parts.map(|part| (part.text("type").unwrap_or_default(), part));
        Message {
            id: info.text("id").unwrap_or_default(),
            is_user: role == "user",
            parts: parts.collect(),
            info,
        }
    });
    messages.collect()
}

struct Writer<'a, 'w> {
    emitter: Emitter<'w>,
    messages: &'a [Message<'a>],
    /// The first entry of each message that is written.
    first: Vec<Option<EntryId>>,
    leaf: EntryId,
    context_tokens: u64,
}

impl Writer<'_, '_> {
    /// Writes a message and returns its first entry.
    fn write(&mut self, index: usize) -> Result<Option<EntryId>, ImportError> {
        let message = &self.messages[index];
        let time = message.info.object("time").unwrap_or_default();
        let place = Place {
            parent: self.leaf.clone(),
            at: time.time("created"),
        };
        if message.is_user {
            return match message.compaction_request() {
                // The answer to it is the summary.
                Some(_) if !message.has("text") => Ok(None),
                _ => self.write_user(index, place),
            };
        }
        if message.is_summary() {
            return self.write_summary(index, place);
        }
        self.write_answer(index, &place)
    }

    fn write_user(&mut self, index: usize, place: Place) -> Result<Option<EntryId>, ImportError> {
        let message = &self.messages[index];
        let mut parts = UserParts::default();
        for (kind, part) in &message.parts {
            let text = part.filled("text");
            let is_synthetic = part.flag("synthetic");
            match (kind.as_str(), text) {
                ("text", _) if part.flag("ignored") => {
                    self.emitter.report.skip("text (ignored)");
                }
                ("text", Some(text)) if is_synthetic => {
                    parts.insert("synthetic", Block::text(text));
                }
                ("text", Some(text)) => parts.add(Block::text(text)),
                ("file", _) => {
                    let url = part.text("url").unwrap_or_default();
                    match image_of_url(&url) {
                        Some(image) => parts.own.push(image),
                        None => parts.insert("synthetic", Block::text(file_note(part, &url))),
                    }
                }
                ("text", None) => {}
                (other, _) => self
                    .emitter
                    .report
                    .lose(&format!("part of a message: {other}")),
            }
        }
        let ends = self.emitter.user_parts(&message.id, place, parts)?;
        let (first, last) = ends.unzip();
        self.leaf = last.unwrap_or_else(|| self.leaf.clone());
        Ok(first)
    }

    fn write_answer(
        &mut self,
        index: usize,
        place: &Place,
    ) -> Result<Option<EntryId>, ImportError> {
        let message = &self.messages[index];
        let info = &message.info;
        let tokens = info.object("tokens").map(|tokens| usage_of(&tokens));
        let failure = info.object("error");
        let mut answer = Answer {
            provider: info.text("providerID").unwrap_or_default(),
            model: info.text("modelID").unwrap_or_default(),
            usage: tokens,
            stop: info.text("finish").and_then(|finish| stop_reason(&finish)),
            at: place.at,
            ..Answer::default()
        };
        if let Some(failure) = &failure {
            let name = failure.text("name").unwrap_or_default();
            let data = failure.object("data").unwrap_or_default();
            answer.error = Some(data.filled("message").unwrap_or(name.clone()));
            answer.stop = Some(match name.contains("Aborted") {
                true => StopReason::Aborted,
                false => StopReason::Error,
            });
        }
        let mut results = Vec::new();
        for (kind, part) in &message.parts {
            match kind.as_str() {
                "text" => {
                    let text = part.text("text").unwrap_or_default();
                    answer.blocks.push(Block::text(text));
                }
                "reasoning" => {
                    take_reasoning(part, &mut answer);
                }
                "tool" => {
                    let (block, pending, result) = tool(part);
                    answer.blocks.push(block);
                    results.push((pending, result));
                }
                // The tokens of a step are those of its message.
                "step-start" | "step-finish" | "snapshot" | "patch" => {}
                other => self
                    .emitter
                    .report
                    .lose(&format!("part of an answer: {other}")),
            }
        }
        if let Some(tokens) = tokens.filter(|tokens| tokens.total_tokens > 0) {
            self.context_tokens = tokens.total_tokens;
        }
        let total = info.raw("cost").and_then(|raw| raw.parse().ok());
        answer.cost = Some(Cost {
            total: total.unwrap_or(0.0),
            ..Cost::default()
        });
        let draft = answer.draft()?;
        let (first, last) = self.emitter.answer(&message.id, place, draft, results)?;
        self.leaf = last;
        Ok(Some(first))
    }

    /// Writes a compaction; a summary that failed is none.
    fn write_summary(
        &mut self,
        index: usize,
        mut place: Place,
    ) -> Result<Option<EntryId>, ImportError> {
        let message = &self.messages[index];
        let tokens = message
            .info
            .object("tokens")
            .map(|tokens| usage_of(&tokens));
        if let Some(tokens) = tokens.filter(|tokens| tokens.total_tokens > 0) {
            self.leaf = self.emitter.usage(&place, "compaction", tokens)?;
            place.parent = self.leaf.clone();
        }
        let has_failed =
            message.info.raw("error").is_some() || message.info.raw("finish").is_none();
        let summary = message.texts();
        if has_failed || summary.trim().is_empty() {
            self.emitter
                .report
                .skip("assistant (a summary that failed)");
            return Ok(None);
        }
        let asked_by = message.info.text("parentID").unwrap_or_default();
        let request = self.messages.iter().find(|message| message.id == asked_by);
        let tail = request.and_then(Message::compaction_request);
        let tail = tail.and_then(|part| part.filled("tail_start_id"));
        let kept = tail.and_then(|tail| {
            let place = self
                .messages
                .iter()
                .position(|message| message.id == tail)?;
            // A message that is no entry of its own is kept with what follows.
            let written = self.first.get(place..)?;
            written.iter().flatten().next().cloned()
        });
        let kept = kept.map_or(FirstKept::None, FirstKept::Entry);
        let draft = compaction(&summary, kept, self.context_tokens, None, None);
        self.leaf = self.emitter.write(&message.id, &place, &draft)?;
        Ok(Some(self.leaf.clone()))
    }
}

/// Returns a call with its result, which are one part.
fn tool(part: &Members<'_>) -> (Block, PendingCall, Option<CallResult>) {
    let state = part.object("state").unwrap_or_default();
    let name = part.text("tool").unwrap_or_default();
    let id = part
        .filled("callID")
        .or(part.filled("id"))
        .unwrap_or_default();
    let block = Block::call(
        id.clone(),
        name.clone(),
        state.raw("input").and_then(json::raw_object),
    );
    let time = state.object("time").unwrap_or_default();
    let status = state.text("status").unwrap_or_default();
    let is_error = status == "error";
    let is_cleared = time.raw("compacted").is_some();
    let result = match status.as_str() {
        "completed" | "error" => {
            let key = if is_error { "error" } else { "output" };
            let text = state.text(key).unwrap_or_default();
            let mut content = vec![Block::text(text)];
            for attachment in state.objects("attachments") {
                let url = attachment.text("url").unwrap_or_default();
                match image_of_url(&url) {
                    Some(image) => content.push(image),
                    None => content.push(Block::text(file_note(&attachment, &url))),
                }
            }
            Some(CallResult {
                id: part.text("id").unwrap_or_default(),
                content,
                is_error,
                details: details(state.raw("metadata")),
                at: time.time("end"),
                replacement: is_cleared.then(|| CLEARED.to_owned()),
                later: None,
            })
        }
        // Pending or running: it was interrupted.
        _ => None,
    };
    (block, PendingCall { id, name }, result)
}

/// Adds reasoning to an answer, with the signature by which its service knows it again.
fn take_reasoning(part: &Members<'_>, answer: &mut Answer) {
    let text = part.text("text").unwrap_or_default();
    let metadata = part.object("metadata").unwrap_or_default();
    let of = |service| metadata.object(service).unwrap_or_default();
    let (anthropic, google, openai) = (of("anthropic"), of("google"), of("openai"));
    let redacted = anthropic.filled("redactedData");
    let encrypted = openai.filled("reasoningEncryptedContent");
    let (api, signature) = if let Some(signature) =
        redacted.clone().or(anthropic.filled("signature"))
    {
        ("anthropic-messages", signature)
    } else if let Some(signature) = google.filled("thoughtSignature") {
        ("google-generative-ai", signature)
    } else if let Some(encrypted) = encrypted {
        let id = openai.text("itemId");
        let item = serde_json::json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": encrypted });
        ("openai-responses", item.to_string())
    } else {
        answer.blocks.push(Block::thinking(text, None));
        return;
    };
    answer.api = api;
    if let Some(Block::Thinking(last)) = answer.blocks.last_mut()
        && last.signature.as_ref() == Some(&signature)
    {
        // Parts of one summary are one item.
        last.thinking = [&last.thinking, "\n\n", &text].concat();
        return;
    }
    let mut block = Block::thinking(text, Some(signature));
    if let Block::Thinking(block) = &mut block {
        block.redacted = redacted.is_some();
    }
    answer.blocks.push(block);
}

fn file_note(part: &Members<'_>, url: &str) -> String {
    let name = part.filled("filename").unwrap_or_else(|| "file".to_owned());
    let mime = part.text("mime").unwrap_or_default();
    let place: String = match url.starts_with("data:") {
        true => "its bytes are not kept".to_owned(),
        false => url.chars().take(1024).collect(),
    };
    format!("[{name} {mime}: {place}]")
}

fn usage_of(tokens: &Members<'_>) -> Usage {
    let cache = tokens.object("cache").unwrap_or_default();
    let output = tokens
        .count("output")
        .unwrap_or(0)
        .saturating_add(tokens.count("reasoning").unwrap_or(0));
    json::usage(
        tokens.count("input").unwrap_or(0),
        output,
        cache.count("read").unwrap_or(0),
        cache.count("write").unwrap_or(0),
    )
}

fn stop_reason(finish: &str) -> Option<StopReason> {
    Some(match finish {
        "stop" => StopReason::Stop,
        "tool-calls" => StopReason::ToolUse,
        "length" => StopReason::Length,
        "error" => StopReason::Error,
        _ => return None,
    })
}
