//! Connects lines and the session: requests become calls, answers and events become lines.
//!
//! Nothing waits for a slow reader: lines without room in the output are kept here. Events are sent before answers that
//! are ready at the same time, so no answer comes before the events that led to it. The input may end, the output may
//! close, a signal or `close` may come: in each case the session is closed and every request that was read is answered.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use llm_providers::{CancellationToken, Redactor};
use serde::Deserialize;
use tokio::sync::mpsc::Receiver;

use crate::output::Offered;
use crate::parse::{Asked, LONGEST, malformed, parse};
use crate::protocol::{Data, Id, Response, RpcError, Subscribed};
use crate::translate::{Answered, Asking, call, data};
use crate::{Host, Line, Output};
use session_protocol::Call;
use session_protocol::channel::EVENT_BYTES;
use session_protocol::event::SessionEvent;
use session_protocol::{EventReceiver, SessionHandle};

/// The bytes of waiting lines after which no more are taken from the session.
const BACKLOG: usize = EVENT_BYTES;

/// The number of unanswered requests after which no more are read, while the client does not read.
const REQUESTS: usize = 256;

/// A session that is driven.
pub struct Session {
    /// Commands it.
    pub handle: SessionHandle,
    /// Its events.
    pub events: EventReceiver,
    /// Takes keys out of responses; events come without them.
    pub redactor: Arc<Redactor>,
}

/// Drives a session by requests until it has ended, and everything is answered and written.
pub async fn drive(
    session: Session,
    host: Rc<dyn Host>,
    (lines, output): (Receiver<Line>, Output),
    cancel: CancellationToken,
) -> Ended {
    let driver = Driver {
        commands: session.handle,
        events: session.events,
        lines,
        output,
        host,
        cancel,
        redactor: session.redactor,
        waiting: VecDeque::new(),
        waiting_bytes: 0,
        subscribed: None,
        pending: FuturesUnordered::new(),
        number: 0,
        input: Input::Open,
        interrupted: false,
        session: (String::new(), None),
    };
    driver.drive().await
}

struct Driver {
    commands: SessionHandle,
    events: EventReceiver,
    lines: Receiver<Line>,
    output: Output,
    host: Rc<dyn Host>,
    cancel: CancellationToken,
    redactor: Arc<Redactor>,
    /// Lines for which there is no room yet; kept here so that requests of a client that does not read are still
    /// handled.
    waiting: VecDeque<String>,
    /// Their length in bytes. Above [`BACKLOG`] events and answers stay with the session, which waits once it has too
    /// many events; above twice that, or after [`REQUESTS`] requests, the others stay in standard input.
    waiting_bytes: usize,
    /// The events that are sent; all of them unless named.
    subscribed: Option<Vec<String>>,
    pending: FuturesUnordered<LocalBoxFuture<'static, Response>>,
    number: u64,
    input: Input,
    /// The user has cancelled.
    interrupted: bool,
    /// The current session: its id, and its file if it has or will have one.
    session: (String, Option<PathBuf>),
}

/// The state of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Open,
    Ended,
}

/// The kind of an event's line.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow)]
    r#type: &'a str,
}

impl Driver {
    async fn drive(mut self) -> Ended {
        loop {
            // After a cancellation the client waits for the end, and the remaining output is bounded.
            let has_room = self.waiting_bytes <= BACKLOG || self.interrupted;
            let answers = has_room || self.pending.len() < REQUESTS;
            let listens = self.waiting_bytes <= 2 * BACKLOG && answers;
            tokio::select! {
                biased;
                event = self.events.recv(), if has_room => match event {
                    Some(event) => self.send_event(&event),
                    None => break,
                },
                Some(response) = self.pending.next(), if has_room && !self.pending.is_empty() => {
                    self.respond(&response);
                }
                () = self.cancel.cancelled(), if !self.interrupted => {
                    self.interrupted = true;
                    self.close();
                }
                () = self.output.unread(), if self.input == Input::Open => self.end_input(),
                () = self.output.room(), if !self.waiting.is_empty() => self.pass_on(),
                line = next_line(&mut self.lines, &self.commands), if listens && self.input == Input::Open => match line {
                    Some(line) => self.line(line),
                    None => self.end_input(),
                },
            }
        }
        // Requests that still wait get the answer that the session has ended.
        drop(self.commands);
        for line in self.waiting {
            self.output.send(line, &self.cancel).await;
        }
        while let Some(response) = self.pending.next().await {
            let line = response.line(&self.redactor);
            self.output.send(line, &self.cancel).await;
        }
        self.output.finish(&self.cancel).await;
        Ended {
            interrupted: self.interrupted,
            session: self.session,
        }
    }

