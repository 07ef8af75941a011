//! Sessions made of real message lines, and what is done with them.
#![expect(
    clippy::needless_pass_by_value,
    reason = "lines read better without references"
)]

use compaction_core::{
    AnswerEnd, AppliedCompaction, ApplyError, CompactionPlan, DiskFile, FileState, NothingToDo,
    PlanOptions, RestoreInput, Strategy, Summarizer, SummaryAnswer, TokenCount, TouchedFile,
    Trigger, plan_compaction, touched_files,
};
use serde_json::{Value, json};
use session_model::{
    AgentMessage, Block, Content, ContextRules, Decoded, LlmMessage, RoleOrder, SessionContext,
    build_context, check_pairs, decode_bytes,
};

use crate::sessions::{appended, path};

/// The lines of a session that is being made.
#[derive(Debug, Clone)]
pub struct Lines {
    pub text: String,
    pub last: Option<String>,
    made: usize,
}

impl Lines {
    pub fn new() -> Self {
        let header = json!({"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"});
        Self {
            text: format!("{header}\n"),
            last: None,
            made: 0,
        }
    }

    /// Appends a message; returns its id.
    pub fn message(&mut self, message: Value) -> String {
        self.entry(json!({"type":"message","message":message}))
    }

    fn entry(&mut self, mut entry: Value) -> String {
        self.made += 1;
        let id = format!("e{}", self.made);
        entry["id"] = json!(id);
        entry["parentId"] = json!(self.last);
        entry["timestamp"] = json!("2026-01-01T00:00:00.000Z");
        self.text.push_str(&format!("{entry}\n"));
        self.last = Some(id.clone());
        id
    }

    pub fn user(&mut self, text: &str) -> &mut Self {
        self.message(json!({"role":"user","content":[{"type":"text","text":text}],"timestamp":1}));
        self
    }

    /// A message of the user with a pasted image.
    pub fn pasted(&mut self, text: &str, data: &str) -> &mut Self {
        let image = json!({"type":"image","data":data,"mimeType":"image/jpeg"});
        let content = json!([{"type":"text","text":text}, image]);
        self.message(json!({"role":"user","content":content,"timestamp":1}));
        self
    }

    pub fn says(&mut self, text: &str) -> &mut Self {
        self.answer(json!([{"type":"text","text":text}]), "stop")
    }

