//! Reading the facts of a long path on a thread of its own, while the rest of a compaction is planned.

use std::panic::resume_unwind;
use std::thread::{Builder, Scope};

use session_model::{SessionContext, SessionPath};

use crate::ledger::PathFacts;

/// From how many entries of a context on a thread is worth it.
const LONG: usize = 2000;

/// Begins to read the facts of `path`, and returns what waits for them.
pub(super) fn reading<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    path: &'scope SessionPath<'scope>,
    context: &'scope SessionContext,
) -> impl FnOnce() -> PathFacts {
    let read = move || PathFacts::of(path, context);
    let long = context.entries.len() >= LONG;
    let aside = long.then(|| Builder::new().spawn_scoped(scope, read));
    move || match aside {
        Some(Ok(aside)) => aside.join().unwrap_or_else(|panic| resume_unwind(panic)),
        // Where there is no thread to be had, this one reads.
        Some(Err(_)) | None => read(),
    }
}
