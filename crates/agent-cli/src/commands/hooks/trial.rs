//! `hooks test`: the hooks of a point are run, and it is shown what came of it.

use std::io::Read;
use std::path::Path;

use clap::Args;
use hooks::{CommandHook, CommandRun, HookContext, HookEvent, HookPoint};
use serde_json::{Value, json};

use super::event::with_event;
use super::house;
use super::merged::meaning;
use crate::commands::Outcome;
use crate::error::Error;
use crate::extensions::hooks::command_hooks;
use crate::models::block_on;
use crate::options::Global;
use crate::ui::{BAD, BOLD, DIM, GOOD, clean, clean_lines, counted, styled};
use std::path::PathBuf;

/// Arguments of `hooks test`.
#[derive(Debug, Args)]
pub struct HooksTestArgs {
    /// The point, for example tool_call or session_before_compact.
    pub point: HookPoint,
    /// Run only this hook, whether or not its pattern and folder fit.
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Take the example from this session instead of a made-up one.
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// Give the hooks this JSON object as it stands, from a file or, for -, from standard input.
    #[arg(long, value_name = "FILE")]
    pub payload: Option<PathBuf>,
}

/// How many lines are shown of what a hook wrote.
const SHOWN: usize = 20;

/// A hook, and what came of it.
struct Trial {
    hook: CommandHook,
    /// None where its pattern or its folder does not fit.
    run: Option<CommandRun>,
}

pub(super) fn run(args: &HooksTestArgs, global: &Global) -> Result<Outcome, Error> {
    let settings = global.app_settings()?;
    let hooks = command_hooks(settings, &house(settings, global)?)?;
    let hooks = chosen(hooks, args)?;
    let payload = args.payload.as_deref().map(payload).transpose()?;
    if hooks.is_empty() {
        let reason = format!("no hook is set for {}", args.point);
        let document = json!({ "point": args.point.name(), "hooks": [] });
        return Ok(Outcome::nothing_to_do(reason, document));
    }
    let session = args.session.as_deref();
    with_event(args.point, session, settings, |event, context| {
        let context = HookContext {
            cancel: crate::cancel::token(),
            ..context
        };
        // Whoever names a hook, or what it reads, wants it run.
        let anyway = args.only.is_some() || payload.is_some();
        let trying = async {
            let mut trials = Vec::new();
            for hook in hooks {
                let run = match anyway || hook.applies(event, &context) {
                    true => Some(tried(&hook, event, &context, payload.as_ref()).await),
                    false => None,
                };
                trials.push(Trial { hook, run });
            }
            let answers = trials.iter().filter_map(|trial| {
                let run = trial.run.as_ref()?;
                Some((trial.hook.name.clone(), run.outcome.clone()))
            });
            let meaning = meaning(event, answers.collect()).await;
            (trials, meaning)
        };
        let (trials, meaning) = block_on(trying)?;
        crate::cancel::check()?;
        Ok(outcome(args.point, &trials, &meaning))
    })
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
    let names: Vec<String> = hooks.iter().map(|hook| hook.name.clone()).collect();
    match hooks.into_iter().find(|hook| hook.name == *name) {
        Some(hook) if hook.points.contains(&point) => Ok(vec![hook]),
        Some(hook) => {
            let points: Vec<&str> = hook.points.iter().map(|point| point.name()).collect();
            Err(Error::Usage(clean(&format!(
                "--only {name}: this hook is not asked at {point}; it is at {}",
                points.join(", ")
            ))))
        }
        None if names.is_empty() => Err(Error::Usage(clean(&format!(
            "--only {name}: no hook is set"
        )))),
        None => Err(Error::Usage(clean(&format!(
            "--only {name}: there is no such hook; choose from {}",
            names.join(", ")
        )))),
    }
}

/// Returns the JSON object that a file holds, or standard input.
fn payload(path: &Path) -> Result<Value, Error> {
    let bytes = match path == Path::new("-") {
        true => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map(|_| bytes)
        }
        false => std::fs::read(path),
    };
    let bytes = bytes.map_err(|error| Error::io("read", path, error))?;
    let shown = match path == Path::new("-") {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    match serde_json::from_slice(&bytes) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(Error::Usage(clean(&format!(
            "--payload {shown}: hooks read one JSON object"
        )))),
        Err(error) => Err(Error::Usage(clean(&format!("--payload {shown}: {error}")))),
    }
}

fn outcome(point: HookPoint, trials: &[Trial], meaning: &str) -> Outcome {
    let failed: Vec<&str> = trials
        .iter()
        .filter(|trial| trial.failure().is_some())
        .map(|trial| trial.hook.name.as_str())
        .collect();
    let document = json!({
        "point": point.name(),
        "hooks": trials.iter().map(Trial::json).collect::<Vec<_>>(),
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

impl Trial {
    fn failure(&self) -> Option<String> {
        let outcome = &self.run.as_ref()?.outcome;
        outcome.as_ref().err().map(ToString::to_string)
    }

    fn json(&self) -> Value {
        let run = self.run.as_ref();
        let answer = run.and_then(|run| run.outcome.as_ref().ok());
        json!({
            "name": self.hook.name,
            "ran": run.is_some(),
            "end": run.map(|run| run.end.to_string()),
            "seconds": run.map(|run| run.duration.as_secs_f64()),
            "answer": answer.map(ToString::to_string),
            "failure": self.failure(),
            "stdout": run.map(|run| String::from_utf8_lossy(&run.stdout)),
            "stderr": run.map(|run| &run.stderr),
        })
    }

    fn text(&self) -> String {
        let name = styled(BOLD, &clean(&self.hook.name));
        let Some(run) = &self.run else {
            let why =
                "not run: its pattern or its folder does not fit; --only runs it all the same";
            return format!("{name}  {}\n", styled(DIM, why));
        };
        let seconds = run.duration.as_secs_f64();
        let mut text = format!("{name}  {}, {seconds:.1}s\n", clean(&run.end.to_string()));
        let said = match &run.outcome {
            Ok(answer) => styled(GOOD, &clean(&format!("answered {answer}"))),
            Err(error) => styled(BAD, &clean(&format!("failed: {error}"))),
        };
        text.push_str(&format!("  {said}\n"));
        let stdout = String::from_utf8_lossy(&run.stdout);
        for (label, written) in [("stdout", &*stdout), ("stderr", &*run.stderr)] {
            text.push_str(&lines(label, written));
        }
        text
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
