//! From arguments and settings to a session that can run: its file, its models, its tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use compaction_core::{TokenCount, prompts};
use hooks::HookSet;
use llm_providers::{Reasoning, Script, ScriptPlay};
use session_model::{AgentMessage, EntryBody, EntryKind, SessionTree, StopReason};

use crate::args::{Global, RunArgs, ThinkingArg};
use crate::error::Error;
use crate::models::Named;
use crate::session::folder::{find, folder_for, newest, sessions_root};
use crate::session::model::LiveModels;
use crate::session::shell::SessionConfig;
use crate::session::store::LiveStore;
use crate::session::tools::{Approval, ToolContext, ToolLimits, Toolbox, Workspace};
use crate::settings::{AppSettings, BashPolicy};
use crate::store::SessionFile;

/// A session that can run.
pub(super) struct Prepared {
    pub config: SessionConfig,
    pub script: Option<ScriptPlay>,
    /// What the user should know before it runs.
    pub notes: Vec<String>,
}

pub(super) const SCRIPTED: &str = "scripted:";

/// The window that is assumed for scripts that name none.
const SCRIPT_WINDOW: TokenCount = TokenCount(128_000);

impl Prepared {
    pub fn of(args: &RunArgs, global: &Global, has_prompt: bool) -> Result<Self, Error> {
        let mut notes = Vec::new();
        let script = match args
            .provider
            .as_deref()
            .and_then(|name| name.strip_prefix(SCRIPTED))
        {
            Some(file) => Some(ScriptFile::read(Path::new(file))?),
            None => None,
        };
        let here = match &args.cwd {
            Some(folder) => folder.clone(),
            None => std::env::current_dir().map_err(|_| {
                Error::Usage(
                    "the working folder is gone; change to another, or name one with --cwd DIR"
                        .to_owned(),
                )
            })?,
        };
        let extra = script.as_ref().and_then(ScriptFile::settings);
        let settings = global.load_app_settings_with(extra, &here)?;
        let root = sessions_root(
            args.session_dir
                .as_deref()
                .or(settings.session.dir.as_deref().map(Path::new)),
        )?;
        let existing = existing(args, &root, &here)?;
        let cwd = match (&existing, &script) {
            // The tools work where the session has worked.
            (Some(store), _) if args.cwd.is_none() => PathBuf::from(store.cwd()),
            (None, Some(script)) => match script.copy_workspace()? {
                Some(copy) => {
                    notes.push(format!("the tools work in a copy: {}", copy.display()));
                    copy
                }
                None => here.clone(),
            },
            _ => here.clone(),
        };
        if !cwd.is_dir() {
            let path = existing.as_ref().and_then(LiveStore::path);
            let path = path.map_or_else(|| cwd.clone(), Path::to_owned);
            return Err(Error::session(
                path,
                format!(
                    "its working folder {} is gone; name another with --cwd DIR",
                    cwd.display()
                ),
            ));
        }
        let mut store = match existing {
            Some(store) => store,
            None if args.no_session => LiveStore::in_memory(&cwd),
            None => match &args.session {
                Some(path) => LiveStore::create_at(path, &cwd, None)?,
                None => LiveStore::create(&folder_for(&root, &cwd), &cwd, None),
            },
        };
        store.set_sync(settings.session.sync.into());
        let window = match args.window.map(u64::try_from) {
            None => None,
            Some(Ok(window @ 1..)) => Some(TokenCount(window)),
            Some(_) => {
                return Err(Error::Usage(
                    "--window must be at least 1; name the model's context window in tokens"
                        .to_owned(),
                ));
            }
        };
        let (play, models) = match script {
            Some(script) => {
                let own = script.script.header.window.map(TokenCount);
                let window = window.or(own).unwrap_or(SCRIPT_WINDOW);
                let (given, summaries) = given(store.tree());
                let play = script.script.play(given, summaries);
                let models = LiveModels::of_script(&play, window);
                (Some(play), models)
            }
            None => {
                let model = model_name(args);
                let named = Named {
                    model: model.as_deref(),
                    base_url: args.base_url.as_deref(),
                    wire: args.wire,
                    api_key_env: args.api_key_env.as_deref(),
                    window,
                    record: args.record.as_deref(),
                };
                (None, LiveModels::of(&named, &settings)?)
            }
        };
        let tools = toolbox(args, &settings)?;
        let tool_context = tool_context(args, &settings, &cwd, &store, play.is_some())?;
        let system_prompt = system_prompt(args, &settings, &cwd);
        if store.is_born() && !has_prompt && store.tree().is_empty() {
            return Err(Error::NothingToDo(
                "the session is empty; say what to do with -p TEXT".to_owned(),
            ));
        }
        Ok(Self {
            config: SessionConfig {
                store,
                folder: None,
                models,
                settings: settings.core(),
                hooks: Arc::new(HookSet::default()),
                tools,
                tool_context,
                system_prompt,
                reasoning: match args.thinking {
                    None => Reasoning::Default,
                    Some(ThinkingArg::Off) => Reasoning::Off,
                    Some(ThinkingArg::Low) => Reasoning::Low,
                    Some(ThinkingArg::Medium) => Reasoning::Medium,
                    Some(ThinkingArg::High) => Reasoning::High,
                },
            },
            script: play,
            notes,
        })
    }
}

