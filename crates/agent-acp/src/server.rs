//! The methods of the protocol.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use agent_tools::mcp::{ServerSetting, of_client};
use llm_providers::CancellationToken;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use session_protocol::{Ask, Reply};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::LocalSet;

use crate::editor::Editor;
use crate::message::{Failure, Incoming, answer, code, parse};
use crate::params::{
    CancelRequest, Initialize, ListSessions, McpServer, NewSession, OfSession, OldSession, Prompt,
    SessionCapabilities,
};
use crate::running::{Pump, Running};
use crate::update::Translator;
use crate::{Line, Opened, Opening, Sessions, Wanted, history, prompt};

/// The version of the protocol.
const VERSION: u64 = 1;

/// The number of requests that are handled at a time.
const REQUESTS: usize = 256;

/// The number of unanswered requests after which no more lines are read: the editor does not read, or asks too fast.
const UNANSWERED: usize = 2 * REQUESTS;

/// The number of sessions on a page of the list.
const PAGE: usize = 100;

/// Serves an editor: reads its lines and writes ours, until its lines end, it stops reading, or the call is cancelled.
/// Every session is closed then.
pub async fn serve(
    sessions: Box<dyn Sessions>,
    mut lines: mpsc::Receiver<Line>,
    out: mpsc::Sender<String>,
    cancel: CancellationToken,
) {
    let server = Rc::new(Server {
        sessions,
        editor: Rc::new(Editor::new(out)),
        client: Cell::new(None),
        open: RefCell::default(),
        prompts: RefCell::default(),
        working: Cell::new(0),
    });
    let unanswered = Arc::new(Semaphore::new(UNANSWERED));
    let serving = async {
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                () = server.editor.closed() => break,
                next = next_line(&mut lines, &unanswered) => match next {
                    Some((line, unanswered)) => server.line(&line, unanswered),
                    None => break,
                },
            }
        }
        let open: Vec<Rc<Running>> = server.open.borrow().values().cloned().collect();
        open.iter().for_each(|running| running.handle.close());
        for running in open {
            running.close().await;
        }
    };
    LocalSet::new().run_until(serving).await;
}

/// A request that has no answer yet.
type Unanswered = OwnedSemaphorePermit;

/// Returns the next line once there is room for one more request.
async fn next_line(
    lines: &mut mpsc::Receiver<Line>,
    unanswered: &Arc<Semaphore>,
) -> Option<(Line, Unanswered)> {
    let room = unanswered.clone().acquire_owned().await.ok()?;
    Some((lines.recv().await?, room))
}

/// The shared state of all requests.
struct Server {
    sessions: Box<dyn Sessions>,
    editor: Rc<Editor>,
    /// The capabilities of the client, once it has sent them.
    client: Cell<Option<SessionCapabilities>>,
    open: RefCell<BTreeMap<String, Rc<Running>>>,
    /// The sessions of prompts that are worked on, by the ids of the requests.
    prompts: RefCell<BTreeMap<String, String>>,
    working: Cell<usize>,
}

/// A session whose events are sent once the editor has its answer.
type Begins = Option<(Pump, Rc<Running>)>;

impl Server {
    fn line(self: &Rc<Self>, line: &Line, unanswered: Unanswered) {
        let incoming = match line {
            Line::Whole(line) => parse(line),
            Line::TooLong => {
                let failure = Failure::new(code::INVALID_REQUEST, "the line is too long");
                Err((Value::Null, failure))
            }
        };
        match incoming {
            Ok(Incoming::Request { id, method, params }) => {
                self.begin(id, method, params, unanswered);
            }
            Ok(Incoming::Notification { method, params }) => {
                // After the requests before it: a prompt may have come in the same moment.
                let server = self.clone();
                tokio::task::spawn_local(async move { server.notified(&method, params) });
            }
            Ok(Incoming::Answer { id, result }) => self.editor.answered(id, result.ok()),
            Ok(Incoming::Nothing) => {}
            Err((id, failure)) => self.refuse(&id, failure, unanswered),
        }
    }

    /// Writes why there is no answer, without holding up the lines that come.
    fn refuse(self: &Rc<Self>, id: &Value, failure: Failure, unanswered: Unanswered) {
        let (editor, line) = (self.editor.clone(), answer(id, Err(failure)));
        tokio::task::spawn_local(async move {
            editor.send(line).await;
            drop(unanswered);
        });
    }

