//! Carrying out what the state asks for: commands of the session, reports, lists of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_session::BuiltSession;
use agent_tools::{ToolContext, ToolLimits, image_in_base64};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use llm_providers::CancellationToken;
use ratatui::layout::Size;
use serde_json::json;
use session_model::json::RawJson;
use session_model::{BashExecution, ToolCall};
use session_protocol::SessionHandle;
use session_protocol::{Ask, Command, Finished, Snapshot};
use session_store::PromptImage;
use session_text::counted;
use session_tools::standard_tools;
use summarize::models::LiveModels;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::external::{self, Outside};
use crate::pager::Pager;
use crate::picker::Choice;
use crate::report::{Built, Environment, build};
use crate::state::{Action, Input, Listed, Next, Purpose, Setup, State, UserCommand, Where};
use crate::text::{prefixed, safe_lines};
use crate::theme::Theme;
use crate::update::update;

/// The most files that are offered.
const FILES: usize = 20_000;

/// How other models are made from a name; the error is shown as it is.
pub type OtherModels = Box<dyn Fn(&str) -> Result<LiveModels, String>>;

/// What the program around the terminal does: with its settings, and with files that it alone may write. It may take a
/// while; errors are shown as they are.
pub trait Host: Send + Sync {
    /// Returns the sessions to go on with.
    ///
    /// # Errors
    /// They cannot be listed.
    fn sessions(&self, wanted: Where) -> Result<Vec<Choice>, String>;

    /// Returns what was said in earlier sessions of the folder, the oldest first.
    fn prompts(&self) -> Vec<String> {
        Vec::new()
    }

    /// Keeps a setting for later runs; returns what to say.
    ///
    /// # Errors
    /// It cannot be kept.
    fn save(&self, name: &str, value: &str) -> Result<String, String>;

    /// Fails where no session of this name can be gone on with.
    ///
    /// # Errors
    /// What is wrong, and what to do.
    fn check_session(&self, _name: &str) -> Result<(), String> {
        Ok(())
    }

    /// Returns what is listed, as text.
    ///
    /// # Errors
    /// The settings cannot be read.
    fn list(&self, listed: Listed) -> Result<String, String>;

    /// Writes a session as a page into a new file, by a name of its own unless one is given; returns what to say.
    ///
    /// # Errors
    /// The file cannot be written.
    fn export(&self, session: &Snapshot, file: Option<&str>) -> Result<String, String>;
}

/// What a terminal needs to know.
pub struct Options {
    /// The colours.
    pub theme: Theme,
    /// Whether output is plain lines, for terminals that cannot move their cursor and for screen readers.
    pub plain: bool,
    /// The models that can be named, for completion.
    pub models: Vec<String>,
    /// Makes other models.
    pub other_models: OtherModels,
    /// The program around the terminal.
    pub host: Arc<dyn Host>,
    /// The commands of the user.
    pub commands: Vec<UserCommand>,
    /// What settings mean, by their names.
    pub meanings: BTreeMap<String, String>,
    /// Closes the session when the program is told to end.
    pub cancel: CancellationToken,
    /// What the session does first.
    pub opening: Option<Command>,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    /// The session's own account.
    pub finished: Finished,
    /// The session that ran last: its id, and where it is or would be.
    pub session: (String, Option<PathBuf>),
    /// What the user wants next.
    pub next: Next,
    /// It was stopped while it worked.
    pub stopped: bool,
}

/// Carries out what the state asks for.
pub(crate) struct Driver {
    pub(crate) state: State,
    pub(crate) handle: SessionHandle,
    other_models: OtherModels,
    host: Arc<dyn Host>,
    /// What commands of the user run with.
    tools: ToolContext,
    /// What the terminal is to be given back for.
    pub(crate) outside: Option<Outside>,
    pub(crate) cancel: CancellationToken,
    stopped: bool,
    opening: Option<Command>,
    pub(crate) pending: FuturesUnordered<LocalBoxFuture<'static, Input>>,
    next: Option<Next>,
    pub(crate) started: Instant,
}

