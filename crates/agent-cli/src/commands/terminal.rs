//! Without a command and a prompt, on a terminal: the session as a program that is talked to.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use agent_tui::{Choice, Ended, Host, Listed, Next, Options, Theme, Where};
use llm_providers::ModelInfo;
use serde_json::json;
use session_model::text::first_line;
use session_protocol::{Command, Snapshot};
use session_store::{Delivery, Prompt};

use crate::commands::Outcome;
use crate::commands::export::write_page;
use crate::commands::run::{
    Prepared, ResumeCommand, RunArgs, User, check_session, for_runs, keep_copy, other_models,
    run as run_without_terminal,
};
use crate::commands::servers::ServersArgs;
use crate::commands::{approvals, config, hooks, servers, user_commands, welcome};
use crate::error::Error;
use crate::models::{NO_MODEL, block_on, usable_catalog};
use crate::options::Global;
use crate::stores::{self, finder};
use crate::ui::{DIM, clean, styled, tell};
use agent_settings::{AppSettings, ThemeSetting};

/// The most characters of what the user said first that a list of sessions shows.
const FIRST: usize = 120;

/// Returns whether the arguments and the streams of the program ask for the terminal.
pub(super) fn is_wanted(args: &RunArgs, global: &Global) -> bool {
    let asks_for_text = args.prompt.is_some() || args.mode.is_some() || global.json;
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    is_terminal && !asks_for_text
}

/// Runs sessions until the user leaves; `message` is what the user says first.
pub(super) fn run(
    args: &RunArgs,
    message: Option<&str>,
    global: &Global,
) -> Result<Outcome, Error> {
    let mut args = args.clone();
    args.prompt = message.map(str::to_owned);
    // The script of the tour is there as long as it is played.
    let mut _tour = None;
    loop {
        let prepared = match Prepared::of(&args, global, User::Interactive, &[]) {
            Ok(prepared) => prepared,
            Err(Error::NothingToDo(reason)) => {
                return Ok(Outcome::nothing_to_do(reason, json!({})));
            }
            Err(Error::Usage(reason)) if reason == NO_MODEL => {
                let Some(tour) = welcome::offer_tour(&models(&settings(global)?)?)? else {
                    return Ok(Outcome::done(&json!({}), String::new()));
                };
                args.provider = Some(format!("scripted:{}", tour.path().display()));
                args.no_session = true;
                _tour = Some(tour);
                continue;
            }
            Err(error) => return Err(for_runs(error)),
        };
        if !prepared.due.is_empty() {
            // The script plays the user from here on.
            drop(prepared);
            return run_without_terminal(&args, global);
        }
        let next = match run_one(prepared, &args, global)? {
            Next::Quit => return Ok(Outcome::done(&json!({}), String::new())),
            next => next,
        };
        args.prompt = None;
        args = match next {
            Next::Resume(name) => resuming(args, name),
            Next::New | Next::Quit => other(args),
        };
    }
}

/// Returns the arguments of another session, of the same model unless it names its own.
fn other(args: RunArgs) -> RunArgs {
    RunArgs {
        go_on: false,
        resume: None,
        session: None,
        fork: None,
        ..args
    }
}

fn resuming(args: RunArgs, name: String) -> RunArgs {
    RunArgs {
        no_session: false,
        resume: Some(name),
        ..other(args)
    }
}

fn settings(global: &Global) -> Result<AppSettings, Error> {
    let here = std::env::current_dir().map_err(|error| Error::io("open", ".", error))?;
    global.load_app_settings_with(None, &here)
}

fn run_one(prepared: Prepared, args: &RunArgs, global: &Global) -> Result<Next, Error> {
    let settings = Rc::new(prepared.settings);
    let (others, model_settings) = (args.clone(), settings.clone());
    let host = Program {
        folder: prepared.cwd.clone(),
        args: args.clone(),
        global: global.clone(),
    };
    let options = Options {
        theme: theme(&settings),
        plain: args.plain || std::env::var_os("TERM").is_some_and(|term| term == "dumb"),
        models: models(&settings)?,
        other_models: Box::new(move |name| {
            other_models(name, &others, &model_settings).map_err(|error| error.to_string())
        }),
        host: Arc::new(host),
        commands: user_commands::of_process(&prepared.cwd, global)?,
        meanings: config::meanings(),
        cancel: crate::cancel::token(),
        opening: prepared.prompt.map(|text| Command::Prompt {
            prompt: Prompt {
                text,
                images: Vec::new(),
            },
            delivery: Delivery::Prompt,
        }),
    };
    let run = agent_tui::run(prepared.session, prepared.handle, prepared.events, options);
    let ended = block_on(run)?;
    let Ended {
        finished,
        session: (id, path),
        next,
        stopped,
    } = ended.map_err(|error| Error::io("use", "the terminal", error))?;
    let path = path.filter(|path| stores::exists(path));
    let go_on = path.map(|path| ResumeCommand::of(args, global).command(&id, &path, &prepared.cwd));
    if let Some(go_on) = &go_on {
        if let Some(copy) = prepared.copy {
            keep_copy(copy);
        }
        tell(&styled(DIM, &format!("to continue: {go_on}")));
    }
    if let Some(error) = finished.unsaved {
        return Err(for_runs(Error::Failure(format!(
            "cannot write the session: {error}"
        ))));
    }
    match stopped {
        true => Err(Error::Stopped("stopped".to_owned())),
        false => Ok(next),
    }
}

