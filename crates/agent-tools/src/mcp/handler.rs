//! Requests that a server may make of the agent: only the roots of the workspace.

// Roots and questions to the model are deprecated in the protocol, but servers still request them.
#![expect(deprecated, reason = "servers of today ask for roots and for answers")]

use std::path::{Path, PathBuf};

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ErrorCode,
    Implementation, ListRootsResult, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, ErrorData, RoleClient};
use url::Url;

/// Answers a server's requests: questions to the user and to the model are refused, as is what is unknown.
#[derive(Debug)]
pub(super) struct Handler {
    /// The folder that is worked in.
    pub workspace: PathBuf,
}

impl ClientHandler for Handler {
    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let root = Root::new(file_uri(&self.workspace)).with_name("workspace");
        Ok(ListRootsResult::new(vec![root]))
    }

    async fn create_message(
        &self,
        _question: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        // The code of what is not offered; servers pass the words on to people.
        let message = "agent-cli does not ask its model for servers";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let own = Implementation::new("agent-cli", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities, own)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// Returns the address of a folder; that of the root for a path that is not absolute.
pub(super) fn file_uri(path: &Path) -> String {
    Url::from_file_path(path).map_or_else(|()| "file:///".to_owned(), String::from)
}
