//! Building a session with safe defaults.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use compaction_core::{Settings, prompts};
use hooks::HookSet;
use llm_providers::catalog::Catalog;
use llm_providers::{CancellationToken, Reasoning, Redactor};

use crate::channel::{EVENT_BYTES, EventReceiver, event_channel_of};
use crate::instructions::Instructions;
use crate::models::LiveModels;
use crate::rights::{redactor, secret_variables};
use crate::runtime::{
    AgentSession, CommandReceiver, Finished, Limits, SessionConfig, SessionHandle, command_channel,
};
use crate::tools::standard_tools;
use agent_tools::approval::{Approvals, Policy};
use agent_tools::mcp::ServerConfig;
use agent_tools::{LiveOutput, ToolContext, ToolLimits, Toolbox, Workspace};
use session_store::{MemoryCatalog, MemoryStore, OpenSession, SessionCatalog};

/// Builds a session.
///
/// Unless something else is set, the session is in memory; it has the built-in tools, which stay in the workspace,
/// and commands (`bash`) need approval; secrets of the environment are removed from whatever it stores,
/// reports or sends; it runs no hooks and no tool servers and reads no instruction files.
#[must_use]
pub struct SessionBuilder {
    workspace: Workspace,
    models: LiveModels,
    store: Option<(OpenSession, Arc<dyn SessionCatalog>)>,
    settings: Settings,
    hooks: HookSet,
    tools: Toolbox,
    servers: Vec<ServerConfig>,
    approvals: Approvals,
    tool_limits: ToolLimits,
    secret_variables: Option<Vec<String>>,
    redactor: Option<Arc<Redactor>>,
    system_prompt: Option<String>,
    instructions: Instructions,
    reasoning: Reasoning,
    limits: Limits,
    event_bytes: usize,
}

/// A session that was built and does not run yet.
#[must_use]
pub struct BuiltSession {
    session: AgentSession,
    commands: CommandReceiver,
    redactor: Arc<Redactor>,
}

impl AgentSession {
    /// Returns a builder of a session whose tools work in `workspace` and whose answers come from `models`.
    pub fn builder(workspace: Workspace, models: LiveModels) -> SessionBuilder {
        SessionBuilder {
            workspace,
            models,
            store: None,
            settings: Settings::default(),
            hooks: HookSet::default(),
            tools: standard_tools(),
            servers: Vec::new(),
            approvals: Approvals::new(BTreeMap::from([("bash".to_owned(), Policy::Ask)]), true),
            tool_limits: ToolLimits::default(),
            secret_variables: None,
            redactor: None,
            system_prompt: None,
            instructions: Instructions::none(),
            reasoning: Reasoning::Default,
            limits: Limits::default(),
            event_bytes: EVENT_BYTES,
        }
    }
}

/// Returns the built-in system prompt for a session in this folder.
pub fn default_system_prompt(folder: &Path) -> String {
    let prompt = prompts::system();
    format!("{prompt}\n\nThe working folder is {}.", folder.display())
}

impl SessionBuilder {
    /// Sets the store, and the catalog in which forks and handoffs make their sessions; both in memory unless set.
    pub fn store(self, store: OpenSession, catalog: Arc<dyn SessionCatalog>) -> Self {
        let store = Some((store, catalog));
        Self { store, ..self }
    }

    /// Sets the settings of compaction and branch summaries.
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// Sets the hooks.
    pub fn hooks(self, hooks: HookSet) -> Self {
        Self { hooks, ..self }
    }

    /// Sets the tools; [`standard_tools`] unless set.
    pub fn tools(self, tools: Toolbox) -> Self {
        Self { tools, ..self }
    }

    /// Sets the tool servers, which are started when the session opens.
    pub fn servers(self, servers: Vec<ServerConfig>) -> Self {
        Self { servers, ..self }
    }

