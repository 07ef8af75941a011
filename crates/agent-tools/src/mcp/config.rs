//! What the settings say of servers, checked and complete.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use hooks::process::is_secret;
use llm_providers::Secret;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long a server may take to start, unless the settings say otherwise.
const START: Duration = Duration::from_secs(10);

/// How long a call may take, unless the settings say otherwise.
const CALL: Duration = Duration::from_secs(120);

/// The longest name of a server, in characters: the names of its tools begin with it.
const NAME_CHARS: usize = 32;

/// A program whose tools are offered next to the agent's own: a server of the Model Context Protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct ServerSetting {
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Option<Vec<String>>,
    /// Environment variables that it gets in addition to the agent's own.
    pub env: Option<BTreeMap<String, String>>,
    /// Variables of the agent's own environment that hold secrets and that it gets all the same.
    pub pass_env: Option<Vec<String>>,
    /// The folder that it runs in; the workspace unless set.
    pub cwd: Option<String>,
    /// The tools of it that the model gets; all of them unless set.
    pub tools: Option<Vec<String>>,
    /// How long it may take to start, in seconds; 10 unless set.
    pub start_timeout_seconds: Option<NonZeroU64>,
    /// How long a call may take, in seconds; 120 unless set.
    pub call_timeout_seconds: Option<NonZeroU64>,
    /// Whether it is used; it is unless set.
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
    /// Environment variables that it gets in addition to the agent's own.
    pub env: BTreeMap<String, String>,
    /// Variables of the agent's own environment that it gets although they hold secrets.
    pub pass_env: Vec<String>,
    /// The folder that it runs in, from the workspace; the workspace unless given.
    pub cwd: Option<PathBuf>,
    /// The tools that are offered, by the server's own names; all of them unless given.
    pub tools: Option<Vec<String>>,
    /// The tools that the session was asked for, by the names that models call; all of them unless given.
    pub named: Option<Vec<String>>,
    /// How long it may take until its tools are known.
    pub start_timeout: Duration,
    /// How long a call may take.
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

fn seconds(set: Option<NonZeroU64>, otherwise: Duration) -> Duration {
    set.map_or(otherwise, |seconds| Duration::from_secs(seconds.get()))
}

/// Checks what the settings say as a whole; returns the key of what cannot be used, and what is wrong.
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

/// Returns what is wrong about a server's name. Policies tell it from the tool's by the first two underscores.
fn wrong_name(name: &str) -> Option<String> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    if name.is_empty() || name.len() > NAME_CHARS || !name.chars().all(plain) {
        return Some(format!(
            "the name of a server has 1 to {NAME_CHARS} letters, digits, - and _"
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

/// Returns the secrets that servers are given, so that they are taken out of what is said: all that is passed on, and
/// of the other variables those whose name or value tells.
pub fn secrets(configs: &[ServerConfig]) -> Vec<Secret> {
    let tells = |name: &str, value: &str| is_secret(name.as_ref(), value.as_ref(), &[]);
    let values = configs.iter().flat_map(|config| {
        let passed = config.pass_env.iter();
        let passed = passed.filter_map(|name| std::env::var(name).ok());
        let given = config.env.iter();
        let given = given.filter(move |(name, value)| tells(name, value));
        passed.chain(given.map(|(_, value)| value.clone()))
    });
    values.filter_map(|value| Secret::new(&value)).collect()
}
