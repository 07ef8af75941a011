//! The texts that a project and its user keep for agents: instruction files, and skills.
//!
//! [`Instructions`] finds them, reads them within bounds and words them for the model. [`InstructionState`] knows what of
//! it the path of a session holds, and which entries are missing there.

mod files;
mod front_matter;
mod messages;
mod places;
mod prompts;
mod read;
mod settings;
mod skills;
mod state;
#[cfg(all(test, unix))]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compaction_core::{PlanHash, Profile};
use llm_providers::Redactor;

use session_protocol::event::InstructionFile;

pub use places::Places;
pub use settings::InstructionSettings;
pub use state::{InstructionRefresh, InstructionState, Refreshed};

use read::Cache;

/// What the names of the system message's sections begin with that hold instructions.
pub use compaction_core::INSTRUCTIONS_SECTION as SECTION;

/// The section of the system message that lists skills.
pub const SKILLS_SECTION: &str = "skills";

/// The custom type of messages that hold instructions.
pub const MESSAGE: &str = "agent-cli/instructions";

/// How many files of the largest size there is room for in all.
const FILES_IN_ALL: usize = 4;

/// The instruction files and skills of a workspace.
#[derive(Debug, Default)]
pub struct Instructions {
    places: Places,
    /// The names of instruction files; of those in one folder the first that is there counts.
    names: Vec<PathBuf>,
    /// Names in the settings that cannot be used, each with the reason.
    bad_names: Vec<(String, String)>,
    /// How much of one file counts, in bytes.
    max_bytes: usize,
    skills: Skills,
    cache: Cache,
}

/// Whether skills are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Skills {
    #[default]
    Unlisted,
    Listed,
}

/// A file that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// Where it is, from the workspace on where it is in it.
    pub path: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The model is told.
    Loaded {
        /// In these words.
        text: String,
        /// The bytes of it that are the file's own.
        bytes: usize,
        /// What was left out, or is odd.
        note: Option<String>,
    },
    /// It is not used, for this reason.
    Refused(String),
}

/// The skills of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// The list as the model is told it; none where there are no skills.
    pub section: Option<String>,
    /// Each file of a skill; the text is its line in the list.
    pub files: Vec<Instruction>,
}

impl Instructions {
    /// Returns those of a workspace, as the settings say.
    pub fn of(settings: &InstructionSettings, places: Places) -> Self {
        let mut names = Vec::new();
        let mut bad_names = Vec::new();
        for name in settings.files.iter().filter(|_| settings.enabled) {
            match places::plain_name(name) {
                Some(plain) => names.push(plain),
                None => {
                    let why = "instructions.files names files from a folder of the project on, without ..";
                    bad_names.push((session_model::text::clean(name), why.to_owned()));
                }
            }
        }
        Self {
            places,
            names,
            bad_names,
            max_bytes: usize::try_from(settings.max_bytes).unwrap_or(usize::MAX),
            skills: match settings.skills {
                true => Skills::Listed,
                false => Skills::Unlisted,
            },
            cache: Cache::default(),
        }
    }

    /// Returns what finds nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the same without skills: for a model that has no tool to read them with.
    pub fn without_skills(self) -> Self {
        Self {
            skills: Skills::Unlisted,
            ..self
        }
    }

    /// Returns the same without the keys that `redactor` knows in what is read.
    pub fn without_keys(self, redactor: Arc<Redactor>) -> Self {
        Self {
            cache: Cache::without_keys(redactor),
            ..self
        }
    }

    /// Returns the most that all files may hold together, in bytes.
    pub fn room(&self) -> usize {
        self.max_bytes.saturating_mul(FILES_IN_ALL)
    }

    /// Returns the folders of skills that are outside the workspace; tools must be able to read in them.
    pub fn readable_folders(&mut self) -> Vec<PathBuf> {
        self.skill_folders_outside()
    }

    /// Returns the folders between the workspace and `path` (its own where it is one), the uppermost first, from the
    /// workspace on; none for a path outside.
    pub fn folders_to(&self, path: &Path) -> Vec<PathBuf> {
        self.places.folders_to(path)
    }

    /// Returns the folders of the workspace that a file with instructions may be of which was called so in a session.
    pub fn folders_of(&self, path: &str) -> Vec<PathBuf> {
        self.places.folders_of(path, &self.names)
    }
}

impl Instruction {
    fn refused(path: String, why: impl Into<String>) -> Self {
        let outcome = Outcome::Refused(why.into());
        Self { path, outcome }
    }

    /// Returns the section of the system message that it stands in.
    pub fn section(&self) -> String {
        format!("{SECTION}{}", self.path)
    }

    /// Returns what the model is told of it.
    pub fn text(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Loaded { text, .. } => Some(text),
            Outcome::Refused(_) => None,
        }
    }

    /// Returns how many of the file's own bytes the model is told.
    pub fn bytes(&self) -> usize {
        match &self.outcome {
            Outcome::Loaded { bytes, .. } => *bytes,
            Outcome::Refused(_) => 0,
        }
    }

    /// Returns a text that is another one when what is told of the file is.
    pub fn fingerprint(&self) -> String {
        match &self.outcome {
            Outcome::Loaded { text, .. } => hash_of(text),
            Outcome::Refused(why) => format!("refused: {why}"),
        }
    }

    /// Returns what events say of it.
    pub fn event(&self, state: &'static str) -> InstructionFile {
        let (tokens, state, note) = match &self.outcome {
            Outcome::Loaded { text, note, .. } => {
                let tokens = Profile::Own.counter().text(text).0;
                (tokens, state, note.clone())
            }
            Outcome::Refused(why) => (0, "refused", Some(why.clone())),
        };
        InstructionFile {
            path: self.path.clone(),
            tokens,
            state: state.into(),
            note,
        }
    }
}

/// Returns the hash of what is told of a file.
pub fn hash_of(text: &str) -> String {
    PlanHash::of(["instructions 1", text]).to_string()
}

/// What was read of files, by where they were looked for.
type Texts<T> = BTreeMap<PathBuf, T>;
