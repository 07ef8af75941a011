//! Copilot CLI: a log of events, of which messages, calls with their results, and compactions are mapped.

use session_model::{Block, Diagnostics, Timestamp, Usage, UserParts};

use crate::Origin;
use crate::content::Answer;
use crate::conversation::Conversation;
use crate::emitter::{Begin, CallResult, Emitter, Out};
use crate::error::ImportError;
use crate::format::Format;
use crate::input::Input;
use crate::json;
use crate::parts::details;
use crate::report::{ImportReport, count};
use session_model::json::Members;

/// Events that only repeat, or only say when something began or ended.
const DISPLAY: [&str; 6] = [
    "assistant.turn_start",
    "assistant.turn_end",
    "tool.execution_start",
    "session.compaction_start",
    "session.start",
    "session.resume",
];

pub(crate) fn import(
    input: &Input,
    origin: &Origin<'_>,
    out: Out<'_>,
) -> Result<ImportReport, ImportError> {
    let mut emitter = Emitter::new(Format::Copilot, out);
    let report = &mut emitter.report;
    let mut begun = None;
    let mut ignored = Diagnostics::default();
    input.records(input.bytes, &mut ignored, |event, _, _| {
        let kind = event.text("type").unwrap_or_default();
        let data = event.object("data").unwrap_or_default();
        begun = begun.or(event.time("timestamp"));
        count(&mut report.records, &kind);
        if report.cwd.is_empty() {
            let context = data.object("context").unwrap_or_default();
            report.cwd = context
                .filled("cwd")
                .or(data.filled("cwd"))
                .unwrap_or_default();
        }
        let usage = data.object("usage").unwrap_or_default();
        let window = usage.count("maxPromptTokens").or(data.count("tokenLimit"));
        report.window = window.or(report.window);
        if kind == "session.start" {
            report.session_id = data.text("sessionId").unwrap_or_default();
            report.version = data.text("copilotVersion");
        }
        Ok(())
    })?;
    if emitter.report.records.is_empty() {
        return Err(ImportError::Empty(Format::Copilot));
    }
    let mut diagnostics = std::mem::take(&mut emitter.diagnostics);
    let mut writer = Writer {
        conversation: Conversation::begin(
            emitter,
            Begin {
                origin,
                bytes: input.bytes,
                at: begun,
                title: None,
            },
        )?,
        model: String::new(),
        usage: None,
        said: Vec::new(),
        is_compacting: false,
        kept: Vec::new(),
    };
    input.records(input.bytes, &mut diagnostics, |event, _, _| {
        writer.write(event)
    })?;
    writer.conversation.emitter.diagnostics = diagnostics;
    writer.conversation.finish()
}

struct Writer<'a> {
    conversation: Conversation<'a>,
    model: String,
    /// The tokens of the answer that follows.
    usage: Option<Usage>,
    /// What the user said, by event: a compaction keeps all of it.
    said: Vec<(String, String)>,
    /// A compaction runs; what is said meanwhile stays as it is.
    is_compacting: bool,
    kept: Vec<String>,
}

