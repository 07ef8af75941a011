//! Telling hooks what has happened: in order, concurrently with everything else, and never in its way.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hooks::{HookContext, HookSet, Notification};
use llm_providers::CancellationToken;
use serde_json::Value;
use session_model::EntryBody;

use crate::machine::Trigger;
use crate::runtime::AgentSession;
use crate::runtime::events::Events;
use session_protocol::channel::{EVENT_BYTES, Queueable, Receiver, Sender, json_bytes, queue};
use session_protocol::event::CompactionResult;

/// How long hooks that are still being told may go on once the session has ended.
const AT_THE_END: Duration = Duration::from_secs(5);

/// What hooks are to be told, and where the session was then.
struct Untold(Notification, HookContext);

impl Queueable for Untold {
    fn bytes(&self) -> usize {
        let texts = match &self.0 {
            Notification::ToolResult {
                arguments, output, ..
            } => json_bytes(arguments) + output.len(),
            Notification::SessionCompact { entry, summary, .. } => {
                json_bytes(entry) + summary.len()
            }
            Notification::SessionTree { summary_entry, .. } => json_bytes(summary_entry),
            Notification::SessionStart { .. }
            | Notification::SessionShutdown { .. }
            | Notification::TurnEnd { .. }
            | Notification::SessionCompactFailed { .. } => 0,
        };
        size_of::<Self>() + texts
    }
}

/// Takes what hooks are to be told; cheap to clone.
#[derive(Clone)]
pub(super) struct Notifier {
    hooks: Arc<HookSet>,
    sender: Sender<Untold>,
}

/// What hooks are still to be told.
pub(super) struct Notifications {
    receiver: Receiver<Untold>,
    hooks: Arc<HookSet>,
    events: Events,
    /// Nothing more will be told than what is told already.
    closing: CancellationToken,
    /// Nobody waits any more.
    cancel: CancellationToken,
}

/// Returns both ends.
pub(super) fn notifier(hooks: Arc<HookSet>, events: Events) -> (Notifier, Notifications) {
    let (sender, receiver) = queue(EVENT_BYTES);
    let notifier = Notifier {
        hooks: hooks.clone(),
        sender,
    };
    let notifications = Notifications {
        receiver,
        hooks,
        events,
        closing: CancellationToken::new(),
        cancel: CancellationToken::new(),
    };
    (notifier, notifications)
}

impl Notifier {
    /// Lets hooks be told, where any of them wants to be. Nobody waits for that.
    pub fn tell(&self, notification: Notification, context: HookContext) {
        if self.hooks.wants(notification.point()) {
            self.sender.send(Untold(notification, context));
        }
    }

    /// Returns whether what hooks are still to be told takes more than the bound.
    pub fn is_full(&self) -> bool {
        self.sender.is_full(1)
    }

    /// Waits until the bound is crossed in either direction.
    pub async fn crossed(&self) {
        self.sender.crossed().await;
    }
}

impl Notifications {
    /// Returns what ends the telling.
    pub fn end(&self) -> NotificationsEnd {
        NotificationsEnd {
            closing: self.closing.clone(),
            cancel: self.cancel.clone(),
        }
    }

    /// Tells hooks one thing after the other, until it is to end and nothing is left.
    pub async fn run(mut self) {
        loop {
            let next = tokio::select! {
                biased;
                next = self.receiver.recv() => next,
                () = self.closing.cancelled() => self.receiver.try_recv(),
            };
            let Some(Untold(notification, context)) = next else {
                return;
            };
            let context = HookContext {
                cancel: self.cancel.clone(),
                ..context
            };
            let failures = self.hooks.notify(&notification, &context).await;
            self.events.hook_failures(&failures);
            if self.cancel.is_cancelled() {
                return self.cut().await;
            }
        }
    }

    /// Says what hooks are not told any more; of the end they are, within bounds.
    async fn cut(&mut self) {
        let mut left = 0_usize;
        let mut end = None;
        while let Some(Untold(notification, context)) = self.receiver.try_recv() {
            match notification {
                Notification::SessionShutdown { .. } => end = Some((notification, context)),
                _ => left += 1,
            }
        }
        if left > 0 {
            self.events.notice(format!(
                "hooks were still at work {} seconds after the end; they are not told of {left} things more",
                AT_THE_END.as_secs()
            ));
        }
        let Some((notification, context)) = end else {
            return;
        };
        let cancel = CancellationToken::new();
        let context = HookContext {
            cancel: cancel.clone(),
            ..context
        };
        let notified = self.hooks.notify(&notification, &context);
        let ending = async {
            tokio::time::sleep(AT_THE_END).await;
            cancel.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            failures = notified => self.events.hook_failures(&failures),
            () = ending => {}
        }
    }
}

/// What ends the telling of hooks.
pub(super) struct NotificationsEnd {
    closing: CancellationToken,
    cancel: CancellationToken,
}

impl NotificationsEnd {
    /// Waits until everything is told, within bounds.
    pub async fn wait(self, mut telling: Pin<&mut impl Future<Output = ()>>) {
        self.closing.cancel();
        if tokio::time::timeout(AT_THE_END, &mut telling)
            .await
            .is_err()
        {
            self.cancel.cancel();
            // Who is being told ends soon; nobody else is told but of the end.
            telling.await;
        }
    }
}

impl AgentSession {
    /// Lets hooks be told what has happened.
    pub(super) fn notify(&self, notification: Notification) {
        self.notifier.tell(notification, self.hook_context());
    }

    /// Lets hooks be told that the session is open.
    pub(super) fn notify_start(&self) {
        self.notify(Notification::SessionStart {
            entries: self.store.tree().len(),
            model: self.models.model.name(),
        });
    }

    /// Lets hooks be told of a compaction that is written; what prunings, elisions and handoffs write is none.
    pub(super) fn notify_compacted(&self, trigger: &Trigger, result: &CompactionResult) {
        let tree = self.store.tree();
        let id = result.entry_id.as_deref();
        let Some(index) = id.and_then(|id| tree.find(id)) else {
            return;
        };
        let Ok(EntryBody::Compaction(compaction)) = tree.entry(index).map(|entry| entry.body)
        else {
            return;
        };
        if let Some(entry) = self.entry_json(tree.id(index)) {
            self.notify(Notification::SessionCompact {
                entry,
                from_extension: compaction.from_extension,
                reason: trigger.name(),
                summary: compaction.summary.clone(),
                trigger: match trigger.is_automatic() {
                    true => "auto",
                    false => "manual",
                },
            });
        }
    }

    /// Returns an entry as it stands in the file.
    pub(super) fn entry_json(&self, id: &str) -> Option<Value> {
        let tree = self.store.tree();
        let line = tree.raw_line(tree.find(id)?).ok()?;
        serde_json::from_slice(&line).ok()
    }

    /// Returns the session as hooks are told of it.
    pub(super) fn hook_context(&self) -> HookContext {
        HookContext {
            session_id: self.store.id().to_owned(),
            session_path: self.store.locator().cloned().map(Into::into),
            cwd: self.tool_context.workspace.root().to_owned(),
            cancel: CancellationToken::new(),
        }
    }
}
