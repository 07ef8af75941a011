//! One round of further work on the example session, from a template: a request with a new rule, files read, a module
//! written, a test that fails in every second round, and a second request.

use serde_json::{Value, json};

use super::facts::{Facts, Stage};
use crate::run::Outcome;

/// Characters of file contents that a round reads.
const READS: usize = 90_000;
/// When the first round starts, in Unix milliseconds; each further one starts 50 minutes later.
const START: i64 = 1_773_158_531_480;

/// One further round of work.
pub struct Round {
    /// Session lines to append.
    pub lines: Vec<String>,
    /// Id of the last entry.
    pub leaf: String,
    /// The rule that the user states in this round.
    pub rule: String,
    /// Paths written and edited in this round.
    pub modified_files: Vec<String>,
    /// Text of the last user message.
    pub latest_request: String,
}

/// A tool call and its result.
struct Call {
    name: &'static str,
    arguments: Value,
    output: String,
    failed: bool,
}

impl Call {
    fn new(name: &'static str, arguments: Value, output: &str) -> Self {
        let output = output.to_owned();
        Self {
            name,
            arguments,
            output,
            failed: false,
        }
    }

    fn bash(command: &str, output: &str) -> Self {
        Self::new("bash", json!({"command": command}), output)
    }
}

/// Appends entries in a row.
struct Writer {
    round: u32,
    leaf: String,
    /// Estimate of the context, for the usage that a provider reports.
    tokens: usize,
    lines: Vec<String>,
}

impl Writer {
    fn message(&mut self, mut message: Value) {
        let millis = START + i64::from(self.round) * 3_000_000 + self.lines.len() as i64 * 20_000;
        message["timestamp"] = json!(millis);
        self.tokens += message.to_string().len() / 4;
        let id = format!("{:04x}{:04x}", 0xf000 + self.round, self.lines.len());
        let entry = json!({
            "type": "message",
            "id": id,
            "parentId": self.leaf,
            "timestamp": session_model::Timestamp::from_millis(millis).to_string(),
            "message": message,
        });
        self.leaf = id;
        self.lines.push(entry.to_string());
    }

    fn user(&mut self, text: &str) {
        self.message(json!({"role": "user", "content": text}));
    }

    fn assistant(&mut self, text: &str, calls: Vec<Call>) {
        let call_id = |index: usize| format!("call_{}_{}_{index}", self.round, self.lines.len());
        let ids: Vec<String> = (0..calls.len()).map(call_id).collect();
        let mut content = vec![json!({"type": "text", "text": text})];
        content.extend(calls.iter().zip(&ids).map(|(call, id)| {
            json!({"type": "toolCall", "id": id, "name": call.name, "arguments": call.arguments})
        }));
        self.message(json!({
            "role": "assistant",
            "content": content,
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": "claude-sonnet-4-5",
            "usage": {
                "input": self.tokens, "output": 100, "cacheRead": 0, "cacheWrite": 0,
                "totalTokens": self.tokens + 100,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
            },
            "stopReason": if calls.is_empty() { "stop" } else { "toolUse" },
        }));
        for (call, id) in calls.into_iter().zip(ids) {
            self.message(json!({
                "role": "toolResult",
                "toolCallId": id,
                "toolName": call.name,
                "content": [{"type": "text", "text": call.output}],
                "isError": call.failed,
            }));
        }
    }
}

/// Returns round `number`, whose first entry has `leaf` as its parent; `reads` are files with what they hold.
pub fn round(number: u32, leaf: &str, facts: &Facts, reads: &[(String, String)]) -> Outcome<Round> {
    let stage = facts.stage(number)?;
    let Stage {
        name,
        field,
        why,
        limit,
        later,
        unit,
        rule,
    } = &stage;
    let (module, page) = (
        format!("src/stage/{name}.rs"),
        format!("docs/stages/{name}.md"),
    );
    let registry = "src/stage/mod.rs".to_owned();
    let mut writer = Writer {
        round: number,
        leaf: leaf.to_owned(),
        tokens: 24_000,
        lines: Vec::new(),
    };
    writer.user(&format!(
        "Next stage: {name}. Reason: {why}. It looks at the field `{field}`, limit {limit} {unit}. {rule} Tests and \
         a page in docs/stages as for the others."
    ));
    let mut size = 0;
    let mut looks = Vec::new();
    for (path, text) in reads.iter().cycle().skip(number as usize * 5) {
        size += text.len();
        looks.push(Call::new("read", json!({"path": path}), text));
        if size > READS {
            break;
        }
    }
    writer.assistant("I look at who would see the field first.", looks);
    let constant = |value: u32| format!("const LIMIT: u32 = {value};");
    let write = |path: &str, content: String| {
        let output = format!("Wrote {} bytes to {path}", content.len());
        Call::new("write", json!({"path": path, "content": content}), &output)
    };
    let edit = |path: &str, old: String, new: String| {
        let output = format!("Edited {path}: 1 passage replaced");
        let arguments = json!({"path": path, "oldText": old, "newText": new});
        Call::new("edit", arguments, &output)
    };
    let source = format!("//! Stage `{name}`: {why}.\n\n{}\n", constant(*limit));
    let document = format!("# Stage `{name}`\n\nReason: {why}.\n\nLimit: {limit} {unit}.\n");
    let writes = vec![
        write(&module, source),
        edit(
            &registry,
            "mod later;".into(),
            format!("mod {name};\nmod later;"),
        ),
        write(&page, document),
    ];
    writer.assistant(&format!("The module `{module}`, tests included."), writes);
    let tested = "test result: ok. 214 passed; 0 failed; 0 ignored";
    if number.is_multiple_of(2) {
        let test = format!("stage::{name}::tests::the_limit_itself");
        let output = format!(
            "test {test} ... FAILED\n{module}:61:9: left: Keep, right: Drop\n\nCommand exited with code 101"
        );
        let failing = Call {
            failed: true,
            ..Call::bash("cargo test --offline", &output)
        };
        writer.assistant("", vec![failing]);
        let fix = edit(&module, "count > LIMIT".into(), "count >= LIMIT".into());
        writer.assistant(&format!("`{test}` fails at the boundary."), vec![fix]);
    }
    let commit = format!("git add -A && git commit -qm 'stage: {name}'");
    let done = vec![
        Call::bash("cargo test --offline", tested),
        Call::bash(&commit, "[retry-rework 1f0c2aa]"),
    ];
    writer.assistant("", done);
    writer.assistant(
        &format!("`{name}` is in: {limit} {unit} on `{field}`, off by default."),
        Vec::new(),
    );
    let latest_request =
        format!("Make the limit of {name} {later} {unit} instead of {limit}, and run the tests.");
    writer.user(&latest_request);
    let changes = vec![
        edit(&module, constant(*limit), constant(*later)),
        edit(&page, format!("{limit} {unit}"), format!("{later} {unit}")),
    ];
    writer.assistant("", changes);
    writer.assistant("", vec![Call::bash("cargo test --offline stage", tested)]);
    writer.assistant(
        &format!("The limit of `{name}` is {later} {unit} now, in code and page."),
        Vec::new(),
    );
    Ok(Round {
        lines: writer.lines,
        leaf: writer.leaf,
        rule: rule.clone(),
        modified_files: vec![module, page, registry],
        latest_request,
    })
}
