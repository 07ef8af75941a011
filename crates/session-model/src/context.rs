//! The context of a leaf: which messages the model sees, and which entry each comes from.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Severity};
use crate::edits::Edits;
use crate::entry::{Compaction, Entry, EntryBody, EntryId, EntryKind, ModelRef};
use crate::llm::{LlmMessage, Wording, acknowledgement, convert_message, resumed};
use crate::message::{AgentMessage, current_system};
use crate::pairing::{RoleOrder, pair_calls_of};
use crate::tree::{EntryIndex, SessionPath};

/// Which rules a context is rebuilt by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContextRules {
    /// The project's own: reset boundaries count, a kept id off the path loses nothing,
    /// and one system message, the one in force, stands first.
    #[default]
    Own,
    /// pi 1.6.0's, to the letter: reset boundaries are unknown, a kept id off the path
    /// keeps nothing, and system messages stay where they were said.
    Pi,
}

/// One entry of the context with the messages it contributes.
#[derive(Debug, Clone)]
pub struct ProjectedEntry {
    /// Its number in the tree.
    pub index: EntryIndex,
    /// The entry as it was written.
    pub entry: Arc<Entry>,
    /// What it contributes after context edits: nothing, one message, or (a compaction
    /// that replays a system message) two.
    pub messages: Vec<Arc<AgentMessage>>,
    /// A context edit took out what it would contribute.
    pub omitted: bool,
}

impl ProjectedEntry {
    /// Returns the messages that the entry would contribute without any context edit.
    pub fn original_messages(&self) -> Vec<Arc<AgentMessage>> {
        self.entry.messages()
    }
}

/// The context of a leaf.
#[derive(Debug, Clone)]
pub struct SessionContext {
    /// The leaf, or `None` for the empty path.
    pub leaf: Option<EntryId>,
    /// The entries that make it up, the newest compaction first where there is one.
    pub entries: Vec<ProjectedEntry>,
    /// The system message in force, where the rules put it in front, with the entry that said it last.
    pub system: Option<(EntryId, Arc<AgentMessage>)>,
    /// The thinking level in force; `off` when none was set.
    pub thinking_level: String,
    /// The model in force.
    pub model: Option<ModelRef>,
    /// What was noticed while bodies were read; of each kind at most [`Diagnostics::LISTED`], the last of which counts
    /// the others.
    pub diagnostics: Vec<Diagnostic>,
}

impl SessionContext {
    /// Returns the messages in order, each with the entry that it comes from.
    pub fn messages(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&EntryId, &Arc<AgentMessage>)> + Clone {
        let system = self.system.iter().map(|(id, message)| (id, message));
        let entries = self.entries.iter().flat_map(|projected| {
            let messages = projected.messages.iter();
            messages.map(|message| (&projected.entry.id, message))
        });
        system.chain(entries)
    }

    /// Returns the newest compaction of the context and its id.
    pub fn compaction(&self) -> Option<(&EntryId, &Compaction)> {
        let first = self.entries.first()?;
        match &first.entry.body {
            EntryBody::Compaction(compaction) if !first.messages.is_empty() => {
                Some((&first.entry.id, compaction))
            }
            _ => None,
        }
    }

    /// Returns what would be sent to a model: converted, paired and in the order that it accepts.
    pub fn to_llm(&self, order: RoleOrder) -> (Vec<LlmMessage>, Vec<Diagnostic>) {
        let messages = self.messages().filter_map(|(entry, message)| {
            let message = convert_message(message, Wording::Own)?;
            Some((entry, message))
        });
        let (entries, messages): (Vec<_>, Vec<_>) = messages.unzip();
        pair_calls_of(messages, order, &entries)
    }
}

/// Returns the context of `path`.
///
/// Bodies outside the context are read only for what they set for it: the newest changes of the model (an assistant's
/// message is one) and of the thinking level, the system message with which the session begins, and the edits of that.
pub fn build_context(path: &SessionPath<'_>, rules: ContextRules) -> SessionContext {
    let mut builder = Builder {
        path,
        rules,
        diagnostics: Diagnostics::default(),
    };
    let places = builder.context_places();
    let boundary = places.first().copied();
    let mut entries: Vec<ProjectedEntry> = Vec::with_capacity(places.len());
    let mut replays_system = rules == ContextRules::Pi;
    for (position, place) in places.into_iter().enumerate() {
        let index = path.entries()[place];
        let Some(entry) = builder.read(index) else {
            continue;
        };
        let messages = match &entry.body {
            EntryBody::Compaction(compaction) if position == 0 => {
                replays_system |= compaction.system.is_some();
                match rules == ContextRules::Own && compaction.restores() {
                    true => acknowledged(entry.messages()),
                    false => entry.messages(),
                }
            }
            // An older compaction inside the kept range emits nothing.
            EntryBody::Compaction(_) => Vec::new(),
            // The compaction replays the system message in force; the kept range does not repeat it.
            EntryBody::Message(message)
                if Some(place) < boundary
                    && replays_system
                    && matches!(**message, AgentMessage::System(_)) =>
            {
                continue;
            }
            _ => entry.messages(),
        };
        entries.push(ProjectedEntry {
            index,
            entry: Arc::new(entry),
            messages,
            omitted: false,
        });
    }
    let edits = Edits::of(entries.iter().map(|projected| &*projected.entry));
    for projected in &mut entries {
        let spoke = !projected.messages.is_empty();
        let commands = rules == ContextRules::Own;
        let taken = edits.apply(&projected.entry, &mut projected.messages, commands);
        projected.omitted = taken && spoke;
    }
    let (thinking_level, model) = builder.state_in_force(&entries);
    let system = match rules {
        ContextRules::Own => take_system(&mut entries).or_else(|| builder.first_system()),
        ContextRules::Pi => None,
    };
    SessionContext {
        leaf: path.leaf_id().map(EntryId::new),
        entries,
        system,
        thinking_level,
        model,
        diagnostics: builder.diagnostics.into_vec(),
    }
}

