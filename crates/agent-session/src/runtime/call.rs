//! Calls: commands whose caller is answered, once, with what came of them.
//!
//! What is refused immediately is said in the answer and nowhere else. What takes time is answered at its own end: a
//! compaction, a move, a stop, the close. A call that the session's end overtakes is dropped, and so its caller knows.

use session_model::EntryId;
use tokio::sync::oneshot;

use crate::event::CompactionResult;
use crate::machine::{CANCELLED, Ended, Event, PendingAction, State};
use crate::runtime::reply::{
    Closed, Compacted, Kept, Moved, Ran, Refusal, RefusalKind, Reply, TakenBack,
};
use crate::runtime::{AgentSession, Command};
use session_store::{Delivery, Prompt};

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
        let call = Self {
            ask,
            caller: Caller(sender),
        };
        (Command::Call(Box::new(call)), answer)
    }

    /// Returns what is asked.
    pub(super) fn ask(&self) -> &Ask {
        &self.ask
    }
}

/// Who waits for an answer.
#[derive(Debug)]
pub(super) struct Caller(oneshot::Sender<Answer>);

impl Caller {
    /// Answers. Nobody has to listen any more.
    pub fn answer(self, answer: Answer) {
        let _ = self.0.send(answer);
    }
}

/// Who waits for what.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// What is refused while a call is carried out is collected here instead of being told.
    refusals: Option<Vec<String>>,
    /// Who waits for the compaction that was asked for.
    compaction: Option<Caller>,
    /// The compaction that ends now had nothing to do.
    pub nothing: bool,
    /// Who waits for the move.
    navigation: Option<Caller>,
    /// The move that was written last.
    pub moved: Option<Moved>,
    /// Who waits for what runs to stop, and whether anything ran.
    aborts: Vec<(Caller, Ran)>,
    /// Who waits for the end.
    closes: Vec<Caller>,
}

impl AgentSession {
    /// Carries out a call; answers immediately, or once it is known what came of it.
    pub(super) async fn call(&mut self, call: Call) {
        let Call { ask, caller } = call;
        let command = match ask {
            Ask::Do(command) => command,
            Ask::State => return caller.answer(Ok(Reply::State(Box::new(self.report())))),
            Ask::Pins => return caller.answer(Ok(Reply::Pins(self.pins_report()))),
            Ask::Snapshot => {
                return caller.answer(Ok(Reply::Snapshot(Box::new(self.snapshot()))));
            }
        };
        match command {
            Command::Prompt { prompt, delivery } => self.call_say(prompt, delivery, caller).await,
            Command::Dequeue { id } => caller.answer(self.call_take_back(&id).await),
            Command::Compact { .. }
            | Command::CompactBy { .. }
            | Command::CompactInstead { .. }
            | Command::Handoff { .. } => {
                self.call_compaction(command, caller).await;
            }
            Command::Navigate(_) | Command::Back { .. } => {
                self.call_navigation(command, caller).await;
            }
            Command::Abort => {
                let running = self.machine.state != State::Idle;
                self.calls.aborts.push((caller, Ran { running }));
                self.feed(Event::Abort).await;
            }
            Command::AbortCompaction => {
                let running = self.is_compacting();
                self.feed(Event::AbortCompaction).await;
                caller.answer(Ok(Reply::Ran(Ran { running })));
            }
            Command::Resume => {
                let refused = self.refusal_of(Command::Resume).await;
                let running = self.machine.state != State::Idle;
                caller.answer(refused.map_or(Ok(Reply::Ran(Ran { running })), Err));
            }
            Command::SetModel(models) => {
                caller.answer(self.set_model(*models).await.map(Reply::ModelSet));
            }
            Command::Undo => caller.answer(self.undo().await.map(Reply::Undone)),
            Command::Redo => caller.answer(self.redo().await.map(Reply::Redone)),
            Command::Pin(target) => caller.answer(self.pin(&target).await.map(Reply::Pinned)),
            Command::Unpin { id } => caller.answer(self.unpin(&id).await.map(Reply::Unpinned)),
            Command::Fork { entry } => {
                caller.answer(self.fork(entry.as_ref()).await.map(Reply::Forked));
            }
            Command::Label { .. }
            | Command::LabelEntry { .. }
            | Command::SetAutomatic(_)
            | Command::Approve { .. }
            | Command::Call(_) => {
                let refused = self.refusal_of(command).await;
                caller.answer(refused.map_or(Ok(Reply::Done {}), Err));
            }
            Command::Close => {
                self.calls.closes.push(caller);
                self.feed(Event::Close).await;
            }
        }
    }

