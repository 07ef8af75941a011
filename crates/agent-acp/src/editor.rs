//! The connection to the editor: notifications and requests.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use llm_providers::Redactor;
use serde_json::{Value, json};
use session_protocol::keys::{Signed, clean_json};
use tokio::sync::{mpsc, oneshot};

use crate::message::{notification, request};

/// The editor.
pub(crate) struct Editor {
    lines: mpsc::Sender<String>,
    /// The requests that wait for an answer.
    waiting_requests: RefCell<BTreeMap<u64, oneshot::Sender<Option<Value>>>>,
    number: Cell<u64>,
}

impl Editor {
    /// Returns the editor that reads these lines.
    pub fn new(lines: mpsc::Sender<String>) -> Self {
        Self {
            lines,
            waiting_requests: RefCell::default(),
            number: Cell::new(0),
        }
    }

    /// Waits until it reads no more.
    pub async fn closed(&self) {
        self.lines.closed().await;
    }

    /// Sends a line, once there is room; nothing if the editor has disconnected.
    pub async fn send(&self, line: String) {
        let _ = self.lines.send(line).await;
    }

    /// Tells of a session, without keys.
    pub async fn send_update(&self, session_id: &str, redactor: &Redactor, update: Value) {
        let params = json!({ "sessionId": session_id, "update": update });
        let line = notification("session/update", &params);
        self.send(clean_json(
            line,
            &|text| redactor.clean_answer(text),
            Signed::Cleaned,
        ))
        .await;
    }

    /// Sends a request, without keys; `None` when the editor refuses, or has disconnected.
    pub async fn ask(&self, method: &str, params: &Value, redactor: &Redactor) -> Option<Value> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let (sender, answer) = oneshot::channel();
        self.waiting_requests.borrow_mut().insert(number, sender);
        let line = request(number, method, params);
        self.send(clean_json(
            line,
            &|text| redactor.clean_answer(text),
            Signed::Cleaned,
        ))
        .await;
        answer.await.ok().flatten()
    }

    /// Passes an answer on to the code that waits for it.
    pub fn answered(&self, id: u64, result: Option<Value>) {
        let waiting = self.waiting_requests.borrow_mut().remove(&id);
        if let Some(waiting) = waiting {
            let _ = waiting.send(result);
        }
    }
}
