//! Instructions in the context: those that always count and the list of skills as sections of the system message,
//! those of a folder that was touched as a message behind the results, until a compaction gathers them.
//!
//! What the context holds of them is read off the session's path, so it is the same
//! after a start, a move or an undo. Files are looked at before a prompt and after a
//! compaction, and read where they are not what they were.

use session_model::{AgentMessage, Content, SystemMessage, ToolCall};

use crate::runtime::AgentSession;
use crate::runtime::entries::message_entry;
use project_instructions::InstructionRefresh;
use session_protocol::event::{InstructionFile, SessionEvent};
use session_store::NewEntry;
use session_store::StoreError;

impl AgentSession {
    /// Looks at the files, tells what is new of them, and returns the entries that the context needs next to the
    /// sections.
    pub(super) fn refresh_instructions(&mut self, look: InstructionRefresh) -> Vec<NewEntry> {
        let view = self.view();
        let path = self.store.tree().path(self.store.leaf());
        let refreshed = self.instructions.refresh(&path, &view.context, look);
        self.report_instructions(refreshed.reason, refreshed.files);
        refreshed.entries
    }

    /// Gathers all instructions in the system message after a compaction; where that cannot be written, the next
    /// prompt does it.
    pub(super) async fn gather_instructions(&mut self) {
        let mut entries = self.refresh_instructions(InstructionRefresh::Compaction);
        let view = self.view();
        let sections = self.instructions.changes(&view.context);
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
        let folders = self.instructions.folders_to(paths);
        if folders.is_empty() {
            return Ok(());
        }
        let view = self.view();
        let path = self.store.tree().path(self.store.leaf());
        let touched = self.instructions.touch(&folders, &path, &view.context);
        self.append(touched.entries).await?;
        self.report_instructions(touched.reason, touched.files);
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
