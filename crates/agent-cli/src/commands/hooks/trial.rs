//! `hooks test`: the hooks of a point are run, and what came of it is shown.

use std::io::Read;
use std::path::Path;

use clap::Args;
use hooks::{CommandHook, CommandRun, HookContext, HookEvent, HookPoint, SampleSession};
use serde::Serialize;
use serde_json::{Value, json};

use super::environment;
use super::merged::meaning;
use crate::commands::Outcome;
use crate::error::Error;
use crate::models::block_on;
use crate::options::Global;
use crate::ui::{BAD, BOLD, DIM, GOOD, clean, clean_lines, counted, styled};
use agent_settings::hooks::command_hooks;
use std::path::PathBuf;

/// Arguments of `hooks test`.
#[derive(Debug, Args)]
pub struct HooksTestArgs {
    /// The point, for example tool_call or session_before_compact.
    pub point: HookPoint,
    /// Run only this hook, whether or not its pattern and folder fit.
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Give the hooks this JSON object as it stands, from a file or, for -, from standard input.
    #[arg(long, value_name = "FILE")]
    pub payload: Option<PathBuf>,
}

/// How many lines are shown of what a hook wrote.
const SHOWN: usize = 20;

/// A hook, and what came of it.
#[derive(Serialize)]
struct Trial {
    name: String,
    /// Not where its pattern or its folder does not fit.
    ran: bool,
    end: Option<String>,
    seconds: Option<f64>,
    answer: Option<String>,
    failure: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
}

impl Trial {
    fn of(hook: &CommandHook, run: Option<&CommandRun>) -> Self {
        let outcome = run.map(|run| run.outcome.as_ref());
        Self {
            name: hook.name.clone(),
            ran: run.is_some(),
            end: run.map(|run| run.end.to_string()),
            seconds: run.map(|run| run.duration.as_secs_f64()),
            answer: outcome.and_then(|outcome| Some(outcome.ok()?.to_string())),
            failure: outcome.and_then(|outcome| Some(outcome.err()?.to_string())),
            stdout: run.map(CommandRun::stdout_text),
            stderr: run.map(|run| run.stderr.clone()),
        }
    }

    fn text(&self) -> String {
        let name = styled(BOLD, &clean(&self.name));
        let (Some(end), Some(seconds)) = (&self.end, self.seconds) else {
            let why = "not run: its pattern or its folder does not fit; --only runs it anyway";
            return format!("{name}  {}\n", styled(DIM, why));
        };
        let mut text = format!("{name}  {}, {seconds:.1}s\n", clean(end));
        for (style, verb, outcome) in [
            (GOOD, "answered ", &self.answer),
            (BAD, "failed: ", &self.failure),
        ] {
            if let Some(outcome) = outcome {
                let outcome = clean(&format!("{verb}{outcome}"));
                text.push_str(&format!("  {}\n", styled(style, &outcome)));
            }
        }
        for (label, written) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            text.push_str(&lines(label, written.as_deref().unwrap_or_default()));
        }
        text
    }
}

pub(super) fn run(args: &HooksTestArgs, global: &Global) -> Result<Outcome, Error> {
    let settings = global.app_settings()?;
    let hooks = command_hooks(settings, &environment(settings, global)?)?;
    let hooks = chosen(hooks, args)?;
    let payload = args.payload.as_deref().map(payload).transpose()?;
    if hooks.is_empty() {
        let reason = format!("no hook is set for {}", args.point);
        let document = json!({ "point": args.point.name(), "hooks": [] });
        return Ok(Outcome::nothing_to_do(reason, document));
    }
    let cwd = std::env::current_dir().map_err(|error| Error::io("open", ".", error))?;
    let session = SampleSession::default();
    let samples = session.samples();
    let samples = samples.map_err(|error| Error::Failure(error.to_string()))?;
    let event = samples
        .event(args.point)
        .ok_or_else(|| Error::Failure(format!("there is no example of {}", args.point)))?;
    let context = HookContext {
        cancel: crate::cancel::token(),
        ..session.context(cwd)
    };
    // A hook that is named, or that gets a payload, is run in any case.
    let anyway = args.only.is_some() || payload.is_some();
    let trying = async {
        let (mut trials, mut answers) = (Vec::new(), Vec::new());
        for hook in hooks {
            let run = match anyway || hook.applies(&event, &context) {
                true => Some(tried(&hook, &event, &context, payload.as_ref()).await),
                false => None,
            };
            trials.push(Trial::of(&hook, run.as_ref()));
            answers.extend(run.map(|run| (hook.name, run.outcome)));
        }
        let meaning = meaning(&event, answers).await;
        (trials, meaning)
    };
    let (trials, meaning) = block_on(trying)?;
    crate::cancel::check()?;
    Ok(outcome(args.point, &trials, &meaning))
}

