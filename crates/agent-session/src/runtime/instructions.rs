//! Instructions in the context: those that always count and the list of skills as sections of the system message,
//! those of a folder that was touched as a message behind the results, until a compaction gathers them.
//!
//! What the context holds of them is read off the session's path, so it is the same
//! after a start, a move or an undo. Files are looked at before a prompt and after a
//! compaction, and read where they are not what they were.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Content, ContextEditDraft, CustomMessageDraft, EntryDraft, EntryId,
    SessionContext, SystemMessage, ToolCall,
};

use crate::event::{InstructionFile, SessionEvent};
use crate::instructions::{Instruction, MESSAGE, SECTION};
use crate::prompts;
use crate::runtime::AgentSession;
use crate::runtime::entries::message_entry;
use crate::runtime::instruction_state::{
    Found, InstructionMessage, InstructionRefresh, InstructionState, Sections, sections_of,
};
use session_store::NewEntry;
use session_store::StoreError;

impl AgentSession {
    /// Looks at the files, tells what is new of them, and returns the entries that the context needs next to the
    /// sections.
    pub(super) fn refresh_instructions(&mut self, look: InstructionRefresh) -> Vec<NewEntry> {
        let view = self.view();
        let path = self.store.tree().path(self.store.leaf());
        let state = &mut self.instructions;
        let look = state.refresh(look);
        state.messages.follow(&path);
        let now = sections_of(&view.context);
        let found = state.find(&now);
        let files = state.tell(&found, &now, look);
        let mut entries = state.settle(&found, &now);
        entries.extend(state.omissions(&view.context));
        let reason = match look {
            InstructionRefresh::Start => "start",
            InstructionRefresh::Prompt => "changed",
            InstructionRefresh::Compaction => "compaction",
        };
        self.report_instructions(reason, files);
        entries
    }

    /// Gathers all instructions in the system message after a compaction; where that cannot be written, the next
    /// prompt does it.
    pub(super) async fn gather_instructions(&mut self) {
        let mut entries = self.refresh_instructions(InstructionRefresh::Compaction);
        let view = self.view();
        let sections = self.instructions.changes(&sections_of(&view.context));
        if !sections.is_empty() {
            let system = AgentMessage::System(SystemMessage {
                content: Content::Text(String::new()),
                sections,
                tools_added: Vec::new(),
                tools_removed: Vec::new(),
                timestamp: None,
            });
            entries.extend(message_entry(system).ok());
        }
        if let Err(error) = self.append(entries).await {
            self.fail(format!("instructions are not written: {error}"));
        }
    }

    /// Says what the folders have to say that these calls have touched, where it is not said yet.
    pub(super) async fn add_touched_instructions(
        &mut self,
        calls: &[ToolCall],
    ) -> Result<(), StoreError> {
        let paths = calls
            .iter()
            .flat_map(|call| self.tools.paths(call))
            .filter_map(|path| self.tool_context.workspace.resolve(&path).ok());
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in paths {
            for folder in self.instructions.source.folders_to(&path) {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        if folders.is_empty() {
            return Ok(());
        }
        let view = self.view();
        let path = self.store.tree().path(self.store.leaf());
        let state = &mut self.instructions;
        state.messages.follow(&path);
        let now = sections_of(&view.context);
        let sections = now.keys().filter_map(|name| name.strip_prefix(SECTION));
        let messages = state.messages.newest();
        let mut given: BTreeSet<String> = sections.map(str::to_owned).collect();
        given.extend(messages.iter().map(|quote| quote.path.clone()));
        given.extend(state.standing.iter().cloned());
        let mut entries = Vec::new();
        let mut files = Vec::new();
        for folder in folders {
            let Some(file) = state.source.nested(&folder, state.room) else {
                continue;
            };
            if !given.insert(file.path.clone()) {
                continue;
            }
            match file.text() {
                Some(text) => {
                    state.room = state.room.saturating_sub(file.bytes());
                    state.reported.insert(file.path.clone(), file.fingerprint());
                    entries.push(message(&file, text.to_owned()));
                    files.push(file.event("loaded"));
                }
                // That it is of no use is said once.
                None => files.extend(
                    state
                        .state(&file, None, InstructionRefresh::Prompt)
                        .map(|state| file.event(state)),
                ),
            }
        }
        self.append(entries).await?;
        self.report_instructions("touched", files);
        Ok(())
    }

    fn report_instructions(&self, reason: &'static str, files: Vec<InstructionFile>) {
        if !files.is_empty() {
            let reason = reason.into();
            self.events
                .send(SessionEvent::Instructions { reason, files });
        }
    }
}

impl InstructionState {
    /// Sets the sections as they should be, and returns the messages that are due: of files that a message has told
    /// and that are not what they were.
    fn settle(&mut self, found: &Found, now: &Sections<'_>) -> Vec<NewEntry> {
        let is_section = |path: &str| now.contains_key(&*format!("{SECTION}{path}"));
        let mut quoted: BTreeMap<&str, &InstructionMessage> = self
            .messages
            .newest()
            .into_iter()
            .filter(|quote| !self.messages.is_before_compaction(quote) && !is_section(&quote.path))
            .map(|quote| (quote.path.as_str(), quote))
            .collect();
        let mut sections = Vec::new();
        let mut entries = Vec::new();
        for file in found.base.iter().chain(&found.nested) {
            let Some(text) = file.text() else {
                continue;
            };
            match quoted.remove(&*file.path) {
                None => sections.push((file.section(), text.to_owned())),
                Some(quote) if quote.hash == Some(file.fingerprint()) => {}
                Some(_) => {
                    let changed = prompts::instructions_changed(&file.path);
                    entries.push(message(file, format!("{changed}\n\n{text}")));
                }
            }
        }
        entries.extend(quoted.into_keys().map(gone));
        sections.extend(found.list());
        self.sections = sections;
        entries
    }

    /// Returns the edits that take messages out of the context which stand in a section since a compaction.
    fn omissions(&self, context: &SessionContext) -> Vec<NewEntry> {
        let moved = self.messages.all.iter();
        let moved = moved.filter(|quote| self.messages.is_before_compaction(quote));
        let moved: BTreeSet<&EntryId> = moved.map(|quote| &quote.entry).collect();
        if moved.is_empty() {
            return Vec::new();
        }
        let moved_messages = context.entries.iter();
        let moved_messages = moved_messages.filter(|projected| !projected.messages.is_empty());
        let moved_messages = moved_messages.filter(|projected| moved.contains(&projected.entry.id));
        let edits = moved_messages.map(|projected| {
            NewEntry::from(EntryDraft::ContextEdit(ContextEditDraft {
                target: projected.entry.id.clone(),
                replacement: None,
            }))
        });
        edits.collect()
    }
}

/// Returns the message that tells the model of a file.
fn message(file: &Instruction, text: String) -> NewEntry {
    let details = json!({ "path": file.path, "hash": file.fingerprint() });
    custom(text, &details)
}

/// Returns the message that says that a file no longer counts.
fn gone(path: &str) -> NewEntry {
    custom(
        prompts::instructions_gone(&session_model::text::clean(path)),
        &json!({ "path": path, "hash": null }),
    )
}

fn custom(text: String, details: &serde_json::Value) -> NewEntry {
    let draft = EntryDraft::CustomMessage(CustomMessageDraft {
        custom_type: MESSAGE.to_owned(),
        content: Content::Text(text),
        display: false,
        details: RawJson::of(details).ok(),
    });
    draft.into()
}