/// Opens the session that the arguments name, where one is there.
fn existing(args: &RunArgs, root: &Path, here: &Path) -> Result<Option<LiveStore>, Error> {
    if args.go_on {
        let path = newest(root, here)?;
        let path = path.ok_or_else(|| {
            Error::NothingToDo(
                "no session of this folder is there yet; begin one with -p TEXT".to_owned(),
            )
        })?;
        return LiveStore::open(&path).map(Some);
    }
    if let Some(id) = &args.resume {
        return LiveStore::open(&find(root, id)?).map(Some);
    }
    if let Some(source) = &args.fork {
        let path = match source.is_file() {
            true => source.clone(),
            false => find(root, &source.display().to_string())?,
        };
        let source = SessionFile::open(&path)?;
        let cwd = source
            .tree()
            .header()
            .map(|header| PathBuf::from(&*header.cwd));
        let cwd = args.cwd.clone().or(cwd).unwrap_or_else(|| here.to_owned());
        let folder = folder_for(root, &cwd);
        let leaf = source.tree().leaf();
        return LiveStore::fork(&source, leaf, &folder, &cwd).map(Some);
    }
    match &args.session {
        Some(path) if LiveStore::exists(path) => LiveStore::open(path).map(Some),
        _ => Ok(None),
    }
}

/// Returns the model's whole name: `--provider` may stand apart from `--model`.
fn model_name(args: &RunArgs) -> Option<String> {
    match (&args.provider, &args.model) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (None, Some(model)) => Some(model.clone()),
        (Some(provider), None) => Some(provider.clone()),
        (None, None) => None,
    }
}

fn toolbox(args: &RunArgs, settings: &AppSettings) -> Result<Toolbox, Error> {
    let named: Option<Vec<String>> = match &args.tools {
        Some(names) => Some(
            names
                .split(',')
                .map(|name| name.trim().to_owned())
                .collect(),
        ),
        None => settings.tools.enabled.clone(),
    };
    match named {
        None => Ok(Toolbox::standard()),
        Some(names) if names.iter().all(|name| name == "none" || name.is_empty()) => {
            Ok(Toolbox::none())
        }
        Some(names) => Toolbox::named(&names).map_err(Error::Usage),
    }
}

fn tool_context(
    args: &RunArgs,
    settings: &AppSettings,
    cwd: &Path,
    store: &LiveStore,
    is_scripted: bool,
) -> Result<ToolContext, Error> {
    if let Some(other) = args.allow.iter().find(|tool| *tool != "bash") {
        return Err(Error::Usage(format!(
            "--allow {other}: only bash asks; name it"
        )));
    }
    let approval = match settings.tools.bash {
        // A script is the user's own; what it runs is what the user asked to run.
        _ if is_scripted || !args.allow.is_empty() => Approval::Allow,
        BashPolicy::Allow => Approval::Allow,
        BashPolicy::Ask => Approval::Ask,
        BashPolicy::Deny => Approval::Deny,
    };
    let overflow = store.path().map(|path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".outputs");
        PathBuf::from(name)
    });
    let providers = settings
        .catalog()
        .map_err(|error| Error::Usage(error.to_string()))?;
    let keys = providers
        .providers()
        .filter_map(|provider| provider.api_key_env.clone());
    let mut secret_variables: Vec<String> = keys.collect();
    secret_variables.extend(args.api_key_env.clone());
    secret_variables.extend(settings.compaction.remote_token_env.clone());
    Ok(ToolContext {
        workspace: Arc::new(Workspace::open(cwd)?),
        cancel: llm_providers::CancellationToken::new(),
        limits: ToolLimits {
            output_bytes: usize::try_from(settings.tools.output_bytes).unwrap_or(usize::MAX),
            bash_timeout: Duration::from_secs(settings.tools.bash_timeout_seconds),
            ..ToolLimits::default()
        },
        approval,
        overflow,
        secret_variables,
    })
}