/// What a session on the terminal is offered by the program.
struct Program {
    folder: PathBuf,
    args: RunArgs,
    global: Global,
}

impl Host for Program {
    fn sessions(&self, wanted: Where) -> Result<Vec<Choice>, String> {
        let folder = (wanted == Where::Here).then_some(&*self.folder);
        let found = sessions(self.args.session_dir.as_deref(), folder);
        found.map_err(|error| error.to_string())
    }

    fn prompts(&self) -> Vec<String> {
        // Without them there is less to choose from, and nothing else.
        let finder = finder(self.args.session_dir.as_deref());
        let prompts = finder
            .ok()
            .and_then(|finder| finder.prompts(&self.folder).ok());
        prompts.unwrap_or_default()
    }

    fn save(&self, name: &str, value: &str) -> Result<String, String> {
        let saved = config::save(name, value, &self.global);
        let (_, text) = saved.map_err(|error| error.to_string())?;
        Ok(format!("-- {text}"))
    }

    fn check_session(&self, name: &str) -> Result<(), String> {
        let args = resuming(self.args.clone(), name.to_owned());
        check_session(&args, &self.global).map_err(|error| for_runs(error).to_string())
    }

    fn list(&self, listed: Listed) -> Result<String, String> {
        let global = &self.global;
        let folder = self.folder.clone();
        let outcome = match listed {
            Listed::Hooks => hooks::list(global),
            Listed::Permissions => approvals::listed(folder, global),
            Listed::Servers => {
                let cwd = Some(folder);
                servers::run(&ServersArgs { cwd }, global)
            }
        };
        let text = outcome.map(|outcome| outcome.filtered(global).plain_text());
        text.map_err(|error| error.to_string())
    }

    fn export(&self, session: &Snapshot, file: Option<&str>) -> Result<String, String> {
        let file = match file {
            Some(file) => self.folder.join(file),
            None => {
                let id = session.tree.header().map(|header| header.id.as_str());
                let id = id.filter(|id| {
                    id.chars()
                        .all(|letter| letter == '-' || letter.is_ascii_alphanumeric())
                });
                self.folder
                    .join(format!("session-{}.html", id.unwrap_or("page")))
            }
        };
        let written = write_page(&session.tree, session.leaf, &file, &self.global);
        let written = written.map(|text| anstream::adapter::strip_str(&text).to_string());
        written.map_err(|error| error.to_string())
    }
}

/// Returns the colours that are wanted: none where `NO_COLOR` holds something.
fn theme(settings: &AppSettings) -> Theme {
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return Theme::None;
    }
    match settings.terminal.theme {
        ThemeSetting::Dark => Theme::Dark,
        ThemeSetting::Light => Theme::Light,
        ThemeSetting::None => Theme::None,
    }
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

/// Returns the sessions of every agent in the project of a folder, or in all, the last written first.
fn sessions(session_dir: Option<&Path>, folder: Option<&Path>) -> Result<Vec<Choice>, Error> {
    let found = finder(session_dir)?.list(None, folder)?;
    // One that another process has open, or this one, is not resumed.
    let free = found.into_iter().filter(|found| !found.row.locked);
    let choices = free.map(|found| {
        let row = &found.row;
        let said = row.name.as_ref().or(row.first_prompt.as_ref());
        let said = said.map_or("(nothing said yet)", String::as_str);
        let written = row.modified.to_string().replace('T', " ");
        let written = written.get(..16).unwrap_or_default();
        let size = crate::ui::size::size(row.bytes);
        Choice {
            key: row.locator.to_string(),
            text: first_line(said, FIRST),
            about: clean(&format!(
                "{}  {written}  {size}{}",
                found.agent,
                match folder {
                    Some(_) => String::new(),
                    None => format!("  {}", row.cwd),
                }
            )),
        }
    });
    Ok(choices.collect())
}
