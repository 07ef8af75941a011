//! A session that an editor has open: its prompt, its events, its end.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use llm_providers::Redactor;
use serde_json::Value;
use session_protocol::{Ask, Command, EventReceiver, Finished, SessionEvent, SessionHandle};
use session_protocol::{RefusalKind, Reply};
use session_text::compaction_parts;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::editor::Editor;
use crate::message::{Failure, code};
use crate::permission;
use crate::prompt::Asked;
use crate::update::{Translator, chunk};

/// The end of a prompt: the stop reason in the words of the protocol.
type Ended = Result<&'static str, Failure>;

/// A session that is open.
pub(crate) struct Running {
    pub id: String,
    pub handle: SessionHandle,
    pub redactor: Arc<Redactor>,
    run: RefCell<Option<JoinHandle<Finished>>>,
    prompt: RefCell<Option<Prompt>>,
    /// The results of commands, sent after the events that led to them.
    done: mpsc::UnboundedSender<(Option<String>, Ended)>,
}

/// A prompt that is worked on.
struct Prompt {
    answer: oneshot::Sender<Ended>,
    /// The session has it; what is idle before that is not idle because of it.
    is_kept: bool,
    is_cancelled: bool,
    is_command: bool,
    /// The reason why the newest answer ended.
    stop: String,
    /// The end of the turn, and its error.
    end: Option<(String, Option<String>)>,
}

impl Prompt {
    fn ended(&self) -> Ended {
        let (end, error) = self.end.as_ref().map_or(("done", None), |(end, error)| {
            (end.as_str(), error.as_deref())
        });
        match (end, self.stop.as_str()) {
            _ if self.is_cancelled => Ok("cancelled"),
            ("aborted", _) => Ok("cancelled"),
            ("limit", _) => Ok("max_turn_requests"),
            ("failed", _) => Err(Failure::failed(error.unwrap_or("the turn failed"))),
            (_, "length") => Ok("max_tokens"),
            (_, "refusal" | "content_filter" | "sensitive") => Ok("refusal"),
            _ => Ok("end_turn"),
        }
    }
}

/// Turns the events of a session into updates.
pub(crate) struct Pump {
    events: EventReceiver,
    done: mpsc::UnboundedReceiver<(Option<String>, Ended)>,
    pub translator: Translator,
}

impl Running {
    /// Returns a session that runs as a task, and the pump of its events.
    pub fn new(
        id: String,
        (handle, events): (SessionHandle, EventReceiver),
        redactor: Arc<Redactor>,
        run: JoinHandle<Finished>,
        translator: Translator,
    ) -> (Rc<Self>, Pump) {
        let (sender, done) = mpsc::unbounded_channel();
        let running = Self {
            id,
            handle,
            redactor,
            run: RefCell::new(Some(run)),
            prompt: RefCell::new(None),
            done: sender,
        };
        let pump = Pump {
            events,
            done,
            translator,
        };
        (Rc::new(running), pump)
    }

    /// Carries out a prompt; returns why it stopped.
    pub async fn prompt(&self, asked: Asked) -> Ended {
        let (answer, ended) = oneshot::channel();
        let is_command = matches!(asked, Asked::Do(_));
        {
            let mut prompt = self.prompt.borrow_mut();
            if prompt.is_some() {
                let text = "a prompt is worked on; wait for its end, or cancel it";
                return Err(Failure::new(code::INVALID_REQUEST, text));
            }
            *prompt = Some(Prompt {
                answer,
                is_kept: false,
                is_cancelled: false,
                is_command,
                stop: String::new(),
                end: None,
            });
        }
        let (Asked::Say(command) | Asked::Do(command)) = asked;
        let answered = self.handle.ask(Ask::Do(command)).await;
        match answered {
            Ok(Reply::Kept(_)) => {}
            Ok(reply) => self.send_done(reply_text(&reply), Ok("end_turn")),
            Err(refusal) => match refusal.kind {
                RefusalKind::Cancelled => self.send_done(None, Ok("cancelled")),
                RefusalKind::NothingToDo => self.send_done(Some(refusal.message), Ok("end_turn")),
                _ => self.send_done(None, Err(Failure::failed(refusal.message))),
            },
        }
        ended
            .await
            .unwrap_or_else(|_| Err(Failure::failed("the session has ended")))
    }

