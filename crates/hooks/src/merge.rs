//! Running hooks in order and merging what they return.

#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::event::{
    BeforeCompactEvent, BeforeCompactResult, BeforePromptEvent, BeforePromptResult,
    BeforeTreeEvent, BeforeTreeResult, CompactingEvent, CompactingResult, Notification,
    ToolCallEvent, ToolCallResult,
};
use crate::hook::{Hook, HookContext, HookError, HookFuture};
use crate::point::HookPoint;

/// A hook that failed, where, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFailure {
    /// The hook's name.
    pub hook: String,
    /// The point at which it failed.
    pub point: HookPoint,
    /// The error.
    pub reason: String,
}

/// The merged result of all hooks, and the hooks that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged<T> {
    /// The merged result.
    pub result: T,
    /// The hook that cancelled, blocked or supplied, if any.
    pub decided_by: Option<String>,
    /// The hooks that failed; they change nothing but are shown.
    pub failures: Vec<HookFailure>,
}

/// The effect of an answer on the hooks after it.
enum Weight {
    /// It has no effect by itself.
    Light,
    /// It holds until a later answer replaces it.
    Stands,
    /// No further hook runs.
    Final,
}

/// Hooks in the order in which they were registered.
#[derive(Default)]
pub struct HookSet {
    hooks: Vec<Box<dyn Hook>>,
}

impl HookSet {
    /// Adds a hook after those that are there.
    pub fn register(&mut self, hook: impl Hook + 'static) {
        self.hooks.push(Box::new(hook));
    }

    /// Returns true if any hook runs at `point`.
    pub fn wants(&self, point: HookPoint) -> bool {
        self.hooks.iter().any(|hook| hook.wants(point))
    }

    /// Collects the additions of hooks to a message of the user: contexts one after the other.
    pub async fn before_prompt(
        &self,
        event: &BeforePromptEvent<'_>,
        context: &HookContext,
    ) -> Merged<BeforePromptResult> {
        self.merge(
            HookPoint::BeforePrompt,
            context,
            |hook| hook.before_prompt(event, context),
            |result: &mut BeforePromptResult, answer| {
                result.context.extend(answer.context);
                Weight::Light
            },
        )
        .await
    }

    /// Asks whether a tool call may run. The first that blocks it ends the asking.
    pub async fn tool_call(
        &self,
        event: &ToolCallEvent<'_>,
        context: &HookContext,
    ) -> Merged<ToolCallResult> {
        self.merge(
            HookPoint::ToolCall,
            context,
            |hook| hook.tool_call(event, context),
            |result: &mut ToolCallResult, answer| match answer {
                ToolCallResult::Proceed => Weight::Light,
                ToolCallResult::Block { .. } => {
                    *result = answer;
                    Weight::Final
                }
            },
        )
        .await
    }

    /// Asks whether a compaction may happen. The first that cancels ends the asking; of several replacements
    /// the last counts; a hook that merely proceeds discards nothing.
    pub async fn before_compact(
        &self,
        event: &BeforeCompactEvent<'_>,
        context: &HookContext,
    ) -> Merged<BeforeCompactResult> {
        self.merge(
            HookPoint::SessionBeforeCompact,
            context,
            |hook| hook.before_compact(event, context),
            |result: &mut BeforeCompactResult, answer| {
                let weight = match &answer {
                    BeforeCompactResult::Proceed => return Weight::Light,
                    BeforeCompactResult::Cancel { .. } => Weight::Final,
                    BeforeCompactResult::Replace(_) => Weight::Stands,
                };
                *result = answer;
                weight
            },
        )
        .await
    }

    /// Collects the additions of hooks to the requests of a compaction: contexts one after the other, data merged by
    /// key, the last of several prompts.
    pub async fn compacting(
        &self,
        event: &CompactingEvent<'_>,
        context: &HookContext,
    ) -> Merged<CompactingResult> {
        self.merge(
            HookPoint::SessionCompacting,
            context,
            |hook| hook.compacting(event, context),
            |result: &mut CompactingResult, answer| {
                result.context.extend(answer.context);
                result.preserve_data.extend(answer.preserve_data);
                if answer.prompt.is_some() {
                    result.prompt = answer.prompt;
                }
                Weight::Light
            },
        )
        .await
    }

    /// Asks whether a change of branch may happen. The first that cancels ends the asking; a summary
    /// counts only when the user wants one, and of several the last.
    pub async fn before_tree(
        &self,
        event: &BeforeTreeEvent<'_>,
        context: &HookContext,
    ) -> Merged<BeforeTreeResult> {
        self.merge(
            HookPoint::SessionBeforeTree,
            context,
            |hook| hook.before_tree(event, context),
            |result: &mut BeforeTreeResult, answer| {
                let weight = match &answer {
                    BeforeTreeResult::Proceed => return Weight::Light,
                    BeforeTreeResult::Summary(_) if !event.user_wants_summary => {
                        return Weight::Light;
                    }
                    BeforeTreeResult::Summary(_) => Weight::Stands,
                    BeforeTreeResult::Cancel { .. } => Weight::Final,
                };
                *result = answer;
                weight
            },
        )
        .await
    }

    /// Tells every hook what has happened, in order; returns those that failed.
    pub async fn notify(
        &self,
        notification: &Notification,
        context: &HookContext,
    ) -> Vec<HookFailure> {
        let told = self.merge(
            notification.point(),
            context,
            |hook| hook.notify(notification, context),
            |(): &mut (), ()| Weight::Light,
        );
        told.await.failures
    }

    /// Runs the hooks in order until one of them decides or no caller waits any more.
    async fn merge<'a, T: Default>(
        &'a self,
        point: HookPoint,
        context: &HookContext,
        ask: impl Fn(&'a dyn Hook) -> HookFuture<'a, T>,
        mut add: impl FnMut(&mut T, T) -> Weight,
    ) -> Merged<T> {
        let mut merged = Merged {
            result: T::default(),
            decided_by: None,
            failures: Vec::new(),
        };
        for hook in self.hooks.iter().filter(|hook| hook.wants(point)) {
            if context.cancel.is_cancelled() {
                break;
            }
            let failed = |reason| HookFailure {
                hook: hook.name().to_owned(),
                point,
                reason,
            };
            // A hook may panic when it is called as well as when it is awaited.
            let asked = AssertUnwindSafe(async { ask(&**hook).await }).catch_unwind();
            let answered = tokio::select! {
                biased;
                answered = asked => answered,
                // One that does not look at the token is not waited for either.
                () = context.cancel.cancelled() => Ok(Err(HookError("cancelled".to_owned()))),
            };
            match answered {
                Ok(Ok(answer)) => match add(&mut merged.result, answer) {
                    Weight::Light => {}
                    Weight::Stands => merged.decided_by = Some(hook.name().to_owned()),
                    Weight::Final => {
                        merged.decided_by = Some(hook.name().to_owned());
                        break;
                    }
                },
                Ok(Err(error)) => merged.failures.push(failed(error.0)),
                Err(_) => merged.failures.push(failed("it panicked".to_owned())),
            }
        }
        merged
    }
}
