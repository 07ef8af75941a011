//! Instructions in the context: those that always count and the list of skills as sections of the system message,
//! those of a folder that was touched as a message behind the results, until a compaction gathers them.
//!
//! What the context holds of them is read off the session's path, so it is the same
//! after a start, a move or an undo. Files are looked at before a prompt and after a
//! compaction, and read where they are not what they were.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use compaction_core::{Profile, TokenCount, prompts};
use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Content, ContextEditDraft, CustomMessageDraft, EntryBody, EntryDraft, EntryId,
    EntryIndex, EntryKind, SessionPath, SystemMessage, ToolCall,
};

use crate::error::Error;
use crate::instructions::{Instruction, Instructions, MESSAGE, SECTION, SKILLS_SECTION, hash_of};
use crate::session::event::{InstructionFile, SessionEvent};
use crate::session::shell::AgentSession;
use crate::session::shell::entries::message_entry;
use crate::session::store::NewEntry;

/// The tools whose calls touch the folder of the path that they name.
const TOUCHING: [&str; 6] = ["read", "write", "edit", "grep", "find", "ls"];

/// The fingerprint of a file that is gone.
const GONE: &str = "";

/// Why the files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The session begins, or another one does.
    Start,
    /// Something is about to be said.
    Prompt,
    /// The context was compacted.
    Compaction,
}

/// What a session knows of its instructions.
pub(super) struct Known {
    source: Instructions,
    quotes: Quotes,
    /// What was told last, by path: a fingerprint.
    told: BTreeMap<String, String>,
    /// The files that always count, as they were found last.
    base: BTreeSet<String>,
    /// The sections as they should be.
    sections: Vec<(String, String)>,
    /// How many bytes more there is room for.
    room: usize,
}

/// A message with instructions.
#[derive(Debug, Clone)]
struct Quote {
    place: usize,
    entry: EntryId,
    path: String,
    /// Of the text; none where it says that the file is gone.
    hash: Option<String>,
}

/// The messages with instructions on a path that grows, of which only what is new is read.
#[derive(Debug, Default)]
struct Quotes {
    session: String,
    /// How many entries of the path have been read, and the last of them.
    read: Option<(usize, EntryIndex)>,
    all: Vec<Quote>,
    /// The place of the newest compaction.
    compaction: Option<usize>,
}

impl Quotes {
    /// Reads what the path has gone on with since; all of it where it is another path.
    fn follow(&mut self, session: &str, path: &SessionPath<'_>) {
        let entries = path.entries();
        let known = self.read.filter(|(count, last)| {
            self.session == session && entries.get(count - 1) == Some(last)
        });
        let from = known.map_or(0, |(count, _)| count);
        if from == 0 {
            *self = Self {
                session: session.to_owned(),
                ..Self::default()
            };
        }
        let tree = path.tree();
        for (place, index) in entries.iter().enumerate().skip(from) {
            match tree.kind(*index) {
                EntryKind::ResetBoundary => self.all.clear(),
                EntryKind::Compaction => self.compaction = Some(place),
                EntryKind::CustomMessage => {
                    let entry = tree.entry(*index).ok();
                    self.all
                        .extend(entry.and_then(|entry| quote(place, entry.id, &entry.body)));
                }
                EntryKind::Message
                | EntryKind::ThinkingLevelChange
                | EntryKind::ModelChange
                | EntryKind::BranchSummary
                | EntryKind::Custom
                | EntryKind::Label
                | EntryKind::SessionInfo
                | EntryKind::Usage
                | EntryKind::ContextEdit
                | EntryKind::Unknown => {}
            }
        }
        self.read = entries.last().map(|last| (entries.len(), *last));
    }

    fn is_before_compaction(&self, quote: &Quote) -> bool {
        self.compaction.is_some_and(|place| quote.place < place)
    }

    /// Returns the newest message of each file that holds, the oldest first.
    fn newest(&self) -> Vec<&Quote> {
        let newest: BTreeMap<&str, &Quote> = self
            .all
            .iter()
            .map(|quote| (quote.path.as_str(), quote))
            .collect();
        let mut newest: Vec<&Quote> = newest.into_values().collect();
        newest.retain(|quote| quote.hash.is_some());
        newest.sort_by_key(|quote| quote.place);
        newest
    }
}

