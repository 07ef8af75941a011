//! From arguments and settings to a session that can run: its file, its models, its tools.
//!
//! Everything that can be refused is looked at first; only then something is made.

use crate::models::live_models;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use compaction_core::{Profile, TokenCount};
use llm_catalog::Selection;
use llm_providers::{ApiProtocol, Provider, Reasoning};
use llm_script::{ScriptAction, ScriptPlay};
use session_model::{EntryKind, SessionTree, build_context};

use crate::commands::run::folders::workspace;
use crate::commands::run::rights::{allowed, policies, secret_variables, toolbox};
use crate::commands::run::script::{ScriptFile, scratch_copy};
use crate::commands::run::session_source::SessionSource;
use crate::commands::run::{ModeArg, RunArgs};
use crate::error::Error;
use crate::options::Global;
use crate::ui::{clean, note};
use agent_session::builder::default_system_prompt;
use agent_session::{AgentSession, BuiltSession};
use agent_settings::hooks::{HookEnvironment, command_hooks, hook_set};
use agent_settings::{AppSettings, Sources, Thinking};
use agent_tools::approval::{ApprovalStore, Approvals};
use agent_tools::mcp::ServerConfig;
use agent_tools::{ToolLimits, Workspace};
use project_instructions::{Instructions, Places};
use session_protocol::{EventReceiver, SessionHandle};
use session_store::catalog::sessions_root;
use session_tools::rights::redactor;
use summarize::models::LiveModels;
use tempfile::TempDir;

/// Whether somebody is there who says things and answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum User {
    /// Nobody: all is said in advance, and what would have to be asked is not allowed.
    Headless,
    /// Somebody.
    Interactive,
}

/// A session that can run.
pub(in crate::commands) struct Prepared {
    pub session: BuiltSession,
    /// Commands it.
    pub handle: SessionHandle,
    /// What it reports.
    pub events: EventReceiver,
    /// The folder that its tools work in.
    pub cwd: PathBuf,
    /// What the user says first.
    pub prompt: Option<String>,
    pub script: Option<ScriptPlay>,
    /// What the user of the script does first.
    pub due: VecDeque<ScriptAction>,
    /// The copy that the tools work in, which is removed with this.
    pub copy: Option<TempDir>,
    /// The settings that it was made by.
    pub settings: AppSettings,
}

pub(super) const SCRIPTED: &str = "scripted:";

/// The window that is assumed for scripts that name none.
pub(super) const SCRIPT_WINDOW: TokenCount = TokenCount(128_000);

fn root(args: &RunArgs, settings: &AppSettings) -> Result<PathBuf, Error> {
    let set = settings.session.dir.as_deref().map(Path::new);
    Ok(sessions_root(args.session_dir.as_deref().or(set))?)
}

/// Fails where the arguments name no session that can be opened.
pub(in crate::commands) fn check_session(args: &RunArgs, global: &Global) -> Result<(), Error> {
    let here = here(args)?;
    let settings = global.load_app_settings_with(None, &here)?;
    let root = root(args, &settings)?;
    let which = SessionSource::of(args, &root, &here, settings.session.sync.into())?;
    match which.cwd(&root, &here)? {
        Some(cwd) if args.cwd.is_none() && !cwd.is_dir() => Err(which.without_folder(&cwd)),
        Some(_) | None => Ok(()),
    }
}

