//! Servers of tools: started when the session opens, while commands wait; ended with it.

use std::pin::pin;
use std::sync::Arc;

use llm_providers::CancellationToken;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::session::servers::{Servers, Surroundings, Tell};
use crate::session::shell::{AgentSession, Command};

impl AgentSession {
    /// Starts the servers and offers their tools; returns the commands that came meanwhile. Whoever closes the
    /// session, stops what it does or goes away ends the waiting.
    pub(super) async fn start_servers(
        &mut self,
        commands: &mut UnboundedReceiver<Command>,
    ) -> Vec<Command> {
        let configs = std::mem::take(&mut self.server_configs);
        let mut early = Vec::new();
        if configs.is_empty() {
            return early;
        }
        let events = self.events.clone();
        let tell: Tell = Arc::new(move |event| events.send(event));
        let around = Surroundings::of(&self.tool_context);
        let cancel = CancellationToken::new();
        let mut starting = pin!(Servers::start(&configs, &around, &cancel, &tell));
        let mut commanded = true;
        let servers = loop {
            tokio::select! {
                biased;
                command = commands.recv(), if commanded => {
                    if matches!(command, None | Some(Command::Close | Command::Abort)) {
                        cancel.cancel();
                    }
                    commanded = command.is_some();
                    early.extend(command);
                }
                servers = &mut starting => break servers,
            }
        };
        self.tools = self.tools.with(servers.tools());
        self.servers = servers;
        early
    }
}
