//! The sessions that this one continues after a handoff.

use std::path::Path;
use std::sync::Arc;

use agent_tools::History;
use session_model::{EntryId, SessionTree};
use session_store::SessionFile;

/// How many sessions are followed back.
const MOST_SESSIONS: usize = 8;

/// Returns the sessions that a session continues, the newest first. The one that it is a copy of is none of them.
pub(super) fn earlier(history: &History) -> Vec<Arc<History>> {
    let mut found: Vec<Arc<History>> = Vec::new();
    let parent = |tree: &SessionTree| tree.header().and_then(|head| head.parent_session.clone());
    let mut next = parent(&history.tree);
    for _ in 0..MOST_SESSIONS {
        let Some(session) = next.and_then(|path| SessionFile::open(Path::new(&path)).ok()) else {
            break;
        };
        let tree = session.tree().clone();
        next = parent(&tree);
        let first = tree.indices().next();
        if first.is_some_and(|first| history.tree.find(&EntryId::new(tree.id(first))).is_none()) {
            let leaf = tree.leaf();
            found.push(Arc::new(History { tree, leaf }));
        }
    }
    found
}
