//! The calls of an answer: which are open, and running them concurrently where they cannot disturb each other.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use hooks::{HookContext, HookPoint, HookSet, Notification, ToolCallEvent, ToolCallResult};
use serde_json::Value;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Block, Content, EntryBody, EntryDraft, MessageDraft, ToolCall, ToolResultMessage,
};

use crate::machine::Job;
use crate::runtime::AgentSession;
use crate::runtime::entries::drafted;
use crate::runtime::events::Events;
use crate::runtime::hooked::{cancelled_by, unless_cancelled};
use crate::runtime::jobs::Done;
use crate::runtime::notify::Notifier;
use crate::runtime::outputs::Outputs;
use agent_tools::approval::Approvals;
use agent_tools::{History, Idempotency, LiveOutput, ToolContext, ToolOutput, Toolbox};
use session_protocol::event::SessionEvent;
use session_store::NewEntry;
use session_text::counted;

/// How much of an output an event tells, in characters.
const TOLD: usize = 2000;

/// What the model is told of a call that was cancelled in time.
const NOT_RUN: &str = "cancelled before it ran";

impl AgentSession {
    /// Returns what tools run with.
    pub(crate) fn tool_context(&self) -> &ToolContext {
        &self.tool_context
    }

    pub(super) fn run_tools(&mut self, job: Job) {
        let calls = self.pending_calls();
        let after_crash = std::mem::take(&mut self.turn.resumes_calls);
        let approvals = match after_crash {
            true => self.tool_context.approvals.for_opened(),
            false => self.tool_context.approvals.clone(),
        };
        self.report_opened_calls(&calls, &approvals);
        let mut called = calls.iter().map(|call| self.tools.meta(&call.name));
        let reads_session = called.any(|meta| meta.reads_session);
        let mut context = self.tool_context.clone();
        context.approvals = approvals;
        context.history = reads_session.then(|| self.history());
        let mut batch = Batch {
            tools: self.tools.clone(),
            context,
            outputs: self.outputs.clone(),
            hooks: self.hooks.clone(),
            hook_context: self.hook_context(),
            notifier: self.notifier.clone(),
            events: self.events.clone(),
            after_crash,
        };
        self.work.start(job, |cancel| async move {
            batch.context.cancel = cancel.clone();
            batch.hook_context.cancel = cancel;
            Done::Results(batch.run(calls).await)
        });
    }

    /// Returns the session as it is: a copy, since calls run while entries are written.
    fn history(&self) -> Arc<History> {
        Arc::new(History {
            tree: self.store.tree().clone(),
            leaf: self.store.leaf(),
        })
    }

    /// Says which calls that stood in the session when it was opened do not run unasked.
    fn report_opened_calls(&self, calls: &[ToolCall], approvals: &Approvals) {
        let names = calls.iter().map(|call| call.name.as_str());
        let mut names: Vec<&str> = names
            .filter(|name| approvals.is_untrusted(name))
            .filter(|name| self.tools.meta(name).idempotency == Idempotency::Idempotent)
            .collect();
        let count = counted(names.len(), "call");
        names.dedup();
        let what = match (names.as_slice(), approvals.can_ask()) {
            ([], _) => return,
            (_, true) => "run only when you allow them",
            (_, false) => {
                "are not run, because no user can be asked; those of a tool that is allowed by name for this run are"
            }
        };
        let names = names.join(", ");
        let notice =
            format!("{count} without a result in the opened session ({names}): such calls {what}");
        self.events.notice(notice);
    }

    /// Returns the calls of the newest answer that have no result yet.
    pub(super) fn pending_calls(&self) -> Vec<ToolCall> {
        let tree = self.store.tree();
        let path = tree.path(self.store.leaf());
        let mut answered = Vec::new();
        for index in path.entries().iter().rev() {
            let Ok(entry) = tree.entry(*index) else {
                continue;
            };
            let EntryBody::Message(message) = &entry.body else {
                continue;
            };
            match &**message {
                AgentMessage::ToolResult(result) => answered.push(result.tool_call_id.clone()),
                AgentMessage::Assistant(_) => {
                    let calls = message.tool_calls();
                    let open = calls.filter(|call| !answered.contains(&call.id));
                    return open.cloned().collect();
                }
                AgentMessage::System(_) => {}
                _ => return Vec::new(),
            }
        }
        Vec::new()
    }
}

struct Batch {
    tools: Toolbox,
    context: ToolContext,
    outputs: Outputs,
    hooks: Arc<HookSet>,
    hook_context: HookContext,
    notifier: Notifier,
    events: Events,
    after_crash: bool,
}

