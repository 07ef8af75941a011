//! `servers`: the servers of tools that are configured, what each brings, and what is wrong with it.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use llm_providers::{Redactor, Secret};
use serde_json::{Value, json};

use crate::cancel;
use crate::commands::Outcome;
use crate::error::Error;
use crate::extensions::secret_variables;
use crate::models::block_on;
use crate::options::Global;
use crate::settings::AppSettings;
use crate::ui::{BAD, BOLD, DIM, GOOD, clean, counted, first_line, styled, width};
use agent_tools::Workspace;
use agent_tools::mcp::{Report, ServerEnvironment, Servers, Tell, configured, secrets};
use std::path::PathBuf;

/// Start the servers of tools that are configured, list what they bring, and end them.
#[derive(Debug, Args)]
pub struct ServersArgs {
    /// The folder that they run in; this one unless given.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

/// How far names of tools are indented.
const INDENT: usize = 4;

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
    let found = |name: &String| reports.iter().find(|report| report.name == *name);
    let document = names.iter().map(|name| document(name, found(name)));
    let document = json!({ "servers": document.collect::<Vec<_>>() });
    let texts = names.iter().map(|name| text(name, found(name)));
    let text: String = texts.collect();
    let failed: Vec<&str> = reports
        .iter()
        .filter(|report| report.tools.is_err())
        .map(|report| report.name.as_str())
        .collect();
    Ok(match failed.as_slice() {
        [] => Outcome::done(&document, text),
        failed => {
            let reason = format!("cannot use {}", failed.join(", "));
            Outcome::failed(reason, &document, text)
        }
    })
}

/// Starts the servers that are used, and ends them again.
fn reports(settings: &AppSettings, workspace: &Workspace) -> Result<Vec<Report>, Error> {
    let configs = configured(&settings.mcp_servers);
    let secret_variables = secret_variables(settings)?;
    let values = secret_variables
        .iter()
        .filter_map(|name| Secret::new(&std::env::var(name).ok()?));
    let mut hidden: Vec<Secret> = values.collect();
    hidden.extend(secrets(&configs));
    let around = ServerEnvironment {
        workspace: workspace.root().to_owned(),
        secret_variables,
        redactor: Arc::new(Redactor::new(&hidden)),
    };
    let tell: Tell = Arc::new(|_| {});
    let reports = block_on(async {
        let servers = Servers::start(&configs, &around, &cancel::token(), &tell).await;
        let reports = servers.reports().to_vec();
        servers.stop().await;
        reports
    })?;
    cancel::check()?;
    Ok(reports)
}

fn document(name: &str, report: Option<&Report>) -> Value {
    let (state, tools, error) = match report.map(|report| &report.tools) {
        None => ("off", &[][..], None),
        Some(Ok(tools)) => ("ready", tools.as_slice(), None),
        Some(Err(error)) => ("failed", &[][..], Some(error)),
    };
    let tools = tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
        })
    });
    json!({
        "name": name,
        "state": state,
        "tools": tools.collect::<Vec<_>>(),
        "left_out": report.map_or(&[][..], |report| &report.left_out),
        "error": error,
    })
}

fn text(name: &str, report: Option<&Report>) -> String {
    let name = styled(BOLD, &clean(name));
    let Some(report) = report else {
        return format!("{name}  {}\n", styled(DIM, "off"));
    };
    let mut text = match &report.tools {
        Ok(tools) => {
            let count = counted(tools.len(), "tool");
            let mut text = format!("{name}  {}\n", styled(GOOD, &count));
            for tool in tools {
                let shown = clean(&tool.name);
                let room = width().saturating_sub(INDENT + crate::ui::columns(&shown) + 2);
                let about = first_line(&tool.description, room);
                text.push_str(&format!("{:INDENT$}{shown}", ""));
                if !about.is_empty() {
                    text.push_str(&format!("  {}", styled(DIM, &about)));
                }
                text.push('\n');
            }
            text
        }
        Err(error) => format!("{name}  {}  {}\n", styled(BAD, "failed"), clean(error)),
    };
    for left_out in &report.left_out {
        let line = format!("{:INDENT$}left out: {}", "", clean(left_out));
        text.push_str(&styled(DIM, &line));
        text.push('\n');
    }
    text
}
