//! One server: starts it, requests its tools, calls them, and watches its end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use llm_providers::{CancellationToken, Redactor};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, JsonObject, PaginatedRequestParams,
};
use rmcp::service::{ClientInitializeError, RunningService, serve_client};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{Peer, RoleClient, ServiceError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ServerEvent;
use super::config::ServerConfig;
use super::handler::Handler;
use super::listing::{Listed, Listing, Room};
use super::process::{Process, SAID_CHARS, noise};
use super::stream::{LINE_BYTES, StreamFindings};
use super::text::{cleaned, one_line};
use super::{ServerEnvironment, Tell};

/// How long a call waits for the reason why its server has ended.
const REASON: Duration = Duration::from_secs(7);

/// How long the output of a server that has ended is read: other processes may keep it open without limit.
const REST: Duration = Duration::from_millis(200);

/// The number of pages of tools that are requested.
const PAGES: usize = 200;

/// A server that is ready.
pub(super) struct Connected {
    /// The way to it.
    pub link: Arc<Link>,
    /// Its tools.
    pub listing: Listing,
    /// Looks after it until it ends.
    pub supervisor: JoinHandle<()>,
}

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Ready,
    /// It cannot, and why.
    Gone(String),
}

/// The way to a server.
#[derive(Debug)]
pub(super) struct Link {
    server: String,
    peer: Peer<RoleClient>,
    state: watch::Receiver<State>,
    findings: StreamFindings,
    redactor: Arc<Redactor>,
    call_timeout: Duration,
}

/// The reason why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallError {
    Cancelled,
    Failed(String),
}

impl Link {
    /// Calls a tool. If the future is dropped, the server is notified that the call is cancelled.
    pub async fn call(
        &self,
        tool: &Listed,
        arguments: JsonObject,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, CallError> {
        if let State::Gone(why) = &*self.state.borrow() {
            return Err(CallError::Failed(self.ended_error(why)));
        }
        let call = CallToolRequestParams::new(tool.own.clone()).with_arguments(arguments);
        let answered = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(CallError::Cancelled),
            answered = timeout(self.call_timeout, self.peer.call_tool_once(call)) => answered,
        };
        if matches!(answered, Ok(Ok(_) | Err(ServiceError::McpError(_)))) {
            self.findings.answered();
        }
        let error = match answered {
            Ok(Ok(CallToolResponse::Complete(result))) => return Ok(result),
            Ok(Ok(_)) => "it asks for more before it answers, which is not supported".to_owned(),
            Ok(Err(ServiceError::McpError(error))) => {
                format!("it refused: {}", cleaned(&error.message, SAID_CHARS))
            }
            Ok(Err(ServiceError::UnexpectedResponse)) => {
                "its answer is none that the protocol knows".to_owned()
            }
            Ok(Err(error)) => match self.reason(cancel).await? {
                Some(why) => return Err(CallError::Failed(self.ended_error(&why))),
                None => one_line(&error.to_string(), SAID_CHARS),
            },
            Err(_) => format!(
                "no answer within {} seconds (mcpServers.{}.callTimeoutSeconds); it was cancelled{}",
                self.call_timeout.as_secs_f64(),
                self.server,
                self.redactor.clean(&noise(&self.findings))
            ),
        };
        let message = format!("{}: {error}", tool.name);
        Err(CallError::Failed(message))
    }

    /// Waits until it is known why the server has ended.
    async fn reason(&self, cancel: &CancellationToken) -> Result<Option<String>, CallError> {
        let mut state = self.state.clone();
        let gone = state.wait_for(|state| *state != State::Ready);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(CallError::Cancelled),
            known = timeout(REASON, gone) => Ok(match known.ok().and_then(Result::ok).as_deref() {
                Some(State::Gone(why)) => Some(why.clone()),
                Some(State::Ready) | None => None,
            }),
        }
    }

    fn ended_error(&self, why: &str) -> String {
        let server = &self.server;
        format!(
            "tool server {server} is gone: {why}; do without its tools until the session is started again"
        )
    }
}

