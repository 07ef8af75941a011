//! Carrying out what the state asks for: commands of the session, reports, lists of files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_session::SessionHandle;
use agent_session::llm_providers::CancellationToken;
use agent_session::models::LiveModels;
use agent_session::runtime::{Ask, Command, Finished};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use ratatui::layout::Size;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::external::Outside;
use crate::picker::Choice;
use crate::report::{Built, Environment, build};
use crate::state::{Action, Input, Next, Purpose, Setup, State, UserCommand};
use crate::update::update;

/// The most files that are offered.
const FILES: usize = 20_000;

/// How other models are made from a name; the error is shown as it is.
pub type OtherModels = Box<dyn Fn(&str) -> Result<LiveModels, String>>;

/// How the sessions to go on with are found; the error is shown as it is.
pub type Sessions = Arc<dyn Fn() -> Result<Vec<Choice>, String> + Send + Sync>;

/// What a terminal needs to know.
pub struct Options {
    /// Whether colours are shown.
    pub color: bool,
    /// Whether output is plain lines, for terminals that cannot move their cursor and for screen readers.
    pub plain: bool,
    /// The models that can be named, for completion.
    pub models: Vec<String>,
    /// Makes other models.
    pub other_models: OtherModels,
    /// Finds the sessions to go on with.
    pub sessions: Sessions,
    /// The commands of the user.
    pub commands: Vec<UserCommand>,
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
}

/// Carries out what the state asks for.
pub(crate) struct Driver {
    pub(crate) state: State,
    pub(crate) handle: SessionHandle,
    other_models: OtherModels,
    sessions: Sessions,
    /// What the terminal is to be given back for.
    pub(crate) outside: Option<Outside>,
    pub(crate) cancel: CancellationToken,
    opening: Option<Command>,
    pub(crate) pending: FuturesUnordered<LocalBoxFuture<'static, Input>>,
    next: Option<Next>,
    pub(crate) started: Instant,
}

impl Driver {
    pub(crate) fn new(handle: SessionHandle, options: Options, size: Size) -> Self {
        let setup = Setup {
            color: options.color,
            size,
            models: options.models,
            commands: options.commands,
            plain: options.plain,
            home: std::env::home_dir().map(|home| home.to_string_lossy().into_owned()),
        };
        Self {
            state: State::new(setup),
            handle,
            other_models: options.other_models,
            sessions: options.sessions,
            outside: None,
            cancel: options.cancel,
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
        }
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
                let built = spawn_blocking(move || {
                    runtime.block_on(build(&report, &session, &environment))
                });
                self.pending.push(Box::pin(async {
                    let failed = |_| Built::Nothing("the report failed".to_owned());
                    Input::Built(built.await.unwrap_or_else(failed))
                }));
            }
            Action::ListSessions => {
                let sessions = self.sessions.clone();
                let found = spawn_blocking(move || sessions());
                self.pending.push(Box::pin(async {
                    let failed = |_| Err("the sessions cannot be listed".to_owned());
                    Input::Sessions(found.await.unwrap_or_else(failed))
                }));
            }
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
                let files = spawn_blocking(move || files(&folder));
                self.pending.push(Box::pin(async {
                    Input::Files(files.await.unwrap_or_default())
                }));
            }
            Action::Leave(next) => {
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

    /// Sends what the session does first.
    pub(crate) fn open(&mut self) {
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
