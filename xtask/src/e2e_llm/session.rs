//! The sessions that are compacted: short enough for a model that reads a hundred tokens a second.

use serde_json::{Value, json};

/// A session in the making: each entry hangs on the one before it.
struct Writer {
    lines: Vec<Value>,
    parent: Value,
}

impl Writer {
    fn new() -> Self {
        let header = json!({"type": "session", "version": 3, "id": "e2e", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/project"});
        Self {
            lines: vec![header],
            parent: Value::Null,
        }
    }

    fn message(&mut self, mut message: Value) {
        let number = self.lines.len();
        let id = json!(format!("e{number}"));
        message["timestamp"] = json!(1_767_225_600_000_u64 + number as u64 * 1000);
        let timestamp = format!("2026-01-01T00:{:02}:{:02}.000Z", number / 60, number % 60);
        self.lines.push(json!({"type": "message", "id": id, "parentId": self.parent, "timestamp": timestamp, "message": message}));
        self.parent = id;
    }

    fn user(&mut self, text: &str) {
        self.message(json!({"role": "user", "content": text}));
    }

    fn answer(&mut self, content: &Value, stop_reason: &str) {
        self.message(json!({"role": "assistant", "content": content, "api": "test", "provider": "test", "model": "test", "stopReason": stop_reason}));
    }

    fn says(&mut self, text: &str) {
        self.answer(&json!([{"type": "text", "text": text}]), "stop");
    }

    /// Adds a call and its result.
    fn calls(&mut self, text: &str, tool: &str, arguments: &Value, result: &str) {
        let id = format!("call-{}", self.lines.len());
        let call = json!({"type": "toolCall", "id": id, "name": tool, "arguments": arguments});
        self.answer(&json!([{"type": "text", "text": text}, call]), "toolUse");
        let content = json!([{"type": "text", "text": result}]);
        self.message(json!({"role": "toolResult", "toolCallId": id, "toolName": tool, "content": content, "isError": false}));
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

const CODE: &str = "\
/// Returns how long to wait before an attempt, in milliseconds.
pub fn delay(attempt: u32) -> u64 {
    100 * u64::from(attempt)
}

#[test]
fn retry_waits() {
    assert_eq!(delay(1), 100);
    assert_eq!(delay(2), 200);
    assert_eq!(delay(3), 400);
}
";

/// Returns a session of twelve messages, three tool calls among them, of about 500 tokens.
pub fn twelve() -> String {
    let mut session = Writer::new();
    begin(&mut session);
    end(&mut session);
    session.text()
}

/// Returns a session of twenty messages: the twelve, with a second round of work between them.
pub fn twenty() -> String {
    let mut session = Writer::new();
    begin(&mut session);
    session.user(
        "The parser is next: empty lines in a config file are errors now. They should be skipped.",
    );
    session.calls(
        "I look for where lines are parsed.",
        "bash",
        &json!({"command": "grep -n parse_line src/*.rs"}),
        "src/config.rs:41:fn parse_line(line: &str) -> Result<Setting, Error> {\n\
         src/config.rs:88:        settings.push(parse_line(line)?);\n\
         src/main.rs:12:use config::parse_line;",
    );
    session.calls(
        "Line 88 parses every line. I let it pass over lines that hold nothing.",
        "edit",
        &json!({"path": "src/config.rs", "oldText": "settings.push(parse_line(line)?);", "newText": "if !line.trim().is_empty() {\n    settings.push(parse_line(line)?);\n}"}),
        "Changed 1 line in src/config.rs.",
    );
    session.calls(
        "Now all of the tests.",
        "bash",
        &json!({"command": "cargo test"}),
        "running 3 tests\ntest retry_waits ... ok\ntest parses_settings ... ok\ntest skips_empty_lines ... ok\n\n\
         test result: ok. 3 passed; 0 failed",
    );
    session.says("Empty lines are skipped. All three tests pass, and src/api.rs is unchanged.");
    end(&mut session);
    session.text()
}

fn begin(session: &mut Writer) {
    session.user(
        "The test retry_waits fails. Please find out why and mend it. Never change the file src/api.rs.",
    );
    session.calls(
        "I read the code and its test.",
        "read",
        &json!({"path": "src/retry.rs"}),
        CODE,
    );
    session.says("The delay grows by 100 ms with each attempt, but the test expects that it doubles: 100, 200, 400.");
    session.user("Then let it double, but never wait longer than 30 seconds.");
    session.calls(
        "I change how the delay grows.",
        "edit",
        &json!({"path": "src/retry.rs", "oldText": "100 * u64::from(attempt)", "newText": "(100 << (attempt - 1).min(20)).min(30_000)"}),
        "Changed 1 line in src/retry.rs.",
    );
    session.calls(
        "Now I run the tests.",
        "bash",
        &json!({"command": "cargo test retry"}),
        "running 1 test\ntest retry_waits ... ok\n\ntest result: ok. 1 passed; 0 failed",
    );
    session.says(
        "The test passes. The delay doubles with each attempt and stays at or below 30 seconds.",
    );
}

fn end(session: &mut Writer) {
    session.user("Good. Next, write down in CHANGELOG.md what has changed.");
    session.says("I will add one line to CHANGELOG.md: the delay doubles, up to 30 seconds.");
}

#[cfg(test)]
mod tests {
    use super::{twelve, twenty};

    #[test]
    fn the_sessions_are_as_long_as_they_are_called() {
        assert_eq!(twelve().lines().count(), 1 + 12);
        assert_eq!(twenty().lines().count(), 1 + 20);
    }
}
