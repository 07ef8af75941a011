//! What an idle session can be turned to immediately: a copy of itself, or another model.

use std::path::PathBuf;
use std::sync::Arc;

use compaction_core::carry_pins;
use hooks::Notification;
use llm_providers::Reasoning;
use session_model::{EntryDraft, EntryId, Leaf, SessionPath};

use crate::machine::{Event, State};
use crate::runtime::AgentSession;
use crate::runtime::outputs::Outputs;
use crate::runtime::view::Views;
use agent_tools::Workspace;
use session_protocol::event::SessionEvent;
use session_protocol::{Forked, ModelSet, Refusal, Reply};
use session_store::{
    Carry, ForkSource, MemoryStore, NewEntry, OpenSession, SessionStore, StoreError, is_sidecar,
};
use summarize::models::LiveModels;

impl AgentSession {
    /// Goes on in a copy of the session that ends at `entry`, or where the session stands. The session itself stays
    /// as it is; what waits is taken along.
    pub(super) async fn fork(&mut self, entry: Option<&EntryId>) -> Result<Forked, Refusal> {
        self.require_idle().await?;
        let leaf = match entry {
            None => self.store.leaf(),
            Some(id) => {
                let found = self.store.tree().find(id).map(Leaf::At);
                found.ok_or_else(|| Refusal::no_entry(id))?
            }
        };
        if self.store.locator().is_none() {
            return Err(Refusal::refused(
                "the session is never written, so there is nothing to copy",
            ));
        }
        if !self.store.is_persisted() {
            return Err(Refusal::refused(
                "the session has no file yet; fork it once a model has answered",
            ));
        }
        let copy = self.continued_at(leaf, &carried_pins).await?;
        let from = self.store.id().to_owned();
        self.notify(Notification::SessionShutdown { reason: "fork" });
        self.switch_store(copy);
        self.events.send(SessionEvent::SessionSwitch {
            session_id: self.store.id().to_owned(),
            path: self.path_name(),
            from: from.clone(),
        });
        self.notify_start();
        self.follow_branch();
        self.feed(Event::Moved).await;
        self.report_context();
        Ok(Forked {
            session_id: self.store.id().to_owned(),
            path: self.path_name(),
            from,
            leaf: self.leaf_name(),
        })
    }

    /// Returns a session in the same place that continues this one from `leaf`, and takes over what waits.
    pub(super) async fn continued_at(
        &mut self,
        leaf: Leaf,
        carry: Carry<'_>,
    ) -> Result<OpenSession, StoreError> {
        let (path, cwd) = (self.store_path(), self.store.cwd().to_owned());
        let is_kept = self.store.locator().is_some();
        let source = ForkSource::Open(&mut *self.store);
        let forked = async {
            match is_kept {
                true => self.catalog.fork(source, leaf, &cwd, carry).await,
                false => MemoryStore::fork(source, leaf, &cwd, carry).await,
            }
        };
        self.work.written(path, forked).await
    }

    /// Goes on in another session: its file is kept from tools as that of the first one is, and output that is cut
    /// goes to its own folder.
    pub(super) fn switch_store(&mut self, store: OpenSession) {
        self.tool_context.workspace = protect_session_files(&self.tool_context.workspace, &*store);
        self.outputs = Outputs::of(&self.catalog, &*store);
        self.tool_context.overflow = self.outputs.folder(&*store);
        self.tool_context.archive = Some(self.outputs.archive());
        self.store = store;
        self.views = Views::default();
        self.instructions.switch_session();
        self.turn.failed_answer = None;
        self.compaction_run.prepared = None;
    }

    /// Lets another model answer from the next request on.
    pub(super) async fn set_model(&mut self, models: LiveModels) -> Result<ModelSet, Refusal> {
        let at_rest = self.machine.state == State::Idle;
        let mut before = std::mem::replace(&mut self.models, models);
        // A request that runs says itself who answers it; what comes behind names the new model.
        if at_rest {
            let change = EntryDraft::ModelChange(self.models.model.reference());
            if let Err(error) = self.append(vec![change.into()]).await {
                self.models = before;
                return Err(error.into());
            }
        }
        self.model_is_new = !at_rest;
        let from = before.model.name();
        let reference = self.models.model.reference();
        before.former.push(before.model);
        before.former.retain(|model| model.reference() != reference);
        self.models.former = before.former;
        let set = ModelSet {
            model: self.models.model.name(),
            window: self.models.model.window.0,
            from,
        };
        self.events
            .notice(format!("{} answers from now on", set.model));
        self.report_unknown_window();
        self.feed(Event::ModelChanged).await;
        self.machine.memory.can_promote = self.models.can_promote();
        self.report_context();
        Ok(set)
    }

    /// Lets the model think so much from the next request on.
    pub(super) fn set_reasoning(&mut self, reasoning: Reasoning) -> Result<Reply, Refusal> {
        if let Some(why) = self.models.model.provider.refuses_reasoning(reasoning) {
            return Err(Refusal::refused(why));
        }
        self.reasoning = reasoning;
        Ok(Reply::Done {})
    }

    /// Writes which model answers from now on, where it was chosen while another one answered and the session does not
    /// say so yet.
    pub(super) async fn record_model(&mut self) {
        if !std::mem::take(&mut self.model_is_new) {
            return;
        }
        let model = self.models.model.reference();
        if self.view().context.model.as_ref() == Some(&model) {
            return;
        }
        if let Err(error) = self
            .append(vec![EntryDraft::ModelChange(model).into()])
            .await
        {
            let refusal = self.unwritten(error);
            self.fail(refusal.message);
        }
    }

    /// Fails unless nothing goes on; what could not be written before is written first.
    pub(super) async fn require_idle(&mut self) -> Result<(), Refusal> {
        if self.machine.state != State::Idle {
            return Err(Refusal::refused("the agent is busy; stop it first"));
        }
        self.append(Vec::new()).await?;
        Ok(())
    }
}

/// Returns a workspace whose tools neither read nor change the session and its sidecars, nor change those of others.
pub(super) fn protect_session_files(
    workspace: &Workspace,
    store: &dyn SessionStore,
) -> Arc<Workspace> {
    let workspace = workspace.clone().with_unchanged(is_sidecar);
    let files = store.local().map(|files| files.protected);
    let protect = |workspace: Workspace, file: &PathBuf| workspace.with_protected(file);
    Arc::new(files.iter().flatten().fold(workspace, protect))
}

/// Returns the entries that keep in a copy what was pinned in its source.
pub fn carried_pins(source: &SessionPath<'_>, copy: &SessionPath<'_>) -> Vec<NewEntry> {
    carry_pins(source, copy)
        .into_iter()
        .map(Into::into)
        .collect()
}
