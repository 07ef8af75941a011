//! An event of every point, for documents, tests and trials of a hook.

use std::path::PathBuf;

use compaction_core::{
    BranchOptions, BranchPlan, CompactionPlan, PlanOptions, Profile, TokenCount, Trigger,
    plan_branch_summary, plan_compaction,
};
use serde_json::{Value, json};
use session_model::{AgentMessage, EntryId, Leaf, SessionPath, SessionTree, decode_bytes};
use tokio_util::sync::CancellationToken;

use super::HookEvent;
use crate::event::{
    BeforeCompactEvent, BeforePromptEvent, BeforeTreeEvent, CompactingEvent, Notification,
    ToolCallEvent,
};
use crate::hook::{HookContext, HookError};
use crate::point::HookPoint;

/// A small session of which the events are.
const SESSION: [&str; 7] = [
    r#"{"type":"session","version":3,"id":"5f0c","timestamp":"2026-01-01T09:00:00.000Z","cwd":"/work"}"#,
    r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T09:00:01.000Z","message":{"role":"user","content":"why does 1h30m fail?","timestamp":1767258001000}}"#,
    r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"src/span.rs"}}],"api":"openai-responses","provider":"openai","model":"example","stopReason":"toolUse","timestamp":1767258002000}}"#,
    r#"{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-01T09:00:03.000Z","message":{"role":"toolResult","toolCallId":"call_1","toolName":"read","content":[{"type":"text","text":"fn parse(text: &str) {}"}],"isError":false,"timestamp":1767258003000}}"#,
    r#"{"type":"message","id":"a4","parentId":"a3","timestamp":"2026-01-01T09:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"It reads one unit only."}],"api":"openai-responses","provider":"openai","model":"example","stopReason":"stop","timestamp":1767258004000}}"#,
    r#"{"type":"message","id":"a5","parentId":"a4","timestamp":"2026-01-01T09:00:05.000Z","message":{"role":"user","content":"fix it","timestamp":1767258005000}}"#,
    r#"{"type":"message","id":"a6","parentId":"a5","timestamp":"2026-01-01T09:00:06.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"api":"openai-responses","provider":"openai","model":"example","stopReason":"stop","timestamp":1767258006000}}"#,
];

/// The data of a made-up session that sample events borrow from.
#[derive(Debug)]
pub struct SampleSession {
    tree: SessionTree,
    messages: Vec<AgentMessage>,
    next_id: EntryId,
    arguments: Value,
    notifications: Vec<Notification>,
}

impl Default for SampleSession {
    fn default() -> Self {
        let text = SESSION.map(|line| format!("{line}\n")).concat();
        let tree = decode_bytes(text.into_bytes()).tree;
        let entries = tree.indices().filter_map(|index| tree.entry(index).ok());
        let messages = entries.flat_map(|entry| entry.messages());
        let messages = messages.map(|message| (*message).clone()).take(1).collect();
        Self {
            tree,
            messages,
            next_id: EntryId::new("a7"),
            arguments: json!({ "path": "src/span.rs" }),
            notifications: notifications(),
        }
    }
}

impl SampleSession {
    /// Returns the session as hooks get it, in the folder `cwd`.
    pub fn context(&self, cwd: PathBuf) -> HookContext {
        HookContext {
            session_id: "5f0c".to_owned(),
            session_path: Some(PathBuf::from("/sessions/5f0c.jsonl")),
            cwd,
            cancel: CancellationToken::new(),
        }
    }

    /// Makes the plans that the sample events contain.
    ///
    /// # Errors
    /// A sample that cannot be written as JSON.
    pub fn samples(&self) -> Result<Samples<'_>, HookError> {
        let failed = |error: &dyn std::error::Error| HookError(format!("no example: {error}"));
        let path = self.tree.path(self.tree.leaf());
        let mut options = PlanOptions::for_window(TokenCount(100_000));
        options.settings.compaction.keep_recent_tokens = TokenCount(10);
        let focus = Some("the parser".to_owned());
        let plan = plan_compaction(&path, &Trigger::Manual { focus }, &options)
            .map_err(|error| failed(&error))?;
        let place = self.tree.find("a4").map_or(Leaf::Root, Leaf::At);
        let branch_options = BranchOptions {
            budget: TokenCount(50_000),
            profile: Profile::Own,
            settings: options.settings.compaction,
            summarizer: options.summarizer,
            instructions: None,
        };
        let branch = plan_branch_summary(&self.tree, self.tree.leaf(), place, &branch_options)
            .map_err(|error| failed(&error))?;
        Ok(Samples {
            session: self,
            path,
            plan,
            branch,
            target: place,
            messages: self.messages.iter().collect(),
        })
    }
}

