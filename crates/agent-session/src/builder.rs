//! Building a session with safe defaults.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use compaction_core::Settings;
use hooks::HookSet;
use llm_catalog::Catalog;
use llm_providers::{Reasoning, Redactor};

use crate::prompts;
use crate::runtime::{AgentSession, SessionConfig};
use agent_tools::approval::{Approvals, Policy};
use agent_tools::mcp::ServerConfig;
use agent_tools::{ToolContext, ToolLimits, Toolbox, Workspace};
use project_instructions::Instructions;
use session_protocol::channel::{EVENT_BYTES, EventReceiver, queue};
use session_protocol::settings::SessionCompaction;
use session_protocol::{Finished, Limits, SessionHandle, command_channel};
use session_store::{MemoryCatalog, MemoryStore, OpenSession, SessionCatalog};
use session_tools::rights::{redactor, secret_variables};
use session_tools::standard_tools;
use summarize::models::LiveModels;

/// Builds a session.
///
/// Unless something else is set, the session is in memory; it has the built-in tools, which stay in the workspace,
/// and commands (`bash`) need approval; secrets of the environment are removed from whatever it stores,
/// reports or sends, and commands cannot read this process; it runs no hooks and no tool servers and reads no instruction files.
#[must_use]
pub struct SessionBuilder {
    config: SessionConfig,
    secret_variables: Option<Vec<String>>,
    redactor: Option<Arc<Redactor>>,
    event_bytes: usize,
}

/// A session that was built and does not run yet.
#[must_use]
pub struct BuiltSession {
    session: AgentSession,
    redactor: Arc<Redactor>,
}

impl AgentSession {
    /// Returns a builder of a session whose tools work in `workspace` and whose answers come from `models`.
    pub fn builder(workspace: Workspace, models: LiveModels) -> SessionBuilder {
        let root = workspace.root();
        let store = MemoryStore::new(&root.to_string_lossy());
        let asks = BTreeMap::from([("bash".to_owned(), Policy::Ask)]);
        SessionBuilder {
            config: SessionConfig {
                store: Box::new(store),
                catalog: Arc::new(MemoryCatalog::new()),
                models,
                settings: Settings::default(),
                compaction: SessionCompaction::default(),
                hooks: Arc::new(HookSet::default()),
                tools: standard_tools(),
                servers: Vec::new(),
                system_prompt: default_system_prompt(root),
                instructions: Instructions::none(),
                reasoning: Reasoning::Default,
                limits: Limits::default(),
                tool_context: ToolContext::new(workspace, Approvals::new(asks, true)),
            },
            secret_variables: None,
            redactor: None,
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
    pub fn store(mut self, store: OpenSession, catalog: Arc<dyn SessionCatalog>) -> Self {
        self.config.store = store;
        self.config.catalog = catalog;
        self
    }

    /// Sets how compaction and branch summaries are done.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.config.settings = settings;
        self
    }

    /// Sets when the session is compacted.
    pub fn compaction(mut self, settings: SessionCompaction) -> Self {
        self.config.compaction = settings;
        self
    }

    /// Sets the hooks.
    pub fn hooks(mut self, hooks: HookSet) -> Self {
        self.config.hooks = Arc::new(hooks);
        self
    }

    /// Sets the tools; [`standard_tools`] unless set.
    pub fn tools(mut self, tools: Toolbox) -> Self {
        self.config.tools = tools;
        self
    }

    /// Sets the tool servers, which are started when the session opens.
    pub fn servers(mut self, servers: Vec<ServerConfig>) -> Self {
        self.config.servers = servers;
        self
    }

    /// Sets who decides about tool calls that need approval. Unless set, each is asked about by an event and waits for
    /// [`Command::Approve`](session_protocol::Command::Approve); without a reader of events it is denied.
    pub fn approvals(mut self, approvals: Approvals) -> Self {
        self.config.tool_context.approvals = approvals;
        self
    }

    /// Sets the limits of tool calls.
    pub fn tool_limits(mut self, limits: ToolLimits) -> Self {
        self.config.tool_context.limits = limits;
        self
    }

    /// Sets the environment variables that hold secrets, in addition to those whose name marks them; those of the
    /// built-in catalog unless set.
    pub fn secret_variables(mut self, variables: Vec<String>) -> Self {
        self.secret_variables = Some(variables);
        self
    }

    /// Sets the redactor; that of the [environment](session_tools::rights::redactor) unless set.
    pub fn redactor(mut self, redactor: Arc<Redactor>) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// Sets the system prompt; [`default_system_prompt`] unless set.
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.config.system_prompt = prompt.into();
        self
    }

    /// Sets the instruction files and skills; none unless set.
    pub fn instructions(mut self, instructions: Instructions) -> Self {
        self.config.instructions = instructions;
        self
    }

    /// Sets how much the model should think.
    pub fn reasoning(mut self, reasoning: Reasoning) -> Self {
        self.config.reasoning = reasoning;
        self
    }

    /// Sets when a turn ends although the model wants to go on; never unless set.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Sets the bound of the events that wait to be read, in bytes.
    pub fn event_bytes(mut self, event_bytes: usize) -> Self {
        self.event_bytes = event_bytes;
        self
    }

    /// Returns the session, the handle that commands it, and its events. From now on, commands of tools and hooks cannot
    /// [inspect](hooks::process::forbid_inspection) this process, nor can debuggers.
    pub fn build(self) -> (BuiltSession, SessionHandle, EventReceiver) {
        hooks::process::forbid_inspection();
        let mut config = self.config;
        let of_catalog = || secret_variables(&Catalog::embedded());
        let variables = self.secret_variables.unwrap_or_else(of_catalog);
        let of_environment = || Arc::new(redactor(&variables, &config.servers));
        let redactor = self.redactor.unwrap_or_else(of_environment);
        config.tool_context.secret_variables = variables;
        config.tool_context.redactor = redactor.clone();
        config.tool_context.holds_outputs = Some(session_store::holds_outputs);
        let (event_sender, events) = queue(self.event_bytes);
        let (handle, commands) = command_channel();
        let session = BuiltSession {
            session: AgentSession::new(config, event_sender, commands),
            redactor,
        };
        (session, handle, events)
    }
}

impl BuiltSession {
    /// Runs the session until it is closed or its last handle is dropped.
    pub async fn run(self) -> Finished {
        self.session.run().await
    }

    /// Returns what the tools of the session run with, for commands that the user asks for: they need no approval.
    pub fn tool_context(&self) -> ToolContext {
        let mut context = self.session.tool_context().clone();
        context.approvals = Approvals::allow_all();
        context
    }

    /// Returns the redactor of the session.
    pub fn redactor(&self) -> Arc<Redactor> {
        self.redactor.clone()
    }
}

impl std::fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionBuilder")
            .field("workspace", &self.config.tool_context.workspace.root())
            .field("models", &self.config.models)
            .finish_non_exhaustive()
    }
}
