//! The servers of the settings, checked and complete.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use hooks::process::is_secret;
use llm_providers::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The default time limit for a server's start.
const START: Duration = Duration::from_secs(10);

/// The default time limit for a call.
const CALL: Duration = Duration::from_secs(120);

/// The longest name of a server, in characters: the names of its tools begin with it.
const NAME_CHARS: usize = 32;

/// The prefix of the names of servers that a client of the agent (such as an editor) configures. No server of the
/// settings has such a name, so no settings, policies or remembered answers apply to them by accident.
const OF_CLIENT: &str = "editor-";

/// A program whose tools are offered next to the agent's own: a server of the Model Context Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ServerSetting {
    /// The program: a path, or a name on `PATH`; required.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Option<Vec<String>>,
    /// Additional environment variables.
    pub env: Option<BTreeMap<String, String>>,
    /// Secret variables of the agent's environment that it gets nevertheless.
    pub pass_env: Option<Vec<String>>,
    /// Its working folder; relative to the workspace, which is the default.
    pub cwd: Option<String>,
    /// The tools that the model gets, by the server's own names; unset: all.
    pub tools: Option<Vec<String>>,
    /// The time limit until its tools are known, in seconds; unset: 10.
    pub start_timeout_seconds: Option<NonZeroU64>,
    /// The time limit for a call, in seconds; unset: 120.
    pub call_timeout_seconds: Option<NonZeroU64>,
    /// True if the server is used; unset: true.
    pub enabled: Option<bool>,
}

/// A server that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Its name in the settings.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
    /// Variables of the agent's own environment that it gets although they hold secrets.
    pub pass_env: Vec<String>,
    /// The working folder, relative to the workspace; by default the workspace.
    pub cwd: Option<PathBuf>,
    /// The tools to offer, by the server's own names; by default all.
    pub tools: Option<Vec<String>>,
    /// The tools that the user named for the session, by the names that models call; by default all.
    pub named: Option<Vec<String>>,
    /// The time limit until its tools are known.
    pub start_timeout: Duration,
    /// The time limit for a call.
    pub call_timeout: Duration,
}

/// Returns the servers that are used, in the order of their names.
pub fn configured(settings: &BTreeMap<String, ServerSetting>) -> Vec<ServerConfig> {
    let used = settings
        .iter()
        .filter(|(_, setting)| setting.enabled != Some(false));
    let configs = used.filter_map(|(name, setting)| {
        Some(ServerConfig {
            name: name.clone(),
            command: setting.command.clone()?,
            args: setting.args.clone().unwrap_or_default(),
            env: setting.env.clone().unwrap_or_default(),
            pass_env: setting.pass_env.clone().unwrap_or_default(),
            cwd: setting.cwd.as_ref().map(PathBuf::from),
            tools: setting.tools.clone(),
            named: None,
            start_timeout: seconds(setting.start_timeout_seconds, START),
            call_timeout: seconds(setting.call_timeout_seconds, CALL),
        })
    });
    configs.collect()
}

/// Returns the servers of a client of the agent, with names that are unique among them and the servers of the settings.
/// Each has its command and variables from the client, and nothing from the settings.
pub fn of_client(servers: impl IntoIterator<Item = (String, ServerSetting)>) -> Vec<ServerConfig> {
    let mut named = BTreeMap::new();
    for (name, setting) in servers {
        let letters = name.chars().map(|letter| match letter {
            letter if letter.is_ascii_alphanumeric() => letter,
            _ => '-',
        });
        let name: String = OF_CLIENT.chars().chain(letters).collect();
        let names = (1..).map(|count| match count {
            1 => name.chars().take(NAME_CHARS).collect(),
            count => {
                let count = format!("-{count}");
                let room = NAME_CHARS - count.len();
                name.chars().take(room).collect::<String>() + &count
            }
        });
        let free = names.into_iter().find(|name| !named.contains_key(name));
        named.insert(free.unwrap_or(name), setting);
    }
    configured(&named)
}

fn seconds(set: Option<NonZeroU64>, otherwise: Duration) -> Duration {
    set.map_or(otherwise, |seconds| Duration::from_secs(seconds.get()))
}

/// Checks the settings as a whole; returns the key of an invalid value, and the error.
///
/// # Errors
/// The first setting that cannot be used.
pub fn check(settings: &BTreeMap<String, ServerSetting>) -> Result<(), (String, String)> {
    for (name, setting) in settings {
        let key = format!("mcpServers.{name}");
        if let Some(wrong) = wrong_name(name) {
            return Err((key.clone(), format!("{key}: {wrong}")));
        }
        let command = setting.command.as_deref().map(str::trim);
        if setting.enabled != Some(false) && command.is_none_or(str::is_empty) {
            let message = format!(
                "{key}.command is not set; name the program, or set {key}.enabled to false"
            );
            return Err((format!("{key}.command"), message));
        }
    }
    Ok(())
}

