//! What the beginning of a record tells, without a look at the rest: most bytes of a log are outputs and display.

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
}

impl<'a> Lead<'a> {
    /// Returns what the beginning of a line tells, or `None` where the whole line must be read: it is written in
    /// another way, or does not end as an object with a payload does.
    pub fn of(line: &'a str) -> Option<Self> {
        if !line.ends_with("}}") {
            return None;
        }
        let mut lead = Self::default();
        let mut rest = line.strip_prefix('{')?;
        loop {
            let (key, value) = member(rest)?;
            match (key, value) {
                ("payload", Value::Object(inner)) => {
                    lead.read_payload(inner);
                    break;
                }
                ("type", Value::Text(kind, _)) => lead.kind = kind,
                ("timestamp", Value::Text(at, _)) => lead.at = at,
                ("ordinal", Value::Number(number, _)) => lead.ordinal = number.parse().ok(),
                _ => {}
            }
            rest = match value {
                Value::Text(_, rest) | Value::Number(_, rest) => rest.strip_prefix(',')?,
                Value::Object(_) => return None,
            };
        }
        (!lead.kind.is_empty()).then_some(lead)
    }

    fn read_payload(&mut self, mut rest: &'a str) {
        while let Some((key, value)) = member(rest) {
            rest = match value {
                Value::Text(text, rest) => {
                    match key {
                        "type" => self.payload = text,
                        "role" => self.role = text,
                        "call_id" => self.call_id = text,
                        "id" => self.id = text,
                        _ => {}
                    }
                    rest
                }
                Value::Number(_, rest) => rest,
                Value::Object(_) => return,
            };
            let Some(next) = rest.strip_prefix(',') else {
                return;
            };
            rest = next;
        }
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
    Text(&'a str, &'a str),
    /// A number, and what follows it.
    Number(&'a str, &'a str),
    /// What stands behind an opening brace.
    Object(&'a str),
}

/// Returns the next member, if it is written without spaces and escapes.
fn member(text: &str) -> Option<(&str, Value<'_>)> {
    let (key, rest) = plain(text.strip_prefix('"')?)?;
    let rest = rest.strip_prefix(':')?;
    let value = match rest.as_bytes().first()? {
        b'"' => {
            let (text, rest) = plain(&rest[1..])?;
            Value::Text(text, rest)
        }
        b'{' => Value::Object(&rest[1..]),
        b'0'..=b'9' => {
            let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
            Value::Number(&rest[..end], &rest[end..])
        }
        _ => return None,
    };
    Some((key, value))
}

/// Returns a text up to its quote, if it is short and has no escape, and what follows the quote.
fn plain(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let end = bytes
        .iter()
        .take(256)
        .position(|byte| matches!(byte, b'"' | b'\\'))?;
    (bytes[end] == b'"').then(|| (&text[..end], &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::Lead;

    #[test]
    fn what_is_written_in_the_usual_way_is_told_by_its_beginning() {
        let line = r#"{"timestamp":"t","ordinal":7,"type":"response_item","payload":{"type":"function_call_output","id":"o","call_id":"c","output":"x\"y"}}"#;
        let lead = Lead::of(line).unwrap();
        let want = Lead {
            kind: "response_item",
            at: "t",
            ordinal: Some(7),
            payload: "function_call_output",
            role: "",
            call_id: "c",
            id: "o",
        };
        assert_eq!(lead, want);
        assert!(lead.is_enough_to_scan());
        let hidden =
            r#"{"timestamp":"t","type":"response_item","payload":{"output":{},"type":"message"}}"#;
        assert!(!Lead::of(hidden).unwrap().is_enough_to_scan());
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
            assert_eq!(Lead::of(line), None, "{line}");
        }
    }
}
