//! `approvals`: which tool calls of a project are allowed without a question, and which never are.

use std::path::PathBuf;

use serde_json::json;

use crate::args::{ApprovalsArgs, ApprovalsCommand, Global, ProjectArgs, RuleArgs};
use crate::commands::Outcome;
use crate::error::Error;
use crate::session::approval::{Memory, Rule, Rules, Ruling, Subject};
use crate::session::tools::Workspace;
use crate::ui::{BAD, DIM, GOOD, clean, counted, styled};

pub(super) fn run(args: &ApprovalsArgs, global: &Global) -> Result<Outcome, Error> {
    match &args.command {
        ApprovalsCommand::List(project) => list(&memory(project, global)?),
        ApprovalsCommand::Allow(rule) => add(rule, global, Ruling::Allowed),
        ApprovalsCommand::Deny(rule) => add(rule, global, Ruling::Denied),
        ApprovalsCommand::Forget(rule) => forget(rule, global),
    }
}

fn memory(project: &ProjectArgs, global: &Global) -> Result<Memory, Error> {
    let folder = project.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
    if !folder.is_dir() {
        return Err(Error::Usage(format!(
            "--cwd {}: there is no such folder; name that of a project",
            folder.display()
        )));
    }
    let workspace = Workspace::open(&folder)?;
    let config = global.settings_sources()?.config_dir;
    Memory::of(config.as_deref(), workspace.root()).map_err(Error::Failure)
}

fn list(memory: &Memory) -> Result<Outcome, Error> {
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

fn document(memory: &Memory, rules: &Rules) -> serde_json::Value {
    json!({
        "project": memory.project(),
        "file": memory.file().display().to_string(),
        "allow": rules.allow,
        "deny": rules.deny,
    })
}

fn rule(args: &RuleArgs) -> Result<Rule, Error> {
    let rule = match args.exact {
        true => Rule::exact(&args.tool, &args.rule),
        false => Rule::of_pattern(&args.tool, &args.rule),
    };
    rule.map_err(Error::Usage)
}

fn add(args: &RuleArgs, global: &Global, ruling: Ruling) -> Result<Outcome, Error> {
    let rule = rule(args)?;
    let memory = memory(&args.project, global)?;
    let shown = format!("{}: {}", clean(&rule.tool), clean(&rule.text()));
    memory.add(rule, ruling).map_err(Error::Failure)?;
    let rules = memory.rules().map_err(Error::Failure)?;
    let what = match ruling {
        Ruling::Allowed => "runs without a question",
        Ruling::Denied => "never runs",
    };
    let text = format!("{shown} {what} in {}\n", clean(memory.project()));
    Ok(Outcome::done(&document(&memory, &rules), text))
}

fn forget(args: &RuleArgs, global: &Global) -> Result<Outcome, Error> {
    let rule = rule(args)?;
    let memory = memory(&args.project, global)?;
    let gone = memory
        .forget(|known| *known == rule)
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
