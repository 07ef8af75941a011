//! What a run may use: its tools, which of them need leave, and what must not come out of them.

use agent_session::tools::standard_tools;
use std::collections::BTreeMap;
use std::path::Path;

use hooks::process::is_secret;
use llm_providers::Redactor;

use crate::commands::run::RunArgs;
use crate::error::Error;
use crate::settings::{AppSettings, BashPolicy};
use agent_tools::Toolbox;
use agent_tools::approval::{Policy, policy_of};
use agent_tools::mcp::ServerConfig;

/// The shortest value of a variable that is a secret by its name; shorter ones are words.
const SHORTEST_SECRET: usize = 16;

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

/// Returns the tools, and the servers of those that are not our own.
pub(super) fn toolbox(
    args: &RunArgs,
    settings: &AppSettings,
) -> Result<(Toolbox, Vec<ServerConfig>), Error> {
    let (named, place): (Option<Vec<String>>, _) = match &args.tools {
        Some(names) => {
            let names = names.split(',').map(|name| name.trim().to_owned());
            (Some(names.collect()), "--tools")
        }
        None => (settings.tools.enabled.clone(), "tools.enabled"),
    };
    let servers = agent_tools::mcp::configured(&settings.mcp_servers);
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
    let known = standard_tools();
    let mut names = settings.tools.policies.keys();
    let unknown = |name: &&String| {
        *name != "*" && !name.contains("__") && !known.names().any(|known| known == *name)
    };
    if let Some(name) = names.find(unknown) {
        let known = known.names().collect::<Vec<_>>().join(", ");
        return Err(Error::Usage(format!(
            "tools.policies.{name}: there is no such tool; choose from {known}, * for all, or SERVER__TOOL or SERVER__* for those of a server"
        )));
    }
    let policy = |setting: BashPolicy| match setting {
        BashPolicy::Ask => Policy::Ask,
        BashPolicy::Allow => Policy::Allow,
        BashPolicy::Deny => Policy::Deny,
    };
    let named = settings.tools.policies.iter();
    let mut policies: BTreeMap<String, Policy> = named
        .map(|(name, setting)| (name.clone(), policy(*setting)))
        .collect();
    let named = policy_of(&policies, "bash");
    let bash = match (named, policy(settings.tools.bash)) {
        // It has two settings; the one that is no default holds, and of two the stricter.
        (Some(Policy::Deny), _) | (_, Policy::Deny) => Policy::Deny,
        (Some(named), Policy::Ask) => named,
        (Some(Policy::Ask), Policy::Allow) => Policy::Ask,
        (Some(Policy::Allow) | None, own) => own,
    };
    policies.insert("bash".to_owned(), bash);
    // A script is the user's own; what it runs is what the user asked to run.
    let script = of_script.then_some("bash");
    for name in allowed.iter().copied().chain(script) {
        match policy_of(&policies, name) {
            Some(Policy::Deny) => {}
            Some(Policy::Ask | Policy::Allow) | None => {
                policies.insert(name.to_owned(), Policy::Allow);
            }
        }
    }
    Ok(policies)
}

/// Returns what takes the values of these variables out of texts, of those that are secrets by their name, and the
/// secrets that servers get.
pub(in crate::commands) fn redactor(variables: &[String], servers: &[ServerConfig]) -> Redactor {
    let secrets = std::env::vars_os().filter(|(name, _)| is_secret(name, variables));
    let mut redactor = Redactor::default();
    for (_, value) in secrets {
        let value = value.to_string_lossy();
        let value = value.trim();
        // A file with a secret is named often, and its name is none.
        let is_file = Path::new(value).is_absolute() && Path::new(value).exists();
        if value.len() < SHORTEST_SECRET || is_file {
            continue;
        }
        redactor.add(value);
        // Of a secret of several lines, one may be shown without the others.
        let lines = value.lines().map(str::trim);
        let telling = |line: &&str| line.len() >= SHORTEST_SECRET && !line.contains(' ');
        lines.filter(telling).for_each(|line| redactor.add(line));
    }
    for secret in agent_tools::mcp::secrets(servers) {
        redactor.add(secret.expose());
    }
    redactor
}

pub(super) fn secret_variables(
    args: &RunArgs,
    settings: &AppSettings,
) -> Result<Vec<String>, Error> {
    let mut variables = crate::extensions::secret_variables(settings)?;
    variables.extend(args.api_key_env.clone());
    Ok(variables)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_settings_deny_is_not_allowed_for_a_run() {
        let policies = |set: &[(&str, BashPolicy)], allowed: &[&str]| {
            let mut settings = AppSettings::default();
            let set = set
                .iter()
                .map(|(name, policy)| ((*name).to_owned(), *policy));
            settings.tools.policies = set.collect();
            let policies = policies(&settings, false, allowed).unwrap();
            let policy = |tool: &str| policy_of(&policies, tool);
            ["bash", "read", "s__a", "s__b"].map(policy)
        };
        let (allow, ask, deny) = (Some(Policy::Allow), Some(Policy::Ask), Some(Policy::Deny));
        let of_server = ("s__*", BashPolicy::Deny);
        assert_eq!(policies(&[of_server], &["s__a"]), [ask, None, deny, deny]);
        assert_eq!(policies(&[of_server], &["s__*"]), [ask, None, deny, deny]);
        let one = ("s__a", BashPolicy::Deny);
        assert_eq!(policies(&[one], &["s__*"]), [ask, None, deny, allow]);
        let own = ("s__a", BashPolicy::Ask);
        assert_eq!(
            policies(&[of_server, own], &["s__a"]),
            [ask, None, allow, deny]
        );
        let all = ("*", BashPolicy::Deny);
        let allowed = ["bash", "read", "s__a", "s__*"];
        assert_eq!(policies(&[all], &allowed), [deny; 4]);
        assert_eq!(policies(&[], &allowed), [allow; 4]);
    }

    #[test]
    fn a_policy_for_a_tool_that_is_not_there_is_refused() {
        let mut settings = AppSettings::default();
        let set = [("bsh".to_owned(), BashPolicy::Deny)];
        settings.tools.policies = set.into();
        let refused = policies(&settings, false, &[]).unwrap_err().to_string();
        assert!(
            refused.starts_with("tools.policies.bsh: there is no such tool"),
            "{refused}"
        );
    }
}
