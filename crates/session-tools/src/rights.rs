//! What a session may use, and what must not come out of it.

use std::collections::BTreeMap;
use std::path::Path;

use hooks::process::is_secret;
use llm_catalog::Catalog;
use llm_providers::Redactor;

use crate::standard_tools;
use agent_tools::approval::{Policy, policy_of};
use agent_tools::mcp::ServerConfig;

/// The shortest value of a variable that is a secret by its name; shorter ones are words.
const SHORTEST_SECRET: usize = 16;

/// A policy was set for a tool that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name}: there is no such tool; choose from {known}, * for all, or SERVER__TOOL or SERVER__* for those of a server"
)]
pub struct UnknownTool {
    /// The name.
    pub name: String,
    /// The tools that exist, comma-separated.
    known: String,
}

/// Returns the policy of each tool that has one: those that are `named`, and that of `bash`, which is the stricter one
/// where both set it, and a question where neither does. Tools that are `allowed` need no approval; what is denied stays denied.
///
/// # Errors
/// [`UnknownTool`] when `named` holds a name that is neither a tool of a session nor one of a server.
pub fn policies(
    named: BTreeMap<String, Policy>,
    bash: Option<Policy>,
    allowed: &[&str],
) -> Result<BTreeMap<String, Policy>, UnknownTool> {
    let known = standard_tools();
    let is_unknown = |name: &&String| {
        *name != "*" && !name.contains("__") && !known.names().any(|known| known == *name)
    };
    if let Some(name) = named.keys().find(is_unknown) {
        return Err(UnknownTool {
            name: name.clone(),
            known: known.names().collect::<Vec<_>>().join(", "),
        });
    }
    let mut policies = named;
    let bash = bash.max(policy_of(&policies, "bash"));
    policies.insert("bash".to_owned(), bash.unwrap_or(Policy::Ask));
    for name in allowed {
        if policy_of(&policies, name) != Some(Policy::Deny) {
            policies.insert((*name).to_owned(), Policy::Allow);
        }
    }
    Ok(policies)
}

/// Returns the environment variables that hold the keys of the providers in a catalog.
pub fn secret_variables(catalog: &Catalog) -> Vec<String> {
    let providers = catalog.providers();
    let keys = providers.filter_map(|provider| provider.api_key_env.clone());
    keys.collect()
}

/// Returns the redactor that removes the values of these environment variables, of all whose name marks them as
/// secrets, and the secrets that servers get.
pub fn redactor(variables: &[String], servers: &[ServerConfig]) -> Redactor {
    let secrets = std::env::vars_os().filter(|(name, value)| is_secret(name, value, variables));
    let mut redactor = Redactor::default();
    for (_, value) in secrets {
        let value = value.to_string_lossy();
        let value = value.trim();
        // The path of a file with a secret is no secret.
        let is_file = Path::new(value).is_absolute() && Path::new(value).exists();
        if value.len() < SHORTEST_SECRET || is_file {
            continue;
        }
        redactor.add(value);
        // One line of a secret may be shown without the others.
        let lines = value.lines().map(str::trim);
        let long = |line: &&str| line.len() >= SHORTEST_SECRET && !line.contains(' ');
        lines.filter(long).for_each(|line| redactor.add(line));
    }
    for secret in agent_tools::mcp::secrets(servers) {
        redactor.add(secret.expose());
    }
    redactor
}

#[cfg(test)]
mod tests {
    use super::{Policy, policies, policy_of};

    #[test]
    fn denied_tools_stay_denied_when_they_are_allowed_for_a_run() {
        let policies = |set: &[(&str, Policy)], allowed: &[&str]| {
            let set = set
                .iter()
                .map(|(name, policy)| ((*name).to_owned(), *policy));
            let policies = policies(set.collect(), None, allowed).unwrap();
            let policy = |tool: &str| policy_of(&policies, tool);
            ["bash", "read", "s__a", "s__b"].map(policy)
        };
        let (allow, ask, deny) = (Some(Policy::Allow), Some(Policy::Ask), Some(Policy::Deny));
        let of_server = ("s__*", Policy::Deny);
        assert_eq!(policies(&[of_server], &["s__a"]), [ask, None, deny, deny]);
        assert_eq!(policies(&[of_server], &["s__*"]), [ask, None, deny, deny]);
        let one = ("s__a", Policy::Deny);
        assert_eq!(policies(&[one], &["s__*"]), [ask, None, deny, allow]);
        let own = ("s__a", Policy::Ask);
        let both = policies(&[of_server, own], &["s__a"]);
        assert_eq!(both, [ask, None, allow, deny]);
        let all = ("*", Policy::Deny);
        let allowed = ["bash", "read", "s__a", "s__*"];
        assert_eq!(policies(&[all], &allowed), [deny; 4]);
        assert_eq!(policies(&[], &allowed), [allow; 4]);
    }

    #[test]
    fn the_stricter_policy_of_bash_counts() {
        let (allow, ask, deny) = (Policy::Allow, Policy::Ask, Policy::Deny);
        for (name, named, own, want) in [
            ("*", allow, Some(ask), ask),
            ("*", allow, Some(deny), deny),
            ("*", allow, None, allow),
            ("*", deny, Some(allow), deny),
            ("bash", allow, Some(ask), ask),
            ("bash", ask, Some(allow), ask),
            ("read", allow, None, ask),
            ("read", allow, Some(allow), allow),
        ] {
            let policies = policies([(name.to_owned(), named)].into(), own, &[]).unwrap();
            assert_eq!(policy_of(&policies, "bash"), Some(want), "{name}");
        }
        // What is allowed for a run need not be asked about.
        let allowed = policies([].into(), Some(ask), &["bash"]).unwrap();
        assert_eq!(policy_of(&allowed, "bash"), Some(allow));
    }

    #[test]
    fn a_policy_for_an_unknown_tool_is_refused() {
        let set = [("bsh".to_owned(), Policy::Deny)];
        let refused = policies(set.into(), None, &[]).unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("bsh: there is no such tool"),
            "{refused}"
        );
    }
}