fn system_prompt(args: &RunArgs, settings: &AppSettings, cwd: &Path) -> String {
    if let Some(prompt) = &args.system_prompt {
        return prompt.clone();
    }
    let mut prompt = prompts::system();
    prompt.push_str(&format!("\n\nThe working folder is {}.", cwd.display()));
    if let Some(more) = &settings.system_prompt {
        prompt.push_str(&format!("\n\n{more}"));
    }
    prompt
}

/// Returns how many answers and summaries of a script a session holds already.
fn given(tree: &SessionTree) -> (usize, usize) {
    let mut answers = 0;
    let mut summaries = 0;
    for index in tree.indices() {
        match tree.kind(index) {
            EntryKind::Message => {
                if let Ok(entry) = tree.entry(index)
                    && let EntryBody::Message(message) = &entry.body
                    && let AgentMessage::Assistant(answer) = &**message
                    && answer.provider == "scripted"
                    && answer.stop_reason != StopReason::Aborted
                {
                    answers += 1;
                }
            }
            EntryKind::Compaction | EntryKind::BranchSummary => {
                let line = tree.raw_line(index).unwrap_or_default();
                let scripted = b"\"provider\":\"scripted\"";
                if line.windows(scripted.len()).any(|bytes| bytes == scripted) {
                    summaries += 1;
                }
            }
            _ => {}
        }
    }
    (answers, summaries)
}

/// A script and where it is.
struct ScriptFile {
    path: PathBuf,
    script: Script,
}

impl ScriptFile {
    fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::Usage(format!(
                "cannot read the script {}: {error}",
                path.display()
            ))
        })?;
        let script = Script::parse(&text)
            .map_err(|error| Error::Usage(format!("script {}, {error}", path.display())))?;
        Ok(Self {
            path: path.to_owned(),
            script,
        })
    }

    /// Returns the settings of the script, and how they are called in errors.
    fn settings(&self) -> Option<(String, serde_json::Value)> {
        let settings = self.script.header.settings.as_ref()?;
        Some((
            format!("script {}", self.path.display()),
            settings.to_value(),
        ))
    }

    /// Copies the folder that the script works on, and returns where the copy is.
    fn copy_workspace(&self) -> Result<Option<PathBuf>, Error> {
        let Some(folder) = &self.script.header.workspace else {
            return Ok(None);
        };
        let base = self.path.parent().unwrap_or(Path::new("."));
        let from = base.join(folder);
        if !from.is_dir() {
            return Err(Error::Usage(format!(
                "script {}: its workspace {} is no folder",
                self.path.display(),
                from.display()
            )));
        }
        let copy = tempfile::Builder::new()
            .prefix("agent-cli-")
            .tempdir()
            .map_err(|error| Error::io("create", std::env::temp_dir(), error))?;
        let copy = copy.keep();
        copy_folder(&from, &copy)?;
        Ok(Some(copy))
    }
}

/// Copies files and folders; links are not followed, build results not taken along.
fn copy_folder(from: &Path, to: &Path) -> Result<(), Error> {
    let failed = |error| Error::io("read", from, error);
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let target = to.join(entry.file_name());
        if kind.is_dir() && entry.file_name() != "target" {
            std::fs::create_dir(&target).map_err(|error| Error::io("create", &target, error))?;
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &target)
                .map_err(|error| Error::io("create", &target, error))?;
        }
    }
    Ok(())
}
