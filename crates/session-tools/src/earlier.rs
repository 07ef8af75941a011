//! The sessions that this one continues after a handoff.

use std::path::Path;
use std::sync::Arc;

use agent_tools::{Archive, History};
use session_model::{EntryId, SessionTree};
use session_store::SessionFile;

/// How many sessions are followed back.
const MOST_SESSIONS: usize = 8;

/// Returns the sessions that a session continues, the newest first, from its archive or from a file. The one that it is a
/// copy of is none of them.
pub(super) fn earlier(history: &History, archive: Option<&dyn Archive>) -> Vec<Arc<History>> {
    let read = |at: String| {
        let file = || Some(SessionFile::open(Path::new(&at)).ok()?.tree().clone());
        archive
            .and_then(|archive| archive.session(&at))
            .or_else(file)
    };
    let mut found: Vec<Arc<History>> = Vec::new();
    let parent = |tree: &SessionTree| tree.header().and_then(|head| head.parent_session.clone());
    let mut next = parent(&history.tree);
    for _ in 0..MOST_SESSIONS {
        let Some(tree) = next.and_then(&read) else {
            break;
        };
        next = parent(&tree);
        let first = tree.indices().next();
        if first.is_some_and(|first| history.tree.find(&EntryId::new(tree.id(first))).is_none()) {
            let leaf = tree.leaf();
            found.push(Arc::new(History { tree, leaf }));
        }
    }
    found
}