impl Driver {
    pub(crate) fn new(
        session: &BuiltSession,
        handle: SessionHandle,
        options: Options,
        size: Size,
    ) -> Self {
        let setup = Setup {
            theme: options.theme,
            size,
            models: options.models,
            commands: options.commands,
            meanings: options.meanings,
            plain: options.plain,
            home: std::env::home_dir().map(|home| home.to_string_lossy().into_owned()),
        };
        Self {
            state: State::new(setup),
            handle,
            other_models: options.other_models,
            host: options.host,
            tools: session.tool_context(),
            outside: None,
            cancel: options.cancel,
            stopped: false,
            opening: options.opening,
            pending: FuturesUnordered::new(),
            next: None,
            started: Instant::now(),
        }
    }

    pub(crate) fn ended(self, finished: Finished) -> Ended {
        let (id, path) = self.state.session();
        Ended {
            finished,
            session: (id.to_owned(), path.map(PathBuf::from)),
            next: self.next.unwrap_or(Next::Quit),
            stopped: self.stopped,
        }
    }

    /// Ends the session from outside.
    pub(crate) fn stop(&mut self) {
        self.stopped = self.state.is_moving() || !self.state.approvals.is_empty();
        self.state.is_closing = true;
        self.handle.close();
    }

    /// Takes an input in, and does what follows from it.
    pub(crate) fn input(&mut self, input: Input) {
        let now = self.started.elapsed();
        update(&mut self.state, Input::Tick(now));
        for action in update(&mut self.state, input) {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Ask(purpose, ask) => self.ask(purpose, ask),
            Action::Build(report, session) => {
                let environment = Environment {
                    width: self.state.width(),
                    theme: self.state.theme,
                    figures: self.state.context,
                };
                let runtime = Handle::current();
                self.later(move || {
                    let built = runtime.block_on(build(&report, &session, &environment));
                    Input::Built(built)
                });
            }
            Action::ListSessions(wanted) => {
                let host = self.host.clone();
                self.later(move || Input::Sessions(wanted, host.sessions(wanted)));
            }
            Action::ListPrompts => {
                let host = self.host.clone();
                self.later(move || Input::Prompts(host.prompts()));
            }
            Action::Shell(command, cancel) => {
                let mut tools = self.tools.clone();
                tools.cancel = cancel;
                self.pending.push(Box::pin(async move {
                    Input::Ran(Box::new(run_command(command, &tools).await))
                }));
            }
            Action::Save(name, value) => {
                let host = self.host.clone();
                self.later(move || Input::Done(host.save(&name, &value)));
            }
            Action::List(listed) => {
                let (host, width) = (self.host.clone(), self.state.width());
                let theme = self.state.theme;
                self.later(move || match host.list(listed) {
                    Ok(text) => {
                        let lines = prefixed(&safe_lines(&text), "", width, theme.plain());
                        Input::Built(Built::Page(Pager::new(listed.title(), lines)))
                    }
                    Err(why) => Input::Done(Err(why)),
                });
            }
            Action::Export(file, session) => {
                let host = self.host.clone();
                self.later(move || Input::Done(host.export(&session, file.as_deref())));
            }
            Action::ReadImage(path, text) => {
                let path = self.path_of(&path);
                self.later(move || {
                    let image = image(&path);
                    Input::Image(text, image)
                });
            }
            Action::Copy(text) => self.copy(&text),
            Action::Edit(text) => self.outside = Some(Outside::Edit(text)),
            Action::Suspend => self.outside = Some(Outside::Suspend),
            Action::SetModel(name) => match (self.other_models)(&name) {
                Ok(models) => {
                    let command = Command::SetModel(Box::new(models));
                    self.ask(Purpose::Command("model"), Ask::Do(command));
                }
                Err(why) => self.input(Input::NoModel(why)),
            },
            Action::ListFiles => {
                let folder = PathBuf::from(&self.state.session.cwd);
                self.later(move || Input::Files(files(&folder)));
            }
            Action::Leave(next) => {
                if let Next::Resume(name) = &next
                    && let Err(why) = self.host.check_session(name)
                {
                    self.state.is_closing = false;
                    return self.input(Input::Done(Err(why)));
                }
                self.next.get_or_insert(next);
                self.handle.close();
            }
        }
    }