fn quote(place: usize, entry: EntryId, body: &EntryBody) -> Option<Quote> {
    let EntryBody::CustomMessage(message) = body else {
        return None;
    };
    let details = message.details.as_ref()?;
    (message.custom_type == MESSAGE).then_some(())?;
    Some(Quote {
        place,
        entry,
        path: details.string_member("path")?.into_owned(),
        hash: details.string_member("hash").map(|hash| hash.into_owned()),
    })
}

impl Known {
    pub fn of(source: Instructions) -> Self {
        Self {
            room: source.room(),
            source,
            quotes: Quotes::default(),
            told: BTreeMap::new(),
            base: BTreeSet::new(),
            sections: Vec::new(),
        }
    }

    /// Returns the sections that make those of `now` what they should be.
    pub fn changes(&self, now: Option<&SystemMessage>) -> Vec<(String, Option<String>)> {
        let now: BTreeMap<&str, &str> = now.map(in_force).unwrap_or_default();
        let wanted: BTreeSet<&str> = self.sections.iter().map(|(name, _)| &**name).collect();
        let gone = now.keys().filter(|name| !wanted.contains(**name));
        let gone = gone.map(|name| ((*name).to_owned(), None));
        let sections = self.sections.iter();
        let changed = sections.filter(|(name, text)| now.get(&**name) != Some(&&**text));
        let changed = changed.map(|(name, text)| (name.clone(), Some(text.clone())));
        gone.chain(changed).collect()
    }

    /// Returns how large the sections are.
    pub fn tokens(&self) -> TokenCount {
        let counter = Profile::Own.counter();
        let sections = self.sections.iter();
        sections.map(|(_, text)| counter.text(text)).sum()
    }

    /// Returns what is told of a file that was looked at: its state, unless nothing has changed and only changes count.
    fn state(
        &mut self,
        file: &Instruction,
        before: Option<&str>,
        look: Look,
    ) -> Option<&'static str> {
        let now = file.fingerprint();
        let told = self.told.insert(file.path.clone(), now.clone());
        let known = told.as_deref().filter(|told| *told != GONE).or(before);
        let is_news = told.as_ref() != Some(&now);
        let state = match known {
            Some(known) if known != now => "changed",
            Some(_) | None => "loaded",
        };
        match look {
            Look::Start | Look::Compaction => Some(state),
            Look::Prompt => is_news.then_some(state),
        }
    }
}

/// Returns the sections of a system message that are ours to change.
fn in_force(system: &SystemMessage) -> BTreeMap<&str, &str> {
    let sections = system.sections.iter();
    let ours = sections.filter(|(name, _)| name.starts_with(SECTION) || name == SKILLS_SECTION);
    let told = ours.filter_map(|(name, text)| Some((name.as_str(), text.as_deref()?)));
    told.collect()
}

