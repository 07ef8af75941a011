//! Tests of the tools, and what they share: a workspace that goes when the test ends.

mod bash;
mod box_of_tools;
mod edit;
mod escapes;
mod paths;
mod read_write;
mod roots;
mod rules;
mod search;

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use session_model::ToolCall;
use session_model::json::RawJson;
use tempfile::TempDir;

use crate::approval::Approvals;

use crate::workspace::ResolvedPath;
use crate::{ToolContext, ToolOutput, Toolbox, Workspace};

/// A workspace `work` beside a folder `outside`.
struct TestWorkspace {
    folder: TempDir,
    context: ToolContext,
}

impl TestWorkspace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["work", "outside"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let workspace = Workspace::open(&folder.path().join("work")).unwrap();
        let context = ToolContext {
            overflow: Some(folder.path().join("overflow")),
            ..ToolContext::new(workspace, Approvals::allow_all())
        };
        Self { folder, context }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.context.workspace.root().join(name)
    }

    fn place(&self, name: &str) -> ResolvedPath {
        self.context.workspace.locate_to_change(name).unwrap()
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.folder
            .path()
            .canonicalize()
            .unwrap()
            .join("outside")
            .join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn link(&self, name: &str, target: impl AsRef<std::path::Path>) {
        symlink(target, self.path(name)).unwrap();
    }

    fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        path
    }

    fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    async fn run(&self, tool: &str, arguments: Value) -> ToolOutput {
        Toolbox::builtin()
            .run(&call(tool, &arguments), &self.context)
            .await
    }

    /// Returns the text of a good result.
    async fn good(&self, tool: &str, arguments: Value) -> String {
        let output = self.run(tool, arguments).await;
        assert!(!output.is_error, "{}", text(&output));
        text(&output)
    }

    /// Returns the text of a failure.
    async fn bad(&self, tool: &str, arguments: Value) -> String {
        let output = self.run(tool, arguments).await;
        assert!(output.is_error, "{}", text(&output));
        text(&output)
    }
}

fn call(tool: &str, arguments: &Value) -> ToolCall {
    ToolCall {
        id: "call".to_owned(),
        name: tool.to_owned(),
        arguments: Some(RawJson::of(arguments).unwrap()),
        signature: None,
    }
}

fn text(output: &ToolOutput) -> String {
    output.content.joined_text("\n")
}
