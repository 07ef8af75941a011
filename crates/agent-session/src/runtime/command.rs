//! What a session is asked to do, and how it ended; carrying commands out.

use compaction_core::{PinTarget, Strategy};
use session_model::EntryId;

use crate::event::{CompactionTotals, SessionEvent, TokenUsage};
use crate::machine::{Event, Navigation, ResumePoint, State, StrategyChoice, TurnEnd};
use crate::models::LiveModels;
use crate::runtime::AgentSession;
use crate::runtime::call::Call;
use crate::undoable::Later;
use agent_tools::approval::Decision;
use session_store::{BoxFuture, Delivery, Locator, Prompt};

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
    /// A compaction is wanted now.
    Compact {
        /// What the summary should focus on.
        focus: Option<String>,
    },
    /// A compaction by this strategy is wanted now, whatever the settings say.
    CompactBy {
        /// How.
        strategy: Strategy,
        /// What the summary should focus on.
        focus: Option<String>,
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
    Undo,
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
    /// Carries out one command.
    pub fn command(&mut self, command: Command) -> BoxFuture<'_, ()> {
        Box::pin(self.carry_out_command(command))
    }

    async fn carry_out_command(&mut self, command: Command) {
        match command {
            Command::Prompt { prompt, delivery } => self.say(prompt, delivery).await,
            Command::Dequeue { id } => self.take_back(id).await,
            Command::Resume => self.resume().await,
            Command::Abort => self.feed(Event::Abort).await,
            Command::Compact { focus } => {
                self.feed(Event::Compact {
                    focus,
                    choice: StrategyChoice::Configured,
                })
                .await;
            }
            Command::CompactBy { strategy, focus } => {
                self.feed(Event::Compact {
                    focus,
                    choice: StrategyChoice::By(strategy),
                })
                .await;
            }
            Command::Handoff { focus } => {
                self.feed(Event::Compact {
                    focus,
                    choice: StrategyChoice::Handoff,
                })
                .await;
            }
            Command::AbortCompaction => self.feed(Event::AbortCompaction).await,
            Command::Navigate(navigation) => self.feed(Event::Navigate(navigation)).await,
            Command::Back {
                count,
                summarize,
                focus,
            } => match self.message_back(count) {
                Ok(target) => {
                    self.feed(Event::Navigate(Navigation {
                        target: Some(target),
                        summarize,
                        focus,
                        label: None,
                    }))
                    .await;
                }
                Err(error) => self.fail(error),
            },
            Command::Label { count, text } => self.label(count, text).await,
            Command::LabelEntry { id, text } => self.label_entry(&id, text).await,
            Command::Undo => {
                if let Err(refused) = self.undo().await {
                    self.fail(refused.message);
                }
            }
            Command::Redo => {
                if let Err(refused) = self.redo().await {
                    self.fail(refused.message);
                }
            }
            Command::CompactInstead {
                strategy,
                focus,
                later,
            } => {
                if let Err(refused) = self.compact_instead(strategy, focus, later).await {
                    self.fail(refused.message);
                }
            }
            Command::Pin(target) => {
                if let Err(refused) = self.pin(&target).await {
                    self.fail(refused.message);
                }
            }
            Command::Unpin { id } => {
                if let Err(refused) = self.unpin(&id).await {
                    self.fail(refused.message);
                }
            }
            Command::Fork { entry } => {
                if let Err(refused) = self.fork(entry.as_ref()).await {
                    self.fail(refused.message);
                }
            }
            Command::SetModel(models) => {
                if let Err(refused) = self.set_model(*models).await {
                    self.fail(refused.message);
                }
            }
            Command::Call(call) => self.call(*call).await,
            Command::SetAutomatic(true)
                if self.settings.compaction.strategy.first() == Strategy::Off =>
            {
                self.fail("compaction.strategy is off; set another to compact".to_owned());
            }
            Command::Approve { call_id, decision } => {
                if !self.tool_context.approvals.answer(&call_id, decision) {
                    self.fail(format!("no call {call_id} waits to be allowed"));
                }
            }
            Command::SetAutomatic(automatic) => self.feed(Event::SetAutomatic(automatic)).await,
            Command::Close => self.feed(Event::Close).await,
        }
    }

    async fn resume(&mut self) {
        // What runs needs no other beginning.
        if self.machine.state != State::Idle {
            return;
        }
        if let Err(error) = self.append(Vec::new()).await {
            self.unwritten(&error);
            return;
        }
        let resume_point = self.resume_point();
        // Whoever goes on must know its instructions and tools, as with a prompt.
        if resume_point != ResumePoint::Rest
            && let Err(error) = self.write_preamble().await
        {
            self.unwritten(&error);
            return;
        }
        if resume_point == ResumePoint::Unanswered && self.failed.is_some() {
            let omission = self.omission();
            if let Err(error) = self.append(omission).await {
                self.fail(format!("cannot write the session: {error}"));
                return;
            }
        }
        self.resumes_calls = resume_point == ResumePoint::PendingCalls;
        self.machine.memory.can_promote = self.models.can_promote();
        self.feed(Event::Resume(resume_point)).await;
    }

    async fn say(&mut self, prompt: Prompt, delivery: Delivery) {
        match self.keep(prompt, delivery).await {
            Ok(id) => self.feed(Event::Queued { id, delivery }).await,
            Err(why) => self.fail(why),
        }
    }

    /// Keeps a message until it is sent; returns its id, or why it is not kept.
    pub(super) async fn keep(
        &mut self,
        prompt: Prompt,
        delivery: Delivery,
    ) -> Result<EntryId, String> {
        let typed = prompt.text.clone();
        let kept = self.store.queue(prompt, delivery).await;
        let message = kept.map_err(|error| format!("the message is not kept: {error}"))?;
        self.waits.user_waits();
        if message.text != typed {
            self.events.notice(
                "the message held the value of a variable that is a secret; it is sent without, with [secret removed] in its place",
            );
        }
        self.events.send(SessionEvent::Queued {
            id: message.id.to_string(),
            text: message.text,
            delivery: delivery.name(),
        });
        Ok(message.id)
    }
}