    fn send_event(&mut self, event: &SessionEvent) {
        if let SessionEvent::SessionStart {
            session_id, path, ..
        }
        | SessionEvent::SessionSwitch {
            session_id, path, ..
        } = event
        {
            self.session = (session_id.clone(), path.as_ref().map(Into::into));
        }
        let line = serde_json::to_string(event).unwrap_or_default();
        let is_wanted = self.subscribed.as_ref().is_none_or(|names| {
            serde_json::from_str(&line)
                .is_ok_and(|kind: Kind<'_>| names.iter().any(|name| name == kind.r#type))
        });
        if is_wanted {
            self.print(line);
        }
    }

    fn respond(&mut self, response: &Response) {
        let line = response.line(&self.redactor);
        self.print(line);
    }

    fn print(&mut self, line: String) {
        self.waiting_bytes += line.len();
        self.waiting.push_back(line);
        self.pass_on();
    }

    /// Hands over what waits, as far as there is room.
    fn pass_on(&mut self) {
        while let Some(line) = self.waiting.pop_front() {
            let bytes = line.len();
            match self.output.offer(line) {
                Offered::Taken => self.waiting_bytes -= bytes,
                Offered::Full(line) => return self.waiting.push_front(line),
                Offered::Unread => {
                    self.waiting.clear();
                    self.waiting_bytes = 0;
                    self.end_input();
                }
            }
        }
    }

    /// No more requests come, or no one reads the output.
    fn end_input(&mut self) {
        if self.input == Input::Open {
            self.input = Input::Ended;
            self.close();
        }
    }

    fn close(&self) {
        self.commands.close();
    }

    fn line(&mut self, line: Line) {
        self.number += 1;
        let asked = match line {
            Line::Whole(line) => match parse(&line, self.number) {
                None => return,
                Some(asked) => asked,
            },
            Line::TooLong => {
                let most = LONGEST / 1_000_000;
                let what =
                    format!("it is longer than {most} MB; put the text into a file and name it");
                Err(malformed(self.number, &what))
            }
            Line::Unreadable(error) => Err(malformed(
                self.number,
                &format!("it cannot be read: {error}"),
            )),
        };
        match asked {
            Ok(asked) => {
                if let Some(response) = self.ask(asked) {
                    self.respond(&response);
                }
            }
            Err(response) => self.respond(&response),
        }
    }

    /// Passes a request on; what concerns only the lines is answered here.
    fn ask(&mut self, asked: Asked) -> Option<Response> {
        let Asked {
            id,
            command,
            request,
        } = asked;
        match call(request, &*self.host) {
            Ok(Asking::Session(ask, answered)) => {
                let (message, answer) = Call::of(ask);
                // There is room: no line is read before, and no other code sends commands. A session that has ended
                // needs none.
                let _ = self.commands.try_send(message);
                let response = respond(id, command, answered, answer, self.host.clone());
                self.pending.push(Box::pin(response));
                None
            }
            Ok(Asking::Events(events)) => {
                self.subscribed = match events.iter().any(|name| name == "all") {
                    true => None,
                    false => Some(events.clone()),
                };
                let data = Data::Subscribed(Subscribed { events });
                Some(Response::done(id, &command, data))
            }
            Err(error) => Some(Response::refused(self.number, id, Some(command), error)),
        }
    }
}

/// Returns the next line once there is room for the command that it may hold.
async fn next_line(lines: &mut Receiver<Line>, commands: &SessionHandle) -> Option<Line> {
    commands.room().await;
    lines.recv().await
}

/// Returns the response to a request once the session has answered.
async fn respond(
    id: Option<Id>,
    command: String,
    answered: Answered,
    answer: tokio::sync::oneshot::Receiver<session_protocol::Answer>,
    host: Rc<dyn Host>,
) -> Response {
    let given = match answer.await {
        Ok(Ok(reply)) => data(answered, reply, &*host).await,
        Ok(Err(refusal)) => Err(refusal.into()),
        Err(_) => Err(RpcError::closed()),
    };
    match given {
        Ok(data) => Response::done(id, &command, data),
        Err(error) => Response::failed(id, Some(command), error),
    }
}

/// The end of driving a session.
pub struct Ended {
    /// The user has cancelled.
    pub interrupted: bool,
    /// The session at the end: its id, and its file if it has or will have one.
    pub session: (String, Option<PathBuf>),
}
