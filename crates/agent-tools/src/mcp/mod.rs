//! Servers of the Model Context Protocol: programs whose tools are offered next to the agent's own.
//!
//! [`Servers::start`] starts the servers of the settings concurrently, each as a group of processes; a task for each
//! server watches it until it ends or [`Servers::stop`] ends it. All content of a server (names, descriptions, schemas,
//! results) is untrusted: bounded, cleaned, and never interpreted.

mod config;
mod connection;
mod content;
mod handler;
mod listing;
mod process;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod tool;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::join_all;
use llm_providers::{CancellationToken, Redactor};
use tokio::task::JoinHandle;

use crate::context::ToolContext;
use crate::tool::Tool;

pub use config::{ServerConfig, ServerSetting, check, configured, named, of_client, secrets};

use connection::{Connected, connect};
use tool::ServerTool;

/// The number of left-out tools that a notice names.
const NAMED: usize = 5;

/// Something that happened to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEvent {
    /// A server is ready, failed to start, or has ended.
    State {
        /// Its name in the settings.
        name: String,
        /// `ready`, `failed` or `gone`.
        state: &'static str,
        /// The number of tools that it offers.
        tools: usize,
        /// The reason why it is not used.
        error: Option<String>,
    },
    /// Something that a user should know.
    Notice(String),
}

/// Receives the event of every server that is ready, failed, or has ended.
pub type Tell = Arc<dyn Fn(ServerEvent) + Send + Sync>;

/// The environment in which servers are started.
#[derive(Debug, Clone)]
pub struct ServerEnvironment {
    /// The default working folder of servers, and the root that they get.
    pub workspace: PathBuf,
    /// Environment variables that they do not get, in addition to those with the name of a secret.
    pub secret_variables: Vec<String>,
    /// Removes keys from their output.
    pub redactor: Arc<Redactor>,
}

impl ServerEnvironment {
    /// Returns what tools work in, as far as servers do too.
    pub fn of(context: &ToolContext) -> Self {
        Self {
            workspace: context.workspace.root().to_owned(),
            secret_variables: context.secret_variables.clone(),
            redactor: context.redactor.clone(),
        }
    }
}

/// The result of one server's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its name in the settings.
    pub name: String,
    /// Its tools, or why it is not used.
    pub tools: Result<Vec<ToolReport>, String>,
    /// The tools that were left out, each with the reason.
    pub left_out: Vec<String>,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolReport {
    /// The name that models call.
    pub name: String,
    /// The server's description.
    pub description: String,
}

/// Servers that run; dropped, they are ended in the background.
#[derive(Default)]
pub struct Servers {
    tools: Vec<Arc<dyn Tool>>,
    reports: Vec<Report>,
    supervisor: Vec<JoinHandle<()>>,
    stop: Stop,
}

/// Ends the servers when it is dropped.
#[derive(Default)]
struct Stop(CancellationToken);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Servers {
    /// Starts servers concurrently and reports each when it is ready or has failed. Takes as long as the slowest of
    /// them; after `cancel` those that are not ready are given up.
    pub async fn start(
        configs: &[ServerConfig],
        around: &ServerEnvironment,
        cancel: &CancellationToken,
        tell: &Tell,
    ) -> Self {
        let mut servers = Self::default();
        let stop = servers.stop.0.clone();
        let starting = configs.iter().map(|config| {
            let stop = stop.clone();
            async move {
                let connected = connect(config, around, cancel, stop, tell).await;
                announce(config, &connected, tell);
                connected
            }
        });
        for (config, connected) in configs.iter().zip(join_all(starting).await) {
            servers.add(config, connected);
        }
        servers
    }

    fn add(&mut self, config: &ServerConfig, connected: Result<Connected, String>) {
        let mut left_out = Vec::new();
        let tools = connected.map(|connected| {
            self.supervisor.push(connected.supervisor);
            left_out = connected.listing.left_out;
            let mut reports = Vec::new();
            for listed in connected.listing.tools {
                reports.push(ToolReport {
                    name: listed.name.clone(),
                    description: listed.description.clone(),
                });
                let link = connected.link.clone();
                self.tools.push(Arc::new(ServerTool { listed, link }));
            }
            reports
        });
        self.reports.push(Report {
            name: config.name.clone(),
            tools,
            left_out,
        });
    }

    /// Returns the tools of all servers.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// Returns the result of each start, in the order of the settings.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Ends the servers concurrently: their input is closed, and who has not ended within a second is killed.
    pub async fn stop(mut self) {
        self.stop.0.cancel();
        // A server whose task failed is killed as the task is dropped.
        join_all(std::mem::take(&mut self.supervisor)).await;
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.reports).finish()
    }
}

/// Reports the result of a server's start.
fn announce(config: &ServerConfig, connected: &Result<Connected, String>, tell: &Tell) {
    let (state, tools, error) = match connected {
        Ok(connected) => ("ready", connected.listing.tools.len(), None),
        Err(error) => ("failed", 0, Some(error.clone())),
    };
    tell(ServerEvent::State {
        name: config.name.clone(),
        state,
        tools,
        error,
    });
    let left_out = connected
        .as_ref()
        .map_or(&[][..], |connected| &connected.listing.left_out);
    if !left_out.is_empty() {
        let named = left_out.iter().take(NAMED).map(String::as_str);
        let named = named.collect::<Vec<_>>().join("; ");
        let more = match left_out.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let name = &config.name;
        tell(ServerEvent::Notice(format!(
            "tool server {name}: not all of its tools are offered: {named}{more}"
        )));
    }
}
