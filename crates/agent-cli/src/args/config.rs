//! The arguments of `config`.

use clap::{Args, Subcommand};

/// Arguments of `config`.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// What to show.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

impl ConfigArgs {
    /// Returns true for what is shown also when settings are wrong.
    pub const fn needs_no_settings(&self) -> bool {
        match self.command {
            ConfigCommand::Path | ConfigCommand::Schema => true,
            ConfigCommand::Show(_) | ConfigCommand::Explain(_) => false,
        }
    }
}

/// What `config` shows.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show the values in force, and where each comes from.
    Show(ConfigShowArgs),
    /// List the files that settings are read from, and whether they are there.
    Path,
    /// Print the JSON Schema of settings.json, for editors.
    Schema,
    /// Say what a setting means, what it may be, what it is and why; without KEY list all.
    Explain(ConfigExplainArgs),
}

/// Arguments of `config show`.
#[derive(Debug, Args)]
pub struct ConfigShowArgs {
    /// Show only this setting, or those inside it.
    pub key: Option<String>,
    /// Show only what is not as built in.
    #[arg(long)]
    pub changed: bool,
}

/// Arguments of `config explain`.
#[derive(Debug, Args)]
pub struct ConfigExplainArgs {
    /// The setting, or what it is inside of.
    pub key: Option<String>,
    /// With a key that decides when to compact: reckon for a model of this window; 200000 unless given.
    #[arg(
        long,
        value_name = "TOKENS",
        requires = "key",
        allow_negative_numbers = true
    )]
    pub window: Option<i64>,
}
