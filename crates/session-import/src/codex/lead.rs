//! What the beginning of a record tells, without a look at the rest: most bytes of a log are outputs and display.

use memchr::memmem;

use super::items::is_output;
use super::scan::Scan;

/// The leading members of a record and of its payload, as far as they are plain texts and numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lead<'a> {
    pub kind: &'a str,
    /// When it was written.
    pub at: &'a str,
    pub ordinal: Option<u64>,
    /// The type of the payload.
    pub payload: &'a str,
    pub role: &'a str,
    pub call_id: &'a str,
    pub id: &'a str,
    /// What follows these members.
    pub rest: &'a [u8],
}

impl<'a> Lead<'a> {
    /// Returns what the beginning of a line tells, or `None` where the whole line must be read: it is written in
    /// another way, or does not end as an object with a payload does.
    pub fn of(line: &'a [u8]) -> Option<Self> {
        if !line.ends_with(b"}}") {
            return None;
        }
        let mut lead = Self::default();
        let mut rest = line.strip_prefix(b"{")?;
        loop {
            let (key, value) = member(rest)?;
            match (key, value) {
                (b"payload", Value::Object(inner)) => {
                    lead.read_payload(inner);
                    break;
                }
                (b"type", Value::Text(kind, _)) => lead.kind = text(kind)?,
                (b"timestamp", Value::Text(at, _)) => lead.at = text(at)?,
                (b"ordinal", Value::Number(number, _)) => {
                    lead.ordinal = text(number)?.parse().ok();
                }
                _ => {}
            }
            rest = match value {
                Value::Text(_, rest) | Value::Number(_, rest) => rest.strip_prefix(b",")?,
                Value::Object(_) => return None,
            };
        }
        (!lead.kind.is_empty()).then_some(lead)
    }

    fn read_payload(&mut self, rest: &'a [u8]) {
        self.rest = rest;
        while let Some((key, value)) = member(self.rest) {
            let rest = match value {
                Value::Text(value, rest) => {
                    let kept = match key {
                        b"type" => Some(&mut self.payload),
                        b"role" => Some(&mut self.role),
                        b"call_id" => Some(&mut self.call_id),
                        b"id" => Some(&mut self.id),
                        _ => None,
                    };
                    if let Some(kept) = kept {
                        let Some(value) = text(value) else { return };
                        *kept = value;
                    }
                    rest
                }
                Value::Number(_, rest) => rest,
                Value::Object(_) => return,
            };
            self.rest = rest.strip_prefix(b",").unwrap_or(rest);
        }
    }

    /// Returns the window of the model, which what begins a turn and counts of tokens name.
    pub fn window(&self) -> Option<u64> {
        let names = matches!(self.payload, "task_started" | "token_count");
        let key = br#""model_context_window":"#;
        let at = memmem::find(self.rest, key).filter(|_| names)?;
        let rest = &self.rest[at + key.len()..];
        let end = rest.iter().position(|letter| !letter.is_ascii_digit())?;
        text(&rest[..end])?
            .parse()
            .ok()
            .filter(|window| *window > 0)
    }

    /// Returns whether the first pass needs no more of the record than this.
    pub fn is_enough_to_scan(&self) -> bool {
        match (self.kind, self.payload) {
            ("turn_context" | "world_state" | "token_usage_record", _) => true,
            ("event_msg", "" | "thread_name_updated") => false,
            ("event_msg", _) => true,
            ("response_item", "message") => !self.role.is_empty(),
            ("response_item", kind) if is_output(kind) => !self.call_id.is_empty(),
            ("response_item", kind) => !kind.is_empty(),
            _ => false,
        }
    }

    /// Returns whether the second pass maps nothing of the record.
    pub fn is_display(&self, scan: &Scan) -> bool {
        match (self.kind, self.payload) {
            ("world_state", _) => true,
            ("event_msg", "" | "thread_rolled_back" | "turn_aborted") => false,
            ("event_msg", "token_count") => scan.has_usage_records,
            ("event_msg", "user_message") => scan.has_user_items,
            ("event_msg", "agent_message") => scan.has_answer_items,
            ("event_msg", _) => true,
            _ => false,
        }
    }
}

#[derive(Clone, Copy)]
enum Value<'a> {
    /// A text without escapes, and what follows it.
    Text(&'a [u8], &'a [u8]),
    /// A number, and what follows it.
    Number(&'a [u8], &'a [u8]),
    /// What stands behind an opening brace.
    Object(&'a [u8]),
}

/// Returns the next member, if it is written without spaces and escapes.
fn member(text: &[u8]) -> Option<(&[u8], Value<'_>)> {
    let (key, rest) = plain(text.strip_prefix(b"\"")?)?;
    let rest = rest.strip_prefix(b":")?;
    let value = match rest.first()? {
        b'"' => {
            let (text, rest) = plain(&rest[1..])?;
            Value::Text(text, rest)
        }
        b'{' => Value::Object(&rest[1..]),
        b'0'..=b'9' => {
            let end = rest.iter().position(|letter| !letter.is_ascii_digit())?;
            Value::Number(&rest[..end], &rest[end..])
        }
        _ => return None,
    };
    Some((key, value))
}

/// Returns a text up to its quote, if it is short and has no escape, and what follows the quote.
fn plain(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr2(b'"', b'\\', &bytes[..bytes.len().min(256)])?;
    (bytes[end] == b'"').then(|| (&bytes[..end], &bytes[end + 1..]))
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::Lead;

    #[test]
    fn what_is_written_in_the_usual_way_is_told_by_its_beginning() {
        let line = r#"{"timestamp":"t","ordinal":7,"type":"response_item","payload":{"type":"function_call_output","id":"o","call_id":"c","output":"x\"y"}}"#;
        let lead = Lead::of(line.as_bytes()).unwrap();
        let want = Lead {
            kind: "response_item",
            at: "t",
            ordinal: Some(7),
            payload: "function_call_output",
            role: "",
            call_id: "c",
            id: "o",
            rest: br#""output":"x\"y"}}"#,
        };
        assert_eq!(lead, want);
        assert!(lead.is_enough_to_scan());
        let hidden =
            r#"{"timestamp":"t","type":"response_item","payload":{"output":{},"type":"message"}}"#;
        assert!(!Lead::of(hidden.as_bytes()).unwrap().is_enough_to_scan());
    }

    #[test]
    fn anything_else_is_read_as_a_whole() {
        for line in [
            r#"{ "type":"event_msg","payload":{"type":"x"}}"#,
            r#"{"payload":{"type":"x"},"type":"event_msg"}"#,
            r#"{"type":"event\u005fmsg","payload":{"type":"x"}}"#,
            r#"{"type":"event_msg","payload":{"type":"x"#,
            r#"{"type":"event_msg"}"#,
            "[1]",
        ] {
            assert_eq!(Lead::of(line.as_bytes()), None, "{line}");
        }
    }
}
