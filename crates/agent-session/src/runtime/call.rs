//! Calls: commands whose caller is answered, once, with what came of them.
//!
//! What is refused immediately is said in the answer and nowhere else. What takes time is answered at its own end: a
//! compaction, a move, a stop, the close. A call that the session's end overtakes is dropped, and so its caller knows.

use compaction_core::Strategy;
use session_model::EntryId;

use crate::machine::{CANCELLED, Event, Interruption, JobEnd, Machine, Requested, State};
use crate::runtime::AgentSession;
use session_protocol::event::CompactionResult;
use session_protocol::{
    Answer, Ask, Call, Caller, Closed, Command, Compacted, Kept, Moved, Navigation, Ran, Refusal,
    RefusalKind, Reply,
};
use session_store::{Delivery, Prompt};

/// Who waits for what.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// What is refused while a call is carried out is collected here instead of being told.
    refusals: Option<Vec<String>>,
    /// Who waits for the compaction that was asked for.
    compaction: Caller,
    /// Who waits for the move.
    navigation: Caller,
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
        let (ask, caller) = call.into_parts();
        let answer = match ask {
            Ask::Do(command) => {
                if let Some((caller, answer)) = self.carry_out_command(command, caller).await {
                    self.answer(caller, answer);
                }
                return;
            }
            Ask::State => Ok(Reply::State(Box::new(self.report()))),
            Ask::Pins => Ok(Reply::Pins(self.pins_report())),
            Ask::Snapshot => Ok(Reply::Snapshot(Box::new(self.snapshot()))),
        };
        self.answer(caller, answer);
    }

    /// Carries out a command; returns the answer where it is known already.
    async fn carry_out_command(
        &mut self,
        command: Command,
        caller: Caller,
    ) -> Option<(Caller, Answer)> {
        let answer = match command {
            Command::Prompt { prompt, delivery } => {
                let id = self.queue_and_answer(prompt, delivery, caller).await?;
                self.feed(Event::Queued { id, delivery }).await;
                return None;
            }
            Command::Dequeue { id } => self.take_back(id).await.map(Reply::TakenBack),
            Command::Resume => self.resume().await.map(Reply::Ran),
            Command::Abort => {
                let running = self.machine.state != State::Idle;
                self.calls.aborts.push((caller, Ran { running }));
                self.feed(Event::Abort).await;
                return None;
            }
            Command::Compact(request) => {
                let requested = Requested::Compaction(request);
                return self.request_compaction(requested, caller).await;
            }
            Command::Review { summary } => self.compaction_run.review.answer(summary),
            Command::Handoff { focus } => {
                let requested = Requested::Handoff { focus };
                return self.request_compaction(requested, caller).await;
            }
            Command::CompactInstead {
                strategy,
                focus,
                later,
            } => match self.prepare_replacement(strategy, later).await {
                Ok(replaces) => {
                    let requested = Requested::Replacement {
                        strategy,
                        focus,
                        replaces,
                    };
                    return self.request_compaction(requested, caller).await;
                }
                Err(refused) => Err(refused),
            },
            Command::AbortCompaction => {
                let running = self.is_compacting();
                self.feed(Event::AbortCompaction).await;
                Ok(Reply::Ran(Ran { running }))
            }
            Command::Navigate(navigation) => {
                return self.request_navigation(navigation, caller).await;
            }
            Command::Back {
                count,
                summarize,
                focus,
            } => match self.message_back(count) {
                Ok(target) => {
                    let navigation = Navigation {
                        target: Some(target),
                        summarize,
                        focus,
                        label: None,
                    };
                    return self.request_navigation(navigation, caller).await;
                }
                Err(refused) => Err(refused),
            },
            Command::Label { count, text } => match self.message_back(count) {
                Ok(target) => self.label(target, text).await,
                Err(refused) => Err(refused),
            },
            Command::LabelEntry { id, text } => self.label(id, text).await,
            Command::Undo(whose) => self.undo(whose).await.map(Reply::Undone),
            Command::Redo => self.redo().await.map(Reply::Redone),
            Command::Pin(target) => self.pin(&target).await.map(Reply::Pinned),
            Command::Unpin { id } => self.unpin(&id).await.map(Reply::Unpinned),
            Command::Fork { entry } => self.fork(entry.as_ref()).await.map(Reply::Forked),
            Command::SetModel(models) => self.set_model(*models).await.map(Reply::ModelSet),
            Command::SetReasoning(reasoning) => self.set_reasoning(reasoning),
            Command::AddExecution(execution) => self.add_execution(*execution).await,
            Command::SetName(name) => self.set_name(name).await,
            Command::Set { name, value } => self.set(&name, &value).await,
            Command::SetAutomatic(automatic) => {
                let is_off = self.settings.compaction.strategy.first() == Strategy::Off;
                match automatic && is_off {
                    true => Err(Refusal::refused(
                        "compaction.strategy is off; set another to compact",
                    )),
                    false => {
                        self.feed(Event::SetAutomatic(automatic)).await;
                        Ok(Reply::Done {})
                    }
                }
            }
            Command::Approve { call_id, decision } => {
                match self.tool_context.approvals.answer(&call_id, decision) {
                    true => Ok(Reply::Done {}),
                    false => Err(Refusal::refused(format!(
                        "no call {call_id} waits to be allowed"
                    ))),
                }
            }
            Command::Call(call) => {
                Box::pin(self.call(*call)).await;
                Ok(Reply::Done {})
            }
            Command::Close => {
                self.calls.closes.push(caller);
                self.feed(Event::Close).await;
                return None;
            }
        };
        Some((caller, answer))
    }

    /// Keeps the message of a call that prompts; returns what is to be sent.
    pub(super) async fn queue_for(&mut self, call: Call) -> Option<(EntryId, Delivery)> {
        let (ask, caller) = call.into_parts();
        match ask {
            Ask::Do(Command::Prompt { prompt, delivery }) => {
                let id = self.queue_and_answer(prompt, delivery, caller).await?;
                Some((id, delivery))
            }
            Ask::Do(_) | Ask::State | Ask::Snapshot | Ask::Pins => None,
        }
    }

    /// Keeps a message and answers before it is sent: what happens then is reported as events.
    async fn queue_and_answer(
        &mut self,
        prompt: Prompt,
        delivery: Delivery,
        caller: Caller,
    ) -> Option<EntryId> {
        let kept = self.keep(prompt, delivery).await;
        let id = kept.as_ref().ok().cloned();
        let message_id = |id: EntryId| Kept {
            message_id: id.to_string(),
        };
        self.answer(caller, kept.map(message_id).map(Reply::Kept));
        id
    }

    async fn request_compaction(
        &mut self,
        requested: Requested,
        caller: Caller,
    ) -> Option<(Caller, Answer)> {
        let event = Event::Compact(Box::new(requested));
        let busy = "a compaction is running already";
        self.request(event, caller, |calls| &mut calls.compaction, busy)
            .await
    }

    async fn request_navigation(
        &mut self,
        navigation: Navigation,
        caller: Caller,
    ) -> Option<(Caller, Answer)> {
        let event = Event::Navigate(navigation);
        let busy = "the session is moving; try again when it has";
        self.request(event, caller, |calls| &mut calls.navigation, busy)
            .await
    }

    /// Requests work at whose end its caller is answered; returns the answer where the machine refuses it. Where another
    /// caller waits for such work, it does.
    async fn request(
        &mut self,
        event: Event,
        caller: Caller,
        waiting: fn(&mut Calls) -> &mut Caller,
        busy: &'static str,
    ) -> Option<(Caller, Answer)> {
        if caller.is_none() {
            self.feed(event).await;
            return None;
        }
        let mut second = None;
        match waiting(&mut self.calls) {
            Some(_) => second = caller,
            first => *first = caller,
        }
        self.calls.refusals = Some(Vec::new());
        self.feed(event).await;
        let refusals = self.calls.refusals.take().unwrap_or_default();
        let refused = refusals.into_iter().next();
        match second {
            Some(caller) => {
                let why = refused.unwrap_or_else(|| busy.to_owned());
                Some((Some(caller), Err(Refusal::refused(why))))
            }
            None => {
                let answer = Err(Refusal::refused(refused?));
                let caller = waiting(&mut self.calls).take()?;
                Some((Some(caller), answer))
            }
        }
    }

    /// Answers whoever waits. Nobody has to listen any more.
    fn answer(&mut self, caller: Caller, answer: Answer) {
        match (caller, answer) {
            (Some(caller), answer) => drop(caller.send(answer)),
            (None, Ok(_)) => {}
            (None, Err(refusal)) => self.fail(refusal.message),
        }
    }

    /// Returns whether a compaction or a move runs, or is about to.
    fn is_compacting(&self) -> bool {
        let Machine {
            state,
            interruption,
            memory,
        } = &self.machine;
        let wanted = matches!(interruption, Some(Interruption::Compact(_)));
        let runs = matches!(state, State::Compacting(_) | State::Navigating(_));
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
        will_retry: bool,
        error: Option<(RefusalKind, &str)>,
    ) {
        let answer = match (result, error) {
            (Some(result), None) => Ok(Reply::Compacted(Box::new(Compacted {
                result,
                will_retry,
                session_id: self.store.id().to_owned(),
                path: self.path_name(),
            }))),
            (_, Some((kind, message))) => Err(Refusal {
                kind,
                message: message.to_owned(),
            }),
            (None, None) => Err(Refusal::failed("nothing was written")),
        };
        self.answer_compaction(answer);
    }

    fn answer_compaction(&mut self, answer: Answer) {
        if let Some(caller) = self.calls.compaction.take() {
            self.answer(Some(caller), answer);
        }
    }

    /// Answers whoever waits for the move that is over.
    pub(super) fn answer_navigation(&mut self, ended: &JobEnd) {
        let moved = self.calls.moved.take();
        let Some(caller) = self.calls.navigation.take() else {
            return;
        };
        let answer = match (ended, moved) {
            (JobEnd::Moved | JobEnd::Compacted { .. } | JobEnd::HandedOff, moved) => {
                Ok(moved.map_or(Reply::Done {}, Reply::Moved))
            }
            (JobEnd::Nothing(why), _) => Err(Refusal {
                kind: RefusalKind::NothingToDo,
                message: why.clone(),
            }),
            (JobEnd::Failed(why), _) => Err(Refusal::failed(why.clone())),
            (JobEnd::Stale, _) => Err(Refusal::failed("the session changed meanwhile")),
            (JobEnd::Cancelled, _) => Err(Refusal {
                kind: RefusalKind::Cancelled,
                message: "the move was cancelled".to_owned(),
            }),
        };
        self.answer(Some(caller), answer);
    }

    /// Answers whoever waits for what ran to stop, once nothing is left to be stopped.
    pub(super) fn answer_aborts(&mut self) {
        if self.machine.interruption != Some(Interruption::Stop) {
            for (caller, ran) in std::mem::take(&mut self.calls.aborts) {
                self.answer(caller, Ok(Reply::Ran(ran)));
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
            self.answer(caller, Ok(Reply::Closed(closed.clone())));
        }
    }

    /// Returns where the session is or will be, as text.
    pub(super) fn path_name(&self) -> Option<String> {
        self.store.locator().map(ToString::to_string)
    }
}
