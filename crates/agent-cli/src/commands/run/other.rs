//! Other models for a session that runs already.

use crate::models::live_models;
use std::path::Path;

use compaction_core::TokenCount;
use llm_catalog::Selection;

use super::prepare::{SCRIPT_WINDOW, SCRIPTED, selection};
use super::script::ScriptFile;
use crate::commands::run::RunArgs;
use crate::error::Error;
use agent_settings::AppSettings;
use summarize::models::LiveModels;

/// Returns the models of a session in which `name` answers from now on: `PROVIDER/MODEL`, or `scripted:FILE`.
///
/// # Errors
/// [`Error::Usage`] for what is unknown, has no key, or is no script.
pub(in crate::commands) fn other_models(
    name: &str,
    args: &RunArgs,
    settings: &AppSettings,
) -> Result<LiveModels, Error> {
    if let Some(file) = name.strip_prefix(SCRIPTED) {
        let script = ScriptFile::read(Path::new(file))?.script;
        let window = script.header.window.map_or(SCRIPT_WINDOW, TokenCount);
        return Ok(LiveModels::of_script(&script.play(0, 0), window));
    }
    // Address, wire and key were given for the provider that the session began with.
    let given = args.provider.as_deref().or(args.model.as_deref());
    let provider = |name: &str| name.split('/').next().map(str::to_owned);
    let given = match given.is_some_and(|given| provider(given) == provider(name)) {
        true => selection(args, None),
        false => Selection::default(),
    };
    live_models(Some(name), given, args.record.as_deref(), settings)
}
