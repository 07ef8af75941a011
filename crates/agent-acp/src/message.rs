//! Messages of JSON-RPC: what a line is, and the lines of answers, requests and notifications.

use serde::Serialize;
use serde_json::{Value, json};

/// The codes of errors.
pub(crate) mod code {
    /// The line is no JSON.
    pub const PARSE: i32 = -32700;
    /// The line is no message, or comes at the wrong time.
    pub const INVALID_REQUEST: i32 = -32600;
    /// There is no such method.
    pub const UNKNOWN_METHOD: i32 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i32 = -32602;
    /// It was tried and failed.
    pub const FAILED: i32 = -32603;
    /// There is no such session.
    pub const NOT_FOUND: i32 = -32002;
}

/// The error of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Failure {
    pub code: i32,
    pub message: String,
}

impl Failure {
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// Returns the failure of something that was tried.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(code::FAILED, message)
    }
}

/// The meaning of a line.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// A request, which is answered.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// A notification, which is not.
    Notification { method: String, params: Value },
    /// The answer to a request of ours: its result, or its error.
    Answer {
        id: u64,
        result: Result<Value, Value>,
    },
    /// An empty line, or an answer to no open request.
    Nothing,
}

/// Reads a line; an error is answered with the id that there is.
pub(crate) fn parse(line: &[u8]) -> Result<Incoming, (Value, Failure)> {
    if line.trim_ascii().is_empty() {
        return Ok(Incoming::Nothing);
    }
    let wrong = |id, message: &str| Err((id, Failure::new(code::INVALID_REQUEST, message)));
    let mut message: Value = serde_json::from_slice(line).map_err(|error| {
        (
            Value::Null,
            Failure::new(code::PARSE, format!("no JSON: {error}")),
        )
    })?;
    if !message.is_object() {
        return wrong(Value::Null, "a message is an object; batches are not taken");
    }
    let id = message.get_mut("id").map(Value::take);
    let params = message.get_mut("params").map_or(Value::Null, Value::take);
    let method = match message.get_mut("method").map(Value::take) {
        Some(Value::String(method)) => method,
        Some(_) => return wrong(Value::Null, "method is not a string"),
        None => {
            let error = message
                .get_mut("error")
                .map(Value::take)
                .filter(|error| !error.is_null());
            let result = message.get_mut("result").map(Value::take);
            return match (id.as_ref().and_then(Value::as_u64), error, result) {
                (Some(id), Some(error), _) => Ok(Incoming::Answer {
                    id,
                    result: Err(error),
                }),
                (Some(id), None, Some(result)) => Ok(Incoming::Answer {
                    id,
                    result: Ok(result),
                }),
                (_, None, None) => wrong(id.unwrap_or_default(), "there is no method"),
                (None, _, _) => Ok(Incoming::Nothing),
            };
        }
    };
    match id {
        None => Ok(Incoming::Notification { method, params }),
        Some(id @ (Value::String(_) | Value::Number(_) | Value::Null)) => {
            Ok(Incoming::Request { id, method, params })
        }
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            wrong(Value::Null, "id is neither a string nor a number")
        }
    }
}

/// Returns the line of an answer.
pub(crate) fn answer(id: &Value, result: Result<Value, Failure>) -> String {
    let answer = match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    };
    answer.to_string()
}

/// Returns the line of a request.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// Returns the line of a notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Incoming, code, parse};

    #[test]
    fn a_line_is_a_message_or_an_error_with_the_id_that_there_is() {
        let request = parse(br#"{"jsonrpc":"2.0","id":"a","method":"m","params":[1]}"#);
        let wanted = Incoming::Request {
            id: json!("a"),
            method: "m".to_owned(),
            params: json!([1]),
        };
        assert_eq!(request, Ok(wanted));
        assert_eq!(
            parse(br#"{"id":3,"error":{"code":1}}"#),
            Ok(Incoming::Answer {
                id: 3,
                result: Err(json!({"code": 1}))
            })
        );
        assert_eq!(
            parse(br#"{"id":3,"result":null}"#),
            Ok(Incoming::Answer {
                id: 3,
                result: Ok(Value::Null)
            })
        );
        assert_eq!(parse(b" \t"), Ok(Incoming::Nothing));
        for (line, id, wanted) in [
            (&b"{"[..], Value::Null, code::PARSE),
            (b"\xff\xfe", Value::Null, code::PARSE),
            (b"[]", Value::Null, code::INVALID_REQUEST),
            (b"7", Value::Null, code::INVALID_REQUEST),
            (br#"{"id":4}"#, json!(4), code::INVALID_REQUEST),
            (
                br#"{"id":4,"method":5}"#,
                Value::Null,
                code::INVALID_REQUEST,
            ),
            (
                br#"{"id":{},"method":"m"}"#,
                Value::Null,
                code::INVALID_REQUEST,
            ),
        ] {
            let (found, failure) = parse(line).expect_err("no message");
            assert_eq!(
                (found, failure.code),
                (id, wanted),
                "{}",
                line.escape_ascii()
            );
        }
    }
}