/// An event of every point.
#[derive(Debug)]
pub struct Samples<'a> {
    session: &'a SampleSession,
    path: SessionPath<'a>,
    plan: CompactionPlan,
    branch: BranchPlan,
    target: Leaf,
    messages: Vec<&'a AgentMessage>,
}

impl Samples<'_> {
    /// Returns the event of a point; `None` only if the examples lack one.
    pub fn event(&self, point: HookPoint) -> Option<HookEvent<'_>> {
        let session = self.session;
        match point {
            HookPoint::BeforePrompt => Some(HookEvent::BeforePrompt(BeforePromptEvent {
                text: "and 90m?",
                entry_id: &session.next_id,
            })),
            HookPoint::ToolCall => Some(HookEvent::ToolCall(ToolCallEvent {
                call_id: "call_2",
                tool: "read",
                arguments: &session.arguments,
            })),
            HookPoint::SessionBeforeCompact => Some(HookEvent::BeforeCompact(BeforeCompactEvent {
                plan: &self.plan,
                path: &self.path,
                custom_instructions: Some("the parser"),
                reason: "manual",
                will_retry: false,
            })),
            HookPoint::SessionCompacting => Some(HookEvent::Compacting(CompactingEvent {
                strategy: self.plan.strategy.name(),
                messages: &self.messages,
            })),
            HookPoint::SessionBeforeTree => Some(HookEvent::BeforeTree(BeforeTreeEvent {
                tree: &session.tree,
                plan: &self.branch,
                old_leaf: session.tree.leaf(),
                target: self.target,
                user_wants_summary: true,
            })),
            HookPoint::SessionStart
            | HookPoint::SessionShutdown
            | HookPoint::ToolResult
            | HookPoint::TurnEnd
            | HookPoint::SessionCompact
            | HookPoint::SessionCompactFailed
            | HookPoint::SessionTree => {
                let mut all = session.notifications.iter();
                all.find(|notification| notification.point() == point)
                    .map(HookEvent::Notification)
            }
        }
    }
}

fn notifications() -> Vec<Notification> {
    vec![
        Notification::SessionStart {
            entries: 6,
            model: "openai/example".to_owned(),
        },
        Notification::SessionShutdown { reason: "end" },
        Notification::ToolResult {
            call_id: "call_2".to_owned(),
            tool: "read".to_owned(),
            arguments: json!({ "path": "src/span.rs" }),
            is_error: false,
            output: "fn parse(text: &str) {}".to_owned(),
        },
        Notification::TurnEnd {
            end: "failed",
            error: Some("the provider is overloaded".to_owned()),
        },
        Notification::SessionCompact {
            entry: json!({
                "type": "compaction", "id": "a7", "parentId": "a6", "timestamp": "2026-01-01T09:10:00.000Z",
                "summary": "The parser reads one unit only; it was fixed.", "firstKeptEntryId": "a5",
                "tokensBefore": 5210, "details": { "readFiles": ["src/span.rs"], "modifiedFiles": [] },
            }),
            from_extension: false,
            reason: "threshold",
            summary: "The parser reads one unit only; it was fixed.".to_owned(),
            trigger: "auto",
        },
        Notification::SessionCompactFailed {
            reason: "overflow",
            error: Some("the provider is overloaded".to_owned()),
            aborted: false,
            will_retry: false,
        },
        Notification::SessionTree {
            new_leaf: Some("a8".to_owned()),
            old_leaf: Some("a6".to_owned()),
            summary_entry: Some(json!({
                "type": "branch_summary", "id": "a8", "parentId": "a4", "timestamp": "2026-01-01T09:10:00.000Z",
                "fromId": "a6", "summary": "The parser was fixed.",
            })),
        },
    ]
}