    async fn call_say(&mut self, prompt: Prompt, delivery: Delivery, caller: Caller) {
        if let Some(id) = self.queue_and_answer(prompt, delivery, caller).await {
            self.feed(Event::Queued { id, delivery }).await;
        }
    }

    /// Keeps the message of a call that says one; returns what is to be sent.
    pub(super) async fn queue_for(&mut self, call: Call) -> Option<(EntryId, Delivery)> {
        match call.ask {
            Ask::Do(Command::Prompt { prompt, delivery }) => {
                let id = self.queue_and_answer(prompt, delivery, call.caller).await?;
                Some((id, delivery))
            }
            Ask::Do(_) | Ask::State | Ask::Snapshot | Ask::Pins => None,
        }
    }

    /// Keeps a message and answers before it is sent: what happens then is told as events.
    async fn queue_and_answer(
        &mut self,
        prompt: Prompt,
        delivery: Delivery,
        caller: Caller,
    ) -> Option<EntryId> {
        match self.keep(prompt, delivery).await {
            Ok(id) => {
                let message_id = id.to_string();
                caller.answer(Ok(Reply::Kept(Kept { message_id })));
                Some(id)
            }
            Err(why) => {
                caller.answer(Err(Refusal::failed(why)));
                None
            }
        }
    }

    async fn call_take_back(&mut self, id: &EntryId) -> Answer {
        let waiting = self.store.queued().iter();
        let text = waiting
            .filter(|message| message.id == *id)
            .map(|message| message.text.clone())
            .next();
        match self.refusal_of(Command::Dequeue { id: id.clone() }).await {
            Some(refused) => Err(refused),
            None => Ok(Reply::TakenBack(TakenBack {
                message_id: id.to_string(),
                text: text.unwrap_or_default(),
            })),
        }
    }

    /// Lets a compaction begin, unless another one is awaited: then the machine refuses this one.
    async fn call_compaction(&mut self, command: Command, caller: Caller) {
        if self.calls.compaction.is_some() {
            let refused = self.refusal_of(command).await;
            let refused =
                refused.unwrap_or_else(|| Refusal::refused("a compaction is running already"));
            caller.answer(Err(refused));
            return;
        }
        self.calls.compaction = Some(caller);
        if let Some(refused) = self.refusal_of(command).await {
            self.answer_compaction(Err(refused));
        }
    }

    async fn call_navigation(&mut self, command: Command, caller: Caller) {
        if self.calls.navigation.is_some() {
            let refused = self.refusal_of(command).await;
            let refused = refused.unwrap_or_else(|| {
                Refusal::refused("the session is moving; try again when it has")
            });
            caller.answer(Err(refused));
            return;
        }
        self.calls.navigation = Some(caller);
        if let Some(refused) = self.refusal_of(command).await
            && let Some(caller) = self.calls.navigation.take()
        {
            caller.answer(Err(refused));
        }
    }

    /// Carries out a command, and returns why it is refused, where it is.
    async fn refusal_of(&mut self, command: Command) -> Option<Refusal> {
        self.calls.refusals = Some(Vec::new());
        let refused = match command {
            // Where there is nothing to take the place of, there is nothing to do.
            Command::CompactInstead {
                strategy,
                focus,
                later,
            } => self.compact_instead(strategy, focus, later).await.err(),
            command => {
                self.command(command).await;
                None
            }
        };
        let refusals = self.calls.refusals.take().unwrap_or_default();
        refused.or_else(|| refusals.into_iter().next().map(Refusal::refused))
    }

