//! `approvals`: which tool calls of a project are allowed without a question, and which never are.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use session_tools::standard_tools;

use serde_json::json;

use crate::commands::Outcome;
use crate::error::Error;
use crate::options::Global;
use crate::ui::{BAD, DIM, GOOD, WARN, clean, counted, styled};
use agent_tools::Workspace;
use agent_tools::approval::{ApprovalStore, Rule, RuleDecision, Rules, Subject};

/// Show and change which tool calls are allowed in a project without a question, and which never are.
#[derive(Debug, Args)]
pub struct ApprovalsArgs {
    /// What to do with the rules.
    #[command(subcommand)]
    pub command: ApprovalsCommand,
}

/// What to do with the rules of a project.
#[derive(Debug, Subcommand)]
pub enum ApprovalsCommand {
    /// List the rules.
    List(ProjectArgs),
    /// Let calls run without a question.
    Allow(RuleArgs),
    /// Let calls never run, whatever else is allowed.
    Deny(RuleArgs),
    /// Remove a rule, so that somebody is asked again.
    Forget(RuleArgs),
}

/// The project.
#[derive(Debug, Args)]
pub struct ProjectArgs {
    /// The folder of the project; this one unless given.
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
}

/// A rule of a project.
#[derive(Debug, Args)]
pub struct RuleArgs {
    /// The command, exactly; or its beginning with * at the end, for single commands that begin so.
    #[arg(allow_hyphen_values = true)]
    pub rule: String,
    /// The tool whose calls the rule is about; SERVER__* for all of a server.
    #[arg(long, value_name = "NAME", default_value = "bash")]
    pub tool: String,
    /// Take a * at the end as it stands.
    #[arg(long)]
    pub exact: bool,
    #[command(flatten)]
    pub project: ProjectArgs,
}

pub(super) fn run(args: &ApprovalsArgs, global: &Global) -> Result<Outcome, Error> {
    match &args.command {
        ApprovalsCommand::List(project) => list(&memory(project, global)?),
        ApprovalsCommand::Allow(rule) => add(rule, global, RuleDecision::Allowed),
        ApprovalsCommand::Deny(rule) => add(rule, global, RuleDecision::Denied),
        ApprovalsCommand::Forget(rule) => forget(rule, global),
    }
}

#[cfg(feature = "tui")]
pub(super) fn listed(folder: PathBuf, global: &Global) -> Result<Outcome, Error> {
    let project = ProjectArgs { cwd: Some(folder) };
    list(&memory(&project, global)?)
}

fn workspace(project: &ProjectArgs) -> Result<Workspace, Error> {
    let folder = project.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
    if !folder.is_dir() {
        return Err(Error::Usage(format!(
            "--cwd {}: there is no such folder; name that of a project",
            folder.display()
        )));
    }
    Ok(Workspace::open(&folder)?)
}

fn memory(project: &ProjectArgs, global: &Global) -> Result<ApprovalStore, Error> {
    let workspace = workspace(project)?;
    let config = global.settings_sources()?.config_dir;
    ApprovalStore::of(config.as_deref(), workspace.root()).map_err(Error::Failure)
}

fn list(memory: &ApprovalStore) -> Result<Outcome, Error> {
    let rules = memory.rules().map_err(Error::Failure)?;
    let mut text = String::new();
    let mut show = |label: String, rules: &[Rule]| {
        for rule in rules {
            let (tool, what) = (clean(&rule.tool), clean(&rule.text()));
            let mark = match &rule.subject {
                Subject::Exact(text) if text.ends_with('*') => styled(DIM, "  (exactly)"),
                Subject::Exact(_) | Subject::Begins(_) => String::new(),
            };
            text.push_str(&format!("{label}  {tool}  {what}{mark}\n"));
        }
    };
    show(styled(BAD, "never "), &rules.deny);
    show(styled(GOOD, "always"), &rules.allow);
    for warning in rules.allow.iter().filter_map(warning) {
        text.push_str(&format!("{}\n", styled(WARN, &warning)));
    }
    if rules.is_empty() {
        let project = clean(memory.project());
        text = format!("nothing is allowed or denied for good in {project}\n");
    }
    text.push_str(&styled(
        DIM,
        &format!("{}\n", clean(&memory.file().display().to_string())),
    ));
    Ok(Outcome::done(&document(memory, &rules), text))
}

