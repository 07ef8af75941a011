//! The context as it is: built once for all that look at it between two writes.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, OnceLock};

use compaction_core::{Measure, Profile, Strategy, measure};
use session_model::{Leaf, SessionContext, SessionPath, build_context};

use crate::runtime::AgentSession;
use crate::runtime::images::ToolImages;
use session_text::damaged_lines;

/// The context of the session at its leaf.
pub(super) struct View {
    place: Place,
    /// The context.
    pub context: SessionContext,
    /// Why an entry could not be read, damage not counted, so that the context lacks it.
    pub read_failure: Option<String>,
    measured: OnceLock<Measure>,
}

impl View {
    fn of(path: &SessionPath<'_>) -> Self {
        let tree = path.tree();
        let failures = || tree.source_failure().map_or(0, |failure| failure.count);
        let failed_before = failures();
        let context = build_context(path, Profile::Own.context_rules());
        let failure = tree.source_failure();
        let failure = failure.filter(|failure| failure.count > failed_before);
        Self {
            place: (tree.len(), path.leaf()),
            context,
            read_failure: failure.map(|failure| failure.reason),
            measured: OnceLock::new(),
        }
    }

    /// Returns how large the context is; `path` is its path.
    pub fn measured(&self, path: &SessionPath<'_>) -> Measure {
        *self
            .measured
            .get_or_init(|| measure(path, &self.context, Profile::Own))
    }
}

/// What a context was built of: how many entries, which are only ever added, and the leaf.
type Place = (usize, Leaf);

/// What was built and read last of this session.
#[derive(Default)]
pub(super) struct Views {
    newest: RefCell<Option<Arc<View>>>,
    images: RefCell<ToolImages>,
    /// How many damaged lines were reported.
    damaged: Cell<usize>,
    /// Whether figures of the provider that cannot be true were reported.
    implausible: Cell<bool>,
}

impl Views {
    /// Returns true the first time.
    pub fn first_implausible(&self) -> bool {
        !self.implausible.replace(true)
    }
}

impl AgentSession {
    /// Returns the path to the leaf.
    pub(super) fn path(&self) -> SessionPath<'_> {
        self.store.tree().path(self.store.leaf())
    }

    /// Returns the id of the leaf, as events name it.
    pub(super) fn leaf_name(&self) -> Option<String> {
        let leaf = self.store.tree().leaf_id(self.store.leaf());
        leaf.map(str::to_owned)
    }

    /// Returns the context, which is built anew only when something was written.
    pub(super) fn view(&self) -> Arc<View> {
        let mut newest = self.views.newest.borrow_mut();
        let place = (self.store.tree().len(), self.store.leaf());
        if let Some(view) = newest.as_ref().filter(|view| view.place == place) {
            return view.clone();
        }
        // Not both together: the one before goes first.
        *newest = None;
        let view = Arc::new(View::of(&self.path()));
        self.report_damage();
        // What could not be read may be readable the next time.
        if view.read_failure.is_none() {
            *newest = Some(view.clone());
        }
        view
    }

    /// Reports damaged lines that were not reported yet.
    fn report_damage(&self) {
        let tree = self.store.tree();
        let count = tree.damaged_count();
        let file = self.path_name().unwrap_or_default();
        if count > self.views.damaged.replace(count)
            && let Some(text) = damaged_lines(&tree.damaged_lines(), &file)
        {
            self.events.notice(text);
        }
    }

    /// Returns whether there are so many images of tools that a compaction is due for them.
    pub(super) fn images_due(&self) -> bool {
        let compaction = &self.settings.compaction;
        let restore = &compaction.restore;
        if !restore.image_trigger || compaction.strategy.first() != Strategy::Restore {
            return false;
        }
        let mut images = self.views.images.borrow_mut();
        images.follow(&self.path());
        images.are(restore.image_trigger_count)
    }

    /// Notes that a compaction for the sake of images begins.
    pub(super) fn images_tried(&self) {
        self.views.images.borrow_mut().tried();
    }
}

#[cfg(test)]
mod tests {
    use session_store::SessionFile;

    use super::View;

    #[test]
    fn a_context_whose_entries_could_not_be_read_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, test_support::session("u:5 a:5")).unwrap();
        let session = SessionFile::open(&path).unwrap();
        let tree = session.tree();
        let view = View::of(&tree.path(tree.leaf()));
        assert_eq!(view.read_failure, None);
        // Another program cuts the file off.
        std::fs::write(&path, "").unwrap();
        let view = View::of(&tree.path(tree.leaf()));
        assert!(view.read_failure.is_some() && view.context.entries.is_empty());
    }
}
