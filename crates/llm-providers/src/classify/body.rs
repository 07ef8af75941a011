//! Reads the body of a failed response, in any provider's form.

use serde_json::{Map, Value};

use super::page;

/// The depth limit of nested errors; providers nest up to five levels (OpenRouter: error, metadata, raw, error).
const DEEPEST: usize = 8;

/// The most texts that are kept.
const TEXTS: usize = 12;

/// The largest body that is parsed as JSON, in bytes.
const LARGEST_JSON: usize = 1024 * 1024;

/// The members that hold a message, the most specific first.
const TEXT_KEYS: [&str; 9] = [
    "message",
    "msg",
    "error_message",
    "errorMessage",
    "status_msg",
    "error_description",
    "reason",
    "title",
    "param",
];

/// The members that hold a label for the kind of failure.
const LABEL_KEYS: [&str; 12] = [
    "type",
    "code",
    "status",
    "error_type",
    "errorType",
    "__type",
    "reason",
    "error_code",
    "status_code",
    "stop_reason",
    "finish_reason",
    "error",
];

/// The members that hold a nested error; a string there is a message.
const NESTED_KEYS: [&str; 13] = [
    "error",
    "errors",
    "detail",
    "details",
    "fault",
    "base_resp",
    "response",
    "last_error",
    "metadata",
    "headers",
    "raw",
    "innererror",
    "cause",
];

/// The contents of an error body.
#[derive(Debug, Default)]
pub(super) struct ErrorBody {
    /// Messages, the outermost first, as they are.
    pub texts: Vec<String>,
    /// Types, codes and the like, in lower case.
    pub labels: Vec<String>,
    /// The HTTP status that the body names, from 400 to 599.
    pub status: Option<u16>,
    /// The first code as the body has it: what is best shown.
    pub code: Option<String>,
    /// The delay that Google asks for (`google.rpc.RetryInfo`), as it writes it: `53s`.
    pub retry_delay: Option<String>,
    /// The end of an OpenRouter rate limit, in milliseconds since 1970.
    pub reset_at: Option<u64>,
    /// True if it has the form of an error.
    pub is_error: bool,
    /// True if it is an HTML page.
    pub is_page: bool,
}

impl ErrorBody {
    /// Reads `body`.
    pub(super) fn read(body: &str) -> Self {
        let mut parsed = Self::default();
        let body = body.trim_start_matches('\u{feff}').trim();
        if body.is_empty() {
            return parsed;
        }
        if page::is_page(body) {
            parsed.is_page = true;
            parsed.texts.push(page::page_text(body));
            return parsed;
        }
        match whole_json(body) {
            Some(Value::String(text)) => parsed.text(&text, 0),
            Some(value) => parsed.collect(&value, 0),
            None => parsed.text(body, 0),
        }
        parsed
    }

    /// Returns the messages as one, without repetitions.
    pub(super) fn message(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for text in &self.texts {
            let text = page::plain(text);
            if !text.is_empty() && parts.iter().all(|part| !part.contains(&text)) {
                parts.push(text);
            }
            if parts.len() == 3 {
                break;
            }
        }
        page::plain(&parts.join("; "))
    }

