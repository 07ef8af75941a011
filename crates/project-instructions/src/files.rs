//! Instruction files: which there are, and how the model is told of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::places::Places;
use super::read::{Bounds, Text, cut};
use super::{Instruction, Instructions, Outcome};
use crate::prompts;

/// The user's own file, in the folder of the settings.
const OWN_FILE: &str = "AGENTS.md";

/// Whose a file is.
#[derive(Debug, Clone, Copy)]
enum Whose<'a> {
    User,
    Project { folder: &'a Path },
}

impl Instructions {
    /// Returns the files that always count: the user's own, then from the project's root to the workspace.
    pub fn base(&mut self) -> Vec<Instruction> {
        let refused = self.bad_names.iter();
        let mut found: Vec<Instruction> = refused
            .map(|(name, why)| Instruction::refused(name.clone(), why))
            .collect();
        let mut room = self.room();
        let own = self.places.config_dir.as_ref().filter(|_| self.is_used());
        if let Some(path) = own.map(|folder| folder.join(OWN_FILE)) {
            let user = self.file(&path, Whose::User, Bounds::Free, room);
            found.extend(user.inspect(|file| room -= file.bytes()));
        }
        for folder in self.places.project.clone() {
            let file = self.first_of(&folder, room);
            found.extend(file.inspect(|file| room -= file.bytes()));
        }
        let mut seen = BTreeSet::new();
        found.retain(|file| seen.insert(file.path.clone()));
        found
    }

    /// Returns the file of a folder below the workspace, which is named from there on; at most `room` bytes of it.
    pub fn nested(&mut self, folder: &Path, room: usize) -> Option<Instruction> {
        let folder = self.places.workspace()?.join(folder);
        self.first_of(&folder, room)
    }

    fn is_used(&self) -> bool {
        !self.names.is_empty() || !self.bad_names.is_empty()
    }

    fn first_of(&mut self, folder: &Path, room: usize) -> Option<Instruction> {
        let root = self.places.root()?.to_owned();
        let names = self.names.clone();
        names.iter().find_map(|name| {
            let path = folder.join(name);
            self.file(
                &path,
                Whose::Project { folder },
                Bounds::Within(&root),
                room,
            )
        })
    }

    fn file(
        &mut self,
        path: &Path,
        whose: Whose<'_>,
        bounds: Bounds<'_>,
        room: usize,
    ) -> Option<Instruction> {
        let read = self.cache.read(path, bounds, self.max_bytes)?;
        let Some(shown) = self.places.shown(path) else {
            let shown = session_model::text::clean(&path.to_string_lossy());
            return Some(Instruction::refused(
                shown,
                "its path is not plain text; rename it",
            ));
        };
        Some(match read {
            Err(why) => Instruction::refused(shown, why),
            Ok(None) => return None,
            Ok(Some(text)) => loaded_file(shown, &text, whose, room, &self.places),
        })
    }
}

/// Returns a file as the model is told it, with at most `room` of its own bytes.
fn loaded_file(
    shown: String,
    read: &Text,
    whose: Whose<'_>,
    room: usize,
    places: &Places,
) -> Instruction {
    let text = match read.text.len() <= room {
        true => read.text.as_str(),
        false => cut(&read.text, room),
    };
    if text.trim().is_empty() {
        let why = "there is no room for it next to the other files; see instructions.maxBytes";
        return Instruction::refused(shown, why);
    }
    let shorter = text.len() < read.text.len();
    let size = match read.cut_from {
        Some(size) => Some(size),
        None if shorter => u64::try_from(read.text.len()).ok(),
        None => None,
    };
    let bytes = text.len();
    let (rest, note) = match size {
        None => (String::new(), None),
        Some(size) => (
            format!("[the first {bytes} of {size} bytes; the rest is in {shown}]"),
            Some(format!(
                "only the first {bytes} of {size} bytes are used; see instructions.maxBytes"
            )),
        ),
    };
    let folder = match whose {
        Whose::User => None,
        Whose::Project { folder } => Some(scope(folder, places)),
    };
    let text = prompts::project_instructions(&shown, folder.as_deref(), text, &rest);
    Instruction {
        path: shown,
        outcome: Outcome::Loaded { text, bytes, note },
    }
}

/// Returns what a folder is called in which instructions hold.
fn scope(folder: &Path, places: &Places) -> String {
    let shown = places.shown(folder).unwrap_or_default();
    match shown.as_str() {
        "" => "the working folder".to_owned(),
        shown => PathBuf::from(shown).display().to_string(),
    }
}