impl Prepared {
    /// Returns the session, with the tool servers that an editor names besides.
    pub fn of(
        args: &RunArgs,
        global: &Global,
        user: User,
        of_client: &[ServerConfig],
    ) -> Result<Self, Error> {
        if global.json && args.mode == Some(ModeArg::Json) {
            return Err(Error::Usage(
                "--json prints one document at the end, --mode json every event as it happens; choose one"
                    .to_owned(),
            ));
        }
        let window = args.window.map(|window| TokenCount(window.get()));
        let allowed = allowed(args)?;
        let script = match args
            .provider
            .as_deref()
            .and_then(|name| name.strip_prefix(SCRIPTED))
        {
            Some(file) => Some(ScriptFile::read(Path::new(file))?),
            None => None,
        };
        let here = here(args)?;
        let extra = script.as_ref().and_then(ScriptFile::settings);
        let settings = global.load_app_settings_with(extra.clone(), &here)?;
        let root = root(args, &settings)?;
        let prompt = prompt(args)?;
        let policy = settings.session.sync.into();
        let which = SessionSource::of(args, &root, &here, policy)?;
        if user == User::Headless && prompt.is_none() && script.is_none() {
            which.check_work()?;
        }
        let own = match &args.cwd {
            Some(_) => None,
            None => which.cwd(&root, &here)?,
        };
        let (cwd, copied) = match (&args.cwd, own, &script) {
            (Some(_), ..) => (here.clone(), false),
            // The tools work where the session has worked.
            (None, Some(cwd), _) => (cwd, false),
            (None, None, Some(script)) => match script.workspace()? {
                Some(folder) => (folder, true),
                None => (here.clone(), false),
            },
            (None, None, None) => (here.clone(), false),
        };
        if !cwd.is_dir() {
            return Err(which.without_folder(&cwd));
        }
        // The project is the one that is worked on.
        let settings = match cwd == here {
            true => settings,
            false => global.load_app_settings_with(extra, &cwd)?,
        };
        let (tools, servers) = toolbox(args, &settings, of_client)?;
        let (models, script, due) = match script {
            Some(script) => {
                let own = script.script.header.window.map(TokenCount);
                let window = window.or(own).unwrap_or(SCRIPT_WINDOW);
                let given = which.script_progress();
                let play = script.script.play(given.answers, given.summaries);
                let due = given.left_of(play.take_actions().into());
                (LiveModels::of_script(&play, window), Some(play), due)
            }
            None => (
                models(args, window, &settings, &which)?,
                None,
                VecDeque::new(),
            ),
        };
        if user == User::Headless && prompt.is_none() && due.is_empty() {
            which.check_work()?;
        }
        let secret_variables = secret_variables(args, &settings)?;
        let redactor = Arc::new(redactor(&secret_variables, &servers));
        let environment = HookEnvironment {
            home: global.settings_sources()?.home,
            secret_variables: secret_variables.clone(),
            redactor: redactor.clone(),
        };
        let hooks = hook_set(command_hooks(&settings, &environment)?);
        let reasoning = reasoning(args, &settings, &which, &*models.model.provider)?;
        let copy = copied.then(|| scratch_copy(&cwd)).transpose()?;
        let cwd = match &copy {
            Some(copy) => std::fs::canonicalize(copy.path())
                .map_err(|error| Error::io("open", copy.path(), error))?,
            None => cwd,
        };
        let sources = global.settings_sources()?;
        let workspace = workspace(&cwd, &settings, &sources, &root)?;
        let mut instructions = instructions(args, &settings, &workspace)?;
        let workspace = instructions
            .readable_folders()
            .into_iter()
            .filter(|folder| folder.is_dir())
            .try_fold(workspace, |workspace, folder| {
                workspace.with_readable(&folder)
            })?;
        let memory = match copied {
            true => Err("answers are not remembered for a copy, which goes away".to_owned()),
            false => ApprovalStore::of(sources.config_dir.as_deref(), workspace.root()),
        };
        // A script is the user's own; but a user who is there is asked.
        let trusted = script.is_some() && user == User::Headless;
        let policies = policies(&settings, trusted, &allowed)?;
        let approvals = Approvals::new(policies, user == User::Interactive);
        let approvals = approvals.with_named(&allowed);
        let approvals = approvals.remembering(memory);
        let system_prompt = system_prompt(args, &settings, &cwd);
        let (store, catalog) = which.store(&root, &cwd, policy)?;
        let bash_timeout = Duration::from_secs(settings.tools.bash_timeout_seconds);
        let cwd = workspace.root().to_owned();
        let mut limits = ToolLimits::default();
        limits.output_bytes = usize::try_from(settings.tools.output_bytes).unwrap_or(usize::MAX);
        limits.bash_timeout = bash_timeout;
        limits.bash_timeout_most = limits.bash_timeout_most.max(bash_timeout);
        let (session, handle, events) = AgentSession::builder(workspace, models)
            .store(store, catalog)
            .settings(settings.core())
            .compaction(settings.compaction.session.clone())
            .hooks(hooks)
            .tools(tools)
            .servers(servers)
            .approvals(approvals)
            .tool_limits(limits)
            .secret_variables(secret_variables)
            .redactor(redactor)
            .system_prompt(system_prompt)
            .instructions(instructions)
            .reasoning(reasoning)
            .limits(settings.limits)
            .build();
        Ok(Self {
            session,
            handle,
            events,
            cwd,
            prompt,
            script,
            due,
            copy,
            settings,
        })
    }
}

fn prompt(args: &RunArgs) -> Result<Option<String>, Error> {
    let Some(text) = args.prompt.as_deref() else {
        return Ok(None);
    };
    let (text, none) = match text {
        "-" => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .read_to_string(&mut text)
                .map_err(|error| match error.kind() {
                    ErrorKind::InvalidData => {
                        Error::Usage("standard input is not text; a prompt is UTF-8".to_owned())
                    }
                    _ => Error::io("read", "-", error),
                })?;
            (text, "standard input holds no prompt")
        }
        text => (
            text.to_owned(),
            "the prompt is empty; say what to do with -p TEXT",
        ),
    };
    match text.trim().is_empty() {
        true => Err(Error::Usage(none.to_owned())),
        // The line break at the end of a file is not part of what it says.
        false => Ok(Some(text.trim_end().to_owned())),
    }
}