impl Writer<'_> {
    fn write(&mut self, event: &Members<'_>) -> Result<(), ImportError> {
        let kind = event.text("type").unwrap_or_default();
        let id = event.text("id").unwrap_or_default();
        let at = event.time("timestamp");
        let data = event.object("data").unwrap_or_default();
        let text = data.text("content").unwrap_or_default();
        let of_subagent = event
            .raw("agentId")
            .or(data.raw("parentToolCallId"))
            .is_some();
        if of_subagent && (kind.starts_with("assistant.") || kind.starts_with("tool.")) {
            self.conversation
                .emitter
                .report
                .skip(&format!("{kind} (of a sub-agent)"));
            return Ok(());
        }
        if let Some(model) = data.filled("newModel").or(data.filled("selectedModel")) {
            self.model = model;
        }
        match kind.as_str() {
            "user.message" => {
                self.keep(&id);
                self.user(&id, at, &data)
            }
            "assistant.message" => {
                self.keep(&id);
                self.answer(&id, at, &data)
            }
            "tool.execution_complete" => {
                let call = data.text("toolCallId").unwrap_or_default();
                self.conversation.result(&call, result(&data, at))
            }
            "system.notification" | "skill.invoked" => {
                self.conversation.hidden(&id, at, &kind, text)
            }
            "session.compaction_complete" => self.compaction(&id, at, &data),
            "session.snapshot_rewind" => {
                let to = data.text("upToEventId").unwrap_or_default();
                let Some(before) = self.conversation.before(&to)? else {
                    self.conversation
                        .lose("a rewind to an event that is not a message");
                    return Ok(());
                };
                let at = self.said.iter().position(|(id, _)| *id == to);
                self.said.truncate(at.unwrap_or(self.said.len()));
                self.conversation.go_to(before)
            }
            "session.context_cleared" => {
                self.said.clear();
                let root = self.conversation.emitter.root.clone();
                self.conversation.go_to(root)
            }
            "session.usage_record" => {
                let usage = data.object("usage").unwrap_or_default();
                self.usage = Some(json::cased_usage(&usage));
                Ok(())
            }
            "session.truncation" => {
                self.conversation
                    .lose("that the oldest messages were no longer sent");
                Ok(())
            }
            "session.model_change" => Ok(()),
            kind => {
                if kind == "session.compaction_start" {
                    self.is_compacting = true;
                    self.kept.clear();
                }
                if !DISPLAY.contains(&kind) {
                    self.conversation.emitter.report.skip(kind);
                }
                Ok(())
            }
        }
    }

    /// Notes a message if a compaction runs.
    fn keep(&mut self, id: &str) {
        if self.is_compacting {
            self.kept.push(id.to_owned());
        }
    }

    fn user(
        &mut self,
        id: &str,
        at: Option<Timestamp>,
        data: &Members<'_>,
    ) -> Result<(), ImportError> {
        let mut parts = UserParts::default();
        let said = data.text("content").unwrap_or_default();
        if let Some(sent) = data.text("transformedContent").filter(|sent| *sent != said) {
            match sent.strip_suffix(&*said) {
                Some(added) => parts.insert("added", Block::text(added.trim_end())),
                None => self
                    .conversation
                    .lose("what was added to a message of the user"),
            }
        }
        let text = Block::text(&*said);
        let source = data.filled("source").filter(|source| source != "user");
        match source {
            Some(source) => parts.insert(&source, text),
            None if data.flag("isAutopilotContinuation") => parts.insert("autopilot", text),
            None => {
                if !self.is_compacting {
                    self.said.push((id.to_owned(), said));
                }
                parts.add(text);
            }
        }
        for attachment in data.objects("attachments") {
            let get = |key| attachment.text(key).unwrap_or_default();
            let mime = get("mimeType");
            match attachment
                .filled("data")
                .filter(|_| mime.starts_with("image/"))
            {
                Some(bytes) => parts.own.push(Block::image(bytes, mime)),
                None => {
                    let place = [get("path"), get("filePath"), get("displayName")];
                    let place = place.into_iter().find(|place| !place.is_empty());
                    let place = place.unwrap_or_default();
                    let note = format!("[{} {place}]\n{}", get("type"), get("text"));
                    parts.insert("attachment", Block::text(note.trim_end()));
                }
            }
        }
        self.conversation.user(id, at, parts)
    }

    fn answer(
        &mut self,
        id: &str,
        at: Option<Timestamp>,
        data: &Members<'_>,
    ) -> Result<(), ImportError> {
        let mut answer = Answer {
            provider: "github-copilot".to_owned(),
            model: data.filled("model").unwrap_or_else(|| self.model.clone()),
            usage: self.usage.take(),
            at,
            ..Answer::default()
        };
        if let Some(text) = data.filled("reasoningText") {
            answer.blocks.push(Block::thinking(text, None));
        }
        for key in ["reasoningOpaque", "encryptedContent"] {
            if data.filled(key).is_some() {
                // It belongs to a session at the service.
                self.conversation.lose(key);
            }
        }
        answer
            .blocks
            .extend(data.filled("content").map(Block::text));
        for request in data.objects("toolRequests") {
            let id = request.text("toolCallId").unwrap_or_default();
            let arguments = request.raw("arguments").and_then(json::raw_object);
            answer.blocks.push(Block::call(
                id,
                request.text("name").unwrap_or_default(),
                arguments,
            ));
        }
        self.conversation.answer(id, answer)
    }

    fn compaction(
        &mut self,
        id: &str,
        at: Option<Timestamp>,
        data: &Members<'_>,
    ) -> Result<(), ImportError> {
        self.is_compacting = false;
        let kept = std::mem::take(&mut self.kept);
        let summary = data.filled("summaryContent");
        let Some(summary) = summary.filter(|_| data.flag("success")) else {
            let report = &mut self.conversation.emitter.report;
            report.skip("session.compaction_complete (without a summary)");
            return Ok(());
        };
        let used = data.object("compactionTokensUsed").unwrap_or_default();
        self.conversation
            .usage("compaction", at, json::cased_usage(&used))?;
        let before = data.count("preCompactionTokens");
        self.conversation
            .compaction(id, at, &summary, &kept, before)?;
        for (_, text) in &self.said {
            self.conversation.copied(at, text.clone())?;
        }
        Ok(())
    }
}

fn result(data: &Members<'_>, at: Option<Timestamp>) -> CallResult {
    let result = data.object("result").unwrap_or_default();
    let error = data.object("error").unwrap_or_default();
    let text = result
        .text("content")
        .or(error.text("message"))
        .unwrap_or_default();
    let images = result.objects("binaryResultsForLlm").into_iter();
    let images = images.filter_map(|item| {
        let mime = item
            .text("mimeType")
            .filter(|mime| mime.starts_with("image/"))?;
        Some(Block::image(item.filled("data")?, mime))
    });
    let is_longer = result.raw("detailedContent") != result.raw("content");
    CallResult {
        content: std::iter::once(Block::text(text)).chain(images).collect(),
        is_error: !data.flag("success"),
        details: details(result.raw("detailedContent").filter(|_| is_longer)),
        at,
        ..CallResult::default()
    }
}
