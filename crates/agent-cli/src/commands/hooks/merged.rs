//! What the answers of several hooks mean together: by the rules of a running session, in words.

use hooks::{
    BeforeCompactEvent, BeforeCompactResult, BeforePromptEvent, BeforePromptResult,
    BeforeTreeEvent, BeforeTreeResult, CompactingEvent, CompactingResult, Hook, HookAnswer,
    HookContext, HookError, HookEvent, HookFuture, HookSet, ToolCallEvent, ToolCallResult,
};

use crate::ui::counted;

/// A hook that was run, and answers the same again.
struct Answered {
    name: String,
    outcome: Result<HookAnswer, HookError>,
}

/// Defines the methods by which a hook answers again.
macro_rules! answers {
    ($($method:ident($event:ident) -> $variant:ident($result:ident),)*) => {$(
        fn $method<'a>(
            &'a self,
            _: &'a $event<'_>,
            _: &'a HookContext,
        ) -> HookFuture<'a, $result> {
            let answer = self.outcome.clone().map(|answer| match answer {
                HookAnswer::$variant(result) => result,
                _ => $result::default(),
            });
            Box::pin(std::future::ready(answer))
        }
    )*};
}

impl Hook for Answered {
    fn name(&self) -> &str {
        &self.name
    }

    answers! {
        before_prompt(BeforePromptEvent) -> BeforePrompt(BeforePromptResult),
        tool_call(ToolCallEvent) -> ToolCall(ToolCallResult),
        before_compact(BeforeCompactEvent) -> BeforeCompact(BeforeCompactResult),
        compacting(CompactingEvent) -> Compacting(CompactingResult),
        before_tree(BeforeTreeEvent) -> BeforeTree(BeforeTreeResult),
    }
}

/// Returns what would come of an event by what hooks have answered, in their order.
pub(super) async fn meaning(
    event: &HookEvent<'_>,
    answers: Vec<(String, Result<HookAnswer, HookError>)>,
) -> String {
    let mut hooks = HookSet::default();
    for (name, outcome) in answers {
        hooks.register(Answered { name, outcome });
    }
    let context = HookContext::default();
    match event {
        HookEvent::BeforePrompt(event) => {
            let texts = hooks.before_prompt(event, &context).await.result.context;
            match texts.len() {
                0 => "the message would be sent as it is".to_owned(),
                texts => format!("the message would be sent with {}", counted(texts, "text")),
            }
        }
        HookEvent::ToolCall(event) => {
            let merged = hooks.tool_call(event, &context).await;
            match merged.result {
                ToolCallResult::Proceed => "the call would run".to_owned(),
                ToolCallResult::Block { reason } => {
                    by("the call would be blocked", merged.decided_by, reason)
                }
            }
        }
        HookEvent::BeforeCompact(event) => {
            let merged = hooks.before_compact(event, &context).await;
            match merged.result {
                BeforeCompactResult::Proceed => "the compaction would run as planned".to_owned(),
                BeforeCompactResult::Cancel { reason } => by(
                    "the compaction would be cancelled",
                    merged.decided_by,
                    reason,
                ),
                BeforeCompactResult::Replace(own) => by(
                    "the compaction would be supplied",
                    merged.decided_by,
                    Some(format!("it keeps from {}", own.first_kept)),
                ),
            }
        }
        HookEvent::Compacting(event) => {
            let added = hooks.compacting(event, &context).await.result;
            let mut parts = Vec::new();
            if added.prompt.is_some() {
                parts.push("another prompt".to_owned());
            }
            if !added.context.is_empty() {
                parts.push(counted(added.context.len(), "text"));
            }
            if !added.preserve_data.is_empty() {
                let keys: Vec<_> = added.preserve_data.keys().map(String::as_str).collect();
                parts.push(format!("data of {}", keys.join(", ")));
            }
            match parts.is_empty() {
                true => "the summary would be asked for as planned".to_owned(),
                false => format!("the summary would be asked for with {}", parts.join(", ")),
            }
        }
        HookEvent::BeforeTree(event) => {
            let merged = hooks.before_tree(event, &context).await;
            match merged.result {
                BeforeTreeResult::Proceed => "the leaf would move".to_owned(),
                BeforeTreeResult::Cancel { reason } => {
                    by("the move would be cancelled", merged.decided_by, reason)
                }
                BeforeTreeResult::Summary(_) => by(
                    "the leaf would move, its summary supplied",
                    merged.decided_by,
                    None,
                ),
            }
        }
        HookEvent::Notification(_) => "nothing: hooks are only told here".to_owned(),
    }
}

fn by(what: &str, hook: Option<String>, reason: Option<String>) -> String {
    let hook = hook.unwrap_or_else(|| "a hook".to_owned());
    match reason {
        Some(reason) => format!("{what} by {hook}: {reason}"),
        None => format!("{what} by {hook}"),
    }
}