    /// Returns whether a compaction or a move runs, or is about to.
    fn is_compacting(&self) -> bool {
        let memory = &self.machine.memory;
        let wanted = matches!(memory.pending, Some(PendingAction::Compact { .. }));
        let runs = matches!(
            self.machine.state,
            State::Compacting { .. } | State::Navigating { .. }
        );
        runs || wanted || memory.background.is_some()
    }

    /// Says why a command is not carried out: to its caller, or to everybody.
    pub(super) fn fail(&mut self, message: String) {
        match &mut self.calls.refusals {
            Some(refusals) => refusals.push(message),
            None => self.events.error(message),
        }
    }

    /// Says why the machine refuses something.
    pub(super) fn refused(&mut self, why: &str) {
        if why != CANCELLED {
            return self.fail(why.to_owned());
        }
        // A compaction that had not begun; whoever asked for it waits, not whoever took it back.
        self.events.error(why.to_owned());
        self.answer_compaction(Err(Refusal {
            kind: RefusalKind::Cancelled,
            message: why.to_owned(),
        }));
    }

    /// Answers whoever waits for the compaction that is over.
    pub(super) fn answer_requested_compaction(
        &mut self,
        result: Option<CompactionResult>,
        aborted: bool,
        will_retry: bool,
        error: Option<&str>,
    ) {
        let nothing = std::mem::take(&mut self.calls.nothing);
        let answer = match (result, error) {
            (Some(result), None) => Ok(Reply::Compacted(Box::new(Compacted {
                result,
                will_retry,
                session_id: self.store.id().to_owned(),
                path: self.path_name(),
            }))),
            (_, error) => Err(Refusal {
                kind: match (aborted, nothing) {
                    (true, _) => RefusalKind::Cancelled,
                    (false, true) => RefusalKind::NothingToDo,
                    (false, false) => RefusalKind::Failed,
                },
                message: error.unwrap_or("nothing was written").to_owned(),
            }),
        };
        self.answer_compaction(answer);
    }

    fn answer_compaction(&mut self, answer: Answer) {
        if let Some(caller) = self.calls.compaction.take() {
            caller.answer(answer);
        }
    }

    /// Answers whoever waits for the move that is over.
    pub(super) fn answer_navigation(&mut self, ended: &Ended) {
        let moved = self.calls.moved.take();
        let Some(caller) = self.calls.navigation.take() else {
            return;
        };
        caller.answer(match (ended, moved) {
            (Ended::Compacted { .. } | Ended::HandedOff, Some(moved)) => Ok(Reply::Moved(moved)),
            (Ended::Compacted { .. } | Ended::HandedOff, None) => Ok(Reply::Done {}),
            (Ended::Nothing(why), _) => Err(Refusal {
                kind: RefusalKind::NothingToDo,
                message: why.clone(),
            }),
            (Ended::Failed(why), _) => Err(Refusal::failed(why.clone())),
            (Ended::Stale, _) => Err(Refusal::failed("the session changed meanwhile")),
            (Ended::Cancelled, _) => Err(Refusal {
                kind: RefusalKind::Cancelled,
                message: "the move was cancelled".to_owned(),
            }),
        });
    }

    /// Answers whoever waits for what ran to stop, once nothing is left to be stopped.
    pub(super) fn answer_aborts(&mut self) {
        if self.machine.memory.pending != Some(PendingAction::Rest) {
            for (caller, ran) in self.calls.aborts.drain(..) {
                caller.answer(Ok(Reply::Ran(ran)));
            }
        }
    }

    /// Answers whoever waits for the end; whoever waits for anything else waits no longer.
    pub(super) fn answer_closes(&mut self) {
        let closes = std::mem::take(&mut self.calls.closes);
        self.calls = Calls::default();
        let closed = Closed {
            session_id: self.store.id().to_owned(),
            path: self.path_name().filter(|_| self.store.is_persisted()),
        };
        for caller in closes {
            caller.answer(Ok(Reply::Closed(closed.clone())));
        }
    }

    /// Returns where the session is or will be, as text.
    pub(super) fn path_name(&self) -> Option<String> {
        self.store.locator().map(ToString::to_string)
    }
}
