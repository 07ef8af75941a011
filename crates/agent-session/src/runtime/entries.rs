//! What is written: messages, answers, results, edits; and what could not be written before goes first.

use compaction_core::RESTORED_CONTEXT;
use llm_providers::{Reasoning, Tool};
use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, AssistantMessage, BashExecution, Content, EntryBody, EntryDraft, EntryId,
    LabelDraft, MessageDraft, SessionInfoDraft, StopReason, SystemMessage, UserMessage,
    current_system,
};

use crate::machine::{AnswerEnd, ResumePoint, Write};
use crate::prompts;
use crate::runtime::AgentSession;
use crate::runtime::prompting::HOOK_CONTEXT;
use project_instructions::InstructionRefresh;
use session_protocol::event::{SessionEvent, TokenUsage, stop_reason_name};
use session_protocol::keys::{Signed, clean_json};
use session_protocol::{Refusal, Reply};
use session_store::{NewEntry, StoreError};

/// The section of the system message that holds the agent's own prompt.
const PROMPT_SECTION: &str = "agent-cli";

impl AgentSession {
    pub(super) async fn write(&mut self, write: &Write) -> Result<(), StoreError> {
        match write {
            Write::Messages(ids) => self.write_messages(ids).await,
            Write::Answer(end) => self.write_answer(end).await,
            Write::Results => {
                let calls = self.pending_calls();
                let results = std::mem::take(&mut self.turn.results);
                self.append_kept(results).await?;
                self.add_touched_instructions(&calls).await
            }
            Write::Continue => {
                let message = AgentMessage::Developer(UserMessage {
                    content: Content::Text(prompts::auto_continue()),
                    timestamp: None,
                });
                let mut entries = self.preamble()?;
                entries.push(message_entry(message)?);
                self.append(entries).await.map(drop)
            }
            Write::Omission => self.write_omission().await,
        }
    }

