//! What a session knows of its instructions: what its path holds of them, what was found on the disk, and what was
//! told of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use compaction_core::{Profile, TokenCount};
use serde_json::json;
use session_model::json::RawJson;
use session_model::{
    AgentMessage, Content, ContextEditDraft, CustomMessageDraft, EntryDraft, EntryId,
    SessionContext, SessionPath, SystemMessage,
};
use session_store::NewEntry;

use crate::messages::{InstructionMessage, InstructionMessages};
use crate::prompts;
use crate::{Instruction, Instructions, MESSAGE, SECTION, SKILLS_SECTION, hash_of};
use session_protocol::event::InstructionFile;

/// The fingerprint of a file that is gone.
const GONE: &str = "";

/// Why the files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionRefresh {
    /// The session begins, or another one does.
    Start,
    /// Something is about to be said.
    Prompt,
    /// The context was compacted.
    Compaction,
}

/// What a session knows of its instructions.
pub struct InstructionState {
    /// Where they are found.
    source: Instructions,
    /// The messages with instructions on the path.
    messages: InstructionMessages,
    /// What was told last, by path: a fingerprint.
    reported: BTreeMap<String, String>,
    /// The files that count wherever the session stands, as they were found last.
    standing: BTreeSet<String>,
    /// The sections as they should be.
    sections: Vec<(String, String)>,
    /// How many bytes more there is room for.
    room: usize,
    /// The session goes on as another one, and nothing was reported since.
    is_another: bool,
}

/// What was found of instructions.
pub struct Refreshed {
    /// Why the files were looked at, as events say it.
    pub reason: &'static str,
    /// The files to report.
    pub files: Vec<InstructionFile>,
    /// The entries that the context needs.
    pub entries: Vec<NewEntry>,
}

impl InstructionState {
    /// Returns what is known before anything is looked at.
    pub fn of(source: Instructions) -> Self {
        Self {
            room: source.room(),
            source,
            messages: InstructionMessages::default(),
            reported: BTreeMap::new(),
            standing: BTreeSet::new(),
            sections: Vec::new(),
            is_another: false,
        }
    }

    /// Forgets the path: the session goes on as another one.
    pub fn switch_session(&mut self) {
        self.messages = InstructionMessages::default();
        self.is_another = !self.reported.is_empty();
    }

    /// Looks at the files: sets the sections as they should be, and returns the entries that the context needs next to
    /// them.
    pub fn refresh(
        &mut self,
        path: &SessionPath<'_>,
        context: &SessionContext,
        look: InstructionRefresh,
    ) -> Refreshed {
        // The first look in another session is a start.
        let look = match std::mem::take(&mut self.is_another) {
            true => InstructionRefresh::Start,
            false => look,
        };
        self.messages.follow(path);
        let now = sections_of(context);
        let found = self.find(&now);
        let files = self.tell(&found, &now, look);
        let mut entries = self.settle(&found, &now);
        entries.extend(self.omissions(context));
        Refreshed {
            reason: match look {
                InstructionRefresh::Start => "start",
                InstructionRefresh::Prompt => "changed",
                InstructionRefresh::Compaction => "compaction",
            },
            files,
            entries,
        }
    }

    /// Returns the folders whose instructions hold for these files.
    pub fn folders_to(&self, paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in paths.flat_map(|path| self.source.folders_to(&path)) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        folders
    }

    /// Returns the messages with the instructions of folders, where the context does not have them.
    pub fn touch(
        &mut self,
        folders: &[PathBuf],
        path: &SessionPath<'_>,
        context: &SessionContext,
    ) -> Refreshed {
        self.messages.follow(path);
        let now = sections_of(context);
        let sections = now.keys().filter_map(|name| name.strip_prefix(SECTION));
        let messages = self.messages.newest();
        let mut given: BTreeSet<String> = sections.map(str::to_owned).collect();
        given.extend(messages.iter().map(|quote| quote.path.clone()));
        given.extend(self.standing.iter().cloned());
        let (mut entries, mut files) = (Vec::new(), Vec::new());
        for folder in folders {
            let Some(file) = self.source.nested(folder, self.room) else {
                continue;
            };
            if !given.insert(file.path.clone()) {
                continue;
            }
            match file.text() {
                Some(text) => {
                    self.room = self.room.saturating_sub(file.bytes());
                    self.reported.insert(file.path.clone(), file.fingerprint());
                    entries.push(message(&file, text.to_owned()));
                    files.push(file.event("loaded"));
                }
                // That it is of no use is reported once.
                None => files.extend(
                    self.state(&file, None, InstructionRefresh::Prompt)
                        .map(|state| file.event(state)),
                ),
            }
        }
        Refreshed {
            reason: "touched",
            files,
            entries,
        }
    }

