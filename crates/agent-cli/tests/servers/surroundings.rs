//! What the tests of the client share: servers of this program, calls, and what is heard.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_tools::approval::Approvals;
use agent_tools::mcp::ServerEvent;
use agent_tools::mcp::{ServerConfig, ServerEnvironment, Servers, Tell};
use agent_tools::{ToolContext, ToolOutput, Toolbox, Workspace};
use llm_providers::CancellationToken;
use serde_json::Value;
use session_model::ToolCall;
use session_model::json::RawJson;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Longer than anything takes, however busy the machine is.
pub const LONG: Duration = Duration::from_secs(300);

/// Longer than nothing.
pub const SHORT: Duration = Duration::from_millis(20);

/// Runs a test that waits.
pub fn wait<F: Future>(test: F) -> F::Output {
    agent_cli::models::block_on(test).expect("a runtime")
}

/// Returns a server of this program, called `s`.
pub fn config(mode: &str) -> ServerConfig {
    let own = std::env::current_exe().expect("this program is somewhere");
    ServerConfig {
        name: "s".to_owned(),
        command: own.display().to_string(),
        args: vec!["--serve".to_owned(), mode.to_owned()],
        env: BTreeMap::new(),
        pass_env: Vec::new(),
        cwd: None,
        tools: None,
        named: None,
        start_timeout: LONG,
        call_timeout: LONG,
    }
}

/// A workspace with servers.
pub struct Harness {
    pub context: ToolContext,
    pub cancel: CancellationToken,
    heard: Arc<Mutex<Vec<ServerEvent>>>,
    folder: TempDir,
}

impl Harness {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::open(folder.path()).expect("a workspace");
        let mut context = ToolContext::new(workspace, Approvals::allow_all());
        context.overflow = Some(folder.path().join("overflow"));
        Self {
            cancel: context.cancel.clone(),
            context,
            heard: Arc::default(),
            folder,
        }
    }

    pub fn workspace(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there")
    }

    pub async fn start(&self, configs: &[ServerConfig]) -> Servers {
        let heard = self.heard.clone();
        let tell: Tell = Arc::new(move |event| heard.lock().expect("no test panicked").push(event));
        let around = ServerEnvironment::of(&self.context);
        Servers::start(configs, &around, &self.cancel, &tell).await
    }

    /// Returns what was told since somebody asked, a line each.
    pub fn told(&self) -> Vec<String> {
        let events = std::mem::take(&mut *self.heard.lock().expect("no test panicked"));
        let line = |event| match event {
            ServerEvent::State {
                name,
                state,
                tools,
                error,
            } => format!("{name} {state} {tools} {}", error.unwrap_or_default()),
            ServerEvent::Notice(text) => format!("notice: {text}"),
        };
        events.into_iter().map(line).collect()
    }

    /// Calls a tool of the servers.
    pub async fn call(&self, servers: &Servers, tool: &str, arguments: Value) -> ToolOutput {
        let tools = Toolbox::none().with(servers.tools());
        tools.run(&call(tool, &arguments), &self.context).await
    }

    /// Returns the text of a good result.
    pub async fn good(&self, servers: &Servers, tool: &str, arguments: Value) -> String {
        let output = self.call(servers, tool, arguments).await;
        assert!(!output.is_error, "{output:?}");
        text(&output)
    }

    /// Returns the text of a failure.
    pub async fn bad(&self, servers: &Servers, tool: &str, arguments: Value) -> String {
        let output = self.call(servers, tool, arguments).await;
        assert!(output.is_error, "{output:?}");
        text(&output)
    }
}

pub fn call(tool: &str, arguments: &Value) -> ToolCall {
    ToolCall {
        id: "call".to_owned(),
        name: tool.to_owned(),
        arguments: Some(RawJson::of(arguments).expect("arguments are JSON")),
        signature: None,
    }
}

pub fn text(output: &ToolOutput) -> String {
    output.content.joined_text("\n")
}

/// What a server tells the test of what it does.
pub struct Marks {
    pub port: String,
    lines: UnboundedReceiver<String>,
}

impl Marks {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (sender, lines) = unbounded_channel();
        std::thread::spawn(move || {
            let Ok((stream, _)) = listener.accept() else {
                return;
            };
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self {
            port: port.to_string(),
            lines,
        }
    }

    /// Waits for the next mark; none once the server has ended.
    pub async fn next(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    /// Waits until the server and its children are dead: only they hold the connection. What they said before is
    /// passed over.
    pub async fn gone(&mut self) {
        let over = async { while self.lines.recv().await.is_some() {} };
        let over = tokio::time::timeout(LONG, over).await;
        over.expect("no process is left");
    }

    /// Waits for the next mark on a thread that nothing else runs on.
    pub fn blocking_next(&mut self) -> Option<String> {
        self.lines.blocking_recv()
    }
}