/// Returns what is wrong with a server's name. Policies separate it from the tool's name at the first two underscores.
fn wrong_name(name: &str) -> Option<String> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if name.is_empty() || name.len() > NAME_CHARS || !name.chars().all(plain) {
        return Some(format!(
            "the name of a server has 1 to {NAME_CHARS} letters, digits, - and _"
        ));
    }
    if name.starts_with(OF_CLIENT) {
        return Some(format!(
            "names that begin with {OF_CLIENT} are those of an editor's servers"
        ));
    }
    let marks = name.contains("__") || name.starts_with('_') || name.ends_with('_');
    marks.then(|| {
        "the name of a server neither begins nor ends with _, and has no two of them in a row"
            .to_owned()
    })
}

/// Returns the servers of the tools with these names (`server__tool`, or `server__*` for all of a server), or the
/// text of an error about one that no server can have.
///
/// # Errors
/// A name that no configured server has.
pub fn named(configs: Vec<ServerConfig>, names: &[String]) -> Result<Vec<ServerConfig>, String> {
    let server = |name: &str| name.split_once("__").map(|(server, _)| server.to_owned());
    let is_there = |name: &String| {
        let server = server(name);
        configs
            .iter()
            .any(|config| Some(&config.name) == server.as_ref())
    };
    if let Some(unknown) = names.iter().find(|name| !is_there(name)) {
        let known = configs.iter().map(|config| config.name.as_str());
        let known = known.collect::<Vec<_>>().join(", ");
        return Err(match known.as_str() {
            "" => format!("there is no tool {unknown}: mcpServers has no server that is used"),
            known => format!("there is no tool {unknown}; the servers are {known}"),
        });
    }
    let chosen = configs.into_iter().filter_map(|config| {
        let own = |name: &&String| server(name).as_ref() == Some(&config.name);
        let named: Vec<String> = names.iter().filter(own).cloned().collect();
        (!named.is_empty()).then_some(ServerConfig {
            named: Some(named),
            ..config
        })
    });
    Ok(chosen.collect())
}

/// Returns the secrets that servers get, so that they are removed from what is printed and stored: all passed-on
/// variables, and those variables and arguments whose name or value marks them.
pub fn secrets(configs: &[ServerConfig]) -> Vec<Secret> {
    let values = configs.iter().flat_map(|config| {
        let passed = config.pass_env.iter();
        let passed = passed.filter_map(|name| std::env::var(name).ok());
        let given = config.env.iter();
        let given = given.filter(|(name, value)| marks_secret(name, value));
        let given = given.map(|(_, value)| value.clone());
        passed.chain(given).chain(in_arguments(&config.args))
    });
    values.filter_map(|value| Secret::new(&value)).collect()
}

fn marks_secret(name: &str, value: &str) -> bool {
    is_secret(name.as_ref(), value.as_ref(), &[])
}

/// Returns the secrets in arguments: `--api-key VALUE`, `NAME=VALUE`, `Name: VALUE`.
fn in_arguments(arguments: &[String]) -> impl Iterator<Item = String> {
    let marks = |name: &str, value: &str| {
        let name = name.trim_start_matches('-').replace('-', "_");
        !name.contains(' ') && marks_secret(&name, value)
    };
    let before = std::iter::once("").chain(arguments.iter().map(String::as_str));
    arguments
        .iter()
        .zip(before)
        .filter_map(move |(argument, before)| {
            let option = if before.starts_with('-') { before } else { "" };
            match argument.split_once(['=', ':']) {
                Some((name, value)) if marks(name, value) => Some(value.to_owned()),
                _ => marks(option, argument).then(|| argument.clone()),
            }
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Secret, ServerSetting, check, configured, of_client, secrets};

    #[test]
    fn servers_of_a_client_have_names_that_no_other_server_has() {
        let named = |name: &str| (name.to_owned(), with_arguments(&[]));
        let long = "x".repeat(40);
        let servers = of_client(["issues", "a.b", "a_b", &long, &long].map(named));
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        let cut = format!("editor-{}", "x".repeat(25));
        let second = format!("editor-{}-2", "x".repeat(23));
        assert_eq!(
            names,
            ["editor-a-b", "editor-a-b-2", "editor-issues", &second, &cut]
        );
        let of_settings = BTreeMap::from([named("editor-issues")]);
        assert!(check(&of_settings).unwrap_err().1.contains("an editor's"));
    }

    #[test]
    fn secrets_in_arguments_are_known_by_their_names() {
        for (arguments, want) in [
            (&["-y", "server", "--port", "80"][..], &[][..]),
            (&["--api-key", "abc", "x"], &["abc"]),
            (&["--access-token=abc"], &["abc"]),
            (&["-e", "GITHUB_TOKEN=abc"], &["abc"]),
            (&["--header", "Authorization: Bearer abc"], &["Bearer abc"]),
            (&["https://u:abc@host/path"], &["https://u:abc@host/path"]),
        ] {
            let settings = BTreeMap::from([("x".to_owned(), with_arguments(arguments))]);
            let found = secrets(&configured(&settings));
            let found: Vec<&str> = found.iter().map(Secret::expose).collect();
            assert_eq!(found, want, "{arguments:?}");
        }
    }

    fn with_arguments(arguments: &[&str]) -> ServerSetting {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned());
        ServerSetting {
            command: Some("program".to_owned()),
            args: Some(arguments.collect()),
            ..ServerSetting::default()
        }
    }
}
