//! The parameters of editors: the members that are used. Other members are ignored.

use std::path::PathBuf;

use serde::Deserialize;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Initialize {
    #[serde(default)]
    pub client_capabilities: ClientCapabilities,
}

/// The capabilities of the editor.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct ClientCapabilities {
    #[serde(default)]
    pub session: SessionCapabilities,
}

/// The updates that the editor knows.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct SessionCapabilities {
    #[serde(default, deserialize_with = "is_there")]
    pub compaction: bool,
    #[serde(default, deserialize_with = "is_there")]
    pub notices: bool,
}

/// Reads a capability: an object means that it is supported.
fn is_there<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    serde_json::Value::deserialize(deserializer).map(|value| value.is_object())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewSession {
    pub cwd: PathBuf,
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
}

/// Of `session/load` and `session/resume`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OldSession {
    pub session_id: String,
    pub cwd: PathBuf,
    #[serde(default)]
    pub mcp_servers: Vec<McpServer>,
}

/// A tool server; one without a command is reached over a network.
#[derive(Debug, Deserialize)]
pub(crate) struct McpServer {
    pub name: String,
    pub command: Option<String>,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub env: Vec<Variable>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Variable {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct ListSessions {
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    #[serde(default)]
    pub cursor: Option<String>,
}

/// The parameters of a request that only names a session.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfSession {
    pub session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prompt {
    pub session_id: String,
    pub prompt: Vec<Block>,
}

/// A part of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Block {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: String,
        mime_type: String,
    },
    ResourceLink {
        name: String,
        uri: String,
    },
    Resource {
        resource: Resource,
    },
    Audio {},
}

/// A file that comes with a prompt: its text, if it has one.
#[derive(Debug, Deserialize)]
pub(crate) struct Resource {
    pub uri: String,
    pub text: Option<String>,
}

/// The editor's answer to the question whether a call may run.
#[derive(Debug, Deserialize)]
pub(crate) struct Permission {
    pub outcome: Outcome,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum Outcome {
    Cancelled,
    #[serde(rename_all = "camelCase")]
    Selected {
        option_id: String,
    },
}

/// The cancellation of a request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CancelRequest {
    pub request_id: serde_json::Value,
}