    /// Returns the changes that make the sections of a context what they should be.
    pub fn changes(&self, context: &SessionContext) -> Vec<(String, Option<String>)> {
        let now = sections_of(context);
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
        look: InstructionRefresh,
    ) -> Option<&'static str> {
        let now = file.fingerprint();
        let last_reported = self.reported.insert(file.path.clone(), now.clone());
        let known = last_reported
            .as_deref()
            .filter(|last_reported| *last_reported != GONE)
            .or(before);
        let is_news = last_reported.as_ref() != Some(&now);
        let state = match known {
            Some(known) if known != now => "changed",
            Some(_) | None => "loaded",
        };
        match look {
            InstructionRefresh::Start | InstructionRefresh::Compaction => Some(state),
            InstructionRefresh::Prompt => is_news.then_some(state),
        }
    }
}

/// Sections by name.
type Sections<'a> = BTreeMap<&'a str, &'a str>;

/// Returns the sections in force in a context that are ours to change.
fn sections_of(context: &SessionContext) -> Sections<'_> {
    match context.system.as_ref().map(|(_, system)| &**system) {
        Some(AgentMessage::System(system)) => in_force(system),
        _ => BTreeMap::new(),
    }
}

fn in_force(system: &SystemMessage) -> Sections<'_> {
    let sections = system.sections.iter();
    let ours = sections.filter(|(name, _)| name.starts_with(SECTION) || name == SKILLS_SECTION);
    let known = ours.filter_map(|(name, text)| Some((name.as_str(), text.as_deref()?)));
    known.collect()
}

/// What was found on the disk.
struct Found {
    /// The files that always count.
    base: Vec<Instruction>,
    /// Those of folders that were touched.
    nested: Vec<Instruction>,
    skills: Vec<Instruction>,
    list: Option<String>,
}

impl Found {
    /// Returns the files of skills behind the others.
    fn all(&self) -> impl Iterator<Item = &Instruction> {
        self.base.iter().chain(&self.nested).chain(&self.skills)
    }

    /// Returns the list of skills as a section.
    fn list(&self) -> Option<(String, String)> {
        let list = self.list.clone()?;
        Some((SKILLS_SECTION.to_owned(), list))
    }
}

impl InstructionState {
    /// Returns what there is, of the folders too that the sections `now` or messages are of.
    fn find(&mut self, now: &Sections<'_>) -> Found {
        let base = self.source.base();
        let is_base = |path: &str| base.iter().any(|file| file.path == path);
        let mut room = self.source.room();
        room = room.saturating_sub(base.iter().map(Instruction::bytes).sum());
        let sections = now.keys().filter_map(|name| name.strip_prefix(SECTION));
        let sections = sections.filter(|path| !is_base(path)).map(str::to_owned);
        let quotes = self.messages.newest().into_iter();
        let paths: Vec<String> = sections
            .chain(quotes.map(|quote| quote.path.clone()))
            .collect();
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in paths.iter().flat_map(|path| self.source.folders_of(path)) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        let mut nested: Vec<Instruction> = Vec::new();
        for folder in &folders {
            if let Some(file) = self.source.nested(folder, room)
                && !is_base(&file.path)
                && !nested.iter().any(|other| other.path == file.path)
            {
                room = room.saturating_sub(file.bytes());
                nested.push(file);
            }
        }
        self.room = room;
        let skills = self.source.skills();
        Found {
            base,
            nested,
            skills: skills.files,
            list: skills.section,
        }
    }