impl Batch {
    /// Runs calls in groups: those of one group run concurrently, the groups one after the other. Results have the order
    /// of the calls.
    async fn run(&self, calls: Vec<ToolCall>) -> Vec<NewEntry> {
        let mut results = Vec::with_capacity(calls.len());
        for group in self
            .tools
            .concurrent_groups(&calls, &self.context.workspace)
        {
            results.extend(join_all(group.iter().map(|call| self.one(call))).await);
        }
        results
    }

    async fn one(&self, call: &ToolCall) -> NewEntry {
        let started = Instant::now();
        let arguments = call
            .arguments
            .as_ref()
            .map_or(Value::Null, RawJson::to_value);
        self.events.send(SessionEvent::ToolStart {
            call_id: call.id.clone(),
            name: call.name.clone(),
            arguments: arguments.clone(),
        });
        let is_cancelled = self.context.cancel.is_cancelled();
        let idempotency = self.tools.meta(&call.name).idempotency;
        let output = if is_cancelled {
            ToolOutput::error(NOT_RUN)
        } else if self.after_crash && idempotency == Idempotency::NotIdempotent {
            ToolOutput::error(
                "the session was interrupted while this call ran, and its result is lost; it may have been carried out: look before you repeat it",
            )
        } else {
            self.allowed(call, &arguments).await
        };
        // The time that the user thought is not the call's.
        let waited = self.events.take_waited(&call.id);
        let took = started.elapsed().saturating_sub(waited);
        // What a hook says of a call is cleaned as well.
        let output = output.without_keys(&self.context.redactor);
        let text = output.content.joined_text("\n");
        self.events.send(SessionEvent::ToolEnd {
            call_id: call.id.clone(),
            name: call.name.clone(),
            is_error: output.is_error,
            seconds: match is_cancelled {
                true => 0.0,
                false => took.as_secs_f64(),
            },
            output: text.chars().take(TOLD).collect(),
            truncated: text.chars().nth(TOLD).is_some(),
            details: output.details.clone(),
        });
        if is_cancelled {
            return entry(call, &output);
        }
        let notification = Notification::ToolResult {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            arguments,
            is_error: output.is_error,
            output: text,
        };
        self.notifier.tell(notification, self.hook_context.clone());
        entry(call, &output)
    }

    /// Runs a call unless a hook, the settings or the user are against it.
    async fn allowed(&self, call: &ToolCall, arguments: &Value) -> ToolOutput {
        if self.hooks.wants(HookPoint::ToolCall) {
            let event = ToolCallEvent {
                call_id: &call.id,
                tool: &call.name,
                arguments,
            };
            let asked = self.hooks.tool_call(&event, &self.hook_context);
            let Some(asked) = unless_cancelled(&self.context.cancel, asked).await else {
                return ToolOutput::error(NOT_RUN);
            };
            self.events.hook_failures(&asked.failures);
            if let ToolCallResult::Block { reason } = asked.result {
                let hook = asked.decided_by.as_deref();
                return ToolOutput::error(cancelled_by(hook, reason.as_deref(), "this call"));
            }
        }
        let (events, call_id) = (self.events.clone(), call.id.clone());
        let mut context = self.context.clone();
        context.live = LiveOutput::new(move |output| {
            events.send(SessionEvent::ToolUpdate {
                call_id: call_id.clone(),
                output,
            });
        });
        let output = self.tools.run(call, &context).await;
        if let Err(error) = self.outputs.keep(&output).await {
            self.events.notice(format!(
                "the whole output of {} is not stored: {error}",
                call.name
            ));
        }
        output
    }
}

fn entry(call: &ToolCall, output: &ToolOutput) -> NewEntry {
    let result = |content| {
        AgentMessage::ToolResult(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content,
            is_error: output.is_error,
            timestamp: None,
            nested_calls: None,
        })
    };
    let draft = drafted(result(output.content.clone())).unwrap_or_else(|error| {
        // What cannot be written is said instead of lost.
        let text = Content::Blocks(vec![Block::text(error.to_string())]);
        MessageDraft::new(result(text))
            .unwrap_or_else(|error| MessageDraft::user(error.to_string()))
    });
    let details = output.details.as_ref();
    let details = details.and_then(|details| RawJson::of(details).ok());
    let draft = match details {
        Some(details) => draft.with_details(details),
        None => draft,
    };
    EntryDraft::Message(Box::new(draft)).into()
}
