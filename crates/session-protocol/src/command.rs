//! What a session is asked, by whom, and how it ended.

use agent_tools::approval::Decision;
use compaction_core::undoable::{Later, Whose};
use compaction_core::{PinTarget, Strategy};
use llm_providers::Reasoning;
use session_model::{BashExecution, EntryId};
use session_store::{Delivery, Locator, Prompt};
use summarize::models::LiveModels;
use tokio::sync::oneshot;

use crate::event::{CompactionTotals, TokenUsage};
use crate::reply::{Refusal, Reply};
use crate::request::{CompactionRequest, Navigation, TurnEnd};

/// What is asked of a session, and who is answered.
#[derive(Debug)]
pub struct Call {
    ask: Ask,
    caller: Caller,
}

/// What is asked.
#[derive(Debug)]
pub enum Ask {
    /// That it does this.
    Do(Command),
    /// How it is.
    State,
    /// The session as it is.
    Snapshot,
    /// What is pinned.
    Pins,
}

/// What a caller is answered.
pub type Answer = Result<Reply, Refusal>;

impl Call {
    /// Returns the command that asks, and where the answer comes; an error there says that the session has ended.
    pub fn of(ask: Ask) -> (Command, oneshot::Receiver<Answer>) {
        let (sender, answer) = oneshot::channel();
        let caller = Some(sender);
        (Command::Call(Box::new(Self { ask, caller })), answer)
    }

    /// Returns what is asked.
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Returns what is asked, and who is answered.
    pub fn into_parts(self) -> (Ask, Caller) {
        (self.ask, self.caller)
    }
}

/// A command without an answer: the caller does not wait.
impl From<Command> for Call {
    fn from(command: Command) -> Self {
        match command {
            Command::Call(call) => *call,
            command => Self {
                ask: Ask::Do(command),
                caller: None,
            },
        }
    }
}

/// The caller that waits for an answer. Without one, an event reports why something is refused.
pub type Caller = Option<oneshot::Sender<Answer>>;

/// What a session is asked to do.
#[derive(Debug)]
pub enum Command {
    /// The user sends a prompt.
    Prompt {
        /// The prompt; hooks and events have its text, the entry its images too.
        prompt: Prompt,
        /// When it is sent.
        delivery: Delivery,
    },
    /// A message that waits is taken back.
    Dequeue {
        /// Its id.
        id: EntryId,
    },
    /// Unfinished work of the session continues.
    Resume,
    /// What runs is to stop.
    Abort,
    /// The session is compacted.
    Compact(CompactionRequest),
    /// The summary that waits to be read is written, or another text in its place.
    Review {
        /// The other text.
        summary: Option<String>,
    },
    /// A new session should go on from a document.
    Handoff {
        /// What the document should focus on.
        focus: Option<String>,
    },
    /// Running compactions and branch summaries are to stop.
    AbortCompaction,
    /// The leaf should move.
    Navigate(Navigation),
    /// The leaf should move to before the newest messages of the user.
    Back {
        /// To before how many of them.
        count: usize,
        /// Whether the branch that is left is summarized.
        summarize: bool,
        /// What the summary should focus on.
        focus: Option<String>,
    },
    /// A message of the user gets a label.
    Label {
        /// How many messages of the user back; 1 is the newest.
        count: usize,
        /// The label; none clears it.
        text: Option<String>,
    },
    /// An entry gets a label.
    LabelEntry {
        /// The entry.
        id: EntryId,
        /// The label; none clears it.
        text: Option<String>,
    },
    /// The newest compaction, pruning or move is taken back.
    Undo(Whose),
    /// What was taken back last comes again.
    Redo,
    /// Another compaction takes the place of the newest.
    CompactInstead {
        /// How.
        strategy: Strategy,
        /// What the summary should focus on.
        focus: Option<String>,
        /// What is to become of what came after it.
        later: Later,
    },
    /// Something is to be kept verbatim.
    Pin(PinTarget),
    /// Something that was pinned is not any more.
    Unpin {
        /// The pinned entry, or the entry that holds the text.
        id: EntryId,
    },
    /// The session continues in a copy of itself.
    Fork {
        /// Where the copy ends; where the session stands unless given.
        entry: Option<EntryId>,
    },
    /// Other models answer from the next request on.
    SetModel(Box<LiveModels>),
    /// Automatic compaction is switched on or off.
    SetAutomatic(bool),
    /// The model thinks so much from the next request on.
    SetReasoning(Reasoning),
    /// A command that the user ran is added, so that the model sees it with the next message.
    AddExecution(Box<BashExecution>),
    /// The session gets a name; an empty one takes it off.
    SetName(String),
    /// A setting of compaction or branch summaries is another one from now on, in this run.
    Set {
        /// Its name, such as `compaction.keepRecentTokens`.
        name: String,
        /// Its value, as JSON or as a bare word.
        value: String,
    },
    /// The question whether a call may run is answered.
    Approve {
        /// The call's id.
        call_id: String,
        /// The answer.
        decision: Decision,
    },
    /// Somebody waits for what comes of it.
    Call(Box<Call>),
    /// The session should end.
    Close,
}

impl Command {
    /// Returns whether it stops what runs, or the session.
    pub fn is_stop(&self) -> bool {
        match self {
            Self::Abort | Self::Close => true,
            Self::Call(call) => matches!(call.ask, Ask::Do(Self::Abort | Self::Close)),
            _ => false,
        }
    }
}

/// How a run of a session ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// How the newest turn ended; none when there was no turn.
    pub turn: Option<TurnEnd>,
    /// Why the session could not be written; none when the newest write did not fail.
    pub unsaved: Option<String>,
    /// How many answers and results could not be written.
    pub lost: usize,
    /// How many messages of the user wait: to be sent or, while the session has no file, to be answered.
    pub waiting: usize,
    /// The session at the end.
    pub session_id: String,
    /// Where it is; none when nothing was written.
    pub locator: Option<Locator>,
    /// What was billed.
    pub usage: TokenUsage,
    /// What that costs in USD, where prices are known.
    pub cost_usd: Option<f64>,
    /// Automatic compactions, and how long they were waited for.
    pub compactions: CompactionTotals,
}