    fn begin(self: &Rc<Self>, id: Value, method: String, params: Value, unanswered: Unanswered) {
        if self.working.get() >= REQUESTS {
            let text = format!("{REQUESTS} requests are worked on; wait for one of them");
            return self.refuse(&id, Failure::failed(text), unanswered);
        }
        self.working.set(self.working.get() + 1);
        let server = self.clone();
        tokio::task::spawn_local(async move {
            let key = id.to_string();
            let (result, begins) = match server.call(&method, params, &key).await {
                Ok((result, begins)) => (Ok(result), begins),
                Err(failure) => (Err(failure), None),
            };
            server.prompts.borrow_mut().remove(&key);
            server.working.set(server.working.get() - 1);
            server.editor.send(answer(&id, result)).await;
            drop(unanswered);
            if let Some((pump, running)) = begins {
                let commands = json!({ "sessionUpdate": "available_commands_update", "availableCommands": prompt::commands() });
                server.send_update(&running, commands).await;
                pump.run(server.editor.clone(), running.clone()).await;
                server.forget(&running.id);
            }
        });
    }

    fn notified(&self, method: &str, params: Value) {
        match method {
            "session/cancel" => {
                if let Ok(of) = read::<OfSession>(params)
                    && let Ok(running) = self.running(&of.session_id)
                {
                    running.cancel();
                }
            }
            "$/cancel_request" => {
                let id = read::<CancelRequest>(params).ok();
                let id = id.and_then(|cancel| {
                    self.prompts
                        .borrow()
                        .get(&cancel.request_id.to_string())
                        .cloned()
                });
                if let Some(running) = id.and_then(|id| self.running(&id).ok()) {
                    running.cancel();
                }
            }
            _ => {}
        }
    }

    /// Carries out a request.
    async fn call(
        &self,
        method: &str,
        params: Value,
        key: &str,
    ) -> Result<(Value, Begins), Failure> {
        if method == "initialize" {
            let known: Initialize = read(params)?;
            self.client.set(Some(known.client_capabilities.session));
            return Ok((introduction(), None));
        }
        let Some(client) = self.client.get() else {
            return Err(Failure::new(
                code::INVALID_REQUEST,
                "initialize comes first",
            ));
        };
        let nothing = (json!({}), None);
        match method {
            "authenticate" => Ok(nothing),
            "session/new" => {
                let new: NewSession = read(params)?;
                let opening = opening(Wanted::New, &new.cwd, new.mcp_servers)?;
                let (running, pump) = self.open(&opening, client).await?;
                let result = json!({ "sessionId": running.id });
                Ok((result, Some((pump, running))))
            }
            "session/load" | "session/resume" => {
                let old: OldSession = read(params)?;
                let opening = opening(Wanted::Id(old.session_id), &old.cwd, old.mcp_servers)?;
                let (running, mut pump) = self.open(&opening, client).await?;
                if method == "session/load"
                    && let Ok(Reply::Snapshot(session)) = running.handle.ask(Ask::Snapshot).await
                {
                    for update in history::updates(&session, &mut pump.translator) {
                        self.send_update(&running, update).await;
                    }
                }
                Ok((json!({}), Some((pump, running))))
            }
            "session/list" => Ok((self.list(&read_or_default(params)?)?, None)),
            "session/close" => {
                let of: OfSession = read(params)?;
                self.running(&of.session_id)?.close().await;
                self.forget(&of.session_id);
                Ok(nothing)
            }
            "session/prompt" => {
                let Prompt {
                    session_id,
                    prompt: blocks,
                } = read(params)?;
                let running = self.running(&session_id)?;
                self.prompts.borrow_mut().insert(key.to_owned(), session_id);
                let reason = running.prompt(prompt::asked(blocks)?).await?;
                Ok((json!({ "stopReason": reason }), None))
            }
            _ => Err(Failure::new(
                code::UNKNOWN_METHOD,
                format!("there is no method {method}"),
            )),
        }
    }

    fn running(&self, id: &str) -> Result<Rc<Running>, Failure> {
        let found = self.open.borrow().get(id).cloned();
        found.ok_or_else(|| Failure::new(code::NOT_FOUND, format!("no session {id} is open")))
    }

    async fn open(
        &self,
        opening: &Opening,
        client: SessionCapabilities,
    ) -> Result<(Rc<Running>, Pump), Failure> {
        if let Wanted::Id(id) = &opening.wanted
            && self.open.borrow().contains_key(id)
        {
            return Err(Failure::new(
                code::INVALID_REQUEST,
                format!("session {id} is open already"),
            ));
        }
        let opened = self
            .sessions
            .open(opening)
            .map_err(|why| match opening.wanted {
                Wanted::New => Failure::failed(why),
                Wanted::Id(_) => Failure::new(code::NOT_FOUND, why),
            })?;
        let Opened {
            session,
            handle,
            events,
            cwd,
        } = opened;
        let redactor = session.redactor();
        let run = tokio::task::spawn_local(session.run());
        let state = handle
            .ask(Ask::State)
            .await
            .map_err(|refusal| Failure::failed(refusal.message))?;
        let Reply::State(state) = state else {
            return Err(Failure::failed("the session does not tell its id"));
        };
        let translator = Translator::new(cwd, client);
        let (running, pump) = Running::new(
            state.session_id,
            (handle, events),
            redactor,
            run,
            translator,
        );
        self.open
            .borrow_mut()
            .insert(running.id.clone(), running.clone());
        Ok((running, pump))
    }