    /// Sets who decides about tool calls that need approval. Unless set, each is asked about by an event and waits for
    /// [`Command::Approve`](crate::runtime::Command::Approve); where nobody reads the events, it is denied.
    pub fn approvals(self, approvals: Approvals) -> Self {
        Self { approvals, ..self }
    }

    /// Sets the limits of tool calls.
    pub fn tool_limits(self, tool_limits: ToolLimits) -> Self {
        Self {
            tool_limits,
            ..self
        }
    }

    /// Sets the environment variables that hold secrets, in addition to those whose name marks them; those of the
    /// built-in catalog unless set.
    pub fn secret_variables(self, variables: Vec<String>) -> Self {
        Self {
            secret_variables: Some(variables),
            ..self
        }
    }

    /// Sets the redactor; that of the [environment](crate::rights::redactor) unless set.
    pub fn redactor(self, redactor: Arc<Redactor>) -> Self {
        let redactor = Some(redactor);
        Self { redactor, ..self }
    }

    /// Sets the system prompt; [`default_system_prompt`] unless set.
    pub fn system_prompt(self, prompt: impl Into<String>) -> Self {
        Self {
            system_prompt: Some(prompt.into()),
            ..self
        }
    }

    /// Sets the instruction files and skills; none unless set.
    pub fn instructions(self, instructions: Instructions) -> Self {
        Self {
            instructions,
            ..self
        }
    }

    /// Sets how much the model should think.
    pub fn reasoning(self, reasoning: Reasoning) -> Self {
        Self { reasoning, ..self }
    }

    /// Sets when a turn ends although the model wants to go on; never unless set.
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Sets the bound of the events that wait to be read, in bytes.
    pub fn event_bytes(self, event_bytes: usize) -> Self {
        Self {
            event_bytes,
            ..self
        }
    }

    /// Returns the session, the handle that commands it, and its events.
    pub fn build(self) -> (BuiltSession, SessionHandle, EventReceiver) {
        let catalog = || secret_variables(&Catalog::embedded());
        let secret_variables = self.secret_variables.unwrap_or_else(catalog);
        let of_environment = || Arc::new(redactor(&secret_variables, &self.servers));
        let redactor = self.redactor.unwrap_or_else(of_environment);
        let root = self.workspace.root();
        let in_memory = || -> (OpenSession, Arc<dyn SessionCatalog>) {
            let store = MemoryStore::new(&root.to_string_lossy());
            (Box::new(store), Arc::new(MemoryCatalog::new()))
        };
        let (store, catalog) = self.store.unwrap_or_else(in_memory);
        let prompt = || default_system_prompt(root);
        let system_prompt = self.system_prompt.unwrap_or_else(prompt);
        let (event_sender, events) = event_channel_of(self.event_bytes);
        let (handle, commands) = command_channel();
        let config = SessionConfig {
            tool_context: ToolContext {
                workspace: Arc::new(self.workspace),
                cancel: CancellationToken::new(),
                limits: self.tool_limits,
                approvals: self.approvals,
                overflow: store.outputs(),
                secret_variables,
                redactor: redactor.clone(),
                history: None,
                live: LiveOutput::default(),
            },
            store,
            catalog,
            models: self.models,
            settings: self.settings,
            hooks: Arc::new(self.hooks),
            tools: self.tools,
            servers: self.servers,
            system_prompt,
            instructions: self.instructions,
            reasoning: self.reasoning,
            limits: self.limits,
        };
        let session = BuiltSession {
            session: AgentSession::new(config, event_sender),
            commands,
            redactor,
        };
        (session, handle, events)
    }
}

impl BuiltSession {
    /// Runs the session until it is closed or its last handle is dropped.
    pub async fn run(self) -> Finished {
        self.session.run(self.commands).await
    }

    /// Returns the redactor of the session.
    pub fn redactor(&self) -> Arc<Redactor> {
        self.redactor.clone()
    }
}

impl std::fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionBuilder")
            .field("workspace", &self.workspace.root())
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}
