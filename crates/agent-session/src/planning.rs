//! Planning a compaction of a long session on two threads.

use std::panic::resume_unwind;
use std::thread::{self, Builder};

use compaction_core::{
    CompactionPlan, NothingToDo, PathFacts, PlanOptions, Trigger, plan_with_facts,
};
use session_model::{SessionContext, SessionPath};

/// From how many entries of a context on a second thread is worth it.
const LONG: usize = 2000;

/// Does what [`plan_for_context`](compaction_core::plan_for_context) does; the facts of a long path are read on a thread of
/// their own.
///
/// # Errors
///
/// [`NothingToDo`] says why there is no plan.
///
/// # Panics
///
/// If that thread panics.
pub fn plan_on_threads(
    path: &SessionPath<'_>,
    context: &SessionContext,
    trigger: &Trigger,
    options: &PlanOptions,
) -> Result<CompactionPlan, NothingToDo> {
    let read = || PathFacts::of(path, context);
    let long = context.entries.len() >= LONG && options.reads_facts();
    thread::scope(|scope| {
        let aside = long.then(|| Builder::new().spawn_scoped(scope, read));
        let read = || match aside {
            Some(Ok(aside)) => aside.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Where there is no thread to be had, this one reads.
            Some(Err(_)) | None => read(),
        };
        plan_with_facts((path, context), read, trigger, options)
    })
}

#[cfg(test)]
mod tests {
    use compaction_core::{PlanOptions, TokenCount, Trigger, plan_for_context};
    use session_model::{ContextRules, build_context, decode_bytes};

    use super::{LONG, plan_on_threads};

    #[test]
    fn a_long_path_has_the_same_plan_on_two_threads() {
        let turns = "u:40 a:40 ".repeat(LONG / 2);
        let session = test_support::session(turns.trim());
        let tree = decode_bytes(session.into_bytes()).tree;
        let path = tree.path(tree.leaf());
        let context = build_context(&path, ContextRules::Own);
        assert!(context.entries.len() >= LONG);
        let options = PlanOptions::for_window(TokenCount(200_000));
        let trigger = Trigger::Manual { focus: None };
        let one = plan_for_context(&path, &context, &trigger, &options).expect("a plan");
        let two = plan_on_threads(&path, &context, &trigger, &options).expect("a plan");
        assert_eq!((one.hash(), one.ledger), (two.hash(), two.ledger));
    }
}
