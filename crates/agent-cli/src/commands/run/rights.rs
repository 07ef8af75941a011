//! What arguments and settings let a run use: its tools, and which of them need approval.

use session_tools::standard_tools;
use std::collections::BTreeMap;

use crate::commands::run::RunArgs;
use crate::error::Error;
use agent_settings::{AppSettings, BashPolicy};
use agent_tools::Toolbox;
use agent_tools::approval::Policy;
use agent_tools::mcp::ServerConfig;

/// Returns the tools that may run without asking.
pub(super) fn allowed(args: &RunArgs) -> Result<Vec<&str>, Error> {
    let known = standard_tools();
    for name in &args.allow {
        // The tools of servers are known once those have started.
        if !name.contains("__") && !known.names().any(|known| known == name) {
            let known = known.names().collect::<Vec<_>>().join(", ");
            return Err(Error::Usage(format!(
                "--allow {name}: there is no such tool; choose from {known}, or SERVER__TOOL or SERVER__* for those of a server"
            )));
        }
    }
    Ok(args.allow.iter().map(String::as_str).collect())
}

/// Returns the tools, and the servers of those that are not our own: of the settings, and those that an editor names.
pub(super) fn toolbox(
    args: &RunArgs,
    settings: &AppSettings,
    of_client: &[ServerConfig],
) -> Result<(Toolbox, Vec<ServerConfig>), Error> {
    let (named, place): (Option<Vec<String>>, _) = match &args.tools {
        Some(names) => {
            let names = names.split(',').map(|name| name.trim().to_owned());
            (Some(names.collect()), "--tools")
        }
        None => (settings.tools.enabled.clone(), "tools.enabled"),
    };
    let mut servers = agent_tools::mcp::configured(&settings.mcp_servers);
    servers.extend_from_slice(of_client);
    match named {
        None => Ok((standard_tools(), servers)),
        Some(names) if names.iter().all(|name| name == "none" || name.is_empty()) => {
            Ok((Toolbox::none(), Vec::new()))
        }
        Some(names) => {
            let (of_servers, own): (Vec<_>, Vec<_>) =
                names.into_iter().partition(|name| name.contains("__"));
            let refused = |error| Error::Usage(format!("{place}: {error}"));
            let servers = agent_tools::mcp::named(servers, &of_servers).map_err(refused)?;
            let tools = standard_tools()
                .choose(&own)
                .map_err(|error| refused(format!("{error}; or none alone, for no tools")))?;
            Ok((tools, servers))
        }
    }
}

/// Returns the policy of each tool that has one. Those that are `allowed` for this run need not be asked about, nor
/// the commands of a script; what the settings deny stays denied.
pub(in crate::commands) fn policies(
    settings: &AppSettings,
    of_script: bool,
    allowed: &[&str],
) -> Result<BTreeMap<String, Policy>, Error> {
    let policy = |setting: BashPolicy| match setting {
        BashPolicy::Ask => Policy::Ask,
        BashPolicy::Allow => Policy::Allow,
        BashPolicy::Deny => Policy::Deny,
    };
    let named = settings.tools.policies.iter();
    let named = named.map(|(name, setting)| (name.clone(), policy(*setting)));
    // A script is the user's own; what it runs is what the user asked to run.
    let script = of_script.then_some("bash");
    let allowed: Vec<&str> = allowed.iter().copied().chain(script).collect();
    session_tools::rights::policies(named.collect(), settings.tools.bash.map(policy), &allowed)
        .map_err(|error| Error::Usage(format!("tools.policies.{error}")))
}

pub(super) fn secret_variables(
    args: &RunArgs,
    settings: &AppSettings,
) -> Result<Vec<String>, Error> {
    let mut variables = crate::models::secret_variables(settings)?;
    variables.extend(args.api_key_env.clone());
    Ok(variables)
}
