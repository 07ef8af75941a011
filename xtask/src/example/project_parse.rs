//! Sources of the invented project, part parse: line formats and multi-line records before the rework.

/// `src/parse/mod.rs`: records and format detection.
pub const MOD: &str = r#"
//! Turns lines into records: format detection, field extraction, multi-line joining.

pub(crate) mod logfmt;
pub(crate) mod multiline;
pub(crate) mod syslog;

use std::collections::BTreeMap;

use crate::config;
use crate::error::{Error, Result};

/// One log record: the text as read, and the fields found in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub raw: String,
    pub fields: BTreeMap<String, String>,
    pub cut: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Auto,
    Json,
    Logfmt,
    Syslog,
    Raw,
}

pub(crate) struct Parser {
    format: Format,
    joiner: Option<multiline::Joiner>,
    max_bytes: usize,
}

impl Parser {
    pub fn new(config: &config::Parse) -> Result<Self> {
        let format = match config.format.as_str() {
            "auto" => Format::Auto,
            "json" => Format::Json,
            "logfmt" => Format::Logfmt,
            "syslog" => Format::Syslog,
            "raw" => Format::Raw,
            other => return Err(Error::config("parse.format", format!("unknown format {other:?}"))),
        };
        let joiner = match config.multiline.as_str() {
            "off" => None,
            "indent" => Some(multiline::Joiner::indent(config.multiline_idle_ms)),
            "java" => Some(multiline::Joiner::java(config.multiline_idle_ms)),
            other => return Err(Error::config("parse.multiline", format!("unknown mode {other:?}"))),
        };
        Ok(Self { format, joiner, max_bytes: config.max_record_bytes })
    }

    /// Takes one line; returns the records that are complete now.
    pub fn push(&mut self, line: &str) -> Vec<Record> {
        match &mut self.joiner {
            None => vec![self.record(line.to_string())],
            Some(joiner) => {
                let done = joiner.push(line);
                done.into_iter().map(|text| self.record(text)).collect()
            }
        }
    }

    fn record(&self, mut raw: String) -> Record {
        let cut = raw.len() > self.max_bytes;
        if cut {
            raw.truncate(self.max_bytes);
        }
        let format = match self.format {
            Format::Auto => detect(&raw),
            fixed => fixed,
        };
        let fields = match format {
            Format::Json => json_fields(&raw),
            Format::Logfmt => logfmt::fields(&raw),
            Format::Syslog => syslog::fields(&raw),
            Format::Raw | Format::Auto => BTreeMap::new(),
        };
        Record { raw, fields, cut }
    }
}

fn detect(line: &str) -> Format {
    let line = line.trim_start();
    if line.starts_with('{') {
        Format::Json
    } else if line.starts_with('<') && line[1..].find('>').is_some_and(|i| i <= 3) {
        Format::Syslog
    } else if line.split(' ').take(3).filter(|word| word.contains('=')).count() >= 2 {
        Format::Logfmt
    } else {
        Format::Raw
    }
}

