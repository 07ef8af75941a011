//! The reference of hook points for people: made from the types of the payloads, their comments and examples.

use std::fmt::Write;
use std::path::PathBuf;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{Document, SampleSession, shape};
use crate::point::HookPoint;

/// Returns the reference of all points as Markdown: when each comes, what it says, and what may be answered.
pub fn reference() -> String {
    let session = SampleSession::default();
    let Ok(samples) = session.samples() else {
        return String::new();
    };
    let context = session.context(PathBuf::from("/work"));
    let mut text = format!(
        "### Members of every payload\n\n{}",
        members(&schema_of::<Document<'_>>())
    );
    let points = schema_of::<HookPoint>();
    for point in HookPoint::ALL {
        let _ = write!(text, "### `{point}`\n\n{} ", meaning(&points, point));
        if let Some(subject) = point.subject() {
            let _ = write!(text, "`matches` is held against `{subject}`. ");
        }
        text.push_str(match point.can_block() {
            true => "Exit code 2 blocks it.\n\n",
            false => "Nothing can block it.\n\n",
        });
        text.push_str(&members(&schema(point)));
        if let Some(event) = samples.event(point) {
            let document = Document::of(&event, &context);
            let example = serde_json::to_string_pretty(&document).unwrap_or_default();
            let _ = write!(text, "```json\n{example}\n```\n\n");
        }
        text.push_str(match answers(point) {
            [] => "Nothing is expected back.\n\n",
            _ => "| it may answer | which means |\n|---|---|\n",
        });
        for (answer, means) in answers(point) {
            let _ = writeln!(text, "| `{answer}` | {means} |");
        }
        if !answers(point).is_empty() {
            text.push('\n');
        }
    }
    let mut text = text.trim_end().to_owned();
    text.push('\n');
    text
}

/// Returns what may be answered at a point, each with its meaning.
pub(crate) const fn answers(point: HookPoint) -> &'static [(&'static str, &'static str)] {
    match point {
        HookPoint::BeforePrompt => &[
            (
                r#"{"context": "the release is on Friday"}"#,
                "The model reads the text next to the message.",
            ),
            (
                r#"{"context": ["one", "another"]}"#,
                "It reads all of them, in this order.",
            ),
        ],
        HookPoint::ToolCall => &[(
            r#"{"block": true, "reason": "not on Fridays"}"#,
            "The call does not run; the model is told why. The reason may be left out.",
        )],
        HookPoint::SessionBeforeCompact => &[
            (
                r#"{"cancel": true, "reason": "not now"}"#,
                "It does not happen. The reason may be left out.",
            ),
            (
                r#"{"compaction": {"summary": "The parser was fixed.", "first_kept_entry_id": "a5"}}"#,
                "It happens with this summary. The entry must be on the path and in the context; everything from it \
                 on stays verbatim.",
            ),
            (
                r#"{"compaction": {"summary": "The parser was fixed.", "short_summary": "parser", "first_kept_entry_id": "a5", "tokens_before": 5210, "ledger": false, "details": {"by": "mine"}, "preserve_data": {"mine": 1}}}"#,
                "All that a compaction may have. `tokens_before` is the plan's unless given; with `ledger: false` \
                 nothing is quoted behind the summary; `details` and \
                 `preserve_data` are stored with the entry.",
            ),
        ],
        HookPoint::SessionCompacting => &[
            (
                r#"{"context": ["keep the names of the tests"]}"#,
                "Lines that the summarizer reads in addition; a text or a list of texts.",
            ),
            (
                r#"{"prompt": "Sum it up in five lines."}"#,
                "Takes the place of the base prompt; not in a handoff.",
            ),
            (
                r#"{"preserve_data": {"mine": {"seen": 3}}}"#,
                "Stored with the entry of the compaction; not in a handoff.",
            ),
        ],
        HookPoint::SessionBeforeTree => &[
            (
                r#"{"cancel": true, "reason": "finish this first"}"#,
                "The leaf stays where it is. The reason may be left out.",
            ),
            (
                r#"{"summary": {"summary": "The parser was fixed.", "details": {"by": "mine"}}}"#,
                "The summary of what is left behind, if the user wants one. `details` may be left out.",
            ),
        ],
        HookPoint::SessionStart
        | HookPoint::SessionShutdown
        | HookPoint::ToolResult
        | HookPoint::TurnEnd
        | HookPoint::SessionCompact
        | HookPoint::SessionCompactFailed
        | HookPoint::SessionTree => &[],
    }
}

fn schema(point: HookPoint) -> Value {
    match point {
        HookPoint::SessionStart => schema_of::<shape::SessionStart<'_>>(),
        HookPoint::SessionShutdown => schema_of::<shape::SessionShutdown<'_>>(),
        HookPoint::BeforePrompt => schema_of::<shape::BeforePrompt<'_>>(),
        HookPoint::ToolCall => schema_of::<shape::ToolCall<'_>>(),
        HookPoint::ToolResult => schema_of::<shape::ToolResult<'_>>(),
        HookPoint::TurnEnd => schema_of::<shape::TurnEnd<'_>>(),
        HookPoint::SessionBeforeCompact => schema_of::<shape::SessionBeforeCompact<'_>>(),
        HookPoint::SessionCompacting => schema_of::<shape::SessionCompacting<'_>>(),
        HookPoint::SessionCompact => schema_of::<shape::SessionCompact<'_>>(),
        HookPoint::SessionCompactFailed => schema_of::<shape::SessionCompactFailed<'_>>(),
        HookPoint::SessionBeforeTree => schema_of::<shape::SessionBeforeTree>(),
        HookPoint::SessionTree => schema_of::<shape::SessionTree<'_>>(),
    }
}

fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// Returns when a point comes, as its comment says.
fn meaning(points: &Value, point: HookPoint) -> String {
    let kinds = points["oneOf"].as_array();
    let own = kinds
        .into_iter()
        .flatten()
        .find(|kind| kind["const"] == point.name());
    own.map(|own| one_line(&own["description"]))
        .unwrap_or_default()
}

/// Returns the table of the members of a payload.
fn members(schema: &Value) -> String {
    let mut rows = String::new();
    // All of them are always there, and this list has the order of the type.
    let names = schema["required"].as_array().into_iter().flatten();
    for name in names.filter_map(Value::as_str) {
        let member = &schema["properties"][name];
        let meaning = one_line(&member["description"]);
        let _ = writeln!(rows, "| `{name}` | {} | {meaning} |", kind(member));
    }
    format!("| member | is | meaning |\n|---|---|---|\n{rows}\n")
}

/// Returns in words what a member may be.
fn kind(node: &Value) -> String {
    let items = || match node["items"]["type"].as_str() {
        Some(one) => format!("list of {one}s"),
        None => "list of objects".to_owned(),
    };
    let name = |one: &str| match one {
        "array" => items(),
        other => other.to_owned(),
    };
    match &node["type"] {
        Value::String(one) => name(one),
        Value::Array(some) => {
            let some: Vec<String> = some.iter().filter_map(Value::as_str).map(name).collect();
            some.join(" or ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any JSON".to_owned(),
    }
}

/// Returns a comment on one line, as tables need it.
fn one_line(comment: &Value) -> String {
    let text = comment.as_str().unwrap_or_default();
    text.replace('\n', " ")
}
