//! `hooks`: the programs that settings let into a session, and trials of them.

pub(super) mod list;
mod merged;
mod trial;

use std::sync::Arc;

use clap::{Args, Subcommand};

use crate::commands::Outcome;
use crate::commands::hooks::trial::HooksTestArgs;
use crate::error::Error;
use crate::extensions::secret_variables;
use crate::options::Global;
use agent_settings::AppSettings;
use agent_settings::hooks::HookEnvironment;
use session_tools::rights::redactor;

/// List the hooks of the settings, or try them.
#[derive(Debug, Args)]
pub struct HooksArgs {
    /// What to do with hooks.
    #[command(subcommand)]
    pub command: HooksCommand,
}

/// What to do with hooks.
#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// List the hooks of the settings: where each is asked, what it runs, and where it is set.
    List,
    /// Run the hooks of one point with an example, and show what they answer and what would come of it.
    Test(HooksTestArgs),
}

pub(super) fn run(args: &HooksArgs, global: &Global) -> Result<Outcome, Error> {
    match &args.command {
        HooksCommand::List => list::run(global),
        HooksCommand::Test(args) => trial::run(args, global),
    }
}

fn environment(settings: &AppSettings, global: &Global) -> Result<HookEnvironment, Error> {
    let secret_variables = secret_variables(settings)?;
    let servers = agent_tools::mcp::configured(&settings.mcp_servers);
    Ok(HookEnvironment {
        home: global.settings_sources()?.home,
        redactor: Arc::new(redactor(&secret_variables, &servers)),
        secret_variables,
    })
}