/// Returns the messages of a compaction of the strategy `restore`: the sentence to go on stands behind the summary,
/// and an acknowledgement follows, so that what is brought back is a message of its own.
fn acknowledged(messages: Vec<Arc<AgentMessage>>) -> Vec<Arc<AgentMessage>> {
    let told = messages.into_iter().map(|message| match &*message {
        AgentMessage::CompactionSummary(summary) => {
            let mut summary = summary.clone();
            summary.summary = resumed(&summary.summary);
            Arc::new(AgentMessage::CompactionSummary(summary))
        }
        _ => message,
    });
    let acknowledgement = AgentMessage::Assistant(acknowledgement());
    told.chain([Arc::new(acknowledgement)]).collect()
}

/// Takes all system messages out of the entries and returns the one in force.
fn take_system(entries: &mut [ProjectedEntry]) -> Option<(EntryId, Arc<AgentMessage>)> {
    let said = entries.iter().flat_map(|projected| &projected.messages);
    let system = current_system(said.map(|message| &**message))?;
    let is_system = |message: &Arc<AgentMessage>| matches!(**message, AgentMessage::System(_));
    let mut last = None;
    for projected in entries {
        if projected.messages.iter().any(is_system) {
            last = Some(projected.entry.id.clone());
            projected.messages.retain(|message| !is_system(message));
        }
    }
    last.map(|id| (id, Arc::new(AgentMessage::System(system))))
}

/// Among how many entries a session's first system message is looked for.
const FIRST_ENTRIES: usize = 8;

struct Builder<'a, 'p> {
    path: &'p SessionPath<'a>,
    rules: ContextRules,
    diagnostics: Diagnostics,
}

impl Builder<'_, '_> {
    /// Reads an entry; one that cannot be read contributes nothing and is reported.
    fn read(&mut self, index: EntryIndex) -> Option<Entry> {
        let tree = self.path.tree();
        let id = || EntryId::new(tree.id(index));
        match tree.read(index) {
            Ok(read) => {
                if let Some(repair) = read.repair {
                    let text = format!("read after repair ({repair}); its bytes are untouched");
                    let kind = DiagnosticKind::RepairedBody;
                    let said = Diagnostic::new(Severity::Note, kind, text);
                    self.diagnostics
                        .push(said.at_line(tree.line(index)).of_entry(id()));
                }
                Some(read.entry)
            }
            Err(error) => {
                let text = format!("left out of the context: {error}");
                let kind = DiagnosticKind::DamagedBody;
                let said = Diagnostic::new(Severity::Error, kind, text);
                self.diagnostics
                    .push(said.at_line(tree.line(index)).of_entry(id()));
                None
            }
        }
    }

    /// Returns the places on the path that make up the context, the newest compaction first.
    fn context_places(&mut self) -> Vec<usize> {
        let len = self.path.entries().len();
        let reset = match self.rules {
            ContextRules::Own => self.path.newest(EntryKind::ResetBoundary),
            ContextRules::Pi => None,
        };
        let after_reset = reset.map_or(0, |(place, _)| place + 1);
        let Some((place, compaction)) = self.newest_compaction(after_reset) else {
            return (after_reset..len).collect();
        };
        let kept = self.first_kept(place, &compaction).max(after_reset);
        let kept = kept..place;
        [place]
            .into_iter()
            .chain(kept)
            .chain(place + 1..len)
            .collect()
    }

    /// Returns the newest compaction whose summary can be read. What a damaged one hid is shown again
    /// (it is read, and reported, as one of the entries after the one before it).
    fn newest_compaction(&self, after_reset: usize) -> Option<(usize, Box<Compaction>)> {
        let tree = self.path.tree();
        let places = self
            .path
            .entries()
            .iter()
            .enumerate()
            .skip(after_reset)
            .rev();
        let mut compactions =
            places.filter(|(_, index)| tree.kind(**index) == EntryKind::Compaction);
        compactions.find_map(|(place, index)| match tree.read(*index).ok()?.entry.body {
            EntryBody::Compaction(compaction) => Some((place, compaction)),
            _ => None,
        })
    }