    /// Appends entries after what could not be written before, in one write. After an error these entries are
    /// forgotten: whoever wants them makes them anew.
    pub(super) async fn append(
        &mut self,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, StoreError> {
        let (all, unsaved) = self.turn.behind_unsaved(entries);
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let path = self.store_path();
        let mut ids = self.work.written(path, self.store.append(all)).await?;
        self.turn.saved();
        Ok(ids.split_off(unsaved))
    }

    /// Appends entries as a chain under a parent.
    pub(super) async fn append_under(
        &mut self,
        parent: Option<EntryId>,
        entries: Vec<NewEntry>,
    ) -> Result<Vec<EntryId>, StoreError> {
        let path = self.store_path();
        let write = self.store.append_under(parent, entries);
        self.work.written(path, write).await
    }

    /// Does the same for answers and results, which nobody can make anew: after an error they are kept, under the ids
    /// by which the store knows them where the write landed all the same.
    async fn append_kept(&mut self, mut entries: Vec<NewEntry>) -> Result<(), StoreError> {
        for entry in &mut entries {
            entry.id.get_or_insert_with(|| self.store.fresh_id());
        }
        let written = self.append(entries.clone()).await;
        if written.is_err() {
            self.turn.keep_unsaved(entries);
        }
        written.map(drop)
    }

    pub(super) async fn write_preamble(&mut self) -> Result<(), StoreError> {
        let preamble = self.preamble()?;
        self.append(preamble).await.map(drop)
    }

    /// Returns what has to be said before the model is asked: its instructions and tools, and that it is this model,
    /// where the session does not say so yet.
    fn preamble(&mut self) -> Result<Vec<NewEntry>, StoreError> {
        let instructions = self.refresh_instructions(InstructionRefresh::Prompt);
        let view = self.view();
        let context = &view.context;
        let mut entries = Vec::new();
        let now = context.messages().map(|(_, message)| &**message);
        let now = current_system(now);
        if let Some(system) = self.system_change(now.as_ref()) {
            entries.push(message_entry(AgentMessage::System(system))?);
        }
        let model = self.models.model.reference();
        if context.model.as_ref() != Some(&model) {
            entries.push(EntryDraft::ModelChange(model).into());
        }
        let level = self.reasoning.name();
        if self.reasoning != Reasoning::Default && level != context.thinking_level {
            entries.push(EntryDraft::ThinkingLevelChange(level.to_owned()).into());
        }
        entries.extend(instructions);
        Ok(entries)
    }

    /// Returns the system message that makes `now` what it should be; none when it is that already.
    fn system_change(&self, now: Option<&SystemMessage>) -> Option<SystemMessage> {
        let section = |system: &SystemMessage| {
            let mut sections = system.sections.iter();
            let found = sections.find(|(name, _)| name == PROMPT_SECTION);
            found.and_then(|(_, text)| text.clone())
        };
        let prompt = now.and_then(section);
        let tools: Vec<RawJson> = self
            .tools
            .specs()
            .iter()
            .filter_map(|tool| self.tool_json(tool))
            .collect();
        let has: Vec<&RawJson> = now
            .map(|now| now.tools_added.iter().collect())
            .unwrap_or_default();
        let added: Vec<RawJson> = tools
            .iter()
            .filter(|tool| !has.iter().any(|has| has.get() == tool.get()))
            .cloned()
            .collect();
        let wanted: Vec<_> = tools.iter().filter_map(name_of).collect();
        let removed: Vec<String> = has
            .iter()
            .filter_map(|tool| name_of(tool))
            .filter(|name| !wanted.contains(name))
            .collect();
        let same_prompt = prompt.as_deref() == Some(self.system_prompt.as_str());
        let mut sections = Vec::new();
        if !same_prompt {
            let text = self.system_prompt.clone();
            sections.push((PROMPT_SECTION.to_owned(), Some(text)));
        }
        sections.extend(self.instructions.changes(&self.view().context));
        if sections.is_empty() && added.is_empty() && removed.is_empty() {
            return None;
        }
        Some(SystemMessage {
            content: Content::Text(String::new()),
            sections,
            tools_added: added,
            tools_removed: removed,
            timestamp: None,
        })
    }

    /// Returns a tool as the session says it: without keys, which a server may name, so that it is the same when it
    /// is read again.
    fn tool_json(&self, tool: &Tool) -> Option<RawJson> {
        let parameters: serde_json::Value = serde_json::from_str(tool.parameters.get()).ok()?;
        let tool = json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters,
        });
        let redactor = &self.tool_context.redactor;
        let clean = |text: &str| redactor.clean_answer(text);
        let text = clean_json(tool.to_string(), &clean, Signed::Kept);
        RawJson::parse(&text).ok()
    }

    async fn write_answer(&mut self, end: &AnswerEnd) -> Result<(), StoreError> {
        let Some(given) = self.turn.take_answer() else {
            return Ok(());
        };
        let message = given.message.clone();
        let usage = message.usage.unwrap_or_default();
        let mut event = SessionEvent::Answer {
            entry_id: None,
            text: message.content.joined_text(""),
            tool_calls: message.content.tool_calls().count(),
            stop_reason: stop_reason_name(&message.stop_reason),
            error: message.error_message.clone(),
            usage: TokenUsage::from(&usage),
            cost_usd: given.cost_usd,
        };
        let nothing = message.content.is_empty() && message.stop_reason == StopReason::Aborted;
        if nothing {
            self.events.send(event);
            return Ok(());
        }
        let draft = drafted(AgentMessage::Assistant(message.clone()));
        let mut draft = draft.or_else(|error| {
            // What cannot be written is said instead of lost.
            let text = format!("{}\n[{error}]", message.content.joined_text("\n"));
            drafted(AgentMessage::Assistant(AssistantMessage {
                content: Content::Blocks(vec![session_model::Block::text(text)]),
                ..message
            }))
        })?;
        if let Some(cost) = given.cost() {
            draft = draft.with_cost(cost);
        }
        let entry = NewEntry {
            id: Some(self.store.fresh_id()),
            draft: EntryDraft::Message(Box::new(draft)),
        };
        let id = entry.id.clone();
        if matches!(end, AnswerEnd::CutOff | AnswerEnd::Overflow(_)) {
            self.turn.failed_answer = id.clone();
        }
        let written = self.append_kept(vec![entry]).await;
        // One that could not be written waits in memory; whoever reads the event would look for it in vain.
        if let SessionEvent::Answer { entry_id, .. } = &mut event
            && written.is_ok()
        {
            *entry_id = id.map(|id| id.to_string());
        }
        self.events.send(event);
        written
    }

    /// Takes the answer that failed out of the context; nothing where none did.
    pub(super) async fn write_omission(&mut self) -> Result<(), StoreError> {
        let omission = self.turn.omission();
        self.append(omission.into_iter().collect()).await?;
        self.turn.failed_answer = None;
        Ok(())
    }

    /// Adds a command that the user ran.
    pub(super) async fn add_execution(
        &mut self,
        execution: BashExecution,
    ) -> Result<Reply, Refusal> {
        self.require_idle().await?;
        let entry = message_entry(AgentMessage::BashExecution(execution))?;
        self.append(vec![entry]).await?;
        self.report_context();
        Ok(Reply::Done {})
    }

    /// Gives the session a name, or takes it off.
    pub(super) async fn set_name(&mut self, name: String) -> Result<Reply, Refusal> {
        let draft = EntryDraft::SessionInfo(SessionInfoDraft { name });
        self.append(vec![draft.into()]).await?;
        Ok(Reply::Done {})
    }

    /// Puts a label on an entry, or takes it off.
    pub(super) async fn label(
        &mut self,
        target: EntryId,
        label: Option<String>,
    ) -> Result<Reply, Refusal> {
        if self.store.tree().find(&target).is_none() {
            return Err(Refusal::no_entry(&target));
        }
        let entry_id = target.to_string();
        let draft = EntryDraft::Label(LabelDraft {
            target,
            label: label.clone(),
        });
        self.append(vec![draft.into()]).await?;
        self.events.send(SessionEvent::Labelled { entry_id, label });
        Ok(Reply::Done {})
    }

    /// Returns the message of the user that is `count` such messages back on the path; 1 is the newest.
    pub(super) fn message_back(&self, count: usize) -> Result<EntryId, Refusal> {
        let tree = self.store.tree();
        let path = tree.path(self.store.leaf());
        let mut left = count.max(1);
        for index in path.entries().iter().rev() {
            let Ok(entry) = tree.entry(*index) else {
                continue;
            };
            if let EntryBody::Message(message) = &entry.body
                && matches!(**message, AgentMessage::User(_))
            {
                left -= 1;
                if left == 0 {
                    return Ok(entry.id);
                }
            }
        }
        Err(Refusal::refused(format!(
            "there are no {count} messages of the user to go back to"
        )))
    }

    /// Returns what the session ends in.
    pub(super) fn resume_point(&mut self) -> ResumePoint {
        let tree = self.store.tree();
        let path = tree.path(self.store.leaf());
        let mut compacted = false;
        for index in path.entries().iter().rev() {
            let Ok(entry) = tree.entry(*index) else {
                continue;
            };
            let message = match &entry.body {
                EntryBody::Message(message) => message,
                // What goes with a message says nothing without it.
                EntryBody::CustomMessage(message) if message.custom_type == HOOK_CONTEXT => {
                    continue;
                }
                // Nor does what a compaction brought back.
                EntryBody::CustomMessage(message) if message.custom_type == RESTORED_CONTEXT => {
                    continue;
                }
                EntryBody::CustomMessage(_) => return ResumePoint::Unanswered,
                EntryBody::Compaction(_) => {
                    compacted = true;
                    continue;
                }
                // What was left, edited or named after the newest answer does not need to be asked again.
                _ => continue,
            };
            return match &**message {
                AgentMessage::Assistant(_) if self.is_omitted(&entry.id) => ResumePoint::Unanswered,
                AgentMessage::Assistant(answer) => {
                    let resume_point = self.resume_point_after(answer, compacted);
                    if matches!(
                        resume_point,
                        ResumePoint::Answered(_) | ResumePoint::Unanswered
                    ) {
                        self.turn.failed_answer = Some(entry.id);
                    }
                    resume_point
                }
                AgentMessage::ToolResult(_) if !self.pending_calls().is_empty() => {
                    ResumePoint::PendingCalls
                }
                AgentMessage::ToolResult(_)
                | AgentMessage::User(_)
                | AgentMessage::Developer(_)
                | AgentMessage::Custom(_) => ResumePoint::Unanswered,
                // What the user ran by hand waits for what the user says of it.
                AgentMessage::BashExecution(_)
                | AgentMessage::System(_)
                | AgentMessage::BranchSummary(_)
                | AgentMessage::CompactionSummary(_)
                | AgentMessage::Other { .. } => continue,
            };
        }
        ResumePoint::Rest
    }

    /// Returns what the newest answer calls for. One that failed is recovered from by the model that gave it, and
    /// only while nothing has been compacted since.
    fn resume_point_after(&self, answer: &AssistantMessage, compacted: bool) -> ResumePoint {
        let model = &self.models.model.provider;
        let same = answer.provider == model.name() && answer.model == model.model();
        let fresh = same && !compacted;
        match &answer.stop_reason {
            StopReason::Length if fresh => ResumePoint::Answered(AnswerEnd::CutOff),
            StopReason::Error if fresh && self.was_overflow(answer) => {
                let error = answer.error_message.clone().unwrap_or_default();
                ResumePoint::Answered(AnswerEnd::Overflow(error))
            }
            // One that broke off is asked for anew; its calls may be half of what was meant.
            StopReason::Length | StopReason::Error | StopReason::Aborted => ResumePoint::Unanswered,
            StopReason::Stop | StopReason::ToolUse | StopReason::Other(_) => {
                match self.pending_calls().is_empty() {
                    true => ResumePoint::Rest,
                    false => ResumePoint::PendingCalls,
                }
            }
        }
    }

    /// Returns whether an edit took the entry out of the context.
    fn is_omitted(&self, id: &EntryId) -> bool {
        let view = self.view();
        let mut entries = view.context.entries.iter();
        entries.any(|projected| projected.entry.id == *id && projected.omitted)
    }
}

/// Returns the entry of a message without anything next to it.
pub(super) fn message_entry(message: AgentMessage) -> Result<NewEntry, StoreError> {
    let draft = drafted(message)?;
    Ok(EntryDraft::Message(Box::new(draft)).into())
}

/// Returns a message as it can be written.
pub(super) fn drafted(message: AgentMessage) -> Result<MessageDraft, StoreError> {
    MessageDraft::new(message).map_err(StoreError::from)
}

fn name_of(tool: &RawJson) -> Option<String> {
    tool.string_member("name").map(std::borrow::Cow::into_owned)
}
