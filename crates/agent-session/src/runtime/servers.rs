//! Servers of tools: started when the session opens, while commands wait; ended with it.

use std::pin::pin;
use std::sync::Arc;

use llm_providers::CancellationToken;
use session_model::EntryId;

use crate::machine::Event;
use crate::runtime::AgentSession;
use agent_tools::mcp::{ServerEnvironment, ServerEvent, Servers, Tell};
use session_protocol::event::SessionEvent;
use session_protocol::{Ask, Call, Command};
use session_store::Delivery;

/// What waits until the servers are there.
enum Deferred {
    Call(Call),
    /// A message is kept, and still to be sent.
    Send(EntryId, Delivery),
}

impl AgentSession {
    /// Starts the servers and offers their tools. Messages that come meanwhile are kept immediately, and whoever asks how
    /// the session is gets to know; other commands are carried out in the end, in their order. Whoever closes the
    /// session, stops what it does or goes away ends the waiting.
    pub(super) async fn start_servers(&mut self) {
        let configs = std::mem::take(&mut self.server_configs);
        if configs.is_empty() {
            return;
        }
        let mut early = Vec::new();
        let events = self.events.clone();
        let tell: Tell = Arc::new(move |event| events.send(server_event(event)));
        let around = ServerEnvironment::of(&self.tool_context);
        let cancel = CancellationToken::new();
        let mut starting = pin!(Servers::start(&configs, &around, &cancel, &tell));
        let servers = loop {
            tokio::select! {
                biased;
                command = self.work.commands.next(true) => {
                    if command.is_stop() {
                        cancel.cancel();
                    }
                    early.extend(self.call_early(command.into()).await);
                }
                servers = &mut starting => break servers,
            }
        };
        self.tools = self.tools.with(servers.tools());
        self.servers = servers;
        for early in early {
            match early {
                Deferred::Call(call) => self.call(call).await,
                Deferred::Send(id, delivery) => self.feed(Event::Queued { id, delivery }).await,
            }
        }
    }

    /// Carries out what needs no tools; returns what is left to be done.
    async fn call_early(&mut self, call: Call) -> Option<Deferred> {
        match call.ask() {
            Ask::Do(Command::Prompt { .. }) => {
                let (id, delivery) = self.queue_for(call).await?;
                Some(Deferred::Send(id, delivery))
            }
            Ask::Do(_) => Some(Deferred::Call(call)),
            Ask::State | Ask::Snapshot | Ask::Pins => {
                self.call(call).await;
                None
            }
        }
    }
}

/// Returns what a session reports of a server.
fn server_event(event: ServerEvent) -> SessionEvent {
    match event {
        ServerEvent::State {
            name,
            state,
            tools,
            error,
        } => SessionEvent::ToolServer {
            name,
            state: state.into(),
            tools,
            error,
        },
        ServerEvent::Notice(text) => SessionEvent::Notice { text },
    }
}
