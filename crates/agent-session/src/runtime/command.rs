//! Resuming, and keeping a message until it is sent.

use session_model::EntryId;
use session_protocol::{Ran, Refusal, SessionEvent};
use session_store::{Delivery, Prompt};

use crate::machine::{Event, ResumePoint, State};
use crate::runtime::AgentSession;

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
