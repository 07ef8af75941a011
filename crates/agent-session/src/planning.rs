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
/// Where that thread does.
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
