//! `servers`: the servers of tools that are configured, what each brings, and what is wrong with it.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::cancel;
use crate::commands::Outcome;
use crate::error::Error;
use crate::extensions::secret_variables;
use crate::models::block_on;
use crate::options::Global;
use crate::ui::{BAD, BOLD, DIM, GOOD, clean, columns, counted, first_line, styled, width};
use agent_settings::AppSettings;
use agent_tools::Workspace;
use agent_tools::mcp::{Report, ServerEnvironment, Servers, Tell, configured};
use session_tools::rights::redactor;
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
    let rows: Vec<Row<'_>> = names.iter().map(|name| Row::of(name, &reports)).collect();
    let document = json!({ "servers": rows });
    let text: String = rows.iter().map(Row::text).collect();
    let failed = rows.iter().filter(|row| row.error.is_some());
    let failed: Vec<&str> = failed.map(|row| row.name).collect();
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
    let redactor = Arc::new(redactor(&secret_variables, &configs));
    let around = ServerEnvironment {
        workspace: workspace.root().to_owned(),
        secret_variables,
        redactor,
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

/// A server of the settings.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    /// `off`, `ready` or `failed`.
    state: &'static str,
    tools: Vec<ToolRow<'a>>,
    left_out: &'a [String],
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct ToolRow<'a> {
    name: &'a str,
    description: &'a str,
}

impl<'a> Row<'a> {
    fn of(name: &'a str, reports: &'a [Report]) -> Self {
        let report = reports.iter().find(|report| report.name == name);
        let tools = report.map(|report| report.tools.as_ref());
        let found = tools.into_iter().flatten().flatten();
        Self {
            name,
            state: match tools {
                None => "off",
                Some(Ok(_)) => "ready",
                Some(Err(_)) => "failed",
            },
            tools: found
                .map(|tool| ToolRow {
                    name: &tool.name,
                    description: &tool.description,
                })
                .collect(),
            left_out: report.map_or(&[], |report| &report.left_out),
            error: tools.and_then(|tools| Some(tools.err()?.as_str())),
        }
    }

    fn text(&self) -> String {
        let name = styled(BOLD, &clean(self.name));
        let mut text = match (self.state, self.error) {
            ("off", _) => format!("{name}  {}\n", styled(DIM, "off")),
            (_, Some(error)) => format!("{name}  {}  {}\n", styled(BAD, "failed"), clean(error)),
            (_, None) => format!(
                "{name}  {}\n",
                styled(GOOD, &counted(self.tools.len(), "tool"))
            ),
        };
        for tool in &self.tools {
            let shown = clean(tool.name);
            let room = width().saturating_sub(INDENT + columns(&shown) + 2);
            let about = styled(DIM, &first_line(tool.description, room));
            let line = match tool.description.trim().is_empty() {
                true => shown,
                false => format!("{shown}  {about}"),
            };
            text.push_str(&format!("{:INDENT$}{line}\n", ""));
        }
        for left_out in self.left_out {
            let line = format!("{:INDENT$}left out: {}", "", clean(left_out));
            text.push_str(&format!("{}\n", styled(DIM, &line)));
        }
        text
    }
}
