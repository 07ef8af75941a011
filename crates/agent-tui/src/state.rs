//! What the terminal knows: pure data, changed by [`update`](crate::update::update) alone.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use agent_tools::approval::Decision;
use crossterm::event::KeyEvent;
use llm_providers::CancellationToken;
use ratatui::layout::Size;
use session_model::BashExecution;
use session_protocol::Command;
use session_protocol::SessionEvent;
use session_protocol::Snapshot;
use session_protocol::event::TokenUsage;
use session_protocol::{Answer, Ask};
use session_store::PromptImage;

use crate::block::Block;
use crate::editor::Editor;
use crate::gauge::ContextFigures;
use crate::menu::Menu;
use crate::pager::Pager;
use crate::picker::{Choice, Picker};
use crate::preview::PreviewView;
use crate::report::{Built, Report};
use crate::review::ReviewView;
use crate::theme::Theme;
use crate::transcript::Transcript;
use crate::tree::TreeView;
pub use crate::wanted::{Listed, UserCommand, Waiting, Where, Work};

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal has another size.
    Resize(Size),
    /// The session reports something.
    Session(SessionEvent),
    /// The session answers.
    Answered(Purpose, Answer),
    /// A report is ready.
    Built(Built),
    /// The files of the folder are listed.
    Files(Vec<String>),
    /// What was said in earlier sessions of the folder, the oldest first.
    Prompts(Vec<String>),
    /// A command of the user has ended.
    Ran(Box<BashExecution>),
    /// Another model cannot answer, and why.
    NoModel(String),
    /// The sessions to go on with, or why they are not known.
    Sessions(Where, Result<Vec<Choice>, String>),
    /// What an editor has brought, or why it brought nothing.
    Edited(Result<String, String>),
    /// A text was pasted that names a file: the image that the file is, if it is one.
    Image(String, Option<PromptImage>),
    /// What came of what the program around the terminal was asked for.
    Done(Result<String, String>),
    /// Time has passed: how long the program runs.
    Tick(Duration),
}

/// Something to do.
#[derive(Debug)]
pub enum Action {
    /// The session is asked; its answer comes back as [`Input::Answered`].
    Ask(Purpose, Ask),
    /// A report is made of a session; it comes back as [`Input::Built`].
    Build(Report, Box<Snapshot>),
    /// Another model is to answer.
    SetModel(String),
    /// The files of the folder are wanted, as [`Input::Files`].
    ListFiles,
    /// The sessions are wanted, as [`Input::Sessions`].
    ListSessions(Where),
    /// What was said in earlier sessions is wanted, as [`Input::Prompts`].
    ListPrompts,
    /// A command of the user is to be run until it is stopped; it comes back as [`Input::Ran`].
    Shell(String, CancellationToken),
    /// A setting is to be kept for later runs: its name and its value.
    Save(String, String),
    /// The user's editor is wanted for a text; it comes back as [`Input::Edited`].
    Edit(String),
    /// The file at a path is wanted as an image, which comes back as [`Input::Image`] with the text that was pasted.
    ReadImage(String, String),
    /// A text belongs in the clipboard of the terminal.
    Copy(String),
    /// The session is to be written as a page into this file, or into a new one with a name of its own.
    Export(Option<String>, Box<Snapshot>),
    /// What the program around the terminal knows is wanted, as [`Input::Built`].
    List(Listed),
    /// The program stops until the shell lets it go on.
    Suspend,
    /// The program leaves.
    Leave(Next),
}

impl Action {
    /// Returns that the session should do this.
    pub(crate) fn command(name: &'static str, command: Command) -> Self {
        Self::Ask(Purpose::Command(name), Ask::Do(command))
    }
}

/// What comes after the session was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Nothing.
    Quit,
    /// A new session.
    New,
    /// The session that is known by this.
    Resume(String),
}

