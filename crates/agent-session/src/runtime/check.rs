//! A check: old output is pruned, then the context is measured; and the larger model that may take over.

use compaction_core::{
    ContextShares, Measure, PlanOptions, Profile, PromptCache, Strategy, Threshold, TokenCount,
    plan_prune_for_context, threshold,
};
use session_model::{AgentMessage, EntryBody, EntryDraft, EntryKind, Timestamp};

use crate::machine::{CheckPoint, CheckResult};
use crate::runtime::AgentSession;
use session_protocol::event::SessionEvent;

/// Returns an amount in millionths of a US dollar.
pub(super) fn micro_usd(usd: f64) -> u64 {
    // A cast saturates, and takes what is no number as 0.
    (usd * 1e6).round() as u64
}

impl AgentSession {
    pub(super) async fn check(&mut self, point: CheckPoint) -> CheckResult {
        // Where this fails, so does what the check is for, and that is told.
        let _ = self.append(Vec::new()).await;
        self.prune(point).await;
        let view = self.view();
        let measured = view.measured(&self.path());
        self.report_implausible(&measured);
        let mut tokens = measured.tokens + self.waiting_tokens(point);
        if view.context.system.is_none() {
            // Not in the session yet, but in the request.
            tokens += self.preamble_tokens();
        }
        let threshold = self.threshold();
        let due = threshold
            .as_ref()
            .is_some_and(|threshold| threshold.is_exceeded_by(tokens));
        let settings = &self.compaction;
        let background = &settings.background;
        // What comes back would be old by then.
        let speculate = background.enabled
            && self.settings.compaction.strategy.first() != Strategy::Restore
            && threshold.as_ref().is_some_and(|threshold| {
                let percent = u64::from(background.at_percent);
                tokens > threshold.tokens.scaled(percent, 100)
            });
        CheckResult {
            tokens: tokens.0,
            due,
            images_due: self.images_due(),
            idle_due: settings.idle_enabled && tokens >= settings.idle_threshold_tokens,
            can_promote: self.models.can_promote(),
            speculate,
            spent_micro_usd: micro_usd(self.events.spent().cost_usd.unwrap_or_default()),
        }
    }

    pub(super) fn threshold(&self) -> Option<Threshold> {
        let window = self.models.model.window;
        threshold(window, &self.settings.compaction, &Profile::Own.rules())
    }

    /// Takes old tool output out of the context where that is worth its while: a step of its own, written immediately.
    async fn prune(&mut self, point: CheckPoint) {
        let settings = &self.settings.compaction;
        let is_off = !self.machine.memory.policy.automatic;
        let stopped = self.machine.memory.is_stopped();
        if is_off || !settings.prune.enabled || stopped || point == CheckPoint::WhenIdle {
            return;
        }
        let options = PlanOptions::new(self.settings.clone(), self.models.model.window);
        let context = &self.view().context;
        let cache = self.prompt_cache();
        let Ok(plan) = plan_prune_for_context(&self.path(), context, &options, cache) else {
            return;
        };
        let entries = plan.apply().into_iter().map(Into::into).collect();
        match self.append(entries).await {
            Ok(_) => self.events.send(SessionEvent::Pruned {
                results: plan.pruned.len(),
                saved_tokens: plan.saved.0,
            }),
            Err(error) => self
                .events
                .error(format!("pruning is not written: {error}")),
        }
    }

    /// Returns whether the provider still has the context in its cache: by the age of the newest answer.
    fn prompt_cache(&self) -> PromptCache {
        let tree = self.store.tree();
        let path = tree.path(self.store.leaf());
        let messages = path.entries().iter().rev();
        let mut messages = messages.filter(|index| tree.kind(**index) == EntryKind::Message);
        let answered = messages.find_map(|index| match tree.entry(*index).ok()?.body {
            EntryBody::Message(message) => match &*message {
                AgentMessage::Assistant(answer) => answer.timestamp,
                _ => None,
            },
            _ => None,
        });
        let now = Timestamp::from_millis(jiff::Timestamp::now().as_millisecond());
        match answered {
            Some(answered) => PromptCache::of_age(now.millis_since(answered)),
            None => PromptCache::Cold,
        }
    }

    fn preamble_tokens(&self) -> TokenCount {
        let counter = Profile::Own.counter();
        let tools = self.tools.specs();
        let tools = tools.iter().map(|tool| {
            counter.text(&tool.name)
                + counter.text(&tool.description)
                + counter.text(tool.parameters.get())
        });
        counter.text(&self.system_prompt) + tools.sum::<TokenCount>() + self.instructions.tokens()
    }

    /// Reports once that what the provider reported as billed is not used.
    fn report_implausible(&self, measured: &Measure) {
        if let Some(reported) = measured.implausible
            && self.views.first_implausible()
        {
            let estimated = measured.estimated;
            self.events.notice(format!(
                "the provider reported {reported} tokens for a context of about {estimated}: such figures are ignored"
            ));
        }
    }

    /// Returns what takes the room in the context.
    pub(super) fn shares(&self) -> ContextShares {
        ContextShares::of(&self.view().context, Profile::Own.counter())
    }

    /// Tells how full the window is.
    pub(super) fn report_context(&self) {
        let measured = self.view().measured(&self.path());
        self.events.send(SessionEvent::Context {
            tokens: measured.tokens.0,
            window: self.models.model.window.0,
            threshold: self.threshold().map(|threshold| threshold.tokens.0),
            estimated: measured.billed.is_none(),
        });
    }

    /// Lets the next larger model take over; returns why it cannot.
    pub(super) async fn promote(&mut self) -> Option<String> {
        let Some(before) = self.models.promote() else {
            return Some("no larger model is left to take over".to_owned());
        };
        let change = EntryDraft::ModelChange(self.models.model.reference());
        if let Err(error) = self.append(vec![change.into()]).await {
            self.models.go_back_to(&before.reference());
            return Some(error.to_string());
        }
        self.events.send(SessionEvent::Promoted {
            from: before.name(),
            to: self.models.model.name(),
            window: self.models.model.window.0,
        });
        None
    }

    /// Lets the model answer that the branch names, where it is one of ours.
    pub(super) fn follow_branch(&mut self) {
        let Some(named) = self.view().context.model.clone() else {
            return;
        };
        if self.models.go_back_to(&named) {
            let name = self.models.model.name();
            self.events.notice(format!("{name} answers on this branch"));
        }
    }
}
