//! What hooks add to messages of the user: each message is shown to them once, before it is sent.
//!
//! Whoever is to be sent is known at two places: a check counts its tokens, and a write sends it. Hooks are asked
//! at the first of the two that comes; where nobody wants to be asked, both stay what they are, done immediately.

use compaction_core::{Profile, TokenCount, image_tokens};
use hooks::{BeforePromptEvent, HookContext, HookPoint};
use session_model::{
    Block, Content, CustomMessageDraft, EntryBody, EntryDraft, EntryId, EntryKind,
};

use crate::machine::{CheckPoint, CheckResult, Event, Job, State, Write};
use crate::prompts;
use crate::runtime::AgentSession;
use crate::runtime::hooked::unless_cancelled;
use crate::runtime::jobs::Done;
use session_protocol::event::SessionEvent;
use session_protocol::{Refusal, TakenBack};
use session_store::StoreError;
use session_store::{NewEntry, Queued};

/// The type of the entries that hold what hooks add.
pub(super) const HOOK_CONTEXT: &str = "hook-context";

/// What is done once hooks have seen what is to be sent.
pub(super) enum Continuation {
    /// The context is checked.
    Check(CheckPoint),
    /// It is written.
    Write(Write),
}

/// What hooks said of messages.
pub(super) struct HookReview {
    /// The messages that they have seen, each with the text that goes with it; none where they had nothing to say.
    seen: Vec<(EntryId, Option<String>)>,
    continuation: Continuation,
}

impl AgentSession {
    /// Returns the messages that are sent after a check: what steers, and at the beginning of a turn the first of
    /// the others.
    pub(super) fn due_at(&self, point: CheckPoint) -> Vec<EntryId> {
        let memory = &self.machine.memory;
        let first = memory.follow_ups.front();
        match point {
            CheckPoint::BeforePrompt => memory.steering.iter().chain(first).cloned().collect(),
            CheckPoint::BetweenTools => memory.steering.iter().cloned().collect(),
            CheckPoint::AfterTurn | CheckPoint::WhenIdle => Vec::new(),
        }
    }

    /// Returns those of the messages that hooks want to see and have not seen.
    pub(super) fn unreviewed(&self, ids: &[EntryId]) -> Vec<Queued> {
        if !self.hooks.wants(HookPoint::BeforePrompt) {
            return Vec::new();
        }
        let ids = ids.iter().filter(|id| !self.reviewed.contains_key(*id));
        let waiting = self.store.queued();
        let found = ids.filter_map(|id| waiting.iter().find(|message| message.id == *id));
        found.cloned().collect()
    }

    /// Shows messages to the hooks, one after the other; what follows is done when that is over.
    pub(super) fn review_by_hooks(
        &mut self,
        job: Job,
        messages: Vec<Queued>,
        continuation: Continuation,
    ) {
        let hooks = self.hooks.clone();
        let context = self.hook_context();
        let events = self.events.clone();
        self.work.start(job, |cancel| async move {
            let context = HookContext { cancel, ..context };
            let mut seen = Vec::new();
            for message in messages {
                let event = BeforePromptEvent {
                    text: &message.text,
                    entry_id: &message.id,
                };
                let asked = hooks.before_prompt(&event, &context);
                // One that was being asked about is shown again when it is sent after all.
                let Some(asked) = unless_cancelled(&context.cancel, asked).await else {
                    break;
                };
                events.hook_failures(&asked.failures);
                seen.push((message.id.clone(), joined(&asked.result.context)));
            }
            Done::HookReview(Box::new(HookReview { seen, continuation }))
        });
    }

    /// Keeps what hooks said, and does what follows.
    pub(super) async fn take_hook_review(&mut self, job: Job, review: HookReview) -> Event {
        for (id, text) in review.seen {
            // An id of its own lets a store recognize it when it is written again.
            let added = text.map(|text| (self.store.fresh_id(), text));
            self.reviewed.insert(id, added);
        }
        match review.continuation {
            // Whoever stopped it wants nothing done, and what follows is decided without a look.
            Continuation::Check(_) if self.work.is_cancelled(job) => Event::Checked {
                job,
                result: CheckResult {
                    tokens: self.machine.memory.tokens,
                    ..CheckResult::default()
                },
            },
            Continuation::Check(point) => Event::Checked {
                job,
                result: self.check(point).await,
            },
            // A message that hooks have not seen is shown to them when it is sent after all.
            Continuation::Write(Write::Messages(ids)) if !self.unreviewed(&ids).is_empty() => {
                Event::Withheld(job)
            }
            Continuation::Write(write) => self.stored(job, &write).await,
        }
    }

