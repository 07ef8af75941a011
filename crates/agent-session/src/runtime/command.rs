//! What a session is asked to do, and how it ended; carrying commands out.

use compaction_core::{PinTarget, Strategy};
use session_model::{BashExecution, EntryId};

use crate::event::{CompactionTotals, SessionEvent, TokenUsage};
use crate::machine::{Event, Navigation, ResumePoint, State, TurnEnd};
use crate::runtime::AgentSession;
use crate::runtime::CompactionRequest;
use crate::runtime::call::{Ask, Call};
use crate::runtime::reply::{Ran, Refusal};
use agent_tools::approval::Decision;
use compaction_core::undoable::{Later, Whose};
use llm_providers::Reasoning;
use session_store::{Delivery, Locator, Prompt};
use summarize::models::LiveModels;

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
    /// Work that the session was left with goes on.
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
    /// The session goes on in a copy of itself.
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
    pub(super) fn is_stop(&self) -> bool {
        match self {
            Self::Abort | Self::Close => true,
            Self::Call(call) => matches!(call.ask(), Ask::Do(Self::Abort | Self::Close)),
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
    /// Compactions that nobody asked for, and how long they were waited for.
    pub compactions: CompactionTotals,
}

impl AgentSession {
    /// Goes on with what the session was left with; returns whether something runs now.
    pub(super) async fn resume(&mut self) -> Result<Ran, Refusal> {
        // What runs needs no other beginning.
        if self.machine.state == State::Idle {
            self.append(Vec::new())
                .await
                .map_err(|error| self.unwritten(error))?;
            let resume_point = self.resume_point();
            // Whoever goes on must know its instructions and tools, as with a prompt.
            if resume_point != ResumePoint::Rest {
                self.write_preamble()
                    .await
                    .map_err(|error| self.unwritten(error))?;
            }
            if resume_point == ResumePoint::Unanswered {
                self.write_omission().await?;
            }
            self.turn.resumes_calls = resume_point == ResumePoint::PendingCalls;
            self.machine.memory.can_promote = self.models.can_promote();
            self.feed(Event::Resume(resume_point)).await;
        }
        let running = self.machine.state != State::Idle;
        Ok(Ran { running })
    }

    /// Keeps a message until it is sent; returns its id, or why it is not kept.
    pub(super) async fn keep(
        &mut self,
        prompt: Prompt,
        delivery: Delivery,
    ) -> Result<EntryId, Refusal> {
        let typed = prompt.text.clone();
        let path = self.store_path();
        let kept = self.store.queue(prompt, delivery);
        let kept = self.work.written(path, kept).await;
        let message =
            kept.map_err(|error| Refusal::failed(format!("the message is not kept: {error}")))?;
        self.compaction_run.waits.user_waits();
        if message.text != typed {
            self.events.notice(
                "the message held the value of a variable that is a secret; it is sent without, with [secret removed] in its place",
            );
        }
        self.events.send(SessionEvent::Queued {
            id: message.id.to_string(),
            text: message.text,
            delivery: delivery.name().into(),
        });
        Ok(message.id)
    }
}
