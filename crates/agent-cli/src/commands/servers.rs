//! `servers`: the servers of tools that are configured, what each brings, and what is wrong with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_settings::AppSettings;
use agent_tools::Workspace;
use agent_tools::mcp::{Report, ServerEnvironment, Servers, ToolReport, configured};
use clap::Args;
use serde_json::{Value, json};
use session_tools::rights::redactor;

use crate::cancel;
use crate::commands::Outcome;
use crate::error::Error;
use crate::models::block_on;
use crate::models::secret_variables;
use crate::options::Global;
use crate::ui::{BAD, BOLD, DIM, GOOD, clean, columns, counted, first_line, styled, width};

/// Start the servers of tools that are configured, list what they bring, and end them.
#[derive(Debug, Args)]
pub struct ServersArgs {
    /// The folder that they run in; this one unless given.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

pub(super) fn run(args: &ServersArgs, global: &Global) -> Result<Outcome, Error> {
    let folder = args.cwd.as_deref().unwrap_or(Path::new("."));
    let workspace = Workspace::open(folder)?;
    let settings = global.load_app_settings_with(None, workspace.root())?;
    let names: Vec<&String> = settings.mcp_servers.keys().collect();
    if names.is_empty() {
        let reason = "no servers are configured; name one under mcpServers in the settings";
        let document = json!({ "servers": [] });
        return Ok(Outcome::nothing_to_do(reason.to_owned(), document));
    }
    let reports = reports(&settings, &workspace)?;
    let report = |name: &str| reports.iter().find(|report| report.name == name);
    let rows = names.iter().map(|name| document(name, report(name)));
    let document = json!({ "servers": rows.collect::<Vec<_>>() });
    let text = names.iter().map(|name| text(name, report(name))).collect();
    let failed = reports.iter().filter(|report| report.tools.is_err());
    let failed: Vec<&str> = failed.map(|report| report.name.as_str()).collect();
    Ok(match failed.is_empty() {
        true => Outcome::done(&document, text),
        false => {
            let reason = format!("cannot use {}", failed.join(", "));
            Outcome::failed(reason, &document, text)
        }
    })
}

/// Starts the servers that are used, and ends them again.
pub(super) fn reports(settings: &AppSettings, workspace: &Workspace) -> Result<Vec<Report>, Error> {
    let configs = configured(&settings.mcp_servers);
    let secret_variables = secret_variables(settings)?;
    let around = ServerEnvironment {
        workspace: workspace.root().to_owned(),
        redactor: Arc::new(redactor(&secret_variables, &configs)),
        secret_variables,
    };
    let reports = block_on(async {
        let token = cancel::token();
        let servers = Servers::start(&configs, &around, &token, &(Arc::new(|_| {}) as _)).await;
        let reports = servers.reports().to_vec();
        servers.stop().await;
        reports
    })?;
    cancel::check()?;
    Ok(reports)
}

/// Returns the document of a server; without a report where it is switched off.
fn document(name: &str, report: Option<&Report>) -> Value {
    let tool = |tool: &ToolReport| json!({ "name": tool.name, "description": tool.description });
    let tools = report.map(|report| report.tools.as_ref());
    let found = tools.and_then(Result::ok).into_iter().flatten();
    json!({
        "name": name,
        "state": match tools {
            None => "off",
            Some(Ok(_)) => "ready",
            Some(Err(_)) => "failed",
        },
        "tools": found.map(tool).collect::<Vec<_>>(),
        "left_out": report.map_or(&[][..], |report| &report.left_out),
        "error": tools.and_then(Result::err),
    })
}

fn text(name: &str, report: Option<&Report>) -> String {
    let name = styled(BOLD, &clean(name));
    let (tools, left_out) = match report.map(|report| (&report.tools, &report.left_out)) {
        None => return format!("{name}  {}\n", styled(DIM, "off")),
        Some((Err(error), _)) => {
            return format!("{name}  {}  {}\n", styled(BAD, "failed"), clean(error));
        }
        Some((Ok(tools), left_out)) => (tools, left_out),
    };
    let mut text = format!("{name}  {}\n", styled(GOOD, &counted(tools.len(), "tool")));
    for tool in tools {
        let shown = clean(&tool.name);
        let room = width().saturating_sub(columns(&shown) + 6);
        let about = match tool.description.trim().is_empty() {
            true => String::new(),
            false => styled(DIM, &format!("  {}", first_line(&tool.description, room))),
        };
        text.push_str(&format!("    {shown}{about}\n"));
    }
    for left_out in left_out {
        let line = format!("    left out: {}\n", clean(left_out));
        text.push_str(&styled(DIM, &line));
    }
    text
}