    /// Returns what is told of what was found: all of it or, before a prompt, what is new.
    fn tell(
        &mut self,
        found: &Found,
        now: &Sections<'_>,
        look: InstructionRefresh,
    ) -> Vec<InstructionFile> {
        let quotes = self.messages.newest().into_iter();
        let quoted = quotes.filter_map(|quote| Some((quote.path.clone(), quote.hash.clone()?)));
        let sections = now.iter();
        let known_sections = sections.filter_map(|(name, text)| {
            let path = name.strip_prefix(SECTION)?;
            Some((path.to_owned(), hash_of(text)))
        });
        let known_sections: BTreeMap<String, String> = quoted.chain(known_sections).collect();
        let mut files = Vec::new();
        for file in found.all() {
            let before = known_sections.get(&file.path).map(String::as_str);
            let is_skill = found.skills.contains(file);
            match self.state(file, before, look) {
                // What it says is in the context when the model has read it, and not before.
                Some("loaded") if is_skill => files.push(file.event("listed")),
                Some(state) => files.push(file.event(state)),
                None => {}
            }
        }
        let there: BTreeSet<String> = found.all().map(|file| file.path.clone()).collect();
        let before = std::mem::take(&mut self.standing);
        let missing: BTreeSet<String> = before
            .into_iter()
            .chain(known_sections.into_keys())
            .filter(|path| !there.contains(path))
            .collect();
        for path in missing {
            if self
                .reported
                .insert(path.clone(), GONE.to_owned())
                .as_deref()
                != Some(GONE)
            {
                files.push(InstructionFile {
                    path: session_model::text::clean(&path),
                    tokens: 0,
                    state: "gone".into(),
                    note: None,
                });
            }
        }
        let standing = found.base.iter().chain(&found.skills);
        self.standing = standing.map(|file| file.path.clone()).collect();
        files
    }
}

impl InstructionState {
    /// Sets the sections as they should be, and returns the messages that are due: of files that a message has told
    /// and that are not what they were.
    fn settle(&mut self, found: &Found, now: &Sections<'_>) -> Vec<NewEntry> {
        let is_section = |path: &str| now.contains_key(&*format!("{SECTION}{path}"));
        let mut quoted: BTreeMap<&str, &InstructionMessage> = self
            .messages
            .newest()
            .into_iter()
            .filter(|quote| !self.messages.is_before_compaction(quote) && !is_section(&quote.path))
            .map(|quote| (quote.path.as_str(), quote))
            .collect();
        let mut sections = Vec::new();
        let mut entries = Vec::new();
        for file in found.base.iter().chain(&found.nested) {
            let Some(text) = file.text() else {
                continue;
            };
            match quoted.remove(&*file.path) {
                None => sections.push((file.section(), text.to_owned())),
                Some(quote) if quote.hash == Some(file.fingerprint()) => {}
                Some(_) => {
                    let changed = prompts::instructions_changed(&file.path);
                    entries.push(message(file, format!("{changed}\n\n{text}")));
                }
            }
        }
        entries.extend(quoted.into_keys().map(gone));
        sections.extend(found.list());
        self.sections = sections;
        entries
    }

    /// Returns the edits that take messages out of the context which stand in a section since a compaction.
    fn omissions(&self, context: &SessionContext) -> Vec<NewEntry> {
        let moved = self.messages.all.iter();
        let moved = moved.filter(|quote| self.messages.is_before_compaction(quote));
        let moved: BTreeSet<&EntryId> = moved.map(|quote| &quote.entry).collect();
        if moved.is_empty() {
            return Vec::new();
        }
        let moved_messages = context.entries.iter();
        let moved_messages = moved_messages.filter(|projected| !projected.messages.is_empty());
        let moved_messages = moved_messages.filter(|projected| moved.contains(&projected.entry.id));
        let edits = moved_messages.map(|projected| {
            NewEntry::from(EntryDraft::ContextEdit(ContextEditDraft {
                target: projected.entry.id.clone(),
                replacement: None,
            }))
        });
        edits.collect()
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
        prompts::instructions_gone(&session_model::text::clean(path)),
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