/// Returns the folder that is worked in, unless the session knows better; without links.
fn here(args: &RunArgs) -> Result<PathBuf, Error> {
    match &args.cwd {
        Some(folder) => match std::fs::canonicalize(folder) {
            Ok(folder) if folder.is_dir() => Ok(folder),
            Ok(_) | Err(_) => Err(Error::Usage(format!(
                "--cwd {}: there is no such folder; name one to work in",
                folder.display()
            ))),
        },
        None => std::env::current_dir().map_err(|_| {
            Error::Usage(
                "the working folder is gone; change to another, or name one with --cwd DIR"
                    .to_owned(),
            )
        }),
    }
}

/// Returns the models of a session: those that are named, else the one that answered before.
fn models(
    args: &RunArgs,
    window: Option<TokenCount>,
    settings: &AppSettings,
    which: &SessionSource,
) -> Result<LiveModels, Error> {
    let given = match (&args.provider, &args.model) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (None, Some(model)) => Some(model.clone()),
        (Some(provider), None) => Some(provider.clone()),
        (None, None) => None,
    };
    let before = before(which).filter(|_| given.is_none());
    let record = args.record.as_deref();
    let by_name =
        |model: Option<&str>| live_models(model, selection(args, window), record, settings);
    let Some(before) = before else {
        return by_name(given.as_deref());
    };
    // The session goes on with its own model; another one takes over only where the user says so.
    let error = match by_name(Some(&before)) {
        Ok(models) => return Ok(models),
        Err(error) => error,
    };
    let what = format!(
        "the session's model {} cannot be asked: {error}",
        clean(&before)
    );
    match &settings.session.fallback_model {
        Some(other) => {
            note(&format!(
                "{what}; {} of session.fallbackModel takes over",
                clean(other)
            ));
            by_name(Some(other))
        }
        None => Err(Error::Usage(format!(
            "{what}; or continue with another: --model PROVIDER/MODEL, or session.fallbackModel in the settings"
        ))),
    }
}

/// Returns what the arguments ask for in place of what the catalog has.
pub(super) fn selection(args: &RunArgs, window: Option<TokenCount>) -> Selection {
    Selection {
        model: String::new(),
        base_url: args.base_url.clone(),
        wire: args.wire.map(ApiProtocol::from),
        api_key_env: args.api_key_env.clone(),
        window: window.map(|window| window.0),
    }
}

/// Returns the model that answered in the session last; scripts are named by their file.
fn before(which: &SessionSource) -> Option<String> {
    let tree = which.tree()?;
    let context = build_context(&tree.path(tree.leaf()), Profile::Own.context_rules());
    let model = context.model.filter(|model| model.provider != "scripted")?;
    Some(format!("{}/{}", model.provider, model.model_id))
}

fn system_prompt(args: &RunArgs, settings: &AppSettings, cwd: &Path) -> String {
    if let Some(prompt) = &args.system_prompt {
        return prompt.clone();
    }
    let mut prompt = default_system_prompt(cwd);
    if let Some(more) = &settings.system_prompt {
        prompt.push_str(&format!("\n\n{more}"));
    }
    prompt
}

/// Returns what the project and the user want agents to know, unless it is not wanted here.
fn instructions(
    args: &RunArgs,
    settings: &AppSettings,
    workspace: &Workspace,
) -> Result<Instructions, Error> {
    if args.no_instructions {
        return Ok(Instructions::none());
    }
    let sources = Sources::of_process(None, &[])?;
    let places = Places {
        project: sources.project_folders(workspace.root()),
        config_dir: sources.config_dir,
    };
    Ok(Instructions::of(&settings.instructions, places))
}

/// Returns how much the model should think: what the user says now, or as before in the session, or what the settings say.
///
/// # Errors
/// The reason why the model cannot be told `--thinking`; of another level it is a note.
fn reasoning(
    args: &RunArgs,
    settings: &AppSettings,
    which: &SessionSource,
    provider: &dyn Provider,
) -> Result<Reasoning, Error> {
    let before = which.tree().and_then(level_before);
    let Some(level) = args.thinking.or(before).or(settings.thinking) else {
        return Ok(Reasoning::Default);
    };
    match provider.refuses_reasoning(level.into()) {
        None => Ok(level.into()),
        Some(reason) if args.thinking.is_some() => Err(Error::Usage(reason)),
        Some(reason) => {
            let from = before.map_or("settings", |_| "session");
            note(&format!("{reason}; the level of the {from} is not sent"));
            Ok(Reasoning::Default)
        }
    }
}

/// Returns how much the model of a session has thought, where the session says so.
fn level_before(tree: &SessionTree) -> Option<Thinking> {
    let path = tree.path(tree.leaf());
    path.newest(EntryKind::ThinkingLevelChange)?;
    let context = build_context(&path, Profile::Own.context_rules());
    serde_json::from_value(context.thinking_level.into()).ok()
}