fn json_fields(line: &str) -> BTreeMap<String, String> {
    let Ok(serde_json::Value::Object(map)) = serde_json::from_str(line) else {
        return BTreeMap::new();
    };
    map.into_iter()
        .map(|(key, value)| match value {
            serde_json::Value::String(text) => (key, text),
            other => (key, other.to_string()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_formats() {
        assert_eq!(detect("{\"a\":1}"), Format::Json);
        assert_eq!(detect("level=info msg=started port=80"), Format::Logfmt);
        assert_eq!(detect("<34>Oct 11 22:14:15 host su: failed"), Format::Syslog);
        assert_eq!(detect("plain text"), Format::Raw);
    }

    #[test]
    fn json_numbers_become_text() {
        assert_eq!(json_fields("{\"status\":504}")["status"], "504");
    }

    #[test]
    fn long_records_are_cut() {
        let mut parser = Parser { format: Format::Raw, joiner: None, max_bytes: 8 };
        let record = parser.push("0123456789").remove(0);
        assert!(record.cut);
        assert_eq!(record.raw, "01234567");
    }
}
"#;

/// `src/parse/logfmt.rs`: `key=value` pairs.
pub const LOGFMT: &str = r#"
//! `key=value key="quoted value"` lines.

use std::collections::BTreeMap;

/// All pairs of a line. Words without `=` are ignored; a quote that never closes takes the rest of the line.
pub(crate) fn fields(line: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let Some(eq) = rest.find('=') else { break };
        let key = rest[..eq].rsplit(' ').next().unwrap_or("").to_string();
        let after = &rest[eq + 1..];
        if let Some(quoted) = after.strip_prefix('"') {
            let end = quoted.find('"').unwrap_or(quoted.len());
            fields.insert(key, quoted[..end].to_string());
            rest = quoted.get(end + 1..).unwrap_or("").trim_start();
        } else {
            let end = after.find(' ').unwrap_or(after.len());
            fields.insert(key, after[..end].to_string());
            rest = after[end..].trim_start();
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_pairs() {
        let fields = fields("level=warn status=429 route=audit");
        assert_eq!(fields["status"], "429");
        assert_eq!(fields.len(), 3);
    }

    #[test]
    fn quoted_values_keep_spaces() {
        assert_eq!(fields("msg=\"connection reset\" attempt=2")["msg"], "connection reset");
    }

    #[test]
    fn an_open_quote_takes_the_rest() {
        assert_eq!(fields("msg=\"half a line")["msg"], "half a line");
    }
}
"#;

/// `src/parse/multiline.rs`: joins stack traces to one record.
pub const MULTILINE: &str = r#"
//! Joins continuation lines (indented lines, Java stack traces) to the record they belong to.

use std::time::{Duration, Instant};

enum Rule {
    Indent,
    Java,
}

pub(crate) struct Joiner {
    rule: Rule,
    idle: Duration,
    current: String,
    last_line: Instant,
}

impl Joiner {
    pub fn indent(idle_ms: u64) -> Self {
        Self::new(Rule::Indent, idle_ms)
    }

    pub fn java(idle_ms: u64) -> Self {
        Self::new(Rule::Java, idle_ms)
    }

    fn new(rule: Rule, idle_ms: u64) -> Self {
        Self { rule, idle: Duration::from_millis(idle_ms), current: String::new(), last_line: Instant::now() }
    }

    /// Takes a line; returns the record that this line completes, if any.
    pub fn push(&mut self, line: &str) -> Option<String> {
        let continues = self.continues(line) && self.last_line.elapsed() < self.idle;
        self.last_line = Instant::now();
        if continues && !self.current.is_empty() {
            self.current.push('\n');
            self.current.push_str(line);
            return None;
        }
        let done = std::mem::replace(&mut self.current, line.to_string());
        (!done.is_empty()).then_some(done)
    }

    fn continues(&self, line: &str) -> bool {
        match self.rule {
            Rule::Indent => line.starts_with([' ', '\t']),
            Rule::Java => {
                let text = line.trim_start();
                text.starts_with("at ") || text.starts_with("Caused by:") || text.starts_with("... ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_indented_lines() {
        let mut joiner = Joiner::indent(500);
        assert_eq!(joiner.push("error: boom"), None);
        assert_eq!(joiner.push("  at line 4"), None);
        assert_eq!(joiner.push("next"), Some("error: boom\n  at line 4".to_string()));
    }

    #[test]
    fn joins_java_traces() {
        let mut joiner = Joiner::java(500);
        joiner.push("java.lang.IllegalStateException: closed");
        joiner.push("\tat app.Pool.take(Pool.java:88)");
        joiner.push("Caused by: java.io.EOFException");
        let record = joiner.push("2026-03-02 INFO ready").unwrap();
        assert_eq!(record.lines().count(), 3);
    }
}
"#;

/// `src/parse/syslog.rs`: RFC 3164 and RFC 5424 headers.
pub const SYSLOG: &str = r#"
//! Syslog headers: RFC 5424 (`<34>1 2026-...`) and the older RFC 3164 (`<34>Oct 11 22:14:15 host tag: text`).

use std::collections::BTreeMap;

const FACILITIES: [&str; 24] = [
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp", "audit",
    "alert", "clock", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
];
const SEVERITIES: [&str; 8] = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];

/// Facility, severity, host, app and message; an unreadable header gives no fields.
pub(crate) fn fields(line: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let Some((priority, rest)) = line.strip_prefix('<').and_then(|l| l.split_once('>')) else {
        return fields;
    };
    let Ok(priority) = priority.parse::<usize>() else {
        return fields;
    };
    if let Some(facility) = FACILITIES.get(priority / 8) {
        fields.insert("facility".into(), facility.to_string());
    }
    fields.insert("severity".into(), SEVERITIES[priority % 8].to_string());
    match rest.strip_prefix("1 ") {
        Some(rest) => modern(rest, &mut fields),
        None => old(rest, &mut fields),
    }
    fields
}

fn modern(rest: &str, fields: &mut BTreeMap<String, String>) {
    let mut words = rest.splitn(6, ' ');
    for name in ["timestamp", "host", "app", "pid", "msgid"] {
        if let Some(word) = words.next().filter(|word| *word != "-") {
            fields.insert(name.into(), word.to_string());
        }
    }
    if let Some(text) = words.next() {
        let text = text.strip_prefix("- ").unwrap_or(text);
        fields.insert("message".into(), text.to_string());
    }
}

fn old(rest: &str, fields: &mut BTreeMap<String, String>) {
    if rest.len() < 16 || !rest.is_char_boundary(15) {
        return;
    }
    fields.insert("timestamp".into(), rest[..15].to_string());
    let mut words = rest[16..].splitn(2, ' ');
    if let Some(host) = words.next() {
        fields.insert("host".into(), host.to_string());
    }
    if let Some((tag, text)) = words.next().and_then(|t| t.split_once(": ")) {
        let (app, pid) = match tag.split_once('[') {
            Some((app, pid)) => (app, Some(pid.trim_end_matches(']'))),
            None => (tag, None),
        };
        fields.insert("app".into(), app.to_string());
        if let Some(pid) = pid {
            fields.insert("pid".into(), pid.to_string());
        }
        fields.insert("message".into(), text.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_header() {
        let fields = fields("<34>Oct 11 22:14:15 web1 su[230]: failed for root");
        assert_eq!(fields["severity"], "crit");
        assert_eq!(fields["pid"], "230");
        assert_eq!(fields["message"], "failed for root");
    }

    #[test]
    fn modern_header() {
        let fields = fields("<165>1 2026-03-02T08:00:00Z web1 orders 81 - - started");
        assert_eq!(fields["facility"], "local4");
        assert_eq!(fields["message"], "started");
        assert!(!fields.contains_key("msgid"));
    }

    #[test]
    fn a_broken_priority_gives_nothing() {
        assert!(fields("<3x4>Oct 11 22:14:15 web1 su: no").is_empty());
    }
}
"#;
