//! What leaves the program: without keys and without private text, unless the user asks for them.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_settings::AppSettings;
use llm_providers::Redactor;
use serde_json::Value;
use session_model::without_private;
use session_protocol::keys::{Signed, clean_json};
use session_store::WriteFilter;
use session_tools::rights::redactor;

use crate::models::secret_variables;
use crate::ui::{counted, note};

/// Whether keys and private text leave the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// They are hidden.
    Hidden,
    /// The user asked for them.
    Shown,
}

/// Hides keys of the environment, and keys of known forms, and counts them.
#[derive(Debug)]
pub(crate) struct OutputFilter {
    /// `None` where the user asked for everything.
    redactor: Option<Redactor>,
    hidden: AtomicUsize,
}

impl OutputFilter {
    /// Returns a filter; where the settings cannot be read, secret variables are recognized by their names and values
    /// alone.
    pub fn of(settings: Option<&AppSettings>, secrets: Secrets) -> Self {
        let variables = settings.and_then(|settings| secret_variables(settings).ok());
        let servers = settings.map(|settings| {
            let mut servers = settings.mcp_servers.clone();
            // The keys of those that are switched off are keys all the same.
            servers
                .values_mut()
                .for_each(|server| server.enabled = None);
            agent_tools::mcp::configured(&servers)
        });
        let make = || redactor(&variables.unwrap_or_default(), &servers.unwrap_or_default());
        Self {
            redactor: (secrets == Secrets::Hidden).then(make),
            hidden: AtomicUsize::new(0),
        }
    }

    /// Returns a text without keys.
    pub fn text(&self, text: &str) -> String {
        let hide = |redactor: &Redactor| redactor.hide_keys(text);
        match self.redactor.as_ref().and_then(hide) {
            None => text.to_owned(),
            Some((clean, count)) => {
                self.hidden.fetch_add(count, Ordering::Relaxed);
                clean
            }
        }
    }

    /// Returns a text of a session without keys and private spans.
    pub fn session_text(&self, text: &str) -> String {
        match self.redactor {
            None => text.to_owned(),
            Some(_) => without_private(&self.text(text)).into_owned(),
        }
    }

    /// Returns a line of JSON without keys, signed thinking aside; all else stays byte for byte.
    pub fn line(&self, line: String) -> String {
        clean_json(line, &|text| self.text(text), Signed::Kept)
    }

    /// Takes keys and private spans out of every string of a document.
    pub fn document(&self, document: &mut Value) {
        match document {
            Value::String(text) => *text = self.session_text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.document(item)),
            Value::Object(members) => members
                .values_mut()
                .for_each(|member| self.document(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Says on standard error how many keys were hidden.
    pub fn report(&self) {
        let hidden = self.hidden.load(Ordering::Relaxed);
        if hidden > 0 {
            let keys = counted(hidden, "key");
            note(&format!("{keys} hidden; --show-secrets shows them"));
        }
    }
}

impl WriteFilter for OutputFilter {
    fn line(&self, line: String) -> String {
        self.line(line)
    }

    fn text(&self, text: &str) -> String {
        self.text(text)
    }
}

/// Writes lines of JSON without keys.
pub(crate) struct FilteredLines<'f, W> {
    filter: &'f OutputFilter,
    out: W,
    /// The beginning of a line whose end was not written yet.
    line: Vec<u8>,
}

impl<'f, W: Write> FilteredLines<'f, W> {
    /// Returns a writer to `out`.
    pub fn new(filter: &'f OutputFilter, out: W) -> Self {
        Self {
            filter,
            out,
            line: Vec::new(),
        }
    }

    /// Writes what is left and returns the writer below.
    pub fn finish(mut self) -> io::Result<W> {
        self.write_line()?;
        Ok(self.out)
    }

    fn write_line(&mut self) -> io::Result<()> {
        let line = String::from_utf8(std::mem::take(&mut self.line));
        let line = line.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.out.write_all(self.filter.line(line).as_bytes())
    }
}

impl<W: Write> Write for FilteredLines<'_, W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        for part in buffer.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.write_line()?;
            }
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