    pub fn answer(&mut self, content: Value, stop_reason: &str) -> &mut Self {
        self.message(json!({
            "role":"assistant","content":content,"stopReason":stop_reason,
            "api":"anthropic-messages","provider":"anthropic","model":"m","timestamp":1,
            "usage":{"input":9,"output":9,"cacheRead":0,"cacheWrite":0,"totalTokens":18,
                "cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},
        }));
        self
    }

    /// One answer that makes these calls: id, tool, arguments.
    pub fn calls(&mut self, calls: &[(&str, &str, Value)]) -> &mut Self {
        let calls = calls.iter().map(
            |(id, tool, arguments)| json!({"type":"toolCall","id":id,"name":tool,"arguments":arguments}),
        );
        self.answer(calls.collect(), "toolUse")
    }

    pub fn result(&mut self, id: &str, tool: &str, text: &str) -> &mut Self {
        self.result_of(id, tool, json!([{"type":"text","text":text}]), false)
    }

    pub fn failure(&mut self, id: &str, tool: &str, text: &str) -> &mut Self {
        self.result_of(id, tool, json!([{"type":"text","text":text}]), true)
    }

    /// A result that holds an image.
    pub fn shot(&mut self, id: &str, tool: &str, data: &str) -> &mut Self {
        let image = json!({"type":"image","data":data,"mimeType":"image/png"});
        self.result_of(
            id,
            tool,
            json!([{"type":"text","text":"done"}, image]),
            false,
        )
    }

    fn result_of(&mut self, id: &str, tool: &str, content: Value, is_error: bool) -> &mut Self {
        self.message(json!({
            "role":"toolResult","toolCallId":id,"toolName":tool,"content":content,
            "isError":is_error,"timestamp":1,
        }));
        self
    }

    /// A read of a file with its result.
    pub fn read(&mut self, id: &str, path: &str, text: &str) -> &mut Self {
        self.calls(&[(id, "read", json!({"path":path}))])
            .result(id, "read", text)
    }

    /// Talk that makes the session large.
    pub fn talk(&mut self, tokens: usize) -> &mut Self {
        let text = "The quick brown fox jumps. ".repeat(tokens / 6);
        self.user("Tell me.").says(&text)
    }

    pub fn decoded(&self) -> Decoded {
        let decoded = decode_bytes(self.text.clone().into_bytes());
        assert_eq!(decoded.diagnostics, []);
        decoded
    }

    pub fn context(&self) -> SessionContext {
        build_context(&path(&self.decoded()), ContextRules::Own)
    }

    pub fn touched(&self) -> Vec<TouchedFile> {
        touched_files(&self.context())
    }

    pub fn plan(
        &self,
        trigger: &Trigger,
        options: &PlanOptions,
    ) -> Result<CompactionPlan, NothingToDo> {
        plan_compaction(&path(&self.decoded()), trigger, options)
    }

    /// Compacts by hand and appends what comes of it.
    pub fn compacted(&self, options: &PlanOptions, snapshot: &str) -> Compacted {
        self.compacted_by(&MANUAL, options, snapshot)
    }

    pub fn compacted_by(
        &self,
        trigger: &Trigger,
        options: &PlanOptions,
        snapshot: &str,
    ) -> Compacted {
        let plan = self.plan(trigger, options).expect("a plan");
        let applied = applied(&plan, snapshot).expect("a compaction");
        let mut lines = self.clone();
        lines.text = appended(&self.text, self.last.as_deref(), &applied.drafts);
        let last = lines.decoded();
        lines.last = path(&last).leaf_id().map(str::to_owned);
        Compacted {
            plan,
            applied,
            lines,
        }
    }
}

pub const MANUAL: Trigger = Trigger::Manual { focus: None };

/// A compaction and the session after it.
pub struct Compacted {
    pub plan: CompactionPlan,
    pub applied: AppliedCompaction,
    pub lines: Lines,
}

impl Compacted {
    /// Returns the texts of the message that brings files and images back, image blocks by their data.
    pub fn blocks(&self) -> Vec<String> {
        let restored = self.plan.restored.as_ref().expect("the strategy restores");
        let blocks = restored.content.iter().flat_map(Content::blocks);
        blocks
            .map(|block| match block {
                Block::Text(text) => text.text.clone(),
                Block::Image(image) => format!("<{}>", image.data),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    pub fn told(&self) -> String {
        self.blocks().join("\n")
    }

    /// Returns the outcomes of files: path, outcome, freshness.
    pub fn files(&self) -> Vec<String> {
        let restored = self.plan.restored.as_ref().expect("the strategy restores");
        let files = restored.files.iter();
        files
            .map(|file| {
                format!(
                    "{} {} {:?}",
                    file.shown,
                    file.outcome.name(),
                    file.freshness
                )
            })
            .collect()
    }

    /// Returns what a model gets, and that it is in order.
    pub fn sent(&self) -> Vec<LlmMessage> {
        for order in [RoleOrder::Any, RoleOrder::Alternating] {
            let (messages, _) = self.lines.context().to_llm(order);
            assert_eq!(check_pairs(&messages, order), []);
        }
        self.lines.context().to_llm(RoleOrder::Alternating).0
    }

    pub fn roles(&self) -> String {
        let sent = self.sent();
        let roles = sent.iter().map(|message| message.role().to_owned());
        roles.collect::<Vec<_>>().join(" ")
    }
}

/// Returns an answer of a model.
pub fn model(text: &str) -> SummaryAnswer {
    SummaryAnswer {
        text: text.to_owned(),
        end: AnswerEnd::Complete,
        summarizer: Summarizer::Model {
            provider: "p".to_owned(),
            model: "m".to_owned(),
        },
    }
}

pub fn applied(plan: &CompactionPlan, snapshot: &str) -> Result<AppliedCompaction, ApplyError> {
    let answers: Vec<_> = plan.requests().iter().map(|_| model(snapshot)).collect();
    plan.apply(&answers)
}

/// Returns options for a window of 200,000 tokens with this on disk.
pub fn options(files: Vec<DiskFile>) -> PlanOptions {
    let mut options = PlanOptions::for_window(TokenCount(200_000));
    options.settings.compaction.strategy = Strategy::Restore.into();
    options.restore = RestoreInput {
        files,
        ..RestoreInput::default()
    };
    options
}

/// Returns options where the disk has these texts for the files that a session touched; the others are gone.
pub fn disk(lines: &Lines, texts: &[(&str, &str)]) -> PlanOptions {
    let files = lines.touched().into_iter().map(|touched| {
        let text = texts.iter().find(|(path, _)| *path == touched.path);
        let state = text.map_or(FileState::Missing, |(_, text)| {
            FileState::Text((*text).to_owned())
        });
        DiskFile {
            shown: touched.path.clone(),
            touched,
            state,
        }
    });
    options(files.collect())
}

/// Returns options where every touched file is on disk as a text that names it.
pub fn all_there(lines: &Lines) -> PlanOptions {
    let paths: Vec<String> = lines.touched().into_iter().map(|file| file.path).collect();
    let texts: Vec<(String, String)> = paths
        .into_iter()
        .map(|path| (path.clone(), format!("text of {path}\n")))
        .collect();
    let texts: Vec<(&str, &str)> = texts
        .iter()
        .map(|(one, other)| (&**one, &**other))
        .collect();
    disk(lines, &texts)
}

/// Returns the text of every message of the user in a request.
pub fn user_texts(messages: &[LlmMessage]) -> String {
    let contents = messages.iter().filter_map(|message| match message {
        LlmMessage::User(content) => Some(content.joined_text("\n")),
        LlmMessage::System(_)
        | LlmMessage::Developer(_)
        | LlmMessage::Assistant(_)
        | LlmMessage::ToolResult(_) => None,
    });
    contents.collect::<Vec<_>>().join("\n")
}

/// Returns the estimate of a context, as it would be measured anew.
pub fn measured(context: &SessionContext) -> TokenCount {
    let counter = compaction_core::Profile::Own.counter();
    let messages = context.messages();
    messages
        .map(|(_, message): (_, &std::sync::Arc<AgentMessage>)| counter.message(message))
        .sum()
}