/// Returns what to say of a rule that allows more than its words say.
fn warning(rule: &Rule) -> Option<String> {
    let reach = rule.reach()?;
    let rule = clean(&rule.text());
    Some(format!(
        "warning: what {rule} allows can {reach} by its arguments; allow a longer beginning, or exact commands"
    ))
}

fn document(memory: &ApprovalStore, rules: &Rules) -> serde_json::Value {
    json!({
        "project": memory.project(),
        "file": memory.file().display().to_string(),
        "allow": rules.allow,
        "deny": rules.deny,
        "warnings": rules.allow.iter().filter_map(warning).collect::<Vec<_>>(),
    })
}

fn rule(args: &RuleArgs) -> Result<Rule, Error> {
    let rule = match args.exact {
        true => Rule::exact(&args.tool, &args.rule),
        false => Rule::of_pattern(&args.tool, &args.rule),
    };
    rule.map_err(Error::Usage)
}

/// Returns the rule with the name that tools know a file by.
fn named(rule: Rule, workspace: &Workspace) -> Rule {
    if standard_tools().meta(&rule.tool).path.is_none() {
        return rule;
    }
    let subject = match &rule.subject {
        Subject::Exact(path) => Subject::Exact(workspace.named(path)),
        Subject::Begins(begin) => {
            let root = workspace.root().to_str().unwrap_or_default();
            let within = begin.strip_prefix(root);
            let within = within.and_then(|within| within.strip_prefix('/'));
            let within = within.or_else(|| begin.strip_prefix("./"));
            Subject::Begins(within.unwrap_or(begin).to_owned())
        }
    };
    Rule { subject, ..rule }
}

/// Refuses a rule that no call could ever meet.
fn check(rule: &Rule) -> Result<(), Error> {
    let tool = &rule.tool;
    let known = standard_tools();
    if tool.contains("__") {
        let any = Subject::Begins(String::new());
        let itself = rule.subject == Subject::Exact(tool.clone()) && !tool.ends_with("__*");
        return match rule.subject == any || itself {
            true => Ok(()),
            false => Err(Error::Usage(format!(
                "a rule for {tool} holds for all its calls, since their arguments vary; give * as the rule"
            ))),
        };
    }
    if !known.names().any(|name| name == tool) {
        let known = known.names().collect::<Vec<_>>().join(", ");
        return Err(Error::Usage(format!(
            "--tool {tool}: there is no such tool; choose from {known}, or SERVER__TOOL or SERVER__* for those of a server"
        )));
    }
    Ok(())
}

fn add(args: &RuleArgs, global: &Global, rule_decision: RuleDecision) -> Result<Outcome, Error> {
    let rule = rule(args)?;
    check(&rule)?;
    let memory = memory(&args.project, global)?;
    let rule = named(rule, &workspace(&args.project)?);
    let shown = format!("{}: {}", clean(&rule.tool), clean(&rule.text()));
    let warning = warning(&rule).filter(|_| rule_decision == RuleDecision::Allowed);
    memory.add(rule, rule_decision).map_err(Error::Failure)?;
    let rules = memory.rules().map_err(Error::Failure)?;
    let what = match rule_decision {
        RuleDecision::Allowed => "runs without a question",
        RuleDecision::Denied => "never runs",
    };
    let mut text = format!("{shown} {what} in {}\n", clean(memory.project()));
    text.extend(warning.map(|warning| format!("{}\n", styled(WARN, &warning))));
    Ok(Outcome::done(&document(&memory, &rules), text))
}

fn forget(args: &RuleArgs, global: &Global) -> Result<Outcome, Error> {
    let rule = rule(args)?;
    let memory = memory(&args.project, global)?;
    let named = named(rule.clone(), &workspace(&args.project)?);
    let gone = memory
        .forget(|known| *known == rule || *known == named)
        .map_err(Error::Failure)?;
    let rules = memory.rules().map_err(Error::Failure)?;
    let document = document(&memory, &rules);
    match gone {
        0 => {
            let reason = "there is no such rule; agent-cli approvals list shows those there are";
            Ok(Outcome::nothing_to_do(reason.to_owned(), document))
        }
        gone => {
            let text = format!("{} forgotten\n", counted(gone, "rule"));
            Ok(Outcome::done(&document, text))
        }
    }
}