async fn tried(
    hook: &CommandHook,
    event: &HookEvent<'_>,
    context: &HookContext,
    payload: Option<&Value>,
) -> CommandRun {
    match payload {
        Some(payload) => hook.run_with(event, format!("{payload}\n"), context).await,
        None => hook.run(event, context).await,
    }
}

/// Returns the hooks that are asked at the point, or the one that is named.
fn chosen(hooks: Vec<CommandHook>, args: &HooksTestArgs) -> Result<Vec<CommandHook>, Error> {
    let point = args.point;
    let Some(name) = &args.only else {
        let asked = hooks.into_iter();
        return Ok(asked.filter(|hook| hook.points.contains(&point)).collect());
    };
    let wrong = |what: String| Error::Usage(clean(&format!("--only {name}: {what}")));
    let names: Vec<String> = hooks.iter().map(|hook| hook.name.clone()).collect();
    match hooks.into_iter().find(|hook| hook.name == *name) {
        Some(hook) if hook.points.contains(&point) => Ok(vec![hook]),
        Some(hook) => {
            let points: Vec<&str> = hook.points.iter().map(|point| point.name()).collect();
            let points = points.join(", ");
            Err(wrong(format!(
                "this hook is not asked at {point}; it is at {points}"
            )))
        }
        None if names.is_empty() => Err(wrong("no hook is set".to_owned())),
        None => Err(wrong(format!(
            "there is no such hook; choose from {}",
            names.join(", ")
        ))),
    }
}

/// Returns the JSON object that a file holds, or standard input.
fn payload(path: &Path) -> Result<Value, Error> {
    let (shown, bytes) = match path == Path::new("-") {
        true => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            ("standard input".to_owned(), read.map(|_| bytes))
        }
        false => (path.display().to_string(), std::fs::read(path)),
    };
    let bytes = bytes.map_err(|error| Error::io("read", path, error))?;
    let wrong = |what: String| Error::Usage(clean(&format!("--payload {shown}: {what}")));
    match serde_json::from_slice(&bytes) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(wrong("hooks read one JSON object".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

fn outcome(point: HookPoint, trials: &[Trial], meaning: &str) -> Outcome {
    let failed: Vec<&str> = trials
        .iter()
        .filter(|trial| trial.failure.is_some())
        .map(|trial| trial.name.as_str())
        .collect();
    let document = json!({
        "point": point.name(),
        "hooks": trials,
        "meaning": meaning,
    });
    let mut text: String = trials.iter().map(Trial::text).collect();
    text.push_str(&format!("{}\n", styled(BOLD, &clean(meaning))));
    match failed.is_empty() {
        true => Outcome::done(&document, text),
        false => Outcome::failed(
            clean(&format!(
                "{} failed: {}",
                counted(failed.len(), "hook"),
                failed.join(", ")
            )),
            &document,
            text,
        ),
    }
}

/// Returns the first lines of what a hook wrote.
fn lines(label: &str, written: &str) -> String {
    let written = clean_lines(written.trim_end());
    let mut text = String::new();
    for line in written.lines().take(SHOWN) {
        text.push_str(&format!("  {} {line}\n", styled(DIM, label)));
    }
    if let Some(more @ 1..) = written.lines().count().checked_sub(SHOWN) {
        text.push_str(&format!("  {} ... {more} more\n", styled(DIM, label)));
    }
    text
}
