//! What a session knows of its instructions: what its path holds of them, what was found on the disk, and what was
//! told of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use compaction_core::{Profile, TokenCount};
use session_model::{
    AgentMessage, EntryBody, EntryId, EntryIndex, EntryKind, SessionContext, SessionPath,
    SystemMessage,
};

use crate::event::InstructionFile;
use crate::instructions::{Instruction, Instructions, MESSAGE, SECTION, SKILLS_SECTION, hash_of};

/// The fingerprint of a file that is gone.
const GONE: &str = "";

/// Why the files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstructionRefresh {
    /// The session begins, or another one does.
    Start,
    /// Something is about to be said.
    Prompt,
    /// The context was compacted.
    Compaction,
}

/// What a session knows of its instructions.
pub(super) struct InstructionState {
    /// Where they are found.
    pub source: Instructions,
    /// The messages with instructions on the path.
    pub messages: InstructionMessages,
    /// What was told last, by path: a fingerprint.
    pub reported: BTreeMap<String, String>,
    /// The files that count wherever the session stands, as they were found last.
    pub standing: BTreeSet<String>,
    /// The sections as they should be.
    pub sections: Vec<(String, String)>,
    /// How many bytes more there is room for.
    pub room: usize,
    /// The session goes on as another one, and nothing was reported since.
    is_another: bool,
}

/// A message with instructions.
#[derive(Debug, Clone)]
pub(super) struct InstructionMessage {
    place: usize,
    /// Its entry.
    pub entry: EntryId,
    /// The file.
    pub path: String,
    /// Of the text; none where it says that the file is gone.
    pub hash: Option<String>,
}

/// The messages with instructions on a path that grows, of which only what is new is read.
#[derive(Debug, Default)]
pub(super) struct InstructionMessages {
    /// How many entries of the path have been read, and the last of them.
    read: Option<(usize, EntryIndex)>,
    /// All of them.
    pub all: Vec<InstructionMessage>,
    /// The place of the newest compaction.
    compaction: Option<usize>,
}

impl InstructionMessages {
    /// Reads what the path has gone on with since; all of it where it is another path.
    pub fn follow(&mut self, path: &SessionPath<'_>) {
        let entries = path.entries();
        let known = self.read;
        let known = known.filter(|(count, last)| entries.get(count - 1) == Some(last));
        let from = known.map_or(0, |(count, _)| count);
        if from == 0 {
            *self = Self::default();
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
                _ => {}
            }
        }
        self.read = entries.last().map(|last| (entries.len(), *last));
    }

    /// Returns whether the newest compaction came behind a message.
    pub fn is_before_compaction(&self, quote: &InstructionMessage) -> bool {
        self.compaction.is_some_and(|place| quote.place < place)
    }

    /// Returns the newest message of each file that holds, the oldest first.
    pub fn newest(&self) -> Vec<&InstructionMessage> {
        let newest: BTreeMap<&str, &InstructionMessage> = self
            .all
            .iter()
            .map(|quote| (quote.path.as_str(), quote))
            .collect();
        let mut newest: Vec<&InstructionMessage> = newest.into_values().collect();
        newest.retain(|quote| quote.hash.is_some());
        newest.sort_by_key(|quote| quote.place);
        newest
    }
}

fn quote(place: usize, entry: EntryId, body: &EntryBody) -> Option<InstructionMessage> {
    let EntryBody::CustomMessage(message) = body else {
        return None;
    };
    let details = message.details.as_ref()?;
    (message.custom_type == MESSAGE).then_some(())?;
    Some(InstructionMessage {
        place,
        entry,
        path: details.string_member("path")?.into_owned(),
        hash: details
            .string_member("hash")
            .map(std::borrow::Cow::into_owned),
    })
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

    /// Returns why the files are looked at now: the first time in another session is a start.
    pub fn refresh(&mut self, refresh: InstructionRefresh) -> InstructionRefresh {
        match std::mem::take(&mut self.is_another) {
            true => InstructionRefresh::Start,
            false => refresh,
        }
    }

    /// Returns the sections that make those of `now` what they should be.
    pub fn changes(&self, now: &Sections<'_>) -> Vec<(String, Option<String>)> {
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
    pub fn state(
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
pub(super) type Sections<'a> = BTreeMap<&'a str, &'a str>;

/// Returns the sections in force in a context that are ours to change.
pub(super) fn sections_of(context: &SessionContext) -> Sections<'_> {
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
pub(super) struct Found {
    /// The files that always count.
    pub base: Vec<Instruction>,
    /// Those of folders that were touched.
    pub nested: Vec<Instruction>,
    skills: Vec<Instruction>,
    list: Option<String>,
}

impl Found {
    /// Returns the files of skills behind the others.
    fn all(&self) -> impl Iterator<Item = &Instruction> {
        self.base.iter().chain(&self.nested).chain(&self.skills)
    }

    /// Returns the list of skills as a section.
    pub fn list(&self) -> Option<(String, String)> {
        let list = self.list.clone()?;
        Some((SKILLS_SECTION.to_owned(), list))
    }
}

impl InstructionState {
    /// Returns what there is, of the folders too that the sections `now` or messages are of.
    pub fn find(&mut self, now: &Sections<'_>) -> Found {
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
    pub fn tell(
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
