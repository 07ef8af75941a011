//! The context as it is: built once for all that look at it between two writes.

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use compaction_core::{Measure, Profile, Strategy, measure};
use session_facts::OpenTodos;
use session_model::{Leaf, SessionContext, SessionPath, build_context};

use crate::runtime::AgentSession;
use crate::runtime::images::ToolImages;

/// The context of the session at its leaf.
pub(super) struct View {
    place: Place,
    /// The context.
    pub context: SessionContext,
    measured: OnceLock<Measure>,
}

impl View {
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
    todos: RefCell<OpenTodos>,
    images: RefCell<ToolImages>,
}

impl AgentSession {
    /// Returns the path to the leaf.
    pub(super) fn path(&self) -> SessionPath<'_> {
        self.store.tree().path(self.store.leaf())
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
        let view = Arc::new(View {
            place,
            context: build_context(&self.path(), Profile::Own.context_rules()),
            measured: OnceLock::new(),
        });
        newest.insert(view).clone()
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

    /// Returns whether a todo list of this branch says that work is left.
    pub(super) fn has_open_todos(&self) -> bool {
        let mut todos = self.views.todos.borrow_mut();
        todos.follow(&self.path());
        !todos.open().is_empty()
    }
}
