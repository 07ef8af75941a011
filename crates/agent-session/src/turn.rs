//! A session turn by turn, for programs that need no events.

use std::pin::Pin;

use agent_tools::approval::Decision;
use session_store::{Delivery, Prompt};

use crate::builder::{BuiltSession, SessionBuilder};
use session_protocol::TurnEnd;
use session_protocol::channel::EventReceiver;
use session_protocol::event::SessionEvent;
use session_protocol::{Ask, Command, Finished, Refusal, SessionHandle};

/// A session that works while a [`turn`](Self::turn) is awaited.
pub struct Session {
    run: Pin<Box<dyn Future<Output = Finished> + Send>>,
    handle: SessionHandle,
    events: EventReceiver,
}

/// What a turn came to.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub struct TurnOutcome {
    /// How it ended.
    pub end: TurnEnd,
    /// The text of its last answer.
    pub answer: String,
    /// The tool calls that needed approval and were denied, as `tool: subject`. Set
    /// [`approvals`](SessionBuilder::approvals) to allow them.
    pub denied: Vec<String>,
    /// What its answers cost in USD, where prices are known.
    pub cost_usd: Option<f64>,
}

impl SessionBuilder {
    /// Returns the session, to be driven turn by turn.
    pub fn start(self) -> Session {
        let (session, handle, events) = self.build();
        Session {
            run: Box::pin(BuiltSession::run(session)),
            handle,
            events,
        }
    }
}

impl Session {
    /// Sends a prompt and waits until its turn is over. Where the returned future is dropped, the next turn finds it
    /// running.
    ///
    /// # Errors
    /// The [`Refusal`] when the prompt was not kept.
    pub async fn turn(&mut self, prompt: impl Into<Prompt>) -> Result<TurnOutcome, Refusal> {
        let mut outcome = TurnOutcome {
            end: TurnEnd::Aborted,
            answer: String::new(),
            denied: Vec::new(),
            cost_usd: None,
        };
        let command = Command::Prompt {
            prompt: prompt.into(),
            delivery: Delivery::Prompt,
        };
        let handle = self.handle.clone();
        let kept = async { handle.ask(Ask::Do(command)).await.map(drop) };
        let mut kept = std::pin::pin!(kept);
        let mut is_kept = false;
        loop {
            tokio::select! {
                biased;
                answer = &mut kept, if !is_kept => {
                    answer?;
                    is_kept = true;
                }
                event = self.events.recv() => match event {
                    Some(event) => if outcome.ends_with(event, &handle) && is_kept {
                        return Ok(outcome);
                    },
                    None => return Ok(outcome),
                },
                // Its events are read before it is polled again.
                _ = &mut self.run => {}
            }
        }
    }

    /// Ends the session.
    pub async fn close(mut self) -> Finished {
        self.handle.close();
        loop {
            tokio::select! {
                finished = &mut self.run => return finished,
                Some(_) = self.events.recv() => {}
            }
        }
    }
}

impl TurnOutcome {
    /// Takes in an event; returns whether nothing runs any more.
    fn ends_with(&mut self, event: SessionEvent, handle: &SessionHandle) -> bool {
        match event {
            SessionEvent::Answer { text, cost_usd, .. } => {
                self.answer = text;
                self.cost_usd = match (self.cost_usd, cost_usd) {
                    (Some(before), Some(cost)) => Some(before + cost),
                    (before, cost) => before.or(cost),
                };
            }
            SessionEvent::ApprovalRequest {
                call_id,
                tool,
                subject,
            } => {
                self.denied.push(format!("{tool}: {subject}"));
                let decision = Decision::Deny;
                // Without room for the command, the call waits for the next turn.
                let _ = handle.try_send(Command::Approve { call_id, decision });
            }
            SessionEvent::TurnEnd { end, error } => {
                self.end = TurnEnd::of(&end, error.unwrap_or_default());
            }
            SessionEvent::Error { message } => self.end = TurnEnd::Failed(message),
            SessionEvent::Idle { .. } => return true,
            _ => {}
        }
        false
    }
}
