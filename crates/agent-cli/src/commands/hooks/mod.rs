//! `hooks`: the programs that settings let into a session, and trials of them.

mod event;
mod list;
mod merged;
mod trial;

use std::sync::Arc;

use crate::args::{Global, HooksArgs, HooksCommand};
use crate::commands::Outcome;
use crate::error::Error;
use crate::extensions::hooks::HookHouse;
use crate::extensions::secret_variables;
use crate::settings::AppSettings;
use agent_session::rights::redactor;

pub(super) fn run(args: &HooksArgs, global: &Global) -> Result<Outcome, Error> {
    match &args.command {
        HooksCommand::List => list::run(global),
        HooksCommand::Test(args) => trial::run(args, global),
    }
}

fn house(settings: &AppSettings, global: &Global) -> Result<HookHouse, Error> {
    let secret_variables = secret_variables(settings)?;
    let servers = agent_tools::mcp::configured(&settings.mcp_servers);
    Ok(HookHouse {
        home: global.settings_sources()?.home,
        redactor: Arc::new(redactor(&secret_variables, &servers)),
        secret_variables,
    })
}