    fn collect(&mut self, value: &Value, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        match value {
            Value::Object(map) => self.object(map, depth),
            Value::Array(values) => {
                for value in values.iter().take(8) {
                    self.collect(value, depth + 1);
                }
            }
            Value::String(text) => self.text(text, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, map: &Map<String, Value>, depth: usize) {
        for key in LABEL_KEYS {
            if let Some(value) = field(map, key) {
                self.label(key, value);
            }
        }
        if let Some(delay) = field(map, "retryDelay").and_then(Value::as_str) {
            self.retry_delay = Some(delay.to_owned());
        }
        if let Some(reset) = field(map, "x-ratelimit-reset") {
            let text = reset.as_str().and_then(|text| text.parse().ok());
            self.reset_at = text.or_else(|| reset.as_u64());
        }
        for key in ["error", "errors", "detail", "fault"] {
            self.is_error |= field(map, key).is_some_and(|value| !value.is_null());
        }
        for key in TEXT_KEYS {
            if let Some(Value::String(text)) = field(map, key)
                && (text.contains(' ') || !matches!(key, "param" | "reason" | "title"))
            {
                self.text(text, depth + 1);
            }
        }
        for key in NESTED_KEYS {
            if let Some(value) = field(map, key) {
                self.collect(value, depth + 1);
            }
        }
    }

    fn label(&mut self, key: &str, value: &Value) {
        let label = match value {
            Value::String(text) if text.len() <= 80 => text.trim().to_lowercase(),
            Value::Number(number) => number.to_string(),
            Value::String(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Array(_)
            | Value::Object(_) => {
                return;
            }
        };
        if label.is_empty() {
            return;
        }
        if key.ends_with("code") || key == "status" {
            let status = label
                .parse()
                .ok()
                .filter(|status| (400..600).contains(status));
            self.status = self.status.or(status);
            self.is_error |= status.is_some();
        }
        if key.ends_with("code") && self.code.is_none() {
            self.code = Some(page::plain(&label));
        }
        // `object: "error"` of vLLM, `type: "response.failed"` of OpenAI, `__type: "...Exception"` of Amazon.
        let ends = ["error", "exception", ".failed"];
        self.is_error |= ends.iter().any(|end| label.ends_with(end));
        self.labels.push(label);
    }

    /// Adds a message; JSON in it is parsed as well, because gateways quote the errors that they get.
    fn text(&mut self, text: &str, depth: usize) {
        let text = text.trim();
        if text.is_empty() || self.texts.len() >= TEXTS || depth > DEEPEST {
            return;
        }
        if let Some(value) = whole_json(text) {
            self.collect(&value, depth + 1);
            return;
        }
        if page::is_page(text) {
            self.texts.push(page::page_text(text));
            return;
        }
        self.texts.push(text.to_owned());
        if let Some(value) = inner_json(text) {
            self.collect(&value, depth + 1);
        }
    }
}

/// Returns the field of this name, however its letters are written: Amazon's names begin in upper case.
fn field<'m>(map: &'m Map<String, Value>, key: &str) -> Option<&'m Value> {
    map.get(key).or_else(|| {
        let mut fields = map.iter();
        let found = fields.find(|(name, _)| name.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value)
    })
}

/// Returns the JSON that `text` is.
fn whole_json(text: &str) -> Option<Value> {
    let starts = text.starts_with(['{', '[', '"']);
    if !starts || text.len() > LARGEST_JSON {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Returns the first JSON object within `text`: after `data:` of an event stream, a status, a client's words.
fn inner_json(text: &str) -> Option<Value> {
    let at = text.find("{\"").or_else(|| text.find("{ \""))?;
    if text.len() > LARGEST_JSON {
        return None;
    }
    let values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
    values.take(1).find_map(Result::ok)
}

#[cfg(test)]
mod tests {
    use super::ErrorBody;

    fn check(body: &str, message: &str) {
        assert_eq!(ErrorBody::read(body).message(), message, "{body}");
    }

    #[test]
    fn every_form_of_an_error_is_read() {
        check(
            r#"{"error":{"message":"a b","type":"t","code":400}}"#,
            "a b",
        );
        check(r#"{"error":"a b"}"#, "a b");
        check(r#"{"message":"a b"}"#, "a b");
        check(r#"{"Message":"a b"}"#, "a b");
        check(r#"{"detail":"Not Found"}"#, "Not Found");
        check(
            r#"{"type":"error","error":{"type":"x","message":"a b"}}"#,
            "a b",
        );
        check(
            r#"[{"error":{"message":"a b","errors":[{"message":"a b"}]}}]"#,
            "a b",
        );
        check(
            r#"{"errors":[{"message":"a b"},{"message":"c d"}]}"#,
            "a b; c d",
        );
        check(
            r#"{"detail":[{"loc":["body","x"],"msg":"field required","type":"missing","input":"prompt is too long"}]}"#,
            "field required",
        );
        check(
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"too long\"}}"}}}"#,
            "Provider returned error; too long",
        );
        check(
            r#"{"base_resp":{"status_code":2013,"status_msg":"a b"}}"#,
            "a b",
        );
        check(r#""a b""#, "a b");
        check(
            "data: {\"error\":{\"message\":\"a b\",\"code\":429}}",
            "data: {\"error\":{\"message\":\"a b\",\"code\":429}}",
        );
        check("", "");
    }

    #[test]
    fn codes_may_be_numbers_or_texts() {
        let parsed = ErrorBody::read(r#"{"error":{"code":"429","type":"Rate_Limit"}}"#);
        assert_eq!(parsed.status, Some(429));
        assert_eq!(parsed.labels, ["rate_limit", "429"]);
        let parsed = ErrorBody::read(r#"400 {"error":{"code":503}} trailing"#);
        assert_eq!(parsed.status, Some(503));
        let parsed = ErrorBody::read(r#"{"error":{"code":"1261"}}"#);
        assert_eq!(
            (parsed.status, parsed.code.as_deref()),
            (None, Some("1261"))
        );
    }
}