    /// Takes back a message that waits.
    pub(super) async fn take_back(&mut self, id: EntryId) -> Result<TakenBack, Refusal> {
        // What hooks look at before it is written is sent in a moment.
        let is_sent = matches!(&self.machine.state, State::Storing { write: Write::Messages(ids), .. } if ids.contains(&id));
        if is_sent {
            return Err(Refusal::refused(format!(
                "message {id} is being sent; abort to stop the turn"
            )));
        }
        let path = self.store_path();
        let dropped = self.store.drop_queued(&id);
        let dropped = self.work.written(path, dropped).await;
        let Some(message) = dropped.map_err(|error| Refusal::failed(error.to_string()))? else {
            return Err(Refusal::refused(format!(
                "no message {id} waits to be sent; it may be sent already"
            )));
        };
        self.reviewed.remove(&id);
        let message_id = id.to_string();
        self.feed(Event::Dequeued(id)).await;
        Ok(TakenBack {
            message_id,
            text: message.text,
        })
    }

    /// Returns the tokens of the messages that are sent after a check, with what hooks add to them.
    pub(super) fn waiting_tokens(&self, point: CheckPoint) -> TokenCount {
        let counter = Profile::Own.counter();
        let due = self.due_at(point);
        let waiting = self.store.queued().iter();
        let waiting = waiting.filter(|message| due.contains(&message.id));
        let tokens = waiting.map(|message| {
            let added = self.reviewed.get(&message.id).and_then(Option::as_ref);
            images_of(message)
                + counter.text(&message.text)
                + added.map_or(TokenCount::ZERO, |(_, text)| counter.text(text))
        });
        tokens.sum()
    }

    pub(super) async fn write_messages(&mut self, ids: &[EntryId]) -> Result<(), StoreError> {
        self.write_preamble().await?;
        let queued: Vec<_> = self.store.queued().to_vec();
        let mut entries = Vec::with_capacity(ids.len());
        for id in ids {
            // What is added comes first: a write that was cut off between the two leaves a message that waits.
            let added = self.reviewed.get(id).and_then(Option::as_ref);
            entries.extend(added.map(|(id, text)| context_entry(id, text)));
            entries.push(self.store.queued_entry(id)?);
        }
        let path = self.store_path();
        self.work.written(path, self.store.append(entries)).await?;
        for id in ids {
            let Some(message) = queued.iter().find(|message| message.id == *id) else {
                continue;
            };
            self.reviewed.remove(id);
            self.events.send(SessionEvent::Message {
                entry_id: id.to_string(),
                text: message.text.clone(),
            });
        }
        Ok(())
    }

    /// Returns the place before what hooks added to the message that follows `leaf`: whoever goes back to before a
    /// message goes back to before that too.
    pub(super) fn before_hook_context(&self, leaf: Option<&EntryId>) -> Option<EntryId> {
        let tree = self.store.tree();
        let mut index = tree.find(leaf?);
        while let Some(added) = index.filter(|index| is_hook_context(tree, *index)) {
            index = tree.parent(added);
        }
        index.map(|index| EntryId::new(tree.id(index)))
    }
}

/// Returns the tokens of the images of a message.
fn images_of(message: &Queued) -> TokenCount {
    let content = message.content();
    let images = content.blocks().iter().map(|block| match block {
        Block::Image(image) => image_tokens(image),
        _ => TokenCount::ZERO,
    });
    images.sum()
}

/// Returns whether an entry holds what hooks added to a message.
fn is_hook_context(tree: &session_model::SessionTree, index: session_model::EntryIndex) -> bool {
    tree.kind(index) == EntryKind::CustomMessage
        && tree.entry(index).is_ok_and(|entry| match entry.body {
            EntryBody::CustomMessage(message) => message.custom_type == HOOK_CONTEXT,
            _ => false,
        })
}

/// Returns the texts of all hooks as the model reads them; none where there are none.
fn joined(texts: &[String]) -> Option<String> {
    let texts: Vec<&str> = texts
        .iter()
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
        .collect();
    (!texts.is_empty()).then(|| prompts::hook_context(&texts.join("\n\n")))
}

fn context_entry(id: &EntryId, text: &str) -> NewEntry {
    let draft = CustomMessageDraft {
        custom_type: HOOK_CONTEXT.to_owned(),
        content: Content::Text(text.to_owned()),
        display: false,
        details: None,
    };
    NewEntry {
        id: Some(id.clone()),
        draft: EntryDraft::CustomMessage(draft),
    }
}
