//! A record of exchanges for bug reports, without the keys.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

use crate::error::ProviderError;
use crate::secret::{REMOVED, Redactor, plain_address};

/// The most that is kept of one body, in bytes.
const BODY_LIMIT: usize = 8 << 20;

/// Writes one JSON line per exchange: the request, the head and body of the answer, and the error.
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
        document.insert(
            "url".to_owned(),
            json!(plain_address(request.url().as_str())),
        );
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
            let body = clean_events(&body, &open.redactor);
            open.document
                .insert("answer_body".to_owned(), parsed(&body));
            // A key that came back in pieces of the transport is whole again here.
            let line = open
                .redactor
                .clean(&Value::Object(open.document).to_string());
            open.recorder.write(&line);
        }
    }
}

/// The texts at one path of the events of a stream: the event, the JSON path in it, and the text.
type Texts = Vec<(usize, String, String)>;

/// Returns a stream without keys that are split across several events, in texts at the same path of events of the same
/// type.
fn clean_events<'a>(body: &'a str, redactor: &Redactor) -> Cow<'a, str> {
    let mut lines: Vec<Cow<'_, str>> = body.split('\n').map(Cow::from).collect();
    let mut events = BTreeMap::new();
    let mut texts: BTreeMap<String, Texts> = BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        let data = line.strip_prefix("data:");
        if let Some(event) = data.and_then(|data| serde_json::from_str::<Value>(data).ok()) {
            let kind = event["type"].as_str().unwrap_or_default();
            collect(number, kind, "", &event, &mut texts);
            events.insert(number, event);
        }
    }
    let mut changed = BTreeSet::new();
    for at_place in texts.into_values() {
        let mut pieces: Vec<String> = at_place.iter().map(|(.., text)| text.clone()).collect();
        if !redactor.clean_pieces(&mut pieces) {
            continue;
        }
        for ((number, pointer, before), piece) in at_place.into_iter().zip(pieces) {
            if piece != before
                && let Some(event) = events.get_mut(&number)
                && let Some(text) = event.pointer_mut(&pointer)
            {
                *text = Value::from(piece);
                changed.insert(number);
            }
        }
    }
    if changed.is_empty() {
        return Cow::Borrowed(body);
    }
    for number in changed {
        lines[number] = Cow::from(format!("data: {}", events[&number]));
    }
    Cow::Owned(lines.join("\n"))
}

/// Collects the texts in an event, under its type and their places.
fn collect(
    number: usize,
    kind: &str,
    pointer: &str,
    value: &Value,
    texts: &mut BTreeMap<String, Texts>,
) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            let place = texts.entry(format!("{kind} {pointer}")).or_default();
            place.push((number, pointer.to_owned(), text.clone()));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(number, kind, &format!("{pointer}/{index}"), item, texts);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect(number, kind, &format!("{pointer}/{name}"), member, texts);
            }
        }
    }
}
