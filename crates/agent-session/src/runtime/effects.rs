//! What the machine says is done here: immediately, or as a job.

use std::path::Path;

use compaction_core::Strategy;
use hooks::Notification;
use session_model::Leaf;

use crate::machine::{
    Effect, Event, Job, JobEnd, Notice, Requested, StrategyChoice, Trigger, Write,
};
use crate::runtime::AgentSession;
use crate::runtime::choices::Chosen;
use crate::runtime::compaction::CompactionJob;
use crate::runtime::jobs::Done;
use crate::runtime::prompting::Continuation;
use session_protocol::RefusalKind;
use session_protocol::event::SessionEvent;
use session_tools::restoring::Disk;

impl AgentSession {
    pub(super) async fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Check { job, point } => {
                let unseen = self.unreviewed(&self.due_at(point));
                if unseen.is_empty() {
                    let result = self.check(point).await;
                    self.due.push_back(Event::Checked { job, result });
                } else {
                    self.review_by_hooks(job, unseen, Continuation::Check(point));
                }
            }
            Effect::Promote(job) => {
                let error = self.promote().await;
                self.due.push_back(Event::Promoted { job, error });
            }
            Effect::Store { job, write } => {
                let unseen = match &write {
                    Write::Messages(ids) => self.unreviewed(ids),
                    Write::Answer(_) | Write::Results | Write::Continue | Write::Omission => {
                        Vec::new()
                    }
                };
                if unseen.is_empty() {
                    let event = self.stored(job, &write).await;
                    self.due.push_back(event);
                } else {
                    // They came after the check.
                    self.review_by_hooks(job, unseen, Continuation::Write(write));
                }
            }
            Effect::Ask(job) => self.ask(job).await,
            Effect::RunTools(job) => self.run_tools(job),
            Effect::Compact {
                job,
                trigger,
                choice,
                requested,
                omits_failed,
            } => {
                if trigger == Trigger::Image {
                    self.images_tried();
                }
                // All entries must be in the session that is compacted.
                let compaction = match self.append(Vec::new()).await {
                    Ok(_) => {
                        let compaction = self.compaction(trigger, choice, omits_failed);
                        self.as_requested(compaction, requested)
                    }
                    Err(error) => Err(error.to_string()),
                };
                match compaction {
                    Ok(compaction) => self.work.start(job, |cancel| async move {
                        let compaction = CompactionJob {
                            cancel,
                            ..compaction
                        };
                        Done::Compaction(compaction.run().await)
                    }),
                    Err(error) => {
                        let ended = JobEnd::Failed(error);
                        self.due.push_back(Event::CompactionEnded { job, ended });
                    }
                }
            }
            Effect::StartBackground(job) => self.start_background(job),
            Effect::Splice {
                job,
                background,
                omits_failed,
                ..
            } => {
                let ended = self.splice(background, omits_failed).await;
                self.due.push_back(Event::CompactionEnded { job, ended });
            }
            Effect::Navigate { job, navigation } => self.navigate(job, navigation).await,
            Effect::Cancel(job) => self.work.cancel(job),
            Effect::Discard(background) => {
                self.work.cancel(background);
                self.compaction_run.prepared = None;
            }
            Effect::IdleTimer(job) => self.work.restart_idle_timer(job, self.idle_time()),
            Effect::GraceTimer(job) => {
                let grace = self.compaction.background.grace_seconds;
                self.work
                    .start_timer(job, std::time::Duration::from_secs(grace));
            }
            Effect::Notify(notice) => self.report_notice(notice),
        }
    }

    fn report_notice(&mut self, notice: Notice) {
        match notice {
            Notice::TurnStarted => self.events.send(SessionEvent::TurnStart),
            Notice::TurnEnded(end) => {
                let (name, error) = (end.name(), end.error().map(str::to_owned));
                self.notify(Notification::TurnEnd {
                    end: name,
                    error: error.clone(),
                });
                self.events.send(SessionEvent::TurnEnd {
                    end: name.into(),
                    error,
                });
                self.turn.end = Some(end);
            }
            Notice::CompactionStarted {
                trigger, choice, ..
            } => {
                self.compaction_run.begin(&trigger);
                let first = self.strategies(&trigger, choice).first().copied();
                let strategy = first.unwrap_or_default().name().into();
                self.events.send(match trigger.is_automatic() {
                    true => SessionEvent::AutoCompactionStart {
                        reason: trigger.name().into(),
                        strategy,
                    },
                    false => SessionEvent::CompactionStart {
                        reason: trigger.name().into(),
                        strategy,
                    },
                });
            }
            Notice::CompactionEnded {
                trigger,
                aborted,
                will_retry,
                error,
            } => {
                let (result, found_nothing) = self.compaction_run.end(error.is_some());
                if !trigger.is_automatic() {
                    let kind = match (aborted, found_nothing) {
                        (true, _) => RefusalKind::Cancelled,
                        (false, true) => RefusalKind::NothingToDo,
                        (false, false) => RefusalKind::Failed,
                    };
                    let error = error.as_deref().map(|error| (kind, error));
                    self.answer_requested_compaction(result.clone(), will_retry, error);
                }
                match (&error, &result) {
                    (Some(error), _) => self.notify(Notification::SessionCompactFailed {
                        reason: trigger.name(),
                        error: Some(error.clone()),
                        aborted,
                        will_retry,
                    }),
                    (None, Some(result)) => self.notify_compacted(&trigger, result),
                    (None, None) => {}
                }
                self.events.send(match trigger.is_automatic() {
                    true => SessionEvent::AutoCompactionEnd {
                        reason: trigger.name().into(),
                        result,
                        aborted,
                        will_retry,
                        error,
                    },
                    false => SessionEvent::CompactionEnd {
                        reason: trigger.name().into(),
                        result,
                        aborted,
                        will_retry,
                        error,
                    },
                });
            }
            Notice::AutomaticStopped(text) => {
                let shares = self.shares();
                self.events.notice(format!("{text}; {shares}"));
            }
            Notice::Refused(why) => self.refused(why),
            Notice::Failed(message) => self.events.error(message),
            Notice::Resting { waiting } => self.events.send(SessionEvent::Idle { waiting }),
            // The loop ends with this state of the machine.
            Notice::Closed => {}
        }
    }

    /// Writes, and returns what came of it.
    pub(super) async fn stored(&mut self, job: Job, write: &Write) -> Event {
        let event = match self.write(write).await {
            Ok(()) => {
                self.turn.store_error = None;
                Event::Stored(job)
            }
            Err(error) => {
                let error = error.to_string();
                self.turn.store_error = Some(error.clone());
                Event::StoreFailed { job, error }
            }
        };
        if matches!(write, Write::Answer(_)) {
            self.report_context();
        }
        event
    }

    /// Returns the strategies of a compaction, in the order in which they are tried.
    pub(super) fn strategies(&self, trigger: &Trigger, choice: StrategyChoice) -> Vec<Strategy> {
        let configured = self.settings.compaction.strategy.iter();
        match choice {
            StrategyChoice::Handoff => vec![Strategy::Handoff],
            StrategyChoice::By(strategy) => vec![strategy],
            StrategyChoice::Configured if *trigger == Trigger::Overflow => stays(configured),
            StrategyChoice::Configured if trigger.is_automatic() => with_rest(configured),
            // Whoever asked is told what went wrong.
            StrategyChoice::Configured => configured.collect(),
            StrategyChoice::InThisSession => stays(configured),
        }
    }

    /// Returns where the files are that the session has touched.
    pub(super) fn disk(&self) -> Disk {
        let context = &self.tool_context;
        let cwd = Path::new(self.store.cwd());
        let (redactor, approvals) = (context.redactor.clone(), context.approvals.clone());
        Disk::new(context.workspace.clone(), cwd, redactor, approvals)
    }

    /// Returns a compaction as it was asked for.
    fn as_requested(
        &self,
        mut compaction: CompactionJob,
        requested: Option<Box<Requested>>,
    ) -> Result<CompactionJob, String> {
        match requested.map(|requested| *requested) {
            Some(Requested::Compaction(request)) => {
                let review = &self.compaction_run.review;
                compaction.review = request.review.then(|| review.clone());
                let chosen = compaction.choose(&request.choices);
                chosen.map_err(|refusal| refusal.message)?;
            }
            Some(Requested::Replacement { replaces, .. }) => {
                compaction.leaf = replaces.base;
                compaction.replaces = Some(replaces);
            }
            Some(Requested::Handoff { .. }) | None => {}
        }
        Ok(compaction)
    }

    /// Returns a compaction of the session as it is; its token is set when it starts.
    pub(super) fn compaction(
        &self,
        trigger: Trigger,
        choice: StrategyChoice,
        omits_failed: bool,
    ) -> CompactionJob {
        let tree = self.store.tree();
        let leaf = match (self.turn.failed_answer.as_ref(), omits_failed) {
            // What failed leaves the context with the compaction, so it is not part of what is planned.
            (Some(failed), true) => match tree.find(failed).map(|index| tree.parent(index)) {
                Some(Some(parent)) => Leaf::At(parent),
                Some(None) => Leaf::Root,
                None => self.store.leaf(),
            },
            _ => self.store.leaf(),
        };
        CompactionJob {
            tree: tree.clone(),
            leaf,
            settings: self.settings.clone(),
            strategies: self.strategies(&trigger, choice),
            models: self.models.clone(),
            hooks: self.hooks.clone(),
            hook_context: self.hook_context(),
            trigger: match trigger {
                Trigger::Manual { focus } => Trigger::Manual {
                    focus: focus.map(|focus| self.events.without_keys(&focus)),
                },
                automatic => automatic,
            },
            will_retry: omits_failed,
            replaces: None,
            disk: self.disk(),
            cancel: llm_providers::CancellationToken::new(),
            events: self.events.clone(),
            chosen: Chosen::default(),
            review: None,
        }
    }
}

/// A handoff without a document falls back to a summary.
fn with_rest(strategies: impl Iterator<Item = Strategy>) -> Vec<Strategy> {
    let mut strategies: Vec<_> = strategies.collect();
    if strategies == [Strategy::Handoff] {
        strategies.push(Strategy::ContextFull);
    }
    strategies
}

/// Returns the strategies that stay in this session; a summary where there is none.
fn stays(strategies: impl Iterator<Item = Strategy>) -> Vec<Strategy> {
    let mut stays: Vec<_> = strategies
        .filter(|strategy| *strategy != Strategy::Handoff)
        .collect();
    if stays.is_empty() {
        stays.push(Strategy::ContextFull);
    }
    stays
}