    /// Forgets a session that has ended.
    fn forget(&self, id: &str) {
        self.open.borrow_mut().remove(id);
    }

    fn list(&self, wanted: &ListSessions) -> Result<Value, Failure> {
        let from = match wanted.cursor.as_deref() {
            None => 0,
            Some(cursor) => cursor
                .parse()
                .map_err(|_| Failure::new(code::INVALID_PARAMS, "cursor: it is none of ours"))?,
        };
        let sessions = self
            .sessions
            .list(wanted.cwd.as_deref())
            .map_err(Failure::failed)?;
        let page = sessions.iter().skip(from).take(PAGE).map(|session| {
            json!({
                "sessionId": session.id, "cwd": session.cwd, "title": session.title, "updatedAt": session.updated,
            })
        });
        let mut list = json!({ "sessions": page.collect::<Vec<_>>() });
        if sessions.len() > from.saturating_add(PAGE) {
            list["nextCursor"] = json!((from + PAGE).to_string());
        }
        Ok(list)
    }

    async fn send_update(&self, running: &Running, update: Value) {
        let Running { id, redactor, .. } = running;
        self.editor.send_update(id, redactor, update).await;
    }
}

fn introduction() -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentInfo": { "name": "agent-cli", "title": "agent-cli", "version": env!("CARGO_PKG_VERSION") },
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
            "mcpCapabilities": { "http": false, "sse": false },
            "sessionCapabilities": { "list": {}, "resume": {}, "close": {} },
        },
        "authMethods": [],
    })
}

/// Reads parameters.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, Failure> {
    serde_json::from_value(params)
        .map_err(|error| Failure::new(code::INVALID_PARAMS, error.to_string()))
}

/// Reads parameters that may be left out.
fn read_or_default<T: DeserializeOwned + Default>(params: Value) -> Result<T, Failure> {
    match params.is_null() {
        true => Ok(T::default()),
        false => read(params),
    }
}

fn opening(wanted: Wanted, cwd: &Path, servers: Vec<McpServer>) -> Result<Opening, Failure> {
    if !cwd.is_absolute() {
        return Err(Failure::new(
            code::INVALID_PARAMS,
            "cwd: it is not absolute",
        ));
    }
    let servers = servers.into_iter().map(|server| {
        let name = server.name;
        let Some(program) = server.command else {
            let text =
                format!("mcpServers: {name} has no command; servers over a network are not taken");
            return Err(Failure::new(code::INVALID_PARAMS, text));
        };
        let variables = server.env.into_iter().map(|own| (own.name, own.value));
        let setting = ServerSetting {
            command: Some(program),
            args: Some(server.args),
            env: Some(variables.collect()),
            ..ServerSetting::default()
        };
        Ok((name, setting))
    });
    let servers: Vec<_> = servers.collect::<Result<_, _>>()?;
    Ok(Opening {
        wanted,
        cwd: cwd.to_owned(),
        servers: of_client(servers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Listed;

    struct Nothing;

    impl Sessions for Nothing {
        fn open(&self, _: &Opening) -> Result<Opened, String> {
            Err("there is none".to_owned())
        }

        fn list(&self, _: Option<&Path>) -> Result<Vec<Listed>, String> {
            Ok(Vec::new())
        }
    }

    /// Returns how many of these requests are read, of an editor that reads nothing.
    async fn read_requests(request: &str) -> usize {
        let (asking, lines) = mpsc::channel(1);
        let (out, _unread) = mpsc::channel(1);
        let serving = serve(Box::new(Nothing), lines, out, CancellationToken::new());
        let asking = async {
            let (mut read, mut idle) = (0, 0);
            while idle < 1000 && read < 10_000 {
                match asking.try_send(Line::Whole(request.into())) {
                    Ok(()) => (read, idle) = (read + 1, 0),
                    Err(_) => idle += 1,
                }
                tokio::task::yield_now().await;
            }
            read
        };
        tokio::select! {
            read = asking => read,
            () = serving => panic!("the editor is there"),
        }
    }

    #[tokio::test]
    async fn requests_of_an_editor_that_does_not_read_stay_in_its_pipe() {
        for request in [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#,
            "garbage",
        ] {
            let read = read_requests(request).await;
            assert!(read <= UNANSWERED + 4, "{read} of {request}");
        }
    }
}
