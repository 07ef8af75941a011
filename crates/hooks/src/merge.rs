//! Running hooks in order and merging what they return.

use crate::hook::{
    BeforeCompactEvent, BeforeCompactResult, BeforeTreeEvent, BeforeTreeResult, CompactingResult,
    Hook, HookError,
};

/// A hook that failed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFailure {
    /// The hook's name.
    pub hook: String,
    /// What it said.
    pub reason: String,
}

/// What all hooks together return, and which of them failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged<T> {
    /// The merged result.
    pub result: T,
    /// The hooks that failed; they change nothing but are shown.
    pub failures: Vec<HookFailure>,
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

    /// Asks whether a compaction may happen. The first that cancels ends the asking;
    /// of several replacements the last counts; a hook that merely proceeds discards nothing.
    pub fn before_compact(&self, event: &BeforeCompactEvent<'_>) -> Merged<BeforeCompactResult> {
        self.merge(
            |hook| hook.before_compact(event),
            |result: &mut BeforeCompactResult, answer| {
                if answer != BeforeCompactResult::Proceed {
                    *result = answer;
                }
                *result == BeforeCompactResult::Cancel
            },
        )
    }

    /// Collects what hooks add to the requests of a compaction: contexts one after the other,
    /// data merged by key, of several prompts the last.
    pub fn compacting(&self, session_id: &str) -> Merged<CompactingResult> {
        self.merge(
            |hook| hook.compacting(session_id),
            |result: &mut CompactingResult, answer| {
                result.context.extend(answer.context);
                result.preserve_data.extend(answer.preserve_data);
                if answer.prompt.is_some() {
                    result.prompt = answer.prompt;
                }
                false
            },
        )
    }

    /// Asks whether a change of branch may happen. The first that cancels ends the asking; a summary
    /// counts only when the user wants one, and of several the last.
    pub fn before_tree(&self, event: &BeforeTreeEvent<'_>) -> Merged<BeforeTreeResult> {
        self.merge(
            |hook| hook.before_tree(event),
            |result: &mut BeforeTreeResult, answer| {
                let counts = match &answer {
                    BeforeTreeResult::Proceed => false,
                    BeforeTreeResult::Cancel => true,
                    BeforeTreeResult::Summary(_) => event.user_wants_summary,
                };
                if counts {
                    *result = answer;
                }
                *result == BeforeTreeResult::Cancel
            },
        )
    }

    /// Asks every hook in order until `add` says that it is enough.
    fn merge<T: Default>(
        &self,
        ask: impl Fn(&dyn Hook) -> Result<T, HookError>,
        mut add: impl FnMut(&mut T, T) -> bool,
    ) -> Merged<T> {
        let mut merged = Merged {
            result: T::default(),
            failures: Vec::new(),
        };
        for hook in &self.hooks {
            match ask(&**hook) {
                Ok(answer) => {
                    if add(&mut merged.result, answer) {
                        break;
                    }
                }
                Err(error) => merged.failures.push(HookFailure {
                    hook: hook.name().to_owned(),
                    reason: error.0,
                }),
            }
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::HookSet;
    use crate::hook::{CompactingResult, Hook, HookError};

    struct Fixed(Result<CompactingResult, &'static str>);

    impl Hook for Fixed {
        fn name(&self) -> &str {
            "fixed"
        }

        fn compacting(&self, _: &str) -> Result<CompactingResult, HookError> {
            self.0
                .clone()
                .map_err(|reason| HookError(reason.to_owned()))
        }
    }

    #[test]
    fn contexts_concatenate_data_merges_and_failures_are_shown() {
        let data = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
        let mut hooks = HookSet::default();
        hooks.register(Fixed(Ok(CompactingResult {
            prompt: Some("first".to_owned()),
            context: vec!["a".to_owned()],
            preserve_data: data(json!({ "x": 1, "y": 1 })),
        })));
        hooks.register(Fixed(Err("broken")));
        hooks.register(Fixed(Ok(CompactingResult {
            prompt: None,
            context: vec!["b".to_owned()],
            preserve_data: data(json!({ "y": 2 })),
        })));
        let merged = hooks.compacting("s");
        assert_eq!(merged.result.context, ["a", "b"]);
        assert_eq!(merged.result.prompt.as_deref(), Some("first"));
        assert_eq!(merged.result.preserve_data, data(json!({ "x": 1, "y": 2 })));
        assert_eq!(merged.failures.len(), 1);
        assert_eq!(merged.failures[0].reason, "broken");
    }
}
