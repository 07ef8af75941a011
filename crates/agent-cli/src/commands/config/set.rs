//! `config set`: one setting in the user's file of settings, which stays as it is otherwise.

use clap::Args;
use serde_json::{Value, json};

use super::{named, value_text};
use crate::commands::Outcome;
use crate::commands::setup::{rewrite, set};
use crate::error::Error;
use crate::options::Global;
use crate::ui::clean;
use agent_settings::{Layer, Sources, load_layers};

/// Arguments of `config set`.
#[derive(Debug, Args)]
pub struct ConfigSetArgs {
    /// The setting; config show lists them.
    pub key: String,
    /// Its value: JSON, or a bare word. null removes it from the file.
    #[arg(allow_hyphen_values = true)]
    pub value: String,
}

pub(super) fn run(args: &ConfigSetArgs, global: &Global) -> Result<Outcome, Error> {
    let (document, text) = save(&args.key, &args.value, global)?;
    Ok(Outcome::done(&document, text))
}

/// Writes a setting; returns the document and the text about it.
pub(in crate::commands) fn save(
    key: &str,
    value: &str,
    global: &Global,
) -> Result<(Value, String), Error> {
    let path = named(key)?;
    let names = path.names().unwrap_or_default();
    // What cannot be used is not written.
    let sources = global.settings_sources()?;
    let files = sources.files();
    load_layers(&Sources {
        set: vec![format!("{key}={value}")],
        ..sources
    })?;
    let file = files.into_iter().find(|file| file.layer == Layer::Global);
    let file = file.ok_or_else(|| {
        Error::Usage("there is no home directory; set AGENT_CLI_CONFIG_DIR".to_owned())
    })?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    rewrite(file.path.clone(), |text| set(text, &names, &value))?;
    let text = format!(
        "{} = {}, in {}\n",
        clean(&path.to_string()),
        value_text(&value),
        clean(&file.path.display().to_string())
    );
    let document = json!({ "key": path.to_string(), "value": value, "file": file.path });
    Ok((document, text))
}
