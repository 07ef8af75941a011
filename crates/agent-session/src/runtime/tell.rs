//! What the machine tells, as events.

use hooks::Notification;

use crate::event::SessionEvent;
use crate::machine::{Notice, TurnEnd};
use crate::runtime::AgentSession;

impl AgentSession {
    pub(super) fn tell(&mut self, notice: Notice) {
        match notice {
            Notice::TurnStarted => self.events.send(SessionEvent::TurnStart),
            Notice::TurnEnded(end) => {
                let (name, error) = match &end {
                    TurnEnd::Done => ("done", None),
                    TurnEnd::Failed(error) => ("failed", Some(error.clone())),
                    TurnEnd::Aborted => ("aborted", None),
                    TurnEnd::LimitReached(limit) => ("limit", Some(limit.to_string())),
                };
                self.notify(Notification::TurnEnd {
                    end: name,
                    error: error.clone(),
                });
                self.events.send(SessionEvent::TurnEnd { end: name, error });
                self.turn = Some(end);
            }
            Notice::CompactionStarted { reason, choice, .. } => {
                self.result = None;
                self.waits.begin(reason);
                let first = self.strategies(reason, choice).first().copied();
                let strategy = first.unwrap_or_default().name();
                let reason_name = reason.name();
                self.events.send(match reason.is_automatic() {
                    true => SessionEvent::AutoCompactionStart {
                        reason: reason_name,
                        strategy,
                    },
                    false => SessionEvent::CompactionStart {
                        reason: reason_name,
                        strategy,
                    },
                });
            }
            Notice::CompactionEnded {
                reason,
                aborted,
                will_retry,
                error,
            } => {
                let mut result = self.result.take().filter(|_| error.is_none());
                self.waits.end(result.as_mut());
                self.instead = None;
                if !reason.is_automatic() {
                    let error = error.as_deref();
                    self.answer_requested_compaction(result.clone(), aborted, will_retry, error);
                }
                let reason_name = reason.name();
                match (&error, &result) {
                    (Some(error), _) => self.notify(Notification::SessionCompactFailed {
                        reason: reason_name,
                        error: Some(error.clone()),
                        aborted,
                        will_retry,
                    }),
                    (None, Some(result)) => self.notify_compacted(reason, result),
                    (None, None) => {}
                }
                self.events.send(match reason.is_automatic() {
                    true => SessionEvent::AutoCompactionEnd {
                        reason: reason_name,
                        result,
                        aborted,
                        will_retry,
                        error,
                    },
                    false => SessionEvent::CompactionEnd {
                        reason: reason_name,
                        result,
                        aborted,
                        will_retry,
                        error,
                    },
                });
            }
            Notice::AutomaticStopped(text) => self.events.notice(text),
            Notice::Refused(why) => self.refused(why),
            Notice::Failed(message) => self.events.error(message),
            Notice::Resting { waiting } => self.events.send(SessionEvent::Idle { waiting }),
            Notice::Closed => self.closed = true,
        }
    }
}
