//! `hooks`: the programs that settings let into a session, and trials of them.

use std::path::PathBuf;
use std::sync::Arc;

use agent_settings::hooks::{HookEnvironment, command_hook, command_hooks, is_enabled};
use agent_settings::{AppSettings, CommandSetting, HookSetting, KeyPath, Loaded, Origin};
use clap::{Args, Subcommand};
use hooks::{CommandRun, HookContext, HookPoint, OnFailure, SampleSession};
use serde::Serialize;
use serde_json::{Map, Value, json};
use session_tools::rights::redactor;

use crate::commands::Outcome;
use crate::error::Error;
use crate::models::block_on;
use crate::models::secret_variables;
use crate::options::Global;
use crate::ui::{BAD, BOLD, DIM, GOOD, clean, clean_lines, counted, styled};

/// List the hooks of the settings, or try them.
#[derive(Debug, Args)]
pub struct HooksArgs {
    /// What to do with hooks.
    #[command(subcommand)]
    pub command: HooksCommand,
}

/// What to do with hooks.
#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// List the hooks of the settings: where each is asked, what it runs, and where it is set.
    List,
    /// Run the hooks of one point with an example, and show what they answer.
    Test(HooksTestArgs),
}

/// Arguments of `hooks test`.
#[derive(Debug, Args)]
pub struct HooksTestArgs {
    /// The point, for example tool_call or session_before_compact.
    pub point: HookPoint,
    /// Give the hooks the JSON object in this file, unchanged, whether or not their patterns and folders fit.
    #[arg(long, value_name = "FILE")]
    pub payload: Option<PathBuf>,
}

pub(super) fn run(args: &HooksArgs, global: &Global) -> Result<Outcome, Error> {
    match &args.command {
        HooksCommand::List => list(global),
        HooksCommand::Test(args) => test(args, global),
    }
}

fn environment(settings: &AppSettings, global: &Global) -> Result<HookEnvironment, Error> {
    let secret_variables = secret_variables(settings)?;
    let servers = agent_tools::mcp::configured(&settings.mcp_servers);
    Ok(HookEnvironment {
        home: global.settings_sources()?.home,
        redactor: Arc::new(redactor(&secret_variables, &servers)),
        secret_variables,
    })
}

/// A hook of the settings.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    enabled: bool,
    points: Vec<&'static str>,
    command: Option<&'a CommandSetting>,
    matches: Option<&'a str>,
    timeout_seconds: u64,
    on_failure: OnFailure,
    folder: Option<&'a str>,
    origin: &'a Origin,
    /// Why it cannot be used.
    problem: Option<String>,
}

/// Lists the hooks.
pub(super) fn list(global: &Global) -> Result<Outcome, Error> {
    let loaded = global.load_layers()?;
    let environment = environment(&loaded.settings, global)?;
    let hooks = loaded.settings.hooks.iter();
    let rows = hooks.map(|(name, setting)| row(name, setting, loaded, &environment));
    let rows: Vec<Row<'_>> = rows.collect();
    let text = match rows.is_empty() {
        true => "no hooks are set\n".to_owned(),
        false => rows.iter().map(Row::text).collect(),
    };
    Ok(Outcome::done(&json!({ "hooks": rows }), text))
}

fn row<'a>(
    name: &'a str,
    setting: &'a HookSetting,
    loaded: &'a Loaded,
    environment: &HookEnvironment,
) -> Row<'a> {
    let own = KeyPath::of_names(["hooks", name]);
    let is_own = |key: &str| KeyPath::parse(key).is_some_and(|key| key.is_within(&own));
    let mut origins = loaded.origins.iter();
    let origin = origins.find(|(key, _)| is_own(key));
    let enabled = is_enabled(setting);
    let hook = command_hook(name, setting, environment);
    let timeout = setting.timeout_seconds.map(std::num::NonZeroU64::get);
    Row {
        name,
        enabled,
        points: setting
            .points
            .iter()
            .flatten()
            .map(|point| point.name())
            .collect(),
        command: setting.command.as_ref(),
        matches: setting.matches.as_deref(),
        timeout_seconds: timeout.unwrap_or(hooks::TIMEOUT.as_secs()),
        on_failure: setting.on_failure.unwrap_or_default(),
        folder: setting.folder.as_deref(),
        origin: origin.map_or(&Origin::DEFAULT, |(_, origin)| origin),
        problem: hook
            .err()
            .filter(|_| enabled)
            .map(|error| error.to_string()),
    }
}

