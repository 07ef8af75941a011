//! The settings of the agent: what there is to set, the layers that it comes from, and who may set what.
//!
//! [`load_layers`] merges the layers: the defaults, the global file, the file of a project, the settings of a script, a
//! named file, variables, `KEY=VALUE`. Each is checked by itself, so that an error names the file, the line and the
//! key. [`Loaded`] contains the origin of every value. Files are JSON with comments.
//!
//! ```
//! use agent_settings::{Sources, load_layers};
//!
//! let sources = Sources {
//!     set: vec!["compaction.keepRecentTokens=5000".to_owned()],
//!     ..Sources::default()
//! };
//! let loaded = load_layers(&sources)?;
//! assert_eq!(loaded.settings.core().compaction.keep_recent_tokens.0, 5000);
//! assert_eq!(loaded.origin("compaction.keepRecentTokens").layer.name(), "set");
//! # Ok::<(), agent_settings::SettingsError>(())
//! ```
//!
//! [`models`] turns settings into providers and models: the catalog, the HTTP client, keys of the environment,
//! candidates for summaries and the models of a session. [`hooks`] makes the hooks of the settings.
//!
//! **Invariants.** A project or a script cannot choose where data is sent, which model or key is used, or that
//! commands run. A name that is no setting is an error. No message repeats what may be a key.

#![deny(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod error;
mod external;
mod fault;
pub mod hooks;
mod keys;
mod load;
pub mod models;
mod path;
mod schema;
mod sources;
mod text;
mod variables;

use std::collections::BTreeMap;

use compaction_core::{BranchSummarySettings, Settings};
use llm_catalog::{Catalog, CatalogError, ModelOverride, Overrides, ProviderOverride};
use llm_providers::Reasoning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use agent_tools::mcp::ServerSetting;
pub use error::SettingsError;
pub use external::{CommandSetting, HookSetting};
pub use fault::unknown;
pub use keys::{Key, key_table, keys, keys_of, values};
pub use load::{Loaded, load_layers};
pub use path::{KeyPath, Step};
pub use project_instructions::InstructionSettings;
pub use schema::{schema, schema_text};
pub use session_protocol::Limits;
pub use session_protocol::settings::CompactionSection;
pub use sources::{
    CONFIG_DIR_VARIABLE, FileState, Layer, Origin, PROJECT_FOLDER, SettingsFile, Sources,
    VARIABLE_PREFIX,
};

/// All settings of the program, as `settings.json` has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct AppSettings {
    /// The model of the session, as `provider/model`.
    pub model: Option<String>,
    /// The level of thinking; `--thinking` and the session override it. Unset: the provider's default.
    pub thinking: Option<Thinking>,
    /// Text that is added to the built-in system prompt.
    pub system_prompt: Option<String>,
    /// Compaction.
    pub compaction: CompactionSection,
    /// Branch summaries.
    pub branch_summary: BranchSummarySettings,
    /// Changes to the catalog's providers, and new ones, by name.
    pub providers: BTreeMap<String, ProviderOverride>,
    /// Changes to the catalog's models, and new ones, by `provider/id`.
    pub models: BTreeMap<String, ModelOverride>,
    /// Waiting for models, and trying again.
    pub http: HttpTimeouts,
    /// Limits that end a turn although the model would continue; none unless set.
    pub limits: Limits,
    /// Session files.
    pub session: SessionSettings,
    /// The agent's tools.
    pub tools: ToolSettings,
    /// The terminal.
    pub terminal: TerminalSettings,
    /// The instructions of a project, and skills.
    pub instructions: InstructionSettings,
    /// Programs that run at points in the life of a session, by name; they run in the order of their names.
    pub hooks: BTreeMap<String, HookSetting>,
    /// Servers of the Model Context Protocol whose tools are offered in addition to the agent's own, by name.
    pub mcp_servers: BTreeMap<String, ServerSetting>,
}

/// The level of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// As little as it can.
    Off,
    /// The least that counts as thinking.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Even more.
    #[cfg_attr(feature = "clap", value(name = "xhigh"))]
    XHigh,
    /// As much as it can.
    Max,
}

impl From<Thinking> for Reasoning {
    fn from(level: Thinking) -> Self {
        match level {
            Thinking::Off => Self::Off,
            Thinking::Minimal => Self::Minimal,
            Thinking::Low => Self::Low,
            Thinking::Medium => Self::Medium,
            Thinking::High => Self::High,
            Thinking::XHigh => Self::XHigh,
            Thinking::Max => Self::Max,
        }
    }
}