    fn send_done(&self, text: Option<String>, ended: Ended) {
        // No more events come, so all waiting requests are answered: the session has ended.
        let _ = self.done.send((text, ended));
    }

    /// Stops what a prompt began.
    pub fn cancel(&self) {
        let mut prompt = self.prompt.borrow_mut();
        let Some(prompt) = prompt.as_mut() else {
            return;
        };
        prompt.is_cancelled = true;
        let command = match prompt.is_command {
            true => Command::AbortCompaction,
            false => Command::Abort,
        };
        if self.handle.try_send(command).is_err() {
            // The queue is full; waiting for room must not block the lines of the editor.
            let handle = self.handle.clone();
            tokio::task::spawn_local(async move {
                let _ = handle.send(Command::Abort).await;
            });
        }
    }

    fn is_cancelled(&self) -> bool {
        self.prompt
            .borrow()
            .as_ref()
            .is_none_or(|prompt| prompt.is_cancelled)
    }

    /// Closes the session, and waits until it is closed.
    pub async fn close(&self) {
        self.handle.close();
        let run = self.run.borrow_mut().take();
        if let Some(run) = run {
            let _ = run.await;
        }
    }

    fn note(&self, event: &SessionEvent) {
        let mut prompt = self.prompt.borrow_mut();
        let Some(prompt) = prompt.as_mut() else {
            return;
        };
        match event {
            SessionEvent::Queued { .. } => prompt.is_kept = true,
            SessionEvent::Answer { stop_reason, .. } => prompt.stop.clone_from(stop_reason),
            SessionEvent::TurnEnd { end, error } => {
                prompt.end = Some((end.to_string(), error.clone()));
            }
            _ => {}
        }
    }

    fn finish(&self, ended: Option<Ended>) {
        if let Some(prompt) = self.prompt.borrow_mut().take() {
            let ended = ended.unwrap_or_else(|| prompt.ended());
            let _ = prompt.answer.send(ended);
        }
    }

    fn idles(&self) {
        let is_over = |prompt: &Prompt| prompt.is_kept && !prompt.is_command;
        if self.prompt.borrow().as_ref().is_some_and(is_over) {
            self.finish(None);
        }
    }
}

impl Pump {
    /// Tells the editor of every event until the session has ended.
    pub async fn run(mut self, editor: Rc<Editor>, running: Rc<Running>) {
        loop {
            tokio::select! {
                biased;
                event = self.events.recv() => match event {
                    Some(event) => self.send_event(&editor, &running, &event).await,
                    None => break,
                },
                Some((text, ended)) = self.done.recv() => {
                    if let Some(text) = text {
                        editor.send_update(&running.id, &running.redactor, chunk("agent_message_chunk", &text)).await;
                    }
                    running.finish(Some(ended));
                }
            }
        }
        running.finish(Some(Err(Failure::failed("the session has ended"))));
    }

    async fn send_event(
        &mut self,
        editor: &Rc<Editor>,
        running: &Rc<Running>,
        event: &SessionEvent,
    ) {
        running.note(event);
        for update in self.translator.updates(event) {
            editor
                .send_update(&running.id, &running.redactor, update)
                .await;
        }
        match event {
            SessionEvent::ApprovalRequest {
                call_id,
                tool,
                subject,
            } => {
                let call = self.translator.asked(call_id, tool, subject);
                let asking = ask(editor.clone(), running.clone(), call_id.clone(), call);
                tokio::task::spawn_local(asking);
            }
            SessionEvent::Idle { .. } => running.idles(),
            _ => {}
        }
    }
}

/// Asks the editor whether a call may run, and passes the answer on.
async fn ask(editor: Rc<Editor>, running: Rc<Running>, call_id: String, call: Value) {
    let question = permission::question(&running.id, &call);
    let answer = editor
        .ask("session/request_permission", &question, &running.redactor)
        .await;
    if !running.is_cancelled() {
        let decision = permission::decision(answer);
        let _ = running
            .handle
            .send(Command::Approve { call_id, decision })
            .await;
    }
}

/// Returns the text shown for the reply to a command.
fn reply_text(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Compacted(compacted) => {
            Some(compaction_parts("manual", &compacted.result).join(", "))
        }
        Reply::Undone(undone) => Some(format!("Took back the {}.", undone.kind)),
        Reply::Redone(redone) => Some(format!("The {} is back.", redone.kind)),
        _ => None,
    }
}