impl Row<'_> {
    fn text(&self) -> String {
        let command = self.command.map(|command| match command {
            CommandSetting::Line(line) => line.clone(),
            // As JSON, which shows where a word ends.
            CommandSetting::Words(words) => json!(words).to_string(),
        });
        let off = if self.enabled { "" } else { "  off" };
        let blocks = self.on_failure == OnFailure::Block;
        let mut text = format!("{}{}\n", styled(BOLD, &clean(self.name)), styled(DIM, off));
        for (label, value) in [
            ("problem", self.problem.clone()),
            ("points", Some(self.points.join(", "))),
            ("command", command),
            ("matches", self.matches.map(str::to_owned)),
            ("timeout", Some(format!("{} s", self.timeout_seconds))),
            ("failure", blocks.then(|| "blocks".to_owned())),
            ("folder", self.folder.map(str::to_owned)),
            ("set in", Some(self.origin.to_string())),
        ] {
            let value = value.filter(|value| !value.is_empty());
            let label = styled(DIM, &format!("{label:8}"));
            text.extend(value.map(|value| format!("  {label} {}\n", clean(&value))));
        }
        text
    }
}

fn test(args: &HooksTestArgs, global: &Global) -> Result<Outcome, Error> {
    let settings = global.app_settings()?;
    let mut hooks = command_hooks(settings, &environment(settings, global)?)?;
    hooks.retain(|hook| hook.points.contains(&args.point));
    let payload = args.payload.as_ref().map(payload).transpose()?;
    let point = args.point.name();
    if hooks.is_empty() {
        let document = json!({ "point": point, "hooks": [] });
        let reason = format!("no hook is set for {point}");
        return Ok(Outcome::nothing_to_do(reason, document));
    }
    let cwd = std::env::current_dir().map_err(|error| Error::io("open", ".", error))?;
    let session = SampleSession::default();
    let samples = session.samples();
    let samples = samples.map_err(|error| Error::Failure(error.to_string()))?;
    let event = samples
        .event(args.point)
        .ok_or_else(|| Error::Failure(format!("there is no example of {point}")))?;
    let context = HookContext {
        cancel: crate::cancel::token(),
        ..session.context(cwd)
    };
    let trying = async {
        let mut trials = Vec::new();
        for hook in hooks {
            let run = match &payload {
                Some(payload) => Some(hook.run_with(&event, payload.clone(), &context).await),
                None if hook.applies(&event, &context) => Some(hook.run(&event, &context).await),
                None => None,
            };
            trials.push((hook.name, run));
        }
        trials
    };
    let trials = block_on(trying)?;
    crate::cancel::check()?;
    let rows = trials
        .iter()
        .map(|(name, run)| trial_document(name, run.as_ref()));
    let document = json!({ "point": point, "hooks": rows.collect::<Vec<_>>() });
    let text = trials
        .iter()
        .map(|(name, run)| trial_text(name, run.as_ref()))
        .collect();
    let failed = trials
        .iter()
        .filter(|(_, run)| run.as_ref().is_some_and(|run| run.outcome.is_err()));
    let failed: Vec<&str> = failed.map(|(name, _)| name.as_str()).collect();
    Ok(match failed.len() {
        0 => Outcome::done(&document, text),
        count => {
            let reason = format!("{} failed: {}", counted(count, "hook"), failed.join(", "));
            Outcome::failed(clean(&reason), &document, text)
        }
    })
}

/// Returns the line with the JSON object that a file holds.
fn payload(path: &PathBuf) -> Result<String, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
    match serde_json::from_slice::<Map<String, Value>>(&bytes) {
        Ok(object) => Ok(format!("{}\n", Value::Object(object))),
        Err(error) => {
            let path = path.display();
            let text = format!("--payload {path}: hooks read one JSON object: {error}");
            Err(Error::Usage(clean(&text)))
        }
    }
}

fn trial_document(name: &str, run: Option<&CommandRun>) -> Value {
    let outcome = run.map(|run| run.outcome.as_ref());
    json!({
        "name": name,
        // Not where its pattern or its folder does not fit.
        "ran": run.is_some(),
        "end": run.map(|run| run.end.to_string()),
        "seconds": run.map(|run| run.duration.as_secs_f64()),
        "answer": outcome.and_then(|outcome| Some(outcome.ok()?.to_string())),
        "failure": outcome.and_then(|outcome| Some(outcome.err()?.to_string())),
        "stdout": run.map(CommandRun::stdout_text),
        "stderr": run.map(|run| &run.stderr),
    })
}

fn trial_text(name: &str, run: Option<&CommandRun>) -> String {
    let name = styled(BOLD, &clean(name));
    let Some(run) = run else {
        let why = "not run: its pattern or its folder does not fit";
        return format!("{name}  {}\n", styled(DIM, why));
    };
    let outcome = match &run.outcome {
        Ok(answer) => styled(GOOD, &clean(&format!("answered {answer}"))),
        Err(failure) => styled(BAD, &clean(&format!("failed: {failure}"))),
    };
    let (end, seconds) = (clean(&run.end.to_string()), run.duration.as_secs_f64());
    let mut text = format!("{name}  {end}, {seconds:.1}s\n  {outcome}\n");
    for (label, written) in [("stdout", &run.stdout_text()), ("stderr", &run.stderr)] {
        for line in clean_lines(written.trim_end()).lines() {
            text.push_str(&format!("  {} {line}\n", styled(DIM, label)));
        }
    }
    text
}