/// Starts a server and requests its tools; the error contains the server's own words. After `stop` it is ended; after
/// `cancel` it is given up if it is not ready yet.
pub(super) async fn connect(
    config: &ServerConfig,
    around: &ServerEnvironment,
    cancel: &CancellationToken,
    stop: CancellationToken,
    tell: &Tell,
) -> Result<Connected, String> {
    let (process, lines, input) = Process::start(config, around)?;
    let transport = AsyncRwTransport::new_client(lines, input).with_max_line_length(LINE_BYTES);
    let handler = Handler {
        workspace: around.workspace.clone(),
    };
    let findings = process.findings();
    let opening = async {
        let service = serve_client(handler, transport)
            .await
            .map_err(StartError::of)?;
        let listing = list(config, around, &service, &findings).await?;
        Ok((service, listing))
    };
    let opened = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(StartError::Own("its start was cancelled".to_owned())),
        opened = timeout(config.start_timeout, opening) => opened.unwrap_or_else(|_| {
            Err(StartError::Own(format!(
                "it was not ready within {} seconds (mcpServers.{}.startTimeoutSeconds)",
                config.start_timeout.as_secs_f64(),
                config.name
            )))
        }),
    };
    let (service, listing) = match opened {
        Ok(opened) => opened,
        Err(StartError::Own(what)) => return Err(process.kill(&what).await),
        Err(StartError::Closed) => return Err(process.explain().await),
    };
    let (sender, state) = watch::channel(State::Ready);
    let link = Arc::new(Link {
        server: config.name.clone(),
        peer: service.peer().clone(),
        state,
        findings: process.findings(),
        redactor: around.redactor.clone(),
        call_timeout: config.call_timeout,
    });
    let supervisor = ServerSupervisor {
        name: config.name.clone(),
        state: sender,
        tell: tell.clone(),
        stop,
    };
    let supervisor = tokio::spawn(supervisor.run(service, process));
    Ok(Connected {
        link,
        listing,
        supervisor,
    })
}

/// Looks after a server.
struct ServerSupervisor {
    name: String,
    state: watch::Sender<State>,
    tell: Tell,
    stop: CancellationToken,
}

impl ServerSupervisor {
    /// Waits until the server ends, or ends it.
    async fn run(self, service: RunningService<RoleClient, Handler>, mut process: Process) {
        let close = service.cancellation_token();
        let mut closed = pin!(service.waiting());
        let stopped = tokio::select! {
            biased;
            () = self.stop.cancelled() => true,
            _ = &mut closed => false,
            () = process.ended() => {
                // A child may hold its output; what is written there already is read.
                let _ = timeout(REST, &mut closed).await;
                false
            }
        };
        if stopped {
            let why = "the session has ended".to_owned();
            self.state.send_replace(State::Gone(why));
            // Closes its input.
            close.cancel();
            return process.leave(closed).await;
        }
        let why = process.explain().await;
        (self.tell)(ServerEvent::State {
            name: self.name,
            state: "gone",
            tools: 0,
            error: Some(why.clone()),
        });
        self.state.send_replace(State::Gone(why));
        close.cancel();
    }
}

/// A failed start.
enum StartError {
    /// In our words, and those of the server that fit in.
    Own(String),
    /// It closed its output.
    Closed,
}

impl StartError {
    fn of(error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. } => Self::Closed,
            ClientInitializeError::JsonRpcError(error) => Self::Own(format!(
                "it refused to begin: {}",
                one_line(&error.message, SAID_CHARS)
            )),
            other => Self::Own(one_line(&format!("it began oddly: {other}"), SAID_CHARS)),
        }
    }

    fn of_listing(error: ServiceError) -> Self {
        match error {
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => Self::Closed,
            ServiceError::McpError(error) => Self::Own(format!(
                "it refused to list its tools: {}",
                one_line(&error.message, SAID_CHARS)
            )),
            other => {
                let message = format!("its list of tools cannot be used: {other}");
                Self::Own(one_line(&message, SAID_CHARS))
            }
        }
    }
}

/// Asks for all tools, page by page.
async fn list(
    config: &ServerConfig,
    around: &ServerEnvironment,
    service: &RunningService<RoleClient, Handler>,
    findings: &StreamFindings,
) -> Result<Listing, StartError> {
    let mut listing = Listing::new(around.redactor.clone());
    let about = service.peer_info();
    if about.is_some_and(|about| about.capabilities.tools.is_none()) {
        listing.note_missing(config);
        return Ok(listing);
    }
    let mut cursor = None;
    for _ in 0..PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor.take());
        let listed = service.list_tools(Some(page)).await;
        let listed = listed.map_err(StartError::of_listing)?;
        findings.answered();
        for tool in listed.tools {
            if listing.add(config, tool) == Room::Full {
                return Ok(listing);
            }
        }
        cursor = listed.next_cursor;
        if cursor.is_none() {
            listing.note_missing(config);
            return Ok(listing);
        }
    }
    let message = format!("all behind the first {PAGES} pages, which is the most");
    listing.left_out.push(message);
    Ok(listing)
}
