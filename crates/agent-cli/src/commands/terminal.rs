//! Without a command and a prompt, on a terminal: the session as a program that is talked to.

use std::io::IsTerminal;
use std::rc::Rc;

use agent_tui::{Ended, Next, Options};
use llm_providers::catalog::ModelInfo;
use serde_json::json;
use session_store::FileStore;

use crate::commands::Outcome;
use crate::commands::run::{Prepared, ResumeCommand, RunArgs, User, for_runs, other_models};
use crate::error::Error;
use crate::models::{block_on, usable_catalog};
use crate::options::Global;
use crate::settings::AppSettings;
use crate::ui::{DIM, styled, tell};

/// Returns whether the arguments and the place where the program runs ask for the terminal.
pub(super) fn is_wanted(args: &RunArgs, global: &Global) -> bool {
    let asks_for_text = args.prompt.is_some() || args.mode.is_some() || global.json;
    !asks_for_text && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

pub(super) fn run(args: &RunArgs, global: &Global) -> Result<Outcome, Error> {
    let mut args = args.clone();
    loop {
        let prepared = match Prepared::of(&args, global, User::Interactive) {
            Ok(prepared) => prepared,
            Err(Error::NothingToDo(reason)) => {
                return Ok(Outcome::nothing_to_do(reason, json!({})));
            }
            Err(error) => return Err(for_runs(error)),
        };
        let next = run_one(prepared, &args, global)?;
        if next == Next::Quit {
            return Ok(Outcome::done(&json!({}), String::new()));
        }
        // A new session follows, of the same model and in the same folder.
        args = RunArgs {
            go_on: false,
            resume: None,
            session: None,
            fork: None,
            ..args
        };
    }
}

fn run_one(prepared: Prepared, args: &RunArgs, global: &Global) -> Result<Next, Error> {
    let settings = Rc::new(prepared.settings);
    let (others, model_settings) = (args.clone(), settings.clone());
    let options = Options {
        color: has_color(),
        plain: args.plain || std::env::var_os("TERM").is_some_and(|term| term == "dumb"),
        models: models(&settings)?,
        other_models: Box::new(move |name| {
            other_models(name, &others, &model_settings).map_err(|error| error.to_string())
        }),
        cancel: crate::cancel::token(),
        opening: None,
    };
    let run = agent_tui::run(prepared.session, prepared.handle, prepared.events, options);
    let ended = block_on(run)?;
    let Ended {
        finished,
        session: (id, path),
        next,
    } = ended.map_err(|error| Error::io("use", "the terminal", error))?;
    let path = path.filter(|path| FileStore::exists(path));
    let go_on = path.map(|path| ResumeCommand::of(args, global).command(&id, &path, &prepared.cwd));
    if let Some(go_on) = &go_on {
        tell(&styled(DIM, &format!("to go on: {go_on}")));
    }
    if let Some(error) = finished.unsaved {
        return Err(for_runs(Error::Failure(format!(
            "cannot write the session: {error}"
        ))));
    }
    if crate::cancel::is_cancelled() {
        return Err(Error::Stopped("stopped".to_owned()));
    }
    Ok(next)
}

/// Returns whether colours are wanted: not where `NO_COLOR` holds something.
fn has_color() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns the models that can be asked: those whose provider has its key, or needs none.
fn models(settings: &AppSettings) -> Result<Vec<String>, Error> {
    let catalog = usable_catalog(settings)?;
    let has_key = |name: &str| {
        let provider = catalog.provider(name);
        let variable = provider.and_then(|provider| provider.api_key_env.as_ref());
        variable
            .is_none_or(|variable| std::env::var_os(variable).is_some_and(|key| !key.is_empty()))
    };
    let models = catalog.models().filter(|model| has_key(&model.provider));
    Ok(models.map(ModelInfo::full_name).collect())
}