/// What the session was asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// A command; nothing but a refusal is shown.
    Command(&'static str),
    /// A message was sent; it returns to the editor where it is refused.
    Message(String),
    /// A message that waits returns to the editor.
    TakeBack,
    /// A report is made of the session.
    Report(Report),
    /// The figures of the status line are wanted.
    Figures,
    /// What was spent is shown.
    Cost,
    /// The pins are shown.
    Pins,
    /// The session is written into this file.
    Export(Option<String>),
    /// The model thinks so much.
    Thinking(&'static str),
    /// A setting is changed to this, and kept for later runs where that is asked for.
    Set {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
        /// Whether it is kept.
        save: bool,
    },
}

/// The session that runs.
#[derive(Debug, Clone, Default)]
pub struct SessionFacts {
    /// Its id.
    pub id: String,
    /// Where it is, or will be.
    pub path: Option<String>,
    /// The folder of its tools.
    pub cwd: String,
    /// The model.
    pub model: String,
}

/// What was spent in this run.
#[derive(Debug, Clone, Default)]
pub struct Spent {
    /// Tokens.
    pub usage: TokenUsage,
    /// USD, where prices are known.
    pub cost_usd: Option<f64>,
}

/// What the model and its tools are doing.
#[derive(Debug, Default)]
pub struct Live {
    /// Since when the turn runs; none when nothing does.
    pub since: Option<Duration>,
    /// The part of the answer that may still change.
    pub answer: String,
    /// Some of the answer was printed already.
    pub has_printed: bool,
    /// The thinking so far.
    pub thinking: String,
    /// Since when it thinks.
    pub thinking_since: Duration,
    /// The calls that run.
    pub calls: Vec<RunningCall>,
}

/// A tool call that runs.
#[derive(Debug)]
pub struct RunningCall {
    /// Its id.
    pub id: String,
    /// The call as people read it.
    pub call: String,
    /// Since when.
    pub since: Duration,
    /// The end of its output so far.
    pub tail: String,
}

/// A message that waits to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// Its id.
    pub id: String,
    /// What it says.
    pub text: String,
    /// When it is sent.
    pub delivery: String,
}

/// A call that waits to be allowed.
#[derive(Debug, Clone)]
pub struct Approval {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What it would do.
    pub subject: String,
    /// Since when it is the first on the screen.
    pub since: Duration,
    /// Which answer is chosen; none until an arrow is pressed.
    pub choice: Option<usize>,
}

/// The answers to a question, and how they are offered.
pub const ANSWERS: [(Decision, &str); 4] = [
    (Decision::Once, "y once"),
    (Decision::Deny, "n no"),
    (Decision::Always, "a always here"),
    (Decision::Never, "v never here"),
];

impl Approval {
    /// Moves the choice.
    pub(crate) fn step(&mut self, forward: bool) {
        let last = ANSWERS.len() - 1;
        self.choice = Some(match (self.choice, forward) {
            (None, true) => 0,
            (None, false) => last,
            (Some(choice), true) => (choice + 1).min(last),
            (Some(choice), false) => choice.saturating_sub(1),
        });
    }
}

/// A compaction that runs.
#[derive(Debug)]
pub struct Compacting {
    /// Since when.
    pub since: Duration,
    /// Why.
    pub reason: String,
    /// What happens.
    pub text: String,
}

/// What takes the whole screen.
#[derive(Debug)]
pub enum FullScreen {
    /// Text.
    Page(Pager),
    /// The tree of the session.
    Tree(Box<TreeView>),
    /// What a compaction would do.
    Preview(Box<PreviewView>),
    /// A summary that waits to be applied.
    Review(Box<ReviewView>),
    /// A list of which one is chosen.
    Picker(Box<Picker>),
}

/// What is set once.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The colours.
    pub theme: Theme,
    /// The size of the terminal.
    pub size: Size,
    /// The models that can be named, for completion.
    pub models: Vec<String>,
    /// The commands of the user.
    pub commands: Vec<UserCommand>,
    /// Whether nothing takes the whole screen: views are printed instead, and take no keys.
    pub plain: bool,
    /// The user's home folder, which `~` stands for.
    pub home: Option<String>,
    /// What settings mean, by their names.
    pub meanings: BTreeMap<String, String>,
}

