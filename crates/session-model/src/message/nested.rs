//! The calls that a tool itself made.

use serde::Deserialize;

use crate::json::RawJson;
use crate::message::ToolCall;

/// A call that a tool made to another one while it ran, such as a script of pi's code mode. Its result is not recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedCall {
    /// The call.
    pub call: ToolCall,
    /// False when it failed or had not ended.
    pub succeeded: bool,
}

/// Reads the calls that a tool made; what cannot be read is none.
pub(super) fn nested_calls(raw: Option<&RawJson>) -> Vec<NestedCall> {
    #[derive(Deserialize)]
    struct Nested {
        calls: Vec<WireNestedCall>,
    }
    #[derive(Deserialize)]
    struct WireNestedCall {
        #[serde(default)]
        id: String,
        name: String,
        arguments: Option<RawJson>,
        #[serde(default)]
        status: String,
    }
    let nested = raw.and_then(|raw| serde_json::from_str::<Nested>(raw.get()).ok());
    let calls = nested.into_iter().flat_map(|nested| nested.calls);
    calls
        .map(|call| NestedCall {
            call: ToolCall {
                id: call.id,
                name: call.name,
                arguments: call.arguments,
                signature: None,
            },
            succeeded: call.status == "ok",
        })
        .collect()
}
