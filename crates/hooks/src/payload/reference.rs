//! The documentation of each hook point, as data: made from the types of the payloads and their comments.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{Document, SampleSession, shape};
use crate::point::HookPoint;

/// The documentation of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointReference {
    /// The point.
    pub point: HookPoint,
    /// When the point is reached.
    pub meaning: String,
    /// The JSON Schema of the members of its payload.
    pub schema: Value,
    /// An example of its payload.
    pub example: Value,
    /// The possible answers, each with its meaning.
    pub answers: &'static [(&'static str, &'static str)],
}

/// Returns the schema of the members of every payload.
pub fn common_members() -> Value {
    schema_of::<Document<'_>>()
}

/// Returns the documentation of each point, in the order of a session's life.
pub fn points() -> Vec<PointReference> {
    let session = SampleSession::default();
    let samples = session.samples().ok();
    let meanings = schema_of::<HookPoint>();
    let of = |point: HookPoint| {
        let event = samples.as_ref().and_then(|samples| samples.event(point));
        let kinds = meanings["oneOf"].as_array().into_iter().flatten();
        let own = kinds.into_iter().find(|kind| kind["const"] == point.name());
        let meaning = own.and_then(|own| own["description"].as_str());
        PointReference {
            point,
            meaning: meaning.unwrap_or_default().to_owned(),
            schema: schema(point),
            example: event.map(|event| event.payload()).unwrap_or_default(),
            answers: answers(point),
        }
    };
    HookPoint::ALL.map(of).into()
}

/// Returns what may be answered at a point, each with its meaning.
const fn answers(point: HookPoint) -> &'static [(&'static str, &'static str)] {
    match point {
        HookPoint::BeforePrompt => &[
            (
                r#"{"context": "the release is on Friday"}"#,
                "The model reads the text with the message.",
            ),
            (
                r#"{"context": ["one", "another"]}"#,
                "The model reads all of them, in this order.",
            ),
        ],
        HookPoint::ToolCall => &[(
            r#"{"block": true, "reason": "not on Fridays"}"#,
            "The call does not run; the model reads the reason, which may be left out.",
        )],
        HookPoint::SessionBeforeCompact => &[
            (
                r#"{"cancel": true, "reason": "not now"}"#,
                "Nothing is compacted. The reason may be left out.",
            ),
            (
                r#"{"compaction": {"summary": "The parser was fixed.", "first_kept_entry_id": "a5"}}"#,
                "This summary is used. The entry must be on the path and in the context; everything from it on stays \
                 verbatim.",
            ),
            (
                r#"{"compaction": {"summary": "The parser was fixed.", "short_summary": "parser", "first_kept_entry_id": "a5", "tokens_before": 5210, "ledger": false, "details": {"by": "mine"}, "preserve_data": {"mine": 1}}}"#,
                "All members. `tokens_before` defaults to that of the plan; `ledger: false` leaves the ledger out; \
                 `details` and `preserve_data` are stored in the entry.",
            ),
        ],
        HookPoint::SessionCompacting => &[
            (
                r#"{"context": ["keep the names of the tests"]}"#,
                "Additional lines for the summarizer: a text or a list of texts.",
            ),
            (
                r#"{"prompt": "Sum it up in five lines."}"#,
                "Replaces the base prompt; not in a handoff.",
            ),
            (
                r#"{"preserve_data": {"mine": {"seen": 3}}}"#,
                "Stored in the entry; not in a handoff.",
            ),
        ],
        HookPoint::SessionBeforeTree => &[
            (
                r#"{"cancel": true, "reason": "finish this first"}"#,
                "The leaf does not move. The reason may be left out.",
            ),
            (
                r#"{"summary": {"summary": "The parser was fixed.", "details": {"by": "mine"}}}"#,
                "The branch summary, if the user wants one. `details` may be left out.",
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
