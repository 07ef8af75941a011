//! What the settings say of instructions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings under `instructions`.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct InstructionSettings {
    /// Whether instruction files are read.
    pub enabled: bool,
    /// Their names; in each folder the first that exists counts.
    pub files: Vec<String>,
    /// How many bytes of one file are used; of all files four times as many.
    #[schemars(range(min = 1000, max = 1_000_000))]
    pub max_bytes: u64,
    /// Whether skills are listed.
    pub skills: bool,
}

/// The most that `instructions.maxBytes` may be: more fits no model's window.
const MOST_OF_A_FILE: u64 = 1_000_000;

impl InstructionSettings {
    /// Checks that no value is above its range.
    ///
    /// # Errors
    /// The key of the first value that is, and what is wrong.
    pub fn check(&self) -> Result<(), (String, String)> {
        let Self { max_bytes, .. } = self;
        if *max_bytes <= MOST_OF_A_FILE {
            return Ok(());
        }
        let key = "instructions.maxBytes";
        let message = format!("{key} is {max_bytes}, but must be at most {MOST_OF_A_FILE}");
        Err((key.to_owned(), message))
    }
}

impl Default for InstructionSettings {
    fn default() -> Self {
        let names = ["AGENTS.md", ".agents/AGENTS.md", "CLAUDE.md"];
        Self {
            enabled: true,
            files: names.map(str::to_owned).to_vec(),
            max_bytes: 32_000,
            skills: true,
        }
    }
}