impl AgentSession {
    /// Looks at the files, tells what is new of them, and returns the entries that the context needs beside the
    /// sections.
    pub(super) fn look_at_instructions(&mut self, look: Look) -> Vec<NewEntry> {
        let is_other = !self.instructions.told.is_empty()
            && self.instructions.quotes.session != self.store.id();
        let look = if is_other { Look::Start } else { look };
        let view = self.view();
        let path = self.store.tree().path(self.store.leaf());
        let known = &mut self.instructions;
        known.quotes.follow(self.store.id(), &path);
        let now = match view.context.system.as_ref().map(|(_, system)| &**system) {
            Some(AgentMessage::System(system)) => in_force(system),
            _ => BTreeMap::new(),
        };

        let base = known.source.base();
        let base_paths: BTreeSet<String> = base.iter().map(|file| file.path.clone()).collect();
        let mut room = known.source.room();
        room = room.saturating_sub(base.iter().map(Instruction::bytes).sum());
        let quotes: Vec<Quote> = known.quotes.newest().into_iter().cloned().collect();
        let sectioned = now.keys().filter_map(|name| name.strip_prefix(SECTION));
        let sectioned: Vec<&str> = sectioned
            .filter(|path| !base_paths.contains(*path))
            .collect();
        let mut folders: Vec<PathBuf> = Vec::new();
        let nested_paths = quotes.iter().map(|quote| quote.path.as_str());
        for path in sectioned.iter().copied().chain(nested_paths) {
            for folder in known.source.folders_of(path) {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        let mut nested: Vec<Instruction> = Vec::new();
        for folder in &folders {
            if let Some(file) = known.source.nested(folder, room)
                && !base_paths.contains(&file.path)
                && !nested.iter().any(|other| other.path == file.path)
            {
                room = room.saturating_sub(file.bytes());
                nested.push(file);
            }
        }
        known.room = room;
        let skills = known.source.skills();

        let mut entries = Vec::new();
        let mut sections = Vec::new();
        let quoted: BTreeMap<&str, &Quote> = quotes
            .iter()
            .filter(|quote| {
                !known.quotes.is_before_compaction(quote) && !sectioned.contains(&&*quote.path)
            })
            .map(|quote| (quote.path.as_str(), quote))
            .collect();
        for file in base.iter().chain(&nested) {
            let Some(text) = file.text() else {
                continue;
            };
            match quoted.get(&*file.path) {
                None => sections.push((file.section(), text.to_owned())),
                Some(quote) if quote.hash == Some(file.fingerprint()) => {}
                Some(_) => {
                    let changed = prompts::instructions_changed(&file.path);
                    entries.push(message(file, format!("{changed}\n\n{text}")));
                }
            }
        }
        if let Some(list) = &skills.section {
            sections.push((SKILLS_SECTION.to_owned(), list.clone()));
        }
        let usable: BTreeSet<&str> = nested
            .iter()
            .filter(|file| file.text().is_some())
            .map(|file| file.path.as_str())
            .collect();
        for path in quoted.keys().filter(|path| !usable.contains(**path)) {
            entries.push(gone(path));
        }
        // What stands in a section now is not said twice.
        let moved = known.quotes.all.iter();
        let moved = moved.filter(|quote| known.quotes.is_before_compaction(quote));
        let moved: BTreeSet<&EntryId> = moved.map(|quote| &quote.entry).collect();
        if !moved.is_empty() {
            let projected = view.context.entries.iter();
            let said = projected.filter(|projected| !projected.messages.is_empty());
            let said = said.filter(|projected| moved.contains(&projected.entry.id));
            entries.extend(said.map(|projected| {
                NewEntry::from(EntryDraft::ContextEdit(ContextEditDraft {
                    target: projected.entry.id.clone(),
                    replacement: None,
                }))
            }));
        }
        known.sections = sections;

        let hashes: BTreeMap<&str, String> = quotes
            .iter()
            .filter_map(|quote| Some((quote.path.as_str(), quote.hash.clone()?)))
            .chain(
                now.iter()
                    .filter_map(|(name, text)| Some((name.strip_prefix(SECTION)?, hash_of(text)))),
            )
            .collect();
        let looked: Vec<&Instruction> = base.iter().chain(&nested).chain(&skills.files).collect();
        let mut files = Vec::new();
        for file in &looked {
            let before = hashes.get(&*file.path).map(String::as_str);
            if let Some(state) = known.state(file, before, look) {
                files.push(file.event(state));
            }
        }
        let there: BTreeSet<&str> = looked.iter().map(|file| file.path.as_str()).collect();
        let before = known.base.iter().map(String::as_str);
        let missing: BTreeSet<String> = before
            .chain(hashes.keys().copied())
            .filter(|path| !there.contains(path))
            .map(str::to_owned)
            .collect();
        for path in missing {
            if known.told.insert(path.clone(), GONE.to_owned()).as_deref() != Some(GONE) {
                files.push(InstructionFile {
                    path: crate::ui::clean(&path),
                    tokens: 0,
                    state: "gone",
                    note: None,
                });
            }
        }
        known.base = base_paths;
        known
            .base
            .extend(skills.files.iter().map(|file| file.path.clone()));
        let reason = match look {
            Look::Start => "start",
            Look::Prompt => "changed",
            Look::Compaction => "compaction",
        };
        self.tell_instructions(reason, files);
        entries
    }

    /// Gathers all instructions in the system message after a compaction; where that cannot be written, the next
    /// prompt does it.
    pub(super) fn gather_instructions(&mut self) {
        let mut entries = self.look_at_instructions(Look::Compaction);
        let view = self.view();
        let now = match view.context.system.as_ref().map(|(_, system)| &**system) {
            Some(AgentMessage::System(system)) => Some(system),
            _ => None,
        };
        let sections = self.instructions.changes(now);
        if !sections.is_empty() {
            let system = AgentMessage::System(SystemMessage {
                content: Content::Text(String::new()),
                sections,
                tools_added: Vec::new(),
                tools_removed: Vec::new(),
                timestamp: None,
            });
            entries.extend(message_entry(system).ok());
        }
        if let Err(error) = self.append(entries) {
            self.fail(format!("instructions are not written: {error}"));
        }
    }

    /// Says what the folders have to say that these calls have touched, where it is not said yet.
    pub(super) fn say_touched_instructions(&mut self, calls: &[ToolCall]) -> Result<(), Error> {
        let paths = calls
            .iter()
            .filter(|call| TOUCHING.contains(&&*call.name))
            .filter_map(|call| call.arguments.as_ref()?.string_member("path"))
            .filter_map(|path| self.tool_context.workspace.resolve(&path).ok());
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in paths {
            for folder in self.instructions.source.folders_to(&path) {
                if !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
        }
        let view = self.view();
        let path = self.store.tree().path(self.store.leaf());
        let known = &mut self.instructions;
        known.quotes.follow(self.store.id(), &path);
        let now = match view.context.system.as_ref().map(|(_, system)| &**system) {
            Some(AgentMessage::System(system)) => in_force(system),
            _ => BTreeMap::new(),
        };
        let sections = now.keys().filter_map(|name| name.strip_prefix(SECTION));
        let quotes = known.quotes.newest();
        let mut given: BTreeSet<String> = sections.map(str::to_owned).collect();
        given.extend(quotes.iter().map(|quote| quote.path.clone()));
        given.extend(known.base.iter().cloned());
        let mut entries = Vec::new();
        let mut files = Vec::new();
        for folder in folders {
            let Some(file) = known.source.nested(&folder, known.room) else {
                continue;
            };
            if !given.insert(file.path.clone()) {
                continue;
            }
            match file.text() {
                Some(text) => {
                    known.room = known.room.saturating_sub(file.bytes());
                    known.told.insert(file.path.clone(), file.fingerprint());
                    entries.push(message(&file, text.to_owned()));
                    files.push(file.event("loaded"));
                }
                // That it is of no use is said once.
                None => files.extend(
                    known
                        .state(&file, None, Look::Prompt)
                        .map(|state| file.event(state)),
                ),
            }
        }
        self.append(entries)?;
        self.tell_instructions("touched", files);
        Ok(())
    }

    fn tell_instructions(&self, reason: &'static str, files: Vec<InstructionFile>) {
        if !files.is_empty() {
            self.events
                .send(SessionEvent::Instructions { reason, files });
        }
    }
}

/// Returns the message that tells the model of a file.
fn message(file: &Instruction, text: String) -> NewEntry {
    let details = json!({ "path": file.path, "hash": file.fingerprint() });
    custom(text, &details)
}

/// Returns the message that says that a file no longer counts.
fn gone(path: &str) -> NewEntry {
    custom(
        prompts::instructions_gone(&crate::ui::clean(path)),
        &json!({ "path": path, "hash": null }),
    )
}

fn custom(text: String, details: &serde_json::Value) -> NewEntry {
    let draft = EntryDraft::CustomMessage(CustomMessageDraft {
        custom_type: MESSAGE.to_owned(),
        content: Content::Text(text),
        display: false,
        details: RawJson::of(details).ok(),
    });
    draft.into()
}