/// The settings under `session`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct SessionSettings {
    /// The folder of new sessions, or `postgres://USER@HOST/DATABASE`.
    pub dir: Option<String>,
    /// When writes are forced to the disk.
    pub sync: SyncSetting,
    /// The model, as `provider/model`, that continues a session whose own model is not available; without it, that is
    /// an error.
    pub fallback_model: Option<String>,
}

/// When writes to a session are forced to the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SyncSetting {
    /// After every write.
    #[default]
    Always,
    /// The operating system decides.
    Never,
}

impl From<SyncSetting> for session_store::SyncPolicy {
    fn from(setting: SyncSetting) -> Self {
        match setting {
            SyncSetting::Always => Self::Always,
            SyncSetting::Never => Self::Never,
        }
    }
}

/// The settings under `tools`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ToolSettings {
    /// The tools that the model gets; unset: all.
    pub enabled: Option<Vec<String>>,
    /// The policy for commands: run after a question (the default), run without one, or never run.
    pub bash: Option<BashPolicy>,
    /// The same for other tools, by name: `tool`, `server__tool`, `server__*` for all tools of a server, `*`.
    pub policies: BTreeMap<String, BashPolicy>,
    /// Additional folders whose files may be read and changed; `~` is the home folder, relative ones start at the
    /// workspace.
    pub folders: Vec<String>,
    /// The time limit of a command, in seconds.
    #[schemars(range(min = 1))]
    pub bash_timeout_seconds: u64,
    /// The limit of one result for the model, in bytes.
    #[schemars(range(min = 1000))]
    pub output_bytes: u64,
}

/// The policy for commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BashPolicy {
    /// After the user allowed it.
    Ask,
    /// Without a question.
    Allow,
    /// Not at all.
    Deny,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            enabled: None,
            bash: None,
            policies: BTreeMap::new(),
            folders: Vec::new(),
            bash_timeout_seconds: 120,
            output_bytes: 50_000,
        }
    }
}

/// The settings under `terminal`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct TerminalSettings {
    /// The colours; none where `NO_COLOR` is set.
    pub theme: ThemeSetting,
}

/// The colours of the terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThemeSetting {
    /// For a dark background.
    #[default]
    Dark,
    /// For a light background.
    Light,
    /// No colours.
    None,
}

/// The settings under `http`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct HttpTimeouts {
    /// The time limit for connecting, in seconds.
    #[schemars(range(min = 1))]
    pub connect_timeout_seconds: u64,
    /// The time limit without data from a service, in seconds.
    #[schemars(range(min = 1))]
    pub idle_timeout_seconds: u64,
    /// The time limit for one answer, in seconds.
    #[schemars(range(min = 1))]
    pub total_timeout_seconds: u64,
    /// The number of attempts of a request; unset: as many as the budget allows.
    #[schemars(range(min = 1))]
    pub attempts: Option<u32>,
    /// The limit of all delays between the attempts of one request, in seconds.
    pub retry_budget_seconds: u64,
    /// The same for a service that cannot be connected to and has not answered since the program started.
    pub first_contact_seconds: u64,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        Self {
            connect_timeout_seconds: 10,
            idle_timeout_seconds: 300,
            total_timeout_seconds: 3600,
            attempts: None,
            retry_budget_seconds: 300,
            first_contact_seconds: 30,
        }
    }
}

impl AppSettings {
    /// Returns the settings of the algorithms.
    pub fn core(&self) -> Settings {
        Settings {
            compaction: self.compaction.rules.clone(),
            branch_summary: self.branch_summary.clone(),
        }
    }

    /// Returns the catalog of providers and models as these settings change it, or the first setting that
    /// cannot be used; settings that were loaded can.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn catalog(&self) -> Result<Catalog, CatalogError> {
        self.changed(Catalog::embedded())
    }

    /// Returns a catalog as these settings change it.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn changed(&self, catalog: Catalog) -> Result<Catalog, CatalogError> {
        catalog.apply(&Overrides {
            providers: self.providers.clone(),
            models: self.models.clone(),
        })
    }

    /// Returns the first value that its schema cannot refuse: its key, and what is wrong.
    fn check(&self) -> Result<(), (String, String)> {
        let core = self.core().check();
        core.map_err(|error| (error.key.to_owned(), error.to_string()))?;
        self.compaction.session.check()?;
        self.instructions.check()
    }
}

#[cfg(test)]
mod tests;