    /// Returns the place of the first entry that the compaction at `place` keeps; `place` itself for none.
    fn first_kept(&mut self, place: usize, compaction: &Compaction) -> usize {
        let tree = self.path.tree();
        let own = self.path.entries()[place];
        if *compaction.first_kept == *tree.id(own) {
            return place;
        }
        let before = &self.path.entries()[..place];
        let kept = match tree.ids_are_unique() {
            // What is kept stands near the end.
            true => tree
                .find(&compaction.first_kept)
                .and_then(|kept| before.iter().rposition(|index| *index == kept)),
            false => {
                let mut found = before.iter();
                found.position(|index| *tree.id(*index) == *compaction.first_kept)
            }
        };
        if let Some(kept) = kept {
            return kept;
        }
        if self.rules == ContextRules::Pi {
            return place;
        }
        let text = format!(
            "keeps from {}, which is not on its path; everything since the boundary before it is kept",
            match &*compaction.first_kept {
                "" => "no entry",
                id => id,
            }
        );
        let said = Diagnostic::new(Severity::Warning, DiagnosticKind::KeptEntryOffPath, text);
        let id = EntryId::new(tree.id(own));
        self.diagnostics
            .push(said.at_line(tree.line(own)).of_entry(id));
        let boundary = before.iter().rposition(|index| {
            matches!(
                tree.kind(*index),
                EntryKind::Compaction | EntryKind::ResetBoundary
            )
        });
        boundary.map_or(0, |boundary| boundary + 1)
    }

    /// Returns the system message with which the session begins. It stays in force where a compaction that
    /// replays none (oh-my-pi's) or a reset hid it.
    fn first_system(&self) -> Option<(EntryId, Arc<AgentMessage>)> {
        let tree = self.path.tree();
        let first = self.path.entries().iter().take(FIRST_ENTRIES);
        let mut messages = first.filter(|index| tree.kind(**index) == EntryKind::Message);
        let (id, message) = messages.find_map(|index| match tree.entry(*index).ok()?.body {
            EntryBody::Message(message) if matches!(*message, AgentMessage::System(_)) => {
                Some((EntryId::new(tree.id(*index)), message))
            }
            _ => None,
        })?;
        // An edit of it counts wherever it stands on the path.
        let edits = match tree.has_kind(EntryKind::ContextEdit) {
            true => self.path.entries().iter().rev(),
            false => [].iter().rev(),
        };
        let mut edits = edits.filter(|index| tree.kind(**index) == EntryKind::ContextEdit);
        let edit = edits.find_map(|index| match tree.entry(*index).ok()?.body {
            EntryBody::ContextEdit {
                target,
                replacement,
            } if target == id => Some(replacement),
            _ => None,
        });
        match edit {
            None => Some((id, message)),
            Some(None) => None,
            Some(Some(content)) => Some((id, Arc::new(message.with_content(content)))),
        }
    }

    /// Returns the thinking level and the model in force: the last change of each on the whole path.
    fn state_in_force(&mut self, entries: &[ProjectedEntry]) -> (String, Option<ModelRef>) {
        let read: BTreeMap<EntryIndex, &Arc<Entry>> = entries
            .iter()
            .map(|projected| (projected.index, &projected.entry))
            .collect();
        let tree = self.path.tree();
        // A level that was never set is not looked for down to the root.
        let mut level = match tree.has_kind(EntryKind::ThinkingLevelChange) {
            true => None,
            false => Some("off".to_owned()),
        };
        let mut model = None;
        for index in self.path.entries().iter().rev() {
            if level.is_some() && model.is_some() {
                break;
            }
            let relevant = match tree.kind(*index) {
                EntryKind::ThinkingLevelChange => level.is_none(),
                EntryKind::ModelChange | EntryKind::Message => model.is_none(),
                _ => false,
            };
            if !relevant {
                continue;
            }
            let entry = match read.get(index) {
                Some(entry) => (*entry).clone(),
                None => match tree.entry(*index) {
                    Ok(entry) => Arc::new(entry),
                    Err(_) => continue,
                },
            };
            match &entry.body {
                EntryBody::ThinkingLevelChange(changed) => level = Some(changed.clone()),
                EntryBody::ModelChange(changed) => model = Some(changed.clone()),
                EntryBody::Message(message) => {
                    if let AgentMessage::Assistant(answer) = &**message {
                        model = Some(ModelRef {
                            provider: answer.provider.clone(),
                            model_id: answer.model.clone(),
                        });
                    }
                }
                _ => {}
            }
        }
        (level.unwrap_or_else(|| "off".to_owned()), model)
    }
}
