//! `config`: the settings in force, where each comes from, and what there is to set.

mod set;
mod show;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::commands::config::set::ConfigSetArgs;
use crate::commands::config::show::ConfigShowArgs;
use crate::error::Error;
use crate::options::Global;
use crate::ui::{DIM, GOOD, clean, styled};
use agent_settings::{FileState, KeyPath, SettingsFile, keys_of, schema, schema_text, unknown};

/// Show and change the settings, where each value comes from, and what there is to set.
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
            ConfigCommand::Show(_) | ConfigCommand::Set(_) => false,
        }
    }
}

/// What `config` shows.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Show the values in force, and where each comes from; of one setting also what it means and may be.
    Show(ConfigShowArgs),
    /// List the files that settings are read from, and whether they are there.
    Path,
    /// Print the JSON Schema of settings.json, for editors.
    Schema,
    /// Write a setting into the user's file, which stays as it is otherwise.
    Set(ConfigSetArgs),
}

#[cfg(feature = "tui")]
pub(super) use set::save;
#[cfg(feature = "tui")]
pub(super) use show::meanings;

pub(super) fn run(args: &ConfigArgs, global: &Global) -> Result<Outcome, Error> {
    match &args.command {
        ConfigCommand::Show(args) => show::run(args, global),
        ConfigCommand::Path => paths(global),
        ConfigCommand::Schema => Ok(Outcome::done(&schema(), schema_text())),
        ConfigCommand::Set(args) => set::run(args, global),
    }
}

/// Lists the files that settings are read from.
fn paths(global: &Global) -> Result<Outcome, Error> {
    let files = global.settings_sources()?.files();
    let document = json!({ "files": files });
    let mut text: String = files.iter().map(file_line).collect();
    if files.is_empty() {
        text.push_str("no files: there is no home directory; set AGENT_CLI_CONFIG_DIR\n");
    }
    Ok(Outcome::done(&document, text))
}

fn file_line(file: &SettingsFile) -> String {
    let state = match file.state {
        FileState::Read => "read",
        FileState::Missing => "missing",
        FileState::Outdated => "not read: rename settings.jsonl to settings.json",
    };
    let style = match file.state {
        FileState::Read => GOOD,
        FileState::Missing | FileState::Outdated => DIM,
    };
    let path = clean(&file.path.display().to_string());
    let state = styled(style, state);
    format!("{:8} {path}  {state}\n", file.layer.name())
}

/// Returns the path that the user named, which is that of a setting or of something around settings.
fn named(key: &str) -> Result<KeyPath, Error> {
    let path = KeyPath::parse(key).ok_or_else(|| {
        Error::Usage(format!(
            "{key}: put a name with dots in double quotes, as in models.\"a/b-1.0\".window"
        ))
    })?;
    match keys_of(&path).is_empty() {
        true => Err(Error::Usage(clean(&unknown(&path)))),
        false => Ok(path),
    }
}

/// Returns the value of a setting as it may be seen: variables and headers are hidden whatever they hold.
fn visible(path: &KeyPath, value: Value) -> Value {
    let names = path.names().unwrap_or_default();
    match (names.as_slice(), value) {
        (["providers", _, "headers", _] | ["mcpServers", _, "env", _], Value::String(_)) => {
            json!("[hidden]")
        }
        (["compaction", "remoteEndpoint"], Value::String(url)) => {
            json!(llm_providers::plain_address(&url).unwrap_or_else(|| "[hidden]".to_owned()))
        }
        (_, value) => value,
    }
}

/// Returns a value for people: JSON, or `none`.
fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        value => clean(&value.to_string()),
    }
}