/// What the terminal knows.
#[derive(Debug)]
pub struct State {
    pub(crate) setup: Setup,
    pub(crate) theme: Theme,
    /// How long the program runs.
    pub(crate) now: Duration,
    pub(crate) session: SessionFacts,
    pub(crate) context: Option<ContextFigures>,
    /// Tokens of the prompt and the tools, where that is known.
    pub(crate) fixed: u64,
    pub(crate) spent: Spent,
    pub(crate) transcript: Transcript,
    pub(crate) live: Live,
    pub(crate) queue: Vec<Queued>,
    pub(crate) approvals: VecDeque<Approval>,
    pub(crate) compaction: Option<Compacting>,
    pub(crate) waiting: Option<Waiting>,
    /// Compactions of this run.
    pub(crate) compactions: usize,
    pub(crate) editor: Editor,
    pub(crate) menu: Option<Menu>,
    /// The files of the folder, once they are listed.
    pub(crate) files: Option<Vec<String>>,
    pub(crate) full: Option<FullScreen>,
    /// Since when another ctrl+c leaves.
    pub(crate) leaving: Option<Duration>,
    /// The session was asked to close.
    pub(crate) is_closing: bool,
    /// The summary of the compaction that runs is to be edited.
    pub(crate) edits_summary: bool,
    /// How much the model thinks, as far as it was said here.
    pub(crate) thinking: Option<&'static str>,
}

/// How long a second ctrl+c leaves.
pub(crate) const LEAVE_WITHIN: Duration = Duration::from_secs(2);

impl State {
    /// Returns the state before the session has reported anything.
    pub fn new(setup: Setup) -> Self {
        Self {
            theme: setup.theme,
            setup,
            now: Duration::ZERO,
            session: SessionFacts::default(),
            context: None,
            fixed: 0,
            spent: Spent::default(),
            transcript: Transcript::default(),
            live: Live::default(),
            queue: Vec::new(),
            approvals: VecDeque::new(),
            compaction: None,
            waiting: None,
            compactions: 0,
            editor: Editor::default(),
            menu: None,
            files: None,
            full: None,
            leaving: None,
            is_closing: false,
            edits_summary: false,
            thinking: None,
        }
    }

    /// Returns the lines that belong above the viewport and were not printed yet.
    pub fn take_unprinted(&mut self) -> Vec<ratatui::text::Line<'static>> {
        let width = usize::from(self.setup.size.width);
        self.transcript.take_unprinted(width, self.theme)
    }

    /// Returns the session: its id, and where it is.
    pub fn session(&self) -> (&str, Option<&str>) {
        (&self.session.id, self.session.path.as_deref())
    }

    /// Returns whether a view takes the whole screen.
    pub fn is_full_screen(&self) -> bool {
        self.full.is_some()
    }

    /// Returns whether something on the screen changes with time.
    pub fn is_moving(&self) -> bool {
        self.live.since.is_some()
            || self.compaction.is_some()
            || self.waiting.is_some()
            || self.leaving.is_some()
    }

    /// Returns whether a turn runs.
    pub(crate) fn is_working(&self) -> bool {
        self.live.since.is_some()
    }

    /// Returns whether arrows choose the answer to the first question.
    pub(crate) fn is_asked(&self) -> bool {
        !self.approvals.is_empty() && self.editor.is_empty()
    }

    /// Returns what Enter answers to the first question: what is typed, if that is an answer and nothing else, or the
    /// choice.
    pub(crate) fn answer(&self) -> Option<Decision> {
        let asked = self.approvals.front()?;
        match self.editor.is_empty() {
            true => Some(ANSWERS[asked.choice?].0),
            false => Decision::typed(&self.editor.text()),
        }
    }

    /// Stops what the user waits for; returns whether there was something.
    pub(crate) fn stop_waiting(&mut self) -> bool {
        match self.waiting.as_ref().map(|waiting| &waiting.work) {
            None => return false,
            Some(Work::Report(meter, _)) => {
                meter.stop();
                self.waiting = None;
            }
            // What it printed so far comes back.
            Some(Work::Command(cancel)) => cancel.cancel(),
        }
        true
    }

    /// Returns whether a command of the user runs.
    pub(crate) fn runs_command(&self) -> bool {
        let work = self.waiting.as_ref().map(|waiting| &waiting.work);
        matches!(work, Some(Work::Command(_)))
    }

    pub(crate) fn push(&mut self, block: Block) {
        self.transcript.push(block);
    }

    pub(crate) fn error(&mut self, text: impl Into<String>) {
        self.push(Block::Error(text.into()));
    }

    pub(crate) fn width(&self) -> usize {
        usize::from(self.setup.size.width).max(2)
    }
}
