//! A server of tools, written with the library of the client: what a server that keeps to the protocol does, on its
//! own input and output. `cargo xtask tool-server` calls each of its tools through the program.

// Roots and questions to the model are on their way out of the protocol, and servers ask them still.
#![expect(deprecated, reason = "servers of today ask for roots and for answers")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
    CreateMessageRequestParams, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, Resource, ResourceContents, SamplingMessage,
    ServerCapabilities, ServerConfig, Tool, ToolAnnotations, object,
};
use rmcp::service::{RequestContext, serve_server};
use rmcp::transport::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceError};
use serde_json::{Value, json};

/// A picture of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Where the second page of the tools begins.
const SECOND: &str = "second";

/// How many steps `steps` tells of.
const STEPS: u32 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let service = serve_server(Server::default(), stdio_pipes()).await?;
        service.waiting().await?;
        Ok(())
    })
}

#[derive(Debug, Default)]
struct Server {
    /// What `keep` was told last.
    kept: AtomicU64,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("mcp_server", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        match page.and_then(|page| page.cursor).as_deref() {
            None => {
                let mut listed = ListToolsResult::with_all_items(first_page());
                listed.next_cursor = Some(SECOND.to_owned());
                Ok(listed)
            }
            Some(SECOND) => Ok(ListToolsResult::with_all_items(second_page())),
            Some(other) => Err(invalid(&format!("there is no page {other}"))),
        }
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = call.arguments.unwrap_or_default();
        let result = match &*call.name {
            "echo" => said(
                arguments
                    .get("text")
                    .and_then(Value::as_str)
                    .ok_or_else(|| invalid("text is missing"))?,
            ),
            "add" => CallToolResult::structured(
                json!({ "sum": number(&arguments, "a")? + number(&arguments, "b")? }),
            ),
            "picture" => CallToolResult::success(vec![
                ContentBlock::text("a pixel"),
                ContentBlock::image(PIXEL, "image/png"),
            ]),
            "sources" => sources(),
            "keep" => {
                let number = number(&arguments, "number")?;
                self.kept.store(number, Ordering::Relaxed);
                said(&format!("kept {}", self.kept.load(Ordering::Relaxed)))
            }
            "steps" => steps(&context).await?,
            "roots" => roots(&context).await,
            "ask_model" => ask_model(&context).await,
            "fail" => CallToolResult::error(vec![ContentBlock::text("no luck today")]),
            other => return Err(invalid(&format!("there is no tool {other}"))),
        };
        Ok(result.into())
    }
}

fn first_page() -> Vec<Tool> {
    let sum = json!({
        "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"],
    });
    vec![
        tool("echo", "Says what it is told.", &[("text", "string")])
            .with_annotations(ToolAnnotations::new().read_only(true)),
        tool(
            "add",
            "Adds two numbers.",
            &[("a", "integer"), ("b", "integer")],
        )
        .with_raw_output_schema(Arc::new(object(sum))),
        tool("picture", "Shows a pixel.", &[]),
        tool("sources", "Gives a link and a file.", &[]),
    ]
}

fn second_page() -> Vec<Tool> {
    vec![
        tool("keep", "Keeps a number.", &[("number", "integer")])
            .with_annotations(ToolAnnotations::new().read_only(false).idempotent(true)),
        tool("steps", "Tells how far it is.", &[]),
        tool("roots", "Says where the work is.", &[]),
        tool("ask_model", "Asks the model of the client.", &[]),
        tool("fail", "Fails.", &[]),
    ]
}

/// Returns a tool whose arguments have these names and types, all of them needed.
fn tool(name: &'static str, description: &'static str, arguments: &[(&str, &str)]) -> Tool {
    let properties = arguments
        .iter()
        .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })));
    let names: Vec<&str> = arguments.iter().map(|(name, _)| *name).collect();
    let schema = json!({
        "type": "object", "properties": properties.collect::<JsonObject>(), "required": names,
    });
    Tool::new(name, description, object(schema))
}

fn sources() -> CallToolResult {
    let link = Resource::new("https://example.com/plan", "plan").with_mime_type("text/plain");
    let data = ResourceContents::blob("AAAA", "file:///data").with_mime_type("application/x-data");
    CallToolResult::success(vec![
        ContentBlock::resource_link(link),
        ContentBlock::embedded_text("file:///notes.txt", "what was noted"),
        ContentBlock::resource(data),
    ])
}

/// Tells of each step, and at the end of how many.
async fn steps(context: &RequestContext<RoleServer>) -> Result<CallToolResult, ErrorData> {
    let token = context.meta.get_progress_token();
    let token = token.ok_or_else(|| invalid("nobody wants to know how far it is"))?;
    for step in 1..=STEPS {
        let told = ProgressNotificationParam::new(token.clone(), step.into())
            .with_total(STEPS.into())
            .with_message(format!("step {step}"));
        let told = context.peer.notify_progress(told).await;
        told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    }
    Ok(said(&format!("told of {STEPS} steps")))
}

async fn roots(context: &RequestContext<RoleServer>) -> CallToolResult {
    match context.peer.list_roots().await {
        Ok(listed) => {
            let roots = listed.roots.iter().map(|root| root.uri.as_str());
            said(&roots.collect::<Vec<_>>().join("\n"))
        }
        Err(error) => refused(&error),
    }
}

async fn ask_model(context: &RequestContext<RoleServer>) -> CallToolResult {
    let question = vec![SamplingMessage::user_text("What is the secret?")];
    let asked = CreateMessageRequestParams::new(question, 100);
    match context.peer.create_message(asked).await {
        Ok(answer) => said(&format!("the model said {:?}", answer.message)),
        Err(error) => refused(&error),
    }
}

/// Returns what the client said against a request, which the tool itself lives with.
fn refused(error: &ServiceError) -> CallToolResult {
    match error {
        ServiceError::McpError(error) => {
            said(&format!("refused with {}: {}", error.code.0, error.message))
        }
        other => CallToolResult::error(vec![ContentBlock::text(other.to_string())]),
    }
}

fn said(text: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn number(arguments: &JsonObject, name: &str) -> Result<u64, ErrorData> {
    let number = arguments.get(name).and_then(Value::as_u64);
    number.ok_or_else(|| invalid(&format!("{name} is no whole number")))
}

fn invalid(said: &str) -> ErrorData {
    ErrorData::invalid_params(said.to_owned(), None)
}