    fn ask(&mut self, purpose: Purpose, ask: Ask) {
        let handle = self.handle.clone();
        self.pending.push(Box::pin(async move {
            let answer = handle.ask(ask).await;
            Input::Answered(purpose, answer)
        }));
    }

    /// Does something on another thread; what comes of it is an input.
    fn later(&mut self, work: impl FnOnce() -> Input + Send + 'static) {
        let work = spawn_blocking(work);
        self.pending.push(Box::pin(async {
            let failed = |_| Input::Done(Err("this failed; that is a defect".to_owned()));
            work.await.unwrap_or_else(failed)
        }));
    }

    /// Returns the place of a path as people write it.
    fn path_of(&self, path: &str) -> PathBuf {
        let home = self.state.setup.home.as_deref();
        match (path.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => Path::new(home).join(rest),
            _ => Path::new(&self.state.session.cwd).join(path),
        }
    }

    /// Gives a text to the terminal for its clipboard.
    fn copy(&mut self, text: &str) {
        if self.state.setup.plain {
            let why = "a plain terminal has no clipboard".to_owned();
            return self.input(Input::Done(Err(why)));
        }
        let copied = external::copy(text);
        let letters = counted(text.chars().count(), "character");
        let copied = copied.map(|()| format!("-- {letters} given to the terminal's clipboard"));
        self.input(Input::Done(copied.map_err(|error| error.to_string())));
    }

    /// Sends what the session does first.
    pub(crate) fn open(&mut self) {
        self.act(Action::ListPrompts);
        if let Some(command) = self.opening.take() {
            self.act(Action::command("open", command));
        }
    }

    /// Waits for something that was begun here.
    pub(crate) async fn finished(&mut self) -> Input {
        match self.pending.next().await {
            Some(input) => input,
            None => std::future::pending().await,
        }
    }
}

/// Runs a command of the user, who need not be asked.
async fn run_command(command: String, tools: &ToolContext) -> BashExecution {
    let call = ToolCall {
        id: "user".to_owned(),
        name: "bash".to_owned(),
        arguments: RawJson::of(&json!({ "command": command })).ok(),
        signature: None,
    };
    let done = standard_tools().run(&call, tools).await;
    let details = done.details.unwrap_or_default();
    BashExecution {
        command,
        output: done.content.joined_text("\n"),
        exit_code: details["exit_code"].as_i64(),
        cancelled: tools.cancel.is_cancelled(),
        truncated: details["truncated"].as_bool().unwrap_or_default(),
        full_output_path: details["full_output_path"].as_str().map(str::to_owned),
        exclude_from_context: false,
        timestamp: None,
    }
}

/// Returns the image that a file is, unless it is none or too large to be shown.
fn image(path: &Path) -> Option<PromptImage> {
    let about = path.metadata().ok()?;
    if !about.is_file() || about.len() > ToolLimits::default().image_bytes {
        return None;
    }
    let data = STANDARD.encode(std::fs::read(path).ok()?);
    let (mime_type, _) = image_in_base64(&data)?;
    let mime_type = mime_type.to_owned();
    Some(PromptImage { data, mime_type })
}

/// Returns the files of a folder that are not ignored, relative to it.
fn files(folder: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(folder).build();
    let files = walk.filter_map(Result::ok);
    let files = files.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let names = files.filter_map(|entry| {
        let path = entry.path().strip_prefix(folder).ok()?;
        path.to_str().map(str::to_owned)
    });
    let mut names: Vec<String> = names.take(FILES).collect();
    names.sort_unstable_by_key(|name| (name.matches('/').count(), name.clone()));
    names
}
