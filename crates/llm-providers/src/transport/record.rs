//! A record of exchanges for bug reports, without the keys.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

use crate::error::ProviderError;
use crate::secret::{REMOVED, Redactor};

/// The most that is kept of one body, in bytes.
const BODY_LIMIT: usize = 8 << 20;

/// Writes one JSON line per exchange: the request, the head and body of the answer, and what went wrong.
#[derive(Clone)]
pub struct Recorder {
    out: Arc<Mutex<Box<dyn Write + Send>>>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Recorder {
    /// Returns a recorder that writes to `out`.
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out: Arc::new(Mutex::new(out)),
        }
    }

    pub(super) fn exchange(&self, request: &reqwest::Request, redactor: &Redactor) -> Exchange {
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let body = body.map(String::from_utf8_lossy).unwrap_or_default();
        let mut document = Map::new();
        document.insert("method".to_owned(), json!(request.method().as_str()));
        document.insert("url".to_owned(), json!(plain_address(request.url())));
        document.insert("request_headers".to_owned(), headers(request.headers()));
        document.insert("request_body".to_owned(), parsed(&body));
        Exchange(Some(Open {
            recorder: self.clone(),
            redactor: redactor.clone(),
            document,
            body: Vec::new(),
        }))
    }

    fn write(&self, line: &str) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A record that cannot be written must not fail the work that it records.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
}

/// Returns an address without user, password and query.
fn plain_address(url: &reqwest::Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    if url.query().is_some() {
        url.set_query(Some("removed"));
    }
    url.to_string()
}

fn headers(headers: &HeaderMap) -> Value {
    let members = headers.iter().map(|(name, value)| {
        let name = name.as_str();
        let secret = value.is_sensitive()
            || ["authorization", "cookie", "api-key", "apikey", "secret"]
                .iter()
                .any(|word| name.contains(word))
            || name.ends_with("-key")
            || name.ends_with("token");
        let text = match secret {
            true => REMOVED.to_owned(),
            false => String::from_utf8_lossy(value.as_bytes()).into_owned(),
        };
        (name.to_owned(), Value::from(text))
    });
    Value::Object(members.collect())
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// One exchange that is recorded; written when it ends.
pub(super) struct Exchange(Option<Open>);

struct Open {
    recorder: Recorder,
    redactor: Redactor,
    document: Map<String, Value>,
    body: Vec<u8>,
}

impl Exchange {
    /// Returns one that is not recorded.
    pub fn none() -> Self {
        Self(None)
    }

    pub fn answered(&mut self, status: u16, head: &HeaderMap) {
        if let Some(open) = &mut self.0 {
            open.document.insert("status".to_owned(), json!(status));
            open.document
                .insert("answer_headers".to_owned(), headers(head));
        }
    }

    pub fn received(&mut self, bytes: &[u8]) {
        if let Some(open) = &mut self.0 {
            let room = BODY_LIMIT.saturating_sub(open.body.len());
            open.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    pub fn fail(&mut self, error: &ProviderError) {
        if let Some(open) = &mut self.0 {
            let said = json!({ "kind": error.kind.name(), "message": error.message });
            open.document.insert("error".to_owned(), said);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if let Some(mut open) = self.0.take() {
            let body = String::from_utf8_lossy(&open.body);
            open.document
                .insert("answer_body".to_owned(), parsed(&body));
            // A key that came back in pieces is whole again here.
            let line = open
                .redactor
                .clean(&Value::Object(open.document).to_string());
            open.recorder.write(&line);
        }
    }
}
